package dataplane

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
)

// GrantAlways is a grant without an end.
const GrantAlways = time.Duration(-1)

// Grant lets a upf-u with redundancy answer and forward in an epoch until a time of CLOCK_BOOTTIME; 0: it is silent at once, and that is so
// when the transaction is answered.
func (t *Batch) Grant(epoch uint64, until time.Duration) {
	g := abi.Grant{Epoch: epoch, UntilNs: uint64(until)}
	if until == GrantAlways {
		g.UntilNs = abi.GrantAlways
	}
	add(t, g, abi.RecGrant)
}

// Forward lets it forward in an epoch until then, and say nothing of its addresses: that is so when the transaction is answered.
func (t *Batch) Forward(epoch uint64, until time.Duration) {
	add(t, abi.Grant{Epoch: epoch, UntilNs: uint64(until), Flags: abi.GrantForward}, abi.RecGrant)
}

// Line has upf-u hold a connection open for as long as it lives, in place of the one before.
func (c *Conn) Line(raw syscall.RawConn) error {
	if c.peer != nil {
		return errors.New("a upf-u in this process holds no connections")
	}
	answer := make(chan shown, 1)
	c.mu.Lock()
	c.seq++
	seq := c.seq
	c.mu.Unlock()
	c.shows.Store(seq, answer)
	defer c.shows.Delete(seq)
	var failed error
	if err := raw.Control(func(fd uintptr) {
		c.write.Lock()
		defer c.write.Unlock()
		_, _, failed = c.c.WriteMsgUnix(NewBatch().finish(abi.OpLine, seq), unix.UnixRights(int(fd)), nil)
	}); err != nil {
		return fmt.Errorf("the line is closed: %w", err)
	}
	if failed != nil {
		c.Abandon()
		return ErrLost
	}
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	select {
	case a := <-answer:
		return a.err
	case <-c.done:
		return ErrLost
	case <-timer.C:
		c.Abandon()
		return fmt.Errorf("upf-u does not answer: %w", ErrLost)
	}
}
