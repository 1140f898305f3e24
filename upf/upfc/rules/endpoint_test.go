package rules

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
)

func endpointIE(id uint8, ies ...*ie.IE) *ie.IE {
	return ie.NewCreateTrafficEndpoint(append([]*ie.IE{ie.NewTrafficEndpointID(id)}, ies...)...)
}

func TestTrafficEndpoints(t *testing.T) {
	n3 := endpointIE(1, ie.NewFTEID(0x05, 0, nil, nil, 0), ie.NewNetworkInstance("n3"))
	n6 := endpointIE(2, ie.NewNetworkInstance("internet"), ie.NewUEIPAddress(0x02, "10.45.0.9", "", 0, 0))
	c := planned(t, NewSet(), n3, n6, far(1),
		createPDR(1, ie.NewPDI(fromAccess, ie.NewTrafficEndpointID(1), ie.NewQFI(9)), removesAny),
		createPDR(2, ie.NewPDI(fromCore, ie.NewTrafficEndpointID(2))))
	if diff := cmp.Diff([]uint8{1}, c.ChosenEndpoints); diff != "" || len(c.Chosen) != 0 {
		t.Errorf("Created Traffic Endpoints (-want +got):\n%s", diff)
	}
	chosen := FTEID{netip.MustParseAddr("172.30.3.16"), 0x80000001}
	if got := c.Next.matchesOf(c.Next.PDRs.Get(1)); len(got) != 1 || got[0].FTEID != chosen || !cmp.Equal(got[0].QFIs, []uint8{9}) {
		t.Errorf("PDR 1 is found by %+v", got)
	}
	if c.Next.UEAddress().String() != "10.45.0.9" || c.Next.InstanceOf(0) != "internet" {
		t.Errorf("UE %v in %q", c.Next.UEAddress(), c.Next.InstanceOf(0))
	}

	// An update changes it for every PDR that names it, and leaves the rest of it.
	u := planned(t, c.Next, ie.NewUpdateTrafficEndpoint(ie.NewTrafficEndpointID(1), ie.NewFTEID(0x01, 5, n3v4, nil, 0))).Next
	if got := u.matchesOf(u.PDRs.Get(1)); got[0].FTEID != localV4 || got[0].NetworkInstance != "n3" {
		t.Errorf("after the update PDR 1 is found by %+v", got)
	}
	// Several of them in one PDI (MTE).
	m := planned(t, c.Next, endpointIE(3, ie.NewFTEID(0x01, 5, n3v4, nil, 0)),
		ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewPDI(fromAccess, ie.NewTrafficEndpointID(1), ie.NewTrafficEndpointID(3)))).Next
	if got := m.matchesOf(m.PDRs.Get(1)); len(got) != 2 || got[0].FTEID != chosen || got[1].FTEID != localV4 {
		t.Errorf("PDR 1 is found by %+v, want both endpoints", got)
	}
	// Its removal takes its PDRs along.
	r := planned(t, c.Next, ie.NewRemoveTrafficEndpoint(ie.NewTrafficEndpointID(1))).Next
	if len(r.Endpoints) != 1 || r.PDRs.Get(1) != nil || r.PDRs.Get(2) == nil {
		t.Errorf("after the removal endpoints %v, PDRs %v", r.Endpoints, r.PDRs)
	}
	// A FAR is linked to the endpoint of the other direction.
	l := planned(t, c.Next, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewUpdateForwardingParameters(ie.NewTrafficEndpointID(1)))).Next
	if f := l.FARs.Get(1); !f.HasEndpoint || f.Endpoint != 1 {
		t.Errorf("FAR %+v", f)
	}
}

func TestTrafficEndpointsThatAreRefused(t *testing.T) {
	base := planned(t, established(t), endpointIE(1, ie.NewUEIPAddress(0x02, "10.45.0.1", "", 0, 0))).Next
	for name, tt := range map[string]struct {
		ie        *ie.IE
		cause     uint8
		offending uint16
	}{
		"without ID":           {ie.NewCreateTrafficEndpoint(), ie.CauseMandatoryIEMissing, ie.TrafficEndpointID},
		"that exists":          {endpointIE(1), ruleFailure, ie.TrafficEndpointID},
		"update of none":       {ie.NewUpdateTrafficEndpoint(ie.NewTrafficEndpointID(4)), ruleFailure, ie.TrafficEndpointID},
		"removal of none":      {ie.NewRemoveTrafficEndpoint(ie.NewTrafficEndpointID(4)), ruleFailure, ie.TrafficEndpointID},
		"another UE's address": {endpointIE(2, ie.NewUEIPAddress(0x02, "10.45.0.2", "", 0, 0)), ruleFailure, ie.UEIPAddress},
		"a routing protocol":   {endpointIE(2, ie.NewFramedRouting(1)), ruleFailure, ie.FramedRouting},
	} {
		if r := refused(t, base, tt.ie); r.Cause != tt.cause || r.Offending != tt.offending || r.Rule != nil && r.Offending != ie.UEIPAddress {
			t.Errorf("%s: %v, want cause %d because of IE %d", name, r, tt.cause, tt.offending)
		}
	}
}
