package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// What the UPF chose for a session is that session's: no CP function gets it by asking for it, its own neither, and
// nobody's session ends for that.
func TestWhatTheUPFChoseIsNeverTakenAway(t *testing.T) {
	for name, tt := range map[string]struct {
		take func(ue, teid *ie.IE) []*ie.IE
		want uint16
	}{
		"the UE address": {func(ue, _ *ie.IE) []*ie.IE {
			return []*ie.IE{coreFAR(1), downlinkPDR(1, ue)}
		}, ie.UEIPAddress},
		"the F-TEID": {func(_, teid *ie.IE) []*ie.IE {
			return []*ie.IE{coreFAR(1), ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(1), ie.NewFARID(1), ie.NewOuterHeaderRemoval(0, 0),
				ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewNetworkInstance("internet"), teid))}
		}, ie.FTEID},
	} {
		for who, other := range map[string]bool{"its own CP function": false, "another one": true} {
			t.Run(name+", by "+who, func(t *testing.T) {
				l := newLab(t, withPools)
				holder, asker := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
				holder.Associate()
				asker.Associate()
				if !other {
					asker = holder
				}
				made := holder.Establish(1, chooses()...)
				fakesmf.WantCause(t, made.Cause, ie.CauseRequestAccepted)
				_, before := l.only()
				var ue, teid *ie.IE
				for _, created := range made.CreatedPDR {
					inside, err := created.CreatedPDR()
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range inside {
						switch e.Type {
						case ie.UEIPAddress:
							ue = e
						case ie.FTEID:
							teid = e
						}
					}
				}
				if ue == nil || teid == nil {
					t.Fatalf("the answer tells of UE address %v and F-TEID %v", ue, teid)
				}

				for range 2 { // and after upf-c began anew
					a := asker.Establish(2, tt.take(ue, teid)...)
					fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
					fakesmf.WantOffending(t, a.OffendingIE, tt.want)
					_, after := l.only()
					if diff := cmp.Diff(before, after); diff != "" {
						t.Errorf("the holder has changed (-before +after):\n%s", diff)
					}
					l.restartAgent()
					holder.To, asker.To = l.addr, l.addr
				}
			})
		}
	}
}

// The UPF gives nobody what a CP function has given.
func TestChoiceAvoidsWhatWasGiven(t *testing.T) {
	l := newLab(t, withPools)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	static := s.Established(1, fakesmf.UE{TEID: 1, N3: "172.30.3.16", Addr: "10.60.0.1"}.Session()...)
	for range 8 {
		a := s.Establish(2, coreFAR(1), downlinkPDR(1, ie.New(ie.UEIPAddress, []byte{0x10})))
		fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
		u, err := a.CreatedPDR[0].UEIPAddress()
		if err != nil || u.IPv4Address.String() != "10.60.0.2" {
			t.Fatalf("UE address %v (%v), want the pool's other one, 10.60.0.2", u, err)
		}
		f, err := a.UPFSEID.FSEID()
		if err != nil {
			t.Fatal(err)
		}
		fakesmf.WantCause(t, s.Delete(f.SEID).Cause, ie.CauseRequestAccepted)
	}
	fakesmf.WantCause(t, s.Delete(static).Cause, ie.CauseRequestAccepted)
}
