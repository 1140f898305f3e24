// Package asking asks pods, SMFs and NRFs beside the passes of a reconciler.
package asking

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// A pass of a reconciler waits for nobody but the API server. What it has to ask of a pod, an SMF or an NRF is asked
// beside it: one that does not answer keeps no other object from its turn. There is one question at a time for each
// thing asked, a bounded number at once, and a bound to the time of each. The answer is kept for a while, and when it
// comes the object is looked at again.

const (
	// questionLimit is how many questions one controller asks at once.
	questionLimit = 16
	// questionTimeout ends a question, whatever its own steps may take.
	questionTimeout = 15 * time.Second
	// answerMemory is how long an answer is kept that nobody asks for any more.
	answerMemory = 10 * time.Minute
)

// Questions of one controller, and their last answers. A nil one asks within the pass.
type Questions struct {
	now func() time.Time
	// start runs a question beside the pass.
	start func(func())
	// Answered are the objects whose answers have come.
	Answered chan event.GenericEvent
	slots    chan struct{}

	mu   sync.Mutex
	last map[string]*answer
}

// answer is the last one to a question, and whether the next is under way.
type answer struct {
	pending, known, told bool
	// about is what the question was in detail: the answer is none to another.
	about string
	at    time.Time
	value any
	err   error
	// wanted is when a pass was last interested.
	wanted time.Time
}

// Reply is what a pass is told.
type Reply[T any] struct {
	Value T
	Err   error
	// Known is false as long as there is no answer; then neither Value nor Err says anything.
	Known bool
	// First is set for the one pass that is told an answer first.
	First bool
	// Next is when the question is due again.
	Next time.Duration
}

// New has been asked nothing.
func New() *Questions {
	return By(time.Now, func(do func()) { go do() })
}

// By another clock, and with another way to run a question beside the pass.
func By(now func() time.Time, start func(func())) *Questions {
	return &Questions{now: now, start: start, Answered: make(chan event.GenericEvent, 1024), slots: make(chan struct{}, questionLimit), last: map[string]*answer{}}
}

// Ask returns the last answer to a question, and asks it anew when there is none about this, or when it is older than an
// age that the answer itself decides. The question runs beside the pass: it must not touch what the pass goes on with.
func Ask[T any](ctx context.Context, a *Questions, object client.Object, question, about string, age func(T, error) time.Duration, do func(context.Context) (T, error)) Reply[T] {
	if a == nil {
		value, err := do(ctx)
		return Reply[T]{Value: value, Err: err, Known: true, First: true, Next: age(value, err)}
	}
	key := question + " " + client.ObjectKeyFromObject(object).String()
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	e := a.last[key]
	if e == nil {
		a.forget(now)
		e = &answer{}
		a.last[key] = e
	}
	e.wanted = now
	left := func() time.Duration {
		value, _ := e.value.(T)
		return age(value, e.err) - a.now().Sub(e.at)
	}
	if (!e.known || e.about != about || left() <= 0) && !e.pending {
		e.pending = true
		about, object := about, object.DeepCopyObject().(client.Object)
		a.mu.Unlock()
		a.start(func() {
			a.put(e, object, about, func(ctx context.Context) (any, error) { return do(ctx) })
		})
		a.mu.Lock()
	}
	if !e.known || e.about != about {
		return Reply[T]{Next: questionTimeout}
	}
	out := Reply[T]{Err: e.err, Known: true, First: !e.told, Next: max(left(), time.Second)}
	out.Value, _ = e.value.(T)
	e.told = true
	return out
}

// put asks, keeps the answer and has the object looked at again.
func (a *Questions) put(e *answer, object client.Object, about string, do func(context.Context) (any, error)) {
	a.slots <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), questionTimeout)
	value, err := do(ctx)
	cancel()
	<-a.slots
	a.mu.Lock()
	e.pending, e.known, e.told, e.about, e.at, e.value, e.err = false, true, false, about, a.now(), value, err
	a.mu.Unlock()
	a.Answered <- event.GenericEvent{Object: object}
}

// forget drops answers that nobody has wanted for a while; mu is held.
func (a *Questions) forget(now time.Time) {
	for key, e := range a.last {
		if !e.pending && now.Sub(e.wanted) > answerMemory {
			delete(a.last, key)
		}
	}
}

// Every is one age for answers and failures.
func Every[T any](age time.Duration) func(T, error) time.Duration {
	return func(T, error) time.Duration { return age }
}
