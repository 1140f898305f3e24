package agent_test

import (
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

func withPredefined(c *config.Config) {
	c.PredefinedRules = []config.PredefinedRule{
		{Name: "video", Filters: []string{"permit out ip from 203.0.113.0/24 to assigned", "permit out ip from 198.51.100.0/24 to assigned"}},
		{Name: "games", Filters: []string{"permit out 17 from any to assigned"}, Gate: "closed"},
	}
}

// TS 29.244 5.19: rules of the configuration are activated and deactivated by name, outlive upf-c, and one that nobody knows is refused.
func TestPredefinedRulesByName(t *testing.T) {
	l := newLab(t, withPredefined)
	s := fakesmf.New(t, l.addr)
	s.Associate()
	pdr := func(ies ...*ie.IE) *ie.IE {
		return ie.NewCreatePDR(append([]*ie.IE{ie.NewPDRID(1), ie.NewPrecedence(7), ie.NewFARID(1),
			ie.NewPDI(ie.NewSourceInterface(1), ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0))}, ies...)...)
	}
	a := s.Establish(1, pdr(ie.NewActivatePredefinedRules("chess")), coreFAR(1))
	fakesmf.WantCause(t, a.Cause, pfcp.CauseUnknownPredefinedRule)
	fakesmf.WantOffending(t, a.OffendingIE, ie.ActivatePredefinedRules)
	seid := s.Established(1, pdr(ie.NewActivatePredefinedRules("video")), coreFAR(1))
	modified := func(ies ...*ie.IE) {
		t.Helper()
		fakesmf.WantCause(t, s.Modify(seid, ie.NewUpdatePDR(append([]*ie.IE{ie.NewPDRID(1)}, ies...)...)).Cause, ie.CauseRequestAccepted)
	}
	want := func(when string, entries, filters, dropped int) {
		t.Helper()
		_, got := l.only()
		closed := 0
		for _, p := range got.PDRs {
			if got.FARs[p.Far].Action == abi.FarDrop {
				closed++
			}
			if p.Precedence != 7 || p.Flags&abi.PdrSdf == 0 {
				t.Errorf("%s: %+v, want precedence 7 and filters", when, p)
			}
		}
		if len(got.PDRs) != entries || len(got.SDFs) != filters || closed != dropped {
			t.Errorf("%s: %d entries, %d filters, %d dropped; want %d, %d, %d", when, len(got.PDRs), len(got.SDFs), closed, entries, filters, dropped)
		}
	}
	want("one is active", 1, 2, 0)
	modified(ie.NewActivatePredefinedRules("games"))
	want("two are active", 2, 3, 1)
	l.restartAgent()
	s.To = l.addr
	want("after upf-c began anew", 2, 3, 1)
	modified(ie.NewDeactivatePredefinedRules("video"))
	want("the second is left", 1, 1, 1)
	modified(ie.NewDeactivatePredefinedRules("games"))
	want("none is", 1, 0, 0)
}
