package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/rules"
)

// TEIDs that are chosen here: the highest bit, so that they seldom meet those that SMFs count up from
// 1; six bits of the session's home (upfu/rules/home.h), so that any worker of upf-u knows whose a packet is before it
// looks it up; two that change, so that with the UE's address behind the home a packet for an earlier session with this
// index hardly fits; and the session's index, so that they never meet each other's. Up to release 0.2 all of the
// eight bits changed; such TEIDs are as good, but their packets may take a turn through another worker.
const (
	chosenTEID      = 1 << 31
	chosenHomeShift = 25
	chosenHomeMask  = homeBuckets - 1
	chosenIndexBits = 23
	chosenMask      = chosenTEID | (1<<chosenIndexBits - 1)
)

// chooseFTEID makes up an F-TEID for the session (CH), on one address of each IP version that is
// asked for. Where an SMF has chosen the same one, upf-u refuses it. The caller has locked the session.
func (a *Agent) chooseFTEID(s *session, core, v4, v6 bool) (f4, f6 rules.FTEID, err error) {
	if s.isNew() && a.node.Restoring() {
		return f4, f6, node.ErrRestoring
	}
	own := a.own().N3
	if n9 := a.own().N9; core && (n9.V4.IsValid() || n9.V6.IsValid()) {
		own = n9
	}
	if v4 && !own.V4.IsValid() || v6 && !own.V6.IsValid() {
		return f4, f6, errors.New("this UPF has no GTP-U address of that IP version")
	}
	if s.Index >= 1<<chosenIndexBits {
		return f4, f6, errors.New("sessions with so high an index have no TEIDs of their own")
	}
	if s.teids == 0 {
		s.teids = uint8(a.world.Random())
	}
	for range 256 {
		if s.teids++; s.teids == 0 { // which stands for a count that has not begun
			s.teids = 1
		}
		teid := chosenTEID | uint32(s.teids)<<chosenIndexBits | s.Index
		if hasTEID(s.Rules, teid) {
			continue
		}
		if v4 {
			f4 = rules.FTEID{Addr: own.V4, TEID: teid}
		}
		if v6 {
			f6 = rules.FTEID{Addr: own.V6, TEID: teid}
		}
		return f4, f6, nil
	}
	return f4, f6, errors.New("no TEID is free")
}

// homeBuckets is HOME_BUCKETS of upfu/rules/home.h, whose fold this is.
const homeBuckets = 64

// homeOf is the bucket of a session's home: of its IPv4 address, else of its IPv6 prefix, else of its index.
func homeOf(index uint32, set *rules.Set) uint32 {
	var prefix netip.Prefix
	for _, u := range set.UEs() {
		if u.Addr().Is4() {
			prefix = u
			break
		}
		prefix = u
	}
	switch {
	case !prefix.IsValid():
		return index % homeBuckets
	case prefix.Addr().Is4():
		b := prefix.Addr().As4()
		return fold(uint64(binary.BigEndian.Uint32(b[:])))
	}
	b := prefix.Masked().Addr().As16()
	x := fold(binary.BigEndian.Uint64(b[:8]))
	return (x<<4 | x>>2) % homeBuckets
}

// homeOf is the same, where a session of an Ethernet network instance has its bridge's.
func (a *Agent) homeOf(index uint32, set *rules.Set) uint32 {
	if bridge := a.isBridge(); set.Ethernet && bridge != nil {
		if network := a.networkOf(set); bridge(network) {
			return uint32(network) % homeBuckets
		}
	}
	return homeOf(index, set)
}

func fold(x uint64) uint32 {
	x ^= x >> 48
	x ^= x >> 24
	x ^= x >> 12
	x ^= x >> 6
	return uint32(x % homeBuckets)
}

// homeTEID is the TEID with the session's home in it that stands for one of chooseFTEID's, of all that the set has
// another one. One that finds no such place stays.
func homeTEID(bucket, teid uint32, set *rules.Set) uint32 {
	home := teid&^(chosenHomeMask<<chosenHomeShift) | bucket<<chosenHomeShift
	const generation, generations = 1 << chosenIndexBits, 1 << (chosenHomeShift - chosenIndexBits)
	for range generations {
		if home == teid || !hasTEID(set, home) {
			return home
		}
		home = home&^((generations-1)*generation) | (home+generation)&((generations-1)*generation)
	}
	return teid
}

func hasTEID(set *rules.Set, teid uint32) bool {
	for _, f := range set.FTEIDs() {
		if f.TEID == teid {
			return true
		}
	}
	return false
}

// ueKey is a UE address (a /32) or prefix in a network of N6: in another one it may be another UE's.
type ueKey struct {
	netip.Prefix
	network uint16
}

// networkOf is that of the set's UE addresses.
func (a *Agent) networkOf(set *rules.Set) uint16 {
	network, _ := set.Network(a.networks().Finder())
	return network
}

// chooseUE allocates a UE address (a /32) or prefix (a /64) for the session (CHV4, CHV6), whose rules the set will be, from
// the first pool that serves one of the network instances, else from one that serves any.
func (a *Agent) chooseUE(s *session, set *rules.Set, instances, names []string, v6 bool) (netip.Prefix, error) {
	if s.isNew() && a.node.Restoring() {
		return netip.Prefix{}, node.ErrRestoring
	}
	network := a.networkOf(set)
	a.mu.Lock()
	defer a.mu.Unlock()
	fits := func(p *config.Pool, instance string) bool {
		return p.NetworkInstance == instance && p.Range.Addr().Is6() == v6 && (len(names) == 0 || slices.Contains(names, p.Name))
	}
	if u, named, err := a.chooseNamed(s, network, names, v6); named {
		return u, err
	}
	found := false
	for _, instance := range append(slices.Clone(instances), "") {
		for i := range a.cfg.UEPools {
			p := &a.cfg.UEPools[i]
			if !fits(p, instance) {
				continue
			}
			found = true
			if u, ok := a.nextUELocked(p, network); ok {
				a.takeUELocked(s, ueKey{u, network})
				return u, nil
			}
		}
		if found {
			return netip.Prefix{}, fmt.Errorf("the pool of UE IP addresses of %q is used up", instance)
		}
	}
	return netip.Prefix{}, fmt.Errorf("no pool of UE IP addresses for network instances %q", instances)
}

func (a *Agent) takeUELocked(s *session, u ueKey) {
	a.poolUsed[u] = s.Index
	s.chosenUEs = append(s.chosenUEs, u)
}

// nextUELocked walks through a pool, so that an address is given to another UE as late as possible.
func (a *Agent) nextUELocked(p *config.Pool, network uint16) (netip.Prefix, bool) {
	size := p.Size()
	at, ok := a.poolAt[p.Range]
	if !ok {
		at = a.world.Random() % size // a predecessor may have begun anywhere
	}
	for range min(size, uint64(len(a.poolUsed))+64) {
		u := p.At(at)
		at = (at + 1) % size
		if _, used := a.poolUsed[ueKey{u, network}]; !used {
			if ok || len(a.poolAt) < mostPools {
				a.poolAt[p.Range] = at
			}
			return u, true
		}
	}
	return netip.Prefix{}, false
}

// trim gives back the UE addresses that were chosen for a session whose rules were old and that those
// in force do not need. The caller has locked the session.
func (a *Agent) trim(s *session, old, inForce *rules.Set) {
	if !a.choosesUEs() {
		return
	}
	was, is := a.networkOf(old), a.networkOf(inForce)
	a.mu.Lock()
	defer a.mu.Unlock()
	give := func(u ueKey) {
		for _, needed := range inForce.UEs() {
			if needed == u.Prefix && is == u.network {
				return
			}
		}
		if holder, ok := a.poolUsed[u]; ok && holder == s.Index {
			delete(a.poolUsed, u)
		}
	}
	for _, u := range s.chosenUEs {
		give(u)
	}
	for _, u := range old.UEs() {
		give(ueKey{u, was})
	}
	s.chosenUEs = nil
}

// keepUEs notes the UE addresses of a session that an earlier upf-c chose. Where CP functions name the pools, any may be out of one.
func (a *Agent) keepUEs(index uint32, set *rules.Set) {
	if !a.choosesUEs() {
		return
	}
	network := a.networkOf(set)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range set.UEs() {
		if a.cfg.NamedPools || chosenUE(set, u) {
			a.poolUsed[ueKey{u, network}] = index
		}
	}
}

// chosenUE says whether the UPF chose a UE address of the set.
func chosenUE(set *rules.Set, u netip.Prefix) bool {
	return anyMatch(set, func(m *rules.Match) bool {
		return m.UEChosen && (m.UEPrefix == u || u.Bits() == 32 && m.UEAddress == u.Addr())
	})
}

// chosenFTEID says whether the UPF chose a local F-TEID of the set.
func chosenFTEID(set *rules.Set, f rules.FTEID) bool {
	return anyMatch(set, func(m *rules.Match) bool { return m.Chosen && (m.FTEID == f || m.FTEID6 == f) })
}

// anyMatch says whether is holds for what a PDR or Traffic Endpoint of the set matches.
func anyMatch(set *rules.Set, is func(m *rules.Match) bool) bool {
	for _, r := range set.PDRs.All() {
		if is(&r.PDI.Match) {
			return true
		}
	}
	for _, e := range set.Endpoints.All() {
		if is(&e.Match) {
			return true
		}
	}
	return false
}
