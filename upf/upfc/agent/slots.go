package agent

import (
	"math/bits"
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/state"
)

// slots hands out numbers below a limit, round-robin: a number that was given back is used again
// as late as possible, when no packet is under way any more that could still count for its former
// owner.
type slots struct {
	used   []uint64
	limit  uint32
	cursor uint32
}

func (s *slots) resize(limit uint32) {
	words := make([]uint64, (int(limit)+63)/64)
	copy(words, s.used)
	s.used, s.limit = words, limit
	if s.cursor >= limit {
		s.cursor = 0
	}
}

// take finds a free number.
func (s *slots) take() (uint32, bool) {
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

// claim marks a number as used; false when it is not below the limit or used already.
func (s *slots) claim(v uint32) bool {
	if v >= s.limit || s.used[v/64]&(1<<(v%64)) != 0 {
		return false
	}
	s.used[v/64] |= 1 << (v % 64)
	return true
}

// give takes a number back.
func (s *slots) give(v uint32) {
	if v < s.limit {
		s.used[v/64] &^= 1 << (v % 64)
	}
}

// pairs gives one session slots for its QERs and URRs. A cache line holds two of each, so they come
// from as few pairs as can be: QER slot q belongs to pair q / 2, URR slot u to pair u / 2.
type pairs struct {
	all        *slots
	mine       []uint32 // the session's pairs
	taken      int      // how many of them, at the end, are new
	qers, urrs []uint32 // slots in use
	space      [12]uint32
}

// newPairs begins with what a session has.
func newPairs(all *slots, s *state.Session) *pairs {
	p := &pairs{all: all}
	p.mine, p.qers, p.urrs = p.space[0:0:4], p.space[4:4:8], p.space[8:8:12]
	p.mine = appendPairs(p.mine, s)
	slices.Sort(p.mine)
	for _, slot := range s.QERSlots {
		p.qers = append(p.qers, slot)
	}
	for _, slot := range s.GBRSlots {
		p.qers = append(p.qers, slot)
	}
	for _, m := range s.Meters {
		p.urrs = append(p.urrs, m.Slot)
	}
	return p
}

func (p *pairs) takeQER() (uint32, bool) { return p.take(&p.qers) }
func (p *pairs) takeURR() (uint32, bool) { return p.take(&p.urrs) }

func (p *pairs) take(used *[]uint32) (uint32, bool) {
	for {
		for _, pair := range p.mine {
			for slot := pair * abi.LineSlots; slot < (pair+1)*abi.LineSlots; slot++ {
				if !slices.Contains(*used, slot) {
					*used = append(*used, slot)
					return slot, true
				}
			}
		}
		pair, ok := p.all.take()
		if !ok {
			return 0, false
		}
		p.mine = append(p.mine, pair)
		p.taken++
	}
}

// undo gives the new ones back.
func (p *pairs) undo() {
	for _, pair := range p.mine[len(p.mine)-p.taken:] {
		p.all.give(pair)
	}
}

// appendPairs appends the pairs in which a session has slots, each once.
func appendPairs(list []uint32, s *state.Session) []uint32 {
	add := func(pair uint32) {
		if !slices.Contains(list, pair) {
			list = append(list, pair)
		}
	}
	for _, slot := range s.QERSlots {
		add(slot / abi.LineSlots)
	}
	for _, slot := range s.GBRSlots {
		add(slot / abi.LineSlots)
	}
	for _, m := range s.Meters {
		add(m.Slot / abi.LineSlots)
	}
	return list
}

// claimPairs takes those of a session that upf-u kept.
func (a *Agent) claimPairs(s *state.Session) error {
	var space [8]uint32
	list := appendPairs(space[:0], s)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, pair := range list {
		if !a.pairs.claim(pair) {
			for _, mine := range list[:i] {
				a.pairs.give(mine)
			}
			return errDuplicate("slot pair")
		}
	}
	return nil
}

// givePairs gives those of a session back.
func (a *Agent) givePairs(s *state.Session) {
	var space [8]uint32
	list := appendPairs(space[:0], s)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pair := range list {
		a.pairs.give(pair)
	}
}
