package runner

import (
	"context"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// walk brings events to every UE of a group: few at a time, each until what came of them is written, so that ten thousand UEs ask for no more than the
// store can do at once. The next holder begins it anew where this one leaves in the midst of it.
type walk struct {
	r      *Runner
	group  string
	events func(*record.UE) []procedure.Event
	done   func()
	keys   []string
	cursor string
	// listed: the group's end was reached. asking: the next keys were asked for.
	listed, asking bool
	underWay       int
	running, over  bool
	settling       *settling
}

// settling is until nothing that was asked for UEs waits for an answer any more: then is called once.
type settling struct {
	left int
	then func()
}

// more is to be waited for. nil: nobody waits.
func (s *settling) more() {
	if s != nil {
		s.left++
	}
}

func (s *settling) less() {
	if s == nil {
		return
	}
	if s.left--; s.left == 0 {
		s.then()
	}
}

// window is how many UEs of a walk are under way.
const window = 64

// walk delivers events to every UE of a group, and calls done when all of them are written. UEs that join the group meanwhile may be among them. Where the
// store is away it goes on when that is back.
func (r *Runner) walk(group string, events func(*record.UE) []procedure.Event, done func()) {
	r.walkUntil(nil, group, events, done)
}

// walkUntil is walk, and what is asked for UEs, by whomever, is waited for by s.
func (r *Runner) walkUntil(s *settling, group string, events func(*record.UE) []procedure.Event, done func()) {
	s.more()
	w := &walk{r: r, group: group, events: events, settling: s, done: func() {
		done()
		s.less()
	}}
	w.advance()
}

func (w *walk) advance() {
	if w.running || w.over || w.r.stopped || w.r.closed() {
		return
	}
	w.running = true
	defer func() { w.running = false }()
	for w.underWay < window {
		switch {
		case len(w.keys) > 0:
			key := w.keys[0]
			w.keys = w.keys[1:]
			w.underWay++
			w.visit(key)
		case !w.listed:
			w.list()
			return
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
	w.r.members(w.group, w.cursor, func(keys []string, next string) {
		w.asking = false
		w.keys, w.cursor, w.listed = keys, next, next == ""
		w.advance()
	})
}

// members of a group, as soon as the store says them.
func (r *Runner) members(group, cursor string, then func(keys []string, next string)) {
	if r.stopped {
		return
	}
	r.w.Store(func(ctx context.Context, store sessionstore.Store) func() {
		keys, next, err := store.Members(ctx, group, cursor, most)
		return func() {
			r.heard(err)
			switch {
			case r.stopped:
			case err != nil:
				r.w.After(longestWait, func() { r.members(group, cursor, then) })
			default:
				then(keys, next)
			}
		}
	})
}

// visit a UE, once it is loaded.
func (w *walk) visit(key string) {
	u := w.r.ue(key)
	w.r.loadedThen(u, func(err error) {
		var events []procedure.Event
		if err == nil && w.r.unpack(u) && u.state.Record != nil {
			events = w.events(u.state.Record)
		}
		if len(events) == 0 { // or it cannot be read, or there is none any more
			w.settles(u) // what is asked for it another walk may have begun, from the same news
			u.pack()
			w.left()
			return
		}
		for _, e := range events {
			u.queue = append(u.queue, queued{Event: e})
		}
		u.watchers = append(u.watchers, func(error) {
			w.settles(u)
			w.left()
		})
		w.r.pump(u)
	})
}

// settles when what is asked for a UE is answered, too.
func (w *walk) settles(u *ue) {
	if s := w.settling; s != nil && u.asked > 0 && !u.dead {
		s.more()
		u.undone = append(u.undone, s.less)
	}
}

func (w *walk) left() {
	w.underWay--
	w.advance()
}
