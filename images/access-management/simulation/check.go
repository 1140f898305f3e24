package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/access-management/security"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
	"core5g.dev/core5g/images/nf/shards"
)

// truth is what the store has of a UE; nil: nothing.
func (w *world) truth(key string) *record.UE {
	var found sessionstore.Record
	var err error
	w.store.Look(func(ctx context.Context, store *memory.Store) { found, err = store.Read(ctx, key) })
	if errors.Is(err, sessionstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		w.Fail("%s: %v", key, err)
		return nil
	}
	if len(found.Value) > sessionstore.MaxRecord {
		w.Fail("%s: a record of %d octets", key, len(found.Value))
	}
	b, err := w.sealer.Open(key, found.Value)
	if err != nil {
		w.Fail("%s is not sealed: %v", key, err)
		return nil
	}
	u, err := record.Decode(b)
	if err != nil {
		w.Fail("%s: %v", key, err)
		return nil
	}
	if u.Security != nil && bytes.Contains(found.Value, u.Security.Key) {
		w.Fail("%s: the key can be read", key)
	}
	return u
}

// written: the record of a UE may be another.
func (w *world) written(key string) {
	if !record.IsKey(key) {
		return
	}
	is := w.truth(key)
	w.nef.written(supiOf(key), is)
	w.kept(w.records[key], is)
	if is == nil {
		delete(w.records, key)
		return
	}
	w.records[key] = is
	w.counts.kept(is)
	if why := w.lawful(is); why != "" {
		w.Fail("%s: %s", key, why)
	}
	w.others.written(is)
	for _, s := range is.Sessions {
		w.contexts[s.Context] = true
	}
	if is.SUPI != supiOf(key) {
		w.Fail("%s is the record of %s", key, is.SUPI)
	}
	w.store.Look(func(ctx context.Context, store *memory.Store) { w.indexed(ctx, store, key, is) })
}

// kept: a UE that is connected is so until its gNB lets go of it, or the AMF has told it to, which is known of one that is elsewhere now.
func (w *world) kept(was, is *record.UE) {
	if was == nil || was.N2 == nil || was.N2.Releasing || was.N2.Setting || is == nil || attached(is, was.N2.AMF) || is.Phase != record.Registered || w.unsettled() {
		return
	}
	for _, g := range w.gnbs {
		for _, c := range g.conns {
			if c.known && !c.coming && uint64(c.amf) == was.N2.AMF && c.ran == was.N2.RAN && g.reached(was.N2) {
				w.Fail("%s is not there any more, and %s has its connection %d", was.SUPI, g.name(), c.ran)
			}
		}
	}
}

// reached says whether a connection is on an association of the gNB that is there.
func (g *gnb) reached(at *record.Attachment) bool {
	for _, a := range []*association{g.association, g.more} {
		if a != nil && !a.over && a.end.alive && a.id == at.Association && a.end.name() == at.Terminator {
			return true
		}
	}
	return false
}

// names of a UE, as indexes have them.
func names(u *record.UE) (out []sessionstore.Index) {
	for _, t := range []uint32{u.TMSI, u.OldTMSI} {
		if t != 0 {
			out = append(out, sessionstore.Index{Kind: runner.IndexTemporary, Value: strconv.FormatUint(uint64(t), 10)})
		}
	}
	for _, a := range attachments(u) {
		out = append(out, sessionstore.Index{Kind: runner.IndexAttachment, Value: strconv.FormatUint(a.AMF, 10)})
	}
	return out
}

// attachments that a record names; nil: there is no record.
func attachments(u *record.UE) (out []record.Attachment) {
	if u == nil {
		return nil
	}
	if u.N2 != nil {
		out = append(out, *u.N2)
	}
	out = append(out, u.Left...)
	if u.Handover != nil {
		out = append(out, u.Handover.Target)
	}
	return out
}

// attached says whether a record names a connection.
func attached(u *record.UE, amf uint64) bool {
	return slices.ContainsFunc(attachments(u), func(a record.Attachment) bool { return a.AMF == amf })
}

// indexed by all its names, none of which was another's.
func (w *world) indexed(ctx context.Context, store *memory.Store, key string, u *record.UE) {
	for _, i := range names(u) {
		if found, err := store.Find(ctx, i); err != nil || found.Key != key {
			w.Fail("%s is not found by its %s %s: %v", key, i.Kind, i.Value, err)
		}
		name := i.Kind + i.Value
		if was := w.named[name]; was != "" && was != u.SUPI {
			w.Fail("%s %s was %s's, and is %s's", i.Kind, i.Value, was, u.SUPI)
		}
		w.named[name] = u.SUPI
	}
	keys, _, err := store.Members(ctx, runner.UEGroup(u.Shard), "", 1<<20)
	if err != nil || slices.Contains(keys, key) == u.Remnant {
		w.Fail("%s is not in its shard's group, or only a remnant, and in it: %v", key, err)
	}
}

// leaves: something does, in the name of a shard. The store must know it as this holder's.
func (w *world) leaves(v *view) {
	if w.Now.Sub(w.forgotten) <= shards.DefaultTTL {
		return // nobody can tell
	}
	l := v.held.lease
	var holder string
	var epoch uint64
	var err error
	w.store.Look(func(ctx context.Context, store *memory.Store) { holder, epoch, err = store.Holder(ctx, l.Shard) })
	if err == nil && holder == l.Holder && epoch > l.Epoch && !w.actsUnder(l.Shard, epoch) {
		return // its own life before has asked for it, and the store has heard late: nobody else is there
	}
	if err != nil || holder != l.Holder || epoch != l.Epoch {
		w.Fail("%s speaks for %s under epoch %d, which is %s's, epoch %d (%v)", l.Holder, l.Shard, l.Epoch, holder, epoch, err)
	}
}

// actsUnder says whether a pod has the shard under that epoch.
func (w *world) actsUnder(shard string, epoch uint64) bool {
	for _, p := range w.pods {
		if l, ok := p.Keeper.Lease(shard); ok && p.Alive && l.Epoch == epoch {
			return true
		}
	}
	return false
}

// checkpoint every second, as an append-only file does; what was written since is what a loss of power costs.
func (w *world) checkpoint() {
	if w.forgetful && w.faults {
		w.store.Checkpoint()
		w.After(time.Second, w.checkpoint)
	}
}

// forget what was written since.
func (w *world) forget() {
	w.Note("the store forgets")
	w.store.Forget()
	w.forgotten = w.Now
	w.records = map[string]*record.UE{}
	for _, u := range w.ues {
		for _, name := range []string{u.supi, "imei-" + u.imei} {
			if rec := w.truth(record.Key(name)); rec != nil {
				w.records[record.Key(name)] = rec
			}
		}
	}
}

// unsettled: the store has forgotten, and not all of it is made good.
func (w *world) unsettled() bool {
	return !w.forgotten.IsZero() && w.Now.Sub(w.forgotten) < 30*time.Second
}

// agree: when all is quiet, everybody thinks the same of each UE.
func (w *world) agree() error {
	for _, e := range w.ends {
		if all, _ := e.t.Waiting(); !e.alive || all > 0 {
			return fmt.Errorf("%s keeps %d messages", e.name(), all)
		}
	}
	for _, u := range w.ues {
		if u.dead || u.stranger() && u.state == off {
			continue
		}
		if err := u.agree(); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
	}
	if u := w.vanished; u != nil && (w.records[record.Key(u.as)] != nil || !u.stranger() && w.udm.of(u.supi).recorded) {
		return fmt.Errorf("%s is not heard of, and registered still", u.name)
	}
	for _, g := range w.gnbs {
		if g.amf != w.settings.Name && !w.settings.Removed { // of one that goes it hears nothing else
			return fmt.Errorf("%s knows the AMF as %q, and it is %q", g.name(), g.amf, w.settings.Name)
		}
		if err := g.agreeOnLoad(); err != nil {
			return err
		}
		if err := g.agreeOnTerminators(); err != nil {
			return err
		}
		for _, c := range g.ordered() {
			return fmt.Errorf("%s has a connection %d of %s for ever", g.name(), c.ran, c.ue.name)
		}
	}
	for _, c := range w.smf.contexts {
		if w.others.has(c) {
			continue
		}
		rec := w.records[record.Key(c.supi)]
		if rec == nil || rec.Session(c.id) == nil || rec.Session(c.id).Context != c.ref {
			return fmt.Errorf("the SMF has %s of %s, session %d, and nobody else has", c.ref, c.supi, c.id)
		}
	}
	if err := w.listener.agree(); err != nil {
		return err
	}
	if err := w.watched(); err != nil {
		return err
	}
	return w.intents()
}

// orphaned: an SM context that the AMF knew of, and that it has let go of before its SMF has released it.
func (w *world) orphaned(c *smContext) bool {
	if !w.contexts[c.ref] || c.amf != nil || !w.forgotten.IsZero() {
		return false
	}
	rec := w.records[record.Key(c.supi)]
	if rec == nil {
		return true
	}
	s := rec.Session(c.id)
	return (s == nil || s.Context != c.ref) && !slices.ContainsFunc(rec.Ending, func(x record.Ended) bool { return x.Session.Context == c.ref })
}

// agree with the network.
func (u *ue) agree() error {
	rec := u.w.truth(record.Key(u.as))
	s := u.w.udm.of(u.supi)
	switch {
	case u.away != nil:
		return u.agreeAway(rec, s)
	case u.state != registered || u.doing != "":
		return fmt.Errorf("it is in state %d, in the midst of %q", u.state, u.doing)
	case !u.proved() || u.conn != nil:
		return errors.New("it is not idle")
	case rec == nil:
		return errors.New("nobody knows it")
	case rec.Phase != record.Registered || rec.Procedure != nil || rec.Command != nil || rec.Handover != nil || rec.Paging != nil || len(rec.Left) > 0 || rec.N2 != nil:
		return fmt.Errorf("its record is not at rest: phase %d, procedure %+v, command %+v, handover %+v, paging %+v, left %+v, at %+v",
			rec.Phase, rec.Procedure, rec.Command, rec.Handover, rec.Paging, rec.Left, rec.N2)
	case rec.TMSI != u.guti.TMSI && (rec.OldTMSI == 0 || rec.OldTMSI != u.guti.TMSI): // a Configuration Update Command may not have reached it
		return fmt.Errorf("it has the 5G-TMSI %x, the record %x and %x", u.guti.TMSI, rec.TMSI, rec.OldTMSI)
	case rec.Security == nil || !bytes.Equal(rec.Security.Key, u.nas.key) || rec.Security.Identifier != u.nas.ksi:
		return errors.New("its security context is another than the record's")
	case rec.Security.Integrity == security.Null: // which protects no COUNT
	case rec.Security.Uplink > u.nas.up || rec.Security.Reserved < u.nas.down:
		return fmt.Errorf("its COUNTs are %d and %d, the record's %d and %d", u.nas.up, u.nas.down, rec.Security.Uplink, rec.Security.Reserved)
	case !u.emergency && !slices.EqualFunc(rec.Allowed, u.allowed, record.Slice.Is) && !rec.Behind:
		return fmt.Errorf("it is allowed %v, the record says %v", u.allowed, rec.Allowed)
	case !slices.Equal(rec.Area.TACs, u.area):
		return fmt.Errorf("its area is %v, the record's %v", u.area, rec.Area.TACs)
	case u.emergency || rec.Emergency:
		if err := u.agreeInEmergency(rec); err != nil {
			return err
		}
	case !rec.Recorded || !s.recorded || s.elsewhere != nil || !slices.Contains(s.notified, rec.Notified):
		return fmt.Errorf("the UDM has it recorded %v, subscribed %v, the record %v, %q", s.recorded, s.notified, rec.Recorded, rec.Notified)
	}
	for id := uint8(1); id <= mostSessions; id++ {
		x, has := u.sessions[id], rec.Session(id)
		switch {
		case x == nil && has == nil:
		case x == nil || has == nil || !x.active:
			return fmt.Errorf("session %d: it has %+v, the record %+v", id, x, has)
		default:
			c := u.w.smf.of(has.Context)
			if c == nil || c.supi != u.supi || c.id != id || c.tunnel != nil || has.Up || has.Silent {
				return fmt.Errorf("session %d: the SMF has %+v, the record %+v", id, c, has)
			}
		}
	}
	return nil
}

// watched: who is idle, and said to come again from time to time, is missed where it stays away.
func (w *world) watched() (wrong error) {
	w.store.Look(func(ctx context.Context, store *memory.Store) {
		watched := map[string]bool{}
		for _, name := range w.shardNames() {
			due, err := store.Due(ctx, name, w.Now.Add(24*time.Hour), 1<<10)
			if err != nil {
				wrong = err
				return
			}
			for _, d := range due {
				watched[d.Key] = true
			}
		}
		for key, rec := range w.records {
			if rec != nil && rec.Phase == record.Registered && rec.N2 == nil && rec.Periodic != 0 && !watched[key] {
				wrong = fmt.Errorf("%s is idle, and nobody watches it", key)
			}
		}
	})
	return wrong
}

// intents and times of records that are not there, or not in the midst of anything.
func (w *world) intents() (wrong error) {
	w.store.Look(func(ctx context.Context, store *memory.Store) {
		for _, name := range w.shardNames() {
			if keys, err := store.Intents(ctx, name, 1<<10); err != nil || len(keys) > 0 {
				wrong = fmt.Errorf("intents that nobody resumes: %v %v", keys, err)
			}
			if due, err := store.Due(ctx, name, w.Now.Add(-time.Minute), 1<<10); err != nil || len(due) > 0 {
				wrong = fmt.Errorf("due for a minute, and nobody has looked: %v %v", due, err)
			}
		}
	})
	return wrong
}
