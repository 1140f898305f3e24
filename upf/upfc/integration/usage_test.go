package integration

import (
	"net"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

const pingOctets = 84 // of the IP packet

// ledger adds up the usage reports of one URR, each UR-SEQN once.
type ledger struct {
	t      *testing.T
	seen   map[uint32]bool
	ul, dl uint64
}

func (l *ledger) add(reports []*ie.IE) {
	l.t.Helper()
	for _, r := range reports {
		seqn, err := r.URSEQN()
		if err != nil {
			l.t.Fatal(err)
		}
		if l.seen[seqn] {
			continue // repeated, or sent again by a upf-c that was started anew
		}
		l.seen[seqn] = true
		_, ul, dl := fakesmf.Volumes(l.t, r)
		l.ul, l.dl = l.ul+ul, l.dl+dl
	}
}

func TestIntegrationUsage(t *testing.T) {
	r := newRig(t)
	seid := r.session()
	urr := func(ies ...*ie.IE) *ie.IE { return ie.NewUpdateURR(append([]*ie.IE{ie.NewURRID(1)}, ies...)...) }
	volume := func(octets uint64) *ie.IE {
		return urr(ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(1, octets, 0, 0))
	}

	t.Run("every octet is reported once, whatever is killed", func(t *testing.T) {
		l := &ledger{t: t, seen: map[uint32]bool{}}
		m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)), volume(3*pingOctets))
		fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
		for _, e := range m.UsageReport {
			seqn, err := e.URSEQN()
			if err != nil {
				t.Fatal(err)
			}
			l.seen[seqn] = true // from before
		}
		tr := r.traffic(1, fakesmf.Phone.Addr, 3*time.Millisecond)
		drain := func() {
			for len(r.smf.Reports) > 0 {
				l.add((<-r.smf.Reports).UsageReport)
			}
		}
		flows := func(what string, since time.Time) {
			r.await(time.Minute, what, func() bool { drain(); return tr.answered(since) > 50 })
		}
		flows("traffic flows", time.Time{})
		r.upfc.kill()
		r.startUPFC()
		flows("traffic flows behind a new upf-c", time.Now())
		sent, lost := tr.stop()
		drain()
		m = r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		r.await(time.Minute, "all reports are acknowledged", func() bool { drain(); return len(l.seen) > 0 && contiguous(l.seen) })
		l.add(m.UsageReport)
		if want := uint64(sent-len(lost)) * pingOctets; l.ul != uint64(sent)*pingOctets || l.dl != want {
			t.Errorf("reported %d and %d octets; %d pings were sent, %d answered", l.ul/pingOctets, l.dl/pingOctets, sent, sent-len(lost))
		}

		// A new upf-u counts from 0. What was under way in the old one is lost, no more and no less.
		l.ul, l.dl = 0, 0
		tr = r.traffic(1, fakesmf.Phone.Addr, 3*time.Millisecond)
		flows("traffic flows again", time.Time{})
		r.upfu.kill()
		r.startUPFU()
		r.await(time.Minute, "upf-u is back", func() bool { st, err := r.stats(); return err == nil && st.Connected })
		flows("traffic flows through a new upf-u", time.Now())
		sent, lost = tr.stop()
		m = r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))
		r.await(time.Minute, "all reports are acknowledged", func() bool { drain(); return contiguous(l.seen) })
		l.add(m.UsageReport)
		ul, dl, answered := l.ul/pingOctets, l.dl/pingOctets, uint64(sent-len(lost))
		if dl < answered || ul < dl || ul > uint64(sent) || dl > answered+10 {
			t.Errorf("reported %d and %d packets; %d were sent, %d answered", ul, dl, sent, answered)
		}
		t.Logf("%d pings, %d lost while upf-u was away; reported %d up and %d down", sent, len(lost), ul, dl)
	})

	t.Run("time is measured from the first packet", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewRemoveURR(ie.NewURRID(1)),
			ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 1), ie.NewReportingTriggers(0x04, 0), ie.NewTimeThreshold(time.Second)),
			ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewURRID(2)), ie.NewUpdatePDR(ie.NewPDRID(2), ie.NewURRID(2))).Cause, ie.CauseRequestAccepted)
		first := time.Now()
		r.ping(1)
		e := r.smf.Report().UsageReport[0]
		took := time.Since(first)
		d, err := e.DurationMeasurement()
		if got := fakesmf.Trigger(t, e); got != "040000" || err != nil || d != time.Second || took < 900*time.Millisecond {
			t.Errorf("trigger %s after %v, duration %v (%v)", got, took, d, err)
		}
		at, err := e.TimeOfFirstPacket()
		if err != nil || at.Sub(first).Abs() > 10*time.Second {
			t.Errorf("first packet at %v (%v), want about %v", at, err, first)
		}
	})

	t.Run("a quota that nobody uses is taken back", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x08, 0),
			ie.NewVolumeQuota(1, 1<<30, 0, 0), ie.NewQuotaHoldingTime(time.Second))).Cause, ie.CauseRequestAccepted)
		r.ping(2)
		if got := fakesmf.Trigger(t, r.smf.Report().UsageReport[0]); got != "080000" {
			t.Errorf("trigger %s, want QUHTI", got)
		}
		before := r.drops("quota_exhausted")
		if err := r.uplink(1, fakesmf.Phone.Addr, 3); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "quota_exhausted counts", func() bool { return r.drops("quota_exhausted") == before+1 })
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateURR(ie.NewURRID(2), ie.NewReportingTriggers(0, 0), ie.NewVolumeQuota(1, 1<<30, 0, 0), ie.New(ie.QuotaHoldingTime, nil))).Cause, ie.CauseRequestAccepted)
		r.ping(4)
	})

	t.Run("a session without packets is told of", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUserPlaneInactivityTimer(time.Second)).Cause, ie.CauseRequestAccepted)
		if got := r.smf.Report(); !got.ReportType.HasUPIR() {
			t.Errorf("report type % x", got.ReportType.Payload)
		}
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUserPlaneInactivityTimer(0)).Cause, ie.CauseRequestAccepted)
		r.ping(5)
	})

	t.Run("where a quota ends, its FAR takes over", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(2)), ie.NewCreateFAR(ie.NewFARID(9), ie.NewApplyAction(0x01)),
			ie.NewUpdateURR(ie.NewURRID(2), ie.NewReportingTriggers(0, 1), ie.NewVolumeQuota(1, 2*pingOctets, 0, 0), ie.NewFARID(9))).Cause, ie.CauseRequestAccepted)
		r.ping(7)
		if got := fakesmf.Trigger(t, r.smf.Report().UsageReport[0]); got != "000100" {
			t.Errorf("trigger %s, want VOLQU", got)
		}
		before := r.drops("far_drop")
		if err := r.uplink(1, fakesmf.Phone.Addr, 8); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "far_drop counts", func() bool { return r.drops("far_drop") == before+1 })
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateURR(ie.NewURRID(2), ie.NewVolumeQuota(1, 1<<30, 0, 0))).Cause, ie.CauseRequestAccepted)
		r.ping(9)
	})

	t.Run("usage before QoS counts what a gate drops", func(t *testing.T) {
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateURR(ie.NewURRID(2), ie.NewMeasurementInformation(0x11)), ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(1, 1)), ie.NewQueryURR(ie.NewURRID(2))).Cause, ie.CauseRequestAccepted)
		before := r.drops("gate_closed")
		if err := r.uplink(1, fakesmf.Phone.Addr, 6); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "gate_closed counts", func() bool { return r.drops("gate_closed") == before+1 })
		m := r.smf.Modify(seid, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0)), ie.NewQueryURR(ie.NewURRID(2)))
		if _, ul, _ := fakesmf.Volumes(t, m.UsageReport[0]); ul != pingOctets {
			t.Errorf("reported %d octets, want %d", ul, pingOctets)
		}
		if v, err := m.UsageReport[0].VolumeMeasurement(); err != nil || v.UplinkNumberOfPackets != 1 {
			t.Errorf("reported %+v (%v), want one packet", v, err)
		}
	})
}

func contiguous(seen map[uint32]bool) bool {
	low, high := ^uint32(0), uint32(0)
	for n := range seen {
		low, high = min(low, n), max(high, n)
	}
	return int(high-low)+1 == len(seen)
}

func TestIntegrationGTPUPath(t *testing.T) {
	r := newRigWith(t, "gtpu: {echo: {interval: 500ms, timeout: 100ms, attempts: 2}}")
	r.session()
	nodeReport := func() *message.NodeReportRequest {
		t.Helper()
		m, ok := r.smf.Other().(*message.NodeReportRequest)
		if !ok {
			t.Fatal("no Node Report Request")
		}
		return m
	}
	if m := nodeReport(); m.UserPlanePathFailureReport == nil {
		t.Errorf("node report %+v, want a path failure", m)
	}
	// The gNB answers from now on (TS 29.281 7.2.2: Recovery, with a Restart Counter of 0).
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		buf := make([]byte, 2048)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = r.gnb.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			n, from, err := r.gnb.ReadFromUDP(buf)
			if err != nil || n < 12 || buf[1] != 1 {
				continue
			}
			_, _ = r.gnb.WriteToUDP([]byte{0x32, 2, 0, 6, 0, 0, 0, 0, buf[8], buf[9], 0, 0, 14, 0}, &net.UDPAddr{IP: from.IP, Port: from.Port})
		}
	}()
	if m := nodeReport(); m.UserPlanePathRecoveryReport == nil {
		t.Errorf("node report %+v, want a path recovery", m)
	}
}
