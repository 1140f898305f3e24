package agent_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

func TestDownlinkDataReport(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	index, _ := l.only()
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
	if err := l.upfu.DownlinkData(index, 2, 1); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if !r.ReportType.HasDLDR() || r.SEID() != 7 {
		t.Fatalf("report % x for SEID %d, want a Downlink Data Report for 7", r.ReportType.Payload, r.SEID())
	}
	if pdr, err := r.DownlinkDataReport.PDRID(); err != nil || pdr != 2 {
		t.Errorf("PDR %d (%v), want 2", pdr, err)
	}
	info, err := r.DownlinkDataReport.DownlinkDataServiceInformation()
	if err != nil || len(info) != 2 || info[0] != 0x02 || info[1] != 1 {
		t.Errorf("Downlink Data Service Information % x (%v), want QFI 1 alone", info, err)
	}
}

func TestAnswerToAReportIsObeyed(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, append(fakesmf.Phone.Session(), ie.NewCreateBAR(ie.NewBARID(3)))...)
	fakesmf.WantCause(t, s.Modify(seid, ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c), ie.NewBARID(3))).Cause, ie.CauseRequestAccepted)
	index, before := l.only()
	if len(before.BARs) != 1 || before.BARs[0].DurationMs != 0 {
		t.Fatalf("BARs %+v", before.BARs)
	}
	more := []*ie.IE{
		ie.NewUpdateBARWithinSessionReportResponse(ie.NewBARID(3), ie.NewDLBufferingDuration(20*time.Second), ie.NewDLBufferingSuggestedPacketCount(300)),
		ie.NewPFCPSRRspFlags(0x01),
	}
	s.More.Store(&more)
	if err := l.upfu.DownlinkData(index, 2, 0); err != nil {
		t.Fatal(err)
	}
	s.Report()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Dropped()) == 1 }); err != nil {
		t.Fatalf("DROBU is not carried out: %v", err)
	}
	if _, got := l.only(); got.BARs[0].DurationMs != 20_000 || got.BARs[0].PacketsMax != 300 {
		t.Errorf("BAR %+v, want 20 s and 300 packets", got.BARs[0])
	}
	// It is ours, too: another change does not take it back.
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(1, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	if _, got := l.only(); got.BARs[0].DurationMs != 20_000 {
		t.Errorf("BAR %+v after the next modification", got.BARs[0])
	}
}

// Downlink data and an Error Indication that come while upf-c is away are reported by the next one, which
// does not know the sessions before it has read them back.
func TestEventsWhileUPFCIsAway(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	idle := s.Established(7, fakesmf.Phone.Session()...)
	index, _ := l.only()
	active := s.Established(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
	fakesmf.WantCause(t, s.Modify(idle, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
	fakesmf.WantCause(t, s.Modify(active, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	l.stop()
	if err := errors.Join(l.upfu.DownlinkData(index, 2, 0), l.upfu.ErrorIndication(addr("172.30.3.100"), 0x100)); err != nil {
		t.Fatal(err)
	}
	l.startAgent()
	got := map[uint64]bool{}
	for range 2 {
		r := s.Report()
		got[r.SEID()] = r.SEID() == 7 && r.ReportType.HasDLDR() || r.SEID() == 8 && r.ReportType.HasERIR()
	}
	if !got[7] || !got[8] {
		t.Errorf("right reports by CP SEID: %v, want a Downlink Data Report for 7 and an Error Indication Report for 8", got)
	}
}

func nodeReport(t *testing.T, s *fakesmf.SMF) *message.NodeReportRequest {
	t.Helper()
	r, ok := s.Other().(*message.NodeReportRequest)
	if !ok {
		t.Fatal("no Node Report Request")
	}
	return r
}

func TestFailureAndRecoveryOfAGTPUPath(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.GTPU.Echo = config.Echo{Interval: 300 * time.Millisecond, Timeout: 40 * time.Millisecond, Attempts: 3}
	})
	s, bystander := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	s.Associate()
	bystander.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	bystander.Established(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)

	r := nodeReport(t, s)
	if !r.NodeReportType.HasUPFR() || len(l.upfu.Echoes()) < 3 {
		t.Fatalf("node report % x after %d Echo Requests, want a path failure after 3", r.NodeReportType.Payload, len(l.upfu.Echoes()))
	}
	if p, err := r.UserPlanePathFailureReport.RemoteGTPUPeer(); err != nil || p.IPv4Address.String() != "172.30.3.100" {
		t.Errorf("peer %+v (%v)", p, err)
	}
	if e := l.upfu.Echoes()[0]; e.PeerAddr != abi.AddrOf(addr("172.30.3.100")) || e.LocalAddr != abi.AddrOf(addr("172.30.3.16")) || e.Ohc != abi.OhcGtpu4 {
		t.Errorf("Echo Request %+v", e)
	}
	// The gNB is back: it answers whatever is asked.
	recovered := make(chan struct{})
	go func() {
		for n := len(l.upfu.Echoes()); ; {
			select {
			case <-recovered:
				return
			case <-time.After(5 * time.Millisecond):
			}
			for all := l.upfu.Echoes(); n < len(all); n++ {
				_ = l.upfu.EchoResponse(all[n])
			}
		}
	}()
	defer close(recovered)
	if r := nodeReport(t, s); r.NodeReportType.Payload[0] != 0x02 || r.UserPlanePathRecoveryReport == nil {
		t.Errorf("node report % x, want a path recovery", r.NodeReportType.Payload)
	}
	if p := l.agent.Peers(); len(p) != 1 || p[0].Path != "up" || p[0].Tunnels != 1 {
		t.Errorf("peers %+v", p)
	}
	if len(bystander.Others) != 0 {
		t.Error("a CP function without sessions at the peer was told")
	}
}

func TestPeersOnN9AreAskedFromN9(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.N9.Endpoints = []config.Endpoint{{Prefix: netip.MustParsePrefix("172.30.9.16/32")}}
		c.GTPU.Echo = config.Echo{Interval: time.Minute, Timeout: 40 * time.Millisecond, Attempts: 1}
	})
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"),
		ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(2), ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore),
			ie.NewOuterHeaderCreation(0x0100, 0x200, "172.30.9.100", "", 0, 0, 0)))).Cause, ie.CauseRequestAccepted)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Echoes()) >= 2 }); err != nil {
		t.Fatalf("%d Echo Requests: %v", len(l.upfu.Echoes()), err)
	}
	got := map[netip.Addr]netip.Addr{}
	for _, e := range l.upfu.Echoes() {
		got[e.PeerAddr.IP(false)] = e.LocalAddr.IP(false)
	}
	want := map[netip.Addr]netip.Addr{addr("172.30.3.100"): addr("172.30.3.16"), addr("172.30.9.100"): addr("172.30.9.16")}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("local address by peer (-want +got):\n%s", diff)
	}
}
