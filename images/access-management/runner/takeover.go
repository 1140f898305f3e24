package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// One UE, one record. A UE whose SUPI authentication has found takes over what is kept under that (procedure.AskNamed):
//
//	nothing            it is the UE of that key
//	in this shard      what was in memory of it is this one's: its record, what waits for it
//	in another shard   its holder brings it to rest and gives it up (GiveUp): its times and its intent are taken away there, its access networks are told
//	                   to let go. Then it is read
//
// What was taken over is written with the first record that has the SUPI, as that record's predecessor: whoever has written meanwhile wins, and this UE is
// forgotten. The giver does nothing for it for a while (givenFor), so that the taker is not late. A UE whose taker died before it wrote, or that has gone
// again by then, is the giver's then as before, but idle, and is taken when it comes again. That it is to be looked at then is written with what is given up
// (procedure.DueGiven): the giver may die, and its successor looks. Who takes the UE takes that away with its first write; of a taker that does not, and whose
// UE has ended, the giver takes it away when it looks (untime).

// Another shard is asked so often, that long apart.
const (
	askAttempts = 10
	askPause    = 100 * time.Millisecond
)

func (r *Runner) askNamed(u *ue, life int, e procedure.AskNamed, attempt int) {
	if r.stopped || u.dead || u.life != life {
		return
	}
	key := record.Key(e.SUPI)
	switch {
	case u.naming != e.Number: // and the UE may be somebody by the one that came behind
		r.superseded(u, life, e)
		return
	case u.key == key: // it has been taken over, for a question that nobody waits for any more
		u.asked--
		u.queue = append([]queued{{Event: procedure.Named{Number: e.Number, Record: u.taken.Record, Capability: u.taken.Capability}}}, u.queue...)
		return
	case u.key != "":
		r.leaveKey(u)
	}
	if attempt >= askAttempts {
		r.answered(u, life, procedure.Named{Number: e.Number, Failed: true})
		return
	}
	again := func() {
		r.w.After(askPause, func() { r.askNamed(u, life, e, attempt+1) })
	}
	asked := r.ue(key)
	asked.queue = append(asked.queue, queued{op: func(v *ue, err error) {
		var other *otherShardError
		switch {
		case r.stopped || u.dead || u.life != life:
		case u.naming != e.Number:
			r.superseded(u, life, e)
		case err == nil:
			r.assume(u, v, e)
		case errors.As(err, &other):
			r.w.GiveUp(other.shard, key, func(capability []byte, err error) {
				if err != nil || r.stopped {
					again()
					return
				}
				r.takeFrom(u, life, e, capability, again)
			})
		default:
			again()
		}
	}})
	r.pump(asked)
}

// superseded: the UE has begun anew, and nobody waits for the answer any more.
func (r *Runner) superseded(u *ue, life int, e procedure.AskNamed) {
	r.answered(u, life, procedure.Named{Number: e.Number, Failed: true})
}

// assume what this shard has of the UE.
func (r *Runner) assume(u, v *ue, e procedure.AskNamed) {
	waiting := slices.Concat(v.late, v.queue)
	watchers, together := v.watchers, v.together
	v.watchers, v.together = nil, nil
	has := v.state
	was := v.stored
	r.forget(v, nil)
	r.become(u, v.key, was, procedure.Named{Number: e.Number, Record: has.Record, Capability: has.Capability})
	u.queue, u.watchers, u.together = append(u.queue, waiting...), append(u.watchers, watchers...), append(u.together, together...)
	r.pump(u)
}

// become the UE of a key.
func (r *Runner) become(u *ue, key string, was stored, named procedure.Named) {
	if named.Record != nil {
		r.counts.TakenOver++
	}
	r.strangers--
	delete(r.gave, key)
	u.key, u.stored, u.taken = key, was, &named
	r.ues[key] = u
	u.asked--
	u.queue = append([]queued{{Event: named}}, u.queue...)
}

// leaveKey: the UE is not the one that it has taken over.
func (r *Runner) leaveKey(u *ue) {
	delete(r.ues, u.key)
	u.key, u.stored, u.taken = "", stored{}, nil
	r.strangers++
}

// letGo of what a UE has taken over that is no more: it is as the store has it.
func (r *Runner) letGo(u *ue) {
	key, queue, watchers := u.key, u.queue, u.watchers
	u.queue, u.watchers = nil, nil
	r.leaveKey(u)
	r.forget(u, nil)
	if len(queue)+len(watchers) > 0 && !r.stopped {
		v := r.ue(key)
		v.queue, v.watchers = append(v.queue, queue...), append(v.watchers, watchers...)
		r.pump(v)
	}
}

// takeFrom another shard, which has given it up. Its access networks were told there; what is lost before they have heard it is said here.
func (r *Runner) takeFrom(u *ue, life int, e procedure.AskNamed, capability []byte, again func()) {
	key := record.Key(e.SUPI)
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		return func() {
			r.heard(err)
			if r.stopped || u.dead || u.life != life {
				return
			}
			if u.naming != e.Number {
				r.superseded(u, life, e)
				return
			}
			var was stored
			if err == nil {
				was, err = r.decode(found)
			}
			if err != nil || was.record.Shard == r.shard || r.ues[key] != nil { // it is otherwise by now
				again()
				return
			}
			rec := was.record.Clone()
			if rec.N2 != nil && !rec.N2.Lost {
				rec.N2.Releasing = true
			}
			rec.Handover = nil
			r.become(u, key, was, procedure.Named{Number: e.Number, Record: rec, Capability: capability})
			r.pump(u)
		}
	})
}

// elsewhere: the UE is another shard's. Requests are passed on to that; what gNBs say of it here is of before.
func (r *Runner) elsewhere(u *ue, err *otherShardError) {
	queue := u.queue
	r.forget(u, err)
	for _, q := range queue {
		switch q.Event.(type) {
		case nil:
			q.op(nil, err)
		case procedure.Initial, procedure.FromAccess:
			r.unknown(q)
		case procedure.Due, procedure.Resumed, procedure.AccessLost, procedure.Appeared, procedure.NotSent:
		default:
			if r.may() {
				r.w.Pass(err.shard, u.key, q.Event)
				r.finish(q)
			}
		}
	}
}

// givenFor is how long nothing is done here for a UE that was given up, unless it is given up again: its taker writes it meanwhile, or asks again.
const givenFor = 10 * time.Second

// given up just now.
func (r *Runner) given(u *ue) bool { return u.key != "" && r.w.Now().Before(r.gave[u.key]) }

// notOurs is an event for a UE that was given up. Access networks have been told to let go of it; requests are passed on to its taker, once that has written it,
// and come again before.
func (r *Runner) notOurs(u *ue, q queued) {
	switch q.Event.(type) {
	case procedure.Initial, procedure.FromAccess:
		r.unknown(q)
		return
	}
	if procedure.From(q.Event) == 0 {
		r.decline(q, errGiven)
		return
	}
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, u.key)
		return func() {
			r.heard(err)
			var is stored
			if err == nil {
				is, err = r.decode(found)
			}
			switch {
			case !r.may():
			case err != nil || is.record.Shard == r.shard:
				r.decline(q, errGiven)
			default:
				r.w.Pass(is.record.Shard, u.key, q.Event)
				r.finish(q)
			}
		}
	})
}

// untime takes away what is due, and in the midst of, here of a UE that is another shard's: a holder before has died between giving it up and hearing that
// it was taken. The UE's holder, which may be writing it, reads it again then. Or there is no such UE any more, found is the zero Record, and who took it has
// left that here: programs before procedure.DueGiven do.
func (r *Runner) untime(u *ue, found sessionstore.Record) {
	if len(u.due) == 0 && !u.wanted {
		return
	}
	c := sessionstore.Change{Key: u.key, Was: found.Revision, Is: r.revision(), Value: found.Value, CloseIntent: true, Due: map[string]time.Time{}}
	for name := range u.due {
		c.Due[name] = time.Time{}
	}
	r.commit(c, func(error) {}) // where it was written meanwhile, the next look tries again
}

// leaving is the record of a UE that is given up: its access network is told to let go of it. Where nobody takes the UE over, it is still to do so.
func leaving(is stored) ([]byte, error) {
	if a := is.record.N2; a == nil || a.Lost {
		return is.octets, nil
	}
	left := is.record.Clone()
	left.N2.Releasing, left.N2.Setting = true, false
	return left.Encode()
}

// GiveUp the UE of a key to another shard: done is called when this one acts for it no more, with its radio capability. There may be nothing to be given
// up. An error: it is not given up.
func (r *Runner) GiveUp(key string, done func(capability []byte, err error)) {
	if r.stopped {
		return
	}
	asked := r.ue(key)
	asked.queue = append(asked.queue, queued{op: func(u *ue, err error) {
		var other *otherShardError
		switch {
		case errors.As(err, &other):
			done(nil, nil)
		case err != nil:
			done(nil, err)
		case !u.stored.exists():
			done(nil, nil)
		default:
			r.give(u, done)
		}
	}})
	r.pump(asked)
}

func (r *Runner) give(u *ue, done func(capability []byte, err error)) {
	octets, err := leaving(u.stored)
	if err != nil {
		done(nil, err)
		return
	}
	c := sessionstore.Change{
		Key: u.key, Was: u.stored.revision, Is: r.unowned(), Value: r.sealer.Seal(u.key, octets), CloseIntent: true, Due: map[string]time.Time{},
	}
	for _, name := range procedure.DueNames {
		c.Due[name] = time.Time{}
	}
	c.Due[procedure.DueGiven] = r.w.Now().Add(givenFor)
	u.writing = true
	r.commit(c, func(err error) {
		waiting, watchers := slices.Concat(u.late, u.queue), u.watchers
		u.watchers = nil
		effects := procedure.Handle(r.input(), u.state, procedure.Taken{}).Effects
		capability := u.state.Capability
		r.forget(u, err)
		if err == nil {
			r.counts.GivenUp++
			r.gave[u.key] = r.w.Now().Add(givenFor)
			r.w.After(givenFor, func() {
				if !r.given(u) {
					delete(r.gave, u.key)
				}
			})
			r.effects(nil, effects)
		}
		if r.stopped {
			return
		}
		done(capability, err)
		r.tell(&watchers, err)
		for _, q := range waiting {
			r.deliver(r.ue(u.key), q)
		}
	})
}
