package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestCordonedIsWhatIsNotTolerated(t *testing.T) {
	node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}
	tolerates := []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
	if !Cordoned(node, nil) || Cordoned(node, tolerates) || Cordoned(&corev1.Node{}, nil) {
		t.Error("a unit stays on a cordoned node that it tolerates, and on no other")
	}
}

// What a node offers beyond what it has free is no place for a unit.
func TestAllocatable(t *testing.T) {
	demand := Demand{CPUs: 2, PageSize: "2Mi", Hugepages: 512 * mi, Devices: []string{"core5g.dev/n3"}}
	at := metav1.NewTime(time.Unix(2000, 0))
	for name, c := range map[string]struct {
		node   func(*corev1.Node)
		runs   int
		report func(*api.DataplaneNode)
		want   string
	}{
		"it fits":      {},
		"no hugepages": {node: func(n *corev1.Node) { delete(n.Status.Allocatable, "hugepages-2Mi") }, want: "node w1: 512Mi of 2Mi hugepages needed, 0 free"},
		"hugepages of another size": {node: func(n *corev1.Node) {
			delete(n.Status.Allocatable, "hugepages-2Mi")
			n.Status.Allocatable["hugepages-1Gi"] = resource.MustParse("4Gi")
		}, want: "node w1: 512Mi of 2Mi hugepages needed, 0 free"},
		"a part of a CPU is none":   {node: func(n *corev1.Node) { n.Status.Allocatable["cpu"] = resource.MustParse("1900m") }, want: "node w1: 2 CPU needed, 1 free"},
		"no device":                 {node: func(n *corev1.Node) { n.Status.Allocatable["core5g.dev/n3"] = resource.MustParse("0") }, want: "node w1: 1 core5g.dev/n3 needed, 0 free"},
		"cordoned":                  {node: func(n *corev1.Node) { n.Spec.Unschedulable = true }, want: "node w1: is cordoned"},
		"another unit holds it all": {runs: 2, want: "node w1: 512Mi of 2Mi hugepages needed, 0 free"},
		"one unit leaves enough":    {runs: 1},
		"another pod has the pages": {report: func(r *api.DataplaneNode) { r.Status.Cells[0].Hugepages[0].Free = resource.MustParse("64Mi") }, want: "node w1: 512Mi of 2Mi hugepages needed, 64Mi free"},
		"another pod has the CPUs": {report: func(r *api.DataplaneNode) {
			r.Status.Kubelet.CPUManagerPolicy = "static"
			r.Status.Cells[0].ExclusiveCPUs.Free = 1
		}, want: "node w1: 2 CPU needed, 1 free"},
		"CPUs that nobody has alone": {report: func(r *api.DataplaneNode) { r.Status.Cells[0].ExclusiveCPUs.Free = 0 }},
		"another pod has the device": {report: func(r *api.DataplaneNode) { r.Status.Cells[0].Interfaces[0].VFs.Free = 0 }, want: "node w1: 1 core5g.dev/n3 needed, 0 free"},
		"an agent that sees enough":  {report: func(*api.DataplaneNode) {}},
	} {
		t.Run(name, func(t *testing.T) {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				"cpu": resource.MustParse("8"), "hugepages-2Mi": resource.MustParse("1Gi"), "core5g.dev/n3": resource.MustParse("3"),
			}}}
			if c.node != nil {
				c.node(&node)
			}
			inv := Allocatable([]corev1.Node{node}, Terms{})
			for range c.runs {
				inv.Take(Spot{"w1", AnyCell}, demand, demand.Devices)
			}
			if c.report != nil {
				report := api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: api.DataplaneNodeStatus{ObservedAt: &at, Cells: []api.NUMACell{{
					ExclusiveCPUs: api.CPUCount{Total: 8, Free: 8},
					Hugepages:     []api.HugepagePool{{Size: "2Mi", Free: resource.MustParse("1Gi")}},
					Interfaces:    []api.NodeInterface{{Name: "ens1", ResourceName: "core5g.dev/n3", VFs: api.VFCount{Total: 3, Free: 3}}},
				}}}}
				c.report(&report)
				inv.Bound([]api.DataplaneNode{report})
			}
			got := Plan(inv, Request{Units: []string{"upf-0"}, Demand: demand})
			if diff := cmp.Diff(c.want, got.Message()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if node := got.Assigned["upf-0"].Node; (node == "w1") != (c.want == "") {
				t.Errorf("it goes to %q", node)
			}
		})
	}
}
