package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Terms are what an instance asks of the nodes themselves.
type Terms struct {
	Selector    map[string]string
	Tolerations []corev1.Toleration
	// Devices is set where units need some of a device plugin, VFIO where they are driven by vfio-pci.
	Devices, VFIO bool
}

// Observe turns what node agents report into an inventory for an instance. A node of which nothing is
// reported is left out; one that may not be used says why.
func Observe(reports []api.DataplaneNode, nodes []corev1.Node, terms Terms) Inventory {
	known := map[string]*corev1.Node{}
	for i := range nodes {
		known[nodes[i].Name] = &nodes[i]
	}
	var out Inventory
	for i := range reports {
		r := &reports[i]
		n := Node{Name: r.Name, Unusable: unusable(r, known[r.Name], terms)}
		step := 1
		if r.Status.Kubelet.CPUManagerOptions["full-pcpus-only"] == "true" {
			step = 0 // of each cell's cores
		}
		for j := range r.Status.Cells {
			n.Cells = append(n.Cells, observeCell(&r.Status.Cells[j], step))
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func observeCell(c *api.NUMACell, step int) Cell {
	if step == 0 {
		step = int(c.ThreadsPerCore)
	}
	cell := Cell{ID: c.ID, CPUs: int(c.ExclusiveCPUs.Free), CPUStep: step, Hugepages: map[string]int64{}, Devices: map[string]int{}}
	for _, h := range c.Hugepages {
		cell.Hugepages[h.Size] = h.Free.Value()
	}
	for _, i := range c.Interfaces {
		if i.ResourceName != "" && i.Link != api.LinkDown {
			cell.Devices[i.ResourceName] += int(i.VFs.Free)
		}
	}
	return cell
}

// unusable says in a few words why units may not go to a node.
func unusable(r *api.DataplaneNode, n *corev1.Node, terms Terms) string {
	if n == nil {
		return "is no node of the cluster"
	}
	if problem := Unsuitable(n, terms); problem != "" {
		return problem
	}
	// What was reported before a reboot is not true after it: devices come back last.
	for _, c := range n.Status.Conditions {
		if at := r.Status.ObservedAt; c.Type == corev1.NodeReady && at != nil && at.Before(&c.LastTransitionTime) {
			return "has come back and is not observed yet"
		}
	}
	return unready(r, terms)
}

// Unsuitable says why the scheduler would not give a node to units, whatever it has free.
func Unsuitable(n *corev1.Node, terms Terms) string {
	for _, key := range slices.Sorted(maps.Keys(terms.Selector)) {
		if n.Labels[key] != terms.Selector[key] {
			return fmt.Sprintf("has no label %s=%s", key, terms.Selector[key])
		}
	}
	if Cordoned(n, terms.Tolerations) {
		return "is cordoned"
	}
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(terms.Tolerations, t) {
			return fmt.Sprintf("has taint %s, which spec.tolerations does not name", t.ToString())
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "is not ready"
		}
	}
	return ""
}

// Cordoned reports whether a node takes nothing new of what has these tolerations.
func Cordoned(n *corev1.Node, tolerations []corev1.Toleration) bool {
	return n.Spec.Unschedulable && !tolerated(tolerations, &corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
}

// unready reads the preflight: Ready, or at least everything that these units need.
func unready(r *api.DataplaneNode, terms Terms) string {
	if meta.IsStatusConditionTrue(r.Status.Conditions, api.ConditionReady) {
		return ""
	}
	needed := []string{api.ConditionCPUManagerStatic, api.ConditionTopologyAligned, api.ConditionMemoryManagerStatic, api.ConditionHugepagesPresent}
	if terms.Devices {
		needed = append(needed, api.ConditionDevicePlugin)
	}
	if terms.VFIO {
		needed = append(needed, api.ConditionIOMMUEnabled, api.ConditionVFIOLoaded)
	}
	for _, kind := range needed {
		c := meta.FindStatusCondition(r.Status.Conditions, kind)
		if c == nil {
			return "DataplaneNode does not say " + kind
		}
		if c.Status != metav1.ConditionTrue {
			return fmt.Sprintf("DataplaneNode is not ready: %s: %s", kind, c.Message)
		}
	}
	return ""
}

func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		if tolerations[i].ToleratesTaint(taint) {
			return true
		}
	}
	return false
}
