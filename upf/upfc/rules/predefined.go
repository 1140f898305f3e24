package rules

import (
	"fmt"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Predefined PDRs (TS 29.244 5.19). The UPF's configuration has how packets of a service are found, and whether they
// pass; the CP function names it in a PDR, which says the rest: whose packets they are, by which F-TEID, UE IP address and QFI, and
// with which precedence, FAR, QERs and URRs. A PDR with several names finds the packets of each. One whose names have all been
// deactivated finds none, until it gets another name or a PDI.

// Predefined is a rule of the configuration.
type Predefined struct {
	Flows []Flow
	// Closed: what it finds is dropped, whatever the PDR's FAR says.
	Closed bool
}

// predefined reads the names that a PDR activates and deactivates.
func (p *planner) predefined(r *PDR, group pfcp.Elements, ref named) error {
	unknown := func(e *pfcp.Element, format string, args ...any) error {
		return &pfcp.Reject{Cause: pfcp.CauseUnknownPredefinedRule, Offending: e.Type, Rule: ref.ref(), Detail: fmt.Sprintf(format, args...)}
	}
	names := slices.Clone(r.Predefined)
	// Deactivation first, so that one message can put another rule in an old one's place.
	for i := range group {
		e := &group[i]
		if e.Type != ie.DeactivatePredefinedRules {
			continue
		}
		at := slices.Index(names, string(e.Value))
		if at < 0 {
			return unknown(e, "predefined rule %q is not active", e.Value)
		}
		names = slices.Delete(names, at, at+1)
	}
	for i := range group {
		e := &group[i]
		if e.Type != ie.ActivatePredefinedRules {
			continue
		}
		name := string(e.Value)
		if p.policy.Predefined == nil || !p.policy.Predefined(name) {
			return unknown(e, "this UPF has no predefined rule %q", name)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 0 && (len(r.PDI.Filters) > 0 || r.PDI.Application != "") {
		return refuse(ref, ie.ActivatePredefinedRules, "predefined rules beside SDF filters or an Application ID: give the one or the other")
	}
	r.Deactivated = len(names) == 0 && (len(r.Predefined) > 0 || r.Deactivated && group.First(ie.PDI) == nil)
	r.Predefined = names
	return nil
}
