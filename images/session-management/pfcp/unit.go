package pfcp

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	wire "core5g.dev/core5g/upf/upfc/pfcp"
)

// Unit is a UPF unit that this shard uses.
type Unit struct {
	// NodeID as the unit itself says it: an FQDN or an address.
	NodeID string
	// Address of its N4; port 0 is 8805.
	Address netip.AddrPort
	// Sources are further addresses that its requests may come from, those of a NAT before it.
	Sources []netip.Prefix
	// As is what the shard is to this unit, where it is not what it is to others; nil: it is.
	As *Self
	// Recovery is the Recovery Time Stamp that was last known of it, 0 for none.
	Recovery Stamp
	// Associated: an earlier holder of the shard has set the association up, so it is updated first.
	Associated bool
}

// Self is what a shard is to units: its Node ID, and the addresses of its F-SEIDs, one of which may be missing.
type Self struct {
	Node       string
	IPv4, IPv6 netip.Addr
}

func (s *Self) same(other *Self) bool { return s == other || s != nil && other != nil && *s == *other }

// State of a unit.
type State uint8

// The states.
const (
	// Meeting: the association is being set up or updated for the first time, or after it was lost; requests wait.
	Meeting State = iota
	// Away: the last attempt was in vain; requests are not sent.
	Away
	// Ready: there is an association, and the path works.
	Ready
	// Leaving: what waits is sent, then the association is released; new requests are not sent.
	Leaving
)

var stateNames = [...]string{Meeting: "meeting", Away: "away", Ready: "ready", Leaving: "leaving"}

func (s State) String() string { return stateNames[s] }

// UnitStatus is what is known of a unit.
type UnitStatus struct {
	Unit
	State    State
	Features Features
	// UnderWay and Waiting are session requests.
	UnderWay, Waiting int
}

type unit struct {
	Unit
	state    State
	features Features
	had      bool   // an association, whose sessions there may be
	emptied  bool   // they are gone, which has not been told
	learned  uint64 // serial of the last transaction when Recovery was learned
	failures int    // attempts in vain, in a row
	missed   int    // heartbeats, in a row
	refused  int    // Association Updates, in a row
	current  *transaction
	timer    *timer
	silent   bool  // the last attempt was in vain because it did not answer
	removed  bool  // requests that were under way end after it
	again    *Unit // to be added when it has been removed
	said     said
	queue
}

// check completes a unit and says what is wrong with it.
func (u *Unit) check() error {
	u.NodeID = nodeName(u.NodeID)
	if u.NodeID == "" || len(u.NodeID) > 255 {
		return errors.New("the Node ID of a UPF unit: write the FQDN or the address that the unit calls itself by")
	}
	if !u.Address.Addr().IsValid() || u.Address.Addr().IsUnspecified() {
		return fmt.Errorf("the UPF unit %s has no address: write that of its N4", u.NodeID)
	}
	port := u.Address.Port()
	if port == 0 {
		port = wire.Port
	}
	u.Address = netip.AddrPortFrom(u.Address.Addr().Unmap(), port)
	return nil
}

// AddUnit adds a unit and begins to meet it; of one that is there it changes the address and the sources.
func (e *Endpoint) AddUnit(add Unit) error {
	if err := add.check(); err != nil {
		return err
	}
	if e.closed {
		return ErrClosed
	}
	defer e.leave()
	if u := e.units[add.NodeID]; u != nil {
		if u.state == Leaving {
			u.again = &add
			return nil
		}
		moved := u.Address != add.Address
		u.Address, u.Sources = add.Address, add.Sources
		if !u.As.same(add.As) { // another Node ID, under which there is no association
			u.As, u.Associated, moved = add.As, false, true
		}
		if moved {
			u.failures = 0
			e.meet(u)
		}
		return nil
	}
	u := &unit{Unit: add, had: add.Associated, learned: e.serial, queue: newQueue(e.cfg.Window)}
	e.units[u.NodeID] = u
	e.meet(u)
	return nil
}

// RemoveUnit takes a unit out: with release its association is released, after the requests that wait, otherwise the
// unit is forgotten at once and hears nothing. A unit that cannot be reached is forgotten in either case. Released tells
// when.
func (e *Endpoint) RemoveUnit(nodeID string, release bool) {
	u := e.units[nodeName(nodeID)]
	if u == nil || e.closed {
		return
	}
	defer e.leave()
	if !release || u.state == Away {
		e.forget(u, errRemoved)
		e.tell(Released{Unit: u.NodeID})
		return
	}
	if u.state == Leaving {
		u.again = nil
		return
	}
	met := u.state == Ready
	e.become(u, Leaving)
	if !met {
		// An association may be there even so: the release comes first, what waited behind the meeting has no unit.
		u.flush(e, errRemoved)
	}
	e.stop(u)
	e.release(u)
}

var errRemoved = errors.New("the unit was taken out")

// release has the unit release the association once nothing is under way.
func (e *Endpoint) release(u *unit) {
	if u.state != Leaving || u.current != nil || u.underWay > 0 || u.waiting() > 0 {
		return
	}
	e.askRelease(u)
}

// forget takes a unit out of the endpoint; requests under way end by themselves.
func (e *Endpoint) forget(u *unit, why error) {
	e.stop(u)
	e.unsaid(u)
	u.flush(e, why)
	u.removed = true
	delete(e.units, u.NodeID)
	e.cfg.Metrics.forget(e.cfg.Node, u.NodeID)
}

// stop ends what a unit's association waits for.
func (e *Endpoint) stop(u *unit) {
	e.abandon(u.current)
	e.timers.stop(u.timer)
	u.current, u.timer = nil, nil
}

func (e *Endpoint) become(u *unit, s State) {
	u.state = s
	e.cfg.Metrics.state(e.cfg.Node, u.NodeID, s)
}

// Units lists the units by Node ID.
func (e *Endpoint) Units() []UnitStatus {
	out := make([]UnitStatus, 0, len(e.units))
	for _, name := range slices.Sorted(maps.Keys(e.units)) {
		u := e.units[name]
		out = append(out, UnitStatus{Unit: u.Unit, State: u.state, Features: u.features, UnderWay: u.underWay, Waiting: u.waiting()})
	}
	return out
}

// speaks says whether a unit's requests come from an address.
func (u *unit) speaks(from netip.Addr) bool {
	return u.Address.Addr() == from || slices.ContainsFunc(u.Sources, func(p netip.Prefix) bool { return p.Contains(from) })
}

// unitAt finds the unit whose requests come from an address, by address and port first: several can be behind one
// address. nil: none, or nobody knows which.
func (e *Endpoint) unitAt(from netip.AddrPort) *unit {
	var found *unit
	n := 0
	for _, u := range e.units {
		if u.Address == from {
			return u
		}
		if u.speaks(from.Addr()) {
			found = u
			n++
		}
	}
	if n != 1 {
		return nil
	}
	return found
}
