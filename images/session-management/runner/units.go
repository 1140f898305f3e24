package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/fxamacker/cbor/v2"
)

// Units, as far as all sessions of one are concerned (TS 23.527 4.3):
//
//	its Recovery Time Stamp is another     what it has not, is made anew
//	the store has lost writes              what it has and nobody knows is deleted, what both know is made anew, as the record says
//	it did not answer                      sessions of which it is not known what it has are told again, when it is met again or after a while
//
// What was done is kept in a record of the shard's own: a holder that dies in the midst of it is followed by one that begins again, and
// leaves out what the unit lists.

// kept is the shard's own record.
type kept struct {
	// Generation of the store in which the numbers of sessions were reserved last.
	Generation string `cbor:"0,keyasint"`
	// Units in order, by Node ID.
	Units map[string]order `cbor:"1,keyasint"`
	// Slices whose sessions follow the configuration, by name: its digest.
	Slices map[string]uint64 `cbor:"2,keyasint,omitempty"`
}

// order is when a unit had all sessions of the shard: in which life of its own, and in which generation of the store.
type order struct {
	Stamp      uint32 `cbor:"0,keyasint"`
	Generation string `cbor:"1,keyasint"`
}

// unit that was met.
type unit struct {
	stamp uint32
	// checking: what it has is being compared. again: it was met once more meanwhile.
	checking, again bool
	// leftovers: it may have sessions that nobody knows.
	leftovers bool
	// sweeps numbers when that is looked for: one time is set at a time.
	sweeps int
	// lost: it has said that it begins anew.
	lost bool
	// lists: it has listed what it has.
	lists bool
	// met is when it was met last: sessions that began since are not older than its life.
	met time.Time
}

func shardKey(shard string) string { return "shard/" + shard }

// readShard reads the shard's own record. Nothing is numbered before.
func (r *Runner) readShard() {
	if r.stopped {
		return
	}
	key := shardKey(r.lease.Shard)
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
				return
			case err == nil:
				r.keptRevision = found.Revision
				if err := r.openShard(key, found.Value); err != nil {
					r.log.Error("the shard's own record cannot be read, its units are all looked at", "err", err)
				}
			case !errors.Is(err, sessionstore.ErrNotFound):
				r.numbers.away = true
				r.w.After(longestWait, r.readShard)
				r.feed()
				return
			}
			r.shardRead = true
			if r.kept.Generation != r.lease.Generation {
				r.numbers.floor = floorOf(r.lease.Epoch)
				r.kept.Slices = map[string]uint64{}
			}
			r.reserve()
			for _, name := range sorted(r.units) {
				r.check(name)
			}
			r.Configured()
		}
	})
}

func (r *Runner) openShard(key string, value []byte) error {
	octets, err := r.sealer.Open(key, value)
	if err != nil {
		return err
	}
	var k kept
	if err := cbor.Unmarshal(octets, &k); err != nil {
		return fmt.Errorf("the shard's record: %w", err)
	}
	if k.Units == nil {
		k.Units = map[string]order{}
	}
	if k.Slices == nil {
		k.Slices = map[string]uint64{}
	}
	r.kept = k
	return nil
}

// keepShard writes the shard's own record, one write after the other.
func (r *Runner) keepShard(then func()) {
	r.keptWaiting = append(r.keptWaiting, then)
	if !r.keptWriting {
		r.writeShard()
	}
}

func (r *Runner) writeShard() {
	waiting := r.keptWaiting
	r.keptWaiting, r.keptWriting = nil, true
	octets, err := cbor.Marshal(kept{Generation: r.kept.Generation, Units: maps.Clone(r.kept.Units), Slices: maps.Clone(r.kept.Slices)})
	if err != nil {
		r.log.Error("the shard's own record cannot be written", "err", err)
		return
	}
	r.writes++
	key := shardKey(r.lease.Shard)
	c := sessionstore.Change{
		Key: key, Was: r.keptRevision, Is: sessionstore.Revision{Writer: r.writer, Count: r.writes}, Value: r.sealer.Seal(key, octets),
	}
	lease := r.lease
	var try func()
	try = func() {
		r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
			err := store.Commit(ctx, lease, c)
			return func() {
				r.heard(err)
				switch {
				case r.stopped:
				case err == nil:
					r.keptRevision, r.keptWriting = c.Is, false
					for _, f := range waiting {
						f()
					}
					if len(r.keptWaiting) > 0 && !r.keptWriting {
						r.writeShard()
					}
				case lasting(err):
					r.log.Error("the store refuses the shard's own record", "err", err)
				default:
					r.w.After(longestWait, func() {
						if !r.stopped {
							try()
						}
					})
				}
			}
		})
	}
	try()
}

// UnitMet: there is an association with the unit, which has that Recovery Time Stamp. kept: it still has what it had under the association
// before.
func (r *Runner) UnitMet(nodeID string, stamp uint32, kept bool) {
	if r.stopped {
		return
	}
	u := r.units[nodeID]
	if u == nil {
		u = &unit{leftovers: true} // of the holder before
		r.units[nodeID] = u
		r.sweepIn(nodeID, firstSweep)
	}
	u.stamp, u.met = stamp, r.w.Now()
	if !kept {
		u.lost = true
	}
	r.check(nodeID)
	r.settle(nodeID)
}

// check whether the unit has what it should have.
func (r *Runner) check(nodeID string) {
	u := r.units[nodeID]
	switch {
	case r.stopped || !r.shardRead || u == nil:
		return
	case u.checking:
		u.again = true
		return
	}
	want := order{Stamp: u.stamp, Generation: r.lease.Generation}
	was := r.kept.Units[nodeID]
	if was == want && !u.lost {
		r.restored(nodeID, want.Stamp)
		return
	}
	if u.lost && was == want {
		delete(r.kept.Units, nodeID) // whoever takes over in the midst of it looks, too
		r.keepShard(func() {})
	}
	u.checking, u.again, u.lost = true, false, false
	met := u.met
	done := func() {
		u.checking = false
		switch {
		case u.again:
			r.check(nodeID)
		case r.unsure.of(nodeID) > 0: // it went away: it is met again
			r.w.After(settleEvery, func() {
				if !u.checking {
					r.check(nodeID)
				}
			})
		default:
			r.kept.Units[nodeID] = want
			r.keepShard(func() { r.restored(nodeID, want.Stamp) })
		}
	}
	r.list(nodeID, func(listed []Listed, can bool) {
		has := map[uint64]uint64{}
		for _, l := range listed {
			has[l.CPSEID] = l.UPSEID
		}
		lost := was.Generation != "" && was.Generation != want.Generation
		r.walk(UnitGroup(r.shard, nodeID), func(s *record.Session) procedure.Event {
			cpSEID, upSEID := s.On(nodeID)
			up, there := has[cpSEID]
			switch {
			case cpSEID == 0: // it was there, or may be
				return nil
			case upSEID == 0 && s.Procedure != nil && procedure.Kind(s.Procedure.Kind) == procedure.Rerouting: // it is being made
				return nil
			case s.Since > met.UnixMilli(): // the list may be older
				return nil
			case s.Phase == record.Establishing && s.UPSEID == 0: // it is being made, and the unit may wait for us with it
				return nil
			case there && lost: // by another's rules than the record's
				return procedure.UnitDiffers{NodeID: nodeID, UPSEID: up}
			case there:
				return nil
			}
			return procedure.UnitRestarted{NodeID: nodeID}
		}, func() { r.deleteOrphans(nodeID, listed, done) })
	})
}

// restored is told by who holds the shard.
func (r *Runner) restored(nodeID string, stamp uint32) {
	switch {
	case r.stopped:
	case !r.w.May():
		r.stop(errLeaseEnded)
	default:
		r.w.Restored(nodeID, stamp)
	}
}

// list what a unit has; can is false for one that cannot tell. It is asked until it answers.
func (r *Runner) list(nodeID string, then func(listed []Listed, can bool)) {
	if r.stopped || r.units[nodeID] == nil {
		return
	}
	r.w.List(nodeID, func(listed []Listed, err error) {
		switch {
		case r.stopped:
		case err == nil || errors.Is(err, ErrNoList):
			if u := r.units[nodeID]; u != nil {
				u.lists = err == nil
			}
			then(listed, err == nil)
		default:
			r.w.After(settleEvery, func() { r.list(nodeID, then) })
		}
	})
}

// ErrNoList: the unit cannot list its sessions (TS 29.244 has no message for it).
var ErrNoList = errors.New("the unit does not list its sessions")

const (
	firstSweep = 30 * time.Second
	sweepEvery = 10 * time.Minute
)

// sweepIn a while; what was to be at another time is not.
func (r *Runner) sweepIn(nodeID string, d time.Duration) {
	u := r.units[nodeID]
	if u == nil {
		return
	}
	u.sweeps++
	n := u.sweeps
	r.w.After(d, func() {
		if u.sweeps == n {
			r.sweep(nodeID)
		}
	})
}

// sweep deletes what the unit has and nobody knows, where there may be such: answers that went to a pod that had died, requests without an answer.
func (r *Runner) sweep(nodeID string) {
	u := r.units[nodeID]
	if r.stopped || u == nil {
		return
	}
	again := func() {
		if u.leftovers {
			r.sweepIn(nodeID, firstSweep)
			return
		}
		r.sweepIn(nodeID, sweepEvery)
	}
	if !u.leftovers || u.checking {
		again()
		return
	}
	u.leftovers = false
	r.list(nodeID, func(listed []Listed, _ bool) { r.deleteOrphans(nodeID, listed, again) })
}

// deleteOrphans of a list, one after the other. What an intent names is in the store since before the unit was asked for it, or in memory (askAhead). A session that is
// known may be there twice, where a holder that died had another address in its F-SEID: the record has the UP SEID of the one that is used.
func (r *Runner) deleteOrphans(nodeID string, listed []Listed, done func()) {
	for len(listed) > 0 {
		l := listed[0]
		if record.ShardOf(l.CPSEID) == r.shard && !r.inMemory(l, nodeID) {
			r.lookFor(l, nodeID, func(known bool) {
				if !known {
					r.counts.Orphans++
					r.log.Warn("a unit has a session that nobody knows: it is deleted", "unit", nodeID, "cp_seid", l.CPSEID, "up_seid", l.UPSEID)
					r.effects(nil, []procedure.Effect{procedure.AskUnit{
						Operation: procedure.Delete, Unit: r.unitNamed(nodeID), CPSEID: l.CPSEID, UPSEID: l.UPSEID,
					}})
				}
				r.deleteOrphans(nodeID, listed[1:], done)
			})
			return
		}
		listed = listed[1:]
	}
	if !r.stopped {
		done()
	}
}

func (r *Runner) unitNamed(nodeID string) record.Unit {
	u := record.Unit{NodeID: nodeID}
	if c := r.w.Configuration().Unit(nodeID); c != nil {
		u.Address = c.Address.Addr()
	}
	return u
}

// inMemory says whether a session that a unit has is one in memory, as far as that can be said now.
func (r *Runner) inMemory(l Listed, nodeID string) bool {
	s := r.sessions[r.keys[l.CPSEID]]
	return s != nil && r.mayBe(s.state.Record, !s.atRest(), l, nodeID)
}

// mayBe says whether a session of a unit's list is the record's. While something is under way, it may be, and where the record does not say so, what the unit
// has is looked at again: a unit that has not answered the session's deletion is not asked another time.
func (r *Runner) mayBe(rec *record.Session, underWay bool, l Listed, nodeID string) bool {
	if has(rec, l, nodeID) {
		return true
	}
	underWay = underWay || rec != nil && slices.Contains(nodes(rec), nodeID) && (rec.Procedure != nil || rec.Told != nil)
	if underWay {
		r.leftoverAt(nodeID)
	}
	return underWay
}

// has says whether a session of a unit's list is the record's.
func has(rec *record.Session, l Listed, nodeID string) bool {
	if rec == nil {
		return false
	}
	if rec.Phase == record.Releasing && rec.UPSEID == 0 { // it was deleted, and the unit has not said so; what is left is for UE or CHF to hear
		return false
	}
	is := func(node string, cp, up uint64) bool {
		return node == nodeID && cp == l.CPSEID && (up == 0 || up == l.UPSEID)
	}
	return is(rec.Unit.NodeID, rec.CPSEID, rec.UPSEID) ||
		rec.Branch != nil && is(rec.Branch.NodeID, rec.Branch.CPSEID, rec.Branch.UPSEID) ||
		rec.Left != nil && is(rec.Left.NodeID, rec.Left.CPSEID, rec.Left.UPSEID)
}

// lookFor a session in the store, by CP SEID, until it is known whether it may be at that unit.
func (r *Runner) lookFor(l Listed, nodeID string, then func(known bool)) {
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Find(ctx, sessionstore.Index{Kind: IndexSEID, Value: record.Ref(l.CPSEID)})
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err == nil:
				rec, err := r.decode(found)
				then(err != nil || r.mayBe(rec, false, l, nodeID)) // what cannot be read may be anything
			case errors.Is(err, sessionstore.ErrNotFound):
				then(false)
			default:
				r.w.After(longestWait, func() { r.lookFor(l, nodeID, then) })
			}
		}
	})
}

// unsure are sessions of which it is not known what their unit has, by key: the unit.
type unsure map[string]string

func (u unsure) of(nodeID string) (n int) {
	for _, unit := range u {
		if unit == nodeID {
			n++
		}
	}
	return n
}

// settleEvery is when a unit that is there and did not answer is asked again.
const settleEvery = 5 * time.Second

// settle what is not known of the unit's sessions; of all units' where none is named.
func (r *Runner) settle(nodeID string) {
	n := 0
	for _, key := range sorted(r.unsure) {
		if nodeID != "" && r.unsure[key] != nodeID {
			continue
		}
		if n++; n > window {
			return // the others follow
		}
		s := r.session(key)
		if s.atRest() { // else what is under way tells the unit
			s.queue = append(s.queue, queued{Event: procedure.Resumed{}})
			r.pump(s)
		}
	}
}

func (r *Runner) settleAll() {
	if r.stopped {
		return
	}
	r.settle("")
	r.w.After(settleEvery, r.settleAll)
}
