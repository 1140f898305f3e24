package placement

import (
	"cmp"
	"slices"
	"strings"
)

// Policy says what a unit's place is.
type Policy int

// Policies.
const (
	// Any takes a node as a whole.
	Any Policy = iota
	// SingleNUMA takes everything from one cell; several units may share a cell.
	SingleNUMA
	// PerSocket takes everything from one cell, and no two units of the instance share one.
	PerSocket
)

// Request is what is asked for.
type Request struct {
	// Units by name, in the order in which they get a place.
	Units  []string
	Demand Demand
	Policy Policy
	// RemoteNIC lets a unit use devices of another cell of its node when its own has none left.
	RemoteNIC bool
	// Pack fills one node before the next; else each unit goes to the node with the fewest.
	Pack bool
	// MaxPerNode bounds the units of the instance on a node; 0 does not.
	MaxPerNode int
	// Apart names for a unit another one, on whose node it goes only where no other node has a place.
	Apart map[string]string
	// Running units keep their places, and the inventory's free amounts are without them.
	Running map[string]Spot
	// Wished places are kept where they still fit: those of units that are about to start.
	Wished map[string]Spot
	// Avoid names places that have refused a unit of the instance a moment ago, with what was said.
	Avoid map[Spot]string
}

// Assignment is the place of one unit.
type Assignment struct {
	Spot
	// Devices are the resource names, one for each of Demand.Devices, of the cells that they come from.
	Devices []string
	// Remote is set where a device comes from another cell.
	Remote bool
}

// Result of Plan: a unit of Request.Units is either in Assigned or in Unplaced.
type Result struct {
	Assigned map[string]Assignment
	// Unplaced units, in the order of the request.
	Unplaced []string
	// Shortage says why, place by place, the nearest miss first; empty when every unit has a place.
	Shortage []Shortage
}

// Plan gives each unit a place. Running units stay; nothing is planned that does not fit.
func Plan(inv Inventory, r Request) Result {
	p := &planner{Request: r, inv: inv.Clone(), byName: map[string]*Node{}, onNode: map[string]int{}, taken: map[Spot]string{}}
	slices.SortFunc(p.inv, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range p.inv {
		slices.SortFunc(p.inv[i].Cells, func(a, b Cell) int { return cmp.Compare(a.ID, b.ID) })
		p.byName[p.inv[i].Name] = &p.inv[i]
	}
	out := Result{Assigned: map[string]Assignment{}}
	for _, unit := range sortedKeys(r.Running) {
		p.occupy(unit, r.Running[unit])
	}
	for _, unit := range r.Units {
		if spot, runs := r.Running[unit]; runs {
			devices, remote := p.running(spot)
			out.Assigned[unit] = Assignment{Spot: spot, Devices: devices, Remote: remote}
		}
	}
	place := func(unit string, spot Spot) {
		devices, remote := p.choose(spot)
		out.Assigned[unit] = Assignment{Spot: spot, Devices: devices, Remote: remote}
		p.inv.Take(spot, r.Demand, devices)
		p.occupy(unit, spot)
	}
	for _, unit := range r.Units {
		spot, wished := r.Wished[unit]
		if _, done := out.Assigned[unit]; !done && wished && p.fits(spot) {
			place(unit, spot)
		}
	}
	for _, unit := range r.Units {
		if _, done := out.Assigned[unit]; done {
			continue
		}
		with, beside := out.Assigned[r.Apart[unit]]
		if !beside {
			with.Node = ""
		}
		if spot, found := p.best(with.Node); found {
			place(unit, spot)
		} else {
			out.Unplaced = append(out.Unplaced, unit)
		}
	}
	if len(out.Unplaced) > 0 {
		out.Shortage = p.shortages()
	}
	return out
}

func sortedKeys(m map[string]Spot) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// planner uses its copy of the inventory up.
type planner struct {
	Request
	inv    Inventory
	byName map[string]*Node
	onNode map[string]int
	// taken names a unit of the instance on each cell that has one.
	taken map[Spot]string
}

func (p *planner) occupy(unit string, spot Spot) {
	p.onNode[spot.Node]++
	if _, is := p.taken[spot]; !is {
		p.taken[spot] = unit
	}
}

// spots lists the places of a node that the policy knows.
func (p *planner) spots(n *Node) []Spot {
	if p.Policy == Any {
		return []Spot{{n.Name, AnyCell}}
	}
	out := make([]Spot, 0, len(n.Cells))
	for i := range n.Cells {
		out = append(out, Spot{n.Name, n.Cells[i].ID})
	}
	return out
}

// best returns the place of the next unit. Any order finds a plan if there is one; this one spreads or
// packs, prefers a cell with devices of its own, and is settled by names. Away from the node apart, before all.
func (p *planner) best(apart string) (Spot, bool) {
	var best Spot
	var bestKey [3]int
	found := false
	for i := range p.inv {
		n := &p.inv[i]
		for _, spot := range p.spots(n) {
			if !p.fits(spot) {
				continue
			}
			key := [3]int{0, p.onNode[n.Name], 0}
			if n.Name == apart {
				key[0] = 1
			}
			if p.Pack {
				key[1] = -key[1]
			}
			if p.RemoteNIC {
				if _, remote := p.choose(spot); remote {
					key[2] = 1
				}
			}
			if !found || slices.Compare(key[:], bestKey[:]) < 0 {
				best, bestKey, found = spot, key, true
			}
		}
	}
	return best, found
}

func (p *planner) fits(spot Spot) bool { return p.judge(spot).fits() }

// running guesses which devices a running unit holds: those of its cell.
func (p *planner) running(spot Spot) (devices []string, remote bool) {
	for _, name := range p.Demand.Devices {
		devices = append(devices, ResourceName(name, spot.Cell))
	}
	return devices, false
}

// choose returns the resources that a unit at spot takes its devices from, nil where there are too few.
func (p *planner) choose(spot Spot) (devices []string, remote bool) {
	n := p.byName[spot.Node]
	if n == nil {
		return nil, false
	}
	used := map[source]int{}
	for _, name := range p.Demand.Devices {
		found := false
		for _, c := range p.sources(n, spot.Cell, name) {
			if n.cell(c.cell).Devices[c.resource] > used[c] {
				used[c]++
				devices = append(devices, c.resource)
				remote = remote || (spot.Cell != AnyCell && c.cell != spot.Cell)
				found = true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return devices, remote
}

// source is where a device may come from.
type source struct {
	cell     int32
	resource string
}

// sources of a device for a unit on the cell, in the order of preference.
func (p *planner) sources(n *Node, cell int32, name string) []source {
	var own, others []source
	for i := range n.Cells {
		id := n.Cells[i].ID
		c := source{id, ResourceName(name, id)}
		if id == cell {
			own = append(own, c)
		} else if cell == AnyCell || p.RemoteNIC {
			others = append(others, c)
		}
	}
	return append(own, others...)
}
