package sessions

// Sessions that a CP function restores after this UPF has lost them (TS 23.527 4.3, RESTI). It gives the F-TEIDs and UE
// addresses that were chosen here for them, and those are chosen here again: a TEID has its session's index in it, which
// the session gets once more, and addresses are noted as taken out of their pools.
//
// While some of them are not back, nothing is chosen for new sessions (node/restoration.go).

import (
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// restores says whether a Session Establishment Request is to restore a session (RESTI).
func restores(m *pfcp.Message) bool {
	e := m.Elements.First(ie.PFCPSEReqFlags)
	return e != nil && len(e.Value) > 0 && e.Value[0]&resti != 0
}

// resti is a bit of PFCPSEReq-Flags (TS 29.244 8.2.127): Restoration Indication.
const resti = 0x01

// isNew says that a session is being established.
func isNew(s *leases.Session) bool { return len(s.Rules.PDRs) == 0 }

// planRestored plans a session that is restored, and says which index its F-TEIDs have. What was chosen for it is given; one that is there may get
// more.
func (ss *Sessions) planRestored(s *leases.Session, m *pfcp.Message) (c *rules.Change, index []uint32, err error) {
	kept := ss.policyOf(s)
	defer ss.forgo(kept)
	p := kept.Policy
	if isNew(s) {
		had := &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Detail: "a session that is restored has its F-TEIDs and UE addresses: give those"}
		p.ChooseFTEID = func(bool, bool, bool) (rules.FTEID, rules.FTEID, error) { return rules.FTEID{}, rules.FTEID{}, had }
		p.ChooseUE = func(*rules.Set, []string, []string, bool) (netip.Prefix, error) { return netip.Prefix{}, had }
	}
	if c, err = rules.Plan(rules.NewSet(), m.Elements, p); err != nil {
		ss.trim(s, s.Rules, s.Rules)
		return nil, nil, err
	}
	index = []uint32{}
	mark := func(m *rules.Match) {
		for _, f := range []rules.FTEID{m.FTEID, m.FTEID6} {
			if of, chosen := addresses.IndexOf(f.TEID); f.IsValid() && chosen {
				m.Chosen = true
				index = append(index, of)
			}
		}
		m.UEChosen = m.UEChosen || ss.o.Chooser.InPool(m.UEAddress) || m.UEPrefix.IsValid() && ss.o.Chooser.InPool(m.UEPrefix.Addr()) || isChosen(s.Rules, m)
	}
	for _, r := range c.Next.PDRs.All() {
		mark(&r.PDI.Match)
	}
	for _, e := range c.Next.Endpoints.All() {
		mark(&e.Match)
	}
	return c, index, nil
}

// isChosen says whether the UPF has chosen what a PDR or Traffic Endpoint of a session matches before.
func isChosen(before *rules.Set, m *rules.Match) bool {
	return m.UEAddress.IsValid() && addresses.ChosenUE(before, netip.PrefixFrom(m.UEAddress, 32)) || m.UEPrefix.IsValid() && addresses.ChosenUE(before, m.UEPrefix)
}
