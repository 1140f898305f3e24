package pfcp

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"net/netip"
	"time"

	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// Requests of units. Each is handed on once and answered once; its repetitions get the same answer, or none while it is
// not answered (TS 29.244 6.4). upf-c keeps its answers in another way, for 50,000 requests a second, over a clock of the
// kernel's; here there are few, and all of it follows from the datagrams and the time.

// incoming is what is known of requests that came: a list, the oldest first, and two ways to find one.
type incoming struct {
	byName  map[requestName]*received
	byToken map[Token]*received
	list    []*received
	octets  int // of answers
	last    Token
}

// requestName tells requests apart. A sequence number that comes back with another content is a new request: peers that
// restarted begin anew.
type requestName struct {
	from     netip.AddrPort
	sequence uint32
	digest   uint64
}

// received is a request that came.
type received struct {
	name   requestName
	m      *wire.Message // of a report that is not answered; else nil
	token  Token
	at     time.Time
	answer []byte // nil while there is none
	gone   bool   // from the maps
}

func newIncoming() incoming {
	return incoming{byName: map[requestName]*received{}, byToken: map[Token]*received{}}
}

// ErrStale: the request is not known any more, or was answered; the unit will repeat it if it needs an answer.
var ErrStale = errors.New("the request is not known any more")

func (in *incoming) forget(r *received) {
	if r.gone {
		return
	}
	r.gone = true
	in.octets -= len(r.answer)
	r.answer, r.m = nil, nil
	delete(in.byName, r.name)
	delete(in.byToken, r.token)
}

// listMax is how many requests are known at most.
const listMax = 1 << 16

// trim forgets what is too old, and the oldest while there is too much.
func (in *incoming) trim(now time.Time, keep time.Duration, octets int) {
	for len(in.list) > 0 {
		r := in.list[0]
		if !r.gone && now.Sub(r.at) <= keep && in.octets <= octets && len(in.list) <= listMax {
			return
		}
		in.forget(r)
		in.list[0] = nil
		in.list = in.list[1:]
	}
}

// requested takes a request of a unit's.
func (e *Endpoint) requested(m *wire.Message, raw, payload []byte) {
	name := wire.TypeName(m.Type)
	e.cfg.Metrics.message("in", m.Type, "")
	e.watch(Watched{CPSEID: m.SEID, Peer: m.From, Octets: raw}, m.Type)
	var err error
	if m.Type == message.MsgTypeHeartbeatRequest { // it changes nothing, so nothing is kept of it
		if m.Elements, err = wire.ParseElements(payload); err != nil {
			e.drop("malformed")
			return
		}
		e.heartbeat(m)
		return
	}
	e.incoming.trim(m.Received, e.cfg.Keep, e.cfg.AnswersMax)
	r := &received{name: requestName{from: m.From, sequence: m.Sequence, digest: digest(raw)}, at: m.Received}
	if was := e.incoming.byName[r.name]; was != nil {
		e.cfg.Metrics.retransmissions.WithLabelValues("in", name).Inc()
		if was.answer != nil {
			e.cfg.Metrics.message("out", m.Type+1, "")
			e.send(m.From, was.answer)
		}
		return
	}
	if m.Elements, err = wire.ParseElements(payload); err == nil {
		err = e.execute(m, r)
	}
	if err != nil {
		e.refuse(m, r, err)
	}
}

func digest(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// keep notes that a request has come.
func (e *Endpoint) keep(r *received) {
	e.incoming.byName[r.name] = r
	e.incoming.list = append(e.incoming.list, r)
}

// execute does what a request asks for, or hands it on. An error is the answer; errNobody has none.
func (e *Endpoint) execute(m *wire.Message, r *received) error {
	switch m.Type {
	case message.MsgTypeAssociationSetupRequest:
		return e.setUpBy(m, r)
	case message.MsgTypeAssociationUpdateRequest:
		return e.updatedBy(m, r)
	case message.MsgTypeAssociationReleaseRequest:
		return e.releasedBy(m, r)
	case message.MsgTypeNodeReportRequest:
		return e.nodeReport(m, r)
	case message.MsgTypeSessionReportRequest:
		return e.sessionReport(m, r)
	}
	e.drop("unexpected") // a request that only a CP function sends
	return errNobody
}

// errNobody: the sender is nobody whom we know, or it is not the one to ask this. He hears nothing.
var errNobody = errors.New("no answer")

// refuse answers a request with the cause of an error.
func (e *Endpoint) refuse(m *wire.Message, r *received, err error) {
	if errors.Is(err, errNobody) {
		return
	}
	if e.unitAt(m.From) == nil && m.Type != message.MsgTypeAssociationSetupRequest {
		e.drop("stranger")
		return
	}
	var why *wire.Reject
	if !errors.As(err, &why) {
		why = &wire.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	}
	e.cfg.Log.Warn("PFCP request refused", "message", wire.TypeName(m.Type), "from", m.From, "seid", fmt.Sprintf("%#x", m.SEID), "reason", why.Error())
	e.keep(r)
	ies := why.IEs()
	if m.Type < message.MsgTypeSessionEstablishmentRequest {
		ies = append([]*ie.IE{e.node(e.unitAt(m.From))}, ies...)
	}
	e.answer(r, m, 0, ies)
}

// accept answers a node-related request.
func (e *Endpoint) accept(m *wire.Message, r *received, ies ...*ie.IE) {
	e.keep(r)
	e.answer(r, m, 0, append([]*ie.IE{e.node(e.unitAt(m.From)), ie.NewCause(ie.CauseRequestAccepted)}, ies...))
}

// answer answers a request that is kept.
func (e *Endpoint) answer(r *received, m *wire.Message, seid uint64, ies []*ie.IE) {
	r.answer = e.respond(m, &seid, ies...)
	r.m = nil
	e.incoming.octets += len(r.answer)
	e.incoming.trim(e.cfg.Clock(), e.cfg.Keep, e.cfg.AnswersMax)
}

// respond sends the response to a request; seid is that of a session message's header.
func (e *Endpoint) respond(m *wire.Message, seid *uint64, ies ...*ie.IE) []byte {
	if m.Type < message.MsgTypeSessionEstablishmentRequest {
		seid = nil
	}
	b, err := wire.Marshal(m.Type+1, seid, m.Sequence, ies)
	if err != nil {
		e.cfg.Log.Error("a PFCP answer cannot be built", "message", wire.TypeName(m.Type+1), "err", err)
		if b, err = wire.Marshal(m.Type+1, seid, m.Sequence, []*ie.IE{ie.NewCause(ie.CauseSystemFailure)}); err != nil {
			return nil
		}
	}
	cause := ""
	for _, i := range ies {
		if i != nil && i.Type == ie.Cause && len(i.Payload) > 0 {
			cause = wire.CauseName(i.Payload[0])
		}
	}
	e.cfg.Metrics.message("out", m.Type+1, cause)
	e.send(m.From, b)
	e.watch(Watched{CPSEID: m.SEID, Sent: true, Peer: m.From, Cause: cause, Octets: b}, m.Type+1)
	return b
}

// sender is the unit that a node-related request is of, by its Node ID, from an address of the unit's.
func (e *Endpoint) sender(m *wire.Message) (*unit, error) {
	id := m.Elements.First(ie.NodeID)
	if id == nil {
		return nil, wire.Missing(ie.NodeID, wire.TypeName(m.Type))
	}
	name, err := id.NodeID()
	if err != nil {
		return nil, err
	}
	u := e.units[nodeName(name)]
	if u == nil || !u.speaks(m.From.Addr()) {
		e.drop("stranger")
		return nil, errNobody
	}
	return u, nil
}

// setUpBy is an Association Setup that the unit begins (TS 29.244 6.2.6.3).
func (e *Endpoint) setUpBy(m *wire.Message, r *received) error {
	u, err := e.sender(m)
	if errors.Is(err, errNobody) {
		return &wire.Reject{Cause: ie.CauseRequestRejected, Detail: "no UPF unit of this Node ID and address is configured"}
	}
	if err != nil {
		return err
	}
	stamp, err := stampIn(m)
	if err != nil {
		return err
	}
	if u.state == Leaving {
		return &wire.Reject{Cause: ie.CauseRequestRejected, Detail: "the unit is being released"}
	}
	e.accept(m, r, e.cfg.Recovery.element(), cpFeatures())
	e.stop(u)
	e.saw(u, stamp, 0)
	e.isSetUp(u, m, false)
	e.ready(u, Associated{ByUnit: true})
	return nil
}

// updatedBy is an Association Update of the unit's (TS 29.244 6.2.7.3).
func (e *Endpoint) updatedBy(m *wire.Message, r *received) error {
	u, err := e.sender(m)
	if err != nil {
		return err
	}
	var period time.Duration
	wants := false
	if q := m.Elements.First(ie.PFCPAssociationReleaseRequest); q != nil {
		flags, err := q.Uint8()
		if err != nil {
			return err
		}
		wants = flags&0x01 != 0 // SARR
	}
	if g := m.Elements.First(ie.GracefulReleasePeriod); g != nil {
		if period, err = timerOf(g); err != nil {
			return err
		}
	}
	e.accept(m, r, cpFeatures())
	if f := m.Elements.First(ie.UPFunctionFeatures); f != nil {
		if now := featuresOf(f); now != u.features && u.state == Ready {
			u.features = now
			e.tell(FeaturesChanged{Unit: u.NodeID, Features: now})
			if lacks := now.lacks(e.cfg.Required); len(lacks) > 0 {
				e.inVain(u, &UnfitError{Unit: u.NodeID, Lacks: lacks})
			}
		}
	}
	if wants {
		e.tell(ReleaseRequested{Unit: u.NodeID, Period: period})
	}
	return nil
}

// Endless is the Graceful Release Period of a unit that does not hurry.
const Endless = time.Duration(math.MaxInt64)

// timerOf reads a timer (TS 29.244 8.2.78): 5 bits of a number of units.
func timerOf(g *wire.Element) (time.Duration, error) {
	v, err := g.Uint8()
	if err != nil {
		return 0, err
	}
	of := map[uint8]time.Duration{0: 2 * time.Second, 1: time.Minute, 2: 10 * time.Minute, 3: time.Hour, 4: 10 * time.Hour}
	unit, ok := of[v>>5]
	switch {
	case v>>5 == 7:
		return Endless, nil
	case !ok:
		unit = time.Minute
	}
	return unit * time.Duration(v&0x1f), nil
}

// releasedBy is an Association Release of the unit's. No unit should send one, and one that does has dropped its sessions.
func (e *Endpoint) releasedBy(m *wire.Message, r *received) error {
	u, err := e.sender(m)
	if err != nil {
		return err
	}
	e.accept(m, r)
	u.Associated = false
	e.lost(u)
	return nil
}

// handOn keeps a report until it is answered.
func (e *Endpoint) handOn(m *wire.Message, r *received) error {
	if len(e.incoming.byToken) >= e.cfg.ReportsMax {
		e.drop("overload")
		return errNobody
	}
	e.incoming.last++
	r.token, r.m = e.incoming.last, m
	m.Elements = nil // they have been read
	e.incoming.byToken[r.token] = r
	e.keep(r)
	return nil
}

// open finds a report that is not answered.
func (e *Endpoint) open(t Token) (*received, error) {
	e.incoming.trim(e.cfg.Clock(), e.cfg.Keep, e.cfg.AnswersMax)
	r := e.incoming.byToken[t]
	if r == nil {
		return nil, ErrStale
	}
	return r, nil
}

// Silent leaves a report without an answer: its next repetition is handed on as if it were the first.
func (e *Endpoint) Silent(t Token) {
	if r, err := e.open(t); err == nil {
		e.incoming.forget(r)
	}
}

// AnswerNodeReport answers a NodeReport with a cause of TS 29.244 8.2.1.
func (e *Endpoint) AnswerNodeReport(t Token, cause uint8) error {
	defer e.leave()
	r, err := e.open(t)
	if err != nil {
		return err
	}
	if r.m.Type != message.MsgTypeNodeReportRequest {
		return fmt.Errorf("token %d is of a %s", t, wire.TypeName(r.m.Type))
	}
	delete(e.incoming.byToken, t)
	e.answer(r, r.m, 0, []*ie.IE{e.node(e.unitAt(r.m.From)), ie.NewCause(cause)})
	return nil
}

// SessionReportAnswer answers a SessionReport (TS 29.244 7.5.9).
type SessionReportAnswer struct {
	// Cause of TS 29.244 8.2.1, ie.CauseRequestAccepted or another. ie.CauseSessionContextNotFound makes the unit delete the session.
	Cause uint8
	// UPSEID is the unit's name of the session, 0 for one that is not known.
	UPSEID uint64
	// DropBuffered has the unit drop the packets that wait (DROBU).
	DropBuffered bool
	// IEs that the answer has besides, such as Update BAR within PFCP Session Report Response.
	IEs []*ie.IE
}

// srrspDROBU is a bit of PFCPSRRsp-Flags (TS 29.244 8.2.32).
const srrspDROBU = 0x01

// AnswerSessionReport answers a SessionReport.
func (e *Endpoint) AnswerSessionReport(t Token, a SessionReportAnswer) error {
	defer e.leave()
	r, err := e.open(t)
	if err != nil {
		return err
	}
	if r.m.Type != message.MsgTypeSessionReportRequest {
		return fmt.Errorf("token %d is of a %s", t, wire.TypeName(r.m.Type))
	}
	ies := append([]*ie.IE{ie.NewCause(a.Cause)}, a.IEs...)
	if a.DropBuffered {
		ies = append(ies, ie.NewPFCPSRRspFlags(srrspDROBU))
	}
	delete(e.incoming.byToken, t)
	e.answer(r, r.m, a.UPSEID, ies)
	return nil
}
