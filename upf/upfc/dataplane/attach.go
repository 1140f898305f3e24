package dataplane

import (
	"fmt"
	"log/slog"
	"syscall"

	"core5g.dev/core5g/upf/abi"
)

// A upf-u in the same process is asked by calls instead of datagrams: what it answers is there when the call returns,
// and no goroutine stands between. It is for simulations.

// Peer is a upf-u in this process.
type Peer interface {
	// Handle takes a datagram and returns those that it causes, which are the caller's. An error: it is dead.
	Handle(datagram []byte) ([][]byte, error)
	// Memory is what upf-u shares, laid out as struct upf_shm says, and the clock by which it stamps packets.
	Memory() (mem []byte, clock func() uint64)
}

// Attach is Dial to a Peer. Its datagrams that answer nothing are given to Receive.
func Attach(p Peer, events Events, log *slog.Logger) (*Conn, error) {
	c := &Conn{peer: p, events: events, log: log, done: make(chan struct{}), groups: map[uint32]*group{}}
	c.work.L = &c.mu
	answers, err := p.Handle(NewBatch().finish(abi.OpHello, 0))
	if err != nil {
		return nil, err
	}
	if len(answers) != 1 {
		return nil, fmt.Errorf("HELLO: %d answers", len(answers))
	}
	m, body, err := open(answers[0])
	if err == nil && m.Op != abi.OpHello {
		err = fmt.Errorf("answered with op %d", m.Op)
	}
	if err == nil {
		c.hello, err = abi.Read[abi.Hello](body)
	}
	if err == nil {
		mem, clock := p.Memory()
		if c.shm, err = shmIn(mem); err == nil {
			c.shm.clock, c.shm.ours = clock, true
		}
	}
	if err != nil {
		return nil, fmt.Errorf("HELLO: %w", err)
	}
	return c, nil
}

// Receive takes a datagram that upf-u sends on its own, and says whether anybody was there to take it.
func (c *Conn) Receive(datagram []byte) bool {
	if c.Lost() {
		return false
	}
	m, body, err := open(datagram)
	if err == nil {
		err = c.dispatch(m, body)
	}
	if err != nil {
		c.log.Error("datagram of upf-u cannot be read, connection given up", "err", err)
		c.Abandon()
		return false
	}
	return true
}

// hangUp ends the connection: upf-u is gone, or nobody wants it any more.
func (c *Conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed, c.err = true, ErrLost
		close(c.done)
	}
}

// exchange hands over a datagram and takes what comes back: to answer what it is given for, the rest to dispatch.
func (c *Conn) exchange(b []byte, answer func(m abi.Msg) bool) error {
	if c.Lost() {
		return ErrLost
	}
	back, err := c.peer.Handle(b)
	if err != nil {
		c.Abandon()
		return ErrLost
	}
	for _, d := range back {
		m, body, err := open(d)
		if err == nil && (answer == nil || !answer(m)) {
			err = c.dispatch(m, body)
		}
		if err != nil {
			c.log.Error("datagram of upf-u cannot be read, connection given up", "err", err)
			c.Abandon()
			return ErrLost
		}
	}
	return nil
}

// transactHere is Transact with a Peer.
func (c *Conn) transactHere(t *Batch) error {
	defer t.reuse()
	c.mu.Lock()
	c.seq++
	seq := c.seq
	c.mu.Unlock()
	result := error(ErrLost) // unless it is answered
	err := c.exchange(t.finish(abi.OpTransaction, seq), func(m abi.Msg) bool {
		if m.Op != abi.OpAnswer || m.Seq != seq {
			return false
		}
		if result = nil; m.Status != 0 {
			result = &Refused{Errno: syscall.Errno(m.Status), Record: m.Record, Refusal: m.Refusal, Holder: m.Records}
		}
		return true
	})
	if err != nil {
		return err
	}
	if result == ErrLost {
		c.Abandon() // it was silent, and nobody waits here
	}
	return result
}
