package sctp

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// closedAcceptPause holds back a caller that goes on accepting from a closed listener: the AMF's accept
// loop has no way out, and would spin until the process ends.
const closedAcceptPause = time.Second

// SCTPListener accepts associations.
type SCTPListener struct {
	acceptor acceptor
	stopped  atomic.Bool
	reported atomic.Bool
}

func newListener(a acceptor) *SCTPListener { return &SCTPListener{acceptor: a} }

// AcceptSCTP waits for the next association: for at most timeout milliseconds (then syscall.EAGAIN), or
// without end if timeout is below 0. After Close it gives net.ErrClosed.
func (l *SCTPListener) AcceptSCTP(timeout int) (*SCTPConn, error) {
	wait := time.Duration(-1)
	if timeout >= 0 {
		wait = time.Duration(timeout) * time.Millisecond
	}
	a, err := l.acceptor.accept(wait)
	if err != nil {
		if errors.Is(err, net.ErrClosed) && l.reported.Swap(true) {
			time.Sleep(closedAcceptPause)
		}
		return nil, err
	}
	return newConn(a), nil
}

// Accept is AcceptSCTP with the type of net.Conn.
func (l *SCTPListener) Accept(timeout int) (net.Conn, error) {
	c, err := l.AcceptSCTP(timeout)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Addr gives the address that the listener is bound to.
func (l *SCTPListener) Addr() net.Addr { return l.acceptor.addr() }

// IsStopped tells whether Close was called.
func (l *SCTPListener) IsStopped() bool { return l.stopped.Load() }

// Close stops accepting. Associations accepted before live on. Closing again gives syscall.EBADF.
func (l *SCTPListener) Close() error {
	if l.stopped.Swap(true) {
		return syscall.EBADF
	}
	return l.acceptor.close()
}
