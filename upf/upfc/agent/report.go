package agent

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

// Usage reports on our own initiative. A report is cut (its octets are then in no other), put into
// the session's outbox and stored in upf-u with the session before it is sent, and leaves the
// outbox when the CP function acknowledges it. So none is lost when upf-c dies, and one that is
// repeated afterwards bears the same UR-SEQN.

const (
	reportsPerMessage = 16
	reportsPerAnswer  = 128 // with some 120 octets each
	outboxMax         = 64  // reports of one session that wait; beyond it usage stays in the meters
	retryAfter        = 10 * time.Second
)

// schedule sets the session's timer to its next deadline. The caller holds s.mu.
func (a *Agent) schedule(s *session) {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	next := s.account().Deadline()
	if next == 0 || s.gone {
		return
	}
	wait := max(time.Until(usage.Time(next)), 0)
	if len(s.Outbox) >= outboxMax {
		wait = max(wait, retryAfter)
	}
	s.timer = time.AfterFunc(wait, func() { a.measure(s) })
}

// measure reports what is due.
func (a *Agent) measure(s *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.serving:
	default:
		return // resume comes back to it
	}
	if s.gone {
		return
	}
	conn := a.current()
	if conn == nil {
		a.postpone(s)
		return
	}
	defer a.schedule(s)
	for range 4 { // what becomes due while it is armed may not be told of any more
		acct := s.account()
		reports := acct.Measure(len(s.Outbox) < outboxMax)
		next := s.Session
		next.Rules, next.Meters = acct.Rules, acct.Meters
		next.Outbox = append(slices.Clone(s.Outbox), reports...)
		p, err := encode(a, s.index, &next)
		if err != nil {
			a.log.Error("session cannot be stored", "seid", hex(s.UPSEID), "err", err)
			return
		}
		t := dataplane.NewBatch()
		t.State(s.index, p.blob)
		for id, m := range next.Meters {
			u := next.Rules.URRs[id]
			t.Arm(m.Arm(u, s.read(u, m.Slot), s.index))
		}
		if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
			a.log.Error("usage not stored", "seid", hex(s.UPSEID), "err", err)
		} // when upf-u was lost, the replay stores it
		s.Session = next
		a.deliver(s)
		if len(s.Outbox) >= outboxMax || conn.Lost() || !s.account().Due() {
			return
		}
	}
}

// postpone notes that a session is to be measured when upf-u is back: what is armed in upf-u and
// what we have reported must not drift apart.
func (a *Agent) postpone(s *session) {
	a.mu.Lock()
	a.postponed[s] = true
	back := a.usableLocked() != nil // it came back meanwhile, and catchUp may have run
	a.mu.Unlock()
	if back {
		go a.catchUp()
	}
}

// catchUp measures what was postponed.
func (a *Agent) catchUp() {
	a.mu.Lock()
	late := a.postponed
	a.postponed = map[*session]bool{}
	a.mu.Unlock()
	for s := range late {
		a.measure(s)
	}
}

// deliver starts the delivery of the outbox. The caller holds s.mu.
func (a *Agent) deliver(s *session) {
	if s.sending || s.gone || len(s.Outbox) == 0 {
		return
	}
	s.sending = true
	go a.deliverAll(s)
}

func (a *Agent) deliverAll(s *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.sending = false }()
	for !s.gone && len(s.Outbox) > 0 {
		n := min(len(s.Outbox), reportsPerMessage)
		ies := s.reportIEs(s.Outbox[:n])
		to, seid := netip.AddrPortFrom(s.CPAddr, pfcp.Port), s.CPSEID
		s.inFlight = n
		s.mu.Unlock()
		err := a.report(to, seid, "usage", ies...)
		s.mu.Lock()
		s.inFlight = 0
		if errors.Is(err, errForgotten) {
			go a.dropForgotten(s, err)
			return
		}
		if err != nil {
			if !s.gone && a.stopping.Err() == nil {
				time.AfterFunc(retryAfter, func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					a.deliver(s)
				})
			}
			return
		}
		if s.gone {
			return
		}
		s.Outbox = slices.Clone(s.Outbox[n:])
		a.store(s)
	}
}

// reportIEs are the IEs of a Session Report Request (TS 29.244 7.5.8).
func (s *session) reportIEs(reports []usage.Report) []*ie.IE {
	inactive, counted := 0, 0
	var ies []*ie.IE
	for i := range reports {
		if reports[i].URR == rules.InactivityURR {
			inactive = 1
			continue
		}
		counted = 1
		ies = append(ies, reports[i].IE(ie.UsageReportWithinSessionReportRequest, s.application(reports[i].URR)))
	}
	return append([]*ie.IE{ie.NewReportType(inactive, 0, counted, 0)}, ies...)
}

// usageReports are the IEs of an answer that carries reports, while more of them follow.
func (s *session) usageReports(reports []usage.Report, more int, ieType uint16) []*ie.IE {
	var ies []*ie.IE
	for i := range reports {
		if reports[i].URR != rules.InactivityURR {
			ies = append(ies, reports[i].IE(ieType, s.application(reports[i].URR)))
		}
	}
	if more > 0 {
		ies = append(ies, usage.Additional(more))
	}
	return ies
}

// application is the Application ID that the PDRs of a URR detect; empty when none does.
func (s *session) application(uint32) string { return "" }

// deliverLast sends what did not fit the answer that ended a session.
func (a *Agent) deliverLast(s *session, reports []usage.Report) {
	to, seid := netip.AddrPortFrom(s.CPAddr, pfcp.Port), s.CPSEID
	var requests [][]*ie.IE
	for part := range slices.Chunk(reports, reportsPerMessage) {
		requests = append(requests, s.reportIEs(part))
	}
	if len(requests) == 0 {
		return
	}
	go func() {
		for _, ies := range requests {
			if a.report(to, seid, "usage", ies...) != nil {
				return
			}
		}
	}()
}

// store writes the session's blob. The caller holds s.mu.
func (a *Agent) store(s *session) {
	conn := a.current()
	if conn == nil {
		return
	}
	p, err := encode(a, s.index, &s.Session)
	if err != nil {
		return
	}
	t := dataplane.NewBatch()
	t.State(s.index, p.blob)
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		a.log.Error("session not stored", "seid", hex(s.UPSEID), "err", err)
	}
}

// report sends a Session Report Request; nil when the CP function has it, whatever it thinks of it,
// unless that it knows no such session.
func (a *Agent) report(to netip.AddrPort, seid uint64, kind string, ies ...*ie.IE) error {
	answer, err := a.server.Request(a.stopping, to, message.MsgTypeSessionReportRequest, &seid, ies...)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.log.Warn("report not acknowledged", "kind", kind, "to", to, "cpSEID", hex(seid), "err", err)
		}
		return err
	}
	a.rec.Report(kind)
	if e := answer.Elements.First(ie.Cause); e != nil {
		if c, err := e.Uint8(); err == nil && c != ie.CauseRequestAccepted {
			a.log.Warn("report refused", "kind", kind, "to", to, "cpSEID", hex(seid), "cause", pfcp.CauseName(c))
			if c == ie.CauseSessionContextNotFound {
				return errForgotten
			}
		}
	}
	return nil
}

// errForgotten: the CP function has no such session. Nobody will ever delete it, and its address
// may soon be another UE's, so it is dropped.
var errForgotten = errors.New("the CP function does not know the session")

func (a *Agent) dropForgotten(s *session, err error) {
	if errors.Is(err, errForgotten) {
		a.drop(s, "forgotten by its cp")
	}
}

// events is the agent as upf-u's events see it. None of the methods blocks.
type events Agent

// URR: an armed volume was reached.
func (e *events) URR(index, _ uint32) {
	a := (*Agent)(e)
	a.mu.Lock()
	s := a.byIndex[index]
	a.mu.Unlock()
	if s != nil {
		go a.measure(s)
	}
}

// DownlinkData: the first packet for a FAR with NOCP; a Downlink Data Report makes the SMF page.
func (e *events) DownlinkData(index uint32, pdr uint16, qfi, _ uint8) {
	a := (*Agent)(e)
	a.mu.Lock()
	s := a.byIndex[index]
	a.mu.Unlock()
	if s != nil {
		go a.notify(s, pdr, qfi)
	}
}

func (a *Agent) notify(s *session, pdr uint16, qfi uint8) {
	s.mu.Lock()
	if s.gone || s.notifying[pdr] || s.Rules.PDRs[pdr] == nil {
		s.mu.Unlock()
		return
	}
	if s.notifying == nil {
		s.notifying = map[uint16]bool{}
	}
	s.notifying[pdr] = true
	to, seid := netip.AddrPortFrom(s.CPAddr, pfcp.Port), s.CPSEID
	s.mu.Unlock()
	<-a.serving
	group := []*ie.IE{ie.NewPDRID(pdr)}
	if qfi != 0 {
		group = append(group, ie.NewDownlinkDataServiceInformation(false, true, 0, qfi))
	}
	err := a.report(to, seid, "downlink_data", ie.NewReportType(0, 0, 0, 1), ie.NewDownlinkDataReport(group...))
	a.dropForgotten(s, err)
	s.mu.Lock()
	delete(s.notifying, pdr)
	s.mu.Unlock()
}

// ErrorIndication: a peer has no such tunnel; every session that sends into it is told.
func (e *events) ErrorIndication(peer netip.Addr, teid uint32) {
	a := (*Agent)(e)
	f := rules.FTEID{Addr: peer, TEID: teid}
	a.mu.Lock()
	users := slices.Collect(maps.Keys(a.tunnels[f]))
	a.mu.Unlock()
	for _, s := range users {
		go a.errorIndication(s, f)
	}
}

func remoteFTEID(f rules.FTEID) *ie.IE {
	if f.Addr.Is6() {
		return fteidIE(f.TEID, netip.Addr{}, f.Addr)
	}
	return fteidIE(f.TEID, f.Addr, netip.Addr{})
}

func (a *Agent) errorIndication(s *session, f rules.FTEID) {
	s.mu.Lock()
	gone, to, seid := s.gone, netip.AddrPortFrom(s.CPAddr, pfcp.Port), s.CPSEID
	s.mu.Unlock()
	if gone {
		return
	}
	<-a.serving
	err := a.report(to, seid, "error_indication", ie.NewReportType(0, 1, 0, 0),
		ie.NewErrorIndicationReport(remoteFTEID(f)))
	a.dropForgotten(s, err)
}
