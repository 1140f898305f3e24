package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// Subscriptions to the AMF's status (procedure/status.go) are records of the shard's, all of which are in memory. What is asked of one, and what it is told,
// comes one after the other. What it is to be told of is written, then it is told, and that it was is written then: whoever holds the shard next says it again where
// that is not known.

// MostStatuses bounds the subscriptions of a shard.
const MostStatuses = 64

// A subscriber that does not answer is told again, up to mostTellings times, 9 minutes in all. Then it is taken for gone.
const (
	mostTellings   = 15
	firstTelling   = time.Second
	longestTelling = time.Minute
)

var (
	// ErrNoStatus: there is no such subscription.
	ErrNoStatus = errors.New("there is no such subscription")
	// ErrStatuses: there are as many as there can be.
	ErrStatuses = errors.New("there are as many subscriptions to the AMF's status as there can be")
)

// statuses are the subscriptions, by name.
type statuses struct {
	list map[string]*listening
	// read: all of the store's are in the list. waiting is what came before.
	read    bool
	waiting []func()
}

// listening is a subscription.
type listening struct {
	name string
	// watch as it is in the store under the revision; nil: there is none.
	watch    *record.StatusWatch
	revision sessionstore.Revision
	// busy with one of the turns, which come one after the other.
	busy     bool
	turns    []func(over func())
	tellings int
}

func (r *Runner) statusPrefix() string { return "status/" + r.lease.Shard + "/" }

// statusGroup lists the shard's subscriptions.
func (r *Runner) statusGroup() string { return "statuses/" + r.lease.Shard }

// KeepStatus has a subscription be as it is said, a new one or in the place of the one of its name, and calls done when it is written. replaces: there has to
// be one, else ErrNoStatus.
func (r *Runner) KeepStatus(w *record.StatusWatch, replaces bool, done func(error)) {
	r.statusTurn(w.Name, func(x *listening, over func()) {
		finish := func(err error) {
			done(err)
			over()
		}
		switch {
		case x.watch == nil && replaces:
			finish(ErrNoStatus)
		case x.watch == nil && r.statusCount() >= MostStatuses:
			finish(ErrStatuses)
		default:
			x.tellings = 0
			r.writeStatus(x, w, finish)
		}
	})
	r.tellStatuses() // Settings may be others than those of who has said it
}

// EndStatus ends a subscription, and calls done when it is written.
func (r *Runner) EndStatus(name string, done func(error)) {
	r.statusTurn(name, func(x *listening, over func()) {
		finish := func(err error) {
			done(err)
			over()
		}
		if x.watch == nil {
			finish(ErrNoStatus)
			return
		}
		r.writeStatus(x, nil, finish)
	})
}

func (r *Runner) statusCount() (n int) {
	for _, x := range r.statuses.list {
		if x.watch != nil {
			n++
		}
	}
	return n
}

// statusTurn calls f when nothing else is done with the subscription of that name, which may not be there; f calls over.
func (r *Runner) statusTurn(name string, f func(x *listening, over func())) {
	if r.stopped {
		return
	}
	if !r.statuses.read {
		r.statuses.waiting = append(r.statuses.waiting, func() { r.statusTurn(name, f) })
		return
	}
	x := r.statuses.list[name]
	if x == nil {
		x = &listening{name: name}
		r.statuses.list[name] = x
	}
	x.turns = append(x.turns, func(over func()) { f(x, over) })
	r.statusNext(x)
}

func (r *Runner) statusNext(x *listening) {
	switch {
	case r.stopped || x.busy:
	case len(x.turns) > 0:
		turn := x.turns[0]
		x.turns, x.busy = x.turns[1:], true
		turn(func() {
			x.busy = false
			r.statusNext(x)
		})
	case x.watch == nil && x.revision == sessionstore.Revision{}:
		delete(r.statuses.list, x.name)
	}
}

// writeStatus writes the subscription, nil: that there is none, and calls then. What the store has otherwise is read anew.
func (r *Runner) writeStatus(x *listening, w *record.StatusWatch, then func(error)) {
	key := r.statusPrefix() + x.name
	c := sessionstore.Change{Key: key, Was: x.revision, Is: r.revision(), LeaveGroups: []string{r.statusGroup()}}
	if w != nil {
		octets, err := w.Encode()
		if err != nil {
			then(err)
			return
		}
		c.Value, c.JoinGroups, c.LeaveGroups = r.sealer.Seal(key, octets), c.LeaveGroups, nil
	}
	r.commit(c, func(err error) {
		if errors.Is(err, sessionstore.ErrConflict) {
			r.readStatus(x, func() { then(err) })
			return
		}
		if err == nil {
			if x.watch, x.revision = w, c.Is; w == nil {
				x.revision = sessionstore.Revision{}
			}
		}
		then(err)
	})
}

// readStatuses of the holder before.
func (r *Runner) readStatuses(cursor string) {
	r.members(r.statusGroup(), cursor, func(keys []string, next string) {
		left := len(keys) + 1
		read := func() {
			if left--; left > 0 {
				return
			}
			if next != "" {
				r.readStatuses(next)
				return
			}
			r.statusesRead()
		}
		for _, key := range keys {
			x := &listening{name: key[min(len(r.statusPrefix()), len(key)):]}
			r.statuses.list[x.name] = x
			r.readStatus(x, read)
		}
		read()
	})
}

func (r *Runner) statusesRead() {
	r.statuses.read = true
	waiting := r.statuses.waiting
	r.statuses.waiting = nil
	for _, f := range waiting {
		f()
	}
	r.tellStatuses()
}

// readStatus reads one, and calls then.
func (r *Runner) readStatus(x *listening, then func()) {
	if r.stopped {
		return
	}
	key := r.statusPrefix() + x.name
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case errors.Is(err, sessionstore.ErrNotFound):
				x.watch, x.revision = nil, sessionstore.Revision{}
				then()
			case err != nil:
				r.w.After(longestWait, func() { r.readStatus(x, then) })
			default:
				x.revision = found.Revision
				if x.watch, err = r.openStatus(key, found.Value); err != nil {
					r.log.Error("a subscription to the AMF's status cannot be read", "err", err)
				}
				then()
			}
		}
	})
}

func (r *Runner) openStatus(key string, value []byte) (*record.StatusWatch, error) {
	octets, err := r.sealer.Open(key, value)
	if err != nil {
		return nil, err
	}
	return record.DecodeStatusWatch(octets)
}

// tellStatuses has all subscribers hear what has changed.
func (r *Runner) tellStatuses() {
	if !r.statuses.read { // they hear it when they are
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.statuses.list)) {
		r.statusTurn(name, r.tellStatus)
	}
}

func (r *Runner) tellStatus(x *listening, over func()) {
	if x.watch == nil {
		over()
		return
	}
	news, telling, told := procedure.StatusNews(x.watch, r.w.Settings())
	if news == nil {
		x.tellings = 0
		over()
		return
	}
	ask := func() {
		if !r.may() {
			return
		}
		r.w.Do(*news, func(e procedure.Event) {
			heard, is := e.(procedure.StatusHeard)
			if is && !r.stopped {
				r.statusHeard(x, told, heard, over)
			}
		})
	}
	if slices.Equal(telling.Unsure, x.watch.Unsure) {
		ask()
		return
	}
	r.writeStatus(x, telling, func(err error) {
		if err == nil {
			ask()
			return
		}
		r.log.Warn("what who subscribed to the AMF's status is to hear was not kept", "err", err)
		over()
		if errors.Is(err, sessionstore.ErrConflict) { // as the store has it now
			r.statusTurn(x.name, r.tellStatus)
		}
	})
}

// statusHeard: a refusal is an answer, too.
func (r *Runner) statusHeard(x *listening, told *record.StatusWatch, e procedure.StatusHeard, over func()) {
	heard := e.Outcome == procedure.Done || e.Outcome == procedure.Refused
	x.tellings++
	switch {
	case e.Nobody, !heard && x.tellings >= mostTellings:
		r.log.Warn("who subscribed to the AMF's status does not hear, and is not told any more", "uri", told.URI, "cause", e.Cause)
		told = nil
	case !heard:
		r.w.After(min(firstTelling<<(x.tellings-1), longestTelling), func() { r.statusTurn(x.name, r.tellStatus) })
		over()
		return
	default:
		x.tellings = 0
	}
	r.writeStatus(x, told, func(err error) {
		if err != nil {
			r.log.Warn("what who subscribed to the AMF's status has heard was not kept", "err", err)
		}
		over()
		r.statusTurn(x.name, r.tellStatus) // Settings may be others by now
	})
}
