package n1

import (
	"encoding/binary"
	"errors"
)

// codec goes over the elements of a message in one of both directions: reading fills the fields that it is handed,
// writing appends what is in them. A message therefore names each of its elements once.
type codec struct {
	kind    MessageType
	writing bool
	// b is what is written, or what is left to read of the mandatory part.
	b []byte
	// optional is the rest of the message behind the mandatory part, found its elements, first ones only.
	scanned  bool
	optional []byte
	found    []place
	room     [24]place
	fault    *Fault
	err      error
}

// place of an element's content in codec.optional; a negative one is the content of an element of one octet in all.
type place struct {
	iei      byte
	taken    bool
	from, to uint32
}

// value is an element's content. read says whether it could be read: syntactically, and with all that must be there.
// Octets behind what is known belong to later releases, and are passed over.
type value interface {
	read(b []byte) bool
	write(b []byte) []byte
}

// checked is a value that cannot always be said.
type checked interface{ check() error }

func read(m Message, b []byte) *Fault {
	c := &codec{kind: m.Type(), b: b}
	c.found = c.room[:0]
	m.elements(c)
	if c.fault != nil {
		return c.fault
	}
	c.scan()
	for _, p := range c.found {
		if !p.taken && p.iei < 0x10 {
			// TS 24.007 11.2.4, TS 24.501 7.5.1 b: comprehension is required of 0x00 to 0x0f.
			c.fail(CauseInvalidMandatoryInformation, "an element that is not known, and has to be")
			return c.fault
		}
	}
	return nil
}

func write(m Message, b []byte) ([]byte, error) {
	c := &codec{kind: m.Type(), writing: true, b: b}
	m.elements(c)
	return c.b, c.err
}

func (c *codec) fail(cause Cause, reason string) {
	if c.fault == nil {
		c.fault = &Fault{Type: c.kind, Cause: cause, Reason: reason}
	}
	c.b, c.optional, c.found, c.scanned = nil, nil, nil, true
}

func (c *codec) refuse(err error) {
	if c.err == nil {
		c.err = err
	}
}

// ---- the mandatory part ----------------------------------------------------------------------------------

// take reads n octets of a mandatory element; nil: they are not there.
func (c *codec) take(n int) []byte {
	if len(c.b) < n || c.fault != nil {
		c.fail(CauseInvalidMandatoryInformation, "a mandatory element is missing or cut")
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// octet is an element of format V and one octet.
func octet[T ~uint8](c *codec, v *T) {
	if c.writing {
		c.b = append(c.b, byte(*v))
	} else if b := c.take(1); b != nil {
		*v = T(b[0])
	}
}

// nibbles are two elements of format V and half an octet.
func nibbles[L, H ~uint8](c *codec, low *L, high *H) {
	if *low > 0xf || *high > 0xf {
		c.refuse(errors.New("an element of half an octet has a larger value"))
	}
	both := byte(*high)<<4 | byte(*low)&0xf
	octet(c, &both)
	*low, *high = L(both&0xf), H(both>>4)
}

// nibble is one of half an octet beside a spare one.
func nibble[L ~uint8](c *codec, low *L) {
	var spare uint8
	nibbles(c, low, &spare)
}

// lv is a mandatory element with a length of one octet.
func lv(c *codec, v value) { mandatory(c, v, 1) }

// lve is a mandatory element with a length of two octets.
func lve(c *codec, v value) { mandatory(c, v, 2) }

func mandatory(c *codec, v value, width int) {
	if c.writing {
		c.sized(v, width)
		return
	}
	length := c.take(width)
	if length == nil {
		return
	}
	n := int(length[0])
	if width == 2 {
		n = int(binary.BigEndian.Uint16(length))
	}
	if content := c.take(n); c.fault == nil && !v.read(content) {
		c.fail(CauseInvalidMandatoryInformation, "a mandatory element has a wrong content")
	}
}

// sized writes a length and a content.
func (c *codec) sized(v value, width int) {
	if !c.check(v) {
		return
	}
	at := len(c.b)
	c.b = v.write(append(c.b, make([]byte, width)...))
	n := len(c.b) - at - width
	switch {
	case width == 1 && n <= 0xff:
		c.b[at] = byte(n)
	case width == 2 && n <= 0xffff:
		binary.BigEndian.PutUint16(c.b[at:], uint16(n))
	default:
		c.refuse(errTooLong)
	}
}

// check says whether a value can be said.
func (c *codec) check(v value) bool {
	if v, is := v.(checked); is {
		if err := v.check(); err != nil {
			c.refuse(err)
			return false
		}
	}
	return true
}

// ---- the optional part -----------------------------------------------------------------------------------

// fixedLength is how long the content of an element of format TV is; 0: it has a length, or is one octet in all.
func fixedLength(kind MessageType, iei byte) int {
	switch iei {
	case ieiPDUSession, ieiOldPDUSession, ieiCause, ieiTimeZone, ieiEPSAlgorithms:
		return 1
	case ieiRAND:
		if kind == AuthenticationRequestType { // elsewhere this is the network feature support, with a length
			return 16
		}
	case ieiTime:
		return 7
	case ieiLastTAI:
		return taiLength
	}
	return 0
}

// scan finds the optional elements. What cannot be walked is as if it were not there, and so is what is behind it
// (TS 24.501 7.6.1, 7.7.1).
func (c *codec) scan() {
	if c.scanned {
		return
	}
	c.scanned, c.optional, c.b = true, c.b, nil
	b := c.optional
	for at := 0; at < len(b); {
		iei, from := b[at], at+1
		n := 0
		switch fixed := fixedLength(c.kind, iei); {
		case iei >= 0x80: // one octet in all: identifier and content
			iei, from = iei&0xf0, at
			n = 1
		case fixed != 0:
			n = fixed
		case iei >= 0x70:
			if len(b)-from < 2 {
				return
			}
			n = int(binary.BigEndian.Uint16(b[from:]))
			from += 2
		default:
			if len(b)-from < 1 {
				return
			}
			n = int(b[from])
			from++
		}
		if len(b)-from < n {
			return
		}
		if !c.has(iei) { // TS 24.501 7.6.3: of one that comes twice the first counts, and the rest takes no room
			c.found = append(c.found, place{iei: iei, from: uint32(from), to: uint32(from + n)})
		}
		at = from + n
	}
}

func (c *codec) has(iei byte) bool {
	for i := range c.found {
		if c.found[i].iei == iei {
			return true
		}
	}
	return false
}

// content of an optional element; of one of one octet in all that octet. nil: it is not there.
func (c *codec) content(iei byte) ([]byte, bool) {
	c.scan()
	for i := range c.found {
		if p := &c.found[i]; p.iei == iei {
			p.taken = true
			return c.optional[p.from:p.to:p.to], true
		}
	}
	return nil, false
}

// put writes an optional element in the format that its identifier says (TS 24.007 11.2.4).
func (c *codec) put(iei byte, v value) {
	at := len(c.b)
	switch fixed := fixedLength(c.kind, iei); {
	case iei >= 0x80:
		if !c.check(v) {
			return
		}
		if c.b = v.write(c.b); len(c.b) != at+1 || c.b[at] > 0xf {
			c.refuse(errors.New("an element of half an octet has a larger value"))
			return
		}
		c.b[at] |= iei
	case fixed != 0:
		if !c.check(v) {
			return
		}
		if c.b = v.write(append(c.b, iei)); len(c.b)-at-1 != fixed {
			c.refuse(errors.New("an element of fixed length has another one"))
		}
	case iei >= 0x70:
		c.b = append(c.b, iei)
		c.sized(v, 2)
	default:
		c.b = append(c.b, iei)
		c.sized(v, 1)
	}
}

type reads[T any] interface {
	*T
	value
}

// optional is an element whose absence is nil.
func optional[T any, P reads[T]](c *codec, iei byte, field **T) {
	if c.writing {
		if *field != nil {
			c.put(iei, P(*field))
		}
		return
	}
	if content, is := c.content(iei); is {
		v := new(T)
		if P(v).read(content) {
			*field = v
		}
	}
}

// nonzero is an element whose absence is the zero value.
func nonzero[T comparable, P reads[T]](c *codec, iei byte, field *T) {
	var zero T
	if c.writing {
		if *field != zero {
			c.put(iei, P(field))
		}
		return
	}
	if content, is := c.content(iei); is {
		if !P(field).read(content) {
			*field = zero
		}
	}
}

// list is an element whose absence is an empty list.
func list[T ~[]E, E any, P reads[T]](c *codec, iei byte, field *T) {
	if c.writing {
		if len(*field) > 0 {
			c.put(iei, P(field))
		}
		return
	}
	if content, is := c.content(iei); is {
		if !P(field).read(content) {
			*field = nil
		}
	}
}

// octets is an element that this package passes on as it is, of least octets or more; its absence is nil.
func octets(c *codec, iei byte, field *[]byte, least int) {
	if c.writing {
		if len(*field) > 0 {
			c.put(iei, (*raw)(field))
		}
		return
	}
	if content, is := c.content(iei); is && len(content) >= least {
		*field = content
	}
}

// raw is a content that is passed on as it is.
type raw []byte

func (r *raw) read(b []byte) bool {
	*r = b
	return true
}

func (r *raw) write(b []byte) []byte { return append(b, *r...) }

// bit is n where a flag is set.
func bit(is bool, n uint) byte {
	if is {
		return 1 << n
	}
	return 0
}

// flags reads the bits of an octet, or those of none where there is no such octet, bit 8 first; nil: a spare one.
func flags(b []byte, at int, bits ...*bool) {
	if at >= len(b) {
		return
	}
	for i, p := range bits {
		if p != nil {
			*p = b[at]>>(7-i)&1 != 0
		}
	}
}

// packed is the octet of such bits.
func packed(bits ...*bool) (o byte) {
	for i, p := range bits {
		if p != nil && *p {
			o |= 1 << (7 - i)
		}
	}
	return o
}
