package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// deployed awaits a Deployment of the core's with that label of its pods, or without where the value is "".
func (e *environment) deployed(t *testing.T, ns, name, label string, with bool) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	eventually(t, "Deployment "+name, func() error {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, d); err != nil {
			return err
		}
		if _, has := d.Spec.Selector.MatchLabels[label]; has != with {
			return fmt.Errorf("its pods are selected by %v", d.Spec.Selector.MatchLabels)
		}
		return nil
	})
	return d
}

// A core goes from free5GC's AMF to core5g's own and back: one is gone before the other comes.
func (e *environment) testOwnAMF(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, false)
	eventually(t, "its configuration", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf-config"}, &corev1.ConfigMap{})
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g-amf-legacy", Labels: specs.Labels("core5g", "amf")},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "amf", Image: "x"}}},
	}
	e.create(t, pod)

	e.changeCore(t, core, func() { controllertest.OwnControlPlane(core) })
	e.wantCondition(t, core, api.ConditionAMFReady, metav1.ConditionFalse, api.ReasonProgressing, "free5GC's AMF goes first: pod core5g-amf-legacy is still there")
	for _, name := range []string{"core5g-amf", "core5g-amf-n2"} {
		if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s is there beside the AMF before: %v", name, err)
		}
	}
	if err := e.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	workers := e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, true)
	e.deployed(t, ns, "core5g-amf-n2", api.LabelAccessManagement, false)
	if *workers.Spec.Replicas != 2 {
		t.Errorf("%d workers", *workers.Spec.Replicas)
	}
	e.wantCondition(t, core, api.ConditionAMFReady, metav1.ConditionFalse, api.ReasonProgressing, "0 of 2 pods of core5g-amf are ready")
	n2, link := &corev1.Service{}, &corev1.Service{}
	e.get(t, n2, ns, "core5g-amf-n2")
	e.get(t, link, ns, "core5g-amf-n2-workers")
	if n2.Spec.Selector[api.LabelComponent] != specs.ComponentN2 || link.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("N2 leads to %v, workers find terminators at %q", n2.Spec.Selector, link.Spec.ClusterIP)
	}
	e.get(t, &networkingv1.NetworkPolicy{}, ns, "core5g-amf-n2")
	for _, name := range []string{"core5g-amf", "core5g-amf-n2"} {
		e.get(t, &policyv1.PodDisruptionBudget{}, ns, name)
	}
	eventually(t, "free5GC's configuration goes", func() error { return e.goneFrom(t, &corev1.ConfigMap{}, ns, "core5g-amf-config") })

	// Terminators are a part of it, and the store is needed.
	e.wantServed(t, core, api.ConditionAMFReady, metav1.ConditionTrue, api.ReasonReady, "")
	e.wantCondition(t, core, api.ConditionSessionStoreReady, metav1.ConditionFalse, api.ReasonUnreachable, "")
	if core.Status.N2 == nil || !strings.HasPrefix(core.Status.N2.Address, n2.Spec.ClusterIP+":") {
		t.Errorf("N2 is %+v, its Service %s", core.Status.N2, n2.Spec.ClusterIP)
	}
	var names []string
	for _, f := range core.Status.Functions {
		names = append(names, string(f.Name))
	}
	for _, want := range []string{"access-management", "n2-terminator"} {
		if !slices.Contains(names, want) {
			t.Errorf("functions are %v, without %s", names, want)
		}
	}

	// What it advertises changes, and nothing of it is made anew.
	was := map[string]int64{}
	for _, name := range []string{"core5g-amf", "core5g-amf-n2"} {
		was[name] = e.deployed(t, ns, name, api.LabelAccessManagement, name == "core5g-amf").Generation
	}
	slice := controllertest.Slice(t, ns, "beyond", "aabbcc", "10.45.0.0/16")
	e.create(t, slice)
	e.wantCondition(t, slice, api.ConditionAdvertised, metav1.ConditionFalse, api.ReasonNotInCatalogue, "which restarts nothing")
	e.changeCore(t, core, func() {
		core.Spec.SliceCatalogue = append(core.Spec.SliceCatalogue, api.SNSSAI{SST: 1, SD: "aabbcc"})
		core.Spec.TACs, core.Spec.AMF.Name = append(core.Spec.TACs, "000002"), "renamed"
		core.Spec.PLMNs = append(core.Spec.PLMNs, api.PLMN{MCC: "001", MNC: "01"})
	})
	e.wantCondition(t, slice, api.ConditionAdvertised, metav1.ConditionTrue, api.ReasonInCatalogue, "")
	e.wantCondition(t, core, api.ConditionAMFReady, metav1.ConditionTrue, api.ReasonReady, "")
	for name, generation := range was {
		if now := e.deployed(t, ns, name, api.LabelAccessManagement, name == "core5g-amf").Generation; now != generation {
			t.Errorf("%s is of generation %d, was %d", name, now, generation)
		}
	}

	// More workers come beside those that run.
	e.changeCore(t, core, func() { core.Spec.AMF.Workers = ptr.To[int32](3) })
	e.wantCondition(t, core, api.ConditionAMFReady, metav1.ConditionFalse, api.ReasonProgressing, "2 of 3 pods of core5g-amf are ready")
	grown := e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, true)
	if *grown.Spec.Replicas != 3 || grown.UID != workers.UID || !cmp.Equal(grown.Spec.Template, workers.Spec.Template) {
		t.Errorf("%d workers of another Deployment or template", *grown.Spec.Replicas)
	}

	// Back again.
	e.changeCore(t, core, func() { core.Spec.ControlPlane, core.Spec.AMF.Workers = api.ControlPlaneFree5GC, nil })
	e.deployed(t, ns, "core5g-amf", api.LabelAccessManagement, false)
	for _, o := range []client.Object{&appsv1.Deployment{}, &networkingv1.NetworkPolicy{}} {
		eventually(t, "the terminators go", func() error { return e.goneFrom(t, o, ns, "core5g-amf-n2") })
	}
	eventually(t, "and what workers found them by", func() error { return e.goneFrom(t, &corev1.Service{}, ns, "core5g-amf-n2-workers") })
	e.get(t, n2, ns, "core5g-amf-n2")
	if n2.Spec.Selector[api.LabelComponent] != "amf" {
		t.Errorf("N2 leads to %v", n2.Spec.Selector)
	}
	e.get(t, &corev1.ConfigMap{}, ns, "core5g-amf-config")
}

// goneFrom says what is still there.
func (e *environment) goneFrom(t *testing.T, o client.Object, ns, name string) error {
	t.Helper()
	err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%T %s: %v", o, name, err)
}
