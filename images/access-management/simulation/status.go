package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
)

// listener is a function that wants to hear which GUAMIs the AMF serves (TS 29.518 5.2.2.5). When all is well it knows.
type listener struct {
	w          *world
	subscribed bool
	available  map[record.GUAMI]bool
}

func newListener(w *world) *listener {
	l := &listener{w: w}
	w.Soon(time.Millisecond, 20*time.Second, l.subscribe)
	return l
}

func (l *listener) watch() *record.StatusWatch {
	out, _ := procedure.NewStatusWatch("1-1", "http://listener", nil, l.w.settings)
	return out
}

// subscribe until it hears that it has.
func (l *listener) subscribe() {
	if l.subscribed {
		return
	}
	l.w.After(2*time.Second, l.subscribe)
	l.w.toShard(1, func(to *runner.Runner) {
		if l.subscribed {
			return
		}
		watch := l.watch()
		l.available = map[record.GUAMI]bool{}
		l.hears(nil, watch.Told)
		to.KeepStatus(watch, false, func(err error) {
			if err == nil {
				l.subscribed = true
				l.w.Note("the listener has subscribed, with %v", watch.Told)
			}
		})
	})
}

func (l *listener) hears(gone, back []record.GUAMI) {
	for _, g := range gone {
		delete(l.available, g)
	}
	for _, g := range back {
		l.available[g] = true
	}
}

// told, in the order in which it is. That, or its answer, may be lost.
func (l *listener) told(e procedure.AskStatusHeard, back func(procedure.Event)) {
	w, out := l.w, procedure.StatusHeard{Outcome: procedure.Unknown}
	if !w.faults || !w.Chance(20) {
		w.Note("the listener hears: gone %v, back %v", e.Gone, e.Back)
		l.hears(e.Gone, e.Back)
		if !w.faults || !w.Chance(20) {
			out.Outcome = procedure.Done
		}
	}
	w.Soon(50*time.Microsecond, time.Second, func() { back(out) })
}

// agree with the Settings. A store that has forgotten may have forgotten the listener.
func (l *listener) agree() error {
	if !l.w.forgotten.IsZero() {
		return nil
	}
	is := slices.Collect(maps.Keys(l.available))
	want := l.watch().Told
	same := len(is) == len(want)
	for _, g := range want {
		same = same && l.available[g]
	}
	if !l.subscribed || !same {
		return fmt.Errorf("the listener, subscribed %v, believes that there are %v, and there are %v", l.subscribed, is, want)
	}
	return nil
}
