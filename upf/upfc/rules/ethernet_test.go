package rules

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// withBridges is a policy of a UPF whose N6 has these network instances, of which "lan" and "plant" are bridges.
func withBridges(names ...string) Policy {
	p := withNetworks(names...)
	p.Bridge = func(network uint16) bool {
		return int(network) >= len(names) || names[network] == "lan" || names[network] == "plant"
	}
	return p
}

// frames is an Ethernet PDU session in a network instance; more goes into the downlink PDR's PDI.
func frames(instance string, more ...*ie.IE) []*ie.IE {
	return []*ie.IE{
		createPDR(1, ie.NewOuterHeaderRemoval(0, 0), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess),
			ie.NewFTEID(0x01, 7, []byte{172, 30, 3, 16}, nil, 0), ie.NewNetworkInstance(instance))),
		createPDR(2, ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance(instance),
			ie.NewEthernetPDUSessionInformation(1)}, more...)...)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(Forward),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance(instance))),
	}
}

// to makes a FAR 2 of these Forwarding Parameters.
func to(params ...*ie.IE) *ie.IE {
	return ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(Forward), ie.NewForwardingParameters(params...))
}

func TestEthernetSession(t *testing.T) {
	p := withBridges("internet", "lan")
	c, err := Plan(NewSet(), message(t, append(frames("lan"), ie.NewPDNType(5))...), p)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Next.Ethernet || !c.Next.PDRs.Get(2).PDI.EthernetSession {
		t.Errorf("%+v is no Ethernet session", c.Next)
	}
	if n, ok := c.Next.Network(p.Network); n != 1 || !ok {
		t.Errorf("it is in network %d (%t), want 1", n, ok)
	}
	// By ETHI alone, and it stays one when it is changed.
	if c, err = Plan(NewSet(), message(t, frames("lan")...), p); err != nil || !c.Next.Ethernet {
		t.Fatalf("without a PDN Type: %v", err)
	}
	next, err := Plan(c.Next, message(t, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(1))), p)
	if err != nil || !next.Next.Ethernet {
		t.Errorf("a modification: %v", err)
	}
	u, err := Plan(NewSet(), message(t, append(frames("lan"), createURR([]uint8{0, 0x08}, ie.NewMeasurementMethod(1, 0, 0), ie.NewEthernetInactivityTimer(9*time.Second)))...), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range u.Next.URRs.All() {
		if !r.Wants(MACReporting) || r.Rest().Stations != 9 {
			t.Errorf("%+v does not report MAC addresses", r)
		}
	}
}

func TestEthernetFilters(t *testing.T) {
	filter := func(ies ...*ie.IE) *ie.IE { return ie.NewEthernetPacketFilter(ies...) }
	a, b := MAC{2, 0, 0, 0, 0, 1}, MAC{2, 0, 0, 0, 0, 9}
	for what, tt := range map[string]struct {
		filter *ie.IE
		want   EthernetFilter
	}{
		"addresses": {filter(ie.NewMACAddress(a[:], b[:], nil, nil), ie.NewMACAddress(b[:], nil, nil, nil)), EthernetFilter{MACs: []MACs{
			{HasSource: true, HasDestination: true, Source: MACRange{a, a}, Destination: MACRange{b, b}}, {HasSource: true, Source: MACRange{b, b}},
		}}},
		"ranges of them": {filter(ie.NewMACAddress(a[:], a[:], b[:], b[:])), EthernetFilter{MACs: []MACs{
			{HasSource: true, HasDestination: true, Source: MACRange{a, b}, Destination: MACRange{a, b}},
		}}},
		"an Ethertype": {filter(ie.NewEthertype(0x88b5)), EthernetFilter{HasType: true, Type: 0x88b5}},
		"a C-TAG's VID, all of its bits": {filter(ie.NewCTAG(0x04, 5, 1, 0xabc)), EthernetFilter{
			CTag: Tag{Has: true, Value: 0xabc, Mask: 0xfff}}},
		"an S-TAG's PCP and DEI": {filter(ie.NewSTAG(0x03, 5, 1, 0xabc)), EthernetFilter{
			STag: Tag{Has: true, Value: 0xb000, Mask: 0xf000}}},
		"an SDF filter in it": {filter(ie.NewEthertype(0x0800), ie.NewSDFFilter("", "\x10\x20", "", "", 0)), EthernetFilter{
			HasType: true, Type: 0x0800, Filters: []SDFFilter{{}}}},
	} {
		c, err := Plan(NewSet(), message(t, frames("lan", tt.filter)...), withBridges("lan"))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got := c.Next.PDRs.Get(2).PDI.Ethernet
		if len(tt.want.Filters) > 0 && len(got) == 1 && len(got[0].Filters) == 1 {
			got[0].Filters[0] = SDFFilter{}
		}
		if diff := cmp.Diff([]EthernetFilter{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// A filter of both directions is named in the other one, where source and destination change places (TS 29.244 5.13.3).
func TestEthernetFiltersByID(t *testing.T) {
	a := MAC{2, 0, 0, 0, 0, 1}
	plan := func(base *Set, properties uint8, again ...*ie.IE) (*Change, error) {
		ies := frames("lan", ie.NewEthernetPacketFilter(ie.NewEthernetFilterID(3), ie.NewEthernetFilterProperties(properties), ie.NewMACAddress(a[:], nil, nil, nil)))
		return Plan(base, message(t, append(ies, again...)...), withBridges("lan"))
	}
	up := createPDR(3, ie.NewOuterHeaderRemoval(0, 0), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess),
		ie.NewFTEID(0x01, 8, []byte{172, 30, 3, 16}, nil, 0), ie.NewEthernetPacketFilter(ie.NewEthernetFilterID(3))))
	c, err := plan(NewSet(), 1, up)
	if err != nil {
		t.Fatal(err)
	}
	want := []MACs{{HasDestination: true, Destination: MACRange{a, a}}}
	if diff := cmp.Diff(want, c.Next.PDRs.Get(3).PDI.Ethernet[0].MACs); diff != "" {
		t.Errorf("in the other direction (-want +got):\n%s", diff)
	}
	if c, err = plan(NewSet(), 1); err != nil {
		t.Fatal(err)
	}
	if c, err = Plan(c.Next, message(t, up), withBridges("lan")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.Next.PDRs.Get(3).PDI.Ethernet[0].MACs); diff != "" {
		t.Errorf("in a later message (-want +got):\n%s", diff)
	}
	var r *pfcp.Reject
	if _, err = plan(NewSet(), 0, up); err == nil {
		t.Error("a filter of one direction is taken for both")
	} else if r, _ = err.(*pfcp.Reject); r == nil || r.Offending != ie.EthernetFilterID {
		t.Errorf("%v, want the Ethernet Filter ID", err)
	}
}

func TestEthernetSessionsThatAreRefused(t *testing.T) {
	with := func(more ...*ie.IE) []*ie.IE { return append(frames("lan"), more...) }
	mac := ie.NewMACAddress([]byte{2, 0, 0, 0, 0, 9}, nil, []byte{2, 0, 0, 0, 0, 1}, nil)
	for what, tt := range map[string]struct {
		message   []*ie.IE
		offending uint16
		rule      *pfcp.RuleRef
	}{
		"a UE IP address":                {frames("lan", ie.NewUEIPAddress(0x02, "10.60.0.7", "", 0, 0)), ie.UEIPAddress, pdrKind.ref(2)},
		"an SDF filter of the PDI":       {frames("lan", ie.NewSDFFilter("permit out ip from any to assigned", "", "", "", 0)), ie.SDFFilter, pdrKind.ref(2)},
		"a network instance of IP":       {frames("internet"), ie.NetworkInstance, pdrKind.ref(2)},
		"an IP session in a bridge":      {forwards("lan", "lan", "lan"), ie.NetworkInstance, pdrKind.ref(2)},
		"IP packets to a bridge":         {forwards("", "lan", "internet"), ie.NetworkInstance, farKind.ref(1)},
		"a PDN Type of IP":               {with(ie.NewPDNType(1)), ie.EthernetPDUSessionInformation, pdrKind.ref(2)},
		"a filter with a PDN Type":       {append(frames("lan", ie.NewEthernetPacketFilter(ie.NewEthertype(1))), ie.NewPDNType(1)), ie.EthernetPacketFilter, pdrKind.ref(2)},
		"out of its network instance":    {with(to(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("plant"))), ie.NetworkInstance, farKind.ref(2)},
		"into IP":                        {with(to(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet"))), ie.NetworkInstance, farKind.ref(2)},
		"an outer header without GTP":    {with(to(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewOuterHeaderCreation(0x0400, 0, "172.30.9.1", "", 9, 0, 0))), ie.OuterHeaderCreation, farKind.ref(2)},
		"redirection":                    {with(to(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewRedirectInformation(2, "http://portal.example"))), ie.RedirectInformation, farKind.ref(2)},
		"a range that ends too early":    {frames("lan", ie.NewEthernetPacketFilter(mac)), ie.MACAddress, pdrKind.ref(2)},
		"a MAC address cut short":        {frames("lan", ie.NewEthernetPacketFilter(ie.New(ie.MACAddress, []byte{1, 2, 3}))), ie.MACAddress, pdrKind.ref(2)},
		"a C-TAG cut short":              {frames("lan", ie.NewEthernetPacketFilter(ie.New(ie.CTAG, []byte{4, 0}))), ie.CTAG, pdrKind.ref(2)},
		"an SDF filter beside no IP":     {frames("lan", ie.NewEthernetPacketFilter(ie.NewEthertype(0x88b5), ie.NewSDFFilter("", "\x10\x20", "", "", 0))), ie.SDFFilter, pdrKind.ref(2)},
		"a filter that asks for nothing": {frames("lan", ie.NewEthernetPacketFilter()), ie.EthernetPacketFilter, pdrKind.ref(2)},
	} {
		_, err := Plan(NewSet(), message(t, tt.message...), withBridges("internet", "lan", "plant"))
		r, _ := err.(*pfcp.Reject)
		if r == nil || r.Cause != ie.CauseRuleCreationModificationFailure || r.Offending != tt.offending || r.Rule == nil || *r.Rule != *tt.rule {
			t.Errorf("%s: %+v, want %+v refused for IE %d", what, err, tt.rule, tt.offending)
		}
	}
	// While it lasts, a session is of one type and in one place.
	p := withBridges("internet", "lan", "plant")
	ip, err := Plan(NewSet(), message(t, forwards("", "internet", "internet")...), p)
	if err != nil {
		t.Fatal(err)
	}
	ethi := createPDR(9, ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("lan"), ie.NewEthernetPDUSessionInformation(1)))
	if _, err := Plan(ip.Next, message(t, ethi), p); err == nil {
		t.Error("a session of IP becomes one of Ethernet")
	}
	lan, err := Plan(NewSet(), message(t, frames("lan")...), p)
	if err != nil {
		t.Fatal(err)
	}
	move := []*ie.IE{
		ie.NewUpdatePDR(ie.NewPDRID(2), ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance("plant"), ie.NewEthernetPDUSessionInformation(1))),
		ie.NewUpdateFAR(ie.NewFARID(1), ie.NewUpdateForwardingParameters(ie.NewNetworkInstance("plant"))),
	}
	if _, err := Plan(lan.Next, message(t, move...), p); err == nil {
		t.Error("a session moves to another bridge")
	}
}

func TestStationIEs(t *testing.T) {
	plain := func(n uint8) Station { return Station{MAC: MAC{2, 0, 0, 0, 0, n}} }
	tagged := Station{MAC: MAC{2, 0, 0, 0, 0, 7}, HasCTag: true, CVID: 0xabc, HasSTag: true, SVID: 5}
	ies := func(stations ...Station) pfcp.Elements {
		var b pfcp.IEs
		AppendStations(&b, ie.MACAddressesDetected, stations)
		list, err := pfcp.ParseElements(b)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	got := ies(plain(1), tagged, plain(2))
	want := [][]byte{
		{2, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 0},
		{1, 2, 0, 0, 0, 0, 7, 3, 4, 0xa0, 0xbc, 3, 4, 0, 5},
	}
	if len(got) != len(want) {
		t.Fatalf("%d IEs, want %d", len(got), len(want))
	}
	for i := range want {
		if diff := cmp.Diff(want[i], got[i].Value); diff != "" {
			t.Errorf("IE %d (-want +got):\n%s", i, diff)
		}
	}
	if tag, err := ie.ParseCTAGFields(got[1].Value[8:11]); err != nil || tag.CVID&0xff != 0xbc || !tag.HasVID() {
		t.Errorf("its C-TAG is %+v (%v)", tag, err)
	}
	many := make([]Station, 300)
	if n := len(ies(many...)); n != 2 {
		t.Errorf("300 addresses are %d IEs, want 2", n)
	}
	if tagged.String() != "02:00:00:00:00:07 S-VLAN 5 VLAN 2748" {
		t.Errorf("a station reads %q", tagged)
	}
}
