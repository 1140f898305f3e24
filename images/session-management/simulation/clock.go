package simulation

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// clock runs events in the order of their times, and of their making where these are the same.
type clock struct {
	now    time.Time
	events queue
	made   uint64
	rand   *rand.Rand
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

func newClock(seed uint64) *clock {
	return &clock{now: time.Unix(1_800_000_000, 0), rand: rand.New(rand.NewPCG(seed, 1))}
}

// after d has gone, f.
func (c *clock) after(d time.Duration, f func()) {
	c.made++
	heap.Push(&c.events, event{at: c.now.Add(d), n: c.made, f: f})
}

// soon is after a time between least and most.
func (c *clock) soon(least, most time.Duration, f func()) {
	c.after(least+time.Duration(c.rand.Int64N(int64(most-least)+1)), f)
}

// chance is true once in so many times.
func (c *clock) chance(once int) bool { return c.rand.IntN(once) == 0 }

// step runs the next event; false where there is none before the time.
func (c *clock) step(until time.Time) bool {
	if len(c.events) == 0 || c.events[0].at.After(until) {
		return false
	}
	e := heap.Pop(&c.events).(event)
	c.now = e.at
	e.f()
	return true
}
