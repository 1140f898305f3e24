package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Allocatable is what nodes have for an instance whose units the scheduler places: what their kubelets offer, as
// one cell. What runs there already has to be taken from it.
func Allocatable(nodes []corev1.Node, terms Terms) Inventory {
	out := make(Inventory, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		cell := Cell{CPUs: int(n.Status.Allocatable.Cpu().MilliValue() / 1000), Hugepages: map[string]int64{}, Devices: map[string]int{}}
		for name, quantity := range n.Status.Allocatable {
			switch size, huge := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); {
			case huge:
				cell.Hugepages[size] = quantity.Value()
			case strings.Contains(string(name), "/"):
				cell.Devices[string(name)] = int(quantity.Value())
			}
		}
		out = append(out, Node{Name: n.Name, Unusable: Unsuitable(n, terms), Cells: []Cell{cell}})
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Bound keeps what an inventory of Allocatable says to what node agents, where there are some, have found free. What other
// pods than units ask of CPUs they know where the kubelet gives containers CPUs of their own, and nobody elsewhere.
func (inv Inventory) Bound(reports []api.DataplaneNode) {
	for i := range reports {
		r := &reports[i]
		n := inv.node(r.Name)
		if n == nil || r.Status.ObservedAt == nil {
			continue
		}
		free := Cell{Hugepages: map[string]int64{}, Devices: map[string]int{}}
		for j := range r.Status.Cells {
			c := observeCell(&r.Status.Cells[j], 1)
			free.CPUs += c.CPUs
			for size, bytes := range c.Hugepages {
				free.Hugepages[size] += bytes
			}
			for name, count := range c.Devices {
				free.Devices[name] += count
			}
		}
		cell := &n.Cells[0]
		if r.Status.Kubelet.CPUManagerPolicy == "static" {
			cell.CPUs = min(cell.CPUs, free.CPUs)
		}
		for size := range cell.Hugepages {
			cell.Hugepages[size] = min(cell.Hugepages[size], free.Hugepages[size])
		}
		for name := range free.Devices {
			cell.Devices[name] = min(cell.Devices[name], free.Devices[name])
		}
	}
}
