package n4

import (
	"net/netip"
	"slices"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"

	"github.com/wmnsk/go-pfcp/ie"
)

// behind are networks behind a UE, and what upf-u has of them.
var behind = record.Prefixes{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("198.51.100.8/32"), netip.MustParsePrefix("2001:db8:7::/48")}

var behindInUPF = []abi.Route{
	{Addr: abi.AddrOf(netip.MustParseAddr("192.168.7.0")), Len: 24},
	{Addr: abi.AddrOf(netip.MustParseAddr("198.51.100.8")), Len: 32},
	{Addr: abi.AddrOf(netip.MustParseAddr("2001:db8:7::")), Len: 48, Ip6: 1},
}

// Networks behind the UE are in upf-u from the session's first rule to its last, with whatever flow comes, when all is told again, and when the session is
// restored, also from what another pod has read.
func TestFramedRoutes(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4v6)
	s.Routes = behind
	establish(t, smf, s)
	has := func(when string) {
		t.Helper()
		if got := only(t, u).Routes; !slices.Equal(got, behindInUPF) {
			t.Errorf("%s: %+v, want %+v", when, got, behindInUPF)
		}
	}
	has("established")
	change := func(when string, all bool, f func()) {
		t.Helper()
		before := s.Clone()
		f()
		ies, err := Modification(before, s, settings, false, all)
		if err != nil {
			t.Fatal(err)
		}
		if err := Modified(smf.Modify(s.UPSEID, ies...)); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		has(when)
	}
	change("active", false, func() { s.Phase, s.Downlink = record.Active, gnb })
	change("with a flow", false, func() {
		s.Flows = append(s.Flows, Versioned(record.Flow{QFI: 2, FiveQI: 1, Name: "voice", Priority: 2}, settings))
	})
	change("all told again", true, func() {})
	change("without the flow", false, func() { s.Flows = s.Flows[:1] })

	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	smf.Delete(s.UPSEID)
	if s, err = record.Decode(b); err != nil {
		t.Fatal(err)
	}
	ies, err := Establishment(s, settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := Established(s, smf.Establish(s.CPSEID, Restored(ies)...)); err != nil {
		t.Fatal(err)
	}
	has("restored")
	for _, p := range Readable(s, settings).PDRs {
		want := []string(nil)
		if p.SourceInterface == coreSide {
			want = []string{"192.168.7.0/24", "198.51.100.8/32", "2001:db8:7::/48"}
		}
		if !slices.Equal(p.FramedRoutes, want) {
			t.Errorf("PDR %d from %s shows %v, want %v", p.ID, p.SourceInterface, p.FramedRoutes, want)
		}
	}
}

// What is said to a unit is a text of RFC 2865 or RFC 3162, with the UE as the gateway, for downlink packets alone.
func TestFramedRoutesInWords(t *testing.T) {
	s := session(n1.IPv4v6)
	s.Routes = behind
	ies, err := Establishment(s, settings)
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint16][]string{1: nil, 2: {"192.168.7.0/24 0.0.0.0 1", "198.51.100.8/32 0.0.0.0 1", "2001:db8:7::/48 :: 1"}}
	for _, e := range ies {
		if e.Type != ie.CreatePDR {
			continue
		}
		id, err := e.PDRID()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range e.ChildIEs {
			if x.Type != ie.PDI {
				continue
			}
			for _, y := range x.ChildIEs {
				if y.Type == ie.FramedRoute || y.Type == ie.FramedIPv6Route {
					got = append(got, string(y.Payload))
				}
			}
		}
		if !slices.Equal(got, want[id]) {
			t.Errorf("PDR %d: %q, want %q", id, got, want[id])
		}
		delete(want, id)
	}
	if len(want) != 0 {
		t.Errorf("no PDR for %v", want)
	}
}

// The unit on N3 before the anchor forwards what comes from there and goes there, too.
func TestFramedRoutesOfABranch(t *testing.T) {
	for name, breakouts := range map[string][]string{"an uplink classifier": {"edge"}, "an intermediate unit": nil} {
		t.Run(name, func(t *testing.T) {
			smf, u := unitWith(t, "namedPools: true")
			set := settings
			set.Breakouts = map[string][]netip.Prefix{"edge": {netip.MustParsePrefix("203.0.113.0/24")}}
			s := session(n1.IPv4v6)
			s.IPv4, s.IPv6, s.Uplink = netip.MustParseAddr("10.45.0.9"), netip.MustParsePrefix("2001:db8:45:9::/64"), record.Tunnel{TEID: 0x70, IPv4: netip.MustParseAddr("172.30.3.200")}
			s.Phase, s.Downlink, s.Routes = record.Active, gnb, behind
			s.Branch = &record.Branch{NodeID: "upf.test", CPSEID: 77, Breakouts: breakouts}
			ies, err := BranchEstablishment(s, set)
			if err != nil {
				t.Fatal(err)
			}
			if err := BranchEstablished(s, smf.Establish(s.Branch.CPSEID, ies...)); err != nil {
				t.Fatal(err)
			}
			if got := only(t, u).Routes; !slices.Equal(got, behindInUPF) {
				t.Errorf("%+v, want %+v", got, behindInUPF)
			}
			before := s.Clone()
			s.Phase, s.Downlink = record.Idle, record.Tunnel{}
			if err := Modified(smf.Modify(s.Branch.UPSEID, BranchModification(before, s, set, false, true)...)); err != nil {
				t.Fatal(err)
			}
			if got := only(t, u).Routes; !slices.Equal(got, behindInUPF) {
				t.Errorf("told again: %+v, want %+v", got, behindInUPF)
			}
		})
	}
}
