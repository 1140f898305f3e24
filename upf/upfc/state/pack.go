package state

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A blob has many zeros: parts that a session does not have, high octets of numbers. They are left
// out: before each eight octets stands one with a bit for each of them that is not 0. In front of all
// stands how many octets there are.

// pack appends b, packed, to to.
func pack(to, b []byte) []byte {
	to = binary.AppendUvarint(to, uint64(len(b)))
	to = slices.Grow(to, len(b)+len(b)/8+2)
	at := len(to)
	to = to[:cap(to)]
	for len(b) > 0 {
		n := min(len(b), 8)
		set, next := uint(0), at+1
		for i, o := range b[:n] { // without a branch, which nobody could foresee
			given := (uint(o) + 255) >> 8
			to[next] = o
			set |= given << i
			next += int(given)
		}
		to[at] = byte(set)
		at, b = next, b[n:]
	}
	return to[:at]
}

// unpack appends what pack packed to to. What pack would not have written is refused.
func unpack(to, b []byte) ([]byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || k > 1 && b[k-1] == 0 {
		return nil, errShort
	}
	b = b[k:]
	if n > 8*uint64(len(b)) {
		return nil, errShort
	}
	at := len(to)
	to = slices.Grow(to, int(n))[:at+int(n)]
	out := to[at:]
	clear(out)
	for ; len(out) > 0; out = out[min(len(out), 8):] {
		if len(b) == 0 {
			return nil, errShort
		}
		set := b[0]
		b = b[1:]
		if len(out) < 8 && set>>len(out) != 0 {
			return nil, errLeft
		}
		if bits.OnesCount8(set) > len(b) {
			return nil, errShort
		}
		for ; set != 0; set &= set - 1 {
			if b[0] == 0 {
				return nil, errNumber
			}
			out[bits.TrailingZeros8(set)] = b[0]
			b = b[1:]
		}
	}
	if len(b) > 0 {
		return nil, errLeft
	}
	return to, nil
}
