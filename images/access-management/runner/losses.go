package runner

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// Associations on which the shard has UEs are noted in the store, before a UE is written that has one: so a holder that comes when an association has ended, or
// its terminator with it, finds the UEs that have lost their access network. The note is taken away behind the last of them.

// association of a life of a terminator.
type association struct {
	terminator string
	number     uint64
}

func associationOf(a *record.Attachment) association {
	return association{a.Terminator, a.Association}
}

func (r *Runner) gone(a association) bool { return r.w.Association(a.terminator, a.number) == Gone }

func (r *Runner) notePrefix() string { return "association/" + r.lease.Shard + "/" }

func (r *Runner) noteKey(a association) string {
	return r.notePrefix() + a.terminator + "/" + strconv.FormatUint(a.number, 10)
}

// notes is the group of all notes of the shard.
func (r *Runner) notes() string { return "associations/" + r.lease.Shard }

func (r *Runner) noted(key string) (association, bool) {
	rest, is := strings.CutPrefix(key, r.notePrefix())
	n := strings.LastIndexByte(rest, '/')
	if !is || n < 0 {
		return association{}, false
	}
	number, err := strconv.ParseUint(rest[n+1:], 10, 64)
	return association{rest[:n], number}, err == nil
}

// associated calls then when all associations of a record are noted.
func (r *Runner) associated(rec *record.UE, then func()) {
	for _, a := range attachments(rec) {
		r.learn(a)
		if x := associationOf(a); !r.associations[x] {
			r.note(x, func() { r.associated(rec, then) })
			return
		}
	}
	then()
}

// owner of an association: a gNB, and whether it has joined an NG interface of which there may be others.
type owner struct {
	gnb    string
	joined bool
}

// learn whose an association is, from a UE on it.
func (r *Runner) learn(a *record.Attachment) {
	if a.GNB != "" {
		r.owners[associationOf(a)] = owner{a.GNB, a.Interface != 0}
	}
}

// another says whether an association is known to be another gNB's.
func (r *Runner) another(a association, gnb string) bool {
	of, known := r.owners[a]
	return known && of.gnb != gnb
}

// rejoin: a gNB can be reached by an association. UEs that wait for another one of its NG interface, which ended before this was heard of, go on by it.
func (r *Runner) rejoin(g *record.GNB) {
	for _, a := range sortedAssociations(r.losing) {
		if r.another(a, g.Key()) || g.Interface == 0 && !r.owners[a].joined {
			continue
		}
		r.loseThose(nil, a, func(at *record.Attachment) procedure.Event {
			if r.w.Beside(*at) == nil {
				return nil
			}
			return lost(at, "the association is gone", true)
		}, func() {})
	}
}

func (r *Runner) note(a association, then func()) {
	waiting, asked := r.noting[a]
	r.noting[a] = append(waiting, then)
	if asked {
		return
	}
	c := sessionstore.Change{Key: r.noteKey(a), Is: r.revision(), Value: []byte{1}, JoinGroups: []string{r.notes()}}
	r.commit(c, func(err error) {
		if err != nil && !errors.Is(err, sessionstore.ErrConflict) { // a conflict: the holder before has noted it
			r.log.Error("an association cannot be noted", "err", err)
		}
		r.associations[a] = true
		list := r.noting[a]
		delete(r.noting, a)
		for _, f := range list {
			f()
		}
	})
}

// readNotes of the holder before.
func (r *Runner) readNotes(cursor string) {
	r.members(r.notes(), cursor, func(keys []string, next string) {
		for _, key := range keys {
			if a, ok := r.noted(key); ok {
				r.associations[a] = true
				r.lookAt(a)
			}
		}
		if next != "" {
			r.readNotes(next)
		}
	})
}

// TerminatorHeard: World.Association may say otherwise than before of a terminator's associations: it has listed them, or that life of it is over. "" means
// all terminators. What it was given for gNBs before they may not have heard.
func (r *Runner) TerminatorHeard(terminator string) {
	r.once(func() {
		r.doubt(terminator)
		for _, a := range sortedAssociations(r.associations) {
			if terminator == "" || a.terminator == terminator {
				r.lookAt(a)
			}
		}
	})
}

func (r *Runner) lookAt(a association) {
	r.once(func() {
		if r.gone(a) {
			r.lose(a, "the association is gone")
		}
	})
}

// lose an association, with all UEs on it.
func (r *Runner) lose(a association, why string) {
	delete(r.warned, a)
	delete(r.announced, a)
	delete(r.said, a)
	if r.losing[a] {
		return
	}
	r.losing[a] = true
	r.loseThose(nil, a, func(at *record.Attachment) procedure.Event { return lost(at, why, true) }, func() {
		r.w.After(procedure.RetainTime+lookEvery, func() { r.loseForGood(a, why) })
	})
}

// loseForGood: whoever may have waited on the association does not any more. The note of it goes when all of that is in the store.
func (r *Runner) loseForGood(a association, why string) {
	if r.stopped {
		return
	}
	written := &settling{left: 1, then: func() {
		r.writeLosses(func() {
			delete(r.losing, a)
			delete(r.owners, a)
			if r.associations[a] {
				delete(r.associations, a)
				r.unnote(a)
			}
		})
	}}
	r.loseThose(written, a, func(at *record.Attachment) procedure.Event { return lost(at, why, false) }, written.less)
}

// returned: a gNB is there again. UEs that wait for it are kept, or lost; then is called when they are written. Those of other gNBs, which a terminator that has
// died had too, are not looked at with each gNB that comes.
func (r *Runner) returned(s *settling, at record.Attachment, gnb string, kept bool, then func()) {
	list := slices.DeleteFunc(sortedAssociations(r.associations), func(a association) bool { return !r.gone(a) || r.another(a, gnb) })
	r.loseEach(s, list, func(was *record.Attachment) procedure.Event {
		switch {
		case was.GNB != gnb:
			return nil
		case kept:
			return procedure.AccessBack{
				At:  record.Attachment{Terminator: at.Terminator, Association: at.Association, GNB: gnb, Since: at.Since, Interface: at.Interface},
				Was: record.Attachment{Terminator: was.Terminator, Association: was.Association},
			}
		}
		return lost(was, "the gNB is back, and has not kept its UEs", false)
	}, then)
}

// loseEach is loseThose of several associations, one after the other.
func (r *Runner) loseEach(s *settling, list []association, event func(*record.Attachment) procedure.Event, done func()) {
	if len(list) == 0 {
		done()
		return
	}
	r.loseThose(s, list[0], event, func() { r.loseEach(s, list[1:], event, done) })
}

// unnote an association. A note that stays is looked at by the next holder.
func (r *Runner) unnote(a association) {
	key := r.noteKey(a)
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		return func() {
			r.heard(err)
			if r.stopped || err != nil {
				return
			}
			r.commit(sessionstore.Change{Key: key, Was: found.Revision, Is: r.revision(), LeaveGroups: []string{r.notes()}}, func(err error) {
				if err != nil {
					r.log.Warn("the note of an association stays", "err", err)
				}
			})
		}
	})
}

// loseThose attachments of an association for which there is an event; done is called when their UEs are written. What is asked for them s waits for.
func (r *Runner) loseThose(s *settling, a association, event func(*record.Attachment) procedure.Event, done func()) {
	events := func(rec *record.UE) (out []procedure.Event) {
		for _, at := range attachments(rec) {
			if associationOf(at) != a {
				continue
			}
			r.learn(at)
			if e := event(at); e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	for _, u := range r.cache.all(func(u *ue) bool { return (u.fresh || u.ahead) && len(events(u.state.Record)) > 0 }) { // the store does not list them there yet
		for _, e := range events(u.state.Record) {
			u.queue = append(u.queue, queued{Event: e})
		}
		r.pump(u)
	}
	r.walkUntil(s, associationGroup(r.shard, a), events, done)
}

func lost(a *record.Attachment, why string, kept bool) procedure.Event {
	return procedure.AccessLost{
		At: record.Attachment{Terminator: a.Terminator, Association: a.Association, GNB: a.GNB, AMF: a.AMF}, Why: why, Kept: kept,
	}
}

// lostAt are the events of a UE whose associations are gone.
func (r *Runner) lostAt(rec *record.UE) (out []queued) {
	for _, a := range attachments(rec) {
		if r.gone(associationOf(a)) {
			out = append(out, queued{Event: lost(a, "the association is gone", true)})
		}
	}
	return out
}
