package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/usage"
)

// dataplane waits a bounded time for upf-u.
func (a *Agent) dataplane(ctx context.Context) (*dataplane.Conn, error) {
	conn, err := a.link(ctx, a.cfg.PFCP.DataplaneWait)
	if err != nil {
		return nil, &pfcp.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	}
	return conn, nil
}

// choices is how often another F-TEID or UE address is chosen when an SMF has given it to somebody.
const choices = 8

// establish executes a Session Establishment Request (TS 29.244 7.5.2). One that names a session which there is
// establishes nothing. A session that the same CP function has forgotten (its address or F-TEID is given out again)
// makes way.
func (a *Agent) establish(ctx context.Context, m *pfcp.Message) (seid uint64, ies []*ie.IE, err error) {
	n, err := a.mayEstablish(m)
	if err != nil {
		return n.SEID, nil, err
	}
	a.underWay.begin(n)
	defer a.underWay.end(n)
	if ies, made, err := a.establishedBefore(ctx, m, n); made {
		return n.SEID, ies, a.explain(err)
	}
	for range choices { // there can be one holder of the address and one of the F-TEID, too
		if ies, err = a.establishOnce(ctx, m, n); err == nil {
			break
		}
		err = a.explain(err)
		var c *conflict
		if !errors.As(err, &c) || !c.stale && !c.chosen || c.chosen && restores(m) { // then there is no choice
			break
		}
		if c.stale && !c.chosen {
			a.drop(c.holder, "replaced by its cp")
		}
	}
	return n.SEID, ies, err
}

// mayEstablish reads what a session is called, as far as it can be read, and looks whether its CP function may
// establish it.
func (a *Agent) mayEstablish(m *pfcp.Message) (n store.CPName, err error) {
	e := m.Elements.First(ie.FSEID)
	if e == nil {
		return n, missing(m, ie.FSEID)
	}
	if n.SEID, n.Addr, err = a.fseid(e); err != nil {
		return n, err
	}
	if n.Node, err = nodeOf(m); err != nil {
		return n, err
	}
	return n, a.speaksFor(n.Node, m.From.Addr())
}

// drop ends a session without a request.
func (a *Agent) drop(seid uint64, reason string) {
	s := a.lockSEID(seid)
	if s == nil {
		return
	}
	defer s.unlock()
	a.end(s)
	a.rec.SessionsDropped(reason, 1)
	a.log.Warn("session dropped", "seid", hex(s.UPSEID), "cpSEID", hex(s.CPSEID), "node", s.Node, "ue", s.Rules.UEAddress(), "reason", reason)
}

// end ends a session in upf-u and here. The caller has locked it.
func (a *Agent) end(s *session) {
	if conn := a.current(); conn != nil {
		if err := deleteIn(conn, s.Index); err != nil {
			conn.Abandon() // what upf-u has is not known any more: it is filled anew, without this one
		}
	}
	a.forget(s)
	a.freeSlots(s)
}

// deleteIn removes one session from upf-u.
func deleteIn(conn *dataplane.Conn, index uint32) error {
	t := dataplane.NewBatch()
	t.DeleteSession(index)
	return conn.Transact(t)
}

// establishOnce makes the session of that name.
func (a *Agent) establishOnce(ctx context.Context, m *pfcp.Message, n store.CPName) ([]*ie.IE, error) {
	era, associated := a.era(n.Node)
	if !associated {
		return nil, noAssociation(n.Node)
	}
	for _, t := range []uint16{ie.CreatePDR, ie.CreateFAR} {
		if m.Elements.First(t) == nil {
			return nil, missing(m, t)
		}
	}
	if e := m.Elements.First(ie.PDNType); e != nil {
		if v, err := e.Uint8(); err != nil {
			return nil, err
		} else if v &= 7; v == 0 || v > pdnTypeIPv4v6 && (v != rules.PDNTypeEthernet || a.isBridge() == nil) {
			return nil, &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PDNType,
				Detail: "only IPv4, IPv6 and IPv4v6 sessions are supported, and Ethernet where a network instance is of that"}
		}
	}
	conn, err := a.dataplane(ctx)
	if err != nil {
		return nil, err
	}

	var wanted []uint32
	var change *rules.Change
	if restores(m) {
		if change, wanted, err = a.planRestored(&session{agent: a, Lease: store.Lease{Session: state.Session{Node: n.Node, Rules: rules.NewSet()}}}, m); err != nil {
			return nil, err
		}
	}
	s, ok := a.store.Register(a.cfg.Limits.Sessions, wanted...)
	if !ok {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "there are as many sessions as there can be"}
	}
	defer s.unlock()
	s.CPSEID, s.CPAddr, s.Node, s.Created, s.Rules = n.SEID, n.Addr, n.Node, a.world.Now().Unix(), &rules.Set{}
	s.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: s.Created}
	if s.CSIDs, err = rules.CSIDs(m.Elements); err == nil && change == nil {
		change, err = rules.Plan(s.Rules, m.Elements, a.policy(s))
	}
	if err == nil {
		s.Made = state.Made{Digest: s.Last.Digest, Chosen: change.Chosen, Created: change.ChosenEndpoints}
		_, _, err = a.commit(conn, s, s.Session, change)
	}
	if err != nil {
		a.forget(s)
		a.freeSlots(s)
		return nil, err
	}
	if wanted != nil {
		a.keepUEs(s.Index, s.Rules)
	}
	// Whoever sweeps the association's sessions from now on finds this one, too.
	if now, associated := a.era(n.Node); !associated || now != era {
		a.end(s)
		return nil, noAssociation(n.Node)
	}
	if a.log.Enabled(ctx, slog.LevelDebug) {
		a.log.Debug("session established", "seid", hex(s.UPSEID), "cpSEID", hex(n.SEID), "node", n.Node, "ue", s.Rules.UEAddress(), "pdrs", len(s.Rules.PDRs))
	}
	return append([]*ie.IE{a.upFSEID(s)}, created(s, change.Chosen, change.ChosenEndpoints)...), nil
}

// pdnTypeIPv4v6 is the last PDN Type (TS 29.244 8.2.79) that is about IP.
const pdnTypeIPv4v6 = 3

func (a *Agent) upFSEID(s *session) *ie.IE {
	up := a.cfg.PFCP.Advertise
	if up.Is6() {
		return ie.NewFSEID(s.UPSEID, nil, up.AsSlice())
	}
	return ie.NewFSEID(s.UPSEID, up.AsSlice(), nil)
}

// created answers what was chosen here: F-TEIDs and UE addresses of PDRs and Traffic Endpoints.
func created(s *session, pdrs []uint16, endpoints []uint8) []*ie.IE {
	var out []*ie.IE
	for _, id := range pdrs {
		out = append(out, ie.NewCreatedPDR(append([]*ie.IE{ie.NewPDRID(id)}, chosen(&s.Rules.PDRs.Get(id).PDI.Match)...)...))
	}
	for _, id := range endpoints {
		out = append(out, ie.NewCreatedTrafficEndpoint(append([]*ie.IE{ie.NewTrafficEndpointID(id)}, chosen(&s.Rules.Endpoints.Get(id).Match)...)...))
	}
	return out
}

func chosen(m *rules.Match) []*ie.IE {
	var out []*ie.IE
	if m.Chosen {
		f := m.FTEID
		if !f.IsValid() {
			f = m.FTEID6
		}
		out = append(out, fteidIE(f.TEID, m.FTEID.Addr, m.FTEID6.Addr))
	}
	if m.UEChosen {
		flags, text4, text6 := uint8(0), "", ""
		if m.UEAddress.IsValid() {
			flags, text4 = flags|0x02, m.UEAddress.String()
		}
		if m.UEPrefix.IsValid() {
			flags, text6 = flags|0x01, m.UEPrefix.Addr().String()
		}
		out = append(out, ie.NewUEIPAddress(flags, text4, text6, 0, 0))
	}
	return out
}

func fteidIE(teid uint32, v4, v6 netip.Addr) *ie.IE {
	flags := uint8(0)
	if v4.IsValid() {
		flags |= 0x01
	}
	if v6.IsValid() {
		flags |= 0x02
	}
	return ie.NewFTEID(flags, teid, v4.AsSlice(), v6.AsSlice(), 0)
}

// find locks the session of a request.
func (a *Agent) find(m *pfcp.Message) (*session, error) {
	s := a.lockSEID(m.SEID)
	if s == nil {
		return nil, a.speaksForSession("", netip.Addr{}, m.From.Addr())
	}
	if err := a.speaksForSession(s.Node, s.CPAddr, m.From.Addr()); err != nil {
		s.unlock()
		return nil, err
	}
	return s, nil
}

// locked finds and locks a request's session together with a connection that is of use: while the
// session was waited for, upf-u may have gone and come.
func (a *Agent) locked(ctx context.Context, m *pfcp.Message) (*session, *dataplane.Conn, uint64, error) {
	var seid uint64
	for {
		s, err := a.find(m)
		if err != nil {
			return nil, nil, seid, err
		}
		seid = s.CPSEID
		if conn := a.current(); conn != nil {
			return s, conn, seid, nil
		}
		s.unlock() // a replay needs it
		if _, err := a.dataplane(ctx); err != nil {
			return nil, nil, seid, err
		}
	}
}

// modify executes a Session Modification Request (TS 29.244 7.5.4).
func (a *Agent) modify(ctx context.Context, m *pfcp.Message) (seid uint64, ies []*ie.IE, err error) {
	for range choices {
		if seid, ies, err = a.modifyOnce(ctx, m); err == nil {
			break
		}
		err = a.explain(err)
		var c *conflict
		if !errors.As(err, &c) || !c.chosen {
			break
		}
	}
	return seid, ies, err
}

func (a *Agent) modifyOnce(ctx context.Context, m *pfcp.Message) (uint64, []*ie.IE, error) {
	s, conn, seid, err := a.locked(ctx, m)
	if err != nil {
		return seid, nil, err
	}
	defer s.unlock()
	if s.Last.Is(m.Sequence, m.Digest(), a.world.Now()) {
		a.log.Info("a request that an earlier upf-c executed is answered", "seid", hex(s.UPSEID), "sequence", m.Sequence)
		return s.CPSEID, a.modified(s, s.Last.Chosen, s.Last.Created, s.Last.Reports, 0), nil
	}
	next := s.Session
	next.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: a.world.Now().Unix()}
	if e := m.Elements.First(ie.FSEID); e != nil {
		if next.CPSEID, next.CPAddr, err = a.fseid(e); err != nil {
			return seid, nil, err
		}
	}
	change, err := rules.Plan(s.Rules, m.Elements, a.policy(s))
	if err != nil {
		return seid, nil, err
	}
	if sets, err := rules.CSIDs(m.Elements); err != nil {
		return seid, nil, err
	} else if len(sets) > 0 {
		next.CSIDs = sets
	}
	before := s.Rules
	reports, additional, err := a.commit(conn, s, next, change)
	if err != nil {
		return seid, nil, err
	}
	a.tellNewReporters(s, before)
	if a.log.Enabled(ctx, slog.LevelDebug) {
		a.log.Debug("session modified", "seid", hex(s.UPSEID), "pdrs", len(s.Rules.PDRs), "reports", len(reports))
	}
	return s.CPSEID, a.modified(s, change.Chosen, change.ChosenEndpoints, reports, additional), nil
}

// modified are the IEs of the answer beside the cause.
func (a *Agent) modified(s *session, pdrs []uint16, endpoints []uint8, reports []usage.Report, additional int) []*ie.IE {
	ies := append(created(s, pdrs, endpoints), s.usageReports(reports, additional, ie.UsageReportWithinSessionModificationResponse)...)
	a.countReports(reports)
	for range reports {
		a.rec.Report("usage")
	}
	return ies
}

// delete executes a Session Deletion Request (TS 29.244 7.5.6); the answer carries the last usage.
func (a *Agent) delete(ctx context.Context, m *pfcp.Message) (uint64, []*ie.IE, error) {
	s, conn, seid, err := a.locked(ctx, m)
	if err != nil {
		if seid, ies, ok := a.deletedBefore(m); ok {
			return seid, ies, nil
		}
		return seid, nil, err
	}
	defer s.unlock()
	now := a.world.Now()
	end := ending{Session: s.Session, at: now.UnixMilli()}
	end.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: now.Unix()}
	place, err := a.store.PutEnded(s.UPSEID, end.encode(), a.store.LifeOf(s.Index))
	if err != nil {
		return seid, nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: err.Error()}
	}
	if err := deleteIn(conn, s.Index); err != nil {
		a.store.TakeBackEnded(place, s.UPSEID)
		return seid, nil, a.refusal(err)
	}
	end.finish(s.Shm)
	a.store.ReplaceEnded(place, s.UPSEID, end.encode())
	a.countReports(end.Last.Reports[len(s.Outbox):])
	ies := a.deleted(s, end.Last.Reports[s.inFlight:]) // the first ones are on their way already
	a.forget(s)
	a.freeSlots(s)
	if a.log.Enabled(ctx, slog.LevelDebug) {
		a.log.Debug("session deleted", "seid", hex(s.UPSEID), "node", s.Node)
	}
	return seid, ies, nil
}
