package sessions

import (
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/record"
)

// ended: UPF and AMF have let go of session 1, whatever the UE has asked for since.
func (s *story) ended(p *shown) {
	s.t.Helper()
	s.until("the end of the session", func() bool {
		return p.upfu.Deleted() > 0 && s.count("session 1: RELEASED")+s.count("session 1: SM context released: 20") > 0
	})
}

func TestReleases(t *testing.T) {
	for name, tt := range map[string]struct {
		release func(*story, *phone)
	}{
		"by the UE": {func(s *story, u *phone) { u.must(u.Release(s.ctx, 1)) }},
		"by the network, whose Slice goes": {func(s *story, u *phone) {
			s.slices = slices
			for _, p := range s.living() {
				only, err := configuration.New(slices()[1:], []configuration.Unit{{NodeID: nodeID, Address: s.unit}})
				if err != nil {
					s.t.Fatal(err)
				}
				p.Configure(only)
			}
		}},
		"with the UE, which deregisters": {func(s *story, u *phone) { u.must(u.Deregister(s.ctx, false)) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := &shown{}
			s := begin(t, p)
			u := s.attach(1, internet(1))
			s.amf.WaitTrace("session 1 up", 1)
			tt.release(s, u)
			s.ended(p)
			s.until("no session", func() bool { return len(p.upfu.Sessions()) == 0 && u.session(1).State != "active" })
		})
	}
}

// A session that the AMF has no slice for any more ends, and the UE is told to ask again, also where it is idle.
func TestReleaseByAMF(t *testing.T) {
	for name, idle := range map[string]bool{"of a UE that is connected": false, "of one that is idle": true} {
		t.Run(name, func(t *testing.T) {
			p := &shown{}
			s := begin(t, p)
			u := s.attach(1, internet(1))
			s.amf.WaitTrace("session 1: SM context created", 1)
			s.amf.WaitTrace("session 1 up", 1)
			before := u.session(1).TEIDUL
			if idle {
				u.must(u.Idle(s.ctx))
				s.amf.WaitTrace("session 1 DEACTIVATED: 200", 1)
			}
			s.amf.ReleaseByAMF(u.supi, 1)
			s.amf.WaitTrace("PDU Session Release Complete", 1)
			u.wait("another session", func(ue.Status) bool { x := u.session(1); return x.Up && x.TEIDUL != before })
			s.until("one session", func() bool { return len(p.upfu.Sessions()) == 1 })
		})
	}
}

// A session that is asked for under the identity of one that there is takes its place (TS 24.501 6.4.1.7 b).
func TestSessionAgain(t *testing.T) {
	p := &shown{}
	s := begin(t, p)
	u := s.attach(1, internet(1), internet(2))
	s.amf.WaitTrace("session 1 up", 1)
	s.amf.WaitTrace("session 2 up", 1)
	before := u.session(1).TEIDUL
	u.must(u.EstablishAgain(s.ctx, 1))
	u.ready()
	s.until("the old session's end", func() bool { return len(p.upfu.Sessions()) == 2 && u.session(1).TEIDUL != before && u.session(1).Up })
	if x := u.session(2); !x.Up || x.State != "active" {
		t.Errorf("the other session: %+v", x)
	}
}

// Another AMBR in the Slice reaches UE, gNB and UPF of sessions that there are.
func TestSettingsChange(t *testing.T) {
	p := &shown{}
	s := begin(t, p)
	u := s.attach(1, internet(1))
	s.amf.WaitTrace("session 1 up", 1)
	s.configure(func(l []configuration.Slice) { l[0].DataNetworks[0].AMBR = record.AMBR{Uplink: 5e6, Downlink: 7e6} })
	s.amf.WaitTrace("PDU Session Modification Complete", 1)
	u.wait("the AMBR", func(ue.Status) bool { x := u.session(1); return x.AMBRUplink == 5e6 && x.AMBRDownlink == 7e6 })
	if r := u.Status().Radio; r == nil || r.Sessions[0].AMBRUplink != 5e6 || r.Sessions[0].AMBRDownlink != 7e6 {
		t.Errorf("the gNB has %+v", r)
	}
	// A change of what is told with an accept touches no session.
	n := len(s.amf.Trace())
	s.configure(func(l []configuration.Slice) { l[0].DataNetworks[0].MTU = 1300 })
	u.must(u.Idle(s.ctx))
	s.amf.WaitTrace("session 1 DEACTIVATED: 200", 1)
	if told := strings.Join(s.amf.Trace()[n:], "; "); strings.Contains(told, "transfer") {
		t.Errorf("a changed MTU: %s", told)
	}
}
