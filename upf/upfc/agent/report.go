package agent

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
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
	farAway           = 24 * time.Hour
	measuring         = 128 // sessions at once
)

// job is about a session; two that are equal are one.
type job struct {
	index  uint32
	tunnel rules.FTEID // of an Error Indication; else it is about the session's usage
	last   *lastReports
	about  about
}

// about is what of a session's the job is about that upf-u has told of.
type about uint8

const (
	aboutUsage    about = iota
	aboutStations       // MAC addresses have come to the session or left it
	aboutFlows          // flows of applications have begun or ended
)

// schedule sets the session's next wake-up. The caller has locked it.
func (a *Agent) schedule(s *session) {
	var next time.Time
	now := a.world.Now()
	later := now.Add(retryAfter)
	if d := s.deadline(now); d != 0 {
		next = usage.Time(d)
		if far := now.Add(farAway); next.After(far) {
			next = far // SMFs give times that mean never
		}
		if len(s.Outbox) >= outboxMax && next.Before(later) {
			next = later
		}
	}
	if len(s.Outbox) > 0 && !s.sending && (next.IsZero() || next.After(later)) {
		next = later // somebody has to try again
	}
	a.wheel.Set(s.Index, next)
}

// measure reports what is due. told: upf-u said that an armed volume was reached, and has to be armed
// anew.
func (a *Agent) measure(index uint32, told bool) {
	select {
	case <-a.serving:
	default:
		return // resume comes back to it
	}
	s := a.lock(index)
	if s == nil {
		return
	}
	defer s.unlock()
	conn := a.link.Current()
	if conn == nil {
		a.postpone(index)
		return
	}
	defer a.schedule(s)
	if !told && !s.look().Due() { // woken to try again what was not acknowledged
		a.deliver(s)
		return
	}
	for range 4 { // what becomes due while it is armed may not be told of any more
		acct := s.account()
		reports := acct.Measure(len(s.Outbox) < outboxMax)
		next := s.Session
		next.Rules, next.Meters = acct.Rules, acct.Meters
		next.Outbox = append(slices.Clone(s.Outbox), reports...)
		blob := state.AppendSession(nil, &next)
		t := dataplane.NewBatch()
		t.State(s.Index, blob)
		for id, m := range next.Meters.All() {
			u := next.Rules.URRs.Get(id)
			r := s.read(u, m.Slot)
			arm, was := m.Arm(u, r, s.Index), s.Meters.Get(id)
			if arm.Total&arm.Ul&arm.Dl != math.MaxUint64 || arm != was.Arm(s.Rules.URRs.Get(id), r, s.Index) {
				t.Arm(arm) // upf-u says each thing once an arming
			}
		}
		err := conn.Transact(t)
		if err != nil && !errors.Is(err, dataplane.ErrLost) {
			a.log.Error("usage not stored", "seid", hex(s.UPSEID), "err", err)
		}
		s.become(&next, blob)
		a.countReports(reports)
		if errors.Is(err, dataplane.ErrLost) {
			a.postpone(index) // the replay stores it
			return
		}
		a.deliver(s)
		if len(s.Outbox) >= outboxMax || conn.Lost() || !s.look().Due() {
			return
		}
	}
}

// lockToReport locks the session that upf-u has told something of; nil: it is gone, for which drop is called, or the CP function is behind, and
// the job comes again.
func (a *Agent) lockToReport(j job, drop func(index uint32)) *session {
	if !a.isServing() {
		return nil
	}
	s := a.lock(j.index)
	if s == nil {
		drop(j.index)
		return nil
	}
	if len(s.Outbox) < outboxMax {
		return s
	}
	s.unlock()
	a.world.Go(func() {
		if a.world.Wait(retryAfter, a.stopping.Done()) {
			a.measurers.Add(j, false)
		}
	})
	return nil
}

// putReports makes next the session's state, and sends the reports that come of it. The caller has locked the session.
func (a *Agent) putReports(s *session, next *state.Session, reports []usage.Report) {
	next.Outbox = append(slices.Clone(s.Outbox), reports...)
	a.put(s, next)
	a.countReports(reports)
	a.deliver(s)
	a.schedule(s)
}

func (a *Agent) countReports(reports []usage.Report) {
	for i := range reports {
		a.rec.UsageReport(reports[i].Trigger)
	}
}

// isServing waits for PFCP to be served; false when that will not be any more.
func (a *Agent) isServing() bool {
	a.world.Wait(-1, a.serving, a.stopping.Done())
	return a.stopping.Err() == nil
}

// postpone notes that a session is to be measured when upf-u is back: what is armed in upf-u and
// what we have reported must not drift apart.
func (a *Agent) postpone(index uint32) {
	a.mu.Lock()
	a.postponed[index] = true
	back := a.link.Current() != nil // it came back meanwhile, and catchUp may have run
	a.mu.Unlock()
	if back {
		a.world.Go(a.catchUp)
	}
}

// catchUp measures what was postponed.
func (a *Agent) catchUp() {
	select {
	case <-a.serving:
	default:
		return // resume does it
	}
	a.mu.Lock()
	late := a.postponed
	a.postponed = map[uint32]bool{}
	a.mu.Unlock()
	for _, index := range slices.Sorted(maps.Keys(late)) {
		a.measurers.Add(job{index: index}, false)
	}
}

// deliver has the outbox delivered. The caller has locked the session, and schedules it: who cannot be
// reached now is tried again later.
func (a *Agent) deliver(s *session) {
	if s.sending || len(s.Outbox) == 0 || a.node.PathDown(s.Node) {
		return
	}
	a.reporters.Add(s.CPAddr, job{index: s.Index})
}

// reportJob is one of those who report to a CP function.
func (a *Agent) reportJob(j job, _ bool) {
	switch {
	case j.last != nil:
		a.reportLast(j.last)
	case j.tunnel.IsValid():
		a.reportErrorIndication(j.index, j.tunnel)
	default:
		a.deliverAll(j.index)
	}
}

// measureJob is one of those who look at sessions.
func (a *Agent) measureJob(j job, told bool) {
	switch {
	case j.tunnel.IsValid():
		a.errorIndication(j)
	case j.about == aboutStations:
		a.takeStations(j.index)
	case j.about == aboutFlows:
		a.takeFlows(j.index)
	default:
		a.measure(j.index, told)
	}
}

func (a *Agent) deliverAll(index uint32) {
	s := a.lock(index)
	if s == nil {
		return
	}
	forgotten := a.deliverLocked(s)
	up := s.UPSEID
	s.unlock()
	if forgotten {
		a.dropForgotten(up, errForgotten)
	}
}

// deliverLocked sends what is in the outbox of a locked session; true when the CP function has forgotten it.
func (a *Agent) deliverLocked(s *session) (forgotten bool) {
	if s.sending {
		return false // by another, who does not end before the outbox is empty
	}
	if a.node.PathDown(s.Node) { // since the job was given
		a.schedule(s)
		return false
	}
	s.sending = true
	defer func() { s.sending = false }()
	for !s.Gone && len(s.Outbox) > 0 {
		n := min(len(s.Outbox), reportsPerMessage)
		ies := s.reportIEs(s.Outbox[:n])
		node, to, seid := s.Node, a.node.OfSession(s.Node, s.CPAddr), s.CPSEID
		s.inFlight = n
		s.Mu.Unlock()
		answer, err := a.report(node, to, seid, "usage", ies)
		s.Mu.Lock()
		s.inFlight = 0
		if errors.Is(err, errForgotten) {
			return true
		}
		if err != nil {
			if !s.Gone {
				s.sending = false
				a.schedule(s) // it is tried again
			}
			return false
		}
		if s.Gone {
			return false
		}
		next := s.Session
		next.Outbox = slices.Clone(s.Outbox[n:])
		a.put(s, &next)
		a.obey(s, answer)
	}
	return false
}

// obey does what the answer to a Session Report Request asks for (TS 29.244 7.5.9): Update BAR, and
// DROBU among its flags. The caller has locked the session.
func (a *Agent) obey(s *session, answer *pfcp.Message) {
	next, rulesChanged := s.Session, false
	for _, e := range answer.Elements.All(ie.UpdateBARWithinSessionReportResponse) {
		r, err := s.Rules.UpdateInReportResponse(&e)
		if err != nil || r == nil {
			a.log.Warn("Update BAR in a Session Report Response is not carried out", "seid", hex(s.UPSEID), "err", err)
			continue
		}
		if !rulesChanged {
			next.Rules, rulesChanged = s.Rules.Clone(), true
		}
		next.Rules.BARs.Put(r.ID, r)
	}
	t := dataplane.NewBatch()
	if e := answer.Elements.First(ie.PFCPSRRspFlags); e != nil && len(e.Value) > 0 && e.Value[0]&srrspDROBU != 0 {
		t.DropBuffered(s.Index)
	}
	if rulesChanged {
		p, err := encode(a, s.Index, &next)
		if err != nil {
			a.log.Error("session cannot be stored", "seid", hex(s.UPSEID), "err", err)
			return
		}
		p.add(t)
		defer s.become(&next, p.blob) // when upf-u was lost, the replay brings it
	}
	conn := a.link.Current()
	if t.Records() == 0 || conn == nil {
		return
	}
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		a.log.Error("what a Session Report Response asks for is refused", "seid", hex(s.UPSEID), "err", err)
	}
}

// srrspDROBU is a bit of PFCPSRRsp-Flags (TS 29.244 8.2.32).
const srrspDROBU = 0x01

// Report Type (TS 29.244 8.2.21).
const (
	reportsDownlinkData = 0x01 // DLDR
	reportsUsage        = 0x02 // USAR
	reportsError        = 0x04 // ERIR
	reportsInactivity   = 0x08 // UPIR
)

// reportIEs are the IEs of a Session Report Request (TS 29.244 7.5.8).
func (s *session) reportIEs(reports []usage.Report) (ies pfcp.IEs) {
	what := uint8(0)
	for i := range reports {
		if reports[i].URR == rules.InactivityURR {
			what |= reportsInactivity
		} else {
			what |= reportsUsage
		}
	}
	ies.Octets(ie.ReportType, what)
	s.usageReports(&ies, reports, 0, ie.UsageReportWithinSessionReportRequest)
	return ies
}

// usageReports appends the IEs of a message that carries reports, while more of them follow.
func (s *session) usageReports(ies *pfcp.IEs, reports []usage.Report, more int, ieType uint16) {
	for i := range reports {
		if reports[i].URR != rules.InactivityURR {
			reports[i].Append(ies, ieType, s.application(reports[i].URR))
		}
	}
	if more > 0 {
		usage.AppendAdditional(ies, more)
	}
}

// application is the Application ID that a URR's PDRs detect; empty when none does, or several.
func (s *session) application(urr uint32) string {
	found := ""
	for _, r := range s.Rules.PDRs.All() {
		if id := r.PDI.Application; id != "" && id != found && slices.Contains(r.URRs, urr) {
			if found != "" {
				return ""
			}
			found = id
		}
	}
	return found
}

// lastReports are those of a session that is gone.
type lastReports struct {
	node     string
	to       pfcp.Destination
	seid     uint64 // the CP function's
	requests []pfcp.IEs
}

// deliverLast has delivered what did not fit the answer that ended a session.
func (a *Agent) deliverLast(s *session, reports []usage.Report) {
	if len(reports) == 0 {
		return
	}
	l := &lastReports{node: s.Node, to: a.node.OfSession(s.Node, s.CPAddr), seid: s.CPSEID}
	for part := range slices.Chunk(reports, reportsPerMessage) {
		l.requests = append(l.requests, s.reportIEs(part))
	}
	a.reporters.Add(s.CPAddr, job{last: l})
}

func (a *Agent) reportLast(l *lastReports) {
	for _, ies := range l.requests {
		if _, err := a.report(l.node, l.to, l.seid, "usage", ies); err != nil {
			return
		}
	}
}

// put makes next the session's state, here and in upf-u, where the rules stay as they are. The caller
// has locked it.
func (a *Agent) put(s *session, next *state.Session) {
	blob := state.AppendSession(nil, next)
	s.become(next, blob)
	conn := a.link.Current()
	if conn == nil {
		return // a replay brings it
	}
	t := dataplane.NewBatch()
	t.State(s.Index, blob)
	if err := conn.Transact(t); err != nil && !errors.Is(err, dataplane.ErrLost) {
		a.log.Error("session not stored", "seid", hex(s.UPSEID), "err", err)
	}
}

// report sends a Session Report Request to a node; no error when the CP function has it, whatever it thinks of
// it, unless that it knows no such session.
func (a *Agent) report(node string, to pfcp.Destination, seid uint64, kind string, ies pfcp.IEs) (*pfcp.Message, error) {
	if !a.settled(a.stopping) {
		return nil, context.Canceled
	}
	a.node.SayLoadTo(node, &ies)
	answer, err := a.server.RequestIEs(a.stopping, to, message.MsgTypeSessionReportRequest, &seid, ies)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			a.log.Warn("report not acknowledged", "kind", kind, "to", to(false), "cpSEID", hex(seid), "err", err)
		}
		return nil, err
	}
	a.rec.Report(kind)
	if e := answer.Elements.First(ie.Cause); e != nil {
		if c, err := e.Uint8(); err == nil && c != ie.CauseRequestAccepted {
			a.log.Warn("report refused", "kind", kind, "to", to(false), "cpSEID", hex(seid), "cause", pfcp.CauseName(c))
			if c == ie.CauseSessionContextNotFound {
				return nil, errForgotten
			}
		}
	}
	return answer, nil
}

// errForgotten: the CP function has no such session. Nobody will ever delete it, and its address
// may soon be another UE's, so it is dropped.
var errForgotten = errors.New("the CP function does not know the session")

func (a *Agent) dropForgotten(seid uint64, err error) {
	if errors.Is(err, errForgotten) {
		a.drop(seid, "forgotten by its cp")
	}
}

// events is the agent as upf-u's events see it. None of the methods blocks.
type events Agent

// URR: an armed volume was reached.
func (e *events) URR(index, _ uint32) {
	(*Agent)(e).measurers.Add(job{index: index}, true)
}

// Echo: a peer answered an Echo Request.
func (e *events) Echo(peer netip.Addr, sequence uint16) { (*Agent)(e).peers.Answered(peer, sequence) }

// ErrorIndication: a peer has no such tunnel; every session that sends into it is told.
func (e *events) ErrorIndication(peer netip.Addr, teid uint32) {
	a := (*Agent)(e)
	f := rules.FTEID{Addr: peer, TEID: teid}
	if !a.peers.Indicates(f) {
		return
	}
	for _, index := range a.store.Users(f) {
		a.measurers.Add(job{index: index, tunnel: f}, false)
	}
}

func remoteFTEID(ies *pfcp.IEs, f rules.FTEID) {
	if f.Addr.Is6() {
		fteid(ies, f.TEID, netip.Addr{}, f.Addr)
	} else {
		fteid(ies, f.TEID, f.Addr, netip.Addr{})
	}
}

// errorIndication finds out whom an Error Indication is to be reported to.
func (a *Agent) errorIndication(j job) {
	s := a.lock(j.index)
	if s == nil {
		return
	}
	defer s.unlock()
	for peer := range store.Peers(s.Rules) {
		if peer == j.tunnel { // else only the hash is the same
			a.reporters.Add(s.CPAddr, j)
			return
		}
	}
}

func (a *Agent) reportErrorIndication(index uint32, f rules.FTEID) {
	s := a.lock(index)
	if s == nil {
		return
	}
	node, to, seid, up := s.Node, a.node.OfSession(s.Node, s.CPAddr), s.CPSEID, s.UPSEID
	s.unlock()
	if !a.isServing() {
		return
	}
	var ies pfcp.IEs
	ies.Octets(ie.ReportType, reportsError)
	at := ies.Begin(ie.ErrorIndicationReport)
	remoteFTEID(&ies, f)
	ies.End(at)
	answer, err := a.report(node, to, seid, "error_indication", ies)
	if err != nil {
		a.dropForgotten(up, err)
		return
	}
	if s := a.lockSEID(up); s != nil {
		defer s.unlock()
		a.obey(s, answer)
	}
}
