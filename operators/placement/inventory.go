package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AnyCell stands for the node as a whole: the kubelet chooses the cells.
const AnyCell int32 = -1

// CellWord in a resource name stands for the number of the cell that the unit is placed on, for example
// core5g.dev/n3_socket{cell}.
const CellWord = "{cell}"

// Spot is a place for a unit.
type Spot struct {
	Node string
	Cell int32
}

func (s Spot) String() string {
	if s.Cell == AnyCell {
		return "node " + s.Node
	}
	return fmt.Sprintf("node %s numa%d", s.Node, s.Cell)
}

func compareSpots(a, b Spot) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.Cell, b.Cell))
}

// Demand is what one unit needs.
type Demand struct {
	// CPUs that it has to itself.
	CPUs int
	// PageSize of its hugepages as Kubernetes writes it, and their Hugepages in bytes.
	PageSize  string
	Hugepages int64
	// Devices are resource names of device plugins, one a device; CellWord in them is replaced.
	Devices []string
}

// Cell is what one NUMA cell has free.
type Cell struct {
	ID   int32
	CPUs int
	// CPUStep is the number of CPUs that the kubelet gives out together: 2 where it gives whole cores
	// with two threads each, else 1 or 0.
	CPUStep   int
	Hugepages map[string]int64
	Devices   map[string]int
}

// Node is what one node has free.
type Node struct {
	Name string
	// Unusable says why nothing may be placed on it; empty where it may.
	Unusable string
	Cells    []Cell
}

// Inventory is what the nodes have free.
type Inventory []Node

// Clone copies the inventory, so that the copy can be used up.
func (inv Inventory) Clone() Inventory {
	out := slices.Clone(inv)
	for i := range out {
		out[i].Cells = slices.Clone(out[i].Cells)
		for j := range out[i].Cells {
			out[i].Cells[j].Hugepages = maps.Clone(out[i].Cells[j].Hugepages)
			out[i].Cells[j].Devices = maps.Clone(out[i].Cells[j].Devices)
		}
	}
	return out
}

func (inv Inventory) node(name string) *Node {
	for i := range inv {
		if inv[i].Name == name {
			return &inv[i]
		}
	}
	return nil
}

func (n *Node) cell(id int32) *Cell {
	for i := range n.Cells {
		if n.Cells[i].ID == id {
			return &n.Cells[i]
		}
	}
	return nil
}

// Take uses up what a unit at spot holds, with the devices that it was given. It is for units that the
// inventory does not know of yet; it never goes below nothing.
func (inv Inventory) Take(spot Spot, d Demand, devices []string) {
	n := inv.node(spot.Node)
	if n == nil {
		return
	}
	for _, device := range devices {
		n.takeDevice(device, spot.Cell)
	}
	if c := n.cell(spot.Cell); c != nil {
		c.CPUs = max(0, c.CPUs-d.CPUs)
		if d.Hugepages > 0 && c.Hugepages != nil {
			c.Hugepages[d.PageSize] = max(0, c.Hugepages[d.PageSize]-d.Hugepages)
		}
		return
	}
	// Whichever cells the kubelet has chosen: those with the most, for a start.
	cpus, pages := d.CPUs, d.Hugepages
	for i := range n.Cells {
		c := &n.Cells[i]
		took := min(cpus, c.CPUs)
		c.CPUs, cpus = c.CPUs-took, cpus-took
		if free := c.Hugepages[d.PageSize]; free > 0 && pages > 0 {
			took := min(pages, free)
			c.Hugepages[d.PageSize], pages = free-took, pages-took
		}
	}
}

// takeDevice takes one from the unit's own cell, or from the first that has one.
func (n *Node) takeDevice(name string, cell int32) {
	if own := n.cell(cell); own != nil && own.Devices[name] > 0 {
		own.Devices[name]--
		return
	}
	for i := range n.Cells {
		if n.Cells[i].Devices[name] > 0 {
			n.Cells[i].Devices[name]--
			return
		}
	}
}

// ResourceName is the name of a device's resource for a unit on the given cell.
func ResourceName(name string, cell int32) string {
	return strings.ReplaceAll(name, CellWord, fmt.Sprint(cell))
}
