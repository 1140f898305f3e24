package rules

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

func TestApplyAction(t *testing.T) {
	for name, tt := range map[string]struct {
		value []byte
		want  uint8
		cause uint8
	}{
		"one octet":                    {[]byte{0x02}, Forward, 0},
		"two octets":                   {[]byte{0x02, 0x00}, Forward, 0},
		"drop":                         {[]byte{0x01, 0x00}, Drop, 0},
		"buffer and notify":            {[]byte{0x0c}, Buffer | Notify, 0},
		"none":                         {nil, 0, ie.CauseInvalidLength},
		"nothing to do":                {[]byte{0x00}, 0, ie.CauseMandatoryIEIncorrect},
		"two things at once":           {[]byte{0x06}, 0, ie.CauseMandatoryIEIncorrect},
		"notify without buffering":     {[]byte{0x0a}, 0, ie.CauseMandatoryIEIncorrect},
		"IP multicast accept":          {[]byte{0x22}, 0, ruleFailure},
		"redundant transmission":       {[]byte{0x82}, 0, ruleFailure},
		"elimination of duplicates":    {[]byte{0x02, 0x01}, 0, ruleFailure},
		"report of buffered packets":   {[]byte{0x04, 0x02}, 0, ruleFailure},
		"to a source specific group":   {[]byte{0x02, 0x08}, 0, ruleFailure},
		"duplicate, and nobody to get": {[]byte{0x12}, 0, ie.CauseConditionalIEMissing},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Plan(established(t), message(t, ie.NewUpdateFAR(ie.NewFARID(1), ie.New(ie.ApplyAction, tt.value))), policy())
			var r *pfcp.Reject
			if errors.As(err, &r) {
				if r.Cause != tt.cause {
					t.Errorf("%v, want cause %d", r, tt.cause)
				}
				return
			}
			if tt.cause != 0 || c.Next.FARs.Get(1).Action != tt.want {
				t.Errorf("action %#x, want %#x or cause %d", c.Next.FARs.Get(1).Action, tt.want, tt.cause)
			}
		})
	}
}

func TestOuterHeaderCreation(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("2001:db8::9")
	a4, a6 := v4.AsSlice(), v6.AsSlice()
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	teid, port := []byte{0, 0, 1, 0}, []byte{0x12, 0x34}
	for name, tt := range map[string]struct {
		value   []byte
		want    Outer
		refusal string // "short", or a part of the text
	}{
		"GTP-U over IPv4":            {join([]byte{1, 0}, teid, a4), Outer{abi.OhcGtpu4, v4, 0x100, 0}, ""},
		"GTP-U over IPv6":            {join([]byte{2, 0}, teid, a6), Outer{abi.OhcGtpu6, v6, 0x100, 0}, ""},
		"GTP-U over both":            {join([]byte{3, 0}, teid, a4, a6), Outer{abi.OhcGtpu4, v4, 0x100, 0}, ""},
		"with N19 and N6 Indication": {join([]byte{1, 3}, teid, a4), Outer{abi.OhcGtpu4, v4, 0x100, 0}, ""},
		"UDP over IPv4":              {join([]byte{4, 0}, a4, port), Outer{abi.OhcUdp4, v4, 0, 0x1234}, ""},
		"UDP over IPv6":              {join([]byte{8, 0}, a6, port), Outer{abi.OhcUdp6, v6, 0, 0x1234}, ""},
		"IPv4":                       {join([]byte{16, 0}, a4), Outer{abi.OhcIp4, v4, 0, 0}, ""},
		"IPv6":                       {join([]byte{32, 0}, a6), Outer{abi.OhcIp6, v6, 0, 0}, ""},
		"empty":                      {nil, Outer{}, "short"},
		"no TEID":                    {join([]byte{1, 0}, teid[:3]), Outer{}, "short"},
		"no address":                 {join([]byte{1, 0}, teid, a4[:3]), Outer{}, "short"},
		"no second address":          {join([]byte{3, 0}, teid, a4), Outer{}, "short"},
		"no port":                    {join([]byte{4, 0}, a4, port[:1]), Outer{}, "short"},
		"nothing":                    {[]byte{0, 0}, Outer{}, "one of"},
		"GTP-U and UDP":              {join([]byte{5, 0}, teid, a4, port), Outer{}, "one of"},
		"a VLAN tag":                 {join([]byte{0x41, 0}, teid, a4), Outer{}, "TAG"},
		"a C-TEID":                   {join([]byte{1, 4}, teid, a4), Outer{}, "SSM"},
		"to 0.0.0.0":                 {join([]byte{1, 0}, teid, make([]byte, 4)), Outer{}, "nobody"},
		"to a group":                 {join([]byte{2, 0}, teid, net.ParseIP("ff02::1")), Outer{}, "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseOuterHeader(tt.value)
			switch {
			case tt.refusal == "" && (err != nil || got != tt.want):
				t.Errorf("%+v (%v), want %+v", got, err, tt.want)
			case tt.refusal == "short" && err != errShort:
				t.Errorf("error %v, want that it is too short", err)
			case tt.refusal != "" && tt.refusal != "short" && (err == nil || !strings.Contains(err.Error(), tt.refusal)):
				t.Errorf("error %v, want one with %q", err, tt.refusal)
			}
		})
	}
}

func TestHeaderOfAVersionThatTheUPFDoesNotHave(t *testing.T) {
	p := policy()
	p.HasN3 = func(v6 bool) bool { return !v6 }
	to6 := ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(2), ie.NewForwardingParameters(ie.NewDestinationInterface(0), ie.NewOuterHeaderCreation(0x0200, 1, "", "2001:db8::1", 0, 0, 0)))
	_, err := Plan(established(t), message(t, to6), p)
	var r *pfcp.Reject
	if !errors.As(err, &r) || r.Offending != ie.OuterHeaderCreation || r.Rule == nil || *r.Rule != (pfcp.RuleRef{Type: ie.RuleIDTypeFAR, ID: 9}) {
		t.Errorf("%v, want a refusal because of FAR 9's outer header", err)
	}
}

func TestRedirectInformation(t *testing.T) {
	value := func(kind byte, text string) []byte {
		return append([]byte{kind, byte(len(text) >> 8), byte(len(text))}, text...)
	}
	for name, tt := range map[string]struct {
		value []byte
		want  string
		ok    bool
	}{
		"URL":                    {value(2, "http://portal.example/?a=b"), "http://portal.example/?a=b", true},
		"IPv4 address":           {value(0, "10.0.0.80"), "http://10.0.0.80/", true},
		"IPv6 address":           {value(1, "2001:db8::80"), "http://[2001:db8::80]/", true},
		"IPv4, and IPv6 besides": {append(value(4, "10.0.0.80"), value(0, "2001:db8::80")[1:]...), "http://10.0.0.80/", true},
		"SIP URI":                {value(3, "sip:a@b"), "", false},
		"an unknown kind":        {value(9, "x"), "", false},
		"no URL":                 {value(2, ""), "", false},
		"a URL with a line end":  {value(2, "http://a/\r\nSet-Cookie: x"), "", false},
		"a URL too long":         {value(2, "http://"+strings.Repeat("a", maxURL)), "", false},
		"an address that is not": {value(0, "here"), "", false},
		"cut short":              {value(2, "http://a/")[:8], "", false},
		"empty":                  {nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseRedirect(tt.value)
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("%q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestDuplicatingParameters(t *testing.T) {
	li := func(addr string, more ...*ie.IE) []*ie.IE {
		return append([]*ie.IE{ie.NewDestinationInterface(ie.DstInterfaceLIFunction), ie.NewOuterHeaderCreation(0x0400, 0, addr, "", 9000, 0, 0)}, more...)
	}
	to := func(addr string) Forwarding {
		return Forwarding{Destination: Core, Outer: Outer{abi.OhcUdp4, netip.MustParseAddr(addr), 0, 9000}}
	}
	parameters := ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))
	base := planned(t, established(t), ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(0x12), parameters, ie.NewDuplicatingParameters(li("10.9.0.1")...))).Next
	if diff := cmp.Diff([]Forwarding{to("10.9.0.1")}, base.FARs.Get(9).Duplicates, byValue); diff != "" || base.FARs.Get(9).Action != Forward|Duplicate {
		t.Errorf("action %#x, duplicates (-want +got):\n%s", base.FARs.Get(9).Action, diff)
	}
	update := func(groups ...*ie.IE) *ie.IE { return ie.NewUpdateFAR(append([]*ie.IE{ie.NewFARID(9)}, groups...)...) }
	// One update of the one destination changes what it names.
	next := planned(t, base, update(ie.NewUpdateDuplicatingParameters(ie.NewTransportLevelMarking(0xb8fc)))).Next
	want := to("10.9.0.1")
	want.HasToS, want.ToS, want.ToSMask = true, 0xb8, 0xfc
	if diff := cmp.Diff([]Forwarding{want}, next.FARs.Get(9).Duplicates, byValue); diff != "" {
		t.Errorf("after the update (-want +got):\n%s", diff)
	}
	// Two replace them all.
	next = planned(t, base, update(ie.NewUpdateDuplicatingParameters(li("10.9.0.2")...), ie.NewUpdateDuplicatingParameters(li("10.9.0.3")...))).Next
	if diff := cmp.Diff([]Forwarding{to("10.9.0.2"), to("10.9.0.3")}, next.FARs.Get(9).Duplicates, byValue); diff != "" {
		t.Errorf("after two updates (-want +got):\n%s", diff)
	}
	// An empty one ends the duplication, and only together with the action.
	if r := refused(t, base, update(ie.New(ie.UpdateDuplicatingParameters, nil))); r.Cause != ie.CauseConditionalIEMissing {
		t.Errorf("DUPL with nobody left: %v", r)
	}
	next = planned(t, base, update(ie.NewApplyAction(2), ie.New(ie.UpdateDuplicatingParameters, nil))).Next
	if len(next.FARs.Get(9).Duplicates) != 0 {
		t.Errorf("duplicates %+v", next.FARs.Get(9).Duplicates)
	}
	for name, tt := range map[string]struct {
		far       *ie.IE
		cause     uint8
		offending uint16
	}{
		"without destination interface": {ie.NewCreateFAR(ie.NewFARID(8), ie.NewApplyAction(0x12), parameters, ie.NewDuplicatingParameters()), ie.CauseMandatoryIEMissing, ie.DestinationInterface},
		"with a forwarding policy":      {ie.NewCreateFAR(ie.NewFARID(8), ie.NewApplyAction(0x12), parameters, ie.NewDuplicatingParameters(li("10.9.0.1", ie.NewForwardingPolicy("x"))...)), ie.CauseInvalidForwardingPolicy, ie.ForwardingPolicy},
	} {
		if r := refused(t, base, tt.far); r.Cause != tt.cause || r.Offending != tt.offending {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func TestForwardingParametersThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		ies       []*ie.IE
		cause     uint8
		offending uint16
	}{
		"no destination":        {[]*ie.IE{}, ie.CauseMandatoryIEMissing, ie.DestinationInterface},
		"the CP function":       {[]*ie.IE{ie.NewDestinationInterface(3)}, ruleFailure, ie.DestinationInterface},
		"LI function":           {[]*ie.IE{ie.NewDestinationInterface(4)}, ruleFailure, ie.DestinationInterface},
		"a forwarding policy":   {[]*ie.IE{ie.NewDestinationInterface(1), ie.NewForwardingPolicy("x")}, ie.CauseInvalidForwardingPolicy, ie.ForwardingPolicy},
		"header enrichment":     {[]*ie.IE{ie.NewDestinationInterface(1), ie.NewHeaderEnrichment(0, "a", "b")}, ruleFailure, ie.HeaderEnrichment},
		"proxying":              {[]*ie.IE{ie.NewDestinationInterface(1), ie.NewProxying(1, 1)}, ruleFailure, ie.Proxying},
		"an unknown endpoint":   {[]*ie.IE{ie.NewDestinationInterface(1), ie.NewTrafficEndpointID(3)}, ruleFailure, ie.TrafficEndpointID},
		"a marking cut short":   {[]*ie.IE{ie.NewDestinationInterface(1), ie.New(ie.TransportLevelMarking, []byte{1})}, ie.CauseInvalidLength, ie.TransportLevelMarking},
		"a SIP URI to redirect": {[]*ie.IE{ie.NewDestinationInterface(1), ie.NewRedirectInformation(3, "sip:a@b")}, ruleFailure, ie.RedirectInformation},
	} {
		t.Run(name, func(t *testing.T) {
			r := refused(t, established(t), ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(2), ie.NewForwardingParameters(tt.ies...)))
			if r.Cause != tt.cause || r.Offending != tt.offending {
				t.Errorf("%v, want cause %d because of IE %d", r, tt.cause, tt.offending)
			}
		})
	}
}

func TestEndMarkersGoIntoTheOldTunnel(t *testing.T) {
	tunnel := func(teid uint32, addr string) *ie.IE {
		return ie.NewOuterHeaderCreation(0x0100, teid, addr, "", 0, 0, 0)
	}
	update := func(ies ...*ie.IE) *ie.IE {
		return ie.NewUpdateFAR(ie.NewFARID(1), ie.NewUpdateForwardingParameters(ies...))
	}
	sndem := ie.NewPFCPSMReqFlags(0x02)
	first := planned(t, established(t), update(tunnel(1, "10.0.0.1"), sndem))
	if len(first.EndMarkers) != 0 {
		t.Errorf("End Markers %+v where there was no tunnel", first.EndMarkers)
	}
	if c := planned(t, first.Next, update(tunnel(1, "10.0.0.1"), sndem)); len(c.EndMarkers) != 0 {
		t.Errorf("End Markers %+v into a tunnel that stays", c.EndMarkers)
	}
	if c := planned(t, first.Next, update(tunnel(2, "10.0.0.2"))); len(c.EndMarkers) != 0 {
		t.Errorf("End Markers %+v that nobody asked for", c.EndMarkers)
	}
	c := planned(t, first.Next, update(tunnel(2, "10.0.0.2"), sndem))
	if diff := cmp.Diff([]Outer{{abi.OhcGtpu4, netip.MustParseAddr("10.0.0.1"), 1, 0}}, c.EndMarkers, byValue); diff != "" {
		t.Errorf("End Markers (-want +got):\n%s", diff)
	}
}

func TestFlagsOfAModification(t *testing.T) {
	c := planned(t, established(t), ie.NewPFCPSMReqFlags(0x01))
	if !c.DropBuffered || c.Rules || len(c.Query) != 0 {
		t.Errorf("DROBU gives %+v", c)
	}
	if c = planned(t, established(t), ie.NewPFCPSMReqFlags(0x04)); c.DropBuffered || !cmp.Equal(c.Query, []uint32{1}) {
		t.Errorf("QAURR gives %+v", c)
	}
	if r := refused(t, established(t), ie.NewPFCPSEReqFlags(0x02)); r.Cause != ie.CauseServiceNotSupported || r.Offending != ie.PFCPSEReqFlags {
		t.Errorf("SUMPC of an establishment: %v", r)
	}
	// To pause charging, and not to do it, would bill what is not to be billed.
	for _, flag := range []uint8{0x08, 0x10, 0x20} {
		if r := refused(t, established(t), ie.NewPFCPSMReqFlags(flag)); r.Cause != ie.CauseServiceNotSupported || r.Offending != ie.PFCPSMReqFlags {
			t.Errorf("flag %#x: %v", flag, r)
		}
	}
}

func TestBARs(t *testing.T) {
	create := ie.NewCreateBAR(ie.NewBARID(2), ie.New(ie.DownlinkDataNotificationDelay, []byte{3}), ie.NewSuggestedBufferingPacketsCount(10))
	buffer := ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(0x0c), ie.NewBARID(2))
	base := planned(t, established(t), create, buffer).Next
	if diff := cmp.Diff(&BAR{ID: 2, Delay: 150e6, Packets: 10}, base.BARs.Get(2)); diff != "" || !base.FARs.Get(9).HasBAR || base.FARs.Get(9).BAR != 2 {
		t.Errorf("FAR %+v, BAR (-want +got):\n%s", base.FARs.Get(9), diff)
	}
	update := ie.NewUpdateBAR(ie.UpdateBARWithinSessionModificationRequest, ie.NewBARID(2), ie.New(ie.SuggestedBufferingPacketsCount, nil), ie.New(ie.DownlinkDataNotificationDelay, []byte{1}))
	if next := planned(t, base, update).Next; !cmp.Equal(next.BARs.Get(2), &BAR{ID: 2, Delay: 50e6}) {
		t.Errorf("after the update %+v", next.BARs.Get(2))
	}
	if next := planned(t, base, ie.NewRemoveBAR(ie.NewBARID(2))).Next; len(next.BARs) != 0 || next.FARs.Get(9).HasBAR {
		t.Errorf("after the removal %+v, FAR %+v", next.BARs, next.FARs.Get(9))
	}
	for name, tt := range map[string]struct {
		ie        *ie.IE
		cause     uint8
		offending uint16
	}{
		"without ID":             {ie.NewCreateBAR(), ie.CauseMandatoryIEMissing, ie.BARID},
		"that exists":            {create, ruleFailure, ie.BARID},
		"removal of none":        {ie.NewRemoveBAR(ie.NewBARID(7)), ruleFailure, ie.BARID},
		"a FAR without its BAR":  {ie.NewCreateFAR(ie.NewFARID(8), ie.NewApplyAction(4), ie.NewBARID(7)), ruleFailure, ie.BARID},
		"a delay that is empty":  {ie.NewCreateBAR(ie.NewBARID(3), ie.New(ie.DownlinkDataNotificationDelay, nil)), ie.CauseInvalidLength, ie.DownlinkDataNotificationDelay},
		"the size of small data": {ie.NewCreateBAR(ie.NewBARID(3), ie.New(ie.MTEDTControlInformation, []byte{1})), ruleFailure, ie.MTEDTControlInformation},
	} {
		if r := refused(t, base, tt.ie); r.Cause != tt.cause || r.Offending != tt.offending {
			t.Errorf("%s: %v", name, r)
		}
	}
	many := []*ie.IE{}
	for id := range uint8(abi.SessionBars + 1) {
		many = append(many, ie.NewCreateBAR(ie.NewBARID(id)))
	}
	if r := refused(t, established(t), many...); r.Cause != ie.CauseNoResourcesAvailable || r.Offending != ie.CreateBAR {
		t.Errorf("too many BARs: %v", r)
	}
}

func TestBARInAReportsAnswer(t *testing.T) {
	base := planned(t, established(t), ie.NewCreateBAR(ie.NewBARID(2))).Next
	element := func(value ...byte) *pfcp.Element {
		return &pfcp.Element{Type: ie.UpdateBARWithinSessionReportResponse, Value: value}
	}
	r, err := base.UpdateInReportResponse(element(0, 88, 0, 1, 2, 0, 47, 0, 1, 0x21, 0, 48, 0, 2, 1, 0, 0, 46, 0, 1, 2))
	if err != nil || !cmp.Equal(r, &BAR{ID: 2, Delay: 100e6, Duration: 60e9, Packets: 256}) {
		t.Errorf("%+v (%v)", r, err)
	}
	if base.BARs.Get(2).Duration != 0 {
		t.Error("the rule was changed in place")
	}
	if r, err = base.UpdateInReportResponse(element(0, 88, 0, 1, 9)); r != nil || err != nil {
		t.Errorf("a BAR that is not there: %+v (%v)", r, err)
	}
	if _, err = base.UpdateInReportResponse(element()); err == nil {
		t.Error("without BAR ID")
	}
}

func TestTimerValues(t *testing.T) {
	for v, want := range map[uint8]string{0x05: "10s", 0x21: "1m0s", 0x43: "30m0s", 0x62: "2h0m0s", 0x81: "10h0m0s", 0xff: "0s", 0xa1: "1m0s"} {
		if got := timerValue(v).String(); got != want {
			t.Errorf("timer %#x is %s, want %s", v, got, want)
		}
	}
}
