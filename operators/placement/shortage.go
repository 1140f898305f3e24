package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Shortage says why a place does not fit.
type Shortage struct {
	Spot
	// Missing are sentences such as "6 CPU needed, 4 free".
	Missing []string
	// blocked is set where not an amount but a rule is in the way.
	blocked bool
}

func (s Shortage) fits() bool { return len(s.Missing) == 0 }

func (s Shortage) String() string { return s.Spot.String() + ": " + strings.Join(s.Missing, ", ") }

// shownShortages is how many places a message names.
const shownShortages = 3

// Message is one sentence about what is short.
func (r Result) Message() string {
	if len(r.Unplaced) == 0 {
		return ""
	}
	if len(r.Shortage) == 0 {
		return "no node has been observed: is the node agent running?"
	}
	var parts []string
	for _, s := range r.Shortage[:min(shownShortages, len(r.Shortage))] {
		parts = append(parts, s.String())
	}
	if more := len(r.Shortage) - shownShortages; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// shortages judges every place, those that miss least first.
func (p *planner) shortages() []Shortage {
	var out []Shortage
	for i := range p.inv {
		n := &p.inv[i]
		if n.Unusable != "" || len(n.Cells) == 0 {
			out = append(out, p.judge(Spot{n.Name, AnyCell}))
			continue
		}
		for _, spot := range p.spots(n) {
			if s := p.judge(spot); !s.fits() {
				out = append(out, s)
			}
		}
	}
	rank := func(s Shortage) int {
		if s.blocked {
			return 1000
		}
		return len(s.Missing)
	}
	slices.SortStableFunc(out, func(a, b Shortage) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareSpots(a.Spot, b.Spot))
	})
	return out
}

// judge says what keeps the next unit from a place.
func (p *planner) judge(spot Spot) Shortage {
	s := Shortage{Spot: spot}
	block := func(format string, args ...any) Shortage {
		s.blocked, s.Missing = true, []string{fmt.Sprintf(format, args...)}
		return s
	}
	n := p.byName[spot.Node]
	if n == nil {
		return block("not observed")
	}
	if n.Unusable != "" {
		return block("%s", n.Unusable)
	}
	if len(n.Cells) == 0 {
		return block("no NUMA cell observed")
	}
	if p.MaxPerNode > 0 && p.onNode[n.Name] >= p.MaxPerNode {
		return block("placement.maxPerNode %d is reached", p.MaxPerNode)
	}
	if unit, is := p.taken[spot]; is && p.Policy == PerSocket {
		return block("taken by %s", unit)
	}
	if said, is := p.Avoid[spot]; is {
		return block("%s", said)
	}
	if spot.Cell == AnyCell {
		p.judgeAmounts(&s, n.total(p.Demand.PageSize))
	} else {
		c := n.cell(spot.Cell)
		if c == nil {
			return block("no such NUMA cell")
		}
		p.judgeAmounts(&s, *c)
	}
	if devices, _ := p.choose(spot); len(devices) < len(p.Demand.Devices) {
		s.Missing = append(s.Missing, p.missingDevices(n, spot.Cell))
	}
	return s
}

// total adds the cells of a node up.
func (n *Node) total(pageSize string) Cell {
	sum := Cell{ID: AnyCell, Hugepages: map[string]int64{}}
	for i := range n.Cells {
		c := &n.Cells[i]
		sum.CPUs += c.CPUs
		sum.CPUStep = max(sum.CPUStep, c.CPUStep)
		sum.Hugepages[pageSize] += c.Hugepages[pageSize]
	}
	return sum
}

func (p *planner) judgeAmounts(s *Shortage, c Cell) {
	if d := p.Demand; c.CPUStep > 1 && d.CPUs%c.CPUStep != 0 {
		s.Missing = append(s.Missing, fmt.Sprintf("the kubelet gives whole cores of %d threads and %d CPU are asked for: write a multiple of %d in spec.cpus",
			c.CPUStep, d.CPUs, c.CPUStep))
	} else if d.CPUs > c.CPUs {
		s.Missing = append(s.Missing, fmt.Sprintf("%d CPU needed, %d free", d.CPUs, c.CPUs))
	}
	if d := p.Demand; d.Hugepages > c.Hugepages[d.PageSize] {
		s.Missing = append(s.Missing, fmt.Sprintf("%s of %s hugepages needed, %s free", amount(d.Hugepages), d.PageSize, amount(c.Hugepages[d.PageSize])))
	}
}

func amount(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }

// missingDevices names the first resource of which there are too few.
func (p *planner) missingDevices(n *Node, cell int32) string {
	needed := map[string]int{}
	for _, name := range p.Demand.Devices {
		needed[name]++
	}
	for _, name := range p.Demand.Devices {
		free, resource := 0, ResourceName(name, cell)
		if cell == AnyCell {
			resource = name
		}
		for _, c := range p.sources(n, cell, name) {
			free += n.cell(c.cell).Devices[c.resource]
		}
		if free < needed[name] {
			return fmt.Sprintf("%d %s needed, %d free", needed[name], resource, free)
		}
	}
	return "not enough devices free"
}
