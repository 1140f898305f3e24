package n2

import (
	"math/bits"
	"slices"
)

// sequence is what stands before the fields of a SEQUENCE: whether there are fields of later releases, and which of the
// optional ones are there. The last optional one is iE-Extensions in every SEQUENCE of NGAP.
type sequence struct {
	extended, extensions bool
	optional             uint64
	count                uint
}

// sequence begins one with so many optional fields besides iE-Extensions; each says whether it is written.
func (c *coder) sequence(optional ...bool) sequence { return c.sequenceExt(false, optional...) }

func (c *coder) sequenceExt(extensions bool, optional ...bool) sequence {
	extended := c.boolean(false)
	s := c.sequenceOfToday(optional...)
	s.extended, s.extensions = extended, c.boolean(extensions)
	return s
}

// sequenceOfToday is one without an extension marker, less the bit of iE-Extensions.
func (c *coder) sequenceOfToday(optional ...bool) sequence {
	s := sequence{count: uint(len(optional))}
	for n, there := range optional {
		if there {
			s.optional |= 1 << (s.count - 1 - uint(n))
		}
	}
	s.optional = c.bits(s.optional, s.count)
	return s
}

// has tells whether the optional field of this number is there.
func (s sequence) has(n uint) bool { return s.optional&(1<<(s.count-1-n)) != 0 }

// extension is one of iE-Extensions that is known.
type extension struct {
	id          IE
	criticality Criticality
	there       bool
	value       func()
}

// finish ends a SEQUENCE: extensions that are known are written, or read; what else is there is passed over.
func (c *coder) finish(s sequence, known ...extension) {
	if c.err != nil {
		return
	}
	if s.extensions {
		if c.writing {
			c.putExtensions(known)
		} else {
			c.getExtensions(known)
		}
	}
	if s.extended {
		c.additions()
	}
}

const mostExtensions = 65535

func (c *coder) putExtensions(known []extension) {
	count := 0
	for _, e := range known {
		if e.there {
			count++
		}
	}
	c.integer(uint64(count), 1, mostExtensions)
	for _, e := range known {
		if e.there {
			c.field(e.id, e.criticality)
			c.open(e.value)
		}
	}
}

func (c *coder) getExtensions(known []extension) {
	count := c.integer(0, 1, mostExtensions)
	for ; count > 0 && c.err == nil; count-- {
		id, criticality := c.field(0, 0)
		value := c.octets(nil)
		if c.err != nil {
			return
		}
		if e := find(known, id); e != nil {
			c.within(value, e.value)
			continue
		}
		c.unknown(id, criticality)
	}
}

func find(known []extension, id IE) *extension {
	for n := range known {
		if known[n].id == id {
			return &known[n]
		}
	}
	return nil
}

// field is what stands before the value of an IE or an extension (TS 38.413 9.4.8).
func (c *coder) field(id IE, criticality Criticality) (IE, Criticality) {
	id = IE(c.integer(uint64(id), 0, 65535))
	return id, c.criticality(criticality)
}

func (c *coder) criticality(v Criticality) Criticality {
	return Criticality(c.integer(uint64(v), uint64(Reject), uint64(Notify)))
}

// unknown keeps what has to be told of an extension that is not known.
func (c *coder) unknown(id IE, criticality Criticality) {
	if criticality != Ignore && len(c.foreign) < mostDiagnostics {
		c.foreign = append(c.foreign, IEDiagnostics{Criticality: criticality, ID: id, Error: NotUnderstood})
	}
}

// additions passes over fields of later releases (X.691 19.7 to 19.9).
func (c *coder) additions() {
	var count uint64
	if c.boolean(false) {
		count = uint64(c.length())
	} else {
		count = c.get(6) + 1
	}
	present := 0
	for ; count > 0 && c.err == nil; count-- {
		present += bits.OnesCount64(c.get(1))
	}
	for ; present > 0 && c.err == nil; present-- {
		c.octets(nil)
	}
}

// choice is the index of an alternative of so many, the last of which is choice-Extensions. That one is strange, whatever
// it is, and passed over; then the result is -1.
func (c *coder) choice(index, alternatives int) int {
	got := int(c.integer(uint64(index), 0, uint64(alternatives-1)))
	if c.err != nil {
		return -1
	}
	if got < alternatives-1 {
		return got
	}
	if c.writing {
		c.fail("nothing that can be written")
		return -1
	}
	id, criticality := c.field(0, 0)
	c.octets(nil)
	c.unknown(id, criticality)
	c.strange = true
	return -1
}

// codeOf reads or writes a T.
type codeOf[T any] func(c *coder, v *T)

// list is a SEQUENCE OF with bounds, the upper one below 64 Ki. Room is made for as many as there can be in what is left,
// whatever the length says.
func list[T any](c *coder, v *[]T, low, high int, code codeOf[T]) {
	if c.writing && (len(*v) < low || len(*v) > high) {
		c.fail("%d entries, there are %d to %d", len(*v), low, high)
		return
	}
	count := int(c.integer(uint64(len(*v)), uint64(low), uint64(high)))
	if c.writing {
		putEntries(c, *v, code)
		return
	}
	*v = entries(c, nil, count, code)
}

func putEntries[T any](c *coder, v []T, code codeOf[T]) {
	for n := range v {
		code(c, &v[n])
	}
}

// entries reads so many behind those that there are.
func entries[T any](c *coder, to []T, count int, code codeOf[T]) []T {
	// An entry has a bit at least.
	if c.err == nil && uint(count) > c.left() {
		c.err = errTruncated
	}
	if c.err != nil {
		return nil
	}
	const few = 64
	to = slices.Grow(to, min(count, few))
	for range count {
		to = append(to, *new(T))
		if code(c, &to[len(to)-1]); c.err != nil {
			return nil
		}
	}
	return to
}

// longList is a SEQUENCE OF whose upper bound is 64 Ki or more: its length is one without bounds, and from 16 Ki on, it comes
// in fragments (X.691 11.9.4.2, 11.9.3.8).
func longList[T any](c *coder, v *[]T, low, high int, code codeOf[T]) {
	if c.writing {
		putLongList(c, *v, low, high, code)
		return
	}
	var out []T
	for more := true; more && c.err == nil; {
		var count int
		if count, more = c.lengthOrFragment(); c.err == nil {
			out = entries(c, out, count, code)
		}
		if len(out) > high {
			c.fail("more than %d entries", high)
		}
	}
	if c.err == nil && len(out) < low {
		c.fail("%d entries, there are %d to %d", len(out), low, high)
	}
	*v = out
}

func putLongList[T any](c *coder, v []T, low, high int, code codeOf[T]) {
	if len(v) < low || len(v) > high {
		c.fail("%d entries, there are %d to %d", len(v), low, high)
		return
	}
	for len(v) >= fragment {
		pieces := min(mostPieces, len(v)/fragment)
		c.align()
		c.put(uint64(0xc0|pieces), 8)
		putEntries(c, v[:pieces*fragment], code)
		v = v[pieces*fragment:]
	}
	c.putLength(len(v))
	putEntries(c, v, code)
}

// wrapped is a SEQUENCE of one field, as most entries of lists are.
func wrapped[T any](c *coder, v *T, code codeOf[T]) {
	s := c.sequence()
	code(c, v)
	c.finish(s)
}

// set keeps what was read. What is written is not touched: it may be written to several at the same time.
func set[T any](c *coder, v *T, got T) {
	if !c.writing {
		*v = got
	}
}

// pointerTo is an optional field that is there.
func pointerTo[T any](c *coder, v **T, code codeOf[T]) {
	if !c.writing {
		*v = new(T)
	}
	code(c, *v)
}

// number is a whole number with bounds.
func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T, low, high uint64) {
	set(c, v, T(c.integer(uint64(*v), low, high)))
}

// enumerated is an enumerated value with an extension marker, of which root are no extensions and known have a meaning
// here; first is the Go value of the first.
func enumerated[T ~uint8](c *coder, v *T, first T, root, known uint64) {
	if c.writing && (*v < first || uint64(*v-first) >= known) {
		c.fail("%d is none of %d to %d", *v, first, uint64(first)+known-1)
		return
	}
	got := c.enumeration(uint64(*v-first), root)
	if got >= known {
		c.strange = true
		return
	}
	set(c, v, first+T(got))
}

// flag is an enumerated value with a single name, which is there or not.
func flag(c *coder, v *bool) {
	one := uint8(1)
	enumerated(c, &one, 1, 1, 1)
	set(c, v, !c.strange)
}

func octetString(c *coder, v *[]byte) { set(c, v, c.octets(*v)) }

func printableString(c *coder, v *string) { set(c, v, c.printable(*v)) }
