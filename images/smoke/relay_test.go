package smoke

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay stands before one function of the subscriber data, which share a process, so that this one alone can be
// away.
type relay struct {
	address, to string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
}

func startRelay(t *testing.T, address, to string) *relay {
	t.Helper()
	r := &relay{address: address, to: to, open: map[net.Conn]bool{}}
	r.start(t)
	t.Cleanup(r.stop)
	return r
}

func (r *relay) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.listener = listener
	r.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go r.pass(listener, from)
		}
	}()
}

// pass carries one connection, of a listener that may have been stopped meanwhile.
func (r *relay) pass(of net.Listener, from net.Conn) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	r.mu.Lock()
	stopped := r.listener != of
	if !stopped {
		r.open[from] = true
	}
	r.mu.Unlock()
	if stopped {
		return
	}
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
	r.mu.Lock()
	delete(r.open, from)
	r.mu.Unlock()
}

// stop refuses new connections and ends those that there are.
func (r *relay) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		_ = r.listener.Close()
	}
	r.listener = nil
	for c := range r.open {
		_ = c.Close()
	}
	clear(r.open)
}
