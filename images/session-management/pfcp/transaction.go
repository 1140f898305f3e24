package pfcp

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// transaction is a request of ours until it is answered or given up (TS 29.244 6.4).
type transaction struct {
	sequence uint32
	serial   uint64 // in the order in which they began
	to       netip.AddrPort
	unit     *unit
	kind     uint8 // message type
	cpSEID   uint64
	b        []byte
	sent     int
	began    time.Time
	timer    *timer
	owed     bool // somebody outside waits for its end
	// done is called once: with an answer and its octets, or with an error.
	done func(m *wire.Message, raw []byte, err error)
}

var (
	// ErrClosed: the endpoint was closed.
	ErrClosed = errors.New("the N4 endpoint is closed")

	errSilence = errors.New("no answer")
	errVersion = errors.New("it does not speak version 1 of PFCP")
)

// begin sends a request and repeats it until it is answered. b is the whole message, its sequence number is filled in.
func (e *Endpoint) begin(u *unit, kind uint8, b []byte, done func(*wire.Message, []byte, error)) *transaction {
	for e.transactions[e.sequence] != nil {
		e.sequence = (e.sequence + 1) & 0xffffff
	}
	e.serial++
	t := &transaction{sequence: e.sequence, serial: e.serial, to: u.Address, unit: u, kind: kind, b: b, began: e.cfg.Clock(), done: done}
	e.sequence = (e.sequence + 1) & 0xffffff
	at := 4
	if b[0]&1 != 0 {
		at += 8
	}
	b[at], b[at+1], b[at+2] = byte(t.sequence>>16), byte(t.sequence>>8), byte(t.sequence)
	e.transactions[t.sequence] = t
	e.transmit(t)
	return t
}

// ask begins a node-related request.
func (e *Endpoint) ask(u *unit, kind uint8, ies []*ie.IE, done func(*wire.Message, error)) *transaction {
	b, err := wire.Marshal(kind, nil, 0, ies)
	if err != nil { // of IEs that are made in this package
		e.cfg.Log.Error("a PFCP message cannot be built", "message", wire.TypeName(kind), "err", err)
		b, _ = wire.Marshal(kind, nil, 0, nil)
	}
	return e.begin(u, kind, b, func(m *wire.Message, _ []byte, err error) { done(m, err) })
}

func (e *Endpoint) transmit(t *transaction) {
	t.sent++
	name := wire.TypeName(t.kind)
	if t.sent > 1 {
		e.cfg.Metrics.retransmissions.WithLabelValues("out", name).Inc()
	}
	e.cfg.Metrics.message("out", t.kind, "")
	e.send(t.to, t.b)
	if t.sent > 1 {
		e.watch(Watched{CPSEID: t.cpSEID, Sent: true, Again: true, Peer: t.to, Octets: t.b}, t.kind)
	}
	every, most := e.repeats(t)
	t.timer = e.after(every, func() {
		if t.sent < most {
			if t.cpSEID != 0 {
				t.unit.slower(e)
			}
			e.transmit(t)
			return
		}
		delete(e.transactions, t.sequence)
		e.cfg.Metrics.unanswered.WithLabelValues(name).Inc()
		t.done(nil, nil, errSilence)
	})
}

// repeats says how often a request is sent, and how far apart: N1 times and T1, or in the same time as often as it takes to find a unit that others wait for
// soon after it is back.
func (e *Endpoint) repeats(t *transaction) (every time.Duration, most int) {
	switch t.kind {
	case message.MsgTypeHeartbeatRequest, message.MsgTypeAssociationSetupRequest, message.MsgTypeAssociationUpdateRequest:
		if t.unit.restores() {
			return e.cfg.T1 / looksInT1, e.cfg.N1 * looksInT1
		}
	}
	return e.cfg.T1, e.cfg.N1
}

// looksInT1 is how often in T1 a unit is looked at that does not answer, and whose sessions are to be made again.
const looksInT1 = 5

// abandon ends a transaction without a word: its answer, if there is one, is of no use any more.
func (e *Endpoint) abandon(t *transaction) {
	if t != nil && e.transactions[t.sequence] == t {
		delete(e.transactions, t.sequence)
		e.timers.stop(t.timer)
	}
}

// answered finds the request that a message answers. An answer is taken from where the request went to, and once.
func (e *Endpoint) answered(m *wire.Message, raw []byte, malformed error) {
	t := e.transactions[m.Sequence]
	version := m.Type == message.MsgTypeVersionNotSupportedResponse
	switch {
	case !version && wire.TypeName(m.Type) == "other":
		e.drop("unknown_message")
		return
	case t == nil || m.Type != t.kind+1 && !version:
		e.drop("no_request") // a second answer, or one that is too late
		return
	case m.From != t.to:
		e.drop("stranger")
		return
	}
	cause, causeErr := causeIn(m)
	if malformed == nil && t.cpSEID != 0 && !version {
		if causeErr != nil {
			malformed = causeErr
		} else if cause == ie.CauseRequestAccepted && (!m.HasSEID || m.SEID != t.cpSEID) {
			malformed = fmt.Errorf("its header has SEID %#x, the request's CP SEID is %#x", m.SEID, t.cpSEID)
		} // TS 29.244 7.2.2.4.2: a refusal may have 0
	}
	delete(e.transactions, t.sequence)
	e.timers.stop(t.timer)
	name := ""
	if causeErr == nil && malformed == nil {
		name = wire.CauseName(cause)
	}
	e.cfg.Metrics.message("in", m.Type, name)
	e.cfg.Metrics.roundTrip.WithLabelValues(wire.TypeName(t.kind)).Observe(m.Received.Sub(t.began).Seconds())
	e.watch(Watched{CPSEID: t.cpSEID, Peer: m.From, Cause: name, Octets: raw}, m.Type)
	t.unit.missed = 0
	switch {
	case version:
		t.done(nil, nil, errVersion)
	case malformed != nil:
		e.drop("malformed_answer")
		t.done(nil, nil, fmt.Errorf("an answer that cannot be read: %w", malformed))
	default:
		t.done(m, raw, nil)
	}
}
