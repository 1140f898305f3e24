package agent_test

import (
	"math"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/state"
)

func TestVolumeThresholdAndStartOfTraffic(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{
		ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x12, 0), // START, VOLTH
		ie.NewVolumeThreshold(0x01, 1000, 0, 0),
	}
	seid := s.Established(7, u.Session()...)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	if a := l.upfu.Arm(slot); a.Total != 1 || a.Ul != math.MaxUint64 {
		t.Fatalf("armed at %+v, want the first octet", a)
	}
	if err := l.upfu.Count(slot, abi.Ul, 100, 1); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if got := fakesmf.Trigger(t, r.UsageReport[0]); got != "100000" {
		t.Errorf("trigger %s, want START", got)
	}
	if total, _, _ := fakesmf.Volumes(t, r.UsageReport[0]); total != 0 {
		t.Errorf("start of traffic covers %d octets, want none", total)
	}
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Arm(slot).Total == 1000 }); err != nil {
		t.Fatalf("armed at %+v, want the threshold: %v", l.upfu.Arm(slot), err)
	}
	if err := l.upfu.Count(slot, abi.Dl, 1400, 1); err != nil {
		t.Fatal(err)
	}
	r = s.Report()
	if got := fakesmf.Trigger(t, r.UsageReport[0]); got != "020000" {
		t.Errorf("trigger %s, want VOLTH", got)
	}
	if total, ul, dl := fakesmf.Volumes(t, r.UsageReport[0]); total != 1500 || ul != 100 || dl != 1400 {
		t.Errorf("reported %d/%d/%d, want 1500/100/1400", total, ul, dl)
	}
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Arm(slot).Total == 2500 }); err != nil {
		t.Errorf("armed at %+v, want a threshold beyond what was reported: %v", l.upfu.Arm(slot), err)
	}
	d := s.Delete(seid)
	if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != 0 {
		t.Errorf("last report covers %d octets again", total)
	}
}

func TestPeriodicReportsGoOnAfterARestartOfUPFC(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x01, 0), ie.NewMeasurementPeriod(time.Second)}
	s.Established(7, u.Session()...)
	_, sess := l.only()
	if err := l.upfu.Count(sess.URRs[0].Slot, abi.Ul, 100, 1); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if got := fakesmf.Trigger(t, r.UsageReport[0]); got != "010000" {
		t.Errorf("trigger %s, want PERIO", got)
	}
	if total, _, _ := fakesmf.Volumes(t, r.UsageReport[0]); total != 100 {
		t.Errorf("reported %d octets, want 100", total)
	}
	stored := l.upfu.Datagrams() // the acknowledgement is stored, too
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Datagrams() > stored || len(blobOf(t, l).Outbox) == 0 }); err != nil {
		t.Fatal(err)
	}
	l.restartAgent()
	s.To = l.addr
	if err := l.upfu.Count(sess.URRs[0].Slot, abi.Dl, 30, 1); err != nil {
		t.Fatal(err)
	}
	r = s.Report()
	if total, _, dl := fakesmf.Volumes(t, r.UsageReport[0]); total != 30 || dl != 30 {
		t.Errorf("reported %d octets after the restart, want 30", total)
	}
	if seqn, err := r.UsageReport[0].URSEQN(); err != nil || seqn != 1 {
		t.Errorf("UR-SEQN %d (%v), want 1", seqn, err)
	}
}

func TestReportWithoutAcknowledgementIsRepeatedNotLost(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(0x01, 100, 0, 0)}
	s.Established(7, u.Session()...)
	_, sess := l.only()
	s.Mute.Store(true)
	if err := l.upfu.Count(sess.URRs[0].Slot, abi.Ul, 150, 1); err != nil {
		t.Fatal(err)
	}
	first, second := s.Report(), s.Report()
	if first.Sequence() != second.Sequence() {
		t.Errorf("repeated under sequence number %d, first was %d", second.Sequence(), first.Sequence())
	}
	// upf-c dies before the acknowledgement: its successor sends the same report.
	l.restartAgent()
	s.Mute.Store(false)
	for len(s.Reports) > 0 {
		<-s.Reports
	}
	r := s.Report()
	seqn, err := r.UsageReport[0].URSEQN()
	if total, _, _ := fakesmf.Volumes(t, r.UsageReport[0]); err != nil || total != 150 || seqn != 0 {
		t.Errorf("repeated report covers %d octets, UR-SEQN %d (%v); want 150 under UR-SEQN 0", total, seqn, err)
	}
}

func TestVolumeQuotaBlocksUntilGrantedAnew(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	u := fakesmf.Phone
	u.URR = []*ie.IE{ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x00, 0x01), ie.NewVolumeQuota(0x01, 500, 0, 0)}
	seid := s.Established(7, u.Session()...)
	_, sess := l.only()
	slot := sess.URRs[0].Slot
	if !l.upfu.Forward(slot, abi.Ul, 600) || l.upfu.Forward(slot, abi.Dl, 1) {
		t.Error("want one packet to use the quota up and the next one to be stopped")
	}
	r := s.Report()
	if got := fakesmf.Trigger(t, r.UsageReport[0]); got != "000100" {
		t.Errorf("trigger %s, want VOLQU", got)
	}
	if l.upfu.Forward(slot, abi.Dl, 1) {
		t.Error("traffic goes on after the quota was reported")
	}
	grant := ie.NewUpdateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x00, 0x01), ie.NewVolumeQuota(0x01, 1000, 0, 0))
	fakesmf.WantCause(t, s.Modify(seid, grant).Cause, ie.CauseRequestAccepted)
	if a := l.upfu.Arm(slot); a.QuotaTotal != 1600 {
		t.Errorf("armed at %d, want 1600", a.QuotaTotal)
	}
	if !l.upfu.Forward(slot, abi.Dl, 1) {
		t.Error("traffic is stopped although a quota was granted")
	}
}

func TestErrorIndicationReachesTheSessionsThatUseTheTunnel(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	s.Established(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	if err := l.upfu.ErrorIndication(addr("172.30.3.100"), 0x100); err != nil {
		t.Fatal(err)
	}
	r := s.Report()
	if r.SEID() != 7 || !r.ReportType.HasERIR() {
		t.Errorf("report for SEID %d, type % x; want an Error Indication Report for 7", r.SEID(), r.ReportType.Payload)
	}
	f, err := r.ErrorIndicationReport.FTEID()
	if err != nil || f.TEID != 0x100 || f.IPv4Address.String() != "172.30.3.100" {
		t.Errorf("remote F-TEID %+v (%v)", f, err)
	}
}

// A copy for lawful interception causes nothing: an LI function that has no such tunnel is nobody's news.
func TestAnErrorIndicationAboutACopyIsNotReported(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"),
		ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x12), ie.NewUpdateDuplicatingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceLIFunction), ie.NewOuterHeaderCreation(0x0100, 0xc0de, "172.30.3.77", "", 0, 0, 0)))).Cause, ie.CauseRequestAccepted)
	if _, sess := l.only(); len(sess.FARs) != 3 {
		t.Fatalf("%d FARs, want two and where the copies go", len(sess.FARs))
	}
	for _, err := range []error{l.upfu.ErrorIndication(addr("172.30.3.77"), 0xc0de), l.upfu.ErrorIndication(addr("172.30.3.100"), 0x100)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if f, err := s.Report().ErrorIndicationReport.FTEID(); err != nil || f.TEID != 0x100 {
		t.Errorf("the first report is of %+v (%v), want the gNB's tunnel", f, err)
	}
}

func TestRemovedURRIsReportedForTheLastTime(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	_, sess := l.only()
	if err := l.upfu.Count(sess.URRs[0].Slot, abi.Ul, 42, 1); err != nil {
		t.Fatal(err)
	}
	m := s.Modify(seid, ie.NewRemoveURR(ie.NewURRID(1)))
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	if len(m.UsageReport) != 1 || fakesmf.Trigger(t, m.UsageReport[0]) != "000800" {
		t.Fatalf("usage reports %v, want one with trigger TERMR", m.UsageReport)
	}
	if total, _, _ := fakesmf.Volumes(t, m.UsageReport[0]); total != 42 {
		t.Errorf("reported %d octets, want 42", total)
	}
	if _, sess = l.only(); len(sess.URRs) != 0 || sess.PDRs[0].NUrr != 0 {
		t.Errorf("the URR is still there: %+v", sess.URRs)
	}
	// A URR that takes the place of another begins at 0, whatever the slot had counted.
	fakesmf.WantCause(t, s.Modify(seid, ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0))).Cause, ie.CauseRequestAccepted)
	d := s.Delete(seid)
	if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != 0 {
		t.Errorf("new URR begins with %d octets", total)
	}
}

func blobOf(t *testing.T, l *lab) *state.Session {
	t.Helper()
	_, s := l.only()
	st := &state.Session{}
	if err := state.DecodeSession(s.Blob, st, nil); err != nil {
		t.Fatal(err)
	}
	return st
}
