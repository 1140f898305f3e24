package controllers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// nodeReady plays the kubelet's heartbeat. Times of objects have seconds; the change is made far enough from
// the last report that they tell which came first.
func (e *environment) nodeReady(t *testing.T, name string, status corev1.ConditionStatus, at time.Time) {
	t.Helper()
	node := &corev1.Node{}
	e.get(t, node, "", name)
	e.editStatus(t, node, func() {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(at)}}
	})
}

// gone waits until the operator has taken away what a kubelet refused, and no pod is left or made.
func (e *environment) gone(t *testing.T, ns string) {
	t.Helper()
	eventually(t, "no pod is left", func() error {
		e.stopPods(t, ns)
		if n := e.podCount(t, ns); n != 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
}

// A node reboots: its kubelet, back before the device plugin, refuses the units that it had. None is made anew
// until the node agent has looked at the node since, and has seen the device plugin's VFs.
func (e *environment) testReboot(t *testing.T) {
	ns := e.namespace(t)
	node := ns + "-w1"
	report := e.dataplaneNode(t, node, ns, 8, 8)
	upf := placedUPF(t, ns, ns, 2)
	count := e.watchPods(t, ns)
	e.create(t, upf)
	before := map[string]string{}
	for _, name := range []string{"upf-0", "upf-1"} {
		before[name] = e.startUnit(t, ns, name).Annotations[specs.AnnotationPlacedCell]
	}
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionTrue, "", "2 of 2")
	count()

	e.nodeReady(t, node, corev1.ConditionFalse, time.Now())
	e.nodeReady(t, node, corev1.ConditionTrue, time.Now().Add(5*time.Second))
	for _, name := range []string{"upf-0", "upf-1"} {
		pod := &corev1.Pod{}
		e.get(t, pod, ns, name)
		e.refuse(t, pod, "UnexpectedAdmissionError")
	}
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "has come back and is not observed yet")
	e.gone(t, ns)

	// The agent looks before the device plugin is there.
	at := metav1.NewTime(time.Now().Add(10 * time.Second))
	conditions := report.Status.Conditions
	report.Status.ObservedAt, report.Status.Conditions = &at, nil
	for _, kind := range []string{api.ConditionCPUManagerStatic, api.ConditionTopologyAligned, api.ConditionMemoryManagerStatic, api.ConditionHugepagesPresent} {
		report.Status.Conditions = append(report.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Set", LastTransitionTime: at})
	}
	report.Status.Conditions = append(report.Status.Conditions,
		metav1.Condition{Type: api.ConditionDevicePlugin, Status: metav1.ConditionFalse, Reason: "NotOffered", Message: "no device plugin offers the VFs of ens0", LastTransitionTime: at})
	if err := e.client.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, upf, api.ConditionPlaced, metav1.ConditionFalse, api.ReasonNoNUMAFit, "no device plugin offers the VFs of ens0")
	for range 5 {
		e.nudge(t, upf)
	}
	e.gone(t, ns)
	if n := count(); n != 2 {
		t.Errorf("%d pod objects before the device plugin was seen, want the 2 that the reboot ended", n)
	}

	report.Status.Conditions = conditions
	if err := e.client.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"upf-0", "upf-1"} {
		// The cells are in the first back-off from the refusal.
		pod := &corev1.Pod{}
		eventually(t, name+" is made again", func() error {
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, pod); err != nil {
				return err
			}
			if specs.Gated(pod) {
				return errors.New("it is gated")
			}
			return nil
		})
		e.startUnit(t, ns, name)
	}
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionTrue, "", "2 of 2")
	if n := count(); n != 4 {
		t.Errorf("%d pod objects over the reboot, want 4", n)
	}
	if len(before) != 2 || before["upf-0"] == before["upf-1"] {
		t.Errorf("cells before the reboot: %v", before)
	}
}

// Sixty-four nodes before a real API server: units spread over them, one a node, and one more moves none.
// TestPerSocketFillsEverySocket fills all their sockets, without an API server.
func (e *environment) testManyNodes(t *testing.T) {
	ns := e.namespace(t)
	for i := range 64 {
		e.dataplaneNode(t, fmt.Sprintf("%s-w%02d", ns, i), ns, 8, 8)
	}
	upf := placedUPF(t, ns, ns, 7)
	upf.Spec.MaxUnits = ptr.To[int32](8)
	e.create(t, upf)
	places := func(want int) map[string]string {
		t.Helper()
		spots := map[string]string{}
		eventually(t, fmt.Sprintf("%d units have places", want), func() error {
			var pods corev1.PodList
			if err := e.client.List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
				return err
			}
			clear(spots)
			nodes := map[string]bool{}
			for i := range pods.Items {
				if spot, known := specs.PodSpot(&pods.Items[i]); known && !specs.Gated(&pods.Items[i]) {
					spots[pods.Items[i].Name], nodes[spot.Node] = spot.String(), true
				}
			}
			if len(nodes) != want || len(pods.Items) != want {
				return fmt.Errorf("%d pods on %v", len(pods.Items), spots)
			}
			return nil
		})
		return spots
	}
	before := places(7)
	e.change(t, upf, "one more", func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](8) })
	after := places(8)
	for name, spot := range before {
		if after[name] != spot {
			t.Errorf("%s moved from %s to %s", name, spot, after[name])
		}
	}
}
