// Package deflated packs what core5g's functions keep of something: a marker octet, and behind it DEFLATE (RFC 1951), as if some words had been said before. Which
// things are packed is for who keeps them to say: writing costs, and there is more to gain from some than from others.
//
// What was written once is read for as long as anybody has it: to a marker belong its words, which never change. Others get another marker, which a version
// reads before one writes it.
package deflated

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"

	writing "github.com/klauspost/compress/flate"
)

// Why something is not read, beside errors of flate, which name nothing of the content, either.
var (
	ErrMarker = errors.New("it is packed otherwise than this program knows")
	ErrLarge  = errors.New("unpacked it is larger than it can be")
)

// Packer packs and unpacks. It is safe for concurrent use, and uses writers and readers, of 40 kB to 1 MB, again: nothing is left in them.
type Packer struct {
	marker           byte
	level, most      int
	words            []byte
	writers, readers sync.Pool
}

// Levels of packing. Whatever it is packed at is read alike.
const (
	Fastest  = writing.BestSpeed
	Fast     = 3 // half the time of the level in the middle, and a hundredth more octets
	Smallest = writing.BestCompression
)

// New is a Packer of that marker. It packs at a level, as if the words had been said before, of which the last are the cheapest, and reads at
// most so many octets of what was packed.
func New(marker byte, level int, words string, most int) *Packer {
	return &Packer{marker: marker, level: level, words: []byte(words), most: most}
}

// Pack appends a value to an empty slice, which has room for it or not.
func (p *Packer) Pack(to, value []byte) ([]byte, error) {
	out := bytes.NewBuffer(to)
	out.WriteByte(p.marker)
	w, err := p.writer(out)
	if err != nil {
		return nil, fmt.Errorf("packing it: %w", err)
	}
	defer p.writers.Put(w)
	if _, err := w.Write(value); err != nil {
		return nil, fmt.Errorf("packing it: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing it: %w", err)
	}
	return out.Bytes(), nil
}

func (p *Packer) writer(to io.Writer) (*writing.Writer, error) {
	switch w, _ := p.writers.Get().(*writing.Writer); {
	case w != nil:
		w.Reset(to) // with the same words
		return w, nil
	case len(p.words) == 0:
		return writing.NewWriter(to, p.level)
	}
	return writing.NewWriterDict(to, p.level, p.words)
}

// Is says whether it begins as what was packed by this one.
func (p *Packer) Is(packed []byte) bool { return len(packed) > 0 && packed[0] == p.marker }

// Unpack what Pack has made.
func (p *Packer) Unpack(packed []byte) ([]byte, error) {
	switch {
	case len(packed) == 0:
		return nil, ErrMarker
	case packed[0] != p.marker:
		return nil, fmt.Errorf("%w: %#x", ErrMarker, packed[0])
	}
	from := bytes.NewReader(packed[1:])
	r, _ := p.readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReaderDict(from, p.words)
	} else if err := r.(flate.Resetter).Reset(from, p.words); err != nil {
		return nil, err
	}
	defer p.readers.Put(r)
	value, err := io.ReadAll(io.LimitReader(r, int64(p.most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(value) > p.most:
		return nil, ErrLarge
	}
	return value, nil
}
