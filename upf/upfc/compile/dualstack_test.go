package compile

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

func withUE(s *session, id uint16, v4, v6 string) *session {
	m := &s.in.Rules.PDRs.Get(id).PDI.Match
	m.UEAddress, m.UEPrefix = netip.Addr{}, netip.Prefix{}
	if v4 != "" {
		m.UEAddress = addr(v4)
	}
	if v6 != "" {
		m.UEPrefix = netip.MustParsePrefix(v6)
	}
	return s
}

func TestUEAddressesOfBothVersions(t *testing.T) {
	for name, tt := range map[string]struct {
		v4, v6 string
		flags  uint8
		bits   uint8
	}{
		"IPv4":   {"10.45.0.1", "", abi.PdrUeIpv4, 0},
		"IPv6":   {"", "2001:db8:45::/56", abi.PdrUeIpv6, 56},
		"IPv4v6": {"10.45.0.1", "2001:db8:45::/64", abi.PdrUeIpv4 | abi.PdrUeIpv6, 64},
	} {
		c := withUE(makeSession().uplink(1, 1).downlink(2, 2), 2, tt.v4, tt.v6).compile(t)
		for _, p := range c.PDRs { // the uplink PDR inherits them
			if p.Flags&(abi.PdrUeIpv4|abi.PdrUeIpv6) != tt.flags || p.UePrefixLen != tt.bits {
				t.Errorf("%s: PDR %d has flags %#x, prefix length %d", name, p.PdrId, p.Flags, p.UePrefixLen)
			}
			if tt.v6 != "" && p.UePrefix != ip("2001:db8:45::") {
				t.Errorf("%s: PDR %d has prefix %v", name, p.PdrId, p.UePrefix)
			}
		}
	}
}

func TestFTEIDOnBothVersionsIsTwoPDRs(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Rules.PDRs.Get(1).PDI.FTEID6 = rules.FTEID{Addr: addr("2001:db8:3::16"), TEID: 7}
	s.in.Rules.PDRs.Get(1).Removal = 6
	c := s.compile(t)
	want := abi.Pdr{Precedence: 1, PdrId: 1, Flags: abi.PdrTeid | abi.PdrRemove, Removal: 6, N3Addr: ip("172.30.3.16"), Teid: 7}
	want6 := want
	want6.Flags |= abi.PdrN3Ipv6
	want6.N3Addr = ip("2001:db8:3::16")
	if diff := cmp.Diff([]abi.Pdr{want, want6}, c.PDRs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrafficEndpointsAreOnePDREach(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Rules.PDRs.Get(1).PDI = rules.PDI{SourceInterface: rules.Access, Endpoints: []uint8{1, 2}}
	s.in.Rules.Endpoints.Put(1, &rules.Endpoint{ID: 1, Match: rules.Match{FTEID: rules.FTEID{Addr: addr("172.30.3.16"), TEID: 7}, QFIs: []uint8{1, 2}}})
	s.in.Rules.Endpoints.Put(2, &rules.Endpoint{ID: 2, Match: rules.Match{FTEID: rules.FTEID{Addr: addr("172.30.3.17"), TEID: 8}, UEAddress: addr("10.45.0.1")}})
	type found struct {
		TEID uint32
		QFI  uint8
	}
	var got []found
	for _, p := range s.compile(t).PDRs {
		got = append(got, found{p.Teid, p.Qfi})
		if p.Flags&abi.PdrUeIpv4 == 0 {
			t.Errorf("PDR with TEID %d is not bound to the session's UE", p.Teid)
		}
	}
	if diff := cmp.Diff([]found{{7, 1}, {7, 2}, {8, 0}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFiltersByIPVersion(t *testing.T) {
	const any, only4, only6 = "permit out 17 from any 53 to assigned", "permit out ip from 8.8.8.0/24 to assigned", "permit out ip from 2001:db8:8::/48 to assigned"
	for name, tt := range map[string]struct {
		v4, v6   string
		filter   string
		sdf4     int
		sdf6     int
		assigned int // bits of the local side
	}{
		"an IPv4 UE, any":       {"10.45.0.1", "", any, 1, 0, 32},
		"an IPv6 UE, any":       {"", "2001:db8:45::/64", any, 0, 1, 64},
		"an IPv4v6 UE, any":     {"10.45.0.1", "2001:db8:45::/64", any, 1, 1, 64},
		"an IPv4v6 UE, IPv4":    {"10.45.0.1", "2001:db8:45::/64", only4, 1, 0, 32},
		"an IPv4v6 UE, IPv6":    {"10.45.0.1", "2001:db8:45::/64", only6, 0, 1, 64},
		"an IPv4 UE, IPv6":      {"10.45.0.1", "", only6, 0, 0, 0},
		"no UE is known, any":   {"", "", any, 1, 1, 0},
		"no UE is known, IPv6":  {"", "", only6, 0, 1, 0},
		"an IPv6 UE, 0.0.0.0/0": {"", "2001:db8:45::/64", "permit out ip from 0.0.0.0/0 to any", 0, 0, 0},
	} {
		c := withUE(makeSession().downlink(1, 1, tt.filter), 1, tt.v4, tt.v6).compile(t)
		p := c.PDRs[0]
		if p.Flags&abi.PdrSdf == 0 || int(p.SdfCount) != tt.sdf4 || int(p.Sdf6Count) != tt.sdf6 || len(c.SDFs) != tt.sdf4 || len(c.SDF6s) != tt.sdf6 {
			t.Errorf("%s: PDR %+v with %d and %d filters, want %d and %d", name, p, len(c.SDFs), len(c.SDF6s), tt.sdf4, tt.sdf6)
			continue
		}
		if tt.sdf6 > 0 && int(c.SDF6s[0].LocalLen) != tt.assigned {
			t.Errorf("%s: assigned is %+v", name, c.SDF6s[0])
		}
	}
}

func TestIPv6Filter(t *testing.T) {
	s := withUE(makeSession().downlink(1, 1, "permit in 58 from assigned to 2001:db8:8::/48"), 1, "", "2001:db8:45::/64")
	f := &s.in.Rules.PDRs.Get(1).PDI.Filters[0]
	f.HasToS, f.ToS, f.ToSMask = true, 0xff, 0xfc
	f.HasSPI, f.SPI = true, 9
	f.HasFlowLabel, f.FlowLabel = true, 0xabcde
	want := []abi.Sdf6{{RemoteAddr: ip("2001:db8:8::"), RemoteLen: 48, LocalAddr: ip("2001:db8:45::"), LocalLen: 64, FlowLabel: 0xabcde,
		RemotePortHi: 65535, LocalPortHi: 65535, Spi: 9, Flags: abi.SdfProto | abi.SdfTos | abi.SdfSpi | abi.SdfFlowLabel, Proto: 58, Tos: 0xfc, TosMask: 0xfc}}
	if diff := cmp.Diff(want, s.compile(t).SDF6s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A flow label is IPv6's: the filter matches no IPv4 packet.
	if c := withUE(s, 1, "10.45.0.1", "").compile(t); len(c.SDFs)+len(c.SDF6s) != 0 || c.PDRs[0].Flags&abi.PdrSdf == 0 {
		t.Errorf("filters %+v %+v of an IPv4 UE", c.SDFs, c.SDF6s)
	}
}

func TestApplications(t *testing.T) {
	s := makeSession().downlink(1, 1)
	s.in.Rules.PDRs.Get(1).PDI.Application = "video"
	s.in.Applications = func(id string) *rules.ApplicationPFDs {
		if id != "video" {
			return nil
		}
		a, _ := rules.ParseFlow("permit out 17 from 10.9.0.0/16 443 to assigned")
		b, _ := rules.ParseFlow("permit out 6 from 10.9.0.0/16 80,443 to assigned")
		return &rules.ApplicationPFDs{Flows: []rules.Flow{*a, *b}}
	}
	if c := s.compile(t); c.PDRs[0].SdfCount != 3 || c.PDRs[0].Flags&abi.PdrSdf == 0 {
		t.Errorf("PDR %+v, want three filters", c.PDRs[0])
	}
	// One that is not described any more matches nothing, instead of everything.
	s.in.Rules.PDRs.Get(1).PDI.Application = "gone"
	if c := s.compile(t); c.PDRs[0].SdfCount != 0 || c.PDRs[0].Flags&abi.PdrSdf == 0 {
		t.Errorf("PDR %+v, want one that matches nothing", c.PDRs[0])
	}
}

// An application with domain names is a number of the session, once, and what its flow descriptions say besides.
func TestApplicationsWithDomains(t *testing.T) {
	s := makeSession().downlink(1, 1).downlink(2, 2).downlink(3, 3).downlink(4, 4)
	flow, _ := rules.ParseFlow("permit out 17 from 10.9.0.0/16 443 to assigned")
	known := map[string]*rules.ApplicationPFDs{
		"video":  {Number: 7, Domains: []rules.Domain{{Name: "video.example"}}},
		"social": {Number: 8, Domains: []rules.Domain{{Name: "social.example"}}, Flows: []rules.Flow{*flow}},
		"flows":  {Number: 9, Flows: []rules.Flow{*flow}},
	}
	s.in.Applications = func(id string) *rules.ApplicationPFDs { return known[id] }
	for id, name := range map[uint16]string{1: "social", 2: "video", 3: "flows", 4: "social"} {
		s.in.Rules.PDRs.Get(id).PDI.Application = name
	}
	c := s.compile(t)
	if diff := cmp.Diff([]abi.Application{{Number: 8}, {Number: 7}}, c.Applications); diff != "" {
		t.Errorf("applications (-want +got):\n%s", diff)
	}
	for i, want := range []struct {
		application uint8
		filters     uint16
	}{{1, 1}, {2, 0}, {0, 1}, {1, 1}} {
		if p := c.PDRs[i]; p.Application != want.application || p.SdfCount != want.filters || p.Flags&abi.PdrSdf == 0 {
			t.Errorf("PDR %d is of application %d with %d filters, want %+v", p.PdrId, p.Application, p.SdfCount, want)
		}
	}
}

func TestMoreApplicationsThanASessionCanHave(t *testing.T) {
	s := makeSession()
	s.in.Applications = func(id string) *rules.ApplicationPFDs {
		return &rules.ApplicationPFDs{Number: uint64(id[0]), Domains: []rules.Domain{{Name: "a.example"}}}
	}
	for i := range uint16(abi.SessionApplications) {
		s.downlink(1+i, uint32(1+i))
		s.in.Rules.PDRs.Get(1 + i).PDI.Application = string([]byte{byte(1 + i)})
	}
	if c := s.compile(t); len(c.Applications) != abi.SessionApplications {
		t.Fatalf("%d applications, want %d", len(c.Applications), abi.SessionApplications)
	}
	s.downlink(100, 100)
	s.in.Rules.PDRs.Get(100).PDI.Application = "too many"
	if err := (&Session{}).Compile(&s.in); err == nil || !strings.Contains(err.Error(), "applications with domain names") {
		t.Errorf("one too many: %v", err)
	}
}
