package agent_test

import (
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// A framed route that another CP function's session has is refused by name; one that the same CP function gives anew is
// the later session's.
func TestFramedRouteBelongsToOneSession(t *testing.T) {
	l := newLab(t, nil)
	first, second := fakesmf.New(t, l.addr), fakesmf.New(t, l.addr)
	first.Associate()
	second.Associate()
	ask := func(s *fakesmf.SMF, seid uint64, ue string) (uint8, error) {
		a := s.Establish(seid, coreFAR(1), downlinkPDR(1, ie.NewUEIPAddress(3, ue, "2001:db8:1:"+ue[len(ue)-1:]+"::", 0, 0), ie.NewFramedIPv6Route("2001:db8:7::/48")))
		if a.OffendingIE != nil {
			fakesmf.WantOffending(t, a.OffendingIE, ie.FramedIPv6Route)
		}
		return a.Cause.Cause()
	}
	for _, step := range []struct {
		who  *fakesmf.SMF
		ue   string
		want uint8
	}{
		{first, "10.45.0.1", ie.CauseRequestAccepted},
		{second, "10.45.0.2", ie.CauseRuleCreationModificationFailure},
		{first, "10.45.0.3", ie.CauseRequestAccepted},
	} {
		if got, err := ask(step.who, uint64(step.ue[len(step.ue)-1]), step.ue); err != nil || got != step.want {
			t.Errorf("the session of %s: cause %d (%v), want %d", step.ue, got, err, step.want)
		}
	}
	if _, got := l.only(); len(got.Routes) != 1 {
		t.Errorf("routes %+v", got.Routes)
	}
}
