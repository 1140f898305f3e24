package n4

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// The unit between access network and anchor (TS 23.501 5.6.4.2, TS 29.244 5.17.2): what comes from the access network goes on to the anchor,
// but for the breakouts' networks, which it reaches by itself; what comes from the anchor, and from there, goes to the access network, or
// waits where the anchor's would. The session's AMBR holds for all of it (TS 23.501 5.7.1.8), flows with a guaranteed rate excepted, which
// are known by their QFI.
//
//	PDR 1, FAR 1   from the access network to the anchor    PDR 100+q   of flow q with a guaranteed rate
//	PDR 4          from the anchor to FAR 2                 PDR 200+q   likewise
//	PDR 5, FAR 4   from the access network to a breakout
//	PDR 2          from a breakout's network to FAR 2, in the default flow
//	PDR, FAR 3     what the source of a handover forwards
const (
	pdrFromAnchor, pdrBreakout uint16 = 4, 5
	pdrUplinkQFI               uint16 = 100
	pdrDownlinkQFI             uint16 = 200
	farBreakout                uint32 = 4
	breakoutPrecedence         uint32 = 100
	qfiPrecedence              uint32 = 200
	coreChooseID               uint8  = 3
)

// rule of a branch, as it is created; what is in it tells two apart.
type rule struct {
	kind uint16 // CreatePDR, CreateFAR, CreateQER, CreateBAR
	id   uint32
	ies  []*ie.IE
}

func (r rule) octets() []byte {
	b, err := ie.NewGroupedIE(r.kind, r.ies...).Marshal()
	if err != nil {
		return nil
	}
	return b
}

// PrefixesOf breakouts, as a record has them: those that a unit was told may be others than the Slice's.
func PrefixesOf(names []string, set Settings) uint32 {
	hash := fnv.New32a()
	for _, name := range names {
		fmt.Fprintf(hash, "%q %v", name, set.Breakouts[name]) // a hash takes whatever it is given
	}
	return hash.Sum32()
}

// localOf are the filters of a branch's breakouts, as far as the session has addresses for them.
func localOf(s *record.Session, set Settings) (filters []*ie.IE) {
	for _, name := range s.Branch.Breakouts {
		for _, p := range set.Breakouts[name] {
			if p.Addr().Is4() && s.Type == n1.IPv6 || p.Addr().Is6() && s.Type == n1.IPv4 {
				continue
			}
			filters = append(filters, ie.NewSDFFilter(SDF(n1.Filter{Direction: n1.Bidirectional, Remote: p, Protocol: -1}), "", "", "", 0))
		}
	}
	return filters
}

func branchRules(s *record.Session, set Settings) []rule {
	b := s.Branch
	set = set.at(b.NodeID)
	fromAccess := func(more ...*ie.IE) *ie.IE {
		return ie.NewPDI(append([]*ie.IE{
			ie.NewSourceInterface(ie.SrcInterfaceAccess), fteid(b.Access, uplinkChooseID), ie.NewNetworkInstance(set.Access), ueAddress(s, false),
		}, more...)...)
	}
	fromAnchor := func(more ...*ie.IE) *ie.IE {
		pdi := []*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), fteid(b.Core, coreChooseID), ie.NewNetworkInstance(set.Access), ueAddress(s, true)}
		return ie.NewPDI(append(append(pdi, framedRoutes(s)...), more...)...)
	}
	tunnelled := func(id uint16, precedence uint32, pdi *ie.IE, far uint32, qers ...uint32) rule {
		ies := []*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(precedence), pdi, ie.NewOuterHeaderRemoval(removeGTPU, 0), ie.NewFARID(far)}
		for _, q := range qers {
			ies = append(ies, ie.NewQERID(q))
		}
		return rule{ie.CreatePDR, uint32(id), ies}
	}
	out := []rule{
		tunnelled(1, defaultPrecedence, fromAccess(), farUplink, qerAMBR),
		tunnelled(pdrFromAnchor, defaultPrecedence, fromAnchor(), farDownlink, qerAMBR),
	}
	first := s.Flows[0].QFI
	filters := localOf(s, set)
	if len(filters) > 0 {
		local := qerAMBR + uint32(first)
		out = append(out,
			tunnelled(pdrBreakout, breakoutPrecedence, fromAccess(filters...), farBreakout, qerAMBR, local),
			rule{ie.CreatePDR, 2, []*ie.IE{
				ie.NewPDRID(2), ie.NewPrecedence(defaultPrecedence),
				ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance(set.Core), ueAddress(s, true)}, framedRoutes(s)...)...),
				ie.NewFARID(farDownlink), ie.NewQERID(qerAMBR), ie.NewQERID(local),
			}},
			rule{ie.CreateQER, local, qerRule{id: local, qfi: first, isFlow: true}.elements()},
			rule{ie.CreateFAR, farBreakout, []*ie.IE{ie.NewFARID(farBreakout), ie.NewApplyAction(actionForward),
				ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance(set.Core))}})
	}
	for _, f := range s.Flows[1:] {
		if f.Refused || f.GFBRUplink == 0 && f.GFBRDownlink == 0 {
			continue
		}
		out = append(out,
			tunnelled(pdrUplinkQFI+uint16(f.QFI), qfiPrecedence, fromAccess(ie.NewQFI(f.QFI)), farUplink),
			tunnelled(pdrDownlinkQFI+uint16(f.QFI), qfiPrecedence, fromAnchor(ie.NewQFI(f.QFI)), farDownlink))
	}
	toAnchor := farRule{state: toAccess, tunnel: s.Uplink}.forwarding(set)
	toAnchor[0] = ie.NewDestinationInterface(ie.DstInterfaceCore)
	access := accessSideOf(s)
	out = append(out,
		rule{ie.CreateFAR, farUplink, []*ie.IE{ie.NewFARID(farUplink), ie.NewApplyAction(actionForward), ie.NewForwardingParameters(toAnchor...)}},
		rule{ie.CreateFAR, farDownlink, append(access.far.elements(), ie.NewForwardingParameters(access.far.forwarding(set)...))},
		rule{ie.CreateBAR, uint32(barDownlink), []*ie.IE{ie.NewBARID(barDownlink), ie.NewDownlinkDataNotificationDelay(0)}},
		rule{ie.CreateQER, qerAMBR, qerRule{id: qerAMBR, mbrUp: s.AMBR.Uplink, mbrDown: s.AMBR.Downlink}.elements()})
	if access.relay != (record.Tunnel{}) {
		out = append(out,
			rule{ie.CreatePDR, uint32(pdrRelay), relayPDR(s.Handover.Relay, set).ChildIEs},
			rule{ie.CreateFAR, farRelay, relayFAR(access.relay, set, false)})
	}
	return out
}

// BranchEstablishment asks the session's branch for what follows from the record.
func BranchEstablishment(s *record.Session, set Settings) ([]*ie.IE, error) {
	if s.Branch == nil || s.Uplink.TEID == 0 {
		return nil, errors.New("a branch needs an anchor that has an F-TEID")
	}
	if s.Type == n1.Ethernet { // PathOf has none for them
		return nil, errors.New("a session of type Ethernet has no branch")
	}
	ies := []*ie.IE{ie.NewPDNType(pdnTypes[s.Type])}
	for _, r := range branchRules(s, set) {
		ies = append(ies, ie.NewGroupedIE(r.kind, r.ies...))
	}
	return ies, nil
}

var removals = map[uint16]uint16{ie.CreatePDR: ie.RemovePDR, ie.CreateFAR: ie.RemoveFAR, ie.CreateQER: ie.RemoveQER, ie.CreateBAR: ie.RemoveBAR}

var updates = map[uint16]uint16{ie.CreatePDR: ie.UpdatePDR, ie.CreateFAR: ie.UpdateFAR, ie.CreateQER: ie.UpdateQER}

// BranchModification asks the branch for the difference between two records, as Modification does of the anchor.
func BranchModification(before, after *record.Session, set Settings, endMarkers, all bool) []*ie.IE {
	old, is := branchRules(before, set), branchRules(after, set)
	find := func(list []rule, r rule) *rule {
		n := slices.IndexFunc(list, func(o rule) bool { return o.kind == r.kind && o.id == r.id })
		if n < 0 {
			return nil
		}
		return &list[n]
	}
	var ies []*ie.IE
	for _, r := range old {
		if find(is, r) == nil {
			ies = append(ies, ie.NewGroupedIE(removals[r.kind], r.ies[0]))
		}
	}
	from, to := accessSideOf(before).far, accessSideOf(after).far
	leaves := endMarkers && from.state == toAccess && to.state == toAccess && from.tunnel != to.tunnel
	for _, r := range is {
		was := find(old, r)
		switch {
		case was == nil:
			ies = append(ies, ie.NewGroupedIE(r.kind, r.ies...))
		case r.kind == ie.CreateBAR || r.kind == ie.CreatePDR && r.id == uint32(pdrRelay):
		case all || !bytes.Equal(was.octets(), r.octets()):
			ies = append(ies, updated(r, leaves && r.id == farDownlink))
		}
	}
	return ies
}

// updated is a rule as it is changed; its parameters of forwarding have another name then.
func updated(r rule, endMarker bool) *ie.IE {
	elements := slices.Clone(r.ies)
	for n, e := range elements {
		if e.Type != ie.ForwardingParameters {
			continue
		}
		parameters := slices.Clone(e.ChildIEs)
		if endMarker {
			parameters = append(parameters, ie.NewPFCPSMReqFlags(sendEndMarkers))
		}
		elements[n] = ie.NewUpdateForwardingParameters(parameters...)
	}
	return ie.NewGroupedIE(updates[r.kind], elements...)
}

// BranchEstablished writes into the session what its branch has chosen. What lacks something is an error, and the session stays as it was.
func BranchEstablished(s *record.Session, m *message.SessionEstablishmentResponse) error {
	if err := accepted(m.Cause); err != nil {
		return err
	}
	if m.UPFSEID == nil {
		return errors.New("the UPF's answer has no UP F-SEID")
	}
	id, err := m.UPFSEID.FSEID()
	if err != nil {
		return fmt.Errorf("the UPF's F-SEID: %w", err)
	}
	b := *s.Branch
	b.UPSEID = id.SEID
	for _, of := range []struct {
		pdr uint16
		to  *record.Tunnel
	}{{1, &b.Access}, {pdrFromAnchor, &b.Core}} {
		if of.to.TEID != 0 {
			continue
		}
		if *of.to, err = chosenTunnel(m.CreatedPDR, of.pdr); err != nil {
			return err
		}
	}
	s.Branch = &b
	return nil
}

// chosenTunnel is the F-TEID of a PDR by an answer of the unit.
func chosenTunnel(list []*ie.IE, pdr uint16) (record.Tunnel, error) {
	for _, created := range list {
		id, err := created.PDRID()
		f, ferr := created.FTEID()
		if err != nil || ferr != nil || id != pdr {
			continue
		}
		t := record.Tunnel{TEID: f.TEID}
		t.IPv4, _ = netip.AddrFromSlice(f.IPv4Address.To4())
		if f.IPv4Address == nil {
			t.IPv6, _ = netip.AddrFromSlice(f.IPv6Address)
		}
		if t.TEID != 0 && (t.IPv4.IsValid() || t.IPv6.IsValid()) {
			return t, nil
		}
	}
	return record.Tunnel{}, fmt.Errorf("the UPF has chosen no F-TEID for PDR %d", pdr)
}

// Ways tells the anchor (or, of a branch, the unit there) anew where packets go on to, whatever it was told before.
func Ways(s *record.Session, set Settings, branch bool) []*ie.IE {
	if branch {
		set = set.at(s.Branch.NodeID)
		toAnchor := farRule{state: toAccess, tunnel: s.Uplink}.forwarding(set)
		toAnchor[0] = ie.NewDestinationInterface(ie.DstInterfaceCore)
		return []*ie.IE{ie.NewUpdateFAR(ie.NewFARID(farUplink), ie.NewApplyAction(actionForward), ie.NewUpdateForwardingParameters(toAnchor...))}
	}
	set = set.at(s.Unit.NodeID)
	far := rulesOf(s, set).far
	return []*ie.IE{ie.NewUpdateFAR(append(far.elements(), ie.NewUpdateForwardingParameters(far.forwarding(set)...))...)}
}
