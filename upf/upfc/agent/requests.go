package agent

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

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

// establish executes a Session Establishment Request (TS 29.244 7.5.2). A session that the same CP
// function has forgotten (its address or F-TEID is given out again) makes way.
func (a *Agent) establish(ctx context.Context, m *pfcp.Message) (seid uint64, ies []*ie.IE, err error) {
	for range 3 { // there can be one holder of the address and one of the F-TEID
		seid, ies, err = a.establishOnce(ctx, m)
		var c *conflict
		if !errors.As(err, &c) || !c.stale {
			break
		}
		a.drop(c.holder, "replaced by its cp")
	}
	return seid, ies, err
}

// drop ends a session without a request.
func (a *Agent) drop(s *session, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return
	}
	if conn := a.current(); conn != nil {
		if err := deleteIn(conn, s.index); err != nil {
			conn.Abandon() // what upf-u has is not known any more: it is filled anew, without this one
		}
	}
	a.forget(s)
	a.freeSlots(s)
	a.rec.SessionsDropped(reason, 1)
	a.log.Warn("session dropped", "seid", hex(s.UPSEID), "cpSEID", hex(s.CPSEID), "node", s.Node, "ue", s.Rules.UEAddress(), "reason", reason)
}

// deleteIn removes one session from upf-u.
func deleteIn(conn *dataplane.Conn, index uint32) error {
	t := dataplane.NewBatch()
	t.DeleteSession(index)
	return conn.Transact(t)
}

// establishOnce returns the CP SEID as soon as it is known, for a refusal too.
func (a *Agent) establishOnce(ctx context.Context, m *pfcp.Message) (uint64, []*ie.IE, error) {
	e := m.Elements.First(ie.FSEID)
	if e == nil {
		return 0, nil, missing(m, ie.FSEID)
	}
	cpSEID, cpAddr, err := a.fseid(e)
	if err != nil {
		return cpSEID, nil, err
	}
	node, err := nodeOf(m)
	if err != nil {
		return cpSEID, nil, err
	}
	a.mu.Lock()
	associated := a.associations[node] != nil
	a.mu.Unlock()
	if !associated {
		return cpSEID, nil, noAssociation(node)
	}
	for _, t := range []uint16{ie.CreatePDR, ie.CreateFAR} {
		if m.Elements.First(t) == nil {
			return cpSEID, nil, missing(m, t)
		}
	}
	if e := m.Elements.First(ie.PDNType); e != nil {
		if v, err := e.Uint8(); err != nil {
			return cpSEID, nil, err
		} else if v &= 7; v > pdnTypeIPv4v6 || v == 0 {
			return cpSEID, nil, &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PDNType, Detail: "only IPv4, IPv6 and IPv4v6 sessions are supported"}
		}
	}
	conn, err := a.dataplane(ctx)
	if err != nil {
		return cpSEID, nil, err
	}

	s := &session{shm: conn.Shm(), Session: state.Session{
		CPSEID: cpSEID, CPAddr: cpAddr, Node: node, Created: time.Now().Unix(), Rules: rules.NewSet(),
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := a.register(s); err != nil {
		return cpSEID, nil, err
	}
	var change *rules.Change
	if s.CSIDs, err = rules.CSIDs(m.Elements); err == nil {
		change, err = rules.Plan(s.Rules, m.Elements, a.policy(s))
	}
	if err == nil {
		_, _, err = a.commit(conn, s, change)
	}
	if err != nil {
		a.forget(s)
		a.freeSlots(s)
		return cpSEID, nil, err
	}
	a.log.Info("session established", "seid", hex(s.UPSEID), "cpSEID", hex(cpSEID), "node", node, "ue", s.Rules.UEAddress(), "pdrs", len(s.Rules.PDRs))
	return cpSEID, append([]*ie.IE{a.upFSEID(s)}, created(s, change)...), nil
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
func created(s *session, c *rules.Change) []*ie.IE {
	var out []*ie.IE
	for _, id := range c.Chosen {
		out = append(out, ie.NewCreatedPDR(append([]*ie.IE{ie.NewPDRID(id)}, chosen(&s.Rules.PDRs[id].PDI.Match)...)...))
	}
	for _, id := range c.ChosenEndpoints {
		out = append(out, ie.NewCreatedTrafficEndpoint(append([]*ie.IE{ie.NewTrafficEndpointID(id)}, chosen(&s.Rules.Endpoints[id].Match)...)...))
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
	a.mu.Lock()
	s := a.sessions[m.SEID]
	a.mu.Unlock()
	if s != nil {
		s.mu.Lock()
		if !s.gone {
			return s, nil
		}
		s.mu.Unlock()
	}
	return nil, &pfcp.Reject{Cause: ie.CauseSessionContextNotFound, Detail: "no session has this SEID"}
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
		s.mu.Unlock() // a replay needs it
		if _, err := a.dataplane(ctx); err != nil {
			return nil, nil, seid, err
		}
	}
}

// modify executes a Session Modification Request (TS 29.244 7.5.4).
func (a *Agent) modify(ctx context.Context, m *pfcp.Message) (uint64, []*ie.IE, error) {
	s, conn, seid, err := a.locked(ctx, m)
	if err != nil {
		return seid, nil, err
	}
	defer s.mu.Unlock()
	newSEID, newAddr := s.CPSEID, s.CPAddr
	if e := m.Elements.First(ie.FSEID); e != nil {
		if newSEID, newAddr, err = a.fseid(e); err != nil {
			return seid, nil, err
		}
	}
	change, err := rules.Plan(s.Rules, m.Elements, a.policy(s))
	if err != nil {
		a.trim(s, s.Rules)
		return seid, nil, err
	}
	sets, err := rules.CSIDs(m.Elements)
	if err != nil {
		a.trim(s, s.Rules)
		return seid, nil, err
	}
	if len(sets) == 0 {
		sets = s.CSIDs
	}
	oldSEID, oldAddr, oldSets := s.CPSEID, s.CPAddr, s.CSIDs
	s.CPSEID, s.CPAddr, s.CSIDs = newSEID, newAddr, sets
	reports, additional, err := a.commit(conn, s, change)
	if err != nil {
		s.CPSEID, s.CPAddr, s.CSIDs = oldSEID, oldAddr, oldSets
		return seid, nil, err
	}
	a.log.Debug("session modified", "seid", hex(s.UPSEID), "pdrs", len(s.Rules.PDRs), "reports", len(reports))
	ies := append(created(s, change), s.usageReports(reports, additional, ie.UsageReportWithinSessionModificationResponse)...)
	for range reports {
		a.rec.Report("usage")
	}
	return newSEID, ies, nil
}

// delete executes a Session Deletion Request (TS 29.244 7.5.6); the answer carries the last usage.
func (a *Agent) delete(ctx context.Context, m *pfcp.Message) (uint64, []*ie.IE, error) {
	s, conn, seid, err := a.locked(ctx, m)
	if err != nil {
		return seid, nil, err
	}
	defer s.mu.Unlock()
	if err := deleteIn(conn, s.index); err != nil {
		return seid, nil, a.refusal(err)
	}
	// What was not sent yet goes along.
	reports := slices.Clone(s.Outbox[s.inFlight:])
	reports = append(reports, s.account().Report(usage.TriggerTermination, slices.Sorted(maps.Keys(s.Meters))...)...)
	for range reports {
		a.rec.Report("usage")
	}
	rest := reports[min(len(reports), reportsPerAnswer):]
	ies := s.usageReports(reports[:len(reports)-len(rest)], len(rest), ie.UsageReportWithinSessionDeletionResponse)
	a.deliverLast(s, rest)
	a.forget(s)
	a.freeSlots(s)
	a.log.Info("session deleted", "seid", hex(s.UPSEID), "node", s.Node)
	return seid, ies, nil
}
