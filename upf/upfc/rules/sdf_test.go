package rules

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var byValue = cmp.Options{
	cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}),
	cmpopts.EquateEmpty(),
}

func TestParseFlow(t *testing.T) {
	tests := map[string]struct {
		in        string
		want      *Flow
		wantError string
	}{
		"free5GC's default": {
			in:   "permit out ip from any to assigned",
			want: &Flow{Local: Side{Assigned: true}},
		},
		"one address": {
			in:   "permit out ip from 8.8.8.8 to assigned",
			want: &Flow{Remote: Side{Prefix: netip.MustParsePrefix("8.8.8.8/32")}, Local: Side{Assigned: true}},
		},
		"protocol, prefix with host bits, ports and ranges on both sides": {
			in: "permit out 17 from 10.1.2.3/8 53,1000-2000 to assigned 5060",
			want: &Flow{HasProtocol: true, Protocol: 17,
				Remote: Side{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Ports: []PortRange{{Low: 53, High: 53}, {Low: 1000, High: 2000}}},
				Local:  Side{Assigned: true, Ports: []PortRange{{Low: 5060, High: 5060}}}},
		},
		"a prefix of no bits is any of its version": {
			in:   "permit out 6 from 0.0.0.0/0 to 10.45.0.0/16",
			want: &Flow{HasProtocol: true, Protocol: 6, Remote: Side{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, Local: Side{Prefix: netip.MustParsePrefix("10.45.0.0/16")}},
		},
		"the uplink direction has the sides exchanged": {
			in: "permit in 17 from assigned 5060 to 10.0.0.0/8 53",
			want: &Flow{HasProtocol: true, Protocol: 17, Remote: Side{Prefix: netip.MustParsePrefix("10.0.0.0/8"), Ports: []PortRange{{Low: 53, High: 53}}},
				Local: Side{Assigned: true, Ports: []PortRange{{Low: 5060, High: 5060}}}},
		},
		"IPv6 with a prefix and a single address": {
			in:   "permit out 58 from 2001:db8::1/32 to 2001:db8:1::5",
			want: &Flow{HasProtocol: true, Protocol: 58, Remote: Side{Prefix: netip.MustParsePrefix("2001:db8::/32")}, Local: Side{Prefix: netip.MustParsePrefix("2001:db8:1::5/128")}},
		},
		"protocol 0 is a protocol": {in: "permit out 0 from any to any", want: &Flow{HasProtocol: true}},
		"much white space":         {in: "  permit  out\tip from any   to assigned ", want: &Flow{Local: Side{Assigned: true}}},
		"nothing":                  {in: "", wantError: `"permit" is expected`},
		"deny":                     {in: "deny out ip from any to assigned", wantError: `only "permit"`},
		"a direction that is none": {in: "permit both ip from any to assigned", wantError: `"out" or "in"`},
		"no destination":           {in: "permit out ip from any", wantError: `"to" is expected`},
		"a protocol's name":        {in: "permit out tcp from any to any", wantError: "neither ip nor a number"},
		"a protocol above 255":     {in: "permit out 256 from any to any", wantError: "neither ip nor a number"},
		"both versions":            {in: "permit out ip from 2001:db8::/32 to 10.0.0.1", wantError: "an IPv4 and an IPv6 address"},
		"a zone":                   {in: "permit out ip from fe80::1%eth0 to assigned", wantError: "IP address"},
		"IPv4 in IPv6":             {in: "permit out ip from ::ffff:10.0.0.1 to assigned", wantError: "IP address"},
		"a prefix too long":        {in: "permit out ip from 10.0.0.0/33 to assigned", wantError: "IP address"},
		"a negated address":        {in: "permit out ip from !10.0.0.1 to assigned", wantError: "inverted"},
		"a port above 65535":       {in: "permit out 6 from any 65536 to any", wantError: "65535"},
		"a range that runs back":   {in: "permit out 6 from any 20-10 to any", wantError: "backwards"},
		"an empty port":            {in: "permit out 6 from any 1,,2 to any", wantError: "not a number"},
		"too many ports":           {in: "permit out 6 from any " + strings.Repeat("1,", MaxPortRanges) + "1 to any", wantError: "port ranges"},
		"an option":                {in: "permit out 6 from any to any 80 established", wantError: "option"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseFlow(tt.in)
			if tt.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantError) {
					t.Fatalf("error %v, want one with %q", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, byValue); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseFlow(f *testing.F) {
	for _, s := range []string{
		"permit out ip from any to assigned", "permit out 17 from 10.0.0.0/8 53,1000-2000 to assigned 5060",
		"permit out 6 from 1.2.3.4/33 to any", "permit out ip from any to any 1-",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		flow, err := ParseFlow(s)
		if err != nil {
			return
		}
		for _, side := range []Side{flow.Remote, flow.Local} {
			if side.Assigned && side.Prefix.IsValid() {
				t.Errorf("%q: both assigned and %v", s, side.Prefix)
			}
			if side.Prefix.IsValid() && side.Prefix != side.Prefix.Masked() {
				t.Errorf("%q: %v has host bits", s, side.Prefix)
			}
			if len(side.Ports) > MaxPortRanges {
				t.Errorf("%q: %d port ranges", s, len(side.Ports))
			}
			for _, r := range side.Ports {
				if r.Low > r.High {
					t.Errorf("%q: range %d-%d", s, r.Low, r.High)
				}
			}
		}
	})
}

func FuzzSDFFilterElement(f *testing.F) {
	f.Add([]byte{0x01, 0, 0, 4, 'a', 'b', 'c', 'd'})
	f.Add([]byte{0x1f, 0, 0, 0})
	f.Add([]byte("\x17\x00\x00\x22permit out ip from any to assigned\x10\xfc\x00\x00\x00\x01\x00\x00\x00\x07"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseSDFFilter(b) })
}
