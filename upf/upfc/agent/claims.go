package agent

import (
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Local F-TEIDs and UE addresses belong to one session each: a packet could not be told whose it is
// otherwise. A session claims what its next rules need before upf-u hears of them, and is trimmed
// afterwards to the rules that came into force, be they the next ones or still the old ones.

// conflict is a refusal because another session holds what a new one needs.
type conflict struct {
	*pfcp.Reject
	holder *session
	// stale: the holder is the same CP function's in the same network instance. The CP function,
	// which chooses F-TEIDs and addresses, has plainly given them to another session since.
	stale bool
}

func (c *conflict) Unwrap() error { return c.Reject }

// claim reserves what a set of rules needs.
func (a *Agent) claim(s *session, next *rules.Set) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.claimLocked(s, next)
}

func (a *Agent) claimLocked(s *session, next *rules.Set) error {
	for id, f := range next.FTEIDs() {
		switch holder := a.fteids[f]; holder {
		case s:
		case nil:
			a.holdLocked(s, f)
		default:
			return &conflict{pfcp.RuleFailure(ie.FTEID, ie.RuleIDTypePDR, uint32(id), "F-TEID %s %#x belongs to session %#x", f.Addr, f.TEID, holder.UPSEID),
				holder, holder.Node == s.Node}
		}
	}
	for id, u := range next.UEs() {
		instance := next.InstanceOf(id)
		switch holder := a.ues[u]; holder {
		case s:
			s.instance = instance
		case nil:
			a.holdUELocked(s, u)
			s.instance = instance
		default:
			return &conflict{pfcp.RuleFailure(ie.UEIPAddress, ie.RuleIDTypePDR, uint32(id), "UE IP address %s belongs to session %#x", u, holder.UPSEID),
				holder, holder.Node == s.Node && holder.instance == instance}
		}
	}
	return nil
}

func (a *Agent) holdLocked(s *session, f rules.FTEID) {
	a.fteids[f] = s
	s.fteids = append(s.fteids, f)
}

func (a *Agent) holdUELocked(s *session, u netip.Prefix) {
	a.ues[u] = s
	s.ues = append(s.ues, u)
}

// trim gives back what the rules in force do not need.
func (a *Agent) trim(s *session, inForce *rules.Set) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trimLocked(s, inForce)
}

func (a *Agent) trimLocked(s *session, inForce *rules.Set) {
	if inForce == nil {
		inForce = &rules.Set{}
	}
	s.fteids = slices.DeleteFunc(s.fteids, func(f rules.FTEID) bool {
		for _, needed := range inForce.FTEIDs() {
			if needed == f {
				return false
			}
		}
		delete(a.fteids, f)
		return true
	})
	s.ues = slices.DeleteFunc(s.ues, func(u netip.Prefix) bool {
		for _, needed := range inForce.UEs() {
			if needed == u {
				return false
			}
		}
		delete(a.ues, u)
		return true
	})
}

// tunnelsLocked keeps the index of peers' tunnels, by which Error Indications find their sessions.
func (a *Agent) tunnelsLocked(s *session, old, next *rules.Set) {
	for _, change := range []struct {
		set *rules.Set
		by  int
	}{{next, 1}, {old, -1}} {
		if change.set == nil {
			continue
		}
		for _, r := range change.set.FARs {
			tunnel := r.Outer.Tunnel()
			if !tunnel.IsValid() {
				continue
			}
			users := a.tunnels[tunnel]
			if users == nil {
				users = map[*session]int{}
				a.tunnels[tunnel] = users
			}
			if users[s] += change.by; users[s] == 0 {
				delete(users, s)
			}
			if len(users) == 0 {
				delete(a.tunnels, tunnel)
			}
		}
	}
}
