package controllers

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// A user's objects have the names of the operator's before there is a core. They stay as they are, the custom
// resources say what is in the way, and go on when it is gone.
func (e *environment) testNamesTaken(t *testing.T) {
	ns := e.namespace(t)
	service := func(name string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
	}
	theirs := []client.Object{
		service("core5g-pcf"), service("upf-n4-0"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g-smf-internet-config"}, Data: map[string]string{"a": "theirs"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "core5g-nrf-tls"}, StringData: map[string]string{"a": "theirs"}},
		&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "upf"}},
	}
	theirs[1].SetName(specs.N4ServiceName("upf", 0))
	e.create(t, theirs...)
	version := map[client.Object]string{}
	for _, o := range theirs {
		version[o] = o.GetResourceVersion()
	}
	untouched := func() {
		t.Helper()
		for _, o := range theirs {
			now := o.DeepCopyObject().(client.Object)
			e.get(t, now, ns, o.GetName())
			if now.GetResourceVersion() != version[o] {
				t.Errorf("%T %s was touched: %+v", o, o.GetName(), now)
			}
		}
	}
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	core.Spec.TLS = api.TLSSpec{Mode: api.TLSMutual, Authority: api.TLSAuthorityOperator}
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, core, upf, slice)
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionFalse, api.ReasonNameTaken, "Secret core5g-nrf-tls exists")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionFalse, "", "Service "+specs.N4ServiceName("upf", 0)+" exists")
	e.wantCondition(t, upf, api.ConditionUnitsReady, metav1.ConditionFalse, api.ReasonNameTaken, "PodDisruptionBudget upf exists")
	untouched()
	gone := func(at int, o client.Object) {
		t.Helper()
		if err := e.client.Delete(t.Context(), theirs[at]); err != nil {
			t.Fatal(err)
		}
		delete(version, theirs[at])
		theirs = append(theirs[:at:at], theirs[at+1:]...)
		e.clock.add(cluster.TakenRetry)
		e.nudge(t, o)
	}
	gone(4, upf)
	gone(3, core)
	gone(1, upf)
	eventually(t, "the unit", func() error {
		e.nudge(t, upf) // stands for the retry, which is ten seconds away
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.wantCondition(t, core, api.ConditionCertificatesReady, metav1.ConditionTrue, "", "")
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonNameTaken, "Service core5g-pcf exists")
	e.wantCondition(t, slice, api.ConditionSMFReady, metav1.ConditionFalse, api.ReasonNameTaken, "ConfigMap core5g-smf-internet-config exists")
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-internet"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("an SMF runs with a configuration of somebody else: %v", err)
	}
	untouched()
	for _, o := range []client.Object{slice, core} {
		if err := e.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the Slice ends", func() error {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); !apierrors.IsNotFound(err) {
			return errors.New("still there")
		}
		return nil
	})
	untouched()
}
