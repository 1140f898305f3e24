package ran_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/gnb"
	"core5g.dev/core5g/e2e/ran/internal/fakeamf"
	"core5g.dev/core5g/e2e/ran/n2"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

func TestGNBDies(t *testing.T) {
	for name, silent := range map[string]bool{"and its association is aborted": false, "and its association stays": true} {
		t.Run(name, func(t *testing.T) {
			p := startPair(t, fakeamf.Knobs{}, nil)
			p.amf.WaitTrace("Configuration Update Complete", 1)
			core, _ := p.amf.Session(testSUPI, 1)
			p.must(p.gnb.Die(silent))
			if err := p.gnb.Die(silent); !errors.Is(err, gnb.ErrDead) {
				t.Errorf("dying again: %v", err)
			}
			p.wait("idle", func(s ue.Status) bool { return s.CM == "idle" })
			if s := p.gnb.Status(); s.State != "dead" || s.Connected != 0 {
				t.Errorf("the dead gNB is %+v", s)
			}
			trace := strings.Join(p.amf.Trace(), "; ")
			if strings.Contains(trace, "Release") {
				t.Errorf("the dead gNB has said something: %s", trace)
			}
			if silent {
				p.amf.Page(testSUPI) // nobody hears it
			}
			if s, _ := p.amf.Session(testSUPI, 1); s.GNBTEID != core.GNBTEID {
				t.Errorf("the core sends to %#x now", s.GNBTEID)
			}
			if err := p.ue.ServiceRequest(p.ctx); err == nil {
				t.Error("a UE without a cell was served")
			}
			p.must(p.gnb.Revive())
			p.amf.WaitTrace("NG Setup Request", 3)
			p.amf.WaitTrace("session 1 up", 2)
			p.ready()
			if n := p.ue.Status().Counters.Pagings; n != 0 {
				t.Errorf("%d pagings were heard", n)
			}
		})
	}
}

func TestUEMovesWithoutAWord(t *testing.T) {
	p := startPair(t, fakeamf.Knobs{}, nil)
	p.amf.WaitTrace("Configuration Update Complete", 1)
	old := p.ue.Connection()
	p.gnbs[0].Remove(p.ue)
	p.must(p.ue.Camp(p.ctx, p.gnbs[1]))
	p.gnbs[1].Add(p.ue)
	p.amf.WaitTrace("session 1 up", 2)
	p.wait("the new cell", func(s ue.Status) bool { return s.Radio != nil && s.Radio.GNB == "two" && s.Sessions[0].Up })
	if s := p.gnbs[0].Status(); s.Connected != 1 {
		t.Errorf("the gNB of before has %d UEs, want the one that it does not know to be gone", s.Connected)
	}
	if old.Status().GNB != "one" {
		t.Errorf("the old connection is at %s", old.Status().GNB)
	}
	p.ue.CellDown(p.gnbs[0]) // it was on its way when the UE left
	p.must(p.ue.Idle(p.ctx))
	p.must(p.ue.ServiceRequest(p.ctx))
	p.must(p.ue.Idle(p.ctx))
	p.gnbs[1].Remove(p.ue)
	p.must(p.ue.Reselect(p.ctx, p.gnbs[0]))
	p.gnbs[0].Add(p.ue)
	p.amf.Page(testSUPI)
	p.wait("the cell of before", func(s ue.Status) bool {
		return s.Radio != nil && s.Radio.GNB == "one" && s.Sessions[0].Up && s.Counters.Pagings == 1
	})
}

func TestLossModes(t *testing.T) {
	tests := map[string]struct {
		mode            gnb.LossMode
		retain          bool // the AMF retains, too
		wantMeanwhile   string
		wantServiceReqs uint64
	}{
		"keep: the connection serves on until N2 is back": {gnb.Keep, true, "connected", 1},
		"release: at once":         {gnb.Release, true, "idle", 1},
		"retain: and the AMF does": {gnb.Retain, true, "connected", 0},
		"retain: and the AMF does not, so that the UE asks anew": {gnb.Retain, false, "connected", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := startWith(t, fakeamf.Knobs{Retain: tt.retain}, nil, func(c *gnb.Config) { c.OnLoss = tt.mode })
			b.ready()
			b.amf.WaitTrace("Configuration Update Complete", 1)
			b.amf.WaitTrace("session 1 up", 1)
			b.amf.Cut()
			b.wait("the loss of N2", func(s ue.Status) bool { return b.gnb.Status().State == "connecting" && s.CM == tt.wantMeanwhile })
			b.amf.Start()
			b.amf.WaitTrace("NG Setup Request", 2)
			s := b.wait("the UE", func(s ue.Status) bool {
				return s.CM == "connected" && s.Sessions[0].Up && s.Counters.ServiceRequests == tt.wantServiceReqs && b.gnb.Status().State == "connected"
			})
			if !s.Ready {
				t.Errorf("%+v", s)
			}
			b.must(b.ue.Idle(b.ctx)) // the connection serves, the AMF knows it
		})
	}
}

// A session that has resources is asked for again (TS 38.413 8.2.1.4): a strict gNB keeps those that it has.
func TestResourcesOfASessionThatHasSome(t *testing.T) {
	for name, tt := range map[string]struct {
		strict   bool
		ups      int
		failures int
	}{
		"strict: refused": {true, 1, 1},
		"otherwise: they take the place of what was": {false, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := startWith(t, fakeamf.Knobs{}, nil, func(c *gnb.Config) { c.Strict = tt.strict })
			b.ready()
			b.amf.WaitTrace("session 1 up", 1)
			before, _ := b.amf.Session(testSUPI, 1)
			b.amf.SetUpAgain(testSUPI, 1)
			b.amf.WaitTrace("session 1 up", tt.ups)
			b.amf.WaitTrace("PDU Session Resource failed: "+n2.CauseText(n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentMultiplePDUSessionIDInstances)), tt.failures)
			after, _ := b.amf.Session(testSUPI, 1)
			if (before.GNBTEID == after.GNBTEID) != tt.strict || b.n3.count() != 1 {
				t.Errorf("tunnel %#x was %#x; there are %d", after.GNBTEID, before.GNBTEID, b.n3.count())
			}
			b.must(b.ue.SendUplink(1, []byte("still")))
			if p := <-b.n3.sent; p.payload != "still" {
				t.Errorf("uplink packet %+v", p)
			}
		})
	}
}

func TestUEIgnoresPaging(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.amf.WaitTrace("Configuration Update Complete", 1)
	b.must(b.ue.Idle(b.ctx))
	b.must(b.ue.Behave(b.ctx, ue.Behaviour{IgnorePaging: true}))
	b.amf.Page(testSUPI)
	if s := b.wait("the paging", func(s ue.Status) bool { return s.Counters.Pagings == 1 }); s.CM != "idle" || s.Counters.Ignored != 1 {
		t.Errorf("%s after a paging that is ignored, %d ignored", s.CM, s.Counters.Ignored)
	}
	b.must(b.ue.Behave(b.ctx, ue.Behaviour{}))
	b.amf.Page(testSUPI)
	b.amf.WaitTrace("Service Request (type 2)", 1)
}

func TestUEIgnoresCommands(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.Behave(b.ctx, ue.Behaviour{Ignore: map[string]int{"modification-command": 2, "release-command": 1}}))
	command := (&n1.ModificationCommand{SessionID: 1, Rules: []n1.Rule{voiceRule}, Flows: []n1.Flow{voice}}).Encode()
	for range 3 { // T3591
		b.amf.SendSM(testSUPI, 1, command)
	}
	b.amf.WaitTrace("PDU Session Modification Complete", 1)
	if s := b.wait("the flows", func(s ue.Status) bool { return len(s.Sessions[0].Flows) == 2 }); s.Counters.Ignored != 2 {
		t.Errorf("%d messages ignored, want 2", s.Counters.Ignored)
	}
	release := (&n1.ReleaseCommand{SessionID: 1, Cause: n1.CauseReactivationRequested}).Encode()
	for range 2 { // T3592
		b.amf.SendSM(testSUPI, 1, release)
	}
	b.amf.WaitTrace("PDU Session Release Complete", 1)
	b.amf.WaitTrace("PDU Session Establishment Request", 2)
	if err := (ue.Behaviour{Ignore: map[string]int{"everything": 1}}).Check(); err == nil || !strings.Contains(err.Error(), "establishment-accept") {
		t.Errorf("Check: %v", err)
	}
}

func TestUERepeats(t *testing.T) {
	b := start(t, fakeamf.Knobs{SilentSession: true}, func(c *ue.Config) {
		c.Sessions, c.Requested = nil, []uenas.SNSSAI{slice1}
		c.Timers.T3580 = 100 * time.Millisecond
	})
	b.ready()
	b.must(b.ue.Behave(b.ctx, ue.Behaviour{Repeat: 2}))
	_ = b.ue.Establish(b.ctx, ue.SessionConfig{PSI: 3, Slice: slice1, DNN: "internet"})
	b.amf.WaitTrace("PDU Session Establishment Request", 3)
	b.amf.Set(fakeamf.Knobs{TakeReplays: true})
	b.must(b.ue.RepeatNAS(b.ctx))
	b.amf.WaitTrace("NAS message replayed", 1)
}

func TestUESendsMalformed5GSM(t *testing.T) {
	b := start(t, fakeamf.Knobs{}, nil)
	b.ready()
	b.must(b.ue.SendSM(b.ctx, ue.RawSM{PSI: 4, Payload: []byte{0x2e, 4, 9, 0xc1, 0xff}}))
	b.amf.WaitTrace("5GSM message refused: 5GSM message 0xc1: a mandatory element is missing or cut (cause 96)", 1)
	b.must(b.ue.SendSM(b.ctx, ue.RawSM{PSI: 1, Payload: []byte{0x2e, 1, 9, 0xc9, 0x7a, 0, 4, 1, 0, 1, 0xe0}, Request: uenas.RequestModification}))
	b.amf.WaitTrace("5GSM message refused: 5GSM message 0xc9: QoS rule 1 has the reserved operation 7 (cause 83)", 1)
	b.must(b.ue.Idle(b.ctx))
	if err := b.ue.SendSM(b.ctx, ue.RawSM{PSI: 1, Payload: []byte{1}}); !errors.Is(err, ue.ErrIdle) {
		t.Errorf("SendSM of an idle UE: %v", err)
	}
}
