package runner

import (
	"net/netip"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// Units that are left, and peers that units do not reach (TS 23.527 4.2, 5.4):
//
//	it drains                           sessions go elsewhere that can do so without a word to the UE
//	it is locked, and does not come     all of them leave it; UEs ask for another session where there is no other way
//	back, or is configured no more
//	a peer is not reached               sessions that send there stop it
//
// A unit that is configured no more may be in a moment, by another object. It keeps its association until its sessions have left it.

const (
	goneAfter = 30 * time.Second
	goneAgain = 30 * time.Second
)

// departures of units: what is under way, or has been done.
type departures struct{ leaving, draining map[string]bool }

// depart looks at all units that the shard has, or had.
func (r *Runner) depart() {
	nodes := map[string]bool{}
	for node := range r.units {
		nodes[node] = true
	}
	for node := range r.kept.Units {
		nodes[node] = true
	}
	for _, node := range sorted(nodes) {
		r.departFrom(node)
	}
}

func (r *Runner) departFrom(node string) {
	c := r.w.Configuration()
	u, gone := c.Unit(node), c.UnitGone(node)
	if !gone {
		delete(r.departures.leaving, node)
	}
	switch {
	case gone && r.departures.leaving[node]:
	case gone:
		r.departures.leaving[node] = true
		wait := time.Duration(0)
		if u == nil {
			wait = goneAfter
		}
		r.w.After(wait, func() { r.leaveUnit(node) })
	case u == nil || u.State != configuration.Draining:
		delete(r.departures.draining, node)
	case !r.departures.draining[node]:
		r.departures.draining[node] = true
		r.walk(UnitGroup(r.shard, node), func(s *record.Session) procedure.Event {
			if cpSEID, _ := s.On(node); cpSEID == 0 {
				return nil
			}
			return procedure.UnitDrains{NodeID: node}
		}, func() { r.log.Info("a unit drains: what can go elsewhere was told to", "unit", node) })
	}
}

// departFromUnknown units of a session that was read: who had met them died before that was kept, and they may have gone before anybody met them again.
func (r *Runner) departFromUnknown(s *record.Session) {
	if r.w.Configuration() == nil || !r.shardRead {
		return
	}
	for _, node := range nodes(s) {
		if node != "" && !r.Has(node) {
			r.departFrom(node)
		}
	}
}

// leaveUnit that does not come back, until nothing is there any more.
func (r *Runner) leaveUnit(node string) {
	if r.stopped || !r.departures.leaving[node] || !r.w.Configuration().UnitGone(node) {
		return
	}
	there := false
	r.walk(UnitGroup(r.shard, node), func(s *record.Session) procedure.Event {
		if s.Phase == record.Releasing {
			return nil
		}
		there = true
		return procedure.UnitGone{NodeID: node}
	}, func() {
		if there {
			r.w.After(goneAgain, func() { r.leaveUnit(node) })
			return
		}
		r.log.Info("nothing is left at a unit that was taken away", "unit", node)
		if c := r.w.Configuration(); c.UnitGone(node) && c.Unit(node) == nil {
			delete(r.kept.Units, node)
			delete(r.units, node)
			delete(r.departures.leaving, node)
			r.keepShard(func() { r.w.Left(node) })
		}
	})
}

// Has says whether there may be sessions at a unit.
func (r *Runner) Has(nodeID string) bool {
	_, kept := r.kept.Units[nodeID]
	return r.units[nodeID] != nil || kept
}

// PathFailed: a unit does not reach a peer at that address.
func (r *Runner) PathFailed(nodeID string, peer netip.Addr) {
	at := func(t record.Tunnel) bool { return t.TEID != 0 && (t.IPv4 == peer || t.IPv6 == peer) }
	r.walk(UnitGroup(r.shard, nodeID), func(s *record.Session) procedure.Event {
		if at(s.Downlink) || s.Branch != nil && (at(s.Uplink) || at(s.Branch.Core)) {
			return procedure.PathFailed{NodeID: nodeID, Peer: peer}
		}
		return nil
	}, func() {
		r.log.Info("sessions do not wait for a peer that is not reached", "unit", nodeID, "peer", peer)
	})
}
