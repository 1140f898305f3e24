package rules

import (
	"slices"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// withNetworks is a policy of a UPF whose N6 has these network instances.
func withNetworks(names ...string) Policy {
	p := policy()
	p.Network = func(name string) (uint16, bool) {
		i := slices.Index(names, name)
		if i < 0 {
			i = slices.Index(names, "")
		}
		return uint16(max(i, 0)), i >= 0
	}
	return p
}

// instance is the IE; empty: none.
func instance(name string) []*ie.IE {
	if name == "" {
		return nil
	}
	return []*ie.IE{ie.NewNetworkInstance(name)}
}

// forwards is a session with an uplink PDR 1 to FAR 1 and downlink PDRs from 2 on, in these network instances.
func forwards(access, far string, core ...string) []*ie.IE {
	ies := []*ie.IE{
		createPDR(1, ie.NewOuterHeaderRemoval(0, 0), ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceAccess),
			ie.NewFTEID(0x01, 7, []byte{172, 30, 3, 16}, nil, 0)}, instance(access)...)...)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(Forward),
			ie.NewForwardingParameters(append([]*ie.IE{ie.NewDestinationInterface(ie.DstInterfaceCore)}, instance(far)...)...)),
	}
	for i, name := range core {
		ies = append(ies, createPDR(uint16(2+i), ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore),
			ie.NewUEIPAddress(0x02, "10.60.0.7", "", 0, 0)}, instance(name)...)...)))
	}
	return ies
}

func TestNetworkInstancesOfN6(t *testing.T) {
	named := []string{"internet", "ims"}
	for what, tt := range map[string]struct {
		has              []string
		message          []*ie.IE
		session, leaving uint16
		cause            uint8
		rule             *pfcp.RuleRef
	}{
		"as everywhere":                        {named, forwards("ims", "ims", "ims"), 1, 1, 0, nil},
		"access is named otherwise":            {named, forwards("access", "ims", "ims"), 1, 1, 0, nil},
		"the FAR is of the session":            {named, forwards("", "", "ims"), 1, 1, 0, nil},
		"the PDR is of the session":            {named, forwards("", "", "ims", ""), 1, 1, 0, nil},
		"only access has a name":               {named, forwards("ims", "", ""), 1, 1, 0, nil},
		"out by another one":                   {named, forwards("", "internet", "ims"), 1, 0, 0, nil},
		"one serves what is not named":         {[]string{"ims", ""}, forwards("", "mec", "mec"), 1, 1, 0, nil},
		"both of one that serves all the rest": {[]string{"ims", ""}, forwards("", "mec", "mec", "internet"), 1, 1, 0, nil},
		"a PDR of none": {named, forwards("", "ims", "mec"), 0, 0, ie.CauseRuleCreationModificationFailure,
			&pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: 2}},
		"a FAR of none": {named, forwards("", "mec", "ims"), 0, 0, ie.CauseRuleCreationModificationFailure,
			&pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: 1}},
		"a UE in two": {named, forwards("", "", "ims", "internet"), 0, 0, ie.CauseRuleCreationModificationFailure,
			&pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: 3}},
		"no name at all": {named, forwards("", "", ""), 0, 0, ie.CauseConditionalIEMissing,
			&pfcp.RuleRef{Type: ie.RuleIDTypePDR, ID: 2}},
	} {
		p := withNetworks(tt.has...)
		c, err := Plan(NewSet(), message(t, tt.message...), p)
		if tt.cause == 0 {
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			session, ok := c.Next.Network(p.Network)
			leaving, ok2 := c.Next.NetworkOf(c.Next.FARs.Get(1), p.Network)
			if !ok || !ok2 || session != tt.session || leaving != tt.leaving {
				t.Errorf("%s: the UE is in network %d (%t), its packets leave by %d (%t), want %d and %d", what, session, ok, leaving, ok2, tt.session, tt.leaving)
			}
			continue
		}
		r, _ := err.(*pfcp.Reject)
		if r == nil || r.Cause != tt.cause || r.Offending != ie.NetworkInstance || r.Rule == nil || *r.Rule != *tt.rule {
			t.Errorf("%s: %+v, want cause %d of the Network Instance of %+v", what, err, tt.cause, tt.rule)
		}
	}
}

// What goes into a tunnel leaves by the interface of its F-TEID, whatever its network instance is called.
func TestNetworkInstancesOfTunnels(t *testing.T) {
	p := withNetworks("internet", "ims")
	tunnel := []*ie.IE{
		createPDR(1, ie.NewOuterHeaderRemoval(0, 0), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore),
			ie.NewFTEID(0x01, 7, []byte{172, 30, 3, 16}, nil, 0), ie.NewNetworkInstance("n9"))),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(Forward), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore),
			ie.NewNetworkInstance("n9"), ie.NewOuterHeaderCreation(0x0100, 9, "172.30.9.1", "", 0, 0, 0))),
	}
	if _, err := Plan(NewSet(), message(t, tunnel...), p); err != nil {
		t.Error(err)
	}
}
