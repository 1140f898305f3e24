package machine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// Virtual is a machine on which one thread runs at a time, until it waits or ends. Which of those that could go on is
// next, chance decides; so two with the same chance, that are asked the same, do the same. All methods are for one
// goroutine, which is not one of its threads, unless they say otherwise.
type Virtual struct {
	now     time.Time
	chance  *rand.Rand
	threads []*thread
	running *thread
	dead    bool
}

// thread is a goroutine that runs only when it is told to.
type thread struct {
	f     func() // nil once it has begun
	ready []<-chan struct{}
	until time.Time // zero: never
	next  chan struct{}
	back  chan bool // false: it has ended
}

// NewVirtual begins at a time.
func NewVirtual(now time.Time, chance *rand.Rand) *Virtual { return &Virtual{now: now, chance: chance} }

// Now is the virtual time. Threads may ask.
func (v *Virtual) Now() time.Time { return v.now }

// Random is for threads, too.
func (v *Virtual) Random() uint64 { return v.chance.Uint64() }

// Threads says that work is not divided.
func (v *Virtual) Threads() int { return 1 }

// Go is for threads, too. f does not begin before Run.
func (v *Virtual) Go(f func()) {
	if !v.dead {
		v.threads = append(v.threads, &thread{f: f, next: make(chan struct{}), back: make(chan bool)})
	}
}

// Wait is for threads.
func (v *Virtual) Wait(d time.Duration, ready ...<-chan struct{}) (passed bool) {
	t := v.running
	if t == nil {
		panic("machine.Virtual: only a thread can wait")
	}
	if v.dead {
		runtime.Goexit()
	}
	t.ready, t.until = ready, time.Time{}
	if d >= 0 {
		t.until = v.now.Add(d)
	}
	t.back <- true
	<-t.next
	if v.dead {
		runtime.Goexit()
	}
	return !t.isReady()
}

func (t *thread) isReady() bool {
	for _, r := range t.ready {
		select {
		case <-r:
			return true
		default:
		}
	}
	return false
}

func (v *Virtual) canRun(t *thread) bool {
	return t.f != nil || t.isReady() || !t.until.IsZero() && !t.until.After(v.now)
}

// Run lets threads go on until all of them wait.
func (v *Virtual) Run() {
	for !v.dead {
		var could []*thread
		for _, t := range v.threads {
			if v.canRun(t) {
				could = append(could, t)
			}
		}
		if len(could) == 0 {
			return
		}
		v.resume(could[v.chance.IntN(len(could))])
	}
	v.bury()
}

// resume lets one thread go on until it waits or has ended.
func (v *Virtual) resume(t *thread) {
	v.running = t
	if f := t.f; f != nil {
		t.f = nil
		go func() {
			defer func() { t.back <- false }()
			f()
		}()
	} else {
		t.next <- struct{}{}
	}
	if lives := <-t.back; !lives {
		v.threads = slices.DeleteFunc(v.threads, func(o *thread) bool { return o == t })
	}
	v.running = nil
}

// NextDeadline is the earliest time at which a thread goes on by itself.
func (v *Virtual) NextDeadline() (next time.Time, ok bool) {
	for _, t := range v.threads {
		if !t.until.IsZero() && (!ok || t.until.Before(next)) {
			next, ok = t.until, true
		}
	}
	return next, ok
}

// Tick lets the time become now, and threads go on at the times for which they wait.
func (v *Virtual) Tick(now time.Time) {
	for {
		v.Run()
		next, ok := v.NextDeadline()
		if !ok || next.After(now) {
			break
		}
		if next.After(v.now) {
			v.now = next
		}
	}
	if now.After(v.now) {
		v.now = now
	}
}

// Kill ends all threads where they are, as SIGKILL does. A thread may call it, and goes no further: what it was doing
// has then happened, and nobody was told.
func (v *Virtual) Kill() {
	v.dead = true
	if v.running != nil {
		runtime.Goexit()
	}
	v.bury()
}

// Dead says whether it was killed.
func (v *Virtual) Dead() bool { return v.dead }

// bury lets go of the threads' goroutines.
func (v *Virtual) bury() {
	for _, t := range v.threads {
		if t.f == nil {
			v.running = t
			t.next <- struct{}{}
			<-t.back
		}
	}
	v.running, v.threads = nil, nil
}
