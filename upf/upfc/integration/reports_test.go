package integration

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

func TestIntegrationReports(t *testing.T) {
	r := newRig(t)
	seid := r.session()
	idle := func(ies ...*ie.IE) {
		t.Helper()
		f := append([]*ie.IE{ie.NewFARID(2), ie.NewApplyAction(0x0c)}, ies...)
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateFAR(f...)).Cause, ie.CauseRequestAccepted)
	}
	active := func() {
		t.Helper()
		fakesmf.WantCause(t, r.smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
	}
	// downlink makes the data network send a packet to the UE.
	downlink := func(seq uint16) {
		t.Helper()
		if err := r.uplink(1, fakesmf.Phone.Addr, seq); err != nil {
			t.Fatal(err)
		}
	}

	// errorIndication is the gNB's, of the session's tunnel.
	errorIndication := func() {
		t.Helper()
		// TS 29.281 7.3.1: Tunnel Endpoint Identifier Data I, GTP-U Peer Address.
		p := []byte{0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 133, 0, 4, 0, 0, 0, 0}
		binary.BigEndian.PutUint32(p[13:], gnbTEID)
		copy(p[20:], net.ParseIP(gnbAddr).To4())
		if _, err := r.gnb.WriteToUDP(p, &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152}); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("an Error Indication reaches the SMF once", func(t *testing.T) {
		for range 5 {
			errorIndication()
		}
		got := r.smf.Report()
		f, err := got.ErrorIndicationReport.FTEID()
		if !got.ReportType.HasERIR() || err != nil || f.TEID != gnbTEID || f.IPv4Address.String() != gnbAddr {
			t.Errorf("report type % x, F-TEID %+v (%v)", got.ReportType.Payload, f, err)
		}
		r.ping(1) // all five have been read by now
		if n := len(r.smf.Reports); n != 0 {
			t.Errorf("%d reports more", n)
		}
	})

	t.Run("what comes while upf-c is away is reported by the next one", func(t *testing.T) {
		for range 3 {
			r.upfc.kill()
			errorIndication()
			r.startUPFC()
			if got := r.smf.Report(); !got.ReportType.HasERIR() {
				t.Errorf("report type % x, want an Error Indication Report", got.ReportType.Payload)
			}
			idle()
			r.upfc.kill()
			downlink(20)
			r.startUPFC()
			if got := r.smf.Report(); !got.ReportType.HasDLDR() {
				t.Errorf("report type % x, want a Downlink Data Report", got.ReportType.Payload)
			}
			active()
			if p, ok := r.receive(time.Minute); !ok || p.seq != 20 {
				t.Errorf("received %+v (%t), want the packet that waited", p, ok)
			}
		}
	})

	t.Run("the BAR's delay puts the Downlink Data Report off, and there is one", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewCreateBAR(ie.NewBARID(1), ie.New(ie.DownlinkDataNotificationDelay, []byte{6}))).Cause, ie.CauseRequestAccepted)
		idle(ie.NewBARID(1))
		for len(r.smf.Reports) > 0 { // of the story before, said again on a machine where its answer came late: it is older than the answer to idle
			<-r.smf.Reports
		}
		start := time.Now()
		downlink(2)
		downlink(3)
		if got := r.smf.Report(); !got.ReportType.HasDLDR() {
			t.Fatalf("report type % x", got.ReportType.Payload)
		}
		if took := time.Since(start); took < 290*time.Millisecond {
			t.Errorf("reported after %v, want 300 ms or more", took)
		}
		downlink(4)
		active()
		for seq := uint16(2); seq <= 4; seq++ {
			if p, ok := r.receive(time.Minute); !ok || p.seq != seq {
				t.Errorf("received %+v (%t), want packet %d", p, ok, seq)
			}
		}
		if n := len(r.smf.Reports); n != 0 {
			t.Errorf("%d reports more", n)
		}
	})

	t.Run("the answer to a report drops what waits", func(t *testing.T) {
		idle()
		flags := []*ie.IE{ie.NewPFCPSRRspFlags(0x01)}
		r.smf.More.Store(&flags)
		before := r.drops("buffer_released")
		downlink(5)
		r.smf.Report()
		r.await(time.Minute, "what waits is dropped", func() bool { return r.drops("buffer_released") == before+1 })
		active()
		r.ping(6)
	})

	t.Run("what waits longer than the DL Buffering Duration is dropped", func(t *testing.T) {
		idle()
		update := []*ie.IE{ie.NewUpdateBARWithinSessionReportResponse(ie.NewBARID(1), ie.NewDLBufferingDuration(2*time.Second))}
		r.smf.More.Store(&update)
		before := r.drops("buffer_expired")
		downlink(7)
		r.smf.Report()
		r.await(time.Minute, "buffer_expired counts", func() bool { return r.drops("buffer_expired") == before+1 })
		active()
		r.ping(8)
	})

	t.Run("a report that was not acknowledged when upf-c died is made by the next one", func(t *testing.T) {
		idle()
		r.smf.Mute.Store(true)
		downlink(9)
		if got := r.smf.Report(); !got.ReportType.HasDLDR() {
			t.Fatalf("report type % x", got.ReportType.Payload)
		}
		r.upfc.kill()
		for len(r.smf.Reports) > 0 { // its repetitions
			<-r.smf.Reports
		}
		r.smf.Mute.Store(false)
		r.startUPFC()
		if got := r.smf.Report(); !got.ReportType.HasDLDR() || got.SEID() != 7 {
			t.Errorf("report type % x for SEID %d", got.ReportType.Payload, got.SEID())
		}
		active()
		if p, ok := r.receive(time.Minute); !ok || p.seq != 9 {
			t.Errorf("received %+v (%t), want packet 9", p, ok)
		}
		r.ping(10)
	})
}
