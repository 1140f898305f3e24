package n1

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// PLMN in the octets of TS 24.501 9.11.3.4, which are NGAP's: MCC digits 2 and 1, MNC digit 3 and MCC digit 3, MNC digits
// 2 and 1. The zero value is none.
type PLMN [3]byte

// MakePLMN of an MCC of three digits and an MNC of two or three.
func MakePLMN(mcc, mnc string) (PLMN, error) {
	if !isDigits(mcc, 3, 3) || !isDigits(mnc, 2, 3) {
		return PLMN{}, fmt.Errorf("PLMN %q %q: write an MCC of three digits, and an MNC of two or three", mcc, mnc)
	}
	d := func(s string, i int) byte { return s[i] - '0' }
	third := byte(filler)
	if len(mnc) == 3 {
		third = d(mnc, 2)
	}
	return PLMN{d(mcc, 1)<<4 | d(mcc, 0), third<<4 | d(mcc, 2), d(mnc, 1)<<4 | d(mnc, 0)}, nil
}

// Valid: the halves are digits.
func (p PLMN) Valid() bool {
	return p != PLMN{} && p[0]&0xf <= 9 && p[0]>>4 <= 9 && p[1]&0xf <= 9 && p[2]&0xf <= 9 && p[2]>>4 <= 9 && (p[1]>>4 <= 9 || p[1]>>4 == filler)
}

// MCC has three digits.
func (p PLMN) MCC() string { return string([]byte{'0' + p[0]&0xf, '0' + p[0]>>4, '0' + p[1]&0xf}) }

// MNC has two digits, or three.
func (p PLMN) MNC() string {
	mnc := []byte{'0' + p[2]&0xf, '0' + p[2]>>4, '0' + p[1]>>4}
	if p[1]>>4 == filler {
		mnc = mnc[:2]
	}
	return string(mnc)
}

// String is "208-93".
func (p PLMN) String() string { return p.MCC() + "-" + p.MNC() }

// Digits is "20893".
func (p PLMN) Digits() string { return p.MCC() + p.MNC() }

// PLMNs is a PLMN list, of 1 to 15 (TS 24.501 9.11.3.45).
type PLMNs []PLMN

// TAI is a tracking area identity. TAC has 24 bits.
type TAI struct {
	PLMN PLMN
	TAC  uint32
}

// String is "208-93-000001".
func (t TAI) String() string { return fmt.Sprintf("%s-%06x", t.PLMN, t.TAC) }

// TAIs is a tracking area identity list, of 1 to 16 (TS 24.501 9.11.3.9). Lists of all three types are read; written is
// the one that says it most shortly.
type TAIs []TAI

const (
	taiLength              = 6
	maxTAC                 = 1<<24 - 1
	maxTAIs, maxPLMNs      = 16, 15
	listScattered     byte = 0 // one PLMN, TACs that do not follow each other
	listConsecutive        = 1 // one PLMN, the first of TACs that do
	listSeveralPLMN        = 2
	listWholePLMN          = 3 // in a service area only
)

func readTAC(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func appendTAC(b []byte, tac uint32) []byte {
	return append(b, byte(tac>>16), byte(tac>>8), byte(tac))
}

func (t *TAI) read(b []byte) bool {
	if len(b) < taiLength {
		return false
	}
	copy(t.PLMN[:], b)
	t.TAC = readTAC(b[3:])
	return t.PLMN.Valid()
}

func (t *TAI) write(b []byte) []byte { return appendTAC(append(b, t.PLMN[:]...), t.TAC) }

func (t TAI) check() error {
	if !t.PLMN.Valid() || t.TAC > maxTAC {
		return errors.New("a TAI needs a PLMN, and a TAC of 24 bits")
	}
	return nil
}

// partial is one partial list: its type, whether the highest bit of its header is set, and its TAIs; of a whole PLMN one,
// with a TAC that says nothing.
type partial struct {
	kind   byte
	marked bool
	tais   []TAI
}

// nextPartial reads a partial list from the front of b, and returns what is behind it; false: it is wrong.
func nextPartial(b []byte) (p partial, rest []byte, is bool) {
	p.kind, p.marked = b[0]>>5&3, b[0]&0x80 != 0
	n := int(b[0]&0x1f) + 1
	b = b[1:]
	if n > maxTAIs || len(b) < 3 {
		return p, nil, false
	}
	var plmn PLMN
	copy(plmn[:], b)
	if !plmn.Valid() {
		return p, nil, false
	}
	need := 3
	switch p.kind {
	case listScattered:
		need = 3 + 3*n
	case listConsecutive:
		need = taiLength
	case listSeveralPLMN:
		need = taiLength * n
	}
	if len(b) < need {
		return p, nil, false
	}
	rest = b[need:]
	if p.kind == listWholePLMN {
		p.tais = []TAI{{PLMN: plmn}}
		return p, rest, true
	}
	p.tais = make([]TAI, n)
	for i := range p.tais {
		t := TAI{PLMN: plmn}
		switch p.kind {
		case listScattered:
			t.TAC = readTAC(b[3+3*i:])
		case listConsecutive:
			t.TAC = readTAC(b[3:]) + uint32(i)
		default:
			if !t.read(b[6*i:]) {
				return p, nil, false
			}
		}
		if t.TAC > maxTAC {
			return p, nil, false
		}
		p.tais[i] = t
	}
	return p, rest, true
}

// appendPartial writes 1 to 16 TAIs as the shortest list that says them.
func appendPartial(b []byte, mark byte, tais []TAI) []byte {
	one, consecutive := true, true
	for i, t := range tais {
		one = one && t.PLMN == tais[0].PLMN
		consecutive = consecutive && t.TAC == tais[0].TAC+uint32(i)
	}
	n := byte(len(tais) - 1)
	switch {
	case one && consecutive && n > 0:
		return tais[0].write(append(b, mark|listConsecutive<<5|n))
	case one:
		b = append(append(b, mark|listScattered<<5|n), tais[0].PLMN[:]...)
		for _, t := range tais {
			b = appendTAC(b, t.TAC)
		}
		return b
	}
	b = append(b, mark|listSeveralPLMN<<5|n)
	for _, t := range tais {
		b = t.write(b)
	}
	return b
}

func (l *TAIs) read(b []byte) bool {
	for *l = nil; len(b) > 0; {
		p, rest, is := nextPartial(b)
		if !is || p.kind == listWholePLMN {
			return false
		}
		*l, b = append(*l, p.tais...), rest
	}
	return len(*l) > 0 && len(*l) <= maxTAIs
}

func (l *TAIs) write(b []byte) []byte {
	return appendPartial(b, 0, *l)
}

func (l *TAIs) check() error {
	if len(*l) == 0 || len(*l) > maxTAIs {
		return errors.New("a list has 1 to 16 TAIs")
	}
	for _, t := range *l {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (l *PLMNs) read(b []byte) bool {
	if len(b) == 0 || len(b)%3 != 0 || len(b)/3 > maxPLMNs {
		return false
	}
	*l = make(PLMNs, len(b)/3)
	for i := range *l {
		copy((*l)[i][:], b[3*i:])
		if !(*l)[i].Valid() {
			return false
		}
	}
	return true
}

func (l *PLMNs) write(b []byte) []byte {
	for _, p := range *l {
		b = append(b, p[:]...)
	}
	return b
}

func (l *PLMNs) check() error {
	if len(*l) > maxPLMNs {
		return errors.New("a list has at most 15 PLMNs")
	}
	for _, p := range *l {
		if !p.Valid() {
			return errors.New("a PLMN is not valid")
		}
	}
	return nil
}

// readLengthed takes the content behind a length of one octet from the front of b.
func readLengthed(b []byte) (content, rest []byte, is bool) {
	if len(b) == 0 || len(b)-1 < int(b[0]) {
		return nil, nil, false
	}
	end := 1 + int(b[0])
	return b[1:end:end], b[end:], true
}

// readLongLengthed takes the content behind a length of two octets from the front of b.
func readLongLengthed(b []byte) (content, rest []byte, is bool) {
	if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
		return nil, nil, false
	}
	end := 2 + int(binary.BigEndian.Uint16(b))
	return b[2:end:end], b[end:], true
}
