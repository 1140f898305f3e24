package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
)

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// framedPDR is the PDR 1 of established, with framed routes beside its UE's addresses of both versions.
func framedPDR(ies ...*ie.IE) *ie.IE {
	ies = append([]*ie.IE{fromCore, ie.NewUEIPAddress(3, "10.45.0.1", "2001:db8:1::", 0, 0)}, ies...)
	return ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewPDI(ies...))
}

func TestFramedRoutes(t *testing.T) {
	s := planned(t, established(t), framedPDR(ie.NewFramedRouting(0),
		ie.NewFramedRoute("192.168.7.0/24 0.0.0.0 1"), ie.NewFramedRoute("172.16.0.0"), ie.NewFramedRoute("192.168.7.0/24"),
		ie.NewFramedIPv6Route("2001:db8:7::/48 :: 1"))).Next
	if want := prefixes("172.16.0.0/16", "192.168.7.0/24", "2001:db8:7::/48"); !slices.Equal(s.Routes(), want) {
		t.Errorf("routes %v, want %v", s.Routes(), want)
	}
	// Another PDI has others; an empty IE takes them away.
	s = planned(t, s, framedPDR(ie.NewFramedRoute("192.168.8.0/24"))).Next
	if want := prefixes("192.168.8.0/24"); !slices.Equal(s.Routes(), want) {
		t.Errorf("routes %v, want %v", s.Routes(), want)
	}
	if got := planned(t, s, framedPDR(ie.New(ie.FramedRoute, nil))).Next.Routes(); len(got) != 0 {
		t.Errorf("routes %v, want none", got)
	}
}

func TestFramedRoutesOfATrafficEndpoint(t *testing.T) {
	s := planned(t, NewSet(), far(1),
		endpointIE(1, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0), ie.NewFramedRoute("192.168.7.0/24")),
		createPDR(1, ie.NewPDI(fromCore, ie.NewTrafficEndpointID(1)))).Next
	if want := prefixes("192.168.7.0/24"); !slices.Equal(s.Routes(), want) {
		t.Errorf("routes %v, want %v", s.Routes(), want)
	}
}

func TestFramedRoutesThatAreRefused(t *testing.T) {
	many := make([]*ie.IE, abi.SessionRoutes+1)
	for i := range many {
		many[i] = ie.NewFramedRoute(fmt.Sprintf("192.168.%d.0/24", i))
	}
	for name, tt := range map[string]struct {
		ies       []*ie.IE
		cause     uint8
		offending uint16
	}{
		"no prefix":             {[]*ie.IE{framedPDR(ie.NewFramedRoute(" "))}, ruleFailure, ie.FramedRoute},
		"a name":                {[]*ie.IE{framedPDR(ie.NewFramedRoute("lan"))}, ruleFailure, ie.FramedRoute},
		"bits behind":           {[]*ie.IE{framedPDR(ie.NewFramedRoute("192.168.7.1/24"))}, ruleFailure, ie.FramedRoute},
		"everything":            {[]*ie.IE{framedPDR(ie.NewFramedRoute("0.0.0.0/0"))}, ruleFailure, ie.FramedRoute},
		"IPv6 as IPv4":          {[]*ie.IE{framedPDR(ie.NewFramedRoute("2001:db8:7::/48"))}, ruleFailure, ie.FramedRoute},
		"IPv4 as IPv6":          {[]*ie.IE{framedPDR(ie.NewFramedIPv6Route("192.168.7.0/24"))}, ruleFailure, ie.FramedIPv6Route},
		"longer than /64":       {[]*ie.IE{framedPDR(ie.NewFramedIPv6Route("2001:db8:7::/80"))}, ruleFailure, ie.FramedIPv6Route},
		"multicast":             {[]*ie.IE{framedPDR(ie.NewFramedIPv6Route("ff00::/16"))}, ruleFailure, ie.FramedIPv6Route},
		"IPv4-mapped":           {[]*ie.IE{framedPDR(ie.NewFramedIPv6Route("::1:0:0:0/64"))}, ruleFailure, ie.FramedIPv6Route},
		"a routing protocol":    {[]*ie.IE{framedPDR(ie.NewFramedRouting(2))}, ruleFailure, ie.FramedRouting},
		"Framed-Routing, short": {[]*ie.IE{framedPDR(ie.New(ie.FramedRouting, []byte{0}))}, ruleFailure, ie.FramedRouting},
		"too many":              {[]*ie.IE{framedPDR(many...)}, ie.CauseNoResourcesAvailable, ie.FramedRoute},
		"of a version that the UE has not": {[]*ie.IE{ie.NewUpdatePDR(ie.NewPDRID(1),
			ie.NewPDI(fromCore, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0), ie.NewFramedIPv6Route("2001:db8:7::/48")))}, ruleFailure, ie.FramedIPv6Route},
		"of one PDR of two": {[]*ie.IE{framedPDR(ie.NewFramedRoute("192.168.7.0/24")),
			createPDR(7, ie.NewPDI(fromCore, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0)))}, ruleFailure, ie.FramedRoute},
	} {
		t.Run(name, func(t *testing.T) {
			if r := refused(t, established(t), tt.ies...); r.Cause != tt.cause || r.Offending != tt.offending {
				t.Errorf("%v, want cause %d because of IE %d", r, tt.cause, tt.offending)
			}
		})
	}
}
