package agent_test

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// saved waits until upf-c has saved the counters of a upf-u that is gone.
func (l *lab) saved() {
	l.t.Helper()
	if err := l.upfu.Await(fakesmf.Patience, func() bool {
		found, _ := filepath.Glob(l.socket + ".state.counters-*")
		return slices.ContainsFunc(found, func(f string) bool { return filepath.Ext(f) != ".new" })
	}); err != nil {
		l.t.Fatalf("the counters of the upf-u that is gone are not saved: %v", err)
	}
}

// fillInVain has upf-c try to fill a new upf-u that takes nothing.
func (l *lab) fillInVain() {
	l.t.Helper()
	var err error
	if l.upfu, err = fakeupfu.StartSilent(l.socket); err != nil {
		l.t.Fatal(err)
	}
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.upfu.Ignored() > 0 }); err != nil {
		l.t.Fatal(err)
	}
}

// Whichever of both dies first, the sessions are those from before, and so is what they have used, unless there
// was nobody to read it.
func TestBothDead(t *testing.T) {
	for name, tt := range map[string]struct {
		die  func(l *lab)
		used uint64 // of the 1000 octets that were forwarded and not reported
	}{
		"upf-u first": {func(l *lab) { l.upfu.Kill(); l.saved(); l.stop(); l.startUPFU(); l.startAgent() }, 1000},
		"upf-u first and upf-c is back before it": {func(l *lab) {
			l.upfu.Kill()
			l.saved()
			l.stop()
			started := make(chan *fakeupfu.UPFU, 1)
			time.AfterFunc(100*time.Millisecond, func() { // the fault, not a wait
				u, err := fakeupfu.Start(l.socket)
				if err != nil {
					l.t.Error(err)
				}
				started <- u
			})
			l.startAgent()
			l.upfu = <-started
		}, 1000},
		"upf-c first": {func(l *lab) { l.stop(); l.upfu.Kill(); l.startUPFU(); l.startAgent() }, 1000},
		"upf-c first, with SIGKILL": {func(l *lab) {
			l.stop()
			found, _ := filepath.Glob(l.socket + ".state.counters-*")
			for _, f := range found { // which a upf-c that is killed does not write
				_ = os.Remove(f)
			}
			l.upfu.Kill()
			l.startUPFU()
			l.startAgent()
		}, 0},
		"upf-c while it fills the new upf-u": {func(l *lab) {
			l.upfu.Kill()
			l.saved()
			l.fillInVain()
			l.stop()
			l.upfu.Silence(false)
			l.startAgent()
		}, 1000},
		"upf-c when it has filled half of the new upf-u": {func(l *lab) {
			l.upfu.Kill()
			l.saved()
			l.startUPFU()
			l.upfu.Mute(true) // it has them, but not META
			if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 2 }); err != nil {
				l.t.Fatal(err)
			}
			l.stop()
			l.upfu.Mute(false)
			l.startAgent()
		}, 1000},
		"upf-u, its successor, and then upf-c": {func(l *lab) {
			l.upfu.Kill()
			l.saved()
			l.fillInVain()
			l.upfu.Kill()
			l.stop()
			l.startUPFU()
			l.startAgent()
		}, 1000},
		"both, twice": {func(l *lab) {
			for range 2 {
				l.upfu.Kill()
				l.saved()
				l.stop()
				l.startUPFU()
				l.startAgent()
			}
		}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			s := fakesmf.New(t, l.addr)
			s.Associate()
			seid := s.Established(7, fakesmf.Phone.Session()...)
			slot := l.upfu.Sessions()[0].URRs[0].Slot
			if err := l.upfu.Count(slot, abi.Dl, 300, 3); err != nil {
				t.Fatal(err)
			}
			fakesmf.WantCause(t, s.Modify(seid, fakesmf.Phone.GNB(0x100, "172.30.3.100"), ie.NewQueryURR(ie.NewURRID(1))).Cause, ie.CauseRequestAccepted)
			other := s.Established(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
			gone := s.Established(9, fakesmf.UE{TEID: 3, N3: "172.30.3.16", Addr: "10.45.0.3"}.Session()...)
			fakesmf.WantCause(t, s.Delete(gone).Cause, ie.CauseRequestAccepted)
			stamp := s.Heartbeat()
			if err := l.upfu.Count(slot, abi.Dl, 1000, 3); err != nil {
				t.Fatal(err)
			}
			rules := func() map[uint32]fakeupfu.Session {
				all := l.upfu.Sessions()
				for i, s := range all {
					s.Blob = nil
					all[i] = s
				}
				return maps.Clone(all)
			}
			before := rules()

			tt.die(l)
			s.To = l.addr
			if diff := cmp.Diff(before, rules()); diff != "" {
				t.Errorf("rules in upf-u (-before +after):\n%s", diff)
			}
			if got := s.Heartbeat(); !got.Equal(stamp) {
				t.Errorf("Recovery Time Stamp %v, want %v", got, stamp)
			}
			if err := l.upfu.Count(slot, abi.Dl, 50, 1); err != nil {
				t.Fatal(err)
			}
			d := s.Delete(seid)
			fakesmf.WantCause(t, d.Cause, ie.CauseRequestAccepted)
			if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != tt.used+50 {
				t.Errorf("last report covers %d octets, want %d", total, tt.used+50)
			}
			if seqn, err := d.UsageReport[0].URSEQN(); err != nil || seqn != 1 {
				t.Errorf("UR-SEQN %d (%v), want 1", seqn, err)
			}
			fakesmf.WantCause(t, s.Modify(other, fakesmf.Idle).Cause, ie.CauseRequestAccepted)
			fakesmf.WantCause(t, s.Modify(gone, fakesmf.Idle).Cause, ie.CauseSessionContextNotFound)
			s.Established(10, fakesmf.UE{TEID: 4, N3: "172.30.3.16", Addr: "10.45.0.4"}.Session()...)
			if found, _ := filepath.Glob(l.socket + ".state?*"); len(found) != 0 {
				t.Errorf("%v are left", found)
			}
		})
	}
}

// upf-u has other addresses than upf-c: it is not used, and why is said.
func TestFilesThatDoNotFitEachOther(t *testing.T) {
	l := newLab(t, nil)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	s.Established(7, fakesmf.Phone.Session()...)
	l.upfu.Kill()
	l.startUPFU()
	l.upfu.Own(netip.MustParsePrefix("172.30.3.32/28"))
	l.upfu.Disconnect() // should it have been met before
	const want = "upf-c.yaml has 172.30.3.16/28 in n3.endpoints, upf-u.yaml has [172.30.3.32/28] in interfaces.n3"
	if err := l.upfu.Await(fakesmf.Patience, func() bool {
		err := l.agent.Ready()
		return err != nil && strings.Contains(err.Error(), want)
	}); err != nil {
		t.Fatalf("ready: %v, want %q", l.agent.Ready(), want)
	}
	fakesmf.WantCause(t, s.Establish(8, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...).Cause, ie.CauseSystemFailure)
	l.upfu.Own(netip.MustParsePrefix("172.30.3.16/28"))
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return l.agent.Ready() == nil && len(l.upfu.Sessions()) == 1 }); err != nil {
		t.Fatal(l.agent.Ready())
	}
}

// Whoever was away for longer than CP functions are waited for begins anew.
func TestBothDeadForTooLong(t *testing.T) {
	l := newLab(t, func(c *config.Config) { c.Heartbeat.ReleaseAfter = time.Second })
	s := fakesmf.New(t, l.addr)
	s.Associate()
	seid := s.Established(7, fakesmf.Phone.Session()...)
	stamp := s.Heartbeat()
	l.stop()
	l.upfu.Kill()
	stopped := time.Now()
	l.startUPFU()
	if err := l.upfu.Await(fakesmf.Patience, func() bool { return time.Since(stopped) > 3*time.Second }); err != nil {
		t.Fatal(err)
	}
	l.startAgent()
	s.To = l.addr
	if got := s.Heartbeat(); !got.After(stamp) {
		t.Errorf("Recovery Time Stamp %v, want one newer than %v", got, stamp)
	}
	fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseNoEstablishedPFCPAssociation)
}

// A deletion that is repeated is answered with the last usage again, when upf-c began anew meanwhile, too.
func TestRepeatedDeletion(t *testing.T) {
	for name, between := range map[string]func(l *lab){
		"to the same upf-c":      func(*lab) {},
		"to the next one":        (*lab).restartAgent,
		"after both began anew":  func(l *lab) { l.upfu.Kill(); l.stop(); l.startUPFU(); l.startAgent() },
		"after upf-u began anew": func(l *lab) { l.upfu.Kill(); l.startUPFU() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			s, other := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
			s.Associate()
			other.Associate()
			seid := s.Established(7, fakesmf.Phone.Session()...)
			_, sess := l.only()
			if err := l.upfu.Count(sess.URRs[0].Slot, abi.Ul, 700, 1); err != nil {
				t.Fatal(err)
			}
			deletion := message.NewSessionDeletionRequest(0, 0, seid, s.NextSeq(), 0)
			deleted(t, s, deletion, 700)
			between(l)
			s.To, other.To = l.addr, l.addr
			deleted(t, s, deletion, 700)
			// Another request, or another's, is not the repetition.
			fakesmf.WantCause(t, s.Delete(seid).Cause, ie.CauseSessionContextNotFound)
			a, ok := other.Ask(message.NewSessionDeletionRequest(0, 0, seid, deletion.Sequence(), 0)).(*message.SessionDeletionResponse)
			if !ok {
				t.Fatal("no Session Deletion Response")
			}
			fakesmf.WantCause(t, a.Cause, ie.CauseSessionContextNotFound)
		})
	}
}

func deleted(t *testing.T, s *fakesmf.SMF, deletion *message.SessionDeletionRequest, octets uint64) {
	t.Helper()
	d, ok := s.Ask(deletion).(*message.SessionDeletionResponse)
	if !ok {
		t.Fatal("no Session Deletion Response")
	}
	fakesmf.WantCause(t, d.Cause, ie.CauseRequestAccepted)
	if len(d.UsageReport) != 1 || d.SEID() != 7 {
		t.Fatalf("answer to SEID %d with %d usage reports, want 7 and one", d.SEID(), len(d.UsageReport))
	}
	if total, _, _ := fakesmf.Volumes(t, d.UsageReport[0]); total != octets {
		t.Errorf("the last report covers %d octets, want %d", total, octets)
	}
	if got := fakesmf.Trigger(t, d.UsageReport[0]); got != "000800" {
		t.Errorf("trigger %s, want TERMR", got)
	}
}

// upf-c dies when upf-u has deleted a session and nobody has been told. What a killed upf-c leaves is its file
// at that moment.
func TestDeletionThatAnEarlierUPFCDidNotAnswer(t *testing.T) {
	for name, upfu := range map[string]func(l *lab){
		"upf-u goes on": func(*lab) {},
		// Nobody can know whether it was deleted, so the session is there again, and is deleted again.
		"upf-u dies, too": func(l *lab) { l.upfu.Kill(); l.startUPFU() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil)
			s := fakesmf.New(t, l.addr)
			s.Associate()
			seid := s.Established(7, fakesmf.Phone.Session()...)
			_, sess := l.only()
			if err := l.upfu.Count(sess.URRs[0].Slot, abi.Ul, 700, 1); err != nil {
				t.Fatal(err)
			}
			l.upfu.Mute(true)
			deletion := message.NewSessionDeletionRequest(0, 0, seid, s.NextSeq(), 0)
			s.Write(deletion)
			if err := l.upfu.Await(fakesmf.Patience, func() bool { return len(l.upfu.Sessions()) == 0 }); err != nil {
				t.Fatal(err)
			}
			killed, err := os.ReadFile(l.socket + ".state")
			if err != nil {
				t.Fatal(err)
			}
			l.stop()
			s.Answer() // which a upf-c that is killed does not give
			if err := os.WriteFile(l.socket+".state", killed, 0o600); err != nil {
				t.Fatal(err)
			}
			upfu(l)
			l.upfu.Mute(false)
			l.startAgent()
			s.To = l.addr
			deleted(t, s, deletion, 700)
			deleted(t, s, deletion, 700)
			if n := len(l.upfu.Sessions()); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}
