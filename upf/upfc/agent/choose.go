package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/rules"
)

// What the UPF chooses for a session is held for it at once, and given back by trim when the plan
// for which it was chosen does not come into force.

// chooseFTEID allocates an F-TEID for the session (CH), on one address of each IP version that is
// asked for. TEIDs chosen here have their highest bit set and are random below, so that they seldom
// meet those that SMFs count up from 1; where they do, claim refuses the SMF's.
func (a *Agent) chooseFTEID(s *session, v4, v6 bool) (f4, f6 rules.FTEID, err error) {
	own := a.ownN3()
	if v4 && !own.V4.IsValid() || v6 && !own.V6.IsValid() {
		return f4, f6, errors.New("this UPF has no GTP-U address of that IP version")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 64 {
		teid := rand.Uint32() | 1<<31
		f4, f6 = rules.FTEID{}, rules.FTEID{}
		if v4 {
			f4 = rules.FTEID{Addr: own.V4, TEID: teid}
		}
		if v6 {
			f6 = rules.FTEID{Addr: own.V6, TEID: teid}
		}
		if a.fteids[f4] != nil || a.fteids[f6] != nil {
			continue
		}
		for _, f := range [2]rules.FTEID{f4, f6} {
			if f.IsValid() {
				a.holdLocked(s, f)
			}
		}
		return f4, f6, nil
	}
	return f4, f6, errors.New("no TEID is free")
}

// chooseUE allocates a UE address (a /32) or prefix (a /64) for the session (CHV4, CHV6) from the
// first pool that serves one of the network instances, else from one that serves any.
func (a *Agent) chooseUE(s *session, instances, names []string, v6 bool) (netip.Prefix, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fits := func(p *config.Pool, instance string) bool {
		return p.NetworkInstance == instance && p.Range.Addr().Is6() == v6 && (len(names) == 0 || slices.Contains(names, p.Name))
	}
	found := false
	for _, instance := range append(slices.Clone(instances), "") {
		for i := range a.cfg.UEPools {
			p := &a.cfg.UEPools[i]
			if !fits(p, instance) {
				continue
			}
			found = true
			if u, ok := a.nextUELocked(p); ok {
				a.holdUELocked(s, u)
				return u, nil
			}
		}
		if found {
			return netip.Prefix{}, fmt.Errorf("the pool of UE IP addresses of %q is used up", instance)
		}
	}
	return netip.Prefix{}, fmt.Errorf("no pool of UE IP addresses for network instances %q", instances)
}

// nextUELocked walks through a pool, so that an address is given to another UE as late as possible.
func (a *Agent) nextUELocked(p *config.Pool) (netip.Prefix, bool) {
	size := p.Size()
	at, ok := a.poolAt[p.Range]
	if !ok {
		at = rand.Uint64N(size) // a predecessor may have begun anywhere
	}
	for range min(size, uint64(len(a.ues))+1) {
		u := p.At(at)
		at = (at + 1) % size
		if a.ues[u] == nil {
			a.poolAt[p.Range] = at
			return u, true
		}
	}
	return netip.Prefix{}, false
}
