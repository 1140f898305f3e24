package pfcp

import (
	"container/heap"
	"time"
)

// timer is something to do at a time. It is the heap that tells what is due, nobody waits.
type timer struct {
	at    time.Time
	order uint64 // of timers that are due at the same time, the first one that was set
	place int    // in the heap, -1: in none
	do    func()
}

// timers is a heap by time.
type timers struct {
	list  []*timer
	order uint64
}

func (t *timers) set(at time.Time, do func()) *timer {
	t.order++
	new := &timer{at: at, order: t.order, do: do}
	heap.Push(t, new)
	return new
}

// stop takes a timer out; nil and one that is out already are fine.
func (t *timers) stop(old *timer) {
	if old != nil && old.place >= 0 {
		heap.Remove(t, old.place)
	}
}

// due takes the first timer out that is due; nil: none is.
func (t *timers) due(now time.Time) *timer {
	if len(t.list) == 0 || t.list[0].at.After(now) {
		return nil
	}
	return heap.Pop(t).(*timer)
}

// Len, Less, Swap, Push and Pop are container/heap's.
func (t *timers) Len() int { return len(t.list) }

func (t *timers) Less(i, j int) bool {
	a, b := t.list[i], t.list[j]
	if !a.at.Equal(b.at) {
		return a.at.Before(b.at)
	}
	return a.order < b.order
}

func (t *timers) Swap(i, j int) {
	t.list[i], t.list[j] = t.list[j], t.list[i]
	t.list[i].place, t.list[j].place = i, j
}

func (t *timers) Push(x any) {
	new := x.(*timer)
	new.place = len(t.list)
	t.list = append(t.list, new)
}

func (t *timers) Pop() any {
	last := len(t.list) - 1
	old := t.list[last]
	t.list[last] = nil
	t.list = t.list[:last]
	old.place = -1
	return old
}
