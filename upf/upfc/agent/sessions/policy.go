package sessions

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

func newPolicy(ss *Sessions) *policy {
	p := &policy{}
	p.Policy = rules.Policy{
		OwnsN3: func(addr netip.Addr) bool { return ss.o.Config.N3.Owns(addr) || ss.o.Config.N9.Owns(addr) },
		HasN3: func(v6 bool) bool {
			own := ss.own
			return own.N3.Of(v6).IsValid() || own.N9.Of(v6).IsValid()
		},
		ChooseFTEID: func(core, v4, v6 bool) (rules.FTEID, rules.FTEID, error) {
			s := p.session
			if isNew(s) && ss.o.Node.Restoring() {
				return rules.FTEID{}, rules.FTEID{}, node.ErrRestoring
			}
			return ss.o.Chooser.FTEID(&s.Choices, s.Index, s.Rules, core, v4, v6)
		},
		HomeTEID: func(teid uint32, set *rules.Set) uint32 {
			return addresses.HomeTEID(ss.homeOf(p.session.Index, set), teid, set)
		},
		Application: func(id string) bool { return ss.o.Applications.Get(p.session.Node, id) != nil },
		Predefined:  func(name string) bool { return ss.o.Predefined[name] != nil },
		Known:       ss.store.Known().Get,
	}
	p.choose = func(set *rules.Set, instances, pools []string, v6 bool) (netip.Prefix, error) {
		s := p.session
		if isNew(s) && ss.o.Node.Restoring() {
			return netip.Prefix{}, node.ErrRestoring
		}
		return ss.o.Chooser.UE(&s.Choices, s.Index, ss.networkOf(set), instances, pools, v6)
	}
	if known := ss.o.Config.NetworkInstances; len(known) > 0 {
		p.NetworkInstance = func(name string) bool { return slices.Contains(known, name) }
	}
	return p
}

// policyOf is for a session until forgo.
func (ss *Sessions) policyOf(s *leases.Session) *policy {
	p := ss.policies.Get().(*policy)
	p.session = s
	p.Network, p.Bridge, p.ChooseUE = ss.Networks().Finder(), ss.isBridge(), nil
	if ss.o.Chooser.ChoosesUEs() {
		p.ChooseUE = p.choose
	}
	return p
}

func (ss *Sessions) forgo(p *policy) {
	p.session = nil
	ss.policies.Put(p)
}

// plan plans a message's changes of a session's rules.
func (ss *Sessions) plan(s *leases.Session, m *pfcp.Message) (*rules.Change, error) {
	p := ss.policyOf(s)
	defer ss.forgo(p)
	return rules.Plan(s.Rules, m.Elements, p.Policy)
}

// trim gives back the UE addresses that were chosen for a session whose rules were old and that those
// in force do not need. The caller has locked the session.
func (ss *Sessions) trim(s *leases.Session, old, inForce *rules.Set) {
	if ss.o.Chooser.ChoosesUEs() {
		ss.o.Chooser.Trim(&s.Choices, s.Index, old, ss.networkOf(old), inForce, ss.networkOf(inForce))
	}
}

// KeepUEs notes the UE addresses of a session that an earlier upf-c chose.
func (ss *Sessions) KeepUEs(index uint32, set *rules.Set) {
	if ss.o.Chooser.ChoosesUEs() {
		ss.o.Chooser.Keep(index, ss.networkOf(set), set)
	}
}
