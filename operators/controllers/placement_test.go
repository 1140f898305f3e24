package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/conditions"
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

// A change of the UPFInstance replaces one unit after the other, each drained first and out of the SMF.
func (e *environment) testRollingReplacement(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	e.create(t, controllertest.Core(t, ns))
	upf := placedUPF(t, ns, ns, 2)
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	pods := []*corev1.Pod{e.startUnit(t, ns, "upf-0"), e.startUnit(t, ns, "upf-1")}
	smf := e.smfOf(t, ns, slice)
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	e.wantCondition(t, slice, api.ConditionUserPlaneFollowed, metav1.ConditionTrue, "", "upf-0, upf-1")
	deployment := e.snapshot(t, ns)["Deployment core5g-smf-internet"]

	e.sessions.Store(ns+"/upf-0", int64(3))
	e.sessions.Store(ns+"/upf-1", int64(0))
	e.change(t, upf, "another MTU", func(u *api.UPFInstance) { u.Spec.N3.MTU = 1400 })
	// Unit 0 has sessions: it waits, gets no new ones, and unit 1 waits for it.
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, "Replacing", "upf-0")
	eventually(t, "unit 0 drains", func() error {
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitDraining || u.Drain == nil || ptr.Deref(u.Drain.Sessions, 0) != 3 {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	for i, name := range []string{"upf-0", "upf-1"} {
		now := &corev1.Pod{}
		e.get(t, now, ns, name)
		if now.UID != pods[i].UID || !now.DeletionTimestamp.IsZero() {
			t.Fatalf("%s was taken down", name)
		}
	}
	// Its sessions end: out of the SMF, then the pod.
	e.sessions.Store(ns+"/upf-0", int64(0))
	e.clock.add(time.Second)
	e.nudge(t, upf)
	fresh := e.wantReplaced(t, ns, pods[0])
	if fresh.Annotations[specs.AnnotationPlacedCell] != pods[0].Annotations[specs.AnnotationPlacedCell] {
		t.Errorf("unit 0 moved from cell %s to %s", pods[0].Annotations[specs.AnnotationPlacedCell], fresh.Annotations[specs.AnnotationPlacedCell])
	}
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-1")
	if now.UID != pods[1].UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("unit 1 was taken down while unit 0 was not ready")
	}
	e.startUnit(t, ns, "upf-0")
	e.wantReplaced(t, ns, pods[1])
	e.startUnit(t, ns, "upf-1")
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionFalse, api.ReasonUpToDate, "")
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	if got := e.snapshot(t, ns)["Deployment core5g-smf-internet"]; got != deployment {
		t.Error("the SMF was restarted")
	}
}

// smfOf plays a ready SMF of a Slice.
func (e *environment) smfOf(t *testing.T, ns string, slice *api.Slice) *fakeSMF {
	t.Helper()
	service := &corev1.Service{}
	eventually(t, "the SMF", func() error {
		e.makeAvailable(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-" + slice.Name}, service); err != nil {
			return err
		}
		e.get(t, slice, ns, slice.Name)
		if !conditions.Of(&slice.Status.Conditions, 0).Is(api.ConditionSMFReady) {
			return errors.New("it is not ready")
		}
		return nil
	})
	return e.smfs.at(fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, specs.PortSBI), nil).(*fakeSMF)
}

func (e *environment) wantUserPlane(t *testing.T, ns string, smf *fakeSMF, want string) {
	t.Helper()
	eventually(t, "the SMF has "+want, func() error {
		e.makeAvailable(t, ns)
		if got := smf.upfs(); fmt.Sprint(got) != want {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
}

// Units come and go without a restart of the SMF; what a restarted SMF has forgotten is put in again.
func (e *environment) testScale(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8, 8)
	e.create(t, controllertest.Core(t, ns))
	upf := placedUPF(t, ns, ns, 1)
	upf.Spec.MaxUnits = ptr.To[int32](2)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	first := e.startUnit(t, ns, "upf-0")
	smf := e.smfOf(t, ns, slice)
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17]")
	deployment := e.snapshot(t, ns)["Deployment core5g-smf-internet"]

	e.change(t, upf, "scale up", func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](2) })
	e.startUnit(t, ns, "upf-1")
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	eventually(t, "the Slice names both", func() error {
		e.get(t, slice, ns, "internet")
		if n := len(slice.Status.UPF.Units); n != 2 {
			return fmt.Errorf("it names %d", n)
		}
		return nil
	})
	if a, b := slice.Status.UPF.Units[0], slice.Status.UPF.Units[1]; a.N3Endpoint != "172.30.3.16" || b.N3Endpoint != "172.30.3.24" || a.N4Address == b.N4Address {
		t.Errorf("units %+v and %+v", a, b)
	}

	process := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "smf-pod", Labels: map[string]string{
			api.LabelManagedBy: "core5g-operator", api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: "internet",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "smf", Image: "x"}}},
	}
	e.create(t, process)
	restart := func() {
		t.Helper()
		count := int32(1)
		if s := process.Status.ContainerStatuses; len(s) > 0 {
			count = s[0].RestartCount + 1
		}
		e.editStatus(t, process, func() {
			process.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "smf", RestartCount: count}}
		})
	}
	// The SMF restarts with the file that it was started with.
	smf.mu.Lock()
	delete(smf.topology.UPNodes, "upf-1")
	smf.mu.Unlock()
	restart()
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17 upf-1 10.45.128.0/17]")

	// An SMF that does not answer is said, and does not keep a unit from its end.
	smf.mu.Lock()
	smf.fails = errors.New("connection refused")
	smf.mu.Unlock()
	restart()
	e.wantCondition(t, slice, api.ConditionUserPlaneFollowed, metav1.ConditionFalse, api.ReasonFailed, "connection refused")
	e.change(t, upf, "scale down", func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](1) })
	eventually(t, "unit 1 waits for the SMF", func() error {
		e.get(t, upf, ns, "upf")
		if len(upf.Status.UnitStatuses) != 2 || !strings.Contains(upf.Status.UnitStatuses[1].Message, "waits for the SMF of Slice internet") {
			return fmt.Errorf("units %+v", upf.Status.UnitStatuses)
		}
		return nil
	})
	e.clock.add(smfReleaseTimeout)
	eventually(t, "unit 1 goes all the same, with its Service", func() error {
		e.stopPods(t, ns)
		for name, o := range map[string]client.Object{"upf-1": &corev1.Pod{}, "upf-1-n4": &corev1.Service{}} {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	smf.mu.Lock()
	smf.fails = nil
	smf.mu.Unlock()
	e.wantUserPlane(t, ns, smf, "[upf-0 10.45.0.0/17]")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != first.UID || e.snapshot(t, ns)["Deployment core5g-smf-internet"] != deployment {
		t.Error("unit 0 or the SMF was restarted")
	}
}

// A cordoned node is left where there is another place, and not before.
func (e *environment) testCordon(t *testing.T) {
	ns := e.namespace(t)
	e.dataplaneNode(t, ns+"-w1", ns, 8)
	upf := placedUPF(t, ns, ns, 1)
	e.create(t, upf)
	pod := e.startUnit(t, ns, "upf-0")
	node := &corev1.Node{}
	e.get(t, node, "", ns+"-w1")
	e.edit(t, node, func() { node.Spec.Unschedulable = true })
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionTrue, "NodeCordoned", "upf-0 stays on cordoned node "+ns+"-w1: there is no other place")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was taken from the only place that it has")
	}
	e.dataplaneNode(t, ns+"-w2", ns, 8)
	e.nudge(t, upf)
	e.wantReplaced(t, ns, pod)
	if moved := e.startUnit(t, ns, "upf-0"); moved.Spec.NodeName != ns+"-w2" {
		t.Errorf("the unit went to %s", moved.Spec.NodeName)
	}
}

// A unit that the scheduler places stays on a cordoned node while no other has what it needs.
func (e *environment) testCordonAny(t *testing.T) {
	ns := e.namespace(t)
	offer := func(name string, hugepages string) {
		t.Helper()
		node := &corev1.Node{}
		e.get(t, node, "", name)
		e.editStatus(t, node, func() {
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("8"), "hugepages-2Mi": resource.MustParse(hugepages), "core5g.dev/n3": resource.MustParse("4"),
			}
		})
	}
	e.dataplaneNode(t, ns+"-w1", ns, 8)
	offer(ns+"-w1", "2Gi")
	upf := controllertest.UPF(t, ns)
	upf.Spec.NodeSelector = map[string]string{"pool": ns}
	upf.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: "core5g.dev/n3"}
	e.create(t, upf)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	start := func(node string) *corev1.Pod {
		t.Helper()
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf-0"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		if err := e.client.SubResource("binding").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf-0"}}, binding); err != nil {
			t.Fatal(err)
		}
		return e.startUnit(t, ns, "upf-0")
	}
	pod := start(ns + "-w1")
	e.dataplaneNode(t, ns+"-w2", ns, 8)
	offer(ns+"-w2", "0")
	node := &corev1.Node{}
	e.get(t, node, "", ns+"-w1")
	e.edit(t, node, func() { node.Spec.Unschedulable = true })
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionTrue, "NodeCordoned",
		"upf-0 stays on cordoned node "+ns+"-w1: there is no other place: node "+ns+"-w2: "+"512Mi of 2Mi hugepages needed, 0 free")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was taken from the only place that it has")
	}
	offer(ns+"-w2", "2Gi")
	e.nudge(t, upf)
	e.wantReplaced(t, ns, pod)
}

// OnApproval waits for the annotation even after a change by the user.
func (e *environment) testOnApproval(t *testing.T) {
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateOnApproval}
	e.create(t, upf)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	pod := &corev1.Pod{}
	e.get(t, pod, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	e.change(t, upf, "another MTU", func(u *api.UPFInstance) { u.Spec.N3.MTU = 1400 })
	e.wantCondition(t, upf, api.ConditionUpdatePending, metav1.ConditionTrue, api.ReasonRestartRequired, "kubectl annotate")
	now := &corev1.Pod{}
	e.get(t, now, ns, "upf-0")
	if now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Fatal("the unit was restarted without approval")
	}
	var hash string
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionUpdatePending {
			_, hash, _ = strings.Cut(c.Message, api.AnnotationApplyUpdate+"=")
		}
	}
	e.change(t, upf, "approve", func(u *api.UPFInstance) {
		u.Annotations = map[string]string{api.AnnotationApplyUpdate: hash}
	})
	e.wantReplaced(t, ns, pod)
}

// Deletion waits for sessions as long as spec.drain says, and no longer.
func (e *environment) testDrainedDeletion(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	upf := controllertest.UPF(t, ns)
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 600 * time.Second}}
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, controllertest.Core(t, ns), upf, slice)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	e.sessions.Store(ns+"/upf-0", int64(1))
	if err := e.client.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	// It is asked for its sessions again after a pass that has left it alone.
	eventually(t, "the unit is asked twice", func() error {
		e.nudge(t, upf)
		asked, found := e.asked.Load(ns + "/upf-0")
		if !found || asked.(*atomic.Int64).Load() < 2 {
			return errors.New("it was not")
		}
		return nil
	})
	pod := &corev1.Pod{}
	e.get(t, pod, ns, "upf-0")
	if !pod.DeletionTimestamp.IsZero() {
		t.Fatal("the pod was stopped with a session on it")
	}
	// Deleted some time after the clock was held, by the API server's own.
	e.clock.add(660 * time.Second)
	eventually(t, "the object goes", func() error {
		e.stopPods(t, ns)
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(upf), upf); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

// testFleet asks a real API server for some UPFInstances on nodes of two sockets, and counts what the controllers
// ask of it. With CORE5G_FLEET it is a benchmark of as many, on 64 nodes.
func (e *environment) testFleet(t *testing.T) {
	instances, nodes := 16, 8
	if asked := os.Getenv("CORE5G_FLEET"); asked != "" {
		var err error
		if instances, err = strconv.Atoi(asked); err != nil {
			t.Fatalf("CORE5G_FLEET is %q: write how many UPFInstances to make", asked)
		}
		nodes = 64
	}
	for _, policy := range []api.PlacementPolicy{api.PlacementAny, api.PlacementSingleNUMA} {
		ns := e.namespace(t)
		for i := range nodes {
			report := e.dataplaneNode(t, fmt.Sprintf("%s-w%d", ns, i), ns, 32, 32)
			for c := range report.Status.Cells {
				report.Status.Cells[c].Hugepages[0].Free = resource.MustParse("64Gi")
			}
			e.report(t, report)
		}
		begin := time.Now()
		e.calls.take()
		for i := range instances {
			upf := controllertest.UPF(t, ns)
			upf.Name = fmt.Sprintf("upf%04d", i)
			controllertest.OwnAddresses(upf, i)
			upf.Spec.CPUs = ptr.To[int32](1)
			if policy != api.PlacementAny {
				upf.Spec.NodeSelector = map[string]string{"pool": ns}
				upf.Spec.Placement = &api.PlacementSpec{Policy: policy}
			}
			e.create(t, upf)
		}
		created := time.Since(begin)
		limit := time.Now().Add(10 * time.Minute)
		ready := map[string]bool{}
		for len(ready) < instances {
			if time.Now().After(limit) {
				t.Fatalf("%d of %d units run after %s", len(ready), instances, time.Since(begin))
			}
			var pods corev1.PodList
			if err := e.client.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			for i := range pods.Items {
				if pod := &pods.Items[i]; !ready[pod.Name] && !specs.Gated(pod) {
					e.startUnit(t, ns, pod.Name)
					ready[pod.Name] = true
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		for left := -1; left != 0; time.Sleep(100 * time.Millisecond) {
			var list api.UPFInstanceList
			if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
			left = 0
			for i := range list.Items {
				if !conditions.Of(&list.Items[i].Status.Conditions, 0).Is(api.ConditionReady) {
					left++
				}
			}
			if time.Now().After(limit) {
				t.Fatalf("%d are not Ready after %s", left, time.Since(begin))
			}
		}
		settled := time.Since(begin)
		calls, sum := e.calls.take(), 0
		var table strings.Builder
		for _, k := range slices.Sorted(maps.Keys(calls)) {
			sum += calls[k]
			fmt.Fprintf(&table, "| %s | %d |\n", k, calls[k])
		}
		t.Logf("%s: %d UPFInstances made in %s, all Ready after %s, %d calls (%.1f each)\n%s", policy, instances,
			created.Round(time.Second), settled.Round(time.Second), sum, float64(sum)/float64(instances), &table)
		// Beside the writes: Events, and reads of what is in no cache, on a busy machine for some more than once.
		if most := (controllertest.CallsPerInstance + 18) * instances; sum > most {
			t.Errorf("%s: %d calls, at most %d are allowed", policy, sum, most)
		}
	}
}

// ShuttingDown lets the sessions of the only unit end, without new ones, and then takes it away.
func (e *environment) testShuttingDown(t *testing.T) {
	e.clock.hold(t)
	ns := e.namespace(t)
	e.create(t, controllertest.Core(t, ns))
	upf := controllertest.UPF(t, ns)
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, upf, slice)
	eventually(t, "the pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.sessions.Store(ns+"/upf-0", int64(2))
	e.change(t, upf, "shutting down", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateShuttingDown })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, "ShuttingDown", "write Unlocked to keep them")
	eventually(t, "the unit tells its sessions", func() error {
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitDraining || !strings.Contains(u.Message, "2 PDU sessions") {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
	pod := &corev1.Pod{}
	if e.get(t, pod, ns, "upf-0"); !pod.DeletionTimestamp.IsZero() {
		t.Fatal("the pod was stopped with sessions on it")
	}
	// Taken back.
	e.change(t, upf, "unlocked", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateUnlocked })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionTrue, "", "")
	e.change(t, upf, "shutting down again", func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateShuttingDown })
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, "ShuttingDown", "write Unlocked to keep them")
	e.sessions.Store(ns+"/upf-0", int64(0))
	e.clock.add(time.Second)
	e.nudge(t, upf)
	eventually(t, "the unit is gone", func() error {
		e.stopPods(t, ns)
		e.get(t, upf, ns, "upf")
		if u := upf.Status.UnitStatuses[0]; u.State != api.UnitStopped || e.podCount(t, ns) != 0 {
			return fmt.Errorf("it is %+v", u)
		}
		return nil
	})
}
