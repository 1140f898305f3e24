package rules

import (
	"fmt"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Network instances of N6 (TS 29.244 5.4): by which of them a packet comes and leaves. Those of tunnels (N3, N9) are names
// without a meaning here: the F-TEID says by which interface.

// instance is the network instance of a name in a rule, or where the rule has none, that of the session.
func (s *Set) instance(name string) string {
	if name != "" {
		return name
	}
	return s.NetworkInstance()
}

// leavesByN6 says whether packets go to the core as they are.
func (r *FAR) leavesByN6() bool {
	return r.Action&Forward != 0 && r.Destination == Core && r.Outer.Kind == abi.OhcNone
}

func (s *Set) instanceOfFAR(r *FAR) string { return s.instance(r.NetworkInstance) }

// comesByN6 says whether a PDR's packets are found by the UE's address.
func comesByN6(r *PDR, m *Match) bool { return r.PDI.SourceInterface == Core && !m.hasFTEID() }

// Network is that of the UE's addresses. (All PDRs have the same one: Plan refuses anything else.) 0 where no packets come
// by N6; false: the UPF has none for the network instance.
func (s *Set) Network(of func(name string) (uint16, bool)) (uint16, bool) {
	network, known := uint16(0), true
	if of == nil {
		return network, known
	}
	found := false
	for _, r := range s.PDRs.All() {
		s.Matches(r, func(m *Match) {
			if !found && comesByN6(r, m) {
				found = true
				network, known = of(s.instance(m.NetworkInstance))
			}
		})
		if found {
			return network, known
		}
	}
	// The UPF's own messages to the UE may still name a network instance.
	if n, ok := of(s.NetworkInstance()); ok {
		network = n
	}
	return network, known
}

// NetworkOf is that by which a FAR's packets leave; false: the UPF has none for the network instance.
func (s *Set) NetworkOf(r *FAR, of func(name string) (uint16, bool)) (uint16, bool) {
	if of == nil || !r.leavesByN6() {
		return 0, true
	}
	return of(s.instanceOfFAR(r))
}

// LeavesByN6 says whether packets of the session go to the core as they are.
func (s *Set) LeavesByN6() bool {
	for _, r := range s.FARs.All() {
		if r.leavesByN6() {
			return true
		}
	}
	return false
}

// network finds the network of N6 that serves a network instance, which the rule has named, or which is missing.
func (p *planner) network(name string, given bool, ref named) (uint16, *pfcp.Reject) {
	network, ok := p.policy.Network(name)
	if ok {
		return network, nil
	}
	if given {
		return 0, &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Offending: ie.NetworkInstance, Rule: ref.ref(),
			Detail: fmt.Sprintf("this UPF has no N6 for network instance %q", name)}
	}
	return 0, &pfcp.Reject{Cause: ie.CauseConditionalIEMissing, Offending: ie.NetworkInstance, Rule: ref.ref(),
		Detail: "this UPF has several network instances, and none for a rule that names none"}
}

// checkNetworks sees to it that packets come by network instances of N6 that there are, and a UE's by one: upf-u knows a
// session's addresses in one network.
func (p *planner) checkNetworks() error {
	if p.policy.Network == nil {
		return nil
	}
	n := p.change.Next
	var err error
	first := ""
	network, found := uint16(0), false
	for id, r := range n.PDRs.All() {
		n.Matches(r, func(m *Match) {
			if err != nil || !comesByN6(r, m) {
				return
			}
			name := n.instance(m.NetworkInstance)
			at, refused := p.network(name, m.NetworkInstance != "", named{pdrKind, uint32(id)})
			switch {
			case refused != nil:
				err = refused
			case found && at != network:
				err = refuse(named{pdrKind, uint32(id)}, ie.NetworkInstance, "network instance %q in a session whose UE is in %q", name, first)
			default:
				first, network, found = name, at, true
			}
		})
	}
	return err
}
