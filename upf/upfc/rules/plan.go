package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// Policy is what a plan must ask about the world outside of the message.
type Policy struct {
	OwnsN3          func(a netip.Addr) bool
	HasN3           func(v6 bool) bool     // whether the UPF has a GTP-U address of the version
	NetworkInstance func(name string) bool // nil: every network instance is accepted
	// Network is the network of N6 (abi) that serves a network instance; false: none does. nil: there is one, for all.
	Network func(name string) (uint16, bool)
	// Known is a text that many sessions have, such as a network instance's name, without another copy. nil: each has its own.
	Known func(b []byte) string
	// Bridge says whether a network is one for the frames of Ethernet PDU sessions. nil: none is.
	Bridge func(network uint16) bool
	// ChooseFTEID and ChooseUE choose; an error that is a *pfcp.Reject says with which cause they do not.
	// ChooseFTEID allocates one TEID on an address of each version that is asked for; core says that
	// the tunnel comes from there (N9).
	ChooseFTEID func(core, v4, v6 bool) (FTEID, FTEID, error)
	// HomeTEID says, once the whole set is known, which TEID is to stand for one that was chosen in the
	// message. nil: it stays.
	HomeTEID func(teid uint32, set *Set) uint32
	// ChooseUE allocates a UE address (as a /32) or prefix, for a set in which it will be the session's, from the pool of
	// the first network instance that has one; pool identities narrow the choice. nil: there are no pools.
	ChooseUE func(set *Set, instances, pools []string, v6 bool) (netip.Prefix, error)
	// Application says whether PFDs are known for an Application ID.
	Application func(id string) bool
	// Predefined says whether the configuration has a predefined rule. nil: it has none.
	Predefined func(name string) bool
}

// Change is the outcome of a whole valid message.
type Change struct {
	Next            *Set
	Rules           bool      // Next differs from what it was made of
	Chosen          []uint16  // PDRs for which the answer carries a Created PDR
	ChosenEndpoints []uint8   // Traffic Endpoints for which it carries a Created Traffic Endpoint
	EndMarkers      []Outer   // tunnels that a path switch leaves (SNDEM)
	DropBuffered    bool      // DROBU
	Query           []uint32  // URRs to report now
	RemovedURRs     []uint32  // URRs to report for the last time
	Granted         []Granted // what URRs were given anew
	// Query URR Reference of the message
	HasQueryReference bool
	QueryReference    uint32
}

// policyRefusal is the policy's own refusal, of an IE of a rule; nil when err is none.
func policyRefusal(err error, ieType uint16, rule named) error {
	var r *pfcp.Reject
	if !errors.As(err, &r) {
		return nil
	}
	return &pfcp.Reject{Cause: r.Cause, Offending: ieType, Rule: rule.ref(), Detail: r.Detail}
}

type planner struct {
	policy  Policy
	base    *Set
	change  *Change
	chosen  map[uint8]chosen // by CHOOSE ID
	choices int              // F-TEIDs that were chosen
	given   []uint32         // their TEIDs
	filters map[uint32]SDFFilter
	// Those with an ID, as they were read.
	ethernetFilters []givenFilter
	wanted          []wants
	// The IEs of the rule that is being read, and of a group in it.
	rule, inner pfcp.Elements
	ids         []uint32 // room for the lists of QER IDs and URR IDs
	text        []byte
}

// planners are used again, for the room that they have.
var planners = sync.Pool{New: func() any { return &planner{rule: make(pfcp.Elements, 0, 16), inner: make(pfcp.Elements, 0, 16)} }}

// free makes a planner ready for another message, and lets go of this one.
func (p *planner) free() {
	clear(p.rule[:cap(p.rule)])
	clear(p.inner[:cap(p.inner)])
	*p = planner{rule: p.rule[:0], inner: p.inner[:0], text: p.text[:0]}
	if cap(p.rule)+cap(p.inner) <= 256 && cap(p.text) <= 4096 {
		planners.Put(p)
	}
}

// Plan applies a Session Establishment or Modification Request to base, which it leaves untouched.
// The error is a *pfcp.Reject; then nothing is to be changed.
func Plan(base *Set, message pfcp.Elements, policy Policy) (*Change, error) {
	p := planners.Get().(*planner)
	defer p.free()
	p.policy, p.base, p.change = policy, base, &Change{Next: base.Clone()}
	// Removal first, so that one message can put a new rule in an old one's place.
	steps := [...]func(pfcp.Elements) error{p.refuseUnsupported, p.remove, p.create, p.update, p.ethernetType, p.chooseUEs, p.homeTEIDs, p.flags, p.inactivity, p.query, p.check, p.checkURRs}
	for _, step := range steps {
		if err := step(message); err != nil {
			return nil, err
		}
	}
	return p.change, nil
}

// unsupportedRules are sorts of rules that this UPF does not have. One that would be left out
// without a word would change what the CP function thinks is happening.
var unsupportedRules = []uint16{
	ie.CreateMAR, ie.UpdateMAR, ie.RemoveMAR, ie.CreateSRR, ie.UpdateSRR, ie.RemoveSRR, ie.CreateBridgeInfoForTSC,
	ie.EthernetContextInformation, ie.ProvideATSSSControlInformation, ie.ProvideRDSConfigurationInformation,
	ie.TSCManagementInformationWithinSessionModificationRequest,
}

func (p *planner) refuseUnsupported(message pfcp.Elements) error {
	for i := range message {
		if t := message[i].Type; slices.Contains(unsupportedRules, t) {
			return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: t, Detail: fmt.Sprintf("IE of type %d asks for a feature that is not advertised", t)}
		}
	}
	return nil
}

// kind is what the sorts of rules have in common while a message is read.
type kind struct {
	name                   string
	id                     uint16 // IE type of the rule's ID
	create, update, remove uint16 // IE types of the grouped IEs
	rule                   uint8  // Failed Rule ID type
	unnamed                bool   // Failed Rule ID has no type for it
}

var (
	pdrKind      = &kind{"PDR", ie.PDRID, ie.CreatePDR, ie.UpdatePDR, ie.RemovePDR, ie.RuleIDTypePDR, false}
	farKind      = &kind{"FAR", ie.FARID, ie.CreateFAR, ie.UpdateFAR, ie.RemoveFAR, ie.RuleIDTypeFAR, false}
	qerKind      = &kind{"QER", ie.QERID, ie.CreateQER, ie.UpdateQER, ie.RemoveQER, ie.RuleIDTypeQER, false}
	urrKind      = &kind{"URR", ie.URRID, ie.CreateURR, ie.UpdateURR, ie.RemoveURR, ie.RuleIDTypeURR, false}
	barKind      = &kind{"BAR", ie.BARID, ie.CreateBAR, ie.UpdateBARWithinSessionModificationRequest, ie.RemoveBAR, ie.RuleIDTypeBAR, false}
	endpointKind = &kind{"Traffic Endpoint", ie.TrafficEndpointID, ie.CreateTrafficEndpoint, ie.UpdateTrafficEndpoint, ie.RemoveTrafficEndpoint, 0, true}
)

func (k *kind) ref(id uint32) *pfcp.RuleRef {
	if k.unnamed {
		return nil
	}
	return &pfcp.RuleRef{Type: k.rule, ID: id}
}

// each calls f for every grouped IE of one type, with the ID of the rule that it is about. The group is f's until it returns.
func (p *planner) each(message pfcp.Elements, ieType uint16, k *kind, verb string, f func(id uint32, group pfcp.Elements) error) error {
	for i := range message {
		e := &message[i]
		if e.Type != ieType {
			continue
		}
		group, err := e.GroupIn(&p.rule)
		if err != nil {
			return err
		}
		id, err := ruleID(group, k, verb)
		if err != nil {
			return err
		}
		if err := f(id, group); err != nil {
			return err
		}
	}
	return nil
}

// number is what rule IDs are.
type number interface{ ~uint8 | ~uint16 | ~uint32 }

func remove[K number, V any](p *planner, message pfcp.Elements, k *kind, rules *ByID[K, V]) error {
	return p.each(message, k.remove, k, "Remove", func(id uint32, _ pfcp.Elements) error {
		if !rules.Has(K(id)) || k.id == ie.URRID && id == InactivityURR {
			return refuse(named{k, id}, k.id, "Remove %s: there is no %s %d", k.name, k.name, id)
		}
		rules.Delete(K(id))
		p.change.Rules = true
		return nil
	})
}

func (p *planner) remove(message pfcp.Elements) error {
	n := p.change.Next
	if err := p.removeEndpoints(message); err != nil {
		return err
	}
	if err := remove(p, message, pdrKind, &n.PDRs); err != nil {
		return err
	}
	if err := remove(p, message, farKind, &n.FARs); err != nil {
		return err
	}
	if err := remove(p, message, qerKind, &n.QERs); err != nil {
		return err
	}
	if err := remove(p, message, urrKind, &n.URRs); err != nil {
		return err
	}
	if err := remove(p, message, barKind, &n.BARs); err != nil {
		return err
	}
	if !p.change.Rules {
		return nil
	}
	for id := range p.base.URRs.All() {
		if n.URRs.Get(id) == nil {
			p.change.RemovedURRs = append(p.change.RemovedURRs, id)
		}
	}
	// A QER, URR or BAR that goes is no longer applied by the rules that name it; their CP function
	// need not list them all again (TS 29.244 7.5.4.8, 7.5.4.9).
	for id, r := range n.PDRs.All() {
		qers := slices.DeleteFunc(slices.Clone(r.QERs), func(q uint32) bool { return n.QERs.Get(q) == nil })
		urrs := slices.DeleteFunc(slices.Clone(r.URRs), func(u uint32) bool { return n.URRs.Get(u) == nil })
		if len(qers) != len(r.QERs) || len(urrs) != len(r.URRs) {
			c := *r
			c.QERs, c.URRs = qers, urrs
			n.PDRs.Put(id, &c)
		}
	}
	for id, r := range n.FARs.All() {
		if r.HasBAR && n.BARs.Get(r.BAR) == nil {
			c := *r
			c.HasBAR, c.BAR = false, 0
			n.FARs.Put(id, &c)
		}
	}
	return nil
}

// put reads the Create or Update IEs of a sort into rules: new or copied rules, never those in place.
func put[K number, V any](p *planner, message pfcp.Elements, k *kind, rules *ByID[K, *V], limit int, create bool,
	idOf func(*V) *K, read func(*V, pfcp.Elements, bool) error) error {
	ieType, verb := k.create, "Create"
	if !create {
		ieType, verb = k.update, "Update"
	}
	n := 0
	for i := range message {
		if message[i].Type == ieType {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	n = min(n, limit)
	room := make([]V, n) // together: they mostly end together, too
	if create {
		*rules = slices.Grow(*rules, n)
	}
	return p.each(message, ieType, k, verb, func(id uint32, group pfcp.Elements) error {
		old, exists := rules.Find(K(id))
		if exists == create {
			what := "there is no"
			if exists {
				what = "there already is a"
			}
			return refuse(named{k, id}, k.id, "%s %s: %s %s %d", verb, k.name, what, k.name, id)
		}
		if len(room) == 0 {
			room = make([]V, 1)
		}
		r := &room[0]
		room = room[1:]
		if exists {
			*r = *old
		}
		*idOf(r) = K(id)
		if err := read(r, group, create); err != nil {
			return err
		}
		rules.Put(K(id), r)
		p.change.Rules = true
		if len(*rules) > limit {
			return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ieType, Rule: k.ref(id), Detail: fmt.Sprintf("more than %d %ss in a session", limit, k.name)}
		}
		return nil
	})
}

func (p *planner) create(message pfcp.Elements) error { return p.put(message, true) }
func (p *planner) update(message pfcp.Elements) error { return p.put(message, false) }

func (p *planner) put(message pfcp.Elements, create bool) error {
	n := p.change.Next
	err := put(p, message, barKind, &n.BARs, abi.SessionBars, create, func(r *BAR) *uint8 { return &r.ID }, p.bar)
	if err != nil {
		return err
	}
	if err := put(p, message, farKind, &n.FARs, abi.SessionFars, create, func(r *FAR) *uint32 { return &r.ID }, p.far); err != nil {
		return err
	}
	if err := put(p, message, qerKind, &n.QERs, abi.SessionQers, create, func(r *QER) *uint32 { return &r.ID }, p.qer); err != nil {
		return err
	}
	if err := put(p, message, urrKind, &n.URRs, abi.SessionUrrs, create, func(r *URR) *uint32 { return &r.ID }, p.urr); err != nil {
		return err
	}
	err = put(p, message, endpointKind, &n.Endpoints, maxEndpoints, create, func(r *Endpoint) *uint8 { return &r.ID },
		func(r *Endpoint, group pfcp.Elements, create bool) error {
			before, before6 := r.FTEID, r.FTEID6
			if err := p.endpoint(r, group, create); err != nil {
				return err
			}
			if r.Chosen && (r.FTEID != before || r.FTEID6 != before6) {
				p.answer(wants{endpoint: r.ID, is: true})
			}
			return nil
		})
	if err != nil {
		return err
	}
	return put(p, message, pdrKind, &n.PDRs, abi.SessionPdrs, create, func(r *PDR) *uint16 { return &r.ID },
		func(r *PDR, group pfcp.Elements, create bool) error {
			before, before6 := r.PDI.FTEID, r.PDI.FTEID6
			if err := p.pdr(r, group, create); err != nil {
				return err
			}
			if r.PDI.Chosen && (r.PDI.FTEID != before || r.PDI.FTEID6 != before6) {
				p.answer(wants{pdr: r.ID})
			}
			return nil
		})
}

// answer notes that the answer tells what was chosen for a PDR or Traffic Endpoint.
func (p *planner) answer(w wants) {
	switch {
	case w.is && !slices.Contains(p.change.ChosenEndpoints, w.endpoint):
		p.change.ChosenEndpoints = append(p.change.ChosenEndpoints, w.endpoint)
	case !w.is && !slices.Contains(p.change.Chosen, w.pdr):
		p.change.Chosen = append(p.change.Chosen, w.pdr)
	}
}

// flags reads the PFCPSMReq-Flags or PFCPSEReq-Flags of the message itself.
func (p *planner) flags(message pfcp.Elements) error {
	if e := message.First(ie.PFCPSEReqFlags); e != nil && len(e.Value) > 0 && e.Value[0]&sereqSUMPC != 0 {
		return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PFCPSEReqFlags, Detail: "charging cannot be paused: its feature is not advertised"}
	}
	e := message.First(ie.PFCPSMReqFlags)
	if e == nil || len(e.Value) == 0 {
		return nil
	}
	if v := e.Value[0] & unsupportedSMReq; v != 0 {
		return &pfcp.Reject{Cause: ie.CauseServiceNotSupported, Offending: ie.PFCPSMReqFlags, Detail: fmt.Sprintf("flags %#x ask for features that are not advertised", v)}
	}
	if e.Value[0]&smreqDROBU != 0 {
		p.change.DropBuffered = true
	}
	if e.Value[0]&smreqQAURR != 0 {
		for id := range p.base.URRs.All() {
			if p.change.Next.URRs.Get(id) != nil && id != InactivityURR {
				p.change.Query = append(p.change.Query, id)
			}
		}
	}
	return nil
}

func (p *planner) query(message pfcp.Elements) error {
	return p.each(message, ie.QueryURR, urrKind, "Query", func(id uint32, _ pfcp.Elements) error {
		if p.base.URRs.Get(id) == nil || id == InactivityURR {
			return refuse(named{urrKind, id}, ie.URRID, "Query URR: there is no URR %d", id)
		}
		if p.change.Next.URRs.Get(id) != nil && !slices.Contains(p.change.Query, id) {
			p.change.Query = append(p.change.Query, id)
		}
		return nil
	})
}

// check looks at the next set as a whole.
func (p *planner) check(pfcp.Elements) error {
	if !p.change.Rules {
		return nil
	}
	n := p.change.Next
	var ue ueOf
	for _, e := range n.Endpoints.All() {
		if err := ue.add(&e.Match, named{}); err != nil {
			return err
		}
	}
	for id, r := range n.PDRs.All() {
		if err := ue.add(&r.PDI.Match, named{pdrKind, uint32(id)}); err != nil {
			return err
		}
	}
	for _, r := range n.PDRs.All() {
		if err := p.checkPDR(r, ue.v4.IsValid() || ue.v6.IsValid()); err != nil {
			return err
		}
	}
	if err := p.checkRoutes(); err != nil {
		return err
	}
	if err := p.checkNetworks(); err != nil {
		return err
	}
	if err := p.checkEthernet(); err != nil {
		return err
	}
	for id, r := range n.FARs.All() {
		if err := p.checkFAR(r); err != nil {
			err.Rule = farKind.ref(id)
			return err
		}
	}
	return nil
}

// ueOf gathers the UE addresses of a session, which is one UE's PDU session.
type ueOf struct {
	v4 netip.Addr
	v6 netip.Prefix
}

// add takes in what a PDR or Traffic Endpoint matches.
func (u *ueOf) add(m *Match, ref named) error {
	if m.UEAddress.IsValid() {
		if u.v4.IsValid() && u.v4 != m.UEAddress {
			return refuse(ref, ie.UEIPAddress, "UE IP address %s in a session that has %s", m.UEAddress, u.v4)
		}
		u.v4 = m.UEAddress
	}
	if m.UEPrefix.IsValid() {
		if u.v6.IsValid() && u.v6 != m.UEPrefix {
			return refuse(ref, ie.UEIPAddress, "UE IP prefix %s in a session that has %s", m.UEPrefix, u.v6)
		}
		u.v6 = m.UEPrefix
	}
	return nil
}

func (p *planner) checkPDR(r *PDR, hasUE bool) error {
	n := p.change.Next
	ref := named{pdrKind, uint32(r.ID)}
	if n.FARs.Get(r.FAR) == nil {
		return refuse(ref, ie.FARID, "PDR %d names FAR %d, which does not exist", r.ID, r.FAR)
	}
	for _, q := range r.QERs {
		if n.QERs.Get(q) == nil {
			return refuse(ref, ie.QERID, "PDR %d names QER %d, which does not exist", r.ID, q)
		}
	}
	for _, u := range r.URRs {
		if n.URRs.Get(u) == nil {
			return refuse(ref, ie.URRID, "PDR %d names URR %d, which does not exist", r.ID, u)
		}
	}
	for _, id := range r.PDI.Endpoints {
		if n.Endpoints.Get(id) == nil {
			return refuse(ref, ie.TrafficEndpointID, "PDR %d names Traffic Endpoint %d, which does not exist", r.ID, id)
		}
	}
	var err error
	n.Matches(r, func(m *Match) {
		switch {
		case err != nil:
		case r.PDI.SourceInterface == Access && !m.hasFTEID():
			err = refuse(ref, ie.FTEID, "PDR %d on access has no local F-TEID to be found by", r.ID)
		case !m.hasFTEID() && !hasUE && !n.Ethernet:
			err = refuse(ref, ie.UEIPAddress, "PDR %d has neither a local F-TEID nor a UE IP address to be found by", r.ID)
		case m.hasFTEID() && (!r.Removes || tunnelRemove&(1<<r.Removal) == 0),
			!m.hasFTEID() && r.Removes && tunnelRemove&(1<<r.Removal) != 0:
			// upf-u rewrites the outer header as a whole: it is removed where there is one, and only there.
			err = refuse(ref, ie.OuterHeaderRemoval, "PDR %d: removal of a GTP-U header goes with a local F-TEID", r.ID)
		case r.Removes && (r.Removal == removeGTPU4 && !m.FTEID.IsValid() || r.Removal == removeGTPU6 && !m.FTEID6.IsValid()):
			err = refuse(ref, ie.OuterHeaderRemoval, "PDR %d removes an outer header of another IP version than its local F-TEID's", r.ID)
		}
	})
	return err
}

func (p *planner) checkFAR(r *FAR) *pfcp.Reject {
	fail := func(ieType uint16, format string, args ...any) *pfcp.Reject {
		return &pfcp.Reject{Cause: ie.CauseRuleCreationModificationFailure, Offending: ieType, Detail: fmt.Sprintf(format, args...)}
	}
	n := p.change.Next
	if p.policy.Network != nil && r.leavesByN6() {
		if _, err := p.network(n.instanceOfFAR(r), r.NetworkInstance != "", named{farKind, r.ID}); err != nil {
			return err
		}
	}
	if r.HasBAR && n.BARs.Get(r.BAR) == nil {
		return fail(ie.BARID, "FAR %d names BAR %d, which does not exist", r.ID, r.BAR)
	}
	if r.HasEndpoint && n.Endpoints.Get(r.Endpoint) == nil {
		return fail(ie.TrafficEndpointID, "FAR %d is linked to Traffic Endpoint %d, which does not exist", r.ID, r.Endpoint)
	}
	for i := -1; i < len(r.Duplicates); i++ {
		f := &r.Forwarding
		if i >= 0 {
			f = &r.Duplicates[i]
		}
		if k := f.Outer.Kind; k != abi.OhcNone && p.policy.HasN3 != nil && !p.policy.HasN3(f.Outer.Addr.Is6()) {
			return fail(ie.OuterHeaderCreation, "FAR %d: this UPF has no address of the version of %s to send from", r.ID, f.Outer.Addr)
		}
	}
	return nil
}

// filterByID finds an SDF filter that was given before under an ID.
func (p *planner) filterByID(id uint32) (SDFFilter, error) {
	if f, ok := p.filters[id]; ok {
		return f, nil
	}
	for _, r := range p.base.PDRs.All() {
		for _, f := range r.PDI.Filters {
			if f.HasID && f.ID == id {
				return f, nil
			}
		}
	}
	return SDFFilter{}, fmt.Errorf("SDF filter ID %d was not given before", id)
}
