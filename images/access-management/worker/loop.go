package worker

import "sync"

// loop runs functions one after the other, in one goroutine.
type loop struct {
	mu     sync.Mutex
	mail   []func()
	closed bool
	wake   chan struct{} // holds one when there is mail
	done   chan struct{}
}

func newLoop() *loop {
	l := &loop{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// post has f run, after what was posted before; false: the loop has ended.
func (l *loop) post(f func()) bool {
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

func (l *loop) run() {
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

func (l *loop) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// end the loop, and wait for what has begun. What has been posted and has not begun is not run.
func (l *loop) end() {
	l.mu.Lock()
	l.closed, l.mail = true, nil
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	<-l.done
}
