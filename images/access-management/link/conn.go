package link

import (
	"bufio"
	"cmp"
	"errors"
	"net"
	"sync"
	"time"
)

// PingEvery is how often a peer hears something, SilentFor how long it may hear nothing before it takes the other for dead.
const (
	PingEvery = 500 * time.Millisecond
	SilentFor = 3 * time.Second
)

// mostWaiting bounds the octets that wait for a peer that does not read.
const mostWaiting = 64 << 20

// Errors of a connection's end.
var (
	ErrSlow   = errors.New("the peer does not read what it is sent")
	ErrClosed = errors.New("closed")
)

// Conn is one end of a connection. Post may be called from anywhere.
type Conn struct {
	c net.Conn
	// pingEvery and silentFor are the constants, but in tests.
	pingEvery, silentFor time.Duration

	mu      sync.Mutex
	waiting []byte
	end     error         // why it has ended, nil: it has not
	wake    chan struct{} // holds one when something waits
	over    chan struct{}
}

// NewConn on a connection, which it closes in the end. Run serves it.
func NewConn(c net.Conn) *Conn {
	return &Conn{c: c, pingEvery: PingEvery, silentFor: SilentFor, wake: make(chan struct{}, 1), over: make(chan struct{})}
}

// Run hands every frame to take, one after the other, until the connection ends; it says why.
func (c *Conn) Run(take func(Frame) error) error {
	var writer sync.WaitGroup
	writer.Go(c.write)
	c.close(c.read(take))
	writer.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

func (c *Conn) read(take func(Frame) error) error {
	r := bufio.NewReaderSize(c.c, 64<<10)
	for {
		if err := c.c.SetReadDeadline(time.Now().Add(c.silentFor)); err != nil {
			return err
		}
		f, err := Read(r)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if err := take(f); err != nil {
			return err
		}
	}
}

// write what waits, all of it at once, and pings where nothing does.
func (c *Conn) write() {
	ping := time.NewTicker(c.pingEvery)
	defer ping.Stop()
	var out []byte
	for {
		select {
		case <-c.over:
			return
		case <-c.wake:
		case <-ping.C:
			_ = c.append(nil)
		}
		c.mu.Lock()
		out, c.waiting = c.waiting, out[:0]
		c.mu.Unlock()
		if len(out) == 0 {
			continue
		}
		if err := c.c.SetWriteDeadline(time.Now().Add(c.silentFor)); err != nil {
			c.close(err)
			return
		}
		if _, err := c.c.Write(out); err != nil {
			c.close(err)
			return
		}
	}
}

// Post a frame. It does not wait; where the peer reads nothing the connection ends.
func (c *Conn) Post(f Frame) error {
	if err := c.append(f); err != nil {
		return err
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

func (c *Conn) append(f Frame) error {
	c.mu.Lock()
	if c.end != nil {
		defer c.mu.Unlock()
		return c.end
	}
	waiting, err := Append(c.waiting, f)
	slow := err == nil && len(waiting) > mostWaiting
	if err == nil && !slow {
		c.waiting = waiting
	}
	c.mu.Unlock()
	if slow {
		c.close(ErrSlow)
		return ErrSlow
	}
	return err
}

// Close ends the connection. It does not wait.
func (c *Conn) Close() { c.close(ErrClosed) }

// close the connection, beside: TLS says so to the peer first, and may wait seconds for one that is gone, while whoever posts has locks.
func (c *Conn) close(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return
	}
	c.end = cmp.Or(why, ErrClosed)
	close(c.over)
	go func() { _ = c.c.Close() }()
}
