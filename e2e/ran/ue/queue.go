package ue

import "sync"

// queue hands events to the UE's goroutine. It has no bound: the gNB must never wait for a UE.
type queue struct {
	mu     sync.Mutex
	events []func()
	wake   chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) push(f func()) {
	q.mu.Lock()
	q.events = append(q.events, f)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.events
	q.events = nil
	return e
}
