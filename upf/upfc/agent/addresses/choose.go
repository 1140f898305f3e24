package addresses

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"core5g.dev/core5g/upf/upfc/compile"
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

// Chooser chooses F-TEIDs and UE IP addresses.
type Chooser struct {
	cfg    *config.Config
	own    compile.Local
	random func() uint64

	mu   sync.Mutex
	at   map[netip.Prefix]uint64 // by pool: where the next UE address is looked for
	used map[ueKey]uint32        // sessions by UE addresses that were chosen here
}

// New has chosen nothing. own are the UPF's GTP-U addresses.
func New(cfg *config.Config, own compile.Local, random func() uint64) *Chooser {
	return &Chooser{cfg: cfg, own: own, random: random, at: map[netip.Prefix]uint64{}, used: map[ueKey]uint32{}}
}

// Choices are what is chosen for a session while somebody works on it. Who does has locked it.
type Choices struct {
	teids uint8   // counts those chosen here
	ues   []ueKey // for rules that are not in force yet
}

// FTEID makes up an F-TEID for a session (CH), whose rules are set, on one address of each IP version that is
// asked for. Where an SMF has chosen the same one, upf-u refuses it.
func (c *Chooser) FTEID(s *Choices, index uint32, set *rules.Set, core, v4, v6 bool) (f4, f6 rules.FTEID, err error) {
	own := c.own.N3
	if n9 := c.own.N9; core && (n9.V4.IsValid() || n9.V6.IsValid()) {
		own = n9
	}
	if v4 && !own.V4.IsValid() || v6 && !own.V6.IsValid() {
		return f4, f6, errors.New("this UPF has no GTP-U address of that IP version")
	}
	if index >= 1<<chosenIndexBits {
		return f4, f6, errors.New("sessions with so high an index have no TEIDs of their own")
	}
	if s.teids == 0 {
		s.teids = uint8(c.random())
	}
	for range 256 {
		if s.teids++; s.teids == 0 { // which stands for a count that has not begun
			s.teids = 1
		}
		teid := chosenTEID | uint32(s.teids)<<chosenIndexBits | index
		if hasTEID(set, teid) {
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

// HomeOf is the bucket of a session's home: of its IPv4 address, else of its IPv6 prefix, else of its index.
func HomeOf(index uint32, set *rules.Set) uint32 {
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

// HomeOfNetwork is the bucket of all sessions of an Ethernet network instance: its bridge's.
func HomeOfNetwork(network uint16) uint32 { return uint32(network) % homeBuckets }

func fold(x uint64) uint32 {
	x ^= x >> 48
	x ^= x >> 24
	x ^= x >> 12
	x ^= x >> 6
	return uint32(x % homeBuckets)
}

// HomeTEID is the TEID with the session's home in it that stands for one of Chooser.FTEID's, of all that the set has
// another one. One that finds no such place stays.
func HomeTEID(bucket, teid uint32, set *rules.Set) uint32 {
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

// UE allocates a UE address (a /32) or prefix (a /64) in a network for a session (CHV4, CHV6), from
// the first pool that serves one of the network instances, else from one that serves any.
func (c *Chooser) UE(s *Choices, index uint32, network uint16, instances, names []string, v6 bool) (netip.Prefix, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fits := func(p *config.Pool, instance string) bool {
		return p.NetworkInstance == instance && p.Range.Addr().Is6() == v6 && (len(names) == 0 || slices.Contains(names, p.Name))
	}
	if u, named, err := c.chooseNamed(s, index, network, names, v6); named {
		return u, err
	}
	found := false
	for _, instance := range append(slices.Clone(instances), "") {
		for i := range c.cfg.UEPools {
			p := &c.cfg.UEPools[i]
			if !fits(p, instance) {
				continue
			}
			found = true
			if u, ok := c.nextUELocked(p, network); ok {
				c.takeUELocked(s, index, ueKey{u, network})
				return u, nil
			}
		}
		if found {
			return netip.Prefix{}, fmt.Errorf("the pool of UE IP addresses of %q is used up", instance)
		}
	}
	return netip.Prefix{}, fmt.Errorf("no pool of UE IP addresses for network instances %q", instances)
}

func (c *Chooser) takeUELocked(s *Choices, index uint32, u ueKey) {
	c.used[u] = index
	s.ues = append(s.ues, u)
}

// nextUELocked walks through a pool, so that an address is given to another UE as late as possible.
func (c *Chooser) nextUELocked(p *config.Pool, network uint16) (netip.Prefix, bool) {
	size := p.Size()
	at, ok := c.at[p.Range]
	if !ok {
		at = c.random() % size // a predecessor may have begun anywhere
	}
	for range min(size, uint64(len(c.used))+64) {
		u := p.At(at)
		at = (at + 1) % size
		if _, used := c.used[ueKey{u, network}]; !used {
			if ok || len(c.at) < mostPools {
				c.at[p.Range] = at
			}
			return u, true
		}
	}
	return netip.Prefix{}, false
}

// Trim gives back the UE addresses that were chosen for a session whose rules were old, in the network that was, and that those
// in force, in the network that is, do not need.
func (c *Chooser) Trim(s *Choices, index uint32, old *rules.Set, was uint16, inForce *rules.Set, is uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	give := func(u ueKey) {
		for _, needed := range inForce.UEs() {
			if needed == u.Prefix && is == u.network {
				return
			}
		}
		if holder, ok := c.used[u]; ok && holder == index {
			delete(c.used, u)
		}
	}
	for _, u := range s.ues {
		give(u)
	}
	for _, u := range old.UEs() {
		give(ueKey{u, was})
	}
	s.ues = nil
}

// Keep notes the UE addresses of a session that an earlier upf-c chose, in their network. Where CP functions name the pools, any may be out of
// one.
func (c *Chooser) Keep(index uint32, network uint16, set *rules.Set) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range set.UEs() {
		if c.cfg.NamedPools || ChosenUE(set, u) {
			c.used[ueKey{u, network}] = index
		}
	}
}

// ChosenUE says whether the UPF chose a UE address of the set.
func ChosenUE(set *rules.Set, u netip.Prefix) bool {
	return anyMatch(set, func(m *rules.Match) bool {
		return m.UEChosen && (m.UEPrefix == u || u.Bits() == 32 && m.UEAddress == u.Addr())
	})
}

// ChosenFTEID says whether the UPF chose a local F-TEID of the set.
func ChosenFTEID(set *rules.Set, f rules.FTEID) bool {
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

// Forget forgets all UE addresses: those of sessions are kept anew.
func (c *Chooser) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = map[ueKey]uint32{}
}

// InPool says whether the UPF chooses such an address.
func (c *Chooser) InPool(addr netip.Addr) bool {
	return addr.IsValid() && slices.ContainsFunc(c.cfg.UEPools, func(p config.Pool) bool { return p.Range.Contains(addr) })
}

// IndexOf is the index of the session for which the TEID was chosen; false: it is none that is chosen here.
func IndexOf(teid uint32) (index uint32, chosen bool) {
	return teid & (1<<chosenIndexBits - 1), teid&chosenTEID != 0
}

// ChosenFor says whether the TEID, without a home, is one that was chosen for the session with an index.
func ChosenFor(teid, index uint32) bool { return teid&chosenMask == chosenTEID|index }
