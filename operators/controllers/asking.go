package controllers

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

// asking is the questions of one controller and their last answers. A nil one asks within the pass.
type asking struct {
	now func() time.Time
	// start runs a question beside the pass.
	start func(func())
	// answered are the objects whose answers have come.
	answered chan event.GenericEvent
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

// reply is what a pass is told.
type reply[T any] struct {
	value T
	err   error
	// known is false as long as there is no answer; then neither value nor err says anything.
	known bool
	// first is set for the one pass that is told an answer first.
	first bool
	// next is when the question is due again.
	next time.Duration
}

func newAsking() *asking {
	return askingBy(time.Now, func(do func()) { go do() })
}

// askingBy another clock, and with another way to run a question beside the pass.
func askingBy(now func() time.Time, start func(func())) *asking {
	return &asking{now: now, start: start, answered: make(chan event.GenericEvent, 1024), slots: make(chan struct{}, questionLimit), last: map[string]*answer{}}
}

// ask returns the last answer to a question, and asks it anew when there is none about this, or when it is older than an
// age that the answer itself decides. The question runs beside the pass: it must not touch what the pass goes on with.
func ask[T any](ctx context.Context, a *asking, object client.Object, question, about string, age func(T, error) time.Duration, do func(context.Context) (T, error)) reply[T] {
	if a == nil {
		value, err := do(ctx)
		return reply[T]{value: value, err: err, known: true, first: true, next: age(value, err)}
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
		return reply[T]{next: questionTimeout}
	}
	out := reply[T]{err: e.err, known: true, first: !e.told, next: max(left(), time.Second)}
	out.value, _ = e.value.(T)
	e.told = true
	return out
}

// put asks, keeps the answer and has the object looked at again.
func (a *asking) put(e *answer, object client.Object, about string, do func(context.Context) (any, error)) {
	a.slots <- struct{}{}
	ctx, cancel := context.WithTimeout(context.Background(), questionTimeout)
	value, err := do(ctx)
	cancel()
	<-a.slots
	a.mu.Lock()
	e.pending, e.known, e.told, e.about, e.at, e.value, e.err = false, true, false, about, a.now(), value, err
	a.mu.Unlock()
	a.answered <- event.GenericEvent{Object: object}
}

// forget drops answers that nobody has wanted for a while; mu is held.
func (a *asking) forget(now time.Time) {
	for key, e := range a.last {
		if !e.pending && now.Sub(e.wanted) > answerMemory {
			delete(a.last, key)
		}
	}
}

// every is one age for answers and failures.
func every[T any](age time.Duration) func(T, error) time.Duration {
	return func(T, error) time.Duration { return age }
}
