package standby

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"core5g.dev/core5g/upf/upfc/state"
)

// Version of the stream, and the oldest that a holder follows: one without hand-overs.
const (
	Version = 2
	oldest  = 1
)

// FrameMax is the most octets that a frame has behind its length.
const FrameMax = 4 << 20

type kind uint8

const (
	kindHello kind = iota + 1
	kindWelcome
	kindRefused
	kindLife
	kindSession
	kindDeletion
	kindMeta
	kindCounters
	kindWhole
	kindBeat
	kindAcknowledged
	kindBeatHeard
	kindLine
	kindYield
	kindServing
	kinds // how many there are, and one
)

// Frame is one thing said; which of its fields are meant depends on its kind.
//
//	hello          Version, Blobs, Name, Life, Epoch, Sessions, Line   unit to standby, the first of a connection; Line: its number, 0: the stream
//	welcome        Version, Life                                      standby to unit
//	refused        Text                                               standby to unit; then it hangs up
//	life           Memory, Boot, Slots                                from now on Memory means this upf-u
//	session        Number, Index, Memory, Blob                        no Blob: there is none any more
//	deletion       Number, Index, Memory, Blob                        likewise; Index is its place
//	meta           Number, Blob
//	counters       Memory, At, Counts                                 of those slots that have changed
//	whole          Number                                             all that there was at this change has come
//	beat           Number
//	acknowledged   Number                                             standby to unit: all changes up to this one are held
//	beatHeard      Number                                             standby to unit: fencing.Standby.Beat
//	line           Number                                             upf-u holds this line, too: from now on its end means something
//	yield          Text, Epoch, Life, Name, Number                    fencing.Standby.Yielded: version, epoch, holder, standby and renewals of the record
//	serving                                                           standby to unit: it serves in the place of the unit that has yielded
type Frame struct {
	kind     kind
	Version  uint16
	Blobs    uint8 // state.Version
	Name     string
	Life     string
	Epoch    uint64
	Sessions uint32 // how many the unit may have
	Line     uint64
	Text     string
	Number   uint64
	Memory   uint8 // of upf-u: store.Word.Life
	Boot     uint64
	Slots    uint32
	Index    uint32
	At       uint32 // upf-u's milliseconds
	Counts   []Count
	Blob     []byte
}

// Count is what upf-u's memory says of a URR slot.
type Count struct {
	Slot                    uint32
	UL, DL                  uint64 // octets
	ULPackets, DLPackets    uint64
	First, Last, ActiveTime uint32 // milliseconds of abi.UrrTimes
}

var (
	errCut   = errors.New("a frame is cut short")
	errLeft  = errors.New("a frame has octets left over")
	errOrder = errors.New("slots of a frame are not in order")
)

// coder writes fields to b, or reads them from it.
type coder struct {
	b       []byte
	reading bool
	err     error
}

func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, uint64(*v))
		return
	}
	n, k := binary.Uvarint(c.b)
	switch {
	case k <= 0 || k > 1 && c.b[k-1] == 0 || uint64(T(n)) != n:
		c.fail(errCut)
	default:
		*v, c.b = T(n), c.b[k:]
	}
}

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.b = nil
}

func (c *coder) octets(v *[]byte) {
	n := uint32(len(*v))
	number(c, &n)
	if !c.reading {
		c.b = append(c.b, *v...)
		return
	}
	if uint64(n) > uint64(len(c.b)) {
		c.fail(errCut)
		return
	}
	*v = nil
	if n > 0 {
		*v = c.b[:n:n]
	}
	c.b = c.b[n:]
}

func (c *coder) text(v *string) {
	b := []byte(*v)
	c.octets(&b)
	*v = string(b)
}

func (c *coder) counts(v *[]Count) {
	n := uint32(len(*v))
	number(c, &n)
	if c.reading {
		if uint64(n)*8 > uint64(len(c.b)) { // a count has eight octets at least
			c.fail(errCut)
			return
		}
		*v = make([]Count, n)
	}
	before := uint32(0)
	for i := range *v {
		count := &(*v)[i]
		further := count.Slot - before
		number(c, &further)
		if c.reading {
			if count.Slot = before + further; i > 0 && count.Slot <= before {
				c.fail(errOrder)
			}
		}
		before = count.Slot
		number(c, &count.UL)
		number(c, &count.DL)
		number(c, &count.ULPackets)
		number(c, &count.DLPackets)
		number(c, &count.First)
		number(c, &count.Last)
		number(c, &count.ActiveTime)
		if c.err != nil {
			return
		}
	}
}

// fields names those of a kind once, for writing and for reading.
func (f *Frame) fields(c *coder) {
	switch f.kind {
	case kindHello:
		number(c, &f.Version)
		number(c, &f.Blobs)
		c.text(&f.Name)
		c.text(&f.Life)
		number(c, &f.Epoch)
		number(c, &f.Sessions)
		number(c, &f.Line)
	case kindWelcome:
		number(c, &f.Version)
		c.text(&f.Life)
	case kindRefused:
		c.text(&f.Text)
	case kindLife:
		number(c, &f.Memory)
		number(c, &f.Boot)
		number(c, &f.Slots)
	case kindSession, kindDeletion:
		number(c, &f.Number)
		number(c, &f.Index)
		number(c, &f.Memory)
		c.octets(&f.Blob)
	case kindMeta:
		number(c, &f.Number)
		c.octets(&f.Blob)
	case kindCounters:
		number(c, &f.Memory)
		number(c, &f.At)
		c.counts(&f.Counts)
	case kindYield:
		c.text(&f.Text)
		number(c, &f.Epoch)
		c.text(&f.Life)
		c.text(&f.Name)
		number(c, &f.Number)
	case kindWhole, kindBeat, kindAcknowledged, kindBeatHeard, kindLine:
		number(c, &f.Number)
	}
}

// Append appends a frame with its length to b.
func (f *Frame) Append(b []byte) []byte {
	at := len(b)
	c := coder{b: append(b, 0, 0, 0, 0, byte(f.kind))}
	f.fields(&c)
	binary.LittleEndian.PutUint32(c.b[at:], uint32(len(c.b)-at-4))
	return c.b
}

// Decode reads what follows a frame's length. The frame's Blob lies in b.
func Decode(b []byte) (*Frame, error) {
	if len(b) == 0 {
		return nil, errCut
	}
	f := &Frame{kind: kind(b[0])}
	if f.kind == 0 || f.kind >= kinds {
		return nil, fmt.Errorf("a frame of kind %d, which this version does not know", f.kind)
	}
	c := coder{b: b[1:], reading: true}
	f.fields(&c)
	if c.err != nil {
		return nil, c.err
	}
	if len(c.b) > 0 {
		return nil, errLeft
	}
	return f, nil
}

// frames reads frames one after the other.
type frames struct {
	r   io.Reader
	buf []byte
}

// next is the next frame; what it holds lies in memory of its own.
func (r *frames) next() (*Frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > FrameMax {
		return nil, fmt.Errorf("a frame of %d octets", n)
	}
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return nil, err
	}
	return Decode(r.buf)
}

// accepts says what is wrong with a hello.
func (f *Frame) accepts(name string) error {
	switch {
	case f.kind != kindHello:
		return errors.New("the first frame is no hello")
	case f.Version < oldest || f.Version > Version:
		return fmt.Errorf("the unit's stream is of version %d, this standby follows %d to %d: upgrade the standby first", f.Version, oldest, Version)
	case !state.Reads(uint32(f.Blobs)):
		return fmt.Errorf("the unit's blobs are of version %d, this standby reads %d to %d: upgrade the standby first", f.Blobs, state.Oldest, state.Version)
	case f.Name != name:
		return fmt.Errorf("the unit is %q, this is a standby of %q", f.Name, name)
	}
	return nil
}
