package compile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/rules"
)

func TestOuterHeaders(t *testing.T) {
	v4, v6 := "10.9.0.1", "2001:db8:9::1"
	for name, tt := range map[string]struct {
		outer rules.Outer
		port  uint16
		local string
	}{
		"GTP-U over IPv4, from the session's F-TEID": {rules.Outer{Kind: abi.OhcGtpu4, Addr: addr(v4), TEID: 9}, 2152, "172.30.3.16"},
		"GTP-U over IPv6, from the UPF's address":    {rules.Outer{Kind: abi.OhcGtpu6, Addr: addr(v6), TEID: 9}, 2152, "2001:db8:3::31"},
		"UDP over IPv4": {rules.Outer{Kind: abi.OhcUdp4, Addr: addr(v4), Port: 9000}, 9000, "172.30.3.16"},
		"UDP over IPv6": {rules.Outer{Kind: abi.OhcUdp6, Addr: addr(v6), Port: 9000}, 9000, "2001:db8:3::31"},
		"IPv4":          {rules.Outer{Kind: abi.OhcIp4, Addr: addr(v4)}, 0, "172.30.3.16"},
		"IPv6":          {rules.Outer{Kind: abi.OhcIp6, Addr: addr(v6)}, 0, "2001:db8:3::31"},
	} {
		s := makeSession().uplink(1, 1)
		s.in.Rules.FARs.Get(2).Outer = tt.outer
		want := abi.Far{FarId: 2, Action: abi.FarForw, Ohc: tt.outer.Kind, PeerPort: tt.port, Teid: tt.outer.TEID,
			PeerAddr: abi.AddrOf(tt.outer.Addr), LocalAddr: ip(tt.local), Bar: abi.None16}
		if diff := cmp.Diff(want, s.compile(t).FARs[1]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLinkedTrafficEndpointIsWhereTunnelsLeaveFrom(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Rules.Endpoints.Put(3, &rules.Endpoint{ID: 3, Match: rules.Match{FTEID: rules.FTEID{Addr: addr("172.30.3.20"), TEID: 1}}})
	s.in.Rules.FARs.Get(2).HasEndpoint, s.in.Rules.FARs.Get(2).Endpoint = true, 3
	if c := s.compile(t); c.FARs[1].LocalAddr != ip("172.30.3.20") {
		t.Errorf("sent from %s", c.FARs[1].LocalAddr.IP(false))
	}
}

func TestDuplicatesStandBehindTheFARs(t *testing.T) {
	s := makeSession().uplink(1, 1)
	f := s.in.Rules.FARs.Get(1)
	f.Action |= rules.Duplicate
	f.Duplicates = []rules.Forwarding{
		{Destination: rules.Core, Outer: rules.Outer{Kind: abi.OhcUdp4, Addr: addr("10.9.0.1"), Port: 9000}},
		{Destination: rules.Core, Outer: rules.Outer{Kind: abi.OhcGtpu4, Addr: addr("10.9.0.2"), TEID: 5}, HasToS: true, ToS: 0xb8, ToSMask: 0xfc},
	}
	c := s.compile(t)
	if len(c.FARs) != 4 || c.FARs[0].DupFirst != 2 || c.FARs[0].DupCount != 2 || c.FARs[0].Action != abi.FarForw|abi.FarDupl || c.FARs[1].DupCount != 0 {
		t.Fatalf("FARs %+v", c.FARs)
	}
	if d := c.FARs[3]; d.Ohc != abi.OhcGtpu4 || d.Teid != 5 || d.Flags != abi.FarTos || d.Tos != 0xb8 || d.TosMask != 0xfc || d.Action != abi.FarForw {
		t.Errorf("second duplicate %+v", d)
	}
	f.Action = rules.Forward // the parameters stay, the action has gone
	if c := s.compile(t); len(c.FARs) != 2 || c.FARs[0].DupCount != 0 {
		t.Errorf("without DUPL: FARs %+v", c.FARs)
	}
}

func TestRedirectURLs(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Rules.FARs.Get(1).Redirect, s.in.Rules.FARs.Get(2).Redirect = "http://one/", "http://number.two/"
	c := s.compile(t)
	for i, want := range []string{"http://one/", "http://number.two/"} {
		f := c.FARs[i]
		if f.Flags&abi.FarRedirect == 0 || c.Text[f.TextFirst:f.TextFirst+f.TextCount] != want {
			t.Errorf("FAR %d redirects to %q", f.FarId, c.Text[f.TextFirst:f.TextFirst+f.TextCount])
		}
	}
}

func TestBARs(t *testing.T) {
	s := makeSession().downlink(1, 1)
	s.in.Rules.BARs.Put(7, &rules.BAR{ID: 7, Delay: 150 * time.Millisecond, Duration: time.Minute, Packets: 20})
	s.in.Rules.BARs.Put(3, &rules.BAR{ID: 3, Duration: 1000 * time.Hour * 24})
	s.in.Rules.FARs.Get(2).HasBAR, s.in.Rules.FARs.Get(2).BAR = true, 7
	c := s.compile(t)
	want := []abi.Bar{{BarId: 3, DurationMs: 1<<32 - 1}, {BarId: 7, DurationMs: 60_000, DelayMs: 150, PacketsMax: 20}}
	if diff := cmp.Diff(want, c.BARs); diff != "" || c.FARs[1].Bar != 1 || c.FARs[0].Bar != abi.None16 {
		t.Errorf("FARs %+v, BARs (-want +got):\n%s", c.FARs, diff)
	}
}

func TestAveragingWindows(t *testing.T) {
	for name, tt := range map[string]struct {
		qer  rules.QER
		want uint32
	}{
		"of an AMBR is the site's":                {rules.QER{ID: 1, HasMBR: true}, 0},
		"of an MBR is the SMF's":                  {rules.QER{ID: 1, HasMBR: true, Window: 500}, 500},
		"of a GBR is the SMF's":                   {rules.QER{ID: 1, HasGBR: true, Window: 500}, 500},
		"of a GBR without one is two seconds":     {rules.QER{ID: 1, HasGBR: true, HasMBR: true}, 2000},
		"without any rate it is of no importance": {rules.QER{ID: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := makeSession().downlink(1, 1)
			s.in.Rules.QERs.Put(1, &tt.qer)
			s.in.QERSlots, s.in.GBRSlots = slots{{ID: 1, Value: 8}}, slots{{ID: 1, Value: 9}}
			if got := s.compile(t).QERs[0].WindowMs; got != tt.want {
				t.Errorf("window of %d ms, want %d", got, tt.want)
			}
		})
	}
}

func TestQERs(t *testing.T) {
	s := makeSession().downlink(1, 1)
	s.in.Rules.QERs.Put(1, &rules.QER{ID: 1, HasGBR: true, GBRUL: 5, GBRDL: 6, RQI: true, HasPPI: true, PPI: 3, HasToS: true, ToS: 0xbb, ToSMask: 0xfc})
	s.in.QERSlots, s.in.GBRSlots = slots{{ID: 1, Value: 8}}, slots{{ID: 1, Value: 9}}
	want := []abi.Qer{{QerId: 1, Slot: 8, GbrUl: 5, GbrDl: 6, GbrSlot: 9, Flags: abi.QerGbr | abi.QerRqi | abi.QerPpi | abi.QerTos, Tos: 0xb8, Ppi: 3, WindowMs: 2000}}
	if diff := cmp.Diff(want, s.compile(t).QERs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEndMarkerLeavesLikeThePackets(t *testing.T) {
	s := makeSession().uplink(1, 1)
	o := rules.Outer{Kind: abi.OhcGtpu4, Addr: addr("10.9.0.1"), TEID: 9}
	want := abi.EndMarker{PeerAddr: ip("10.9.0.1"), LocalAddr: ip("172.30.3.16"), Teid: 9, PeerPort: 2152, Ohc: abi.OhcGtpu4}
	if diff := cmp.Diff(want, EndMarker(s.in.Rules, &o, rules.Access, s.in.Local)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTunnelsOnN9LeaveByN9(t *testing.T) {
	s := makeSession().uplink(1, 1)
	s.in.Local.N9 = Addresses{V4: addr("172.30.9.1")}
	s.in.Rules.FARs.Get(1).Outer = rules.Outer{Kind: abi.OhcGtpu4, Addr: addr("172.30.9.9"), TEID: 9}
	c := s.compile(t)
	if c.FARs[0].LocalAddr != ip("172.30.9.1") || c.FARs[1].LocalAddr != ip("172.30.3.16") {
		t.Errorf("sent from %s to the core and %s to access", c.FARs[0].LocalAddr.IP(false), c.FARs[1].LocalAddr.IP(false))
	}
	// The session's own F-TEID on N9 comes first.
	s.in.Rules.PDRs.Put(2, &rules.PDR{ID: 2, FAR: 2, Removes: true, PDI: rules.PDI{SourceInterface: rules.Core, Match: rules.Match{FTEID: rules.FTEID{Addr: addr("172.30.9.2"), TEID: 8}}}})
	if c = s.compile(t); c.FARs[0].LocalAddr != ip("172.30.9.2") {
		t.Errorf("sent from %s to the core, want the session's own address there", c.FARs[0].LocalAddr.IP(false))
	}
}
