package agent

import (
	"context"
	"sync"
	"time"
)

// wheel wakes sessions by the clock: periodic reports and time thresholds of all of them, without a
// timer each. A session has one wake-up; setting it again replaces it. The turn of the wheel is
// wheelSlots ticks; what is further away is looked at once a turn.
type wheel struct {
	mu    sync.Mutex
	start time.Time
	now   uint32   // ticks that have been served
	due   []uint32 // by session index: tick at which it wakes, 0: never
	slots [wheelSlots][]wakeUp
	n     int // wake-ups in slots
	wake  chan struct{}
}

// wakeUp counts only while it is what due says.
type wakeUp struct{ index, due uint32 }

const (
	wheelTick  = 10 * time.Millisecond
	wheelSlots = 8192 // 82 s
)

func newWheel(now time.Time) *wheel { return &wheel{start: now, wake: make(chan struct{}, 1)} }

func (w *wheel) tick(t time.Time) uint32 {
	// Up: nobody is woken too early.
	return uint32(max(0, t.Sub(w.start)+wheelTick-1) / wheelTick)
}

// set wakes a session at t; the zero time: never.
func (w *wheel) set(index uint32, t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if int(index) >= len(w.due) {
		if t.IsZero() {
			return
		}
		w.due = append(w.due, make([]uint32, int(index)+1-len(w.due)+len(w.due)/4)...)
	}
	if t.IsZero() {
		w.due[index] = 0
		return
	}
	if w.n == 0 { // it rested
		w.now = max(w.now, uint32(time.Since(w.start)/wheelTick))
	}
	tick := max(w.tick(t), w.now+1)
	if w.due[index] == tick {
		return
	}
	w.due[index] = tick
	w.put(index, tick)
}

func (w *wheel) put(index, due uint32) {
	at := due
	if due-w.now >= wheelSlots {
		at = w.now + wheelSlots - 1
	}
	s := &w.slots[at%wheelSlots]
	*s = append(*s, wakeUp{index, due})
	if w.n++; w.n == 1 {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// turn serves the ticks up to t and calls f, unlocked, for each session that is due.
func (w *wheel) turn(t time.Time, f func(index uint32)) {
	w.mu.Lock()
	until := uint32(t.Sub(w.start) / wheelTick)
	var woken []uint32
	for w.now < until && w.n > 0 {
		w.now++
		list := w.slots[w.now%wheelSlots]
		w.slots[w.now%wheelSlots] = nil
		w.n -= len(list)
		for _, u := range list {
			switch {
			case w.due[u.index] != u.due: // set anew or taken back since
			case u.due > w.now: // further away than a turn
				w.put(u.index, u.due)
			default:
				w.due[u.index] = 0
				woken = append(woken, u.index)
			}
		}
	}
	w.now = max(w.now, until)
	w.mu.Unlock()
	for _, index := range woken {
		f(index)
	}
}

// run turns the wheel until ctx ends; while nobody is to be woken, it rests.
func (w *wheel) run(ctx context.Context, f func(index uint32)) {
	ticker := time.NewTicker(wheelTick)
	defer ticker.Stop()
	for {
		w.mu.Lock()
		idle := w.n == 0
		w.mu.Unlock()
		if idle {
			ticker.Stop()
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			ticker.Reset(wheelTick)
		}
		select {
		case <-ctx.Done():
			return
		case t := <-ticker.C:
			w.turn(t, f)
		}
	}
}
