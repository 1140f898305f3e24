package deflated

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"strings"
	"testing"
)

const words = `{"dnn":"internet","snssai":{"sst":1,"sd":"010203"}}`

// packers of all sorts that are in use.
func packers() map[string]*Packer {
	return map[string]*Packer{
		"fast, without words": New(1, Fastest, "", 4096), "with words": New(2, Fast, words, 4096), "small, with words": New(1, Smallest, words, 4096),
	}
}

func TestPackedIsReadAsItWas(t *testing.T) {
	for name, p := range packers() {
		for value, most := range map[string]int{
			"": 20, words: len(words), strings.Repeat(words, 50): 200, strings.Repeat("a", 4096): 60,
		} {
			var before []byte
			for range 3 { // by writers and readers that were used before, too
				packed, err := p.Pack(make([]byte, 0, 9), []byte(value))
				if err != nil || !p.Is(packed) || packed[0] != p.marker || len(packed) > most+8 {
					t.Fatalf("%s: %d octets take %d: %v", name, len(value), len(packed), err)
				}
				if before != nil && !bytes.Equal(before, packed) {
					t.Errorf("%s: it is packed as %x, and was as %x", name, packed, before)
				}
				before = packed
				if got, err := p.Unpack(packed); err != nil || string(got) != value {
					t.Errorf("%s: %d octets are read as %d: %v", name, len(value), len(got), err)
				}
			}
		}
	}
}

func TestWordsAreNotSaidAgain(t *testing.T) {
	with, without := New(1, Smallest, words, 4096), New(1, Smallest, "", 4096)
	short, err := with.Pack(nil, []byte(words))
	if err != nil {
		t.Fatal(err)
	}
	long, err := without.Pack(nil, []byte(words))
	if err != nil {
		t.Fatal(err)
	}
	if len(short) > len(long)/3 {
		t.Errorf("they take %d octets, and %d where they were not said", len(short), len(long))
	}
}

func TestWhatCannotBeUnpacked(t *testing.T) {
	for name, p := range packers() {
		whole, err := p.Pack(nil, []byte(strings.Repeat(words, 3)))
		if err != nil {
			t.Fatal(err)
		}
		bomb, err := p.Pack(nil, make([]byte, 4097))
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			packed []byte
			want   error
		}{
			"nothing":               {nil, ErrMarker},
			"of another marker":     {append([]byte{p.marker + 1}, whole[1:]...), ErrMarker},
			"larger than it can be": {bomb, ErrLarge},
			"cut off":               {whole[:len(whole)/2], io.ErrUnexpectedEOF},
			"a marker alone":        {whole[:1], io.ErrUnexpectedEOF},
		} {
			if got, err := p.Unpack(c.packed); !errors.Is(err, c.want) || got != nil {
				t.Errorf("%s, %s: %v, want %v, of %d octets", name, what, err, c.want, len(got))
			}
		}
		var damaged flate.CorruptInputError
		if _, err := p.Unpack([]byte{p.marker, 0xff}); !errors.As(err, &damaged) {
			t.Errorf("%s: damage is %v", name, err)
		}
		if got, err := p.Unpack(whole); err != nil || len(got) != 3*len(words) { // by the reader that has read all that
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(1, 99, "", 1).Pack(nil, nil); err == nil {
		t.Error("it is packed at a level that there is not")
	}
}
