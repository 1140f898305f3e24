package controllers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// Without redundancy silence says nothing: the unit waits, and says what to do. A real API server keeps the pod until somebody deletes it by force.
func (e *environment) testLostNode(t *testing.T) {
	ns := e.namespace(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost-" + ns}}
	upf := controllertest.UPF(t, ns)
	upf.Spec.Placement = &api.PlacementSpec{LostNodeAfter: &metav1.Duration{Duration: 10 * time.Second}}
	e.create(t, node, upf)
	pod := &corev1.Pod{}
	eventually(t, "the unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod)
	})
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf-0"}, Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
	if err := e.client.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
		t.Fatal(err)
	}
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	lost := func(status corev1.ConditionStatus) {
		e.editStatus(t, node, func() {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
		})
	}
	lost(corev1.ConditionUnknown)
	// Kubernetes evicts it, and no kubelet answers.
	if err := e.client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, upf, api.ConditionNodesReachable, metav1.ConditionFalse, api.ReasonNodeLost,
		fmt.Sprintf("nobody knows whether the pod forwards on; when the machine is off for sure: kubectl taint nodes %s node.kubernetes.io/out-of-service=nodeshutdown:NoExecute", node.Name))
	e.get(t, pod, ns, "upf-0")
	old := pod.UID
	if pod.DeletionTimestamp.IsZero() {
		t.Error("the pod is not stopping")
	}
	e.edit(t, node, func() { node.Spec.Taints = append(node.Spec.Taints, controllertest.OutOfService) })
	eventually(t, "the unit is made elsewhere", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, pod); err != nil {
			return err
		}
		if pod.UID == old || pod.Spec.NodeName != "" {
			return fmt.Errorf("pod %s on %q", pod.UID, pod.Spec.NodeName)
		}
		return nil
	})
	eventually(t, "nothing is lost any more", func() error {
		e.get(t, upf, ns, "upf")
		if c := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionNodesReachable); c != nil {
			return errors.New(c.Message)
		}
		return nil
	})
}
