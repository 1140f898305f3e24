package rules

import (
	"slices"
	"testing"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// predefinedPolicy knows the rules video and games.
func predefinedPolicy() Policy {
	p := policy()
	p.Predefined = func(name string) bool { return name == "video" || name == "games" }
	return p
}

func TestPredefinedRules(t *testing.T) {
	activate, deactivate := ie.NewActivatePredefinedRules, ie.NewDeactivatePredefinedRules
	pdi := ie.NewPDI(fromCore, ie.NewUEIPAddress(2, "10.45.0.1", "", 0, 0))
	set := established(t)
	for _, step := range []struct {
		what        string
		ies         *ie.IE
		names       []string
		deactivated bool
	}{
		{"two are activated with a PDR, one of them twice", createPDR(7, pdi, activate("video"), activate("games"), activate("video")), []string{"video", "games"}, false},
		{"an update that names none changes none", ie.NewUpdatePDR(ie.NewPDRID(7), ie.NewPrecedence(5)), []string{"video", "games"}, false},
		{"one is deactivated", ie.NewUpdatePDR(ie.NewPDRID(7), deactivate("video")), []string{"games"}, false},
		{"one takes the other's place", ie.NewUpdatePDR(ie.NewPDRID(7), activate("video"), deactivate("games")), []string{"video"}, false},
		{"the last one is deactivated", ie.NewUpdatePDR(ie.NewPDRID(7), deactivate("video")), nil, true},
		{"what says nothing of them leaves it so", ie.NewUpdatePDR(ie.NewPDRID(7), ie.NewPrecedence(6)), nil, true},
		{"one is activated again", ie.NewUpdatePDR(ie.NewPDRID(7), activate("games")), []string{"games"}, false},
		{"none is left", ie.NewUpdatePDR(ie.NewPDRID(7), deactivate("games")), nil, true},
		{"another PDI finds by itself", ie.NewUpdatePDR(ie.NewPDRID(7), pdi), nil, false},
	} {
		before := set.PDRs.Get(7)
		c, err := Plan(set, message(t, step.ies), predefinedPolicy())
		if err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		r := c.Next.PDRs.Get(7)
		if !slices.Equal(r.Predefined, step.names) || r.Deactivated != step.deactivated {
			t.Errorf("%s: %q, deactivated %t; want %q, %t", step.what, r.Predefined, r.Deactivated, step.names, step.deactivated)
		}
		if set.PDRs.Get(7) != before {
			t.Errorf("%s: the set before has changed", step.what)
		}
		set = c.Next
	}
}

func TestPredefinedRulesThatAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		pdi, pdr  []*ie.IE
		cause     uint8
		offending uint16
	}{
		"an unknown one":               {nil, []*ie.IE{ie.NewActivatePredefinedRules("chess")}, pfcp.CauseUnknownPredefinedRule, ie.ActivatePredefinedRules},
		"one without a name":           {nil, []*ie.IE{ie.NewActivatePredefinedRules("")}, pfcp.CauseUnknownPredefinedRule, ie.ActivatePredefinedRules},
		"the end of one never begun":   {nil, []*ie.IE{ie.NewDeactivatePredefinedRules("video")}, pfcp.CauseUnknownPredefinedRule, ie.DeactivatePredefinedRules},
		"one beside an SDF filter":     {[]*ie.IE{ie.NewSDFFilter("permit out ip from any to any", "", "", "", 0)}, []*ie.IE{ie.NewActivatePredefinedRules("video")}, ruleFailure, ie.ActivatePredefinedRules},
		"one beside an Application ID": {[]*ie.IE{ie.NewApplicationID("video")}, []*ie.IE{ie.NewActivatePredefinedRules("video")}, ruleFailure, ie.ActivatePredefinedRules},
	} {
		t.Run(name, func(t *testing.T) {
			p := predefinedPolicy()
			p.Application = func(string) bool { return true }
			pdi := ie.NewPDI(append([]*ie.IE{fromCore}, tt.pdi...)...)
			_, err := Plan(established(t), message(t, createPDR(7, append([]*ie.IE{pdi}, tt.pdr...)...)), p)
			r, ok := err.(*pfcp.Reject)
			if !ok || r.Cause != tt.cause || r.Offending != tt.offending || r.Rule == nil || r.Rule.ID != 7 {
				t.Errorf("%v, want cause %d because of IE %d", err, tt.cause, tt.offending)
			}
		})
	}
}
