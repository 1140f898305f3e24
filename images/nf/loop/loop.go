// Package loop runs what concerns a shard in one goroutine, and keeps who waits for its answers.
package loop

import "sync"

// Loop runs functions one after the other, in one goroutine.
type Loop struct {
	mu     sync.Mutex
	mail   []func()
	closed bool
	wake   chan struct{} // holds one when there is mail
	done   chan struct{}
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
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.mail = append(l.mail, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

func (l *Loop) run() {
	defer close(l.done)
	var list []func()
	for range l.wake {
		l.mu.Lock()
		list, l.mail = l.mail, list[:0]
		l.mu.Unlock()
		for n, f := range list {
			if l.over() {
				return
			}
			f()
			list[n] = nil
		}
		if l.over() {
			return
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
	l.closed, l.mail = true, nil
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Done is closed when the loop has ended, and nothing runs in it any more.
func (l *Loop) Done() <-chan struct{} { return l.done }
