package configuration

import (
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
)

// Live is what is known of a unit that no configuration says.
type Live struct {
	// Sessions that it has.
	Sessions uint64
	// Away: there is no association, or no answer.
	Away bool
	// Framed: it takes framed routes (feature FRRT), as it has said.
	Framed bool
	// Load is how full it has said that it is, and Reduction what share of new sessions it has asked to be left out, in percent (TS 29.244 6.2.3, 6.2.4);
	// 0 where it has not. Reduction holds until Until, zero: until it says otherwise.
	Load, Reduction uint8
	Until           time.Time
}

// Want is what a session wants of its unit.
type Want struct {
	// TAC where the UE is.
	TAC uint32
	// Type of the PDU session.
	Type n1.SessionType
	// IPv4 and IPv6 are the subscription's static address and prefix; invalid: the unit chooses.
	IPv4 netip.Addr
	IPv6 netip.Prefix
	// Routes are the networks behind the UE, for a unit that takes framed routes.
	Routes []netip.Prefix
	// Except are Node IDs of units that have refused it already: they count as full.
	Except []string
	// Lot, 1 to 100, is drawn for a session that overloaded units may leave out, 0: none may. It is one for all units: what one of them leaves out is not for
	// another that is to have less, too.
	Lot uint8
}

// Reason why no unit serves.
type Reason uint8

// The reasons, from the one that a configuration heals to the one that time does.
const (
	// NoUnit: the data network has none.
	NoUnit Reason = iota
	// NoneInArea: none serves the tracking area.
	NoneInArea
	// NoPool: none has addresses of the session's type.
	NoPool
	// NoRoute: no unit has the route to the static address, or to all networks behind the UE.
	NoRoute
	// NotFramed: no unit takes framed routes.
	NotFramed
	// NotInService: all that could are draining, locked or away.
	NotInService
	// Full: all that could have as many sessions as they can hold.
	Full
	// Overloaded: units that could have asked for less, and the lot has fallen on this session.
	Overloaded
	// NoneNear: none of those that have the tracking area to themselves is in service.
	NoneNear
)

func (r Reason) String() string {
	if r > NoneNear {
		return fmt.Sprintf("Reason(%d)", uint8(r))
	}
	return [...]string{
		"the data network has no UPF", "no UPF serves the tracking area", "no UPF has addresses of the session's type",
		"no UPF has a route to the static address and the framed routes", "no UPF has said that it takes framed routes (FRRT)", "every UPF is draining, locked or away", "every UPF is full or has refused",
		"every UPF with room is overloaded", "no UPF of the tracking area is in service, and no other may take its place",
	}[r]
}

// Unavailable: no unit serves a session.
type Unavailable struct {
	Reason Reason
	// DNN and Slice that the session is of.
	Slice, DNN string
}

func (u *Unavailable) Error() string {
	return fmt.Sprintf("%s: DNN %s of slice %s", u.Reason, u.DNN, u.Slice)
}

// Select the unit for a new session (TS 23.501 6.3.3): of those that serve the data network where the UE is, that have
// the addresses, and that are in service with room left, the one with the fewest sessions of what it can hold, less what it
// has said to be full; of equals the one that has said less, then the one whose Node ID comes first. One that is overloaded
// counts as full where the lot falls on the session. Units that name the UE's tracking area come before those that name none, while one of
// them can serve, and for good where they have it to themselves. An error is an *Unavailable: the last thing that every unit fell short of.
func (s *Snapshot) Select(d *DataNetwork, want Want, live map[string]Live) (*Unit, error) {
	best, reason := (*Unit)(nil), NoUnit
	for _, near := range []bool{true, false} {
		for i := range d.Units {
			at := &d.Units[i]
			unit := s.Unit(at.NodeID)
			if unit == nil || near != slices.Contains(at.TACs, want.TAC) {
				continue
			}
			if short, ok := d.fits(at, unit, want, live[unit.NodeID]); !ok {
				reason = max(reason, short)
				continue
			}
			if best == nil || less(unit, best, live) {
				best = unit
			}
		}
		if best != nil {
			return best, nil
		}
	}
	if slices.Contains(d.OwnAreas, want.TAC) && (reason <= NoneInArea || reason == NotInService) {
		reason = NoneNear
	}
	return nil, &Unavailable{Reason: reason, Slice: d.Slice, DNN: d.DNN}
}

// serves says whether sessions of a tracking area may be at a unit: where it names the area, or none, and no others have it to themselves.
func (d *DataNetwork) serves(u *Serving, tac uint32) bool {
	return slices.Contains(u.TACs, tac) || len(u.TACs) == 0 && !slices.Contains(d.OwnAreas, tac)
}

// Away says whether a session's anchor does not serve the tracking area where its UE is; a unit that the data network has no more serves any.
func (d *DataNetwork) Away(anchor string, tac uint32) bool {
	u := d.At(anchor)
	return u != nil && !d.serves(u, tac)
}

// fits says what a unit falls short of.
func (d *DataNetwork) fits(u *Serving, unit *Unit, want Want, live Live) (Reason, bool) {
	switch {
	case !d.serves(u, want.TAC):
		return NoneInArea, false
	case !u.hasPools(want):
		return NoPool, false
	case !u.routes(want, len(d.Units) == 1):
		return NoRoute, false
	case unit.State != InService || live.Away:
		return NotInService, false
	case len(want.Routes) > 0 && !live.Framed:
		return NotFramed, false
	case unit.Capacity != 0 && live.Sessions >= unit.Capacity || slices.Contains(want.Except, unit.NodeID):
		return Full, false
	case want.Lot != 0 && want.Lot <= live.Reduction:
		return Overloaded, false
	}
	return 0, true
}

// hasPools: what is not static comes from a pool.
func (u *Serving) hasPools(want Want) bool {
	has := func(v6 bool) bool {
		return slices.ContainsFunc(u.Pools, func(p netip.Prefix) bool { return p.Addr().Is6() == v6 })
	}
	return (!HasIPv4(want.Type) || want.IPv4.IsValid() || has(false)) && (!HasIPv6(want.Type) || want.IPv6.IsValid() || has(true))
}

// routes: packets to a static address, and to the networks behind the UE, come to the unit. A unit that is alone has whatever is routed to the data network.
func (u *Serving) routes(want Want, alone bool) bool {
	if alone {
		return true
	}
	if want.IPv4.IsValid() && HasIPv4(want.Type) && !covers(u.Static, netip.PrefixFrom(want.IPv4, want.IPv4.BitLen())) {
		return false
	}
	if slices.ContainsFunc(want.Routes, func(p netip.Prefix) bool { return !covers(u.Static, p) }) {
		return false
	}
	return !want.IPv6.IsValid() || !HasIPv6(want.Type) || covers(u.Static, want.IPv6)
}

// usualCapacity stands for what a unit that has not said can hold, as upf-c has it without a limit.
const usualCapacity = 1 << 20

// less compares loads without rounding: a.Sessions/a.Capacity with b's, where of each capacity the part counts that is free.
func less(a, b *Unit, live map[string]Live) bool {
	is, other := live[a.NodeID], live[b.NodeID]
	room := func(u *Unit, l Live) uint64 {
		free := 100 - uint64(min(l.Load, 100))
		if u.Capacity == 0 {
			return usualCapacity * free
		}
		return u.Capacity * free
	}
	aHigh, aLow := bits.Mul64(is.Sessions, room(b, other))
	bHigh, bLow := bits.Mul64(other.Sessions, room(a, is))
	switch {
	case aHigh != bHigh:
		return aHigh < bHigh
	case aLow != bLow:
		return aLow < bLow
	case is.Load != other.Load:
		return is.Load < other.Load
	}
	return a.NodeID < b.NodeID
}
