package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

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
