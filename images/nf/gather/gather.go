// Package gather has what is written to a connection in quick succession leave in one system call.
//
// HTTP/2 of net/http writes the headers of a message and its content apart, each as soon as it is there: four system calls for a request and its answer, and
// as many packets, each of which wakes who reads. Here a write is done when its octets are kept, and a goroutine of the connection, which lets all that can
// run go first, sends what has come by then: headers and content, and what others have written meanwhile. TLS is above it, with a record for each write.
package gather

import (
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	// most octets are kept for a peer that takes none; a write waits for room behind them.
	most = 256 << 10
	// kept is the room of a connection that is used again.
	kept = 16 << 10
	// leaving is how long what was written may take to leave a connection that is closed.
	leaving = 250 * time.Millisecond
)

// Conn is the connection c, gathered. What Write takes is sent before Close returns, but where the peer takes nothing for 250 ms, or Close is called a second
// time. That a write has failed, or has passed its deadline, the next one says, and all after it.
func Conn(c net.Conn) net.Conn {
	g := &conn{Conn: c, there: make(chan struct{}, 1), ended: make(chan struct{})}
	g.room.L = &g.mu
	go g.send()
	return g
}

// Listener has gathered connections.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Conn(c), nil
}

// Dialer has gathered connections.
func Dialer(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return Conn(c), nil
	}
}

type conn struct {
	net.Conn
	there chan struct{} // there is something to send, or an end
	ended chan struct{} // the sender has

	mu       sync.Mutex
	room     sync.Cond
	waiting  []byte
	err      error // of a write that has failed, or net.ErrClosed
	deadline time.Time
	expiry   *time.Timer
}

// Write keeps the octets. It waits while there are too many, until the write deadline.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.err != nil:
			return 0, c.err
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(c.waiting) == 0 || len(c.waiting)+len(b) <= most:
			c.waiting = append(c.waiting, b...)
			c.tell()
			return len(b), nil
		}
		c.room.Wait()
	}
}

func (c *conn) tell() {
	select {
	case c.there <- struct{}{}:
	default:
	}
}

// send what is there, until the connection is closed or fails.
func (c *conn) send() {
	defer close(c.ended)
	var sent []byte
	for range c.there {
		runtime.Gosched() // behind all that can run: it may write, too
		c.mu.Lock()
		octets, closed := c.waiting, c.err != nil
		c.waiting = sent[:0]
		c.room.Broadcast()
		c.mu.Unlock()
		var err error
		if len(octets) > 0 {
			_, err = c.Conn.Write(octets)
		}
		if sent = octets; cap(sent) > kept {
			sent = nil
		}
		if err != nil {
			c.fail(err)
		}
		if closed || err != nil {
			return
		}
	}
}

// fail has writes end with the error, unless they have ended with another.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err, c.waiting = err, nil
	}
	c.room.Broadcast()
}

// Close sends what is there and closes the connection; at once when it is called again.
func (c *conn) Close() error {
	c.mu.Lock()
	again := c.err == net.ErrClosed
	if !again {
		c.err = net.ErrClosed
		c.setDeadline(time.Now().Add(leaving))
	}
	c.room.Broadcast()
	c.tell()
	c.mu.Unlock()
	if !again {
		<-c.ended
	}
	return c.Conn.Close()
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetWriteDeadline implements net.Conn: of what leaves, and of writes that wait for room.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == net.ErrClosed {
		return net.ErrClosed
	}
	return c.setDeadline(t)
}

func (c *conn) setDeadline(t time.Time) error {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	if c.deadline = t; !t.IsZero() {
		c.expiry = time.AfterFunc(time.Until(t), c.room.Broadcast)
		if now := time.Now(); !t.After(now) { // nothing is to be written any more, as TLS says at its end: what was leaves, all the same
			t = now.Add(leaving)
		}
	}
	return c.Conn.SetWriteDeadline(t)
}
