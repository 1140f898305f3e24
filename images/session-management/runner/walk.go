package runner

import (
	"context"
	"errors"
	"slices"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// walk brings an event to every session of a group: few at a time, each until it is at rest again, so that ten thousand of them ask for
// no more than the store and a unit can do at once. Those that a UE uses now come first.
type walk struct {
	r      *Runner
	group  string
	event  func(*record.Session) procedure.Event // nil for none
	done   func()
	keys   []string
	idle   []string // for the second round
	cursor string
	// listed: the group's end was reached. asking: the next keys were asked for.
	listed, asking, second bool
	underWay, window       int
	running, over          bool
}

// window is how many sessions of a walk are under way: with fewer they wait for each other, and for the store's disk.
const window = 192

// walk delivers an event to every session of a group, and calls done when all of them are at rest again. Sessions that join the group
// meanwhile may be among them. Where the store is away it goes on when that is back.
func (r *Runner) walk(group string, event func(*record.Session) procedure.Event, done func()) {
	r.walkBy(window, group, event, done)
}

// walkBy does so with as many at a time.
func (r *Runner) walkBy(window int, group string, event func(*record.Session) procedure.Event, done func()) {
	w := &walk{r: r, group: group, event: event, done: done, window: window}
	w.advance()
}

// joining are the sessions that are being written into a group: they follow what was before, and the store does not list them yet.
func (r *Runner) joining(group string) (keys []string) {
	for key, s := range r.sessions {
		if slices.Contains(groups(s.state.Record), group) && !slices.Contains(groups(s.stored.record), group) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (w *walk) advance() {
	if w.running || w.over || w.r.stopped {
		return
	}
	w.running = true
	defer func() { w.running = false }()
	for w.underWay < w.window {
		switch {
		case len(w.keys) > 0:
			key := w.keys[0]
			w.keys = w.keys[1:]
			w.underWay++
			w.visit(key)
		case !w.listed:
			w.list()
			return
		case len(w.idle) > 0 && !w.second:
			w.keys, w.idle, w.second = w.idle, nil, true
		case w.underWay == 0:
			w.over = true
			w.done()
			return
		default:
			return
		}
	}
}

func (w *walk) list() {
	if w.asking {
		return
	}
	w.asking = true
	group, cursor := w.group, w.cursor
	w.r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		keys, next, err := store.Members(ctx, group, cursor, most)
		return func() {
			w.r.heard(err)
			if err != nil {
				w.r.w.After(longestWait, func() { w.asking = false; w.advance() })
				return
			}
			w.asking = false
			w.keys, w.cursor, w.listed = keys, next, next == ""
			w.advance()
		}
	})
}

// visit a session, once it is loaded.
func (w *walk) visit(key string) {
	s := w.r.session(key)
	w.r.loadedThen(s, func(err error) {
		switch {
		case errors.Is(err, sessionstore.ErrUnavailable), errors.Is(err, sessionstore.ErrUnknown), errors.Is(err, context.DeadlineExceeded):
			w.r.w.After(longestWait, func() {
				w.underWay--
				w.keys = append(w.keys, key)
				w.advance()
			})
			return
		case err != nil, s.state.Record == nil: // it cannot be read, or there is none any more
			w.left()
			return
		case !w.second && s.state.Record.Phase != record.Active:
			w.idle = append(w.idle, key)
			w.left()
			return
		}
		e := w.event(s.state.Record)
		if e == nil {
			w.left()
			return
		}
		s.queue = append(s.queue, queued{Event: e, of: s.state.Record.CPSEID})
		s.watchers = append(s.watchers, func(error) { w.left() })
		w.r.pump(s)
	})
}

func (w *walk) left() {
	w.underWay--
	w.advance()
}
