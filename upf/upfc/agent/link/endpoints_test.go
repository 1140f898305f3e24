package link

import (
	"net/netip"
	"strings"
	"testing"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
)

func TestEndpointsOfBothFiles(t *testing.T) {
	endpoints := func(list ...string) (out config.N3) {
		for _, s := range list {
			out.Endpoints = append(out.Endpoints, config.Endpoint{Prefix: netip.MustParsePrefix(s)})
		}
		return out
	}
	hello := func(blocks [4]string) *abi.Hello {
		h := &abi.Hello{}
		for i, s := range blocks {
			if s != "" {
				p := netip.MustParsePrefix(s)
				h.Endpoint[i] = abi.Endpoint{Addr: abi.AddrOf(p.Addr()), PrefixLen: uint8(p.Bits())}
			}
		}
		return h
	}
	for name, tt := range map[string]struct {
		n3, n9 config.N3
		upfu   [4]string
		want   string // of the error; empty: none
	}{
		"the same":                   {endpoints("172.30.3.16/28"), endpoints(), [4]string{"172.30.3.16/28"}, ""},
		"the same, one by one":       {endpoints("172.30.3.16/32", "172.30.3.17/32"), endpoints(), [4]string{"172.30.3.16/31"}, ""},
		"both versions, and N9":      {endpoints("172.30.3.16/28", "fd00:3::10/124"), endpoints("fd00:9::10/124", "172.30.9.16/28"), [4]string{"172.30.3.16/28", "fd00:3::10/124", "172.30.9.16/28", "fd00:9::10/124"}, ""},
		"upf-c has others":           {endpoints("172.30.3.32/28"), endpoints(), [4]string{"172.30.3.16/28"}, "upf-c.yaml has 172.30.3.32/28 in n3.endpoints, upf-u.yaml has [172.30.3.16/28] in interfaces.n3: write the same in both"},
		"upf-c has more":             {endpoints("172.30.3.0/24"), endpoints(), [4]string{"172.30.3.16/28"}, "upf-c.yaml has 172.30.3.0/24 in n3.endpoints"},
		"upf-c has fewer":            {endpoints("172.30.3.16/29"), endpoints(), [4]string{"172.30.3.16/28"}, "upf-u.yaml has 172.30.3.16/28 in interfaces.n3, upf-c.yaml has [172.30.3.16/29] in n3.endpoints: write the same in both"},
		"upf-c lacks a version":      {endpoints("172.30.3.16/28"), endpoints(), [4]string{"172.30.3.16/28", "fd00:3::10/124"}, "upf-u.yaml has fd00:3::10/124 in interfaces.n3"},
		"upf-c lacks N9":             {endpoints("172.30.3.16/28"), endpoints(), [4]string{"172.30.3.16/28", "", "172.30.9.16/28"}, "upf-u.yaml has 172.30.9.16/28 in interfaces.n9, upf-c.yaml has none in n9.endpoints"},
		"upf-u lacks N9":             {endpoints("172.30.3.16/28"), endpoints("172.30.9.16/28"), [4]string{"172.30.3.16/28"}, "upf-c.yaml has 172.30.9.16/28 in n9.endpoints, upf-u.yaml has none in interfaces.n9"},
		"the interfaces are swapped": {endpoints("172.30.9.16/28"), endpoints("172.30.3.16/28"), [4]string{"172.30.3.16/28", "", "172.30.9.16/28"}, "upf-c.yaml has 172.30.9.16/28 in n3.endpoints"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkEndpoints(&config.Config{N3: tt.n3, N9: tt.n9}, hello(tt.upfu))
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
