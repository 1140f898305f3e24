package store

import (
	"math/bits"
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/state"
)

// Slots hands out numbers below a limit, round-robin: a number that was given back is used again
// as late as possible, when no packet is under way any more that could still count for its former
// owner.
type Slots struct {
	used   []uint64
	limit  uint32
	cursor uint32
}

// Resize changes the limit; what is used stays used.
func (s *Slots) Resize(limit uint32) {
	words := make([]uint64, (int(limit)+63)/64)
	copy(words, s.used)
	s.used, s.limit = words, limit
	if s.cursor >= limit {
		s.cursor = 0
	}
}

// Take finds a free number.
func (s *Slots) Take() (uint32, bool) {
	n := uint32(len(s.used))
	if n == 0 {
		return 0, false
	}
	first := s.cursor / 64
	for i := uint32(0); i <= n; i++ {
		w := (first + i) % n
		free := ^s.used[w]
		switch i {
		case 0:
			free &= ^uint64(0) << (s.cursor % 64)
		case n:
			free &^= ^uint64(0) << (s.cursor % 64)
		}
		if free == 0 {
			continue
		}
		v := w*64 + uint32(bits.TrailingZeros64(free))
		if v >= s.limit {
			continue
		}
		s.used[w] |= 1 << (v % 64)
		s.cursor = (v + 1) % s.limit
		return v, true
	}
	return 0, false
}

// Claim marks a number as used; false when it is not below the limit or used already.
func (s *Slots) Claim(v uint32) bool {
	if v >= s.limit || s.used[v/64]&(1<<(v%64)) != 0 {
		return false
	}
	s.used[v/64] |= 1 << (v % 64)
	return true
}

// Give takes a number back.
func (s *Slots) Give(v uint32) {
	if v < s.limit {
		s.used[v/64] &^= 1 << (v % 64)
	}
}

// Pairs gives one session slots for its QERs and URRs. A cache line holds two of each, so they come
// from as few pairs as can be: QER slot q belongs to pair q / 2, URR slot u to pair u / 2.
type Pairs struct {
	all        *Slots
	mine       []uint32 // the session's pairs
	taken      int      // how many of them, at the end, are new
	qers, urrs []uint32 // slots in use
	space      [12]uint32
}

// NewPairs begins with what a session has.
func NewPairs(all *Slots, s *state.Session) *Pairs {
	p := &Pairs{all: all}
	p.mine, p.qers, p.urrs = p.space[0:0:4], p.space[4:4:8], p.space[8:8:12]
	p.mine = AppendPairs(p.mine, s)
	slices.Sort(p.mine)
	for _, slot := range s.QERSlots.All() {
		p.qers = append(p.qers, slot)
	}
	for _, slot := range s.GBRSlots.All() {
		p.qers = append(p.qers, slot)
	}
	for _, m := range s.Meters.All() {
		p.urrs = append(p.urrs, m.Slot)
	}
	return p
}

// TakeQER finds a slot for a QER.
func (p *Pairs) TakeQER() (uint32, bool) { return p.take(&p.qers) }

// TakeURR finds a slot for a URR.
func (p *Pairs) TakeURR() (uint32, bool) { return p.take(&p.urrs) }

func (p *Pairs) take(used *[]uint32) (uint32, bool) {
	for {
		for _, pair := range p.mine {
			for slot := pair * abi.LineSlots; slot < (pair+1)*abi.LineSlots; slot++ {
				if !slices.Contains(*used, slot) {
					*used = append(*used, slot)
					return slot, true
				}
			}
		}
		pair, ok := p.all.Take()
		if !ok {
			return 0, false
		}
		p.mine = append(p.mine, pair)
		p.taken++
	}
}

// Undo gives the new ones back.
func (p *Pairs) Undo() {
	for _, pair := range p.mine[len(p.mine)-p.taken:] {
		p.all.Give(pair)
	}
}

// AppendPairs appends the pairs in which a session has Slots, each once.
func AppendPairs(list []uint32, s *state.Session) []uint32 {
	add := func(pair uint32) {
		if !slices.Contains(list, pair) {
			list = append(list, pair)
		}
	}
	for _, slot := range s.QERSlots.All() {
		add(slot / abi.LineSlots)
	}
	for _, slot := range s.GBRSlots.All() {
		add(slot / abi.LineSlots)
	}
	for _, m := range s.Meters.All() {
		add(m.Slot / abi.LineSlots)
	}
	return list
}
