package rules

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Policy is what a plan must ask about the world outside of the message.
type Policy struct {
	OwnsN3          func(a netip.Addr) bool
	NetworkInstance func(name string) bool // nil: every network instance is accepted
	ChooseFTEID     func() (FTEID, error)
}

// Change is the outcome of a whole valid message.
type Change struct {
	Next        *Set
	Rules       bool      // Next differs from what it was made of
	Chosen      []uint16  // PDRs for whose F-TEID the answer carries a Created PDR
	EndMarkers  []FTEID   // tunnels that a path switch leaves (SNDEM)
	Query       []uint32  // URRs to report now
	RemovedURRs []uint32  // URRs to report for the last time
	Granted     []Granted // what URRs were given anew
	// Query URR Reference of the message
	HasQueryReference bool
	QueryReference    uint32
}

type planner struct {
	policy  Policy
	base    *Set
	change  *Change
	chosen  map[uint8]FTEID // by CHOOSE ID
	filters map[uint32]SDFFilter
}

// Plan applies a Session Establishment or Modification Request to base, which it leaves untouched.
// The error is a *pfcp.Reject; then nothing is to be changed.
func Plan(base *Set, message pfcp.Elements, policy Policy) (*Change, error) {
	p := &planner{
		policy: policy, base: base,
		change:  &Change{Next: base.Clone()},
		chosen:  map[uint8]FTEID{},
		filters: map[uint32]SDFFilter{},
	}
	// Removal first, so that one message can put a new rule in an old one's place.
	for _, step := range []func(pfcp.Elements) error{p.remove, p.create, p.update, p.inactivity, p.query, p.check, p.checkURRs} {
		if err := step(message); err != nil {
			return nil, err
		}
	}
	return p.change, nil
}

// kind is what the four sorts of rules have in common while a message is read.
type kind struct {
	name                   string
	id                     uint16 // IE type of the rule's ID
	create, update, remove uint16 // IE types of the grouped IEs
	rule                   uint8  // Failed Rule ID type
}

var (
	pdrKind = kind{"PDR", ie.PDRID, ie.CreatePDR, ie.UpdatePDR, ie.RemovePDR, ie.RuleIDTypePDR}
	farKind = kind{"FAR", ie.FARID, ie.CreateFAR, ie.UpdateFAR, ie.RemoveFAR, ie.RuleIDTypeFAR}
	qerKind = kind{"QER", ie.QERID, ie.CreateQER, ie.UpdateQER, ie.RemoveQER, ie.RuleIDTypeQER}
	urrKind = kind{"URR", ie.URRID, ie.CreateURR, ie.UpdateURR, ie.RemoveURR, ie.RuleIDTypeURR}
)

// each calls f for every grouped IE of one type, with the ID of the rule that it is about.
func each(message pfcp.Elements, ieType uint16, k kind, verb string, f func(id uint32, group pfcp.Elements) error) error {
	for _, e := range message.All(ieType) {
		group, err := e.Group()
		if err != nil {
			return err
		}
		var id uint32
		if k.id == ie.PDRID {
			e := group.First(ie.PDRID)
			if e == nil {
				return pfcp.Missing(ie.PDRID, verb+" PDR")
			}
			v, err := e.Uint16()
			if err != nil {
				return err
			}
			id = uint32(v)
		} else if id, err = ruleID32(group, k.id, verb+" "+k.name); err != nil {
			return err
		}
		if err := f(id, group); err != nil {
			return err
		}
	}
	return nil
}

func remove[K comparable, V any](p *planner, message pfcp.Elements, k kind, rules map[K]V, key func(uint32) K) error {
	return each(message, k.remove, k, "Remove", func(id uint32, _ pfcp.Elements) error {
		if _, ok := rules[key(id)]; !ok || k.id == ie.URRID && id == InactivityURR {
			return pfcp.RuleFailure(k.id, k.rule, id, "Remove %s: there is no %s %d", k.name, k.name, id)
		}
		delete(rules, key(id))
		p.change.Rules = true
		return nil
	})
}

func (p *planner) remove(message pfcp.Elements) error {
	n := p.change.Next
	key32 := func(id uint32) uint32 { return id }
	if err := remove(p, message, pdrKind, n.PDRs, func(id uint32) uint16 { return uint16(id) }); err != nil {
		return err
	}
	if err := remove(p, message, farKind, n.FARs, key32); err != nil {
		return err
	}
	if err := remove(p, message, qerKind, n.QERs, key32); err != nil {
		return err
	}
	if err := remove(p, message, urrKind, n.URRs, key32); err != nil {
		return err
	}
	for id := range p.base.URRs {
		if n.URRs[id] == nil {
			p.change.RemovedURRs = append(p.change.RemovedURRs, id)
		}
	}
	slices.Sort(p.change.RemovedURRs)
	// A QER or URR that goes is no longer applied by the PDRs that name it; their CP function need
	// not list them all again (TS 29.244 7.5.4.8, 7.5.4.9).
	for id, r := range n.PDRs {
		qers := slices.DeleteFunc(slices.Clone(r.QERs), func(q uint32) bool { return n.QERs[q] == nil })
		urrs := slices.DeleteFunc(slices.Clone(r.URRs), func(u uint32) bool { return n.URRs[u] == nil })
		if len(qers) != len(r.QERs) || len(urrs) != len(r.URRs) {
			c := *r
			c.QERs, c.URRs = qers, urrs
			n.PDRs[id] = &c
		}
	}
	return nil
}

// put reads one Create or Update IE into rules: a new or a copied rule, never one in place.
func put[K comparable, V any](p *planner, message pfcp.Elements, k kind, rules map[K]*V, limit int, create bool,
	key func(uint32) K, fresh func(K) *V, read func(*V, pfcp.Elements, bool) error) error {
	ieType, verb := k.create, "Create"
	if !create {
		ieType, verb = k.update, "Update"
	}
	return each(message, ieType, k, verb, func(id uint32, group pfcp.Elements) error {
		old, exists := rules[key(id)]
		if exists == create {
			what := "there is no"
			if exists {
				what = "there already is a"
			}
			return pfcp.RuleFailure(k.id, k.rule, id, "%s %s: %s %s %d", verb, k.name, what, k.name, id)
		}
		r := fresh(key(id))
		if exists {
			*r = *old
		}
		if err := read(r, group, create); err != nil {
			return err
		}
		rules[key(id)] = r
		p.change.Rules = true
		if len(rules) > limit {
			return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ieType,
				Rule: &pfcp.RuleRef{Type: k.rule, ID: id}, Detail: fmt.Sprintf("more than %d %ss in a session", limit, k.name)}
		}
		return nil
	})
}

func (p *planner) create(message pfcp.Elements) error { return p.put(message, true) }
func (p *planner) update(message pfcp.Elements) error { return p.put(message, false) }

func (p *planner) put(message pfcp.Elements, create bool) error {
	n := p.change.Next
	key32 := func(id uint32) uint32 { return id }
	if err := put(p, message, farKind, n.FARs, abi.SessionFars, create, key32, func(id uint32) *FAR { return &FAR{ID: id} }, p.far); err != nil {
		return err
	}
	if err := put(p, message, qerKind, n.QERs, abi.SessionQers, create, key32, func(id uint32) *QER { return &QER{ID: id} }, p.qer); err != nil {
		return err
	}
	if err := put(p, message, urrKind, n.URRs, abi.SessionUrrs, create, key32, func(id uint32) *URR { return &URR{ID: id} }, p.urr); err != nil {
		return err
	}
	return put(p, message, pdrKind, n.PDRs, abi.SessionPdrs, create, func(id uint32) uint16 { return uint16(id) },
		func(id uint16) *PDR { return &PDR{ID: id} },
		func(r *PDR, group pfcp.Elements, create bool) error {
			before := r.PDI.FTEID
			if err := p.pdr(r, group, create); err != nil {
				return err
			}
			if r.PDI.Chosen && r.PDI.FTEID != before {
				p.change.Chosen = append(p.change.Chosen, r.ID)
			}
			return nil
		})
}

func (p *planner) query(message pfcp.Elements) error {
	err := each(message, ie.QueryURR, urrKind, "Query", func(id uint32, _ pfcp.Elements) error {
		if p.base.URRs[id] == nil || id == InactivityURR {
			return pfcp.RuleFailure(ie.URRID, ie.RuleIDTypeURR, id, "Query URR: there is no URR %d", id)
		}
		if p.change.Next.URRs[id] != nil && !slices.Contains(p.change.Query, id) {
			p.change.Query = append(p.change.Query, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e := message.First(ie.PFCPSMReqFlags); e != nil && len(e.Value) > 0 && e.Value[0]&smreqQAURR != 0 {
		p.change.Query = nil
		for id := range p.base.URRs {
			if p.change.Next.URRs[id] != nil && id != InactivityURR {
				p.change.Query = append(p.change.Query, id)
			}
		}
		slices.Sort(p.change.Query)
	}
	return nil
}

// check looks at the next set as a whole.
func (p *planner) check(pfcp.Elements) error {
	n := p.change.Next
	ids := make([]uint16, 0, len(n.PDRs))
	for id := range n.PDRs {
		ids = append(ids, id)
	}
	slices.Sort(ids) // so that the same message is always refused for the same PDR
	var ue netip.Addr
	for _, id := range ids {
		r := n.PDRs[id]
		fail := func(ieType uint16, format string, args ...any) error {
			return pfcp.RuleFailure(ieType, ie.RuleIDTypePDR, uint32(id), format, args...)
		}
		if n.FARs[r.FAR] == nil {
			return fail(ie.FARID, "PDR %d names FAR %d, which does not exist", id, r.FAR)
		}
		for _, q := range r.QERs {
			if n.QERs[q] == nil {
				return fail(ie.QERID, "PDR %d names QER %d, which does not exist", id, q)
			}
		}
		for _, u := range r.URRs {
			if n.URRs[u] == nil {
				return fail(ie.URRID, "PDR %d names URR %d, which does not exist", id, u)
			}
		}
		if a := r.PDI.UEAddress; a.IsValid() {
			if ue.IsValid() && a != ue {
				return fail(ie.UEIPAddress, "PDR %d has UE IP address %s, the session %s", id, a, ue)
			}
			ue = a
		}
		if r.PDI.SourceInterface == Access && !r.PDI.FTEID.IsValid() {
			return fail(ie.FTEID, "PDR %d on access has no local F-TEID to be found by", id)
		}
		// upf-u rewrites the outer header as a whole: it is removed where there is one, and only there.
		if r.PDI.FTEID.IsValid() != r.RemoveGTPU {
			return fail(ie.OuterHeaderRemoval, "PDR %d: outer header removal goes with a local F-TEID", id)
		}
	}
	return nil
}

// filterByID finds an SDF filter that was given before under an ID.
func (p *planner) filterByID(id uint32) (SDFFilter, error) {
	if f, ok := p.filters[id]; ok {
		return f, nil
	}
	for _, r := range p.base.PDRs {
		for _, f := range r.PDI.Filters {
			if f.HasID && f.ID == id {
				return f, nil
			}
		}
	}
	return SDFFilter{}, fmt.Errorf("SDF filter ID %d was not given before", id)
}
