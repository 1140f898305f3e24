package agent

import (
	"net/netip"
	"slices"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// policy is what a plan asks on behalf of a session. It is made once and serves one session after the other: of each
// request it would be an object for each question.
type policy struct {
	rules.Policy
	session *leases.Session
	choose  func(set *rules.Set, instances, pools []string, v6 bool) (netip.Prefix, error)
}

func newPolicy(a *Agent) *policy {
	p := &policy{}
	p.Policy = rules.Policy{
		OwnsN3: func(addr netip.Addr) bool { return a.cfg.N3.Owns(addr) || a.cfg.N9.Owns(addr) },
		HasN3: func(v6 bool) bool {
			own := a.own()
			return own.N3.Of(v6).IsValid() || own.N9.Of(v6).IsValid()
		},
		ChooseFTEID: func(core, v4, v6 bool) (rules.FTEID, rules.FTEID, error) {
			s := p.session
			if isNew(s) && a.node.Restoring() {
				return rules.FTEID{}, rules.FTEID{}, node.ErrRestoring
			}
			return a.chooser.FTEID(&s.Choices, s.Index, s.Rules, core, v4, v6)
		},
		HomeTEID: func(teid uint32, set *rules.Set) uint32 {
			return addresses.HomeTEID(a.homeOf(p.session.Index, set), teid, set)
		},
		Application: func(id string) bool { return a.applications.Get(p.session.Node, id) != nil },
		Predefined:  func(name string) bool { return a.predefined[name] != nil },
		Known:       a.store.Known().Get,
	}
	p.choose = func(set *rules.Set, instances, pools []string, v6 bool) (netip.Prefix, error) {
		s := p.session
		if isNew(s) && a.node.Restoring() {
			return netip.Prefix{}, node.ErrRestoring
		}
		return a.chooser.UE(&s.Choices, s.Index, a.networkOf(set), instances, pools, v6)
	}
	if known := a.cfg.NetworkInstances; len(known) > 0 {
		p.NetworkInstance = func(name string) bool { return slices.Contains(known, name) }
	}
	return p
}

// policyOf is for a session until forgo.
func (a *Agent) policyOf(s *leases.Session) *policy {
	p := a.policies.Get().(*policy)
	p.session = s
	p.Network, p.Bridge, p.ChooseUE = a.networks().Finder(), a.isBridge(), nil
	if a.chooser.ChoosesUEs() {
		p.ChooseUE = p.choose
	}
	return p
}

func (a *Agent) forgo(p *policy) {
	p.session = nil
	a.policies.Put(p)
}

// plan plans a message's changes of a session's rules.
func (a *Agent) plan(s *leases.Session, m *pfcp.Message) (*rules.Change, error) {
	p := a.policyOf(s)
	defer a.forgo(p)
	return rules.Plan(s.Rules, m.Elements, p.Policy)
}

// trim gives back the UE addresses that were chosen for a session whose rules were old and that those
// in force do not need. The caller has locked the session.
func (a *Agent) trim(s *leases.Session, old, inForce *rules.Set) {
	if a.chooser.ChoosesUEs() {
		a.chooser.Trim(&s.Choices, s.Index, old, a.networkOf(old), inForce, a.networkOf(inForce))
	}
}

// keepUEs notes the UE addresses of a session that an earlier upf-c chose.
func (a *Agent) keepUEs(index uint32, set *rules.Set) {
	if a.chooser.ChoosesUEs() {
		a.chooser.Keep(index, a.networkOf(set), set)
	}
}
