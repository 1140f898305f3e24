package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Framed routes (TS 29.244 5.16, 8.2.109 to 8.2.111): networks behind a UE. They are the session's: what
// comes for them goes where a packet to the UE's address goes, and the UE may send from them.

// framedRoutes reads Framed-Route and Framed-IPv6-Route: those of the PDI or Traffic Endpoint, in place of what it had, as
// its UE IP address is. An IE of length 0 takes them away (5.6.3). Framed-Routing asks for a routing
// protocol where it is not 0 (RFC 2865 5.10), which this UPF does not speak.
func framedRoutes(m *Match, group pfcp.Elements, ref named) error {
	first := true
	for i := range group {
		e := &group[i]
		switch e.Type {
		case ie.FramedRouting:
			if len(e.Value) != 4 {
				return refuse(ref, e.Type, "Framed-Routing of %d octets, want 4", len(e.Value))
			}
			if slices.ContainsFunc(e.Value, func(b byte) bool { return b != 0 }) {
				return refuse(ref, e.Type, "Framed-Routing: this UPF sends and hears no routing packets")
			}
		case ie.FramedRoute, ie.FramedIPv6Route:
			if first {
				m.Routes, first = nil, false
			}
			if len(e.Value) == 0 {
				continue
			}
			p, err := framedRoute(string(e.Value), e.Type == ie.FramedIPv6Route)
			if err != nil {
				return refuse(ref, e.Type, "%v", err)
			}
			if !slices.Contains(m.Routes, p) {
				m.Routes = append(m.Routes, p)
			}
		}
	}
	slices.SortFunc(m.Routes, netip.Prefix.Compare)
	return nil
}

// framedRoute reads the text of RFC 2865 5.22 or RFC 3162 2.5: a prefix, then perhaps a gateway and metrics. The
// gateway is the UE, whatever stands there, and there is no other way whose metric could be less. An IPv4 prefix without a length has that
// of its class.
func framedRoute(text string, v6 bool) (netip.Prefix, error) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return netip.Prefix{}, fmt.Errorf("framed route %q has no prefix", text)
	}
	p, err := netip.ParsePrefix(fields[0])
	if a, e := netip.ParseAddr(fields[0]); err != nil && e == nil && a.Is4() && !v6 {
		bits := 24
		switch b := a.As4()[0]; {
		case b < 128:
			bits = 8
		case b < 192:
			bits = 16
		}
		p, err = netip.PrefixFrom(a, bits), nil
	}
	switch {
	case err != nil:
		return p, fmt.Errorf("framed route %q: want a prefix such as 192.0.2.0/24 or 2001:db8:7::/48 first", text)
	case p.Addr().Is6() != v6:
		return p, fmt.Errorf("framed route %s: its IP version is not the IE's", p)
	case p != p.Masked():
		return p, fmt.Errorf("framed route %s has bits behind its prefix: want %s", p, p.Masked())
	case p.Bits() < 1 || v6 && p.Bits() > 64:
		return p, fmt.Errorf("framed route %s: this UPF takes prefixes of 1 to 32 bits, of IPv6 of 1 to 64", p)
	case p.Addr().IsUnspecified() || p.Addr().IsMulticast() || p.Addr().IsLoopback() || p.Addr().IsLinkLocalUnicast(),
		v6 && netip.MustParsePrefix("::/31").Contains(p.Addr()):
		return p, fmt.Errorf("framed route %s is not of addresses that are forwarded", p)
	}
	return p, nil
}

// Routes are the framed routes of the session.
func (s *Set) Routes() []netip.Prefix {
	var out []netip.Prefix
	for _, m := range s.matches {
		for _, p := range m.Routes {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return out
}

// checkRoutes looks at them as a whole. A PDR on the core side that names the UE IP address and not the routes would be for the
// address alone; upf-u has one answer for both.
func (p *planner) checkRoutes() error {
	n := p.change.Next
	all := n.Routes()
	if len(all) == 0 {
		return nil
	}
	if len(all) > abi.SessionRoutes {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.FramedRoute, Detail: fmt.Sprintf("%d framed routes in a session: this UPF takes %d", len(all), abi.SessionRoutes)}
	}
	v4, v6 := n.UEAddress().IsValid(), n.UEPrefix().IsValid()
	for _, r := range all {
		if r.Addr().Is4() && !v4 {
			return refuse(named{}, ie.FramedRoute, "framed route %s in a session without an IPv4 address", r)
		}
		if r.Addr().Is6() && !v6 {
			return refuse(named{}, ie.FramedIPv6Route, "framed route %s in a session without an IPv6 prefix", r)
		}
	}
	var err error
	for id, r := range n.PDRs.All() {
		n.Matches(r, func(m *Match) {
			has := m.UEAddress.IsValid() || m.UEPrefix.IsValid() || len(m.Routes) > 0
			if err == nil && r.PDI.SourceInterface == Core && has && !slices.Equal(m.Routes, all) {
				err = refuse(named{pdrKind, uint32(id)}, ie.FramedRoute,
					"PDR %d has other framed routes than the session: this UPF wants the same ones beside each UE IP address of its downlink PDRs", id)
			}
		})
	}
	return err
}
