package rules

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// planned applies IEs to a session and fails the test when they are refused.
func planned(t testing.TB, base *Set, ies ...*ie.IE) *Change {
	t.Helper()
	c, err := Plan(base, message(t, ies...), policy())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refused applies IEs that are to be refused.
func refused(t testing.TB, base *Set, ies ...*ie.IE) *pfcp.Reject {
	t.Helper()
	_, err := Plan(base, message(t, ies...), policy())
	var r *pfcp.Reject
	if !errors.As(err, &r) {
		t.Fatalf("error %v, want a refusal", err)
	}
	return r
}

func createPDR(id uint16, ies ...*ie.IE) *ie.IE {
	return ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(10), ie.NewFARID(1)}, ies...)...)
}

var (
	fromAccess  = ie.NewSourceInterface(ie.SrcInterfaceAccess)
	fromCore    = ie.NewSourceInterface(ie.SrcInterfaceCore)
	removesAny  = ie.NewOuterHeaderRemoval(6, 0)
	n3v4        = net.IP{172, 30, 3, 17}
	n3v6        = net.ParseIP("2001:db8:3::17")
	localV4     = FTEID{Addr: netip.MustParseAddr("172.30.3.17"), TEID: 5}
	localV6     = FTEID{Addr: netip.MustParseAddr("2001:db8:3::17"), TEID: 5}
	ruleFailure = ie.CauseRuleCreationModificationFailure
)

func TestLocalFTEIDs(t *testing.T) {
	for name, tt := range map[string]struct {
		ie     *ie.IE
		v4, v6 FTEID
		chosen bool
	}{
		"IPv4":                  {ie.NewFTEID(0x01, 5, n3v4, nil, 0), localV4, FTEID{}, false},
		"IPv6":                  {ie.NewFTEID(0x02, 5, nil, n3v6, 0), FTEID{}, localV6, false},
		"both, with one TEID":   {ie.NewFTEID(0x03, 5, n3v4, n3v6, 0), localV4, localV6, false},
		"chosen on IPv4":        {ie.NewFTEID(0x05, 0, nil, nil, 0), FTEID{netip.MustParseAddr("172.30.3.16"), 0x80000001}, FTEID{}, true},
		"chosen on IPv6":        {ie.NewFTEID(0x06, 0, nil, nil, 0), FTEID{}, FTEID{netip.MustParseAddr("2001:db8:3::16"), 0x80000001}, true},
		"chosen on both":        {ie.NewFTEID(0x07, 0, nil, nil, 0), FTEID{netip.MustParseAddr("172.30.3.16"), 0x80000001}, FTEID{netip.MustParseAddr("2001:db8:3::16"), 0x80000001}, true},
		"chosen, no IP version": {ie.NewFTEID(0x04, 0, nil, nil, 0), FTEID{netip.MustParseAddr("172.30.3.16"), 0x80000001}, FTEID{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := planned(t, established(t), createPDR(7, ie.NewPDI(fromAccess, tt.ie), removesAny))
			m := c.Next.PDRs.Get(7).PDI.Match
			if m.FTEID != tt.v4 || m.FTEID6 != tt.v6 || m.Chosen != tt.chosen {
				t.Errorf("F-TEIDs %v and %v, chosen %t", m.FTEID, m.FTEID6, m.Chosen)
			}
			if got := len(c.Chosen) == 1; got != tt.chosen {
				t.Errorf("Created PDRs %v", c.Chosen)
			}
		})
	}
}

func TestLocalFTEIDsThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		ie    *ie.IE
		cause uint8
	}{
		"empty":                        {ie.New(ie.FTEID, nil), ie.CauseInvalidLength},
		"without an address":           {ie.NewFTEID(0x00, 5, nil, nil, 0), ruleFailure},
		"cut short":                    {ie.New(ie.FTEID, []byte{0x01, 0, 0, 0, 5, 172, 30}), ie.CauseInvalidLength},
		"TEID cut short":               {ie.New(ie.FTEID, []byte{0x01, 0, 0}), ie.CauseInvalidLength},
		"CHOOSE ID cut short":          {ie.New(ie.FTEID, []byte{0x0d}), ie.CauseInvalidLength},
		"an IPv6 address of another":   {ie.NewFTEID(0x02, 5, nil, net.ParseIP("2001:db8:9::1"), 0), ruleFailure},
		"an IPv4 address of another":   {ie.NewFTEID(0x03, 5, net.IP{10, 0, 0, 1}, n3v6, 0), ruleFailure},
		"the reserved TEID 0":          {ie.NewFTEID(0x02, 0, nil, n3v6, 0), ruleFailure},
		"another version under its ID": {ie.NewFTEID(0x0e, 0, nil, nil, 9), ie.CauseInvalidFTEIDAllocationOption},
	} {
		t.Run(name, func(t *testing.T) {
			first := createPDR(6, ie.NewPDI(fromAccess, ie.NewFTEID(0x0d, 0, nil, nil, 9)), removesAny)
			r := refused(t, established(t), first, createPDR(7, ie.NewPDI(fromAccess, tt.ie), removesAny))
			if r.Cause != tt.cause || r.Offending != ie.FTEID || r.Rule == nil || r.Rule.ID != 7 {
				t.Errorf("%v, want cause %d because of the F-TEID of PDR 7", r, tt.cause)
			}
		})
	}
}

func TestChosenFTEIDStaysInAnUpdate(t *testing.T) {
	choose := ie.NewFTEID(0x05, 0, nil, nil, 0)
	first := planned(t, established(t), createPDR(7, ie.NewPDI(fromAccess, choose), removesAny))
	again := planned(t, first.Next, ie.NewUpdatePDR(ie.NewPDRID(7), ie.NewPDI(fromAccess, choose)))
	if a, b := first.Next.PDRs.Get(7).PDI.FTEID, again.Next.PDRs.Get(7).PDI.FTEID; a != b || len(again.Chosen) != 0 {
		t.Errorf("F-TEID %v, then %v; Created PDRs %v", a, b, again.Chosen)
	}
	// Another IP version is another F-TEID.
	third := planned(t, first.Next, ie.NewUpdatePDR(ie.NewPDRID(7), ie.NewPDI(fromAccess, ie.NewFTEID(0x06, 0, nil, nil, 0))))
	if m := third.Next.PDRs.Get(7).PDI.Match; m.FTEID.IsValid() || !m.FTEID6.IsValid() || len(third.Chosen) != 1 {
		t.Errorf("F-TEIDs %v and %v", m.FTEID, m.FTEID6)
	}
}

func TestFTEIDsThatOneMessageMayAskFor(t *testing.T) {
	var ies []*ie.IE
	for id := range uint16(maxChoices) {
		ies = append(ies, createPDR(100+id, ie.NewPDI(fromAccess, ie.NewFTEID(0x05, 0, nil, nil, 0)), removesAny))
	}
	seen := map[FTEID]bool{}
	for _, r := range planned(t, established(t), ies...).Next.PDRs.All() {
		if f := r.PDI.FTEID; f.IsValid() && seen[f] {
			t.Errorf("%v was chosen twice", f)
		} else {
			seen[f] = true
		}
	}
	ies = append(ies, createPDR(99, ie.NewPDI(fromAccess, ie.NewFTEID(0x05, 0, nil, nil, 0)), removesAny))
	if r := refused(t, established(t), ies...); r.Cause != ie.CauseNoResourcesAvailable || r.Offending != ie.FTEID {
		t.Errorf("one more: %v", r)
	}
}

func TestUEAddresses(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.45.0.1"), netip.MustParsePrefix("2001:db8:45::/64")
	for name, tt := range map[string]struct {
		value  []byte
		v4     netip.Addr
		prefix netip.Prefix
	}{
		"IPv4":                         {[]byte{0x02, 10, 45, 0, 1}, v4, netip.Prefix{}},
		"IPv6 with interface ID":       {append([]byte{0x01}, net.ParseIP("2001:db8:45::1234")...), netip.Addr{}, v6},
		"both":                         {append([]byte{0x03, 10, 45, 0, 1}, net.ParseIP("2001:db8:45::")...), v4, v6},
		"eight bits are delegated":     {append(append([]byte{0x09}, net.ParseIP("2001:db8:45::")...), 8), netip.Addr{}, netip.MustParsePrefix("2001:db8:45::/56")},
		"a prefix length":              {append(append([]byte{0x41}, net.ParseIP("2001:db8:45::")...), 48), netip.Addr{}, netip.MustParsePrefix("2001:db8:45::/48")},
		"as destination of the packet": {[]byte{0x06, 10, 45, 0, 1}, v4, netip.Prefix{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := planned(t, NewSet(), far(1), createPDR(7, ie.NewPDI(fromCore, ie.New(ie.UEIPAddress, tt.value))))
			if m := c.Next.PDRs.Get(7).PDI.Match; m.UEAddress != tt.v4 || m.UEPrefix != tt.prefix || m.UEChosen {
				t.Errorf("UE %v %v, chosen %t; want %v %v", m.UEAddress, m.UEPrefix, m.UEChosen, tt.v4, tt.prefix)
			}
		})
	}
}

func TestUEAddressesThatAreRefused(t *testing.T) {
	v6 := func(flags byte, a string, more ...byte) []byte {
		return append(append([]byte{flags}, net.ParseIP(a)...), more...)
	}
	for name, tt := range map[string]struct {
		value []byte
		cause uint8
	}{
		"empty":                        {nil, ie.CauseInvalidLength},
		"no address":                   {[]byte{0}, ruleFailure},
		"IPv4 cut short":               {[]byte{0x02, 10, 45}, ie.CauseInvalidLength},
		"IPv6 cut short":               {[]byte{0x01, 0x20, 0x01}, ie.CauseInvalidLength},
		"prefix length missing":        {v6(0x41, "2001:db8::"), ie.CauseInvalidLength},
		"delegated bits missing":       {v6(0x09, "2001:db8::"), ie.CauseInvalidLength},
		"more delegated than there is": {v6(0x09, "2001:db8::", 65), ruleFailure},
		"a single IPv6 address":        {v6(0x41, "2001:db8::", 128), ruleFailure},
		"a prefix of no length":        {v6(0x41, "2001:db8::", 0), ruleFailure},
		"a prefix beyond 128":          {v6(0x41, "2001:db8::", 129), ruleFailure},
		"0.0.0.0":                      {[]byte{0x02, 0, 0, 0, 0}, ruleFailure},
		"multicast":                    {[]byte{0x02, 224, 0, 0, 1}, ruleFailure},
		"IPv6 multicast":               {v6(0x01, "ff02::1"), ruleFailure},
		"link-local":                   {v6(0x01, "fe80::1"), ruleFailure},
	} {
		t.Run(name, func(t *testing.T) {
			r := refused(t, NewSet(), far(1), createPDR(7, ie.NewPDI(fromCore, ie.New(ie.UEIPAddress, tt.value))))
			if r.Cause != tt.cause || r.Offending != ie.UEIPAddress || r.Rule == nil || r.Rule.ID != 7 {
				t.Errorf("%v, want cause %d because of PDR 7's UE IP address", r, tt.cause)
			}
		})
	}
}

func TestUEAddressesChosenHere(t *testing.T) {
	chooses := ie.New(ie.UEIPAddress, []byte{0x30}) // CHV4, CHV6
	internet := ie.NewNetworkInstance("internet")
	// Only the downlink PDR stands in the network instance that has the pool.
	c := planned(t, NewSet(), far(1),
		createPDR(1, ie.NewPDI(fromAccess, ie.NewNetworkInstance("n3"), ie.NewFTEID(0x01, 5, n3v4, nil, 0), chooses), removesAny),
		createPDR(2, ie.NewPDI(fromCore, internet, chooses)))
	for _, id := range []uint16{1, 2} {
		m := c.Next.PDRs.Get(id).PDI.Match
		if m.UEAddress.String() != "10.60.0.1" || m.UEPrefix.String() != "2001:db8:60::/64" || !m.UEChosen {
			t.Errorf("PDR %d has UE %v %v", id, m.UEAddress, m.UEPrefix)
		}
	}
	if diff := cmp.Diff([]uint16{1, 2}, c.Chosen); diff != "" {
		t.Errorf("Created PDRs (-want +got):\n%s", diff)
	}
	// A PDR that comes later is given the same, without another allocation.
	none := policy()
	none.ChooseUE = nil
	later, err := Plan(c.Next, message(t, createPDR(3, ie.NewPDI(fromCore, internet, chooses))), none)
	if err != nil || later.Next.PDRs.Get(3).PDI.UEAddress != c.Next.UEAddress() {
		t.Errorf("PDR 3: %v, want the session's address", err)
	}
	if r := refused(t, NewSet(), far(1), createPDR(2, ie.NewPDI(fromCore, ie.NewNetworkInstance("ims"), chooses))); r.Cause != pfcp.CauseAllAddressesOccupied || r.Offending != ie.UEIPAddress {
		t.Errorf("without a pool for it: %v", r)
	}
	_, err = Plan(NewSet(), message(t, far(1), createPDR(2, ie.NewPDI(fromCore, internet, chooses))), none)
	var r *pfcp.Reject
	if !errors.As(err, &r) || r.Cause != ie.CauseNoResourcesAvailable || r.Offending != ie.UEIPAddress {
		t.Errorf("without any pool: %v", err)
	}
}

func TestSourceInterfaces(t *testing.T) {
	tunnel := ie.NewFTEID(0x01, 5, n3v4, nil, 0)
	for si, want := range map[uint8]int{0: int(Access), 1: int(Core), 2: int(Core), 3: -1, 4: -1, 9: -1} {
		_, err := Plan(established(t), message(t, createPDR(7, ie.NewPDI(ie.NewSourceInterface(si), tunnel), removesAny)), policy())
		var r *pfcp.Reject
		if errors.As(err, &r) != (want < 0) || want < 0 && (r.Offending != ie.SourceInterface || r.Rule.ID != 7) {
			t.Errorf("source interface %d: %v", si, err)
		}
	}
}

func TestInterfaceTypeIsNotNeededAndAccepted(t *testing.T) {
	n6 := ie.NewTGPPInterfaceType(ie.TGPPInterfaceTypeN6)
	for name, ies := range map[string][]*ie.IE{"absent": {fromCore}, "N6": {fromCore, n6}} {
		c := planned(t, established(t), createPDR(7, ie.NewPDI(ies...)),
			ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(2), ie.NewForwardingParameters(append([]*ie.IE{ie.NewDestinationInterface(1)}, ies[1:]...)...)))
		if c.Next.PDRs.Get(7).PDI.SourceInterface != Core || c.Next.FARs.Get(9).Destination != Core {
			t.Errorf("%s: %+v", name, c.Next.PDRs.Get(7))
		}
	}
}

func TestOuterHeaderRemoval(t *testing.T) {
	v4, v6, both := ie.NewFTEID(0x01, 5, n3v4, nil, 0), ie.NewFTEID(0x02, 5, nil, n3v6, 0), ie.NewFTEID(0x03, 5, n3v4, n3v6, 0)
	for name, tt := range map[string]struct {
		pdi     *ie.IE
		removal uint8
		ok      bool
	}{
		"GTP-U/UDP/IPv4 of an IPv4 F-TEID": {ie.NewPDI(fromAccess, v4), 0, true},
		"GTP-U/UDP/IPv6 of an IPv6 F-TEID": {ie.NewPDI(fromAccess, v6), 1, true},
		"GTP-U/UDP/IP of either":           {ie.NewPDI(fromAccess, both), 6, true},
		"GTP-U/UDP/IPv6 of an IPv4 F-TEID": {ie.NewPDI(fromAccess, v4), 1, false},
		"GTP-U/UDP/IPv4 of an IPv6 F-TEID": {ie.NewPDI(fromAccess, v6), 0, false},
		"UDP/IPv4 of a tunnel":             {ie.NewPDI(fromAccess, v4), 2, false},
		"UDP/IPv4 on N6":                   {ie.NewPDI(fromCore), 2, true},
		"UDP/IPv6 on N6":                   {ie.NewPDI(fromCore), 3, true},
		"IPv4 on N6":                       {ie.NewPDI(fromCore), 4, true},
		"IPv6 on N6":                       {ie.NewPDI(fromCore), 5, true},
		"GTP-U where there is none":        {ie.NewPDI(fromCore), 0, false},
		"VLAN S-TAG":                       {ie.NewPDI(fromCore), 7, false},
		"S-TAG and C-TAG":                  {ie.NewPDI(fromCore), 8, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Plan(established(t), message(t, createPDR(7, tt.pdi, ie.NewOuterHeaderRemoval(tt.removal, 0))), policy())
			var r *pfcp.Reject
			if errors.As(err, &r) == tt.ok || !tt.ok && r.Offending != ie.OuterHeaderRemoval {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestUnsupportedIEsOfAPDR(t *testing.T) {
	for name, tt := range map[string]struct {
		pdr, pdi  []*ie.IE
		cause     uint8
		offending uint16
	}{
		"a predefined rule":                {[]*ie.IE{ie.NewActivatePredefinedRules("gold")}, nil, pfcp.CauseUnknownPredefinedRule, ie.ActivatePredefinedRules},
		"a predefined rule to end":         {[]*ie.IE{ie.NewDeactivatePredefinedRules("gold")}, nil, pfcp.CauseUnknownPredefinedRule, ie.DeactivatePredefinedRules},
		"a MAR":                            {[]*ie.IE{ie.NewMARID(1)}, nil, ruleFailure, ie.MARID},
		"an activation time":               {[]*ie.IE{ie.New(ie.ActivationTime, []byte{0, 0, 0, 1})}, nil, ruleFailure, ie.ActivationTime},
		"an empty Ethernet packet filter":  {nil, []*ie.IE{ie.New(ie.EthernetPacketFilter, nil)}, ruleFailure, ie.EthernetPacketFilter},
		"a local ingress tunnel":           {nil, []*ie.IE{ie.New(localIngressTunnel, []byte{0})}, ruleFailure, localIngressTunnel},
		"an empty Application ID":          {nil, []*ie.IE{ie.NewApplicationID("")}, ruleFailure, ie.ApplicationID},
		"an unknown application":           {nil, []*ie.IE{ie.NewApplicationID("chess")}, pfcp.CauseUnknownApplicationID, ie.ApplicationID},
		"an application and a filter":      {nil, []*ie.IE{ie.NewApplicationID("video"), ie.NewSDFFilter("permit out ip from any to any", "", "", "", 0)}, ruleFailure, ie.ApplicationID},
		"a Traffic Endpoint and an F-TEID": {nil, []*ie.IE{ie.NewTrafficEndpointID(1), ie.NewFTEID(1, 5, n3v4, nil, 0)}, ruleFailure, ie.FTEID},
		"a Traffic Endpoint that is not":   {nil, []*ie.IE{ie.NewTrafficEndpointID(1)}, ruleFailure, ie.TrafficEndpointID},
	} {
		t.Run(name, func(t *testing.T) {
			pdi := ie.NewPDI(append([]*ie.IE{fromCore}, tt.pdi...)...)
			r := refused(t, established(t), createPDR(7, append([]*ie.IE{pdi}, tt.pdr...)...))
			if r.Cause != tt.cause || r.Offending != tt.offending || r.Rule == nil || r.Rule.ID != 7 {
				t.Errorf("%v, want cause %d because of IE %d", r, tt.cause, tt.offending)
			}
		})
	}
}

func TestUnknownOptionalIEsAreIgnored(t *testing.T) {
	unknown, vendor := ie.New(0x7123, []byte{1, 2, 3}), ie.NewVendorSpecificIE(0x8001, 10415, []byte{9})
	planned(t, established(t), unknown, vendor,
		createPDR(7, ie.NewPDI(fromCore, unknown, vendor), unknown),
		ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(1), unknown),
		ie.NewCreateQER(ie.NewQERID(9), ie.NewGateStatus(0, 0), unknown),
		ie.NewCreateBAR(ie.NewBARID(9), unknown))
}

func TestRulesOfOtherSortsAreRefused(t *testing.T) {
	for _, ieType := range unsupportedRules {
		if r := refused(t, established(t), ie.New(ieType, nil)); r.Cause != ie.CauseServiceNotSupported || r.Offending != ieType {
			t.Errorf("IE %d: %v", ieType, r)
		}
	}
}

// TS 29.244 5.6.3: an IE of length 0 takes the parameter away.
func TestEmptyIEsRemoveParameters(t *testing.T) {
	empty := func(t uint16) *ie.IE { return ie.New(t, nil) }
	base := planned(t, established(t),
		ie.NewUpdateFAR(ie.NewFARID(1), ie.NewUpdateForwardingParameters(ie.NewOuterHeaderCreation(0x0100, 1, "10.0.0.1", "", 0, 0, 0),
			ie.NewTransportLevelMarking(0xb8fc), ie.NewNetworkInstance("n3"), ie.NewRedirectInformation(2, "http://a/"))),
		ie.NewUpdateQER(ie.NewQERID(1), ie.NewGBR(1, 2), ie.NewRQI(1), ie.NewPagingPolicyIndicator(3), ie.NewQERCorrelationID(5), ie.New(ie.DLFlowLevelMarking, []byte{1, 0x28, 0xfc})),
	).Next
	if f, q := base.FARs.Get(1), base.QERs.Get(1); f.Redirect == "" || !f.HasToS || !q.HasGBR || !q.RQI || !q.HasPPI || !q.HasToS || q.CorrelationID != 5 {
		t.Fatalf("FAR %+v, QER %+v", f, q)
	}
	next := planned(t, base,
		ie.NewUpdatePDR(ie.NewPDRID(1), empty(ie.QERID), empty(ie.URRID)),
		ie.NewUpdateFAR(ie.NewFARID(1), ie.NewUpdateForwardingParameters(empty(ie.OuterHeaderCreation), empty(ie.TransportLevelMarking), empty(ie.NetworkInstance), empty(ie.RedirectInformation))),
		ie.NewUpdateQER(ie.NewQERID(1), empty(ie.MBR), empty(ie.GBR), empty(ie.QFI), empty(ie.RQI), empty(ie.PagingPolicyIndicator), empty(ie.QERCorrelationID), empty(ie.DLFlowLevelMarking)),
	).Next
	if r := next.PDRs.Get(1); len(r.QERs) != 0 || len(r.URRs) != 0 {
		t.Errorf("PDR %+v", r)
	}
	if diff := cmp.Diff(&FAR{ID: 1, Action: Forward, Forwarding: Forwarding{Destination: Access}}, next.FARs.Get(1), byValue); diff != "" {
		t.Errorf("FAR (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&QER{ID: 1}, next.QERs.Get(1)); diff != "" {
		t.Errorf("QER (-want +got):\n%s", diff)
	}
	// In a Create the same is only too short.
	if r := refused(t, base, ie.NewCreateQER(ie.NewQERID(2), ie.NewGateStatus(0, 0), empty(ie.MBR))); r.Cause != ie.CauseInvalidLength || r.Offending != ie.MBR {
		t.Errorf("empty MBR in Create QER: %v", r)
	}
}
