package sctp

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// SCTPConn is one association, usable as a net.Conn: Read and Write carry whole messages.
type SCTPConn struct {
	assoc  association
	closed atomic.Bool
}

func newConn(a association) *SCTPConn { return &SCTPConn{assoc: a} }

// SCTPRead waits for the next message or subscribed notification. Its errors are io.EOF when the
// association has ended, syscall.EAGAIN after the read timeout, and syscall.EBADF after Close.
func (c *SCTPConn) SCTPRead(b []byte) (int, *SndRcvInfo, Notification, error) {
	if c.closed.Load() {
		return 0, nil, nil, syscall.EBADF
	}
	n, info, notification, err := c.assoc.read(b)
	if err != nil && c.closed.Load() {
		err = syscall.EBADF
	}
	return n, info, notification, err
}

// SCTPWrite sends b as one message with the stream and PPID of info, or the default ones if it is nil.
func (c *SCTPConn) SCTPWrite(b []byte, info *SndRcvInfo) (int, error) {
	if c.closed.Load() {
		return 0, syscall.EBADF
	}
	return c.assoc.write(b, info)
}

// Read implements net.Conn; notifications are passed over.
func (c *SCTPConn) Read(b []byte) (int, error) {
	for {
		n, _, notification, err := c.SCTPRead(b)
		if notification == nil || err != nil {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *SCTPConn) Write(b []byte) (int, error) { return c.SCTPWrite(b, nil) }

// Close shuts the association down. Closing again gives syscall.EBADF.
func (c *SCTPConn) Close() error {
	if c == nil || c.closed.Swap(true) {
		return syscall.EBADF
	}
	return c.assoc.close()
}

// Abort ends the association with an ABORT. Closing again gives syscall.EBADF.
func (c *SCTPConn) Abort() error {
	if c == nil || c.closed.Swap(true) {
		return syscall.EBADF
	}
	return c.assoc.abort()
}

// SubscribeEvents says which notifications SCTPRead shall give (SCTP_EVENT_…).
func (c *SCTPConn) SubscribeEvents(flags int) error {
	if c.closed.Load() {
		return syscall.EBADF
	}
	return c.assoc.subscribe(flags)
}

// SetDefaultSentParam sets the stream and PPID of messages written without SndRcvInfo.
func (c *SCTPConn) SetDefaultSentParam(info *SndRcvInfo) error {
	if c.closed.Load() {
		return syscall.EBADF
	}
	if info == nil {
		return syscall.EINVAL
	}
	return c.assoc.setDefaultSent(*info)
}

// GetDefaultSentParam reads what SetDefaultSentParam set.
func (c *SCTPConn) GetDefaultSentParam() (*SndRcvInfo, error) {
	if c == nil || c.closed.Load() {
		return nil, syscall.EBADF
	}
	info, err := c.assoc.defaultSent()
	if err != nil {
		return nil, err
	}
	return &info, nil
}

// SetReadBuffer sets the size of the receive buffer in octets.
func (c *SCTPConn) SetReadBuffer(octets int) error { return c.assoc.setReadBuffer(octets) }

// GetReadBuffer gives the size of the receive buffer in octets.
func (c *SCTPConn) GetReadBuffer() (int, error) { return c.assoc.readBuffer() }

// SetWriteBuffer sets the size of the send buffer in octets.
func (c *SCTPConn) SetWriteBuffer(octets int) error { return c.assoc.setWriteBuffer(octets) }

// GetWriteBuffer gives the size of the send buffer in octets.
func (c *SCTPConn) GetWriteBuffer() (int, error) { return c.assoc.writeBuffer() }

// SetReadTimeout bounds each later read; a zero value means no bound.
func (c *SCTPConn) SetReadTimeout(tv syscall.Timeval) error {
	return c.assoc.setReadTimeout(time.Duration(tv.Nano()))
}

// SetWriteTimeout bounds each later write; a zero value means no bound.
func (c *SCTPConn) SetWriteTimeout(tv syscall.Timeval) error {
	return c.assoc.setWriteTimeout(time.Duration(tv.Nano()))
}

// SetDeadline implements net.Conn. A read or write that passes its deadline gives syscall.EAGAIN.
func (c *SCTPConn) SetDeadline(t time.Time) error {
	if err := c.assoc.setReadDeadline(t); err != nil {
		return err
	}
	return c.assoc.setWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *SCTPConn) SetReadDeadline(t time.Time) error { return c.assoc.setReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (c *SCTPConn) SetWriteDeadline(t time.Time) error { return c.assoc.setWriteDeadline(t) }

// OutboundStreams is how many streams messages can be sent on, from 0 up (RFC 9260 5.1.1).
func (c *SCTPConn) OutboundStreams() (uint16, error) { return c.assoc.outboundStreams() }

// LocalAddr implements net.Conn; nil when it is not known any more.
func (c *SCTPConn) LocalAddr() net.Addr { return netAddr(c.assoc.localAddr()) }

// RemoteAddr implements net.Conn; nil when it is not known any more.
func (c *SCTPConn) RemoteAddr() net.Addr { return netAddr(c.assoc.remoteAddr()) }

// SCTPLocalAddr gives the local addresses; the association id counts only on one-to-many sockets.
func (c *SCTPConn) SCTPLocalAddr(int) (*SCTPAddr, error) { return c.assoc.localAddr() }

// SCTPRemoteAddr gives the peer's addresses; the association id counts only on one-to-many sockets.
func (c *SCTPConn) SCTPRemoteAddr(int) (*SCTPAddr, error) { return c.assoc.remoteAddr() }

// netAddr keeps a nil *SCTPAddr from becoming a net.Addr that is not nil.
func netAddr(a *SCTPAddr, err error) net.Addr {
	if err != nil || a == nil {
		return nil
	}
	return a
}
