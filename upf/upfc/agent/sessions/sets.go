package sessions

import (
	"context"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// DeleteSets executes a Session Set Deletion Request (TS 29.244 7.4.6): all sessions that
// were established under one of the FQ-CSIDs go, and the CP function is not told of each.
func (ss *Sessions) DeleteSets(ctx context.Context, m *pfcp.Message) error {
	node, err := m.NodeID()
	if err != nil {
		return err
	}
	if err := ss.o.Node.SpeaksFor(node, m.From.Addr()); err != nil {
		return err
	}
	sets, err := rules.CSIDs(m.Elements)
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.FQCSID, Detail: "no FQ-CSID says which sessions"}
	}
	if _, err := ss.dataplane(ctx); err != nil {
		return err
	}
	ss.dropSessions("session set deletion", node, func(s *leases.Session) bool {
		return slices.ContainsFunc(s.CSIDs, func(c rules.CSID) bool { return slices.Contains(sets, c) })
	})
	return nil
}

// DropOf deletes all sessions of a CP function without telling it.
func (ss *Sessions) DropOf(node, reason string) {
	ss.dropSessions(reason, node, func(*leases.Session) bool { return true })
}

// dropSessions deletes those for which which, called under the session's lock, says so; node, unless
// empty, is the CP function whose they are.
func (ss *Sessions) dropSessions(reason, node string, which func(*leases.Session) bool) {
	dropped := 0
	var gone []*leases.Session
	flush := func() {
		indexes := make([]uint32, len(gone))
		for i, s := range gone {
			indexes[i] = s.Index
		}
		// While upf-u is away this is enough: a replay leaves out, or deletes, what we do not know.
		if conn := ss.o.Link.Current(); conn != nil {
			if err := ss.DeleteIndexes(conn, indexes); err != nil {
				ss.o.Log.Error("sessions not deleted in upf-u, it is filled anew", "err", err)
				conn.Abandon()
			}
		}
		for _, s := range gone {
			ss.freeSlots(s)
		}
		dropped += len(gone)
		gone = gone[:0]
	}
	for index := range ss.store.All(node) {
		s := ss.o.Leases.Lock(index)
		if s == nil {
			continue
		}
		if (node == "" || s.Node == node) && which(s) {
			ss.forget(s)
			gone = append(gone, s)
		}
		s.Unlock()
		if len(gone) == deletesPerTransaction {
			flush()
		}
	}
	flush()
	if dropped > 0 {
		ss.o.Recorder.SessionsDropped(reason, dropped)
		ss.o.Log.Info("sessions dropped", "node", node, "sessions", dropped, "reason", reason)
	}
}
