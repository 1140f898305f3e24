package n1

import (
	"errors"
	"fmt"
)

// SNSSAI is a slice (TS 23.003 28.4). It can be compared.
type SNSSAI struct {
	SST uint8
	// HasSD: SD is the slice differentiator. 0xffffff is none (TS 23.003 28.4.2), and is read as none.
	HasSD bool
	SD    [3]byte
}

// String is "1" or "1-010203".
func (s SNSSAI) String() string {
	if !s.HasSD {
		return fmt.Sprint(s.SST)
	}
	return fmt.Sprintf("%d-%x", s.SST, s.SD)
}

// Slice is an S-NSSAI element (TS 24.501 9.11.2.8): a slice, and of a roaming UE which of its home network it stands for.
type Slice struct {
	SNSSAI
	// Mapped is the slice of the home network; nil: not told.
	Mapped *SNSSAI
}

// NSSAI is a list of slices (TS 24.501 9.11.3.37): up to 8 of requested, allowed and pending ones, up to 16 of configured.
type NSSAI []Slice

// MappedNSSAI is a list of slices of a home network, up to 8 (TS 24.501 9.11.3.31B).
type MappedNSSAI []SNSSAI

// RejectCause is why a slice was refused (TS 24.501 9.11.3.46).
type RejectCause uint8

// Why slices are refused.
const (
	NotInPLMN             RejectCause = 0
	NotInRegistrationArea RejectCause = 1
	AuthenticationFailed  RejectCause = 2
)

// Rejected is a slice that was refused.
type Rejected struct {
	SNSSAI
	Cause RejectCause
}

// RejectedNSSAI is a list of refused slices, up to 8.
type RejectedNSSAI []Rejected

const maxSlices = 16

var noSD = [3]byte{0xff, 0xff, 0xff}

// Lengths of the S-NSSAI element tell what is in it.
const (
	onlySST, sstAndMappedSST, sstAndSD, sdAndMappedSST, allOfSlice = 1, 2, 4, 5, 8
)

func readSD(s *SNSSAI, b []byte) {
	copy(s.SD[:], b)
	if s.HasSD = s.SD != noSD; !s.HasSD {
		s.SD = [3]byte{}
	}
}

func (s *Slice) read(b []byte) bool {
	*s = Slice{}
	switch len(b) {
	case onlySST, sstAndMappedSST, sstAndSD, sdAndMappedSST, allOfSlice:
	default:
		return false
	}
	s.SST = b[0]
	if len(b) >= sstAndSD {
		readSD(&s.SNSSAI, b[1:4])
	}
	switch len(b) {
	case sstAndMappedSST:
		s.Mapped = &SNSSAI{SST: b[1]}
	case sdAndMappedSST, allOfSlice:
		s.Mapped = &SNSSAI{SST: b[4]}
		if len(b) == allOfSlice {
			readSD(s.Mapped, b[5:])
		}
	}
	return true
}

func (s *Slice) write(b []byte) []byte {
	b = append(b, s.SST)
	// With a mapped SD the slice's own has its place, even where it is none.
	if s.HasSD || s.Mapped != nil && s.Mapped.HasSD {
		b = appendSD(b, s.SNSSAI)
	}
	if s.Mapped != nil {
		b = append(b, s.Mapped.SST)
		if s.Mapped.HasSD {
			b = append(b, s.Mapped.SD[:]...)
		}
	}
	return b
}

func appendSD(b []byte, s SNSSAI) []byte {
	if !s.HasSD {
		return append(b, noSD[:]...)
	}
	return append(b, s.SD[:]...)
}

func (l *NSSAI) read(b []byte) bool {
	*l = make(NSSAI, 0, 4)
	for len(b) > 0 {
		content, rest, is := readLengthed(b)
		var s Slice
		if !is || !s.read(content) || len(*l) == maxSlices {
			return false
		}
		*l, b = append(*l, s), rest
	}
	return len(*l) > 0
}

func (l *NSSAI) write(b []byte) []byte {
	for i := range *l {
		at := len(b)
		b = (*l)[i].write(append(b, 0))
		b[at] = byte(len(b) - at - 1)
	}
	return b
}

func (l *NSSAI) check() error { return atMost(len(*l), maxSlices) }

func atMost(n, most int) error {
	if n > most {
		return errors.New("a list is too long")
	}
	return nil
}

func (l *MappedNSSAI) read(b []byte) bool {
	*l = nil
	for len(b) > 0 {
		content, rest, is := readLengthed(b)
		var s Slice
		if !is || len(content) != onlySST && len(content) != sstAndSD || !s.read(content) || len(*l) == maxSlices {
			return false
		}
		*l, b = append(*l, s.SNSSAI), rest
	}
	return len(*l) > 0
}

func (l *MappedNSSAI) write(b []byte) []byte {
	for _, s := range *l {
		if b = append(b, onlySST, s.SST); s.HasSD {
			b[len(b)-2] = sstAndSD
			b = append(b, s.SD[:]...)
		}
	}
	return b
}

func (l *MappedNSSAI) check() error { return atMost(len(*l), maxSlices) }

func (l *RejectedNSSAI) read(b []byte) bool {
	*l = nil
	for len(b) > 0 {
		n := int(b[0] >> 4)
		if n != onlySST && n != sstAndSD || len(b)-1 < n || len(*l) == maxSlices {
			return false
		}
		r := Rejected{Cause: RejectCause(b[0] & 0xf)}
		r.SST = b[1]
		if n == sstAndSD {
			readSD(&r.SNSSAI, b[2:5])
		}
		*l, b = append(*l, r), b[1+n:]
	}
	return len(*l) > 0
}

func (l *RejectedNSSAI) write(b []byte) []byte {
	for _, r := range *l {
		n := byte(onlySST)
		if r.HasSD {
			n = sstAndSD
		}
		b = append(b, n<<4|byte(r.Cause)&0xf, r.SST)
		if r.HasSD {
			b = append(b, r.SD[:]...)
		}
	}
	return b
}

func (l *RejectedNSSAI) check() error { return atMost(len(*l), maxSlices) }
