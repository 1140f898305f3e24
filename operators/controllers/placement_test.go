package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// dataplaneNode makes a Node with two sockets and a DataplaneNode that reports them: so many CPUs free in
// each cell, 1 GiB of hugepages, 4 VFs. Only instances with nodeSelector pool=<pool> see it.
func (e *environment) dataplaneNode(t *testing.T, name, pool string, cpus ...int32) *api.DataplaneNode {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool}}}
	e.create(t, node)
	e.edit(t, node, func() { node.Spec.Taints = nil }) // the API server's own: not ready
	e.editStatus(t, node, func() {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
	})
	report := &api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	e.create(t, report)
	t.Cleanup(func() {
		_ = e.client.Delete(context.Background(), node)
		_ = e.client.Delete(context.Background(), report)
	})
	report.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}}
	for id, free := range cpus {
		report.Status.Cells = append(report.Status.Cells, api.NUMACell{
			ID: int32(id), ExclusiveCPUs: api.CPUCount{Total: 16, Free: free},
			Hugepages: []api.HugepagePool{{Size: "2Mi", Total: resource.MustParse("1Gi"), Free: resource.MustParse("1Gi")}},
			Interfaces: []api.NodeInterface{{
				Name: fmt.Sprintf("ens%d", id), ResourceName: fmt.Sprintf("core5g.dev/n3_socket%d", id), VFs: api.VFCount{Total: 4, Free: 4},
			}},
		})
	}
	e.report(t, report)
	return report
}

// report plays the node agent.
func (e *environment) report(t *testing.T, report *api.DataplaneNode) {
	t.Helper()
	now := metav1.Now()
	report.Status.ObservedAt = &now
	if err := e.client.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
}

// placedUPF is a UPFInstance of n units with VFs of their sockets, on the nodes of a pool.
func placedUPF(t *testing.T, ns, pool string, units int32) *api.UPFInstance {
	upf := controllertest.UPF(t, ns)
	upf.Spec.Units = &units
	upf.Spec.CPUs = ptr.To[int32](6)
	upf.Spec.NodeSelector = map[string]string{"pool": pool}
	upf.Spec.Placement = &api.PlacementSpec{Policy: api.PlacementPerSocket}
	upf.Spec.N6.UnitAddresses = ptr.To[api.CIDR]("172.30.6.16/28")
	upf.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: "core5g.dev/n3_socket{cell}"}
	return upf
}

// unitPod waits for a unit's pod that is through its gate.
func (e *environment) unitPod(t *testing.T, ns, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	eventually(t, "pod "+name+" goes to its place", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, pod); err != nil {
			return err
		}
		if specs.Gated(pod) {
			return errors.New("it is gated")
		}
		return nil
	})
	return pod
}

func (e *environment) startUnit(t *testing.T, ns, name string) *corev1.Pod {
	t.Helper()
	pod := e.unitPod(t, ns, name)
	if spot, known := specs.PodSpot(pod); known && pod.Spec.NodeName == "" {
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: spot.Node}}
		if err := e.client.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
			t.Fatal(err)
		}
	}
	e.makeReady(t, ns, name)
	e.get(t, pod, ns, name)
	return pod
}

// refuse plays a kubelet that does not take a pod.
func (e *environment) refuse(t *testing.T, pod *corev1.Pod, reason string) {
	t.Helper()
	e.editStatus(t, pod, func() { pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, reason, "no" })
}

func (e *environment) change(t *testing.T, upf *api.UPFInstance, what string, change func(*api.UPFInstance)) {
	t.Helper()
	eventually(t, what, func() error {
		e.get(t, upf, upf.Namespace, upf.Name)
		change(upf)
		return e.client.Update(t.Context(), upf)
	})
}

func (e *environment) podCount(t *testing.T, ns string) int {
	t.Helper()
	var list corev1.PodList
	if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// watchPods counts the pod objects that a namespace ever sees.
func (e *environment) watchPods(t *testing.T, ns string) func() int {
	t.Helper()
	seen := map[string]bool{}
	return func() int {
		var list corev1.PodList
		if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			seen[string(list.Items[i].UID)] = true
		}
		return len(seen)
	}
}

// One UPF a socket, a third that has no place, and its place when a node comes.
func (e *environment) testPerSocket(t *testing.T) {
	ns := e.namespace(t)
	pool := ns
	e.dataplaneNode(t, pool+"-w1", pool, 8, 8)
	upf := placedUPF(t, ns, pool, 3)
	e.create(t, upf)
	cells := map[string]string{}
	for _, name := range []string{"upf-0", "upf-1"} {
		pod := e.startUnit(t, ns, name)
		cell := pod.Annotations[specs.AnnotationPlacedCell]
		cells[cell] = name
		device := corev1.ResourceName("core5g.dev/n3_socket" + cell)
		if n := pod.Spec.Containers[0].Resources.Limits[device]; n.Value() != 1 {
			t.Errorf("%s on cell %s asks for %v", name, cell, pod.Spec.Containers[0].Resources.Limits)
		}
		if want := `"upf-n3-numa` + cell + `"`; !strings.Contains(pod.Annotations["k8s.v1.cni.cncf.io/networks"], want) {
			t.Errorf("networks of %s are %s, want %s", name, pod.Annotations["k8s.v1.cni.cncf.io/networks"], want)
		}
		terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		if got := terms[0].MatchFields[0].Values[0]; got != pool+"-w1" {
			t.Errorf("%s may go to %s", name, got)
		}
	}
	if len(cells) != 2 {
		t.Errorf("cells %v", cells)
	}
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit,
		"numa0: taken by upf-0; node "+pool+"-w1 numa1: taken by upf-1 (for upf-2)")
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionTrue, "", "upf-1: CPUs 2,3, n3 (0000:81:10.0), n6 (0000:01:10.0) and memory on numa1")
	if n := e.podCount(t, ns); n != 2 {
		t.Errorf("%d pods, want 2", n)
	}
	eventually(t, "the state of each unit", func() error {
		e.get(t, upf, ns, "upf")
		for i, want := range []struct {
			state api.UnitState
			n6    string
		}{{api.UnitReady, "172.30.6.2/24"}, {api.UnitReady, "172.30.6.16/24"}, {api.UnitUnplaced, "172.30.6.17/24"}} {
			if got := upf.Status.UnitStatuses[i]; got.State != want.state || got.N6Address != want.n6 || got.N4Address == "" {
				return fmt.Errorf("unit %d: %+v", i, got)
			}
		}
		return nil
	})
	// The scale subresource and the budget speak of the same pods.
	budget := &policyv1.PodDisruptionBudget{}
	e.get(t, budget, ns, "upf")
	if budget.Spec.MinAvailable.IntValue() != 3 || upf.Status.Units != 2 || !strings.Contains(upf.Status.Selector, api.LabelUPF+"=upf") {
		t.Errorf("budget %v, units %d, selector %q", budget.Spec.MinAvailable, upf.Status.Units, upf.Status.Selector)
	}
	// A node comes: the unit wakes without being touched.
	e.dataplaneNode(t, pool+"-w2", pool, 8)
	e.startUnit(t, ns, "upf-2")
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionTrue, "", "")
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionTrue, "", "3 of 3")
	for _, u := range upf.Status.UnitStatuses[:2] {
		if u.Node != pool+"-w1" {
			t.Errorf("%s moved to %s", u.Name, u.Node)
		}
	}
}

// What is short is said; a changed report wakes the unit.
func (e *environment) testNoFit(t *testing.T) {
	ns := e.namespace(t)
	report := e.dataplaneNode(t, ns+"-w1", ns, 4)
	upf := placedUPF(t, ns, ns, 1)
	e.create(t, upf)
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "node "+ns+"-w1 numa0: 6 CPU needed, 4 free (for upf-0)")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, api.ReasonNoNUMAFit, "6 CPU needed, 4 free")
	if n := e.podCount(t, ns); n != 0 {
		t.Errorf("%d pods were made", n)
	}
	// After a reboot the node waits for its device plugin.
	report.Status.Cells[0].ExclusiveCPUs.Free = 8
	report.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: "Missing", LastTransitionTime: metav1.Now()}}
	for _, kind := range []string{api.ConditionCPUManagerStatic, api.ConditionTopologyAligned, api.ConditionMemoryManagerStatic, api.ConditionHugepagesPresent} {
		report.Status.Conditions = append(report.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Set", LastTransitionTime: metav1.Now()})
	}
	report.Status.Conditions = append(report.Status.Conditions,
		metav1.Condition{Type: api.ConditionDevicePlugin, Status: metav1.ConditionFalse, Reason: "Missing", Message: "no VF is allocatable", LastTransitionTime: metav1.Now()})
	e.report(t, report)
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "DevicePlugin: no VF is allocatable")
	report.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: metav1.Now()}}
	e.report(t, report)
	e.startUnit(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
}

// Each place that refuses is left alone for a while; the unit tries the next, and then waits.
func (e *environment) testCellBackoff(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	upf := placedUPF(t, ns, ns, 1)
	count := e.watchPods(t, ns)
	e.create(t, upf)
	first := e.unitPod(t, ns, "upf-0")
	count()
	e.refuse(t, first, "TopologyAffinityError")
	e.wantReplaced(t, ns, first)
	second := e.unitPod(t, ns, "upf-0")
	count()
	if a, b := first.Annotations[specs.AnnotationPlacedCell], second.Annotations[specs.AnnotationPlacedCell]; a == b {
		t.Errorf("the refused pod and the next were both for cell %s", a)
	}
	e.refuse(t, second, "UnexpectedAdmissionError")
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "the kubelet refused a unit (TopologyAffinityError)")
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "the kubelet refused a unit (UnexpectedAdmissionError)")
	if len(upf.Status.CellBackoffs) != 2 {
		t.Errorf("back-offs %+v", upf.Status.CellBackoffs)
	}
	eventually(t, "no pod is left", func() error {
		if n := e.podCount(t, ns); n != 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	for range 5 {
		e.nudge(t, upf)
	}
	if n := count(); n != 2 {
		t.Errorf("%d pod objects, want 2: one for each cell", n)
	}
	// When the first back-off is over, that cell is tried again.
	e.clock.add(backoffFirst + time.Millisecond)
	e.nudge(t, upf)
	e.startUnit(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	eventually(t, "the place that took it is forgiven", func() error {
		e.nudge(t, upf)
		e.get(t, upf, ns, "upf")
		if n := len(upf.Status.CellBackoffs); n != 1 {
			return fmt.Errorf("%d back-offs", n)
		}
		return nil
	})
}

// Preferred leaves a unit without a place to the scheduler and says so.
func (e *environment) testPreferred(t *testing.T) {
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 2)
	upf := placedUPF(t, ns, ns, 1)
	upf.Spec.Placement.Enforcement = api.EnforcementPreferred
	upf.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "c5g-n3"}
	e.create(t, upf)
	pod := e.unitPod(t, ns, "upf-0")
	if pod.Spec.Affinity != nil {
		t.Errorf("affinity %+v", pod.Spec.Affinity)
	}
	e.wantCondition(t, upf, api.ConditionNUMAAligned, metav1.ConditionFalse, api.ReasonNoNUMAFit, "left to the scheduler")
}

// Two instances that want the same cell: one gets it, whatever the order.
func (e *environment) testTwoInstances(t *testing.T) {
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8)
	a, b := placedUPF(t, ns, ns, 1), placedUPF(t, ns, ns, 1)
	a.Name, b.Name = "a", "b"
	b.Spec.N3.Endpoints, b.Spec.N6.Address = "172.30.3.128/28", "172.30.6.130/24"
	b.Spec.N6.UnitAddresses = ptr.To[api.CIDR]("172.30.6.144/28")
	e.create(t, a, b)
	eventually(t, "one is placed, the other says why not", func() error {
		e.get(t, a, ns, "a")
		e.get(t, b, ns, "b")
		if len(a.Status.UnitStatuses) == 0 || len(b.Status.UnitStatuses) == 0 {
			return errors.New("no status yet")
		}
		states := map[api.UnitState]int{}
		states[a.Status.UnitStatuses[0].State]++
		states[b.Status.UnitStatuses[0].State]++
		if states[api.UnitUnplaced] != 1 || e.podCount(t, ns) != 1 {
			return fmt.Errorf("states %v, %d pods", states, e.podCount(t, ns))
		}
		return nil
	})
	winner, loser := a, b
	if a.Status.UnitStatuses[0].State == api.UnitUnplaced {
		winner, loser = b, a
	}
	e.startUnit(t, ns, winner.Name+"-0")
	if err := e.client.Delete(t.Context(), winner); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other has the place when the first is gone", func() error {
		e.stopPods(t, ns)
		pod := &corev1.Pod{}
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: loser.Name + "-0"}, pod)
	})
}
