package compile

import (
	"net/netip"
	"slices"
	"testing"

	"core5g.dev/core5g/upf/abi"
)

// What is assigned to a UE with framed routes is its address and the networks behind it: upf-u looks after that.
func TestFramedRoutesAreAssignedToTheUE(t *testing.T) {
	s := makeSession().uplink(1, 255).downlink(2, 255, "permit out ip from 8.8.8.8 to assigned")
	if c := s.compile(t); len(c.Routes) != 0 || c.SDFs[0].LocalMaskBe != be("255.255.255.255") {
		t.Errorf("without framed routes: routes %+v, filter %+v", c.Routes, c.SDFs[0])
	}
	s.in.Rules.PDRs.Get(2).PDI.Routes = []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("2001:db8:7::/48")}
	c := s.compile(t)
	if want := []abi.Route{{Addr: ip("192.168.7.0"), Len: 24}, {Addr: ip("2001:db8:7::"), Len: 48, Ip6: 1}}; !slices.Equal(c.Routes, want) {
		t.Errorf("routes %+v, want %+v", c.Routes, want)
	}
	if f := c.SDFs[0]; f.LocalMaskBe != 0 || f.LocalAddrBe != 0 || f.RemoteAddrBe != be("8.8.8.8") {
		t.Errorf("filter %+v, want one to any local address", f)
	}
	for _, p := range c.PDRs {
		if p.Flags&abi.PdrUeIpv4 == 0 {
			t.Errorf("PDR %+v asks for no address", p)
		}
	}
}
