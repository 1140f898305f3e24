package pace

import (
	"context"
	"math"
	"sync"
	"time"

	"core5g.dev/core5g/upf/upfc/machine"
)

// A Wheel wakes sessions by the clock: periodic reports and time thresholds of all of them, without a
// timer each. A session has one wake-up; setting it again replaces it. The turn of the wheel is
// wheelSlots ticks; what is further away is looked at once a turn.
type Wheel struct {
	mu    sync.Mutex
	start time.Time
	now   uint32   // ticks that have been served
	due   []uint32 // by session index: tick at which it wakes, 0: never
	slots [wheelSlots][]wakeUp
	n     int // wake-ups in slots
	// Until the tick that is planned, whoever turns the wheel rests; closing early ends it.
	planned uint32
	early   chan struct{}
	machine machine.Machine
}

// wakeUp counts only while it is what due says.
type wakeUp struct{ index, due uint32 }

const (
	wheelTick  = 10 * time.Millisecond
	wheelSlots = 8192 // 82 s
)

// NewWheel makes one on which nobody is to be woken.
func NewWheel(m machine.Machine) *Wheel {
	return &Wheel{start: m.Now(), early: make(chan struct{}), planned: math.MaxUint32, machine: m}
}

func (w *Wheel) tick(t time.Time) uint32 {
	// Up: nobody is woken too early.
	return uint32(max(0, t.Sub(w.start)+wheelTick-1) / wheelTick)
}

// Set wakes a session at t; the zero time: never.
func (w *Wheel) Set(index uint32, t time.Time) {
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
		w.now = max(w.now, uint32(w.machine.Now().Sub(w.start)/wheelTick))
	}
	tick := max(w.tick(t), w.now+1)
	if w.due[index] == tick {
		return
	}
	w.due[index] = tick
	w.put(index, tick)
}

func (w *Wheel) put(index, due uint32) {
	at := due
	if due-w.now >= wheelSlots {
		at = w.now + wheelSlots - 1
	}
	s := &w.slots[at%wheelSlots]
	*s = append(*s, wakeUp{index, due})
	w.n++
	if at < w.planned {
		w.planned = 0 // once
		close(w.early)
	}
}

// turn serves the ticks up to t and calls f, unlocked, for each session that is due.
func (w *Wheel) turn(t time.Time, f func(index uint32)) {
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

// pause is how long nobody is to be woken, negative: for ever; early is closed when somebody is to be woken before.
func (w *Wheel) pause() (d time.Duration, early <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.early = make(chan struct{}); w.n == 0 {
		w.planned = math.MaxUint32
		return -1, w.early
	}
	w.planned = w.now + 1
	for len(w.slots[w.planned%wheelSlots]) == 0 {
		w.planned++
	}
	at := w.start.Add(time.Duration(w.planned) * wheelTick)
	return max(0, at.Sub(w.machine.Now())), w.early
}

// Run turns the wheel, and calls f for each session that is due, until ctx ends; while nobody is to be woken, it rests.
func (w *Wheel) Run(ctx context.Context, f func(index uint32)) {
	for {
		d, early := w.pause()
		if w.machine.Wait(d, early, ctx.Done()); ctx.Err() != nil {
			return
		}
		w.turn(w.machine.Now(), f)
	}
}
