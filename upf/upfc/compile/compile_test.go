package compile

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/usage"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }
func ip(s string) abi.Addr     { return abi.AddrOf(addr(s)) }
func be(s string) uint32       { return abi.AddrBe(addr(s)) }

type slots = rules.ByID[uint32, uint32]

// session is made fluently: MakeSession().Uplink(1, 255, 7).Downlink(2, 255).Obj().
type session struct{ in Input }

func makeSession() *session {
	set := rules.NewSet()
	set.FARs.Put(1, &rules.FAR{ID: 1, Action: rules.Forward, Forwarding: rules.Forwarding{Destination: rules.Core}})
	set.FARs.Put(2, &rules.FAR{ID: 2, Action: rules.Forward, Forwarding: rules.Forwarding{Destination: rules.Access,
		Outer: rules.Outer{Kind: abi.OhcGtpu4, Addr: addr("172.30.3.100"), TEID: 0x100}}})
	return &session{Input{Rules: set, Local: Local{N3: Addresses{V4: addr("172.30.3.31"), V6: addr("2001:db8:3::31")}}}}
}

func (s *session) uplink(id uint16, precedence uint32, filters ...string) *session {
	s.in.Rules.PDRs.Put(id, &rules.PDR{ID: id, Precedence: precedence, FAR: 1, Removes: true,
		PDI: rules.PDI{SourceInterface: rules.Access, Match: rules.Match{FTEID: rules.FTEID{Addr: addr("172.30.3.16"), TEID: 7}}, Filters: parse(filters)}})
	return s
}

func (s *session) downlink(id uint16, precedence uint32, filters ...string) *session {
	s.in.Rules.PDRs.Put(id, &rules.PDR{ID: id, Precedence: precedence, FAR: 2,
		PDI: rules.PDI{SourceInterface: rules.Core, Match: rules.Match{UEAddress: addr("10.45.0.1")}, Filters: parse(filters)}})
	return s
}

func parse(filters []string) []rules.SDFFilter {
	var out []rules.SDFFilter
	for _, f := range filters {
		flow, err := rules.ParseFlow(f)
		if err != nil {
			panic(err)
		}
		out = append(out, rules.SDFFilter{Description: f, Flow: flow})
	}
	return out
}

func (s *session) compile(t *testing.T) *Session {
	t.Helper()
	c := &Session{}
	err := c.Compile(&s.in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPDRsComeByPrecedence(t *testing.T) {
	c := makeSession().uplink(1, 255).uplink(2, 10).downlink(3, 255).downlink(4, 128).compile(t)
	var order []uint16
	for _, p := range c.PDRs {
		order = append(order, p.PdrId)
	}
	if diff := cmp.Diff([]uint16{2, 4, 1, 3}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUplinkInheritsTheSessionsUEAddress(t *testing.T) {
	c := makeSession().uplink(1, 1).downlink(2, 2).compile(t)
	want := abi.Pdr{Precedence: 1, PdrId: 1, SourceInterface: abi.IfAccess, Flags: abi.PdrTeid | abi.PdrUeIpv4 | abi.PdrRemove,
		N3Addr: ip("172.30.3.16"), Teid: 7, UeAddrBe: be("10.45.0.1")}
	if diff := cmp.Diff(want, c.PDRs[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTunnelsLeaveFromTheSessionsOwnAddress(t *testing.T) {
	c := makeSession().uplink(1, 1).downlink(2, 2).compile(t)
	want := abi.Far{FarId: 2, Action: abi.FarForw, DestinationInterface: abi.IfAccess, Ohc: abi.OhcGtpu4, Bar: abi.None16,
		PeerAddr: ip("172.30.3.100"), LocalAddr: ip("172.30.3.16"), Teid: 0x100, PeerPort: 2152}
	if diff := cmp.Diff(want, c.FARs[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c = makeSession().downlink(2, 2).compile(t); c.FARs[1].LocalAddr != ip("172.30.3.31") {
		t.Errorf("without an F-TEID of its own the session sends from %v, want the default", c.FARs[1].LocalAddr.IP(false))
	}
}

func TestFilters(t *testing.T) {
	c := makeSession().downlink(1, 1, "permit out 17 from 10.0.0.0/8 53,100-200 to assigned 5060", "permit out ip from any to any").compile(t)
	entry := abi.Sdf{RemoteAddrBe: be("10.0.0.0"), RemoteMaskBe: be("255.0.0.0"), LocalAddrBe: be("10.45.0.1"), LocalMaskBe: be("255.255.255.255"),
		RemotePortLo: 53, RemotePortHi: 53, LocalPortLo: 5060, LocalPortHi: 5060, Flags: abi.SdfProto | abi.SdfPorts, Proto: 17}
	second := entry
	second.RemotePortLo, second.RemotePortHi = 100, 200
	want := []abi.Sdf{entry, second, {RemotePortHi: 65535, LocalPortHi: 65535}}
	if diff := cmp.Diff(want, c.SDFs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p := c.PDRs[0]; p.SdfFirst != 0 || p.SdfCount != 3 {
		t.Errorf("PDR has filters %d+%d, want 0+3", p.SdfFirst, p.SdfCount)
	}
}

func TestQERAndURRIndexesAndSlots(t *testing.T) {
	s := makeSession().downlink(1, 1)
	s.in.Rules.QERs.Put(9, &rules.QER{ID: 9, DLClosed: true, QFI: 5})
	s.in.Rules.QERs.Put(4, &rules.QER{ID: 4, HasMBR: true, MBRUL: 1, MBRDL: 2})
	s.in.Rules.URRs.Put(3, &rules.URR{ID: 3})
	s.in.QERSlots, s.in.Meters = slots{{ID: 4, Value: 40}, {ID: 9, Value: 90}}, usage.Meters{{ID: 3, Value: usage.Meter{Slot: 30}}}
	s.in.Rules.PDRs.Get(1).QERs, s.in.Rules.PDRs.Get(1).URRs = []uint32{9, 4}, []uint32{3}
	c := s.compile(t)
	wantQERs := []abi.Qer{{QerId: 4, Slot: 40, MbrUl: 1, MbrDl: 2, Flags: abi.QerMbr}, {QerId: 9, Slot: 90, Flags: abi.QerGateDlClosed, Qfi: 5}}
	if diff := cmp.Diff(wantQERs, c.QERs); diff != "" {
		t.Errorf("QERs (-want +got):\n%s", diff)
	}
	if p := c.PDRs[0]; p.NQer != 2 || p.Qer[0] != 1 || p.Qer[1] != 0 || p.NUrr != 1 || c.URRs[p.Urr[0]].Slot != 30 {
		t.Errorf("PDR %+v with URRs %+v", p, c.URRs)
	}
}

func TestURR(t *testing.T) {
	tests := map[string]struct {
		urr  rules.URR
		want abi.Urr
		in   bool // the PDR applies it
	}{
		"volume":             {rules.URR{MeasureVolume: true}, abi.Urr{QuotaFar: abi.None16}, true},
		"time":               {rules.URR{MeasureTime: true}, abi.Urr{Flags: abi.UrrTimed, QuotaFar: abi.None16}, true},
		"before QoS":         {rules.URR{Info: rules.BeforeQoS}, abi.Urr{Flags: abi.UrrBeforeQos, QuotaFar: abi.None16}, true},
		"FAR of the quota":   {rules.URR{More: &rules.URRMore{HasQuotaFAR: true, QuotaFAR: 2}}, abi.Urr{QuotaFar: 1}, true},
		"quota that is held": {rules.URR{More: &rules.URRMore{HoldingTime: 5}}, abi.Urr{Flags: abi.UrrTimed, QuotaFar: abi.None16}, true},
		"paused":             {rules.URR{Info: rules.Paused}, abi.Urr{QuotaFar: abi.None16}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := makeSession().uplink(1, 1).downlink(2, 2)
			tt.urr.ID, tt.want.UrrId, tt.want.Slot = 3, 3, 30
			s.in.Rules.URRs.Put(3, &tt.urr)
			s.in.Meters.Put(3, usage.Meter{Slot: 30})
			s.in.Rules.PDRs.Get(2).URRs = []uint32{3}
			c := s.compile(t)
			if diff := cmp.Diff([]abi.Urr{tt.want}, c.URRs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p := c.PDRs[1]; (p.NUrr == 1) != tt.in {
				t.Errorf("the PDR applies %d URRs", p.NUrr)
			}
		})
	}
}

func TestSeveralQFIsAreSeveralPDRs(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Rules.PDRs.Get(1).PDI.QFIs = []uint8{5, 6}
	c := s.compile(t)
	if len(c.PDRs) != 2 || c.PDRs[0].Qfi != 5 || c.PDRs[1].Qfi != 6 || c.PDRs[0].Flags&abi.PdrQfi == 0 {
		t.Errorf("PDRs %+v", c.PDRs)
	}
}

func TestTooManyFiltersAreRefused(t *testing.T) {
	s := makeSession()
	ports := "1"
	for p := 2; p <= rules.MaxPortRanges; p++ {
		ports += fmt.Sprint(",", p)
	}
	many := "permit out 6 from any " + ports + " to any " + ports
	s.downlink(1, 1, many, many, many, many).downlink(2, 2, many)
	err := (&Session{}).Compile(&s.in)
	var r *pfcp.Reject
	if !errors.As(err, &r) || r.Cause != ie.CauseNoResourcesAvailable || r.Rule == nil || r.Rule.ID != 2 {
		t.Errorf("error %v, want no resources for PDR 2", err)
	}
}

// The same rules give the same octets, in whatever order maps yield them, and indexes stay within
// their arrays.
func TestCompileIsDeterministic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		s := makeSession()
		for id := range uint16(1 + random.IntN(30)) {
			if s.uplink(id, random.Uint32N(4), "permit out ip from any to assigned"); id%2 == 0 {
				s.downlink(id, random.Uint32N(4))
			}
		}
		a, b := s.compile(t), s.compile(t)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("two compilations differ:\n%s", diff)
		}
		if !slices.IsSortedFunc(a.PDRs, func(p, q abi.Pdr) int { return int(p.Precedence) - int(q.Precedence) }) {
			t.Error("PDRs are not sorted by precedence")
		}
		for _, p := range a.PDRs {
			if int(p.Far) >= len(a.FARs) || int(p.SdfFirst)+int(p.SdfCount) > len(a.SDFs) {
				t.Errorf("PDR %+v points out of the arrays", p)
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	s := makeSession().uplink(1, 255).uplink(3, 128, "permit out ip from 8.8.8.8 to assigned").downlink(2, 255).downlink(4, 128, "permit out ip from 8.8.8.8 to assigned")
	for b.Loop() {
		if err := (&Session{}).Compile(&s.in); err != nil {
			b.Fatal(err)
		}
	}
}
