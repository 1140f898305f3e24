package n4

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/metrics"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// unit is upf-c, as it ships, over a stand-in for upf-u.
func unit(t *testing.T) (*fakesmf.SMF, *fakeupfu.UPFU) {
	t.Helper()
	return unitWith(t, `uePools: [{networkInstance: internet, range: 10.45.0.0/24}, {networkInstance: internet, range: "2001:db8:45::/56"}]`)
}

// unitWith a line of upf-c.yaml about pools.
func unitWith(t *testing.T, pools string, networks ...fakeupfu.Network) (*fakesmf.SMF, *fakeupfu.UPFU) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "upf.sock")
	u, err := fakeupfu.StartOf(socket, networks...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Kill)
	c, err := config.Parse([]byte(`
nodeID: upf.test
pfcp: {listen: "127.77.0.1:0", advertise: 127.77.0.1, dataplaneWait: 10s}
heartbeat: {interval: 0s}
n3: {endpoints: [172.30.3.16/28]}
` + pools + `
dataplane: {socket: ` + socket + `}
`))
	if err != nil {
		t.Fatal(err)
	}
	a := agent.New(c, slog.New(slog.DiscardHandler), metrics.NewRecorder(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("agent: %v", err)
		}
	})
	s := fakesmf.New(t, a.Addr())
	s.Associate()
	return s, u
}

var settings = Settings{
	Access: "access", Core: "internet",
	Filters: map[string]Filters{"voice": {Precedence: 10, List: []n1.Filter{
		{ID: 1, Direction: n1.Bidirectional, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17, RemotePorts: n1.PortRange{First: 5060, Last: 5061}},
		{ID: 2, Direction: n1.Downlink, Remote: netip.MustParsePrefix("198.51.100.7/32"), Protocol: -1, LocalPorts: n1.PortRange{First: 7, Last: 7}},
	}}},
}

func session(kind n1.SessionType) *record.Session {
	return &record.Session{
		SUPI: "imsi-208930000000001", ID: 1, DNN: "internet", SST: 1, Type: kind, Phase: record.Establishing, CPSEID: 7,
		AMBR: record.AMBR{Uplink: 1_000_001, Downlink: 2_000_000}, Flows: []record.Flow{{QFI: 1, FiveQI: 9, Priority: 8}},
	}
}

// establish makes the session in the unit.
func establish(t *testing.T, smf *fakesmf.SMF, s *record.Session) {
	t.Helper()
	ies, err := Establishment(s, settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := Established(s, smf.Establish(s.CPSEID, ies...)); err != nil {
		t.Fatal(err)
	}
}

// change has the unit do what makes before into after.
func change(t *testing.T, smf *fakesmf.SMF, before, after *record.Session, endMarkers bool) {
	t.Helper()
	ies, err := Modification(before, after, settings, endMarkers, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(ies) == 0 {
		t.Fatal("nothing to ask for")
	}
	if err := Modified(smf.Modify(after.UPSEID, ies...)); err != nil {
		t.Fatal(err)
	}
}

func only(t *testing.T, u *fakeupfu.UPFU) fakeupfu.Session {
	t.Helper()
	all := u.Sessions()
	if len(all) != 1 {
		t.Fatalf("%d sessions in upf-u, want 1", len(all))
	}
	for _, s := range all {
		return s
	}
	panic("unreachable")
}

var gnb, otherGNB = record.Tunnel{TEID: 0x100, IPv4: netip.MustParseAddr("172.30.3.100")}, record.Tunnel{TEID: 0x200, IPv4: netip.MustParseAddr("172.30.3.101")}

// A session as it is made, goes idle, comes back, is handed over, and ends: what upf-u is to do at each step.
func TestLifeOfASession(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4v6)
	establish(t, smf, s)
	if !netip.MustParsePrefix("10.45.0.0/24").Contains(s.IPv4) || !netip.MustParsePrefix("2001:db8:45::/56").Contains(s.IPv6.Addr()) ||
		s.Uplink.IPv4 != netip.MustParseAddr("172.30.3.16") || s.UPSEID == 0 {
		t.Errorf("the unit has chosen %+v", s)
	}
	action := func() uint32 {
		for _, f := range only(t, u).FARs {
			if f.DestinationInterface == abi.IfAccess {
				return uint32(f.Action)
			}
		}
		t.Fatal("no FAR to the access network")
		return 0
	}
	if got := action(); got != abi.FarBuff {
		t.Errorf("before there is a tunnel: action %#x, want to buffer in silence", got)
	}
	steps := []struct {
		name       string
		change     func(*record.Session)
		endMarkers bool
		action     uint32
		marked     int
	}{
		{"the access network has a tunnel", func(s *record.Session) { s.Phase, s.Downlink = record.Active, gnb }, false, abi.FarForw, 0},
		{"the UE is idle", func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} }, false, abi.FarBuff | abi.FarNocp, 0},
		{"the UE is back", func(s *record.Session) { s.Phase, s.Downlink = record.Active, gnb }, false, abi.FarForw, 0},
		{"it moves to another gNB", func(s *record.Session) { s.Downlink = otherGNB }, true, abi.FarForw, 1},
		{"it is released", func(s *record.Session) { s.Phase = record.Releasing }, false, abi.FarDrop, 1},
	}
	for _, step := range steps {
		before := *s
		step.change(s)
		change(t, smf, &before, s, step.endMarkers)
		if got := action(); got != step.action {
			t.Errorf("%s: action %#x, want %#x", step.name, got, step.action)
		}
		if got := len(u.EndMarkers()); got != step.marked {
			t.Errorf("%s: %d End Markers, want %d", step.name, got, step.marked)
		}
	}
	if ies, err := Modification(s, s, settings, false, false); err != nil || len(ies) != 0 {
		t.Errorf("no difference asks for %v, %v", ies, err)
	}
}

// A unit may have names of its own for the networks that rules speak of, and for its pools.
func TestNamesOfAUnit(t *testing.T) {
	pools := []netip.Prefix{netip.MustParsePrefix("10.61.0.0/24"), netip.MustParsePrefix("2001:db8:61::/56")}
	for name, c := range map[string]struct {
		config string
		names  map[netip.Prefix]string
	}{
		"pools with names":       {`{name: mine, networkInstance: n6, range: 10.61.0.0/24}, {name: six, networkInstance: n6, range: "2001:db8:61::/56"}`, map[netip.Prefix]string{pools[0]: "mine", pools[1]: "six"}},
		"pools without":          {`{networkInstance: n6, range: 10.61.0.0/24}, {networkInstance: n6, range: "2001:db8:61::/56"}`, map[netip.Prefix]string{pools[0]: "", pools[1]: ""}},
		"pools named by network": {`{name: 10.61.0.0/24, networkInstance: n6, range: 10.61.0.0/24}, {name: "2001:db8:61::/56", networkInstance: n6, range: "2001:db8:61::/56"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			smf, _ := unitWith(t, "networkInstances: [n3, n6]\nuePools: ["+c.config+"]")
			set := settings
			set.Pools, set.Units = pools, map[string]Names{"upf.test": {Access: "n3", Core: "n6", Pools: c.names}, "other.test": {Core: "nowhere"}}
			s := session(n1.IPv4v6)
			s.CPSEID, s.Unit.NodeID = 1, "upf.test"
			ies, err := Establishment(s, set)
			if err != nil {
				t.Fatal(err)
			}
			if err := Established(s, smf.Establish(s.CPSEID, ies...)); err != nil {
				t.Fatal(err)
			}
			if !pools[0].Contains(s.IPv4) || !pools[1].Contains(s.IPv6.Addr()) {
				t.Errorf("the UE has %s, %s", s.IPv4, s.IPv6)
			}
			for _, p := range Readable(s, set).PDRs {
				if p.NetworkInstance != map[string]string{accessSide: "n3", coreSide: "n6"}[p.SourceInterface] {
					t.Errorf("PDR %d from %s is of %q", p.ID, p.SourceInterface, p.NetworkInstance)
				}
			}
			after := *s
			after.Downlink = record.Tunnel{TEID: 9, IPv4: netip.MustParseAddr("172.30.3.1")}
			if ies, err = Modification(s, &after, set, false, false); err != nil || len(ies) == 0 {
				t.Fatalf("%v, %v", ies, err)
			}
			if answer := smf.Modify(s.UPSEID, ies...); answer == nil {
				t.Error("the unit does not take a modification by its names")
			}
		})
	}
}

// A unit that was told of no pool chooses from those that it is told with the request, and from no other.
func TestPoolsAreTold(t *testing.T) {
	smf, _ := unitWith(t, "namedPools: true")
	set := settings
	set.Pools = []netip.Prefix{netip.MustParsePrefix("10.61.0.0/24"), netip.MustParsePrefix("2001:db8:61::/56")}
	for _, kind := range []n1.SessionType{n1.IPv4, n1.IPv6, n1.IPv4v6} {
		s := session(kind)
		s.CPSEID = uint64(kind)
		ies, err := Establishment(s, set)
		if err != nil {
			t.Fatal(err)
		}
		if err := Established(s, smf.Establish(s.CPSEID, ies...)); err != nil {
			t.Fatalf("type %d: %v", kind, err)
		}
		if s.IPv4.IsValid() != (kind != n1.IPv6) || s.IPv4.IsValid() && !set.Pools[0].Contains(s.IPv4) ||
			s.IPv6.IsValid() != (kind != n1.IPv4) || s.IPv6.IsValid() && !set.Pools[1].Contains(s.IPv6.Addr()) {
			t.Errorf("type %d: %s, %s", kind, s.IPv4, s.IPv6)
		}
	}
	s := session(n1.IPv4)
	s.CPSEID, s.IPv4 = 9, netip.MustParseAddr("10.99.0.9")
	ies, err := Establishment(s, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range ies {
		if name, err := i.UEIPAddressPoolIdentity(); err == nil {
			t.Errorf("a pool %q for an address that is static", name)
		}
	}
	if err := Established(s, smf.Establish(s.CPSEID, ies...)); err != nil || s.IPv4 != netip.MustParseAddr("10.99.0.9") {
		t.Errorf("%s, %v", s.IPv4, err)
	}
}

// A flow that is added to a live session, changed, and taken away.
func TestFlows(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4)
	establish(t, smf, s)
	plain := only(t, u)
	before := *s
	s.Flows = append([]record.Flow(nil), append(s.Flows, record.Flow{
		QFI: 5, FiveQI: 1, Name: "voice", GFBRUplink: 64_000, GFBRDownlink: 64_000, MFBRUplink: 128_000, MFBRDownlink: 128_000,
	})...)
	change(t, smf, &before, s, false)
	with := only(t, u)
	if len(with.PDRs) != 4 || len(with.QERs) != 3 || len(with.SDFs) < 3 {
		t.Fatalf("%d PDRs, %d QERs, %d filters, want 4, 3 and at least 3", len(with.PDRs), len(with.QERs), len(with.SDFs))
	}
	if with.PDRs[0].Precedence != 10 || with.PDRs[3].Precedence != defaultPrecedence {
		t.Errorf("precedences %d … %d", with.PDRs[0].Precedence, with.PDRs[3].Precedence)
	}
	// Its own guaranteed rate, and not the session's AMBR.
	if with.PDRs[0].NQer != 1 || with.PDRs[3].NQer != 2 {
		t.Errorf("PDRs of the flow and of the default flow have %d and %d QERs, want 1 and 2", with.PDRs[0].NQer, with.PDRs[3].NQer)
	}
	before = *s
	s.Flows = append([]record.Flow(nil), s.Flows...)
	s.Flows[1].MFBRDownlink, s.AMBR.Downlink = 256_000, 3_000_000
	change(t, smf, &before, s, false)
	before = *s
	s.Flows = append([]record.Flow(nil), s.Flows...)
	s.Flows[1].Refused = true
	change(t, smf, &before, s, false)
	if after := only(t, u); len(after.PDRs) != len(plain.PDRs) || len(after.QERs) != len(plain.QERs) || len(after.SDFs) != 0 {
		t.Errorf("%d PDRs, %d QERs, %d filters are left of a flow that is gone", len(after.PDRs), len(after.QERs), len(after.SDFs))
	}
	s.Flows[1].Refused, s.Flows[1].Name, s.Flows[1].Directions = false, "nothing", uint8(n1.Bidirectional)
	if _, err := Establishment(s, settings); err == nil || !strings.Contains(err.Error(), `no flow "nothing"`) {
		t.Errorf("a flow that the Slice has not: %v", err)
	}
	s.Flows[1].Directions = NoDirection
	if ies, err := Establishment(s, settings); err != nil || len(ies) != 9 { // PDN type, two PDRs, two FARs, a BAR, three QERs
		t.Errorf("a flow that the Slice has not, without rules: %d elements, %v", len(ies), err)
	}
}

// A handover that the unit stands in: packets that the source forwards go to the target, until that is over.
func TestRelay(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4)
	establish(t, smf, s)
	before := *s
	s.Phase, s.Downlink = record.Active, gnb
	change(t, smf, &before, s, false)
	plain := only(t, u)
	before = *s
	s.Handover = &record.Handover{Forwarding: otherGNB}
	ies, err := Modification(&before, s, settings, true, false)
	if err != nil {
		t.Fatal(err)
	}
	answer := smf.Modify(s.UPSEID, ies...)
	if err := Modified(answer); err != nil {
		t.Fatal(err)
	}
	if s.Handover.Relay, err = Relayed(answer.CreatedPDR); err != nil || s.Handover.Relay.TEID == s.Uplink.TEID {
		t.Fatalf("the unit relays at %+v, and takes the uplink at %+v: %v", s.Handover.Relay, s.Uplink, err)
	}
	if with := only(t, u); len(with.PDRs) != len(plain.PDRs)+1 || len(with.FARs) != len(plain.FARs)+1 {
		t.Errorf("%d PDRs and %d FARs, want one more of each than %d and %d", len(with.PDRs), len(with.FARs), len(plain.PDRs), len(plain.FARs))
	}
	before = *s
	s.Handover = &record.Handover{Forwarding: gnb, Relay: before.Handover.Relay}
	change(t, smf, &before, s, false)
	lost := *s
	smf.Delete(s.UPSEID)
	establish(t, smf, s) // with all of it
	if s.Uplink != lost.Uplink {
		t.Errorf("the uplink is at %+v, was at %+v", s.Uplink, lost.Uplink)
	}
	before = *s
	s.Handover = nil
	change(t, smf, &before, s, false)
	if after := only(t, u); len(after.PDRs) != len(plain.PDRs) || len(after.FARs) != len(plain.FARs) {
		t.Errorf("%d PDRs and %d FARs are left", len(after.PDRs), len(after.FARs))
	}
	if _, err := Relayed(nil); err == nil {
		t.Error("an answer without a Created PDR is one")
	}
}

// While a handover's target has not the UE, packets wait; a flow that is coming is taken from the UE and not sent to it.
func TestStatesInBetween(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4)
	establish(t, smf, s)
	steps := []struct {
		name   string
		change func(*record.Session)
		action uint32
		pdrs   int
	}{
		{"up", func(s *record.Session) { s.Phase, s.Downlink = record.Active, gnb }, abi.FarForw, 2},
		{"handed over", func(s *record.Session) { s.Handover = &record.Handover{Buffering: true} }, abi.FarBuff, 2},
		{"arrived", func(s *record.Session) { s.Handover, s.Downlink = nil, otherGNB }, abi.FarForw, 2},
		{"a flow comes", func(s *record.Session) {
			s.Flows = append(slices.Clone(s.Flows), Versioned(record.Flow{QFI: 2, FiveQI: 1, Name: "voice", Coming: true}, settings))
		}, abi.FarForw, 3},
		{"it has come", func(s *record.Session) { s.Flows = slices.Clone(s.Flows); s.Flows[1].Coming = false }, abi.FarForw, 4},
		{"its filters are others", func(s *record.Session) { s.Flows = slices.Clone(s.Flows); s.Flows[1].Filters++ }, abi.FarForw, 4},
		{"it is the Slice's no more", func(s *record.Session) { s.Flows = s.Flows[:1] }, abi.FarForw, 2},
	}
	for _, step := range steps {
		before := *s
		step.change(s)
		change(t, smf, &before, s, false)
		got := only(t, u)
		for _, f := range got.FARs {
			if f.DestinationInterface == abi.IfAccess && uint32(f.Action) != step.action {
				t.Errorf("%s: action %#x, want %#x", step.name, f.Action, step.action)
			}
		}
		if len(got.PDRs) != step.pdrs {
			t.Errorf("%s: %d PDRs, want %d", step.name, len(got.PDRs), step.pdrs)
		}
	}
	ies, err := Modification(s, s, settings, false, true)
	if err != nil || len(ies) != 5 { // two PDRs, a FAR, two QERs
		t.Errorf("all of it again is %d elements, %v", len(ies), err)
	}
	if err := Modified(smf.Modify(s.UPSEID, ies...)); err != nil {
		t.Errorf("all of it again: %v", err)
	}
	with := *s
	with.Flows = append(slices.Clone(s.Flows), record.Flow{QFI: 9, Name: "gone", Directions: 3})
	if ies, err := Modification(&with, s, settings, false, false); err != nil || len(ies) != 3 {
		t.Errorf("taking away a flow that the Slice has no more: %d elements, %v", len(ies), err)
	}
	if ies, err := Modification(&with, &with, settings, false, true); err != nil || len(ies) == 0 {
		t.Errorf("a flow that the Slice has no more stays: %d elements, %v", len(ies), err)
	}
}

// A unit that has lost a session makes it again as it was.
func TestRestoredAsItWas(t *testing.T) {
	smf, u := unit(t)
	s := session(n1.IPv4v6)
	establish(t, smf, s)
	s.Phase, s.Downlink = record.Active, gnb
	lost := *s
	smf.Delete(s.UPSEID)
	if len(u.Sessions()) != 0 {
		t.Fatal("the session is still there")
	}
	establish(t, smf, s)
	s.UPSEID = lost.UPSEID // the unit's own, new each time
	if diff := cmp.Diff(&lost, s, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-lost +restored):\n%s", diff)
	}
}

func TestEstablishedRefuses(t *testing.T) {
	cause := ie.NewCause(ie.CauseRequestAccepted)
	seid := ie.NewFSEID(9, []byte{127, 0, 0, 1}, nil)
	created := func(ies ...*ie.IE) *ie.IE { return ie.NewCreatedPDR(append([]*ie.IE{ie.NewPDRID(1)}, ies...)...) }
	teid := ie.NewFTEID(fteidIPv4, 1, []byte{172, 30, 3, 16}, nil, 0)
	for name, c := range map[string]struct {
		ies  []*ie.IE
		want string
	}{
		"nothing":                 {nil, "no cause"},
		"a refusal":               {[]*ie.IE{ie.NewCause(ie.CauseNoResourcesAvailable)}, "cause 75"},
		"no F-SEID":               {[]*ie.IE{cause}, "no UP F-SEID"},
		"no F-TEID":               {[]*ie.IE{cause, seid}, "no F-TEID"},
		"no address":              {[]*ie.IE{cause, seid, created(teid)}, "no IPv4 address"},
		"another than it had":     {[]*ie.IE{cause, seid, created(teid, ie.NewUEIPAddress(ueIPv4, "10.45.0.9", "", 0, 0))}, "10.45.0.9 for a session"},
		"an address that is none": {[]*ie.IE{cause, seid, created(teid, ie.New(ie.UEIPAddress, []byte{ueIPv4, 10}))}, "UE IP Address"},
	} {
		t.Run(name, func(t *testing.T) {
			s := session(n1.IPv4)
			if strings.HasPrefix(name, "another") {
				s.IPv4 = netip.MustParseAddr("10.45.0.1")
			}
			before := *s
			err := Established(s, message.NewSessionEstablishmentResponse(0, 0, 7, 1, 0, c.ies...))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var refusal *Refusal
			if is := errors.As(err, &refusal); is != (name == "a refusal") {
				t.Errorf("%v is a refusal of the unit's: %v", err, is)
			}
			if s.UPSEID != before.UPSEID || s.Uplink != before.Uplink {
				t.Errorf("the session was changed all the same: %+v", s)
			}
		})
	}
}

func TestSDF(t *testing.T) {
	for want, f := range map[string]n1.Filter{
		"permit out ip from any to assigned":                       n1.Any(0),
		"permit out 6 from 192.0.2.0/24 80-81 to assigned":         {Remote: netip.MustParsePrefix("192.0.2.9/24"), Protocol: 6, RemotePorts: n1.PortRange{First: 80, Last: 81}},
		"permit out 17 from 2001:db8::1 53 to assigned 1024-65535": {Remote: netip.MustParsePrefix("2001:db8::1/128"), Protocol: 17, RemotePorts: n1.PortRange{First: 53, Last: 53}, LocalPorts: n1.PortRange{First: 1024, Last: 65535}},
	} {
		if got := SDF(f); got != want {
			t.Errorf("SDF = %q, want %q", got, want)
		}
	}
}
