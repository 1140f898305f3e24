package controllers

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// A core goes from pods of their own to one pod and back. Neither begins before the other has gone; the addresses that gNBs and units know stay, and so does the
// session store.
func (e *environment) testLayouts(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	controllertest.OwnControlPlane(core)
	e.create(t, core)
	e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, true)
	e.deployed(t, ns, "core5g-smf", api.LabelSessionManagement, true)
	before, store := map[string]string{}, &appsv1.Deployment{}
	addresses := []string{"core5g-amf-n2", "core5g-smf-shard-1", "core5g-smf-shard-4"}
	for _, name := range addresses {
		s := &corev1.Service{}
		e.get(t, s, ns, name)
		before[name] = s.Spec.ClusterIP
	}
	e.get(t, store, ns, "core5g-session-store")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g-smf-last", Labels: specs.SMFSet{Core: core}.Labels()},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "smf", Image: "x"}}},
	}
	e.create(t, pod)

	e.changeCore(t, core, func() { core.Spec.Layout = api.LayoutFused })
	e.wantCondition(t, core, api.ConditionAMFReady, metav1.ConditionFalse, api.ReasonProgressing, "the layout before goes first: ")
	for _, name := range []string{"core5g-amf", "core5g-amf-n2", "core5g-smf", "core5g-nrf", "core5g-pcf", "core5g-chf", "core5g-database", "core5g-subscriber-data"} {
		eventually(t, name+" goes", func() error { return e.goneFrom(t, &appsv1.Deployment{}, ns, name) })
	}
	e.wantCondition(t, core, api.ConditionSMFReady, metav1.ConditionFalse, api.ReasonProgressing, "the layout before goes first: pod core5g-smf-last is still there")
	if err := e.goneFrom(t, &appsv1.Deployment{}, ns, "core5g-control-plane"); err != nil {
		t.Errorf("it is there beside the layout before: %v", err)
	}
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "core5g-smf") // which guards it until it has gone
	if err := e.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	plane := e.deployed(t, ns, "core5g-control-plane", api.LabelSessionManagement, true)
	for _, name := range []string{"core5g-nrf", "core5g-amf", "core5g-amf-n2-workers", "core5g-udm"} {
		eventually(t, name+" goes", func() error { return e.goneFrom(t, &corev1.Service{}, ns, name) })
	}
	for _, name := range []string{"core5g-smf", "core5g-amf-n2", "core5g-nrf"} {
		eventually(t, "NetworkPolicy "+name+" goes", func() error { return e.goneFrom(t, &networkingv1.NetworkPolicy{}, ns, name) })
	}
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "core5g-control-plane")
	e.get(t, &policyv1.PodDisruptionBudget{}, ns, "core5g-control-plane")
	for _, kind := range []string{api.ConditionAMFReady, api.ConditionSMFReady, api.ConditionSubscriberDataReady} {
		e.wantServed(t, core, kind, metav1.ConditionTrue, api.ReasonReady, "core5g-control-plane is ready")
	}
	for _, kind := range []string{api.ConditionNRFReady, api.ConditionPCFReady, api.ConditionCHFReady, api.ConditionDatabaseReady, api.ConditionRegistered} {
		if c := meta.FindStatusCondition(core.Status.Conditions, kind); c != nil {
			t.Errorf("a core of one pod has the condition %+v", c)
		}
	}
	if len(core.Status.Functions) == 0 || !slices.ContainsFunc(core.Status.Functions, func(f api.FunctionStatus) bool { return f.Name == api.FunctionControlPlane }) {
		t.Errorf("functions are %+v", core.Status.Functions)
	}
	same := func(selected map[string]string) {
		t.Helper()
		for _, name := range addresses {
			s := &corev1.Service{}
			eventually(t, "Service "+name+" leads to the new pods", func() error {
				e.get(t, s, ns, name)
				for k, v := range selected {
					if s.Spec.Selector[k] != v {
						return fmt.Errorf("its pods are selected by %v", s.Spec.Selector)
					}
				}
				return nil
			})
			if s.Spec.ClusterIP != before[name] {
				t.Errorf("%s was at %s, and is at %s", name, before[name], s.Spec.ClusterIP)
			}
		}
		now := &appsv1.Deployment{}
		e.get(t, now, ns, "core5g-session-store")
		if now.UID != store.UID || now.Generation != store.Generation {
			t.Error("the session store was made anew")
		}
	}
	same(plane.Spec.Selector.MatchLabels)

	last := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g-control-plane-last", Labels: specs.ControlPlaneLabels(core)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "control-plane", Image: "x"}}},
	}
	e.create(t, last)
	e.changeCore(t, core, func() { core.Spec.Layout = api.LayoutDistributed })
	eventually(t, "the one pod's Deployment goes", func() error { return e.goneFrom(t, &appsv1.Deployment{}, ns, "core5g-control-plane") })
	e.wantCondition(t, core, api.ConditionSMFReady, metav1.ConditionFalse, api.ReasonProgressing, "the layout before goes first: pod core5g-control-plane-last is still there")
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "core5g-control-plane")
	if err := e.client.Delete(t.Context(), last, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, true)
	smf := e.deployed(t, ns, "core5g-smf", api.LabelSessionManagement, true)
	addresses = addresses[1:] // terminators have another selector than the SMF
	same(smf.Spec.Selector.MatchLabels)
	eventually(t, "its NetworkPolicy goes", func() error { return e.goneFrom(t, &networkingv1.NetworkPolicy{}, ns, "core5g-control-plane") })
	e.wantCondition(t, core, api.ConditionNRFReady, metav1.ConditionFalse, api.ReasonProgressing, "")
}
