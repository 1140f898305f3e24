package standby

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyFrame has one of each kind, with every field set.
func everyFrame() []*Frame {
	return []*Frame{
		{kind: kindHello, Version: 1, Blobs: 5, Name: "upf", Life: "a/1", Epoch: 7, Sessions: 65536, Line: 99},
		{kind: kindWelcome, Version: 1, Life: "b/2"},
		{kind: kindRefused, Text: "no"},
		{kind: kindLife, Memory: 3, Boot: 1 << 63, Slots: 131072},
		{kind: kindSession, Number: 9, Index: 4, Memory: 3, Blob: []byte("blob")},
		{kind: kindSession, Number: 10, Index: 4, Memory: 3},
		{kind: kindDeletion, Number: 11, Index: 4095, Memory: 3, Blob: []byte{0}},
		{kind: kindMeta, Number: 12, Blob: []byte("meta")},
		{kind: kindCounters, Memory: 3, At: 5, Counts: []Count{
			{Slot: 0, UL: 1, DL: 2, ULPackets: 3, DLPackets: 4, First: 5, Last: 6, ActiveTime: 7}, {Slot: 900, UL: 1 << 63},
		}},
		{kind: kindWhole, Number: 13},
		{kind: kindBeat, Number: 14},
		{kind: kindAcknowledged, Number: 15},
		{kind: kindLine, Number: 16},
		{kind: kindBeatHeard, Number: 1<<64 - 1},
		{kind: kindYield, Text: "4711", Epoch: 7, Life: "a/1", Name: "b/2", Number: 17},
		{kind: kindServing},
	}
}

func TestFramesComeBack(t *testing.T) {
	var wire []byte
	for _, f := range everyFrame() {
		wire = f.Append(wire)
	}
	r := &frames{r: bytes.NewReader(wire)}
	for _, want := range everyFrame() {
		got, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Frame{})); diff != "" {
			t.Errorf("kind %d (-want +got):\n%s", want.kind, diff)
		}
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"no kind":                     {},
		"an unknown kind":             {byte(kinds)},
		"a kind of 0":                 {0},
		"cut short":                   {byte(kindBeat)},
		"octets left over":            {byte(kindBeat), 1, 1},
		"a number in two ways":        {byte(kindBeat), 0x81, 0},
		"a blob that is longer":       {byte(kindMeta), 1, 5, 'a'},
		"a memory beyond its octet":   {byte(kindSession), 1, 1, 0x80, 2, 0},
		"more counts than octets":     {byte(kindCounters), 1, 1, 200},
		"the same slot twice":         {byte(kindCounters), 1, 1, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a text longer than the rest": {byte(kindRefused), 0xff, 0xff, 0xff, 0x7f},
	} {
		if f, err := Decode(b); err == nil {
			t.Errorf("%s: read as %+v", name, f)
		}
	}
	for name, b := range map[string][]byte{
		"a frame of no octets":     {0, 0, 0, 0},
		"a frame of four gigabyte": {0xff, 0xff, 0xff, 0xff, 1},
		"a frame that ends early":  {9, 0, 0, 0, byte(kindBeat), 1},
	} {
		if f, err := (&frames{r: bytes.NewReader(b)}).next(); err == nil {
			t.Errorf("%s: read as %+v", name, f)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, frame := range everyFrame() {
		f.Add(frame.Append(nil)[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := Decode(b)
		if err != nil {
			return
		}
		if again := frame.Append(nil)[4:]; !bytes.Equal(again, b) {
			t.Errorf("%x is read and written as %x", b, again)
		}
	})
}
