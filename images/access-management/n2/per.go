package n2

import (
	"errors"
	"fmt"
	"math/bits"
)

// coder reads or writes the aligned variant of PER (X.691), as far as NGAP uses it. One description of a value serves both
// ways: each method takes what is written and returns what is there. What is wrong first stays in err; from then on nothing
// is read, and all is zero.
type coder struct {
	// b is what is read, or what has been written.
	b []byte
	// bit is where reading or writing goes on, in bits from the beginning of b.
	bit     uint
	writing bool
	// err is why the octets are no value, or the value cannot be written: a transfer syntax error (TS 38.413 10.2).
	err error
	// strange: there is a value, and nobody here knows its meaning, as that of a later release (TS 38.413 10.3.1).
	strange bool
	// untimely: what is within is there though its condition does not hold (TS 38.413 10.3.6).
	untimely bool
	// foreign are the extensions within that nobody here knows and that are not simply to be ignored.
	foreign []IEDiagnostics
}

var errTruncated = errors.New("it ends too early")

// fragment is the unit in which what is 16384 octets or longer is written (X.691 11.9.3.8), in octets
// or entries; mostPieces come under one length.
const fragment, mostPieces = 16384, 4

func (c *coder) fail(format string, a ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, a...)
	}
}

func (c *coder) left() uint { return uint(len(c.b))*8 - c.bit }

// bits is an unsigned number in n bits.
func (c *coder) bits(v uint64, n uint) uint64 {
	if c.writing {
		c.put(v, n)
		return v
	}
	return c.get(n)
}

func (c *coder) get(n uint) uint64 {
	if c.err != nil {
		return 0
	}
	if n > c.left() {
		c.err = errTruncated
		return 0
	}
	var out uint64
	for n > 0 {
		room := 8 - c.bit&7
		take := min(n, room)
		out = out<<take | uint64(c.b[c.bit>>3]>>(room-take))&(1<<take-1)
		c.bit += take
		n -= take
	}
	return out
}

func (c *coder) put(v uint64, n uint) {
	for n > 0 {
		if c.bit&7 == 0 {
			c.b = append(c.b, 0)
		}
		room := 8 - c.bit&7
		take := min(n, room)
		c.b[c.bit>>3] |= byte(v>>(n-take)) & (1<<take - 1) << (room - take)
		c.bit += take
		n -= take
	}
}

// align goes on to the next octet.
func (c *coder) align() { c.bit = (c.bit + 7) &^ 7 }

func (c *coder) boolean(v bool) bool {
	var bit uint64
	if v {
		bit = 1
	}
	return c.bits(bit, 1) != 0
}

// integer is a constrained whole number (X.691 11.5).
func (c *coder) integer(v, low, high uint64) uint64 {
	if c.writing && (v < low || v > high) {
		c.fail("%d is outside of %d to %d", v, low, high)
		return low
	}
	span := high - low
	switch {
	case span < 255:
		v = low + c.bits(v-low, uint(bits.Len64(span)))
	case span == 255:
		c.align()
		v = low + c.bits(v-low, 8)
	case span < 65536:
		c.align()
		v = low + c.bits(v-low, 16)
	default:
		most := octetsOf(span)
		octets := uint(c.bits(uint64(octetsOf(v-low))-1, uint(bits.Len(most-1)))) + 1
		if octets > most {
			c.fail("a number of %d octets, %d hold the highest", octets, most)
			return low
		}
		c.align()
		v = low + c.bits(v-low, octets*8)
	}
	if !c.writing && v > high {
		c.fail("%d is outside of %d to %d", v, low, high)
		return low
	}
	return v
}

// octetsOf is how many octets hold a number.
func octetsOf(v uint64) uint { return max(1, uint(bits.Len64(v)+7)/8) }

// integerExt is a number whose range may be extended. One beyond is strange, and given as it is.
func (c *coder) integerExt(v, low, high uint64) uint64 {
	if !c.boolean(false) {
		return c.integer(v, low, high)
	}
	c.strange = true
	b := c.octets(nil)
	if len(b) == 0 || len(b) > 8 || b[0]&0x80 != 0 {
		return low
	}
	v = 0
	for _, octet := range b {
		v = v<<8 | uint64(octet)
	}
	return v
}

// enumeration is an enumerated value with an extension marker, of which root values are not extensions (X.691 14).
func (c *coder) enumeration(v, root uint64) uint64 {
	if c.boolean(v >= root) {
		return root + c.small(v-root)
	}
	return c.integer(v, 0, root-1)
}

// small is a normally small non-negative whole number (X.691 11.6).
func (c *coder) small(v uint64) uint64 {
	if !c.boolean(v > 63) {
		return c.bits(v, 6)
	}
	if c.writing {
		c.align()
		n := octetsOf(v)
		c.put(uint64(n), 8)
		c.put(v, n*8)
		return v
	}
	n := c.length()
	if n == 0 || n > 8 {
		c.fail("a number of %d octets", n)
		return 0
	}
	return c.get(uint(n) * 8)
}

// length reads a length determinant without bounds that is not that of a fragment.
func (c *coder) length() int {
	n, more := c.lengthOrFragment()
	if more {
		c.fail("a length of fragments, where one piece is enough")
		return 0
	}
	return n
}

// lengthOrFragment reads a length determinant without bounds, and tells whether another follows (X.691 11.9.3.5 to
// 11.9.3.8).
func (c *coder) lengthOrFragment() (n int, more bool) {
	c.align()
	first := c.get(8)
	switch {
	case first < 0x80:
		return int(first), false
	case first < 0xc0:
		return int(first&0x3f<<8 | c.get(8)), false
	}
	pieces := int(first & 0x3f)
	if pieces == 0 || pieces > mostPieces {
		c.fail("%d fragments in one, there are 1 to %d", pieces, mostPieces)
		return 0, false
	}
	return pieces * fragment, true
}

func (c *coder) putLength(n int) {
	c.align()
	if n < 0x80 {
		c.put(uint64(n), 8)
		return
	}
	c.put(uint64(n)|0x8000, 16)
}

// octets is an octet string of any length. What is read is part of what was given, but where it came in fragments.
func (c *coder) octets(v []byte) []byte {
	if c.writing {
		c.putOctets(v)
		return v
	}
	var whole []byte
	for c.err == nil {
		n, more := c.lengthOrFragment()
		piece := c.take(uint(n))
		if !more && whole == nil {
			return piece
		}
		whole = append(whole, piece...)
		if !more {
			return whole
		}
	}
	return nil
}

func (c *coder) putOctets(v []byte) {
	for len(v) >= fragment {
		pieces := min(mostPieces, len(v)/fragment)
		c.align()
		c.put(uint64(0xc0|pieces), 8)
		c.give(v[:pieces*fragment])
		v = v[pieces*fragment:]
	}
	c.putLength(len(v))
	c.give(v)
}

// take are the next n octets, give writes some; both from the next octet on.
func (c *coder) take(n uint) []byte {
	c.align()
	if c.err != nil {
		return nil
	}
	if n > c.left()/8 {
		c.err = errTruncated
		return nil
	}
	at := c.bit / 8
	c.bit += n * 8
	return c.b[at : at+n : at+n]
}

func (c *coder) give(v []byte) {
	c.align()
	c.b = append(c.b, v...)
	c.bit += uint(len(v)) * 8
}

// fixed is an octet string that has the length of v, three octets or more; it is filled where it is read.
func (c *coder) fixed(v []byte) {
	if c.writing {
		c.give(v)
		return
	}
	copy(v, c.take(uint(len(v))))
}

// number24 is a number in an octet string of three octets.
func (c *coder) number24(v uint64) uint64 {
	if c.writing && v >= 1<<24 {
		c.fail("%d is outside of 0 to %d", v, 1<<24-1)
		return 0
	}
	c.align()
	return c.bits(v, 24)
}

// bitString is one of fixed length, at most 64, as a number; longer ones than 16 begin with an octet (X.691 16.9, 16.10).
func (c *coder) bitString(v uint64, n uint) uint64 {
	if c.writing && n < 64 && v>>n != 0 {
		c.fail("%d does not fit into %d bits", v, n)
		return 0
	}
	if n > 16 {
		c.align()
	}
	return c.bits(v, n)
}

// bitStringExt is one of fixed length that may become longer; only the bits that there are today are read.
func (c *coder) bitStringExt(v uint64, n uint) uint64 {
	if !c.boolean(false) {
		return c.bitString(v, n)
	}
	length := uint(c.length())
	c.align()
	if length < n {
		c.fail("%d bits, there are %d or more", length, n)
		return 0
	}
	v = c.get(n)
	c.skip(length - n)
	return v
}

func (c *coder) skip(n uint) {
	if n > c.left() {
		c.fail("%w", errTruncated)
		return
	}
	c.bit += n
}

// printable is a PrintableString of 1 to 150 characters, which may become longer. Other characters (X.680 41.4) are strange.
func (c *coder) printable(v string) string {
	return c.text(v, printableCharacter)
}

func (c *coder) visible(v string) string {
	return c.text(v, func(b byte) bool { return b >= 0x20 && b < 0x7f })
}

func (c *coder) text(v string, allowed func(byte) bool) string {
	const most = 150
	if c.writing {
		for n := range len(v) {
			if !allowed(v[n]) {
				c.fail("%q has characters that it may not have", v)
				return v
			}
		}
	}
	var n uint
	if c.boolean(false) {
		n = uint(c.length())
	} else {
		n = uint(c.integer(uint64(len(v)), 1, most))
	}
	if c.writing {
		c.give([]byte(v))
		return v
	}
	read := c.take(n)
	for _, b := range read {
		if !allowed(b) {
			c.strange = true
			return ""
		}
	}
	return string(read)
}

func printableCharacter(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	switch b {
	case ' ', '\'', '(', ')', '+', ',', '-', '.', '/', ':', '=', '?':
		return true
	}
	return false
}

// open is a value in an open type (X.691 11.2): its length stands before it, and none but it may be in there.
func (c *coder) open(value func()) {
	if !c.writing {
		c.within(c.octets(nil), value)
		return
	}
	start := c.begin()
	value()
	c.end(start)
}

// begin leaves room for the length of an open type of less than 128 octets, end fills it in, and makes more room where it
// is needed.
func (c *coder) begin() uint {
	c.align()
	c.put(0, 8)
	return c.bit / 8
}

func (c *coder) end(start uint) {
	c.align()
	n := uint(len(c.b)) - start
	switch {
	case n < 0x80:
		c.b[start-1] = byte(n)
	case n < fragment:
		c.b = append(c.b, 0)
		copy(c.b[start+1:], c.b[start:])
		c.b[start-1], c.b[start] = byte(n>>8)|0x80, byte(n)
		c.bit += 8
	default:
		value := append([]byte(nil), c.b[start:]...)
		c.b, c.bit = c.b[:start-1], (start-1)*8
		c.putOctets(value)
	}
}

// within reads a value that the octets have to be, to the last.
func (c *coder) within(b []byte, value func()) {
	outerB, outerBit := c.b, c.bit
	c.b, c.bit = b, 0
	value()
	if c.err == nil && c.left() >= 8 {
		c.fail("%d octets behind its end", c.left()/8)
	}
	c.b, c.bit = outerB, outerBit
}
