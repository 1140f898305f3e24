package config

import (
	"math"
	"net/netip"
	"testing"
)

func TestPool(t *testing.T) {
	for block, want := range map[string]struct {
		size        uint64
		first, last string
	}{
		"10.60.0.0/24":     {254, "10.60.0.1/32", "10.60.0.254/32"},
		"10.60.0.0/31":     {2, "10.60.0.0/32", "10.60.0.1/32"},
		"10.60.0.7/32":     {1, "10.60.0.7/32", "10.60.0.7/32"},
		"0.0.0.0/0":        {1<<32 - 2, "0.0.0.1/32", "255.255.255.254/32"},
		"2001:db8:60::/48": {65536, "2001:db8:60::/64", "2001:db8:60:ffff::/64"},
		"2001:db8:60::/64": {1, "2001:db8:60::/64", "2001:db8:60::/64"},
		"::/0":             {math.MaxUint64, "::/64", "ffff:ffff:ffff:fffe::/64"},
	} {
		p := Pool{Range: netip.MustParsePrefix(block)}
		if p.Size() != want.size || p.At(0).String() != want.first || p.At(p.Size()-1).String() != want.last {
			t.Errorf("%s has %d from %s to %s, want %d from %s to %s", block, p.Size(), p.At(0), p.At(p.Size()-1), want.size, want.first, want.last)
		}
	}
}

func TestPeer(t *testing.T) {
	for text, want := range map[string]Peer{
		"10.0.0.9":           {"10.0.0.9", 8805},
		"10.0.0.9:8806":      {"10.0.0.9", 8806},
		"smf.core5g.svc":     {"smf.core5g.svc", 8805},
		"smf.core5g.svc:990": {"smf.core5g.svc", 990},
		"2001:db8::9":        {"2001:db8::9", 8805},
		"[2001:db8::9]:8806": {"2001:db8::9", 8806},
	} {
		var p Peer
		if err := p.UnmarshalText([]byte(text)); err != nil || p != want {
			t.Errorf("%s is %+v (%v), want %+v", text, p, err, want)
		}
	}
}
