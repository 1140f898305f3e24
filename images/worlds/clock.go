package worlds

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// Clock runs events in the order of their times, and of their making where these are the same.
type Clock struct {
	Now    time.Time
	events queue
	made   uint64
	// Rand is the world's own: everything that happens by chance comes from it.
	Rand *rand.Rand
}

type event struct {
	at time.Time
	n  uint64
	f  func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool {
	return q[a].at.Before(q[b].at) || q[a].at.Equal(q[b].at) && q[a].n < q[b].n
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(e any)   { *q = append(*q, e.(event)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// NewClock of a world.
func NewClock(seed uint64) *Clock {
	return &Clock{Now: time.Unix(1_800_000_000, 0), Rand: rand.New(rand.NewPCG(seed, 1))}
}

// After d has gone, f.
func (c *Clock) After(d time.Duration, f func()) {
	c.made++
	heap.Push(&c.events, event{at: c.Now.Add(d), n: c.made, f: f})
}

// Soon is after a time between least and most.
func (c *Clock) Soon(least, most time.Duration, f func()) {
	c.After(least+time.Duration(c.Rand.Int64N(int64(most-least)+1)), f)
}

// Chance is true once in so many times.
func (c *Clock) Chance(once int) bool { return c.Rand.IntN(once) == 0 }

// Step runs the next event; false where there is none before the time.
func (c *Clock) Step(until time.Time) bool {
	if len(c.events) == 0 || c.events[0].at.After(until) {
		return false
	}
	e := heap.Pop(&c.events).(event)
	c.Now = e.at
	e.f()
	return true
}
