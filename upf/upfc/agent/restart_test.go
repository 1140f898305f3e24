package agent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/state"
)

func TestNewUPFCContinuesFromWhatUPFUKept(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	stamp := s.Heartbeat()
	_, before := l.only()
	if err := l.upfu.Count(before.URRs[0].Slot, abi.Ul, 700, 1); err != nil {
		t.Fatal(err)
	}
	s.Modify(seid, ie.NewQueryURR(ie.NewURRID(1)))

	l.restartAgent()
	s.To = l.addr
	if err := l.upfu.Count(before.URRs[0].Slot, abi.Ul, 300, 1); err != nil {
		t.Fatal(err)
	}
	if got := s.Heartbeat(); !got.Equal(stamp) {
		t.Errorf("Recovery Time Stamp %v, want the old one, %v", got, stamp)
	}
	m := s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"), ie.NewQueryURR(ie.NewURRID(1)))
	fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
	if total, _, _ := fakesmf.Volumes(t, m.UsageReport[0]); total != 300 {
		t.Errorf("reported %d octets after the restart, want the 300 that no report had covered", total)
	}
	if seqn, err := m.UsageReport[0].URSEQN(); err != nil || seqn != 1 {
		t.Errorf("UR-SEQN %d (%v), want 1", seqn, err)
	}
	// Establishments go on under the association from before, and do not collide with old sessions.
	s.Established(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
	other := fakesmf.New(t, l.addr)
	other.Associate()
	fakesmf.WantCause(t, other.Establish(9, fakesmf.Phone.Session()...).Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseRequestAccepted)
}

func TestNewUPFUIsFilledAgain(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseRequestAccepted)
	stamp := s.Heartbeat()
	index, before := l.only()
	if err := l.upfu.Count(before.URRs[0].Slot, abi.Dl, 1000, 3); err != nil {
		t.Fatal(err)
	}

	l.upfu.Kill()
	if got := s.Heartbeat(); !got.Equal(stamp) {
		t.Errorf("Recovery Time Stamp %v while upf-u is away, want %v", got, stamp)
	}
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x200, "172.30.3.100")).Cause, ie.CauseSystemFailure)

	start := time.Now()
	l.startUPFU()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.agent.Ready() == nil }); err != nil {
		t.Fatal(err)
	}
	t.Logf("filled again after %v", time.Since(start))
	again, after := l.only()
	before.Blob, after.Blob = nil, nil
	if diff := cmp.Diff(before, after); diff != "" || index != again {
		t.Errorf("session %d then %d (-before +after):\n%s", index, again, diff)
	}
	if got := s.Heartbeat(); !got.Equal(stamp) {
		t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
	}
	// What the dead upf-u had counted is reported together with what the new one counts.
	if err := l.upfu.Count(before.URRs[0].Slot, abi.Dl, 50, 1); err != nil {
		t.Fatal(err)
	}
	d := s.Delete(seid)
	if total, _, dl := fakesmf.Volumes(t, d.UsageReport[0]); total != 1050 || dl != 1050 {
		t.Errorf("last report covers %d octets, want 1050", total)
	}
}

func TestCutConnectionToTheSameUPFU(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	index, before := l.only()
	if err := l.upfu.Count(before.URRs[0].Slot, abi.Ul, 100, 1); err != nil {
		t.Fatal(err)
	}
	// A session that upf-c does not know, as a transaction leaves that was cut off.
	l.upfu.Install(index+100, before, l.upfu.Meta())
	l.upfu.Disconnect()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 1 && l.agent.Ready() == nil }); err != nil {
		t.Fatalf("unknown session not deleted: %v", err)
	}
	d := s.Delete(seid)
	if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != 100 {
		t.Errorf("last report covers %d octets, want 100", total)
	}
}

func TestBothDeadWithoutAFileMeansANewRecoveryTimeStamp(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.State.File = "" })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	stamp := s.Heartbeat()
	l.stop()
	l.upfu.Kill()
	time.Sleep(time.Until(stamp.Add(1100 * time.Millisecond))) // stamps have seconds
	l.startUPFU()
	l.startAgent()
	s.To = l.addr
	if got := s.Heartbeat(); !got.After(stamp) {
		t.Errorf("Recovery Time Stamp %v, want one newer than %v", got, stamp)
	}
	fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100")).Cause, ie.CauseNoEstablishedPFCPAssociation)
}

func TestStateOfAnotherVersionIsGivenUpWithANewStamp(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.State.File = "" })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(7, fakesmf.Phone.Session()...)
	stamp := s.Heartbeat()
	index, kept := l.only()
	l.stop()
	l.upfu.Install(index, kept, []byte{state.Version + 1, 0xa0})
	time.Sleep(time.Until(stamp.Add(1100 * time.Millisecond)))
	l.startAgent()
	s.To = l.addr
	if got := s.Heartbeat(); !got.After(stamp) {
		t.Errorf("Recovery Time Stamp %v, want one newer than %v", got, stamp)
	}
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions left that nobody can speak for", n)
	}
}

func TestTenThousandSessionsAreBackWithinASecond(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	const n = 10_000 / slower
	blobs := l.copies(n)
	l.stop()
	meta := l.upfu.Meta()
	for i, blob := range blobs {
		l.upfu.Install(i, fakeupfu.Session{Blob: blob}, meta)
	}
	// CPU time, for the machine may be busy with other things; both sides' is in it.
	start, cpu := time.Now(), cpuTime(t)
	l.startAgent()
	back, backCPU := time.Since(start), cpuTime(t)-cpu
	l.upfu.Kill()
	l.startUPFU()
	start, cpu = time.Now(), cpuTime(t)
	if err := l.upfu.Await(time.Minute, func() bool { return len(l.upfu.Sessions()) == n && l.agent.Ready() == nil }); err != nil {
		t.Fatalf("%d sessions of %d: %v", len(l.upfu.Sessions()), n, err)
	}
	filled, filledCPU := time.Since(start), cpuTime(t)-cpu
	t.Logf("%d sessions: read back in %v (%v of CPU), replayed in %v (%v), %d transactions", n, back, backCPU, filled, filledCPU, l.upfu.Datagrams())
	if limit := time.Second * slower; backCPU > limit || filledCPU > limit {
		t.Errorf("read back with %v, replayed with %v of CPU; both are to take less than %v", backCPU, filledCPU, limit)
	}
}

func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestSMFRestart(t *testing.T) {
	l := newLab(t, nil)
	a, b := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	a.Associate()
	b.Associate()
	a.Established(1, fakesmf.Phone.Session()...)
	mine := b.Established(1, fakesmf.UE{TEID: 1, N3: "172.30.3.17", Addr: "10.46.0.1"}.Session()...)

	// A newer stamp in a heartbeat ends the association and its sessions, and no other's.
	a.Recovery = a.Recovery.Add(time.Minute)
	a.Heartbeat()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 1 }); err != nil {
		t.Fatalf("sessions of the restarted SMF are still there: %v", err)
	}
	fakesmf.WantCause(t, a.Establish(2, fakesmf.Phone.Session()...).Cause, ie.CauseNoEstablishedPFCPAssociation)
	a.Associate()
	a.Established(2, fakesmf.Phone.Session()...)

	// So does one in an association setup.
	a.Recovery = a.Recovery.Add(time.Minute)
	a.Associate()
	if n := len(l.upfu.Sessions()); n != 1 {
		t.Errorf("%d sessions after the second restart, want the other SMF's alone", n)
	}
	fakesmf.WantCause(t, b.Modify(mine, ie.NewUpdateQER(ie.NewQERID(1), ie.NewGateStatus(1, 1))).Cause, ie.CauseRequestAccepted)

	r, ok := b.Ask(message.NewAssociationReleaseRequest(b.NextSeq(), b.Node())).(*message.AssociationReleaseResponse)
	if !ok {
		t.Fatal("no Association Release Response")
	}
	fakesmf.WantCause(t, r.Cause, ie.CauseRequestAccepted)
	if n := len(l.upfu.Sessions()); n != 0 {
		t.Errorf("%d sessions after the release", n)
	}
}

func TestSMFThatDiesIsReleasedAfterItsTime(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.Heartbeat = config.Heartbeat{Interval: 20 * time.Millisecond, Retries: 1, ReleaseAfter: 2 * time.Second} // a busy machine keeps an SMF waiting too
	})
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(1, fakesmf.Phone.Session()...)
	<-s.Heartbeats // they come, and are answered
	s.Mute.Store(true)
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 0 }); err != nil {
		t.Fatalf("sessions of a dead SMF are kept: %v", err)
	}
}
