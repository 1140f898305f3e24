package sessions

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// dataplane waits a bounded time for upf-u.
func (ss *Sessions) dataplane(ctx context.Context) (*dataplane.Conn, error) {
	conn, err := ss.o.Link.Wait(ctx, ss.o.Config.PFCP.DataplaneWait)
	if err != nil {
		return nil, &pfcp.Reject{Cause: ie.CauseSystemFailure, Detail: err.Error()}
	}
	return conn, nil
}

// choices is how often another F-TEID or UE address is chosen when an SMF has given it to somebody.
const choices = 8

// Establish executes a Session Establishment Request (TS 29.244 7.5.2). One that names a session which there is
// establishes nothing. A session that the same CP function has forgotten (its address or F-TEID is given out again)
// makes way.
func (ss *Sessions) Establish(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer) error {
	n, err := ss.mayEstablish(m)
	if answer.SEID = n.SEID; err != nil {
		return err
	}
	ss.underWay.begin(n)
	defer ss.underWay.end(n)
	if made, err := ss.establishedBefore(ctx, m, n, &answer.IEs); made {
		return ss.explain(err)
	}
	for range choices { // there can be one holder of the address and one of the F-TEID, too
		if err = ss.establishOnce(ctx, m, n, &answer.IEs); err == nil {
			break
		}
		err = ss.explain(err)
		var c *conflict
		if !errors.As(err, &c) || !c.stale && !c.chosen || c.chosen && restores(m) { // then there is no choice
			break
		}
		if c.stale && !c.chosen {
			ss.Drop(c.holder, "replaced by its cp")
		}
	}
	return err
}

// mayEstablish reads what a session is called, as far as it can be read, and looks whether its CP function may
// establish it.
func (ss *Sessions) mayEstablish(m *pfcp.Message) (n store.CPName, err error) {
	e := m.Elements.First(ie.FSEID)
	if e == nil {
		return n, m.Missing(ie.FSEID)
	}
	if n.SEID, n.Addr, err = ss.fseid(e); err != nil {
		return n, err
	}
	if n.Node, err = m.NodeID(); err != nil {
		return n, err
	}
	return n, ss.o.Node.SpeaksFor(n.Node, m.From.Addr())
}

// establishOnce makes the session of that name. Its answer is written behind ies when that succeeds.
func (ss *Sessions) establishOnce(ctx context.Context, m *pfcp.Message, n store.CPName, ies *pfcp.IEs) error {
	era, associated := ss.o.Node.Era(n.Node)
	if !associated {
		return node.NoAssociation(n.Node)
	}
	for _, t := range []uint16{ie.CreatePDR, ie.CreateFAR} {
		if m.Elements.First(t) == nil {
			return m.Missing(t)
		}
	}
	if e := m.Elements.First(ie.PDNType); e != nil {
		if v, err := e.Uint8(); err != nil {
			return err
		} else if v &= 7; v == 0 || v > pdnTypeIPv4v6 && (v != rules.PDNTypeEthernet || ss.isBridge() == nil) {
			return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PDNType,
				Detail: "only IPv4, IPv6 and IPv4v6 sessions are supported, and Ethernet where a network instance is of that"}
		}
	}
	conn, err := ss.dataplane(ctx)
	if err != nil {
		return err
	}

	var wanted []uint32
	var change *rules.Change
	if restores(m) {
		if change, wanted, err = ss.planRestored(ss.o.Leases.Beside(state.Session{Node: n.Node, Rules: rules.NewSet()}), m); err != nil {
			return err
		}
	}
	s, ok := ss.store.Register(ss.o.Config.Limits.Sessions, wanted...)
	if !ok {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "there are as many sessions as there can be"}
	}
	defer s.Unlock()
	s.CPSEID, s.CPAddr, s.Node, s.Created, s.Rules = n.SEID, n.Addr, n.Node, ss.o.Machine.Now().Unix(), &rules.Set{}
	s.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: s.Created}
	if s.CSIDs, err = rules.CSIDs(m.Elements); err == nil && change == nil {
		change, err = ss.plan(s, m)
	}
	if err == nil {
		s.Made = state.Made{Digest: s.Last.Digest, Chosen: change.Chosen, Created: change.ChosenEndpoints}
		_, _, err = ss.commit(conn, s, s.Session, change)
	}
	if err != nil {
		ss.forget(s)
		ss.freeSlots(s)
		return err
	}
	if wanted != nil {
		ss.KeepUEs(s.Index, s.Rules)
	}
	// Whoever sweeps the association's sessions from now on finds this one, too.
	if now, associated := ss.o.Node.Era(n.Node); !associated || now != era {
		ss.end(s)
		return node.NoAssociation(n.Node)
	}
	if ss.o.Log.Enabled(ctx, slog.LevelDebug) {
		ss.o.Log.Debug("session established", "seid", pfcp.Hex(s.UPSEID), "cpSEID", pfcp.Hex(n.SEID), "node", n.Node, "ue", s.Rules.UEAddress(), "pdrs", len(s.Rules.PDRs))
	}
	ss.established(ies, s, change.Chosen, change.ChosenEndpoints)
	return nil
}

// find locks the session of a request.
func (ss *Sessions) find(m *pfcp.Message) (*leases.Session, error) {
	s := ss.o.Leases.LockSEID(m.SEID)
	if s == nil {
		return nil, ss.o.Node.SpeaksForSession("", netip.Addr{}, m.From.Addr())
	}
	if err := ss.o.Node.SpeaksForSession(s.Node, s.CPAddr, m.From.Addr()); err != nil {
		s.Unlock()
		return nil, err
	}
	return s, nil
}

// locked finds and locks a request's session together with a connection that is of use: while the
// session was waited for, upf-u may have gone and come. The answer goes to its CP function.
func (ss *Sessions) locked(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer) (*leases.Session, *dataplane.Conn, error) {
	answer.SEID = 0
	for {
		s, err := ss.find(m)
		if err != nil {
			return nil, nil, err
		}
		answer.SEID = s.CPSEID
		if conn := ss.o.Link.Current(); conn != nil {
			return s, conn, nil
		}
		s.Unlock() // a replay needs it
		if _, err := ss.dataplane(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// Modify executes a Session Modification Request (TS 29.244 7.5.4).
func (ss *Sessions) Modify(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer) (err error) {
	for range choices {
		if err = ss.modifyOnce(ctx, m, answer); err == nil {
			break
		}
		err = ss.explain(err)
		var c *conflict
		if !errors.As(err, &c) || !c.chosen {
			break
		}
	}
	return err
}

func (ss *Sessions) modifyOnce(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer) error {
	s, conn, err := ss.locked(ctx, m, answer)
	if err != nil {
		return err
	}
	defer s.Unlock()
	if s.Last.Is(m.Sequence, m.Digest(), ss.o.Machine.Now()) {
		ss.o.Log.Info("a request that an earlier upf-c executed is answered", "seid", pfcp.Hex(s.UPSEID), "sequence", m.Sequence)
		ss.modified(&answer.IEs, s, s.Last.Chosen, s.Last.Created, s.Last.Reports, 0)
		return nil
	}
	next := s.Session
	next.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: ss.o.Machine.Now().Unix()}
	if e := m.Elements.First(ie.FSEID); e != nil {
		if next.CPSEID, next.CPAddr, err = ss.fseid(e); err != nil {
			return err
		}
	}
	change, err := ss.plan(s, m)
	if err != nil {
		return err
	}
	if sets, err := rules.CSIDs(m.Elements); err != nil {
		return err
	} else if len(sets) > 0 {
		next.CSIDs = sets
	}
	before := s.Rules
	reports, additional, err := ss.commit(conn, s, next, change)
	if err != nil {
		return err
	}
	ss.o.Reports.TellNewReporters(s, before)
	if ss.o.Log.Enabled(ctx, slog.LevelDebug) {
		ss.o.Log.Debug("session modified", "seid", pfcp.Hex(s.UPSEID), "pdrs", len(s.Rules.PDRs), "reports", len(reports))
	}
	answer.SEID = s.CPSEID
	ss.modified(&answer.IEs, s, change.Chosen, change.ChosenEndpoints, reports, additional)
	return nil
}

// Delete executes a Session Deletion Request (TS 29.244 7.5.6); the answer carries the last usage.
func (ss *Sessions) Delete(ctx context.Context, m *pfcp.Message, answer *pfcp.Answer) error {
	s, conn, err := ss.locked(ctx, m, answer)
	if err != nil {
		if ss.deletedBefore(m, answer) {
			return nil
		}
		return err
	}
	defer s.Unlock()
	now := ss.o.Machine.Now()
	end := ending{Session: s.Session, at: now.UnixMilli()}
	end.Last = state.Done{Sequence: m.Sequence, Digest: m.Digest(), At: now.Unix()}
	p := ss.puts.Get().(*Put) // for its room
	defer ss.done(p)
	p.Blob = end.encode(p.Blob)
	place, err := ss.store.PutEnded(s.UPSEID, p.Blob, ss.store.LifeOf(s.Index))
	if err != nil {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: err.Error()}
	}
	if err := deleteIn(conn, s.Index); err != nil {
		ss.store.TakeBackEnded(place, s.UPSEID)
		return ss.refusal(err)
	}
	end.finish(s.Shm)
	p.Blob = end.encode(p.Blob)
	ss.store.ReplaceEnded(place, s.UPSEID, p.Blob)
	ss.o.Reports.Count(end.Last.Reports[len(s.Outbox):])
	ss.deleted(&answer.IEs, s, end.Last.Reports[s.InFlight:]) // the first ones are on their way already
	ss.forget(s)
	ss.freeSlots(s)
	if ss.o.Log.Enabled(ctx, slog.LevelDebug) {
		ss.o.Log.Debug("session deleted", "seid", pfcp.Hex(s.UPSEID), "node", s.Node)
	}
	return nil
}

// fseid reads a CP F-SEID: the SEID, and the address of the IP version in which we speak PFCP.
func (ss *Sessions) fseid(e *pfcp.Element) (uint64, netip.Addr, error) {
	seid, v4, v6, err := e.FSEID()
	if err != nil {
		return seid, netip.Addr{}, err
	}
	addr := v4
	if ss.o.Config.PFCP.Listen.Addr().Is6() && v6.IsValid() {
		addr = v6
	}
	if !addr.IsValid() {
		return seid, netip.Addr{}, pfcp.Incorrect(e.Type, "CP F-SEID without an address of the IP version of this UPF's PFCP")
	}
	return seid, addr, nil
}
