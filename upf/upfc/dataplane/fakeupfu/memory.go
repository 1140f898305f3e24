package fakeupfu

import (
	"errors"
	"log/slog"
	"time"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
)

// Options of one that is in memory alone.
type Options struct {
	Sessions uint32           // that it can hold, at most SessionsMax
	Pairs    uint32           // of slots
	Networks []string         // instances of its N6; nil: one for all
	Of       []Network        // them with their NAT44; nil: Networks
	Boot     uint64           // its boot id, another one for each life
	Now      func() time.Time // stamps packets
	// Takes: every transaction is taken, and nothing is kept of it. It is for measuring what upf-c does.
	Takes bool
	// Before and After are called around each transaction, when they are not nil. An error is its death: before, the
	// transaction has not happened; after, it has, and nobody is told.
	Before, After func() error
}

// Memory is a stand-in without sockets: Dial connects to it by calls.
type Memory struct {
	*UPFU
	o    Options
	dead bool
}

// InMemory is a upf-u that was just started.
func InMemory(o Options) *Memory {
	u := born(o.Boot, o.Sessions, o.Pairs)
	if u.networks = named(o.Networks); o.Of != nil {
		u.networks = o.Of
	}
	start := o.Now()
	u.hz, u.clock = uint64(time.Second), func() uint64 { return uint64(o.Now().Sub(start)) }
	octets := make([]uint64, u.layout.size/8) // aligned as the tables want it
	u.mem = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(octets))), u.layout.size)
	u.lay()
	return &Memory{UPFU: u, o: o}
}

// errDead: there is nobody.
var errDead = errors.New("upf-u is dead")

// calls is a connection to the upf-c of this process.
type calls struct {
	u       *Memory
	conn    *dataplane.Conn // nil until it is there
	answers [][]byte
	asked   bool // it is being asked, and what it writes is for who asks
	yes     [1]abi.Msg
}

// Dial connects, as dataplane.Dial does. Another connection that there was has ended.
func (u *Memory) Dial(events dataplane.Events, log *slog.Logger) (*dataplane.Conn, error) {
	if u.dead {
		return nil, errDead
	}
	u.Disconnect()
	c := &calls{u: u}
	u.mu.Lock()
	u.conn, u.ready = c, false
	u.mu.Unlock()
	conn, err := dataplane.Attach(c, events, log)
	if err != nil {
		return nil, err
	}
	c.conn = conn
	return conn, nil
}

// Kill ends it.
func (u *Memory) Kill() {
	u.dead = true
	u.UPFU.Kill()
}

// Handle is what upf-u does with a datagram.
func (c *calls) Handle(datagram []byte) ([][]byte, error) {
	m, err := abi.Read[abi.Msg](datagram)
	if err != nil {
		return nil, err
	}
	if c.u.dead {
		return nil, errDead
	}
	fault := func(f func() error) error {
		if f == nil || m.Op != abi.OpTransaction {
			return nil
		}
		return f()
	}
	if err := fault(c.u.o.Before); err != nil || c.u.dead {
		return nil, errors.Join(errDead, err)
	}
	if c.u.o.Takes && m.Op == abi.OpTransaction {
		return c.take(m.Seq), nil
	}
	c.asked, c.answers = true, nil
	err = c.u.handle(c, datagram)
	c.asked = false
	if err == nil {
		err = fault(c.u.o.After)
	}
	if err != nil || c.u.dead {
		return nil, errors.Join(errDead, err)
	}
	return c.answers, nil
}

// take says yes, with the octets that said so the last time.
func (c *calls) take(seq uint32) [][]byte {
	c.yes[0] = abi.Msg{Magic: abi.AbiMagic, Version: abi.AbiVersion, Op: abi.OpAnswer, Seq: seq, Length: uint32(unsafe.Sizeof(c.yes[0]))}
	c.answers = append(c.answers[:0], abi.Bytes(c.yes[:]))
	return c.answers
}

// Memory is what upf-c maps otherwise.
func (c *calls) Memory() ([]byte, func() uint64) { return c.u.mem, c.u.clock }

// Write is upf-u's.
func (c *calls) Write(datagram []byte) (int, error) {
	if c.asked || c.conn == nil {
		c.answers = append(c.answers, append([]byte(nil), datagram...))
	} else if !c.conn.Receive(datagram) {
		return 0, errors.New("upf-c does not listen any more")
	}
	return len(datagram), nil
}

// Close is upf-u's.
func (c *calls) Close() error {
	if c.conn != nil {
		c.conn.Abandon()
	}
	return nil
}

func (c *calls) greet(datagram []byte) error {
	_, err := c.Write(datagram)
	return err
}
