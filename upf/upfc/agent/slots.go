package agent

import "math/bits"

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
