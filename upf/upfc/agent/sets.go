package agent

import (
	"context"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// sessionSetDeletion executes a Session Set Deletion Request (TS 29.244 7.4.6): all sessions that
// were established under one of the FQ-CSIDs go, and the CP function is not told of each.
func (a *Agent) sessionSetDeletion(ctx context.Context, m *pfcp.Message) error {
	node, err := nodeOf(m)
	if err != nil {
		return err
	}
	a.mu.Lock()
	associated := a.associations[node] != nil
	a.mu.Unlock()
	if !associated {
		return noAssociation(node)
	}
	if err := a.speaksFor(node, m.From.Addr()); err != nil {
		return err
	}
	sets, err := rules.CSIDs(m.Elements)
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.FQCSID, Detail: "no FQ-CSID says which sessions"}
	}
	if _, err := a.dataplane(ctx); err != nil {
		return err
	}
	a.dropSessions("session set deletion", node, func(s *session) bool {
		return slices.ContainsFunc(s.CSIDs, func(c rules.CSID) bool { return slices.Contains(sets, c) })
	})
	return nil
}
