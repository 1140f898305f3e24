// Package loop runs what concerns a shard one after the other, and keeps who waits for its answers.
package loop

import (
	"sync"

	"core5g.dev/core5g/images/nf/stack"
)

// Loop runs functions one after the other: those that are posted in a goroutine of its own, and what an errand has come back with in the errand's, where the
// loop is at rest. To wake a goroutine for it, or to begin one for the next errand, costs more than most of what it would do.
type Loop struct {
	mu   sync.Mutex
	mail []func()
	// busy: somebody runs what there is, and hands over or rests when that is done; an errand, if errand says so, which may go on with next.
	busy, errand, closed bool
	next                 func() (inside func())
	wake                 chan struct{} // holds one when the loop's own goroutine is to be busy
	done                 chan struct{}
}

// New begins a loop; End ends it.
func New() *Loop {
	l := &Loop{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Post has f run, after what was posted before; false: the loop has ended.
func (l *Loop) Post(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.mail = append(l.mail, f)
	l.stir()
	return true
}

// stir the loop's goroutine, unless somebody is busy. l.mu is held.
func (l *Loop) stir() {
	if !l.busy {
		l.busy = true
		l.wake <- struct{}{}
	}
}

// Errand has outside done out of the loop, where it may wait for others, and then what it returns in the loop; nil: nothing. spawn begins a goroutine, where
// one is needed: who has just come back from another errand goes. It is called in the loop.
func (l *Loop) Errand(spawn func(func()), outside func() (inside func())) {
	l.mu.Lock()
	if l.errand && l.next == nil {
		l.next = outside
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	spawn(func() {
		stack.Grow()
		for outside != nil {
			outside = l.back(outside())
		}
	})
}

// back from an errand; it returns the next one.
func (l *Loop) back(inside func()) (next func() func()) {
	if inside == nil {
		return nil
	}
	l.mu.Lock()
	if l.busy || l.closed {
		if !l.closed {
			l.mail = append(l.mail, inside)
		}
		l.mu.Unlock()
		return nil
	}
	l.busy, l.errand = true, true
	l.mu.Unlock()
	inside()
	l.mu.Lock()
	defer l.mu.Unlock()
	next, l.next = l.next, nil
	l.busy, l.errand = false, false
	if len(l.mail) > 0 || l.closed {
		l.stir()
	}
	return next
}

func (l *Loop) run() {
	defer close(l.done)
	var list []func()
	for range l.wake {
		for {
			l.mu.Lock()
			list, l.mail = l.mail, list[:0]
			if l.busy = len(list) > 0; !l.busy {
				closed := l.closed
				l.mu.Unlock()
				if closed {
					return
				}
				break
			}
			l.mu.Unlock()
			for n, f := range list {
				if l.over() {
					return
				}
				f()
				list[n] = nil
			}
		}
	}
}

func (l *Loop) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// End the loop: what has been posted and has not begun is not run. It does not wait for what has begun; Done does.
func (l *Loop) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed, l.mail = true, nil
	l.stir()
}

// Done is closed when the loop has ended, and nothing runs in it any more.
func (l *Loop) Done() <-chan struct{} { return l.done }
