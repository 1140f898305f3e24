package n4

import (
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// framedRoutes are the networks behind the UE, which stand beside its address in each PDR for downlink packets (TS 29.244 5.16): that they are the
// UE's, too, and may be what uplink packets come from, the unit knows by that. The text is that of RFC 2865 5.22 and RFC 3162 2.5, with the UE as
// the gateway.
func framedRoutes(s *record.Session) (ies []*ie.IE) {
	for _, p := range s.Routes {
		if p.Addr().Is4() {
			ies = append(ies, ie.NewFramedRoute(p.String()+" 0.0.0.0 1"))
		} else {
			ies = append(ies, ie.NewFramedIPv6Route(p.String()+" :: 1"))
		}
	}
	return ies
}

// RoutesText are they for people; nil: there are none.
func RoutesText(s *record.Session) (out []string) {
	for _, p := range s.Routes {
		out = append(out, p.String())
	}
	return out
}
