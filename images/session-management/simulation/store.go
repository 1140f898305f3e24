package simulation

import (
	"context"
	"errors"
	"maps"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
)

// truth is what the store has of a session, whatever its state.
func (w *world) truth(key string) *record.Session {
	var found sessionstore.Record
	var err error
	w.store.Look(func(ctx context.Context, store *memory.Store) { found, err = store.Read(ctx, key) })
	if err != nil {
		if !errors.Is(err, sessionstore.ErrNotFound) {
			w.Fail("%s: %v", key, err)
		}
		return nil
	}
	if len(found.Value) > sessionstore.MaxRecord {
		w.Fail("%s: a record of %d octets", key, len(found.Value))
	}
	b, err := w.sealer.Open(key, found.Value)
	if err != nil {
		w.Fail("%s: %v", key, err)
		return nil
	}
	rec, err := record.Decode(b)
	if err != nil {
		w.Fail("%s: %v", key, err)
		return nil
	}
	return rec
}

// written: the record of a session may be another.
func (w *world) written(key string) {
	if !record.IsKey(key) {
		w.keeps(key)
		return
	}
	is, was := w.truth(key), w.records[key]
	w.records[key] = is
	w.ended(was, is)
	if is == nil {
		delete(w.records, key)
	} else {
		w.pcf.kept(is)
		w.chf.kept(is)
		w.leftBehind(was, is)
		w.dropped(was, is)
	}
	switch {
	case was != nil && (is == nil || is.CPSEID != was.CPSEID):
		w.deleted(was)
	}
	if is == nil || was != nil && is.CPSEID == was.CPSEID && is.IPv4 == was.IPv4 && maps.Equal(tunnelsOf(is), tunnelsOf(was)) {
		return
	}
	w.reachable(key, is)
	if was == nil || was.CPSEID != is.CPSEID {
		if w.numbered[is.CPSEID] {
			w.Fail("CP SEID %x is given a second time", is.CPSEID)
		}
		w.numbered[is.CPSEID] = true
		w.hasNumbered(is)
	}
	for other, r := range w.records {
		if other == key || w.unsettled() || r.Phase == record.Releasing || is.Phase == record.Releasing { // then the unit may have taken it back
			continue
		}
		for at, tunnel := range tunnelsOf(r) {
			if t, ok := tunnelsOf(is)[at]; ok && t == tunnel {
				w.Fail("F-TEID %+v is %s's and %s's", t, other, key)
			}
		}
		switch {
		case !r.IPv4.IsValid() || r.IPv4 != is.IPv4:
		case r.DNN == is.DNN:
			w.Fail("%s is %s's and %s's", is.IPv4, other, key)
		default:
			w.Ended[anAddressTwice]++
		}
	}
}

// reachable by all its indexes.
func (w *world) reachable(key string, s *record.Session) {
	w.store.Look(func(ctx context.Context, store *memory.Store) { w.indexed(ctx, store, key, s) })
}

func (w *world) indexed(ctx context.Context, store *memory.Store, key string, s *record.Session) {
	if found, err := store.Find(ctx, sessionstore.Index{Kind: runner.IndexSEID, Value: s.Ref()}); err != nil || found.Key != key {
		w.Fail("%s is not found by its SEID %s: %v", key, s.Ref(), err)
	}
	shard := record.ShardOf(s.CPSEID)
	for _, group := range []string{runner.UnitGroup(shard, s.Unit.NodeID), runner.SliceGroup(shard, s.Slice)} {
		keys, _, err := store.Members(ctx, group, "", 1<<20)
		found := false
		for _, k := range keys {
			found = found || k == key
		}
		if err != nil || !found {
			w.Fail("%s is not in %s: %v", key, group, err)
		}
	}
}

// deleted: a session that its AMF believes in ends by its request, or it is told before.
func (w *world) deleted(s *record.Session) {
	u := w.ueOf(s.SUPI)
	if u.ref == s.Ref() && !u.ending[u.ref] && !w.unheard[u.uri] && !w.unsettled() {
		w.Fail("%s: session %s is deleted, and the AMF neither wanted it nor was told", u.supi, u.ref)
	}
}

// checkpoint every second, as an append-only file does; what was written since is what a loss of power costs.
func (w *world) checkpoint() {
	w.store.Checkpoint()
	for _, u := range w.ues {
		if u.before = u.touched; u.request != nil || len(u.next) > 0 {
			u.before = -1
		}
	}
	if w.faults {
		w.After(time.Second, w.checkpoint)
	}
}

// forget what was written since. Sessions of which anything was are not held against the SMF until their UEs have new ones.
func (w *world) forget() {
	w.Note("the store forgets")
	w.store.Forget()
	w.forgotten = w.Now
	for _, u := range w.ues {
		u.excused = u.excused || u.before != u.touched
	}
	w.records = map[string]*record.Session{}
	for _, u := range w.ues {
		key := record.Key(u.supi, sessionID)
		if rec := w.truth(key); rec != nil {
			w.records[key] = rec
		}
	}
}

// unsettled: the store has forgotten, and units have sessions that it has not, or others than it has.
func (w *world) unsettled() bool {
	return !w.forgotten.IsZero() && w.Now.Sub(w.forgotten) < 30*time.Second
}
