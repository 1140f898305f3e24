package nat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/upf/abi"
)

// Block is one of a public address: the first of its ports says which.
type Block struct {
	Addr netip.Addr
	Port uint16
}

// IsValid is false of none.
func (b Block) IsValid() bool { return b.Addr.IsValid() }

// Equal compares.
func (b Block) Equal(o Block) bool { return b == o }

// Config is NAT44 of a network instance, as upf-u has it.
type Config struct {
	Prefixes []netip.Prefix
	Ports    uint32 // of a block, a power of two
}

// Equal compares.
func (c Config) Equal(o Config) bool {
	return c.Ports == o.Ports && slices.Equal(c.Prefixes, o.Prefixes)
}

// Of is that of each of the network instances that upf-u tells, by index; without ports where there is none.
func Of(h *abi.Hello) []Config {
	list := make([]Config, min(int(h.Networks), len(h.Network)))
	for i := range list {
		n := &h.Network[i]
		if n.NatPorts == 0 || n.NatPorts > 1<<16 || bits.OnesCount32(n.NatPorts) != 1 {
			continue
		}
		for _, p := range n.NatPrefix[:min(int(n.NatPrefixes), len(n.NatPrefix))] {
			if p.Len <= 32 {
				list[i].Prefixes = append(list[i].Prefixes, netip.PrefixFrom(abi.AddrFromBe(p.AddrBe), int(p.Len)))
			}
		}
		if len(list[i].Prefixes) > 0 {
			list[i].Ports = n.NatPorts
		}
	}
	return list
}

// Text is the ports of a block: first-last.
func (c Config) Text(b Block) string {
	if c.Ports <= 1 {
		return fmt.Sprint(b.Port)
	}
	return fmt.Sprintf("%d-%d", b.Port, uint32(b.Port)+c.Ports-1)
}

const (
	// rest is RFC 6888 REQ-8's: what came from outside meanwhile was for the one before.
	rest = 120 * time.Second
	// mostBlocks that are given out, whatever the prefixes have.
	mostBlocks = 1 << 24
)

// Pool has the blocks of one network instance. Its caller locks it.
type Pool struct {
	config  Config
	first   uint32 // block of an address, counted in blocks from port 0
	perAddr int    // blocks of an address
	size    int
	busy    []uint64       // bits: taken, or resting
	taken   map[int]uint32 // sessions
	resting map[int]rested
	queue   []rested // in the order in which they began to rest; those that do not any more are among them
}

type rested struct {
	block int
	until time.Time
	ue    netip.Addr // whose it was
}

// New is a pool of which nothing is taken.
func New(c Config) *Pool {
	p := &Pool{config: c, taken: map[int]uint32{}, resting: map[int]rested{}}
	p.first = max((abi.NatFirstPort+c.Ports-1)/c.Ports, 1)
	p.perAddr = int(1<<16/c.Ports - p.first)
	for _, prefix := range c.Prefixes {
		p.size += p.perAddr << (32 - prefix.Bits())
	}
	p.size = min(p.size, mostBlocks)
	p.busy = make([]uint64, (p.size+63)/64)
	return p
}

// Config is what it was made of.
func (p *Pool) Config() Config { return p.config }

// Used is how many blocks sessions have, of how many.
func (p *Pool) Used() (used, size int) { return len(p.taken), p.size }

func (p *Pool) block(i int) Block {
	port := uint16((p.first + uint32(i%p.perAddr)) * p.config.Ports)
	at := i / p.perAddr
	for _, prefix := range p.config.Prefixes {
		if n := 1 << (32 - prefix.Bits()); at >= n {
			at -= n
			continue
		}
		a := prefix.Addr().As4()
		binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])+uint32(at))
		return Block{netip.AddrFrom4(a), port}
	}
	panic("a block that no prefix has")
}

// index is a block's; false: it is none of the pool's.
func (p *Pool) index(b Block) (int, bool) {
	if !b.Addr.Is4() || uint32(b.Port)%p.config.Ports != 0 || uint32(b.Port)/p.config.Ports < p.first {
		return 0, false
	}
	before := 0
	for _, prefix := range p.config.Prefixes {
		if prefix.Contains(b.Addr) {
			a, first := b.Addr.As4(), prefix.Addr().As4()
			i := (before+int(binary.BigEndian.Uint32(a[:])-binary.BigEndian.Uint32(first[:])))*p.perAddr + int(uint32(b.Port)/p.config.Ports-p.first)
			return i, i < p.size
		}
		before += 1 << (32 - prefix.Bits())
	}
	return 0, false
}

// Has says whether a block is one of the pool's.
func (p *Pool) Has(b Block) bool {
	_, ok := p.index(b)
	return ok
}

// Holds says whether the session has the block.
func (p *Pool) Holds(b Block, session uint32) bool {
	i, ok := p.index(b)
	holder, taken := p.taken[i]
	return ok && taken && holder == session
}

// Keep notes a block that a session has; false: it is none of the pool's, or another session's.
func (p *Pool) Keep(b Block, session uint32) bool {
	i, ok := p.index(b)
	if holder, taken := p.taken[i]; !ok || taken && holder != session {
		return false
	}
	p.take(i, session)
	return true
}

// KeepAll notes what sessions have of another pool, as far as it is in this one.
func (p *Pool) KeepAll(other *Pool) {
	for i, session := range other.taken {
		p.Keep(other.block(i), session)
	}
}

func (p *Pool) take(i int, session uint32) {
	delete(p.resting, i)
	p.taken[i] = session
	p.busy[i/64] |= 1 << (i % 64)
}

// Take gives a session a block; false: there is none.
func (p *Pool) Take(ue netip.Addr, session uint32, now time.Time) (Block, bool) {
	if len(p.taken) == p.size {
		return Block{}, false
	}
	for len(p.queue) > 0 && !now.Before(p.queue[0].until) {
		if r := p.queue[0]; p.stillRests(r) {
			delete(p.resting, r.block)
			p.busy[r.block/64] &^= 1 << (r.block % 64)
		}
		p.queue = p.queue[1:]
	}
	i := p.home(ue)
	if p.resting[i].ue != ue { // who may have his own again at once
		i = p.free(i)
	}
	if i < 0 { // all that nobody has are resting: the one that has for the longest
		for !p.stillRests(p.queue[0]) {
			p.queue = p.queue[1:]
		}
		i = p.queue[0].block
	}
	p.take(i, session)
	return p.block(i), true
}

// home is where the search for a UE's block begins.
func (p *Pool) home(ue netip.Addr) int {
	a := ue.As4()
	return int(uint64(binary.BigEndian.Uint32(a[:])*0x9e3779b1) * uint64(p.size) >> 32)
}

// free is the next block from i on that is free; -1: there is none.
func (p *Pool) free(i int) int {
	words := len(p.busy)
	for n := range words + 1 { // the first word twice: what is before i in it comes last
		w := (i/64 + n) % words
		open := ^p.busy[w]
		if n == 0 {
			open &= ^uint64(0) << (i % 64)
		}
		if at := w*64 + bits.TrailingZeros64(open); open != 0 && at < p.size {
			return at
		}
	}
	return -1
}

// Give takes a session's block back, which was this UE's.
func (p *Pool) Give(b Block, session uint32, ue netip.Addr, now time.Time) {
	if !p.Holds(b, session) {
		return
	}
	i, _ := p.index(b)
	delete(p.taken, i)
	r := rested{i, now.Add(rest), ue}
	p.resting[i] = r
	p.queue = append(p.queue, r)
}

func (p *Pool) stillRests(r rested) bool { return p.resting[r.block] == r }
