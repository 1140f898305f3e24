package sessions

import (
	"slices"
	"time"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// claimPairs takes those of a session that upf-u kept.
func (ss *Sessions) claimPairs(s *state.Session) error {
	var space [8]uint32
	list := store.AppendPairs(space[:0], s)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for i, pair := range list {
		if !ss.pairs.Claim(pair) {
			for _, mine := range list[:i] {
				ss.pairs.Give(mine)
			}
			return store.ErrDuplicate("slot pair")
		}
	}
	return nil
}

// givePairs gives those of a session back.
func (ss *Sessions) givePairs(s *state.Session) {
	var space [8]uint32
	list := store.AppendPairs(space[:0], s)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, pair := range list {
		ss.pairs.Give(pair)
	}
}

// takeSlots makes the slots of next those of its rules: new rules get one, removed ones lose
// theirs in next's account (the slot itself is given back by giveSlots). It is not complete when
// none is left.
func (ss *Sessions) takeSlots(conn *dataplane.Conn, old, next *state.Session, removed []uint32, now time.Time) (undo func(), complete bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	next.QERSlots.DeleteFunc(func(id, _ uint32) bool { return !next.Rules.QERs.Has(id) })
	gbrs := 0
	for _, r := range next.Rules.QERs.All() {
		if r.HasGBR {
			gbrs++
		}
	}
	next.GBRSlots.DeleteFunc(func(id, _ uint32) bool { return next.Rules.QERs.Get(id) == nil || !next.Rules.QERs.Get(id).HasGBR })
	next.Meters.DeleteFunc(func(id uint32, _ usage.Meter) bool {
		return slices.Contains(removed, id) || !next.Rules.URRs.Has(id)
	})
	// What the old rules use stays taken until they are out of force: packets still count there.
	p := store.NewPairs(&ss.pairs, old)
	for id, r := range next.Rules.QERs.All() {
		if !next.QERSlots.Has(id) {
			if slot, ok := p.TakeQER(); ok {
				next.QERSlots.Put(id, slot)
			}
		}
		if r.HasGBR && !next.GBRSlots.Has(id) {
			if slot, ok := p.TakeQER(); ok {
				next.GBRSlots.Put(id, slot)
			}
		}
	}
	for id, u := range next.Rules.URRs.All() {
		if next.Meters.Has(id) {
			continue
		}
		if slot, ok := p.TakeURR(); ok {
			next.Meters.Put(id, usage.New(slot, u, leases.Reading(conn.Shm(), u, slot, now)))
		}
	}
	undo = func() {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		p.Undo()
	}
	return undo, len(next.QERSlots) == len(next.Rules.QERs) && len(next.GBRSlots) == gbrs && len(next.Meters) == len(next.Rules.URRs)
}

func (ss *Sessions) giveSlots(old, next *state.Session) {
	var space, keptSpace [8]uint32
	kept := store.AppendPairs(keptSpace[:0], next)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, pair := range store.AppendPairs(space[:0], old) {
		if !slices.Contains(kept, pair) {
			ss.pairs.Give(pair)
		}
	}
}
