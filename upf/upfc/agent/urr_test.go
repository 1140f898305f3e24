package agent_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

func TestUserPlaneInactivityReport(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.NoURR = true
	seid := s.Established(7, append(u.Session(), ie.NewUserPlaneInactivityTimer(time.Second))...)
	_, sess := l.only()
	if len(sess.URRs) != 1 || sess.URRs[0].Flags&abi.UrrTimed == 0 || sess.PDRs[0].NUrr != 1 {
		t.Fatalf("URRs %+v, want one that keeps the times of all packets", sess.URRs)
	}
	r := s.Report()
	if !r.ReportType.HasUPIR() || r.ReportType.HasUSAR() || len(r.UsageReport) != 0 {
		t.Errorf("report type % x, want user plane inactivity alone", r.ReportType.Payload)
	}
	// A packet, and it begins anew.
	if !l.upfu.Forward(sess.URRs[0].Slot, abi.Ul, 1) {
		t.Error("a packet is stopped")
	}
	if r = s.Report(); !r.ReportType.HasUPIR() {
		t.Errorf("report type % x after a packet", r.ReportType.Payload)
	}
	fakesmf.WantCause(t, s.Modify(seid, ie.NewUserPlaneInactivityTimer(0)).Cause, ie.CauseRequestAccepted)
	if _, sess = l.only(); len(sess.URRs) != 0 || sess.PDRs[0].NUrr != 0 {
		t.Errorf("a timer of 0 leaves URRs %+v", sess.URRs)
	}
	fakesmf.WantCause(t, s.Modify(seid, ie.NewUserPlaneInactivityTimer(time.Hour)).Cause, ie.CauseRequestAccepted)
	if d := s.Delete(seid); len(d.UsageReport) != 0 {
		t.Errorf("the answer to the deletion reports usage: %v", d.UsageReport)
	}
}

func TestMoreReportsThanOneAnswerHolds(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.NoURR = true
	ies := u.Session()
	const urrs = 150
	for id := range uint32(urrs) {
		ies = append(ies, ie.NewCreateURR(ie.NewURRID(id+1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0)))
	}
	seid := s.Established(7, ies...)
	_, sess := l.only()
	for i, r := range sess.URRs {
		if err := l.upfu.Count(r.Slot, abi.Ul, uint64(i+1), 1); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[uint32]bool{}
	collect := func(reports []*ie.IE, wantReference bool) {
		for _, r := range reports {
			id, err := r.URRID()
			total, _, _ := fakesmf.Volumes(t, r)
			if err != nil || seen[id] || total != uint64(id) {
				t.Errorf("URR %d (%v) reports %d octets, reported already: %t", id, err, total, seen[id])
			}
			seen[id] = true
			if ref, err := r.QueryURRReference(); (err == nil && ref == 77) != wantReference {
				t.Errorf("Query URR Reference %d (%v)", ref, err)
			}
		}
	}
	m := s.Modify(seid, ie.NewPFCPSMReqFlags(0x04), ie.NewQueryURRReference(77))
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	if m.AdditionalUsageReportsInformation == nil {
		t.Fatalf("%d reports and no word of more", len(m.UsageReport))
	}
	more := int(binary.BigEndian.Uint16(m.AdditionalUsageReportsInformation.Payload))
	if more+len(m.UsageReport) != urrs {
		t.Errorf("%d reports and %d to come, want %d in all", len(m.UsageReport), more, urrs)
	}
	collect(m.UsageReport, true)
	for len(seen) < urrs && !t.Failed() {
		collect(s.Report().UsageReport, true)
	}

	clear(seen)
	for i, r := range sess.URRs {
		if err := l.upfu.Count(r.Slot, abi.Ul, uint64(i+1), 1); err != nil {
			t.Fatal(err)
		}
	}
	d := s.Delete(seid)
	collect(d.UsageReport, false)
	for len(seen) < urrs && !t.Failed() {
		collect(s.Report().UsageReport, false)
	}
}

func TestURRReplacedInOneMessage(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	_, sess := l.only()
	if !l.upfu.Forward(sess.URRs[0].Slot, abi.Ul, 42) {
		t.Fatal("blocked")
	}
	m := s.Modify(seid, ie.NewRemoveURR(ie.NewURRID(1)),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0)),
		ie.NewUpdatePDR(ie.NewPDRID(1), ie.NewURRID(1)))
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	if len(m.UsageReport) != 1 || fakesmf.Trigger(t, m.UsageReport[0]) != "000800" {
		t.Fatalf("usage reports %v, want the old URR's last one", m.UsageReport)
	}
	if total, _, _ := fakesmf.Volumes(t, m.UsageReport[0]); total != 42 {
		t.Errorf("reported %d octets, want 42", total)
	}
	d := s.Delete(seid)
	seqn, err := d.UsageReport[0].URSEQN()
	if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != 0 || err != nil || seqn != 0 {
		t.Errorf("the new URR reports %d octets under UR-SEQN %d (%v), want a beginning", total, seqn, err)
	}
}

func TestLinkedURRIsReportedToo(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)}
	s.Established(7, append(u.Session(),
		ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x80, 0), ie.NewLinkedURRID(1)))...)
	_, sess := l.only()
	if !l.upfu.Forward(sess.URRs[0].Slot, abi.Ul, 100) {
		t.Fatal("blocked")
	}
	r := s.Report()
	if len(r.UsageReport) != 2 || fakesmf.Trigger(t, r.UsageReport[0]) != "020000" || fakesmf.Trigger(t, r.UsageReport[1]) != "000400" {
		t.Errorf("usage reports %v, want VOLTH of one and LIUSA of the other", r.UsageReport)
	}
}

func TestMonitoringTimeSplitsTheReport(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	at := time.Now().Add(1500 * time.Millisecond)
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 1), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 1000, 0, 0),
		ie.NewMonitoringTime(at), ie.NewSubsequentVolumeThreshold(0x01, 10, 0, 0)}
	s.Established(7, u.Session()...)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	l.upfu.Forward(slot, abi.Ul, 500)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Arm(slot).Total == 501 }); err != nil {
		t.Fatalf("armed at %+v, want the first packet after the Monitoring Time", l.upfu.Arm(slot))
	}
	l.restartAgent() // what was split is not lost
	s.To = l.addr
	l.upfu.Forward(slot, abi.Dl, 10)
	r := s.Report()
	if len(r.UsageReport) != 2 {
		t.Fatalf("%d usage reports, want two", len(r.UsageReport))
	}
	for i, want := range []struct {
		trigger string
		info    uint8
		total   uint64
	}{{"001000", 0x01, 500}, {"020000", 0x02, 10}} {
		e := r.UsageReport[i]
		info, err := e.UsageInformation()
		total, _, _ := fakesmf.Volumes(t, e)
		if got := fakesmf.Trigger(t, e); got != want.trigger || err != nil || info != want.info || total != want.total {
			t.Errorf("report %d: trigger %s, usage information %#x (%v), %d octets; want %+v", i, got, info, err, total, want)
		}
		if _, err := e.TimeOfFirstPacket(); err != nil {
			t.Errorf("report %d: Time of First Packet: %v", i, err)
		}
	}
}

func TestReportsArriveInOrderWhileTheSMFIsAway(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)}
	s.Established(7, u.Session()...)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	s.Mute.Store(true)
	for i := range uint64(5) {
		l.upfu.Forward(slot, abi.Ul, 100)
		if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Arm(slot).Total == 100*(i+2) }); err != nil {
			t.Fatalf("armed at %d after report %d", l.upfu.Arm(slot).Total, i)
		}
	}
	s.Mute.Store(false)
	var seqns []uint32
	for last := (*message.SessionReportRequest)(nil); len(seqns) < 5 && !t.Failed(); {
		r := s.Report()
		if last != nil && last.Sequence() == r.Sequence() {
			continue // repeated
		}
		last = r
		for _, e := range r.UsageReport {
			n, err := e.URSEQN()
			if err != nil || n != uint32(len(seqns)) {
				t.Errorf("UR-SEQN %d (%v) after %v", n, err, seqns)
			}
			seqns = append(seqns, n)
		}
	}
}

func TestIntegrationReportsAreTriedAgainWhenTheSMFIsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: waits until a report is tried again")
	}
	t.Parallel()
	l := newLab(t, func(c *config.Config) {
		c.Heartbeat = config.Heartbeat{Interval: 100 * time.Millisecond, Retries: 1}
	})
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)}
	s.Established(7, u.Session()...)
	_, sess := l.only()
	s.Mute.Store(true)
	l.upfu.Forward(sess.URRs[0].Slot, abi.Ul, 100)
	first := s.Report()
	down := func() bool { return l.agent.Status().Associations[0].Failed != nil }
	if err := l.upfu.Await(fakesmf.Patience, down); err != nil {
		t.Fatal("the path does not fail")
	}
	// What comes meanwhile waits, without a message in vain.
	l.upfu.Forward(sess.URRs[0].Slot, abi.Ul, 100)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(blobOf(t, l).Outbox) == 2 }); err != nil {
		t.Fatal("the second report was not cut")
	}
	s.Mute.Store(false)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return !down() }); err != nil {
		t.Fatal("the path does not recover")
	}
	var r *message.SessionReportRequest
	for deadline := time.After(fakesmf.Patience); r == nil; {
		select {
		case m := <-s.Reports:
			if m.Sequence() != first.Sequence() {
				r = m
			}
		case <-deadline:
			t.Fatal("the reports are not tried again")
		}
	}
	if len(r.UsageReport) != 2 {
		t.Errorf("%d usage reports, want both", len(r.UsageReport))
	}
	for i, e := range r.UsageReport {
		if n, err := e.URSEQN(); err != nil || int(n) != i {
			t.Errorf("UR-SEQN %d (%v), want %d", n, err, i)
		}
	}
}
