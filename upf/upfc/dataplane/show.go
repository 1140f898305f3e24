package dataplane

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
)

// What humans ask upf-u: a session as it is compiled, and the way of packets.

// shown is the answer to a SHOW.
type shown struct {
	text []byte
	err  error
}

// Show is a session as upf-u has it, in JSON of upf-u's making.
func (c *Conn) Show(index uint32) ([]byte, error) {
	answer := make(chan shown, 1)
	c.mu.Lock()
	c.seq++
	seq := c.seq
	c.mu.Unlock()
	c.shows.Store(seq, answer)
	defer c.shows.Delete(seq)
	t := NewBatch()
	add(t, abi.SessionRef{Session: index}, 0)
	if err := c.send(t.finish(abi.OpShow, seq)); err != nil {
		return nil, err
	}
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	select {
	case a := <-answer:
		return a.text, a.err
	case <-c.done:
		return nil, ErrLost
	case <-timer.C: // nothing hangs on it, so the connection stays
		return nil, errors.New("upf-u does not answer")
	}
}

// answerShow takes a SHOW, or an ANSWER to one; false when nobody waits for it.
func (c *Conn) answerShow(m abi.Msg, body []byte) bool {
	v, ok := c.shows.LoadAndDelete(m.Seq)
	if !ok {
		return false
	}
	a := shown{text: append([]byte(nil), body...)}
	if m.Status != 0 {
		a = shown{err: syscall.Errno(m.Status)}
	}
	v.(chan shown) <- a
	return true
}

// Trace has packets reported, or ends that (no flags).
func (t *Batch) Trace(o abi.Trace) { add(t, o, abi.RecTrace) }

// traceEvent reads an EV_TRACE record; the octets are the reader's.
func traceEvent(r []byte) (abi.EvTrace, []byte, error) {
	e, err := abi.Read[abi.EvTrace](r)
	if err != nil {
		return e, nil, err
	}
	octets := r[unsafe.Sizeof(e):]
	if int(e.Captured) > len(octets) {
		return e, nil, fmt.Errorf("%w: %d octets of a packet", errRecordLength, e.Captured)
	}
	return e, octets[:e.Captured], nil
}
