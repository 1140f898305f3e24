package pfcp

import (
	"errors"
	"fmt"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Kind of a session request.
type Kind uint8

// The kinds (TS 29.244 7.5.2, 7.5.4, 7.5.6).
const (
	Establishment Kind = Kind(message.MsgTypeSessionEstablishmentRequest)
	Modification  Kind = Kind(message.MsgTypeSessionModificationRequest)
	Deletion      Kind = Kind(message.MsgTypeSessionDeletionRequest)
)

func (k Kind) String() string { return wire.TypeName(uint8(k)) }

// Request is one for a session. Requests for the same session are not ordered among each other: whoever wants that waits
// for the first one's outcome.
type Request struct {
	// Unit is the Node ID.
	Unit     string
	Kind     Kind
	Priority Priority
	// CPSEID is our name of the session, UPSEID the unit's (0 in an Establishment).
	CPSEID, UPSEID uint64
	// IEs of the message but Node ID and CP F-SEID, which an Establishment is given, and a Modification with TakeOver: the
	// session was another shard's (TS 29.244 5.22.3).
	IEs      []*ie.IE
	TakeOver bool
}

// Outcome is what became of a request.
type Outcome struct {
	// Answer of the unit: a *message.SessionEstablishmentResponse, …ModificationResponse or …DeletionResponse; nil without one.
	Answer message.Message
	// Usage are the Usage Reports in it, and MoreUsage how many follow in Session Reports.
	Usage     []Usage
	MoreUsage int
	// Err: nil where the unit has accepted, *RefusedError where its answer does not, *NoAnswerError, *NotSentError.
	Err error
}

// NoAnswerError: the request was sent, and nobody knows what became of it. The unit may still carry it out.
type NoAnswerError struct {
	Unit string
	Kind Kind
	Err  error
}

func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("%s to the UP function %s: %v", e.Kind, e.Unit, e.Err)
}

func (e *NoAnswerError) Unwrap() error { return e.Err }

// NotSentError: the request never left.
type NotSentError struct {
	Unit string
	Kind Kind
	Err  error
}

func (e *NotSentError) Error() string {
	return fmt.Sprintf("%s was not sent to the UP function %s: %v", e.Kind, e.Unit, e.Err)
}

func (e *NotSentError) Unwrap() error { return e.Err }

// Why a request may not be sent, beside what kept the unit from being met.
var (
	ErrUnknownUnit = errors.New("no such unit")
	ErrAway        = errors.New("the unit cannot be reached")
	ErrLeaving     = errors.New("the unit is being released")
)

// job is a request that waits, as it will be sent.
type job struct {
	kind   Kind
	cpSEID uint64
	b      []byte
	done   func(Outcome)
}

// Do has a unit asked. done is called once, with what became of it, and never before Do has returned: what cannot be sent
// is due at once, for Tick.
func (e *Endpoint) Do(r Request, done func(Outcome)) {
	defer e.leave()
	j := &job{kind: r.Kind, cpSEID: r.CPSEID, done: done}
	u := e.units[nodeName(r.Unit)]
	var err error
	switch {
	case e.closed:
		err = ErrClosed
	case u == nil:
		err = ErrUnknownUnit
	case u.state == Away:
		err = ErrAway
	case u.state == Leaving && r.Kind == Establishment:
		err = ErrLeaving
	case u.state == Leaving && u.current != nil:
		err = ErrLeaving
	case u.waiting() >= e.cfg.Queue:
		err = errFull
	case r.Priority >= priorities:
		err = fmt.Errorf("there is no priority %d", r.Priority)
	default:
		j.b, err = e.sessionMessage(u, r)
	}
	if err != nil {
		e.soon(func() { e.notSent(j, r.Unit, err) })
		return
	}
	u.lists[r.Priority].put(j)
	u.pump(e)
}

func (e *Endpoint) sessionMessage(u *unit, r Request) ([]byte, error) {
	if r.CPSEID == 0 {
		return nil, errors.New("the session has no CP SEID")
	}
	ies := r.IEs
	switch r.Kind {
	case Establishment:
		ies = append([]*ie.IE{e.node(u), e.fseid(u, r.CPSEID)}, ies...)
	case Modification:
		if r.TakeOver {
			ies = append([]*ie.IE{e.node(u), e.fseid(u, r.CPSEID)}, ies...)
		}
	case Deletion:
	default:
		return nil, fmt.Errorf("message type %d is no request for a session", r.Kind)
	}
	if (r.Kind == Establishment) != (r.UPSEID == 0) {
		return nil, fmt.Errorf("UP SEID %#x in a %s: it is 0 in an Establishment, and only there", r.UPSEID, r.Kind)
	}
	return wire.Marshal(uint8(r.Kind), &r.UPSEID, 0, ies)
}

// soon has it told that something could not be sent.
func (e *Endpoint) soon(f func()) {
	if e.unsent = append(e.unsent, f); len(e.unsent) == 1 {
		e.after(0, e.tellUnsent)
	}
}

// tellUnsent tells what could not be sent.
func (e *Endpoint) tellUnsent() {
	list := e.unsent
	e.unsent = nil
	for _, f := range list {
		f()
	}
}

func (e *Endpoint) notSent(j *job, unit string, why error) {
	e.cfg.Metrics.notSent.WithLabelValues(j.kind.String()).Inc()
	e.call(func() { j.done(Outcome{Err: &NotSentError{Unit: unit, Kind: j.kind, Err: why}}) })
}

func (e *Endpoint) sendSession(u *unit, j *job) {
	t := e.begin(u, uint8(j.kind), j.b, func(m *wire.Message, raw []byte, err error) {
		u.underWay--
		if m != nil && !e.closed && !u.removed {
			e.hear(u, m)
		}
		o, lost := e.outcome(u, j.kind, m, raw, err)
		e.call(func() { j.done(o) })
		switch {
		case e.closed || u.removed:
			return
		case errors.Is(err, errSilence):
			u.slower(e)
			e.beat(u) // is it still there?
		case lost:
			e.lost(u)
		case m != nil && congested(m):
			u.slower(e)
		default:
			u.faster(e)
		}
		u.pump(e)
	})
	t.cpSEID, t.owed = j.cpSEID, true
	e.watch(Watched{CPSEID: t.cpSEID, Sent: true, Peer: t.to, Octets: t.b}, t.kind)
}

func congested(m *wire.Message) bool {
	c, err := causeIn(m)
	return err == nil && c == ie.CausePFCPEntityInCongestion
}

// outcome reads an answer; lost: the unit says that there is no association.
func (e *Endpoint) outcome(u *unit, kind Kind, m *wire.Message, raw []byte, err error) (o Outcome, lost bool) {
	if err == nil {
		o.Answer, err = message.Parse(raw)
	}
	if err == nil {
		o.Usage, o.MoreUsage, err = usageIn(m)
	}
	if err != nil {
		o = Outcome{Err: &NoAnswerError{Unit: u.NodeID, Kind: kind, Err: err}}
		if errors.Is(err, errVersion) {
			o.Err = &NotSentError{Unit: u.NodeID, Kind: kind, Err: err} // it cannot have been read
		}
		return o, false
	}
	o.Err = refusal(m)
	var r *RefusedError
	return o, errors.As(o.Err, &r) && r.Cause == ie.CauseNoEstablishedPFCPAssociation
}
