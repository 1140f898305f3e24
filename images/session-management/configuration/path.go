package configuration

import (
	"slices"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
)

// Path is what stands between access network and anchor: nothing where NodeID is "".
type Path struct {
	NodeID string
	// Breakouts by name whose packets leave there.
	Breakouts []string
}

// PathOf a session where its UE is (TS 23.501 5.6.4.2, 6.3.3): the unit of the tracking area's breakouts; else, where its anchor does not
// serve the area, one that does. Of those that could the one that it has already comes first, then the one with the fewest sessions. A
// session whose anchor is a unit of the breakouts needs none, and one whose area nobody serves keeps what it has. One of type Ethernet has its anchor alone.
func (s *Snapshot) PathOf(d *DataNetwork, rec *record.Session, live map[string]Live) Path {
	had := Path{}
	if rec.Type == n1.Ethernet {
		return had
	}
	if rec.Branch != nil {
		had = Path{rec.Branch.NodeID, rec.Branch.Breakouts}
	}
	if breakouts := d.BreakoutsAt(rec.AMF.TAC); len(breakouts) > 0 {
		out := Path{}
		for _, b := range breakouts {
			out.Breakouts = append(out.Breakouts, b.Name)
		}
		if slices.Contains(breakouts[0].Units, rec.Unit.NodeID) {
			return Path{}
		}
		if out.NodeID = s.between(breakouts[0].Units, had.NodeID, rec, live); out.NodeID != "" {
			return out
		}
	}
	if !d.Away(rec.Unit.NodeID, rec.AMF.TAC) {
		return Path{}
	}
	var near []string
	for i := range d.Units {
		if d.serves(&d.Units[i], rec.AMF.TAC) {
			near = append(near, d.Units[i].NodeID)
		}
	}
	return Path{NodeID: s.between(near, had.NodeID, rec, live)}
}

// between access network and anchor of a session: one of some units; "": none is in service, and takes the session's framed routes.
func (s *Snapshot) between(nodes []string, had string, rec *record.Session, live map[string]Live) string {
	var best *Unit
	for _, node := range nodes {
		u := s.Unit(node)
		l := live[node]
		switch {
		case u == nil || node == rec.Unit.NodeID || u.State != InService || l.Away && node != had: // one that is away for a moment keeps what it has
		case node == had:
			return had
		case len(rec.Routes) > 0 && !l.Framed:
		case u.Capacity != 0 && l.Sessions >= u.Capacity:
		case best == nil || less(u, best, live):
			best = u
		}
	}
	if best == nil {
		return ""
	}
	return best.NodeID
}

// Move finds another anchor for a session that keeps its addresses: nil where packets to these reach its own unit alone.
func (s *Snapshot) Move(d *DataNetwork, rec *record.Session, live map[string]Live) *Unit {
	if !d.Routed {
		return nil
	}
	// Its addresses are as static ones to another unit, whatever pools that has, and so are the networks behind it.
	other := *d
	other.Units = nil
	for _, u := range d.Units {
		if u.NodeID == rec.Unit.NodeID {
			continue
		}
		for _, p := range d.Units {
			u.Static = append(slices.Clone(u.Static), append(slices.Clone(p.Pools), p.Static...)...)
		}
		u.Static = append(u.Static, rec.Routes...)
		other.Units = append(other.Units, u)
	}
	u, err := s.Select(&other, Want{TAC: rec.AMF.TAC, Type: rec.Type, IPv4: rec.IPv4, IPv6: rec.IPv6, Routes: rec.Routes}, live)
	if err != nil {
		return nil
	}
	return u
}
