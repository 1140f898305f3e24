package state

// The encoding. Every struct has one function that names its fields once, in order, and serves both
// ways: writing it appends them, reading it fills them in. So the two cannot disagree, and a new
// field is one line. What is read must be exactly what would have been written: numbers in their
// shortest form, maps in order of their keys, no octet left over. Anything else is refused.

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/upf/upfc/rules"
)

type coder struct {
	b       []byte // writing: what is written so far; reading: what is left
	reading bool
	version uint8 // reading: of the blob
	err     error // reading: the first thing that was wrong
	names   []string
	space   [8]string // of names
	known   *Strings
	room    []byte // what is not packed
	packed  []byte // what is, before it is known how much that is
}

var (
	errShort     = errors.New("blob is cut short")
	errLeft      = errors.New("octets left over behind the blob")
	errNumber    = errors.New("a number is out of range or not in its shortest form")
	errFlags     = errors.New("a flag that is not known")
	errOrder     = errors.New("a map is not in order of its keys")
	errAddress   = errors.New("an address is none")
	errReference = errors.New("a name refers to none before it")
)

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err, c.b = err, nil
	}
}

// since says whether the blob has what a version brought.
func (c *coder) since(version uint8) bool { return !c.reading || c.version >= version }

// take reads n octets.
func (c *coder) take(n int) []byte {
	if n > len(c.b) {
		c.fail(errShort)
		return nil
	}
	v := c.b[:n]
	c.b = c.b[n:]
	return v
}

func (c *coder) putUvarint(v uint64) {
	if v < 0x80 {
		c.b = append(c.b, byte(v))
	} else {
		c.b = binary.AppendUvarint(c.b, v)
	}
}

func (c *coder) uvarint() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		v := uint64(c.b[0])
		c.b = c.b[1:]
		return v
	}
	v, n := binary.Uvarint(c.b)
	switch {
	case n == 0:
		c.fail(errShort)
		return 0
	case n < 0 || c.b[n-1] == 0: // more than 64 bits, or a needless octet
		c.fail(errNumber)
		return 0
	}
	c.b = c.b[n:]
	return v
}

// number is an unsigned integer: one octet below 128, one more for each 7 bits beyond.
func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	if !c.reading {
		c.putUvarint(uint64(*v))
		return
	}
	n := c.uvarint()
	if *v = T(n); uint64(*v) != n {
		c.fail(errNumber)
	}
}

// signed is a signed integer: times, durations.
func signed[T ~int64](c *coder, v *T) {
	if !c.reading {
		c.putUvarint(uint64(*v)<<1 ^ uint64(int64(*v)>>63))
		return
	}
	n := c.uvarint()
	*v = T(n>>1) ^ -T(n&1)
}

// fixed is a number that is seldom small: 8 octets.
func (c *coder) fixed(v *uint64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

// flags are up to eight booleans in one octet.
func (c *coder) flags(list ...*bool) {
	if !c.reading {
		var o byte
		for i, f := range list {
			o |= one(*f) << i
		}
		c.b = append(c.b, o)
		return
	}
	b := c.take(1)
	if b == nil {
		return
	}
	if b[0]>>len(list) != 0 {
		c.fail(errFlags)
	}
	for i, f := range list {
		*f = b[0]&(1<<i) != 0
	}
}

// one is 1 for true.
func one(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// given says whether an optional part follows: when writing, as present says; when reading, as was
// written.
func (c *coder) given(present bool) bool {
	c.flags(&present)
	return present && c.err == nil
}

// refuse fails the reading of an optional part that would have been left out.
func (c *coder) refuse(empty bool) {
	if c.reading && empty {
		c.fail(errNumber)
	}
}

// name is a string, of which a session has few different ones: the second time it is a number.
func (c *coder) name(s *string) {
	if !c.reading {
		if *s == "" {
			c.putUvarint(0)
			return
		}
		for i, n := range c.names {
			if n == *s {
				c.putUvarint(uint64(i) + 2)
				return
			}
		}
		c.names = append(c.names, *s)
		c.putUvarint(1)
		c.putUvarint(uint64(len(*s)))
		c.b = append(c.b, *s...)
		return
	}
	switch n := c.uvarint(); {
	case c.err != nil, n == 0:
		*s = ""
	case n == 1:
		l := c.uvarint()
		if l > uint64(len(c.b)) {
			c.fail(errShort)
			return
		}
		v := c.known.Get(c.take(int(l)))
		if v == "" || slices.Contains(c.names, v) {
			c.fail(errReference)
			return
		}
		*s = v
		c.names = append(c.names, v)
	case n-2 < uint64(len(c.names)):
		*s = c.names[n-2]
	default:
		c.fail(errReference)
	}
}

// addr is an address with its length: 0 (none), 4 or 16 octets.
func (c *coder) addr(a *netip.Addr) {
	if !c.reading {
		switch {
		case !a.IsValid():
			c.b = append(c.b, 0)
		case a.Is4():
			v := a.As4()
			c.b = append(append(c.b, 4), v[:]...)
		default:
			v := a.As16()
			c.b = append(append(c.b, 16), v[:]...)
		}
		return
	}
	n := c.take(1)
	if n == nil {
		return
	}
	switch n[0] {
	case 0:
		*a = netip.Addr{}
	case 4, 16:
		if b := c.take(int(n[0])); b != nil {
			*a, _ = netip.AddrFromSlice(b)
		}
	default:
		c.fail(errAddress)
	}
}

func (c *coder) prefix(p *netip.Prefix) {
	a, bits := p.Addr(), uint8(p.Bits())
	c.addr(&a)
	if !a.IsValid() { // none
		*p = netip.Prefix{}
		return
	}
	number(c, &bits)
	if c.reading {
		if *p = netip.PrefixFrom(a, int(bits)); !p.IsValid() {
			c.fail(errAddress)
		}
	}
}

func (c *coder) addrPort(p *netip.AddrPort) {
	a, port := p.Addr(), p.Port()
	c.addr(&a)
	number(c, &port)
	if c.reading {
		*p = netip.AddrPortFrom(a, port)
	}
}

// pointer is a value that may be absent.
func pointer[T any](c *coder, p **T, each func(*coder, *T)) {
	if !c.given(*p != nil) {
		*p = nil
		return
	}
	if c.reading {
		*p = new(T)
	}
	each(c, *p)
}

// count is the length of what follows; each element takes an octet at least.
func (c *coder) count(n int) int {
	if !c.reading {
		c.putUvarint(uint64(n))
		return n
	}
	v := c.uvarint()
	if v > uint64(len(c.b)) {
		c.fail(errShort)
		return 0
	}
	return int(v)
}

// list is a slice; an empty one is read as nil.
func list[T any](c *coder, s *[]T, each func(*coder, *T)) {
	n := c.count(len(*s))
	if c.reading {
		*s = nil
		if n > 0 {
			*s = make([]T, n)
		}
	}
	for i := 0; i < n && c.err == nil; i++ {
		each(c, &(*s)[i])
	}
}

// numbers is a slice of numbers.
func numbers[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, s *[]T) { list(c, s, number[T]) }

// dict is something by ID. Where there is a list already, its room is used again; else an empty one is read as nil.
func dict[K ~uint8 | ~uint16 | ~uint32 | ~uint64, V any](c *coder, l *rules.ByID[K, V], each func(*coder, *V)) {
	n := c.count(len(*l))
	if c.reading {
		*l = slices.Grow((*l)[:0], n)[:n]
		clear(*l)
	}
	for i := 0; i < n && c.err == nil; i++ {
		x := &(*l)[i]
		number(c, &x.ID)
		each(c, &x.Value)
		if i > 0 && x.ID <= (*l)[i-1].ID {
			c.fail(errOrder)
		}
	}
}

// rulesOf are rules by their own ID, which is not written twice. Where there is a list already,
// it and its rules are used again; else an empty one is read as nil.
func rulesOf[K cmp.Ordered, V any](c *coder, l *rules.ByID[K, *V], id func(*V) K, each func(*coder, *V)) {
	n := c.count(len(*l))
	if !c.reading {
		for i := range *l {
			each(c, (*l)[i].Value)
		}
		return
	}
	had := min(n, len(*l))
	*l = slices.Grow((*l)[:had], n-had)[:n]
	more := make([]V, n-had)
	for i := 0; i < n && c.err == nil; i++ {
		x := &(*l)[i]
		if i < had {
			var none V
			*x.Value = none
		} else {
			x.Value = &more[i-had]
		}
		each(c, x.Value)
		if x.ID = id(x.Value); i > 0 && x.ID <= (*l)[i-1].ID {
			c.fail(errOrder)
		}
	}
}

// Strings are those that have been read before, so that 400,000 sessions share one "internet".
// Any number of goroutines may use them.
type Strings struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]string] // replaced, never changed: there are few
}

const stringsMax = 256

// NewStrings knows none yet.
func NewStrings() *Strings {
	s := &Strings{}
	s.known.Store(&map[string]string{})
	return s
}

// Get is the text of b.
func (s *Strings) Get(b []byte) string {
	if s == nil {
		return string(b)
	}
	known := *s.known.Load()
	if v, ok := known[string(b)]; ok {
		return v
	}
	v := string(b)
	if len(known) < stringsMax {
		s.mu.Lock()
		defer s.mu.Unlock()
		more := maps.Clone(*s.known.Load())
		more[v] = v
		s.known.Store(&more)
	}
	return v
}
