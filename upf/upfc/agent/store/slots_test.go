package store

import (
	"math/rand/v2"
	"testing"

	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

func TestSlotsAgainstASet(t *testing.T) {
	for _, limit := range []uint32{1, 63, 64, 65, 200} {
		random := rand.New(rand.NewPCG(uint64(limit), 1))
		var s Slots
		s.Resize(limit)
		used := map[uint32]bool{}
		for range 5000 {
			switch random.IntN(5) {
			case 0, 1, 2:
				v, ok := s.Take()
				if ok != (len(used) < int(limit)) {
					t.Fatalf("limit %d: take says %t with %d in use", limit, ok, len(used))
				}
				if ok && (used[v] || v >= limit) {
					t.Fatalf("limit %d: took %d twice or beyond the limit", limit, v)
				}
				if ok {
					used[v] = true
				}
			case 3:
				v := random.Uint32N(limit + 5)
				if got := s.Claim(v); got != (v < limit && !used[v]) {
					t.Fatalf("limit %d: claim(%d) = %t", limit, v, got)
				}
				if v < limit {
					used[v] = true
				}
			case 4:
				for v := range used {
					s.Give(v)
					delete(used, v)
					break
				}
			}
		}
	}
}

func TestSlotIsReusedLate(t *testing.T) {
	var s Slots
	s.Resize(100)
	first, _ := s.Take()
	s.Give(first)
	for range 99 {
		if v, ok := s.Take(); !ok || v == first {
			t.Fatalf("slot %d (%t) before all others were used", v, ok)
		}
	}
	if v, ok := s.Take(); !ok || v != first {
		t.Errorf("slot %d (%t), want %d at last", v, ok, first)
	}
}

func TestNoSlots(t *testing.T) {
	var s Slots
	if _, ok := s.Take(); ok {
		t.Error("took a slot of none")
	}
	if s.Claim(0) {
		t.Error("claimed a slot of none")
	}
	s.Give(0)
}

func TestSlotsOfASessionSharePairs(t *testing.T) {
	var all Slots
	all.Resize(10)
	s := &state.Session{QERSlots: state.Slots{{ID: 1, Value: 6}}, Meters: usage.Meters{{ID: 1, Value: usage.Meter{Slot: 7}}}}
	if !all.Claim(3) {
		t.Fatal("pair 3 is taken")
	}
	p := NewPairs(&all, s)
	q, _ := p.TakeQER()
	u, _ := p.TakeURR()
	if q != 7 || u != 6 {
		t.Errorf("QER slot %d, URR slot %d; want the free halves of pair 3: 7 and 6", q, u)
	}
	q2, _ := p.TakeQER()
	u2, _ := p.TakeURR()
	if q2/2 != u2/2 || q2/2 == 3 {
		t.Errorf("QER slot %d, URR slot %d; want both in one new pair", q2, u2)
	}
	p.Undo()
	if !all.Claim(q2/2) || all.Claim(3) {
		t.Error("undo gives back the new pair, and only that")
	}
	for range 9 {
		all.Take()
	}
	if _, ok := NewPairs(&all, &state.Session{}).TakeURR(); ok {
		t.Error("took a slot of no pair")
	}
}
