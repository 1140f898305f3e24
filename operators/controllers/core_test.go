package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

func (e *environment) testCore(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, "", "")
	for _, name := range []string{"core5g-database", "core5g-nrf", "core5g-pcf", "core5g-chf", "core5g-amf", "core5g-subscriber-data"} {
		eventually(t, name, func() error {
			d := &appsv1.Deployment{}
			if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, d); err != nil {
				return err
			}
			if !cluster.Owns(core, d) {
				return errors.New("does not belong to the Core5G")
			}
			return nil
		})
	}
	for _, name := range []string{"core5g-nrf", "core5g-ausf", "core5g-udm", "core5g-udr", "core5g-nssf", "core5g-amf-n2"} {
		e.get(t, &corev1.Service{}, ns, name)
	}
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonProgressing, "")
	e.wantServed(t, core, api.ConditionReady, metav1.ConditionTrue, api.ReasonReady, "")
	if core.Status.N2 == nil || !strings.HasSuffix(core.Status.N2.Address, ":38412") {
		t.Errorf("N2 is %v", core.Status.N2)
	}
	if len(core.Status.Functions) != 6 {
		t.Errorf("functions: %v", core.Status.Functions)
	}
}

// What core5g's own AMF cannot use of a Core5G, which it reads itself, is a condition; everything else goes on.
func (e *environment) testWhatTheAMFCannotUse(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.ControlPlane, core.Spec.SessionStore = api.ControlPlaneCore5G, &api.SessionStoreSpec{}
	core.Spec.TACs = []api.TAC{"00000a", "00000A"}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonMalformed, "the AMF cannot use the Core5G as it is, and serves as before, or not at all where it is new: tac 00000a is there twice: write it once")
	e.wantCondition(t, core, api.ConditionReady, metav1.ConditionFalse, api.ReasonMalformed, "tac 00000a is there twice")
	eventually(t, "the SMF is made all the same", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf"}, &appsv1.Deployment{})
	})
	e.edit(t, core, func() { core.Spec.TACs = []api.TAC{"00000a"} })
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, api.ReasonReady, "")
}

func (e *environment) testExternalDatabase(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	core.Spec.Database = api.DatabaseSpec{Type: api.DatabaseExternal, URISecretRef: &api.SecretKeyReference{Name: "mongo"}}
	e.create(t, core)
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionFalse, api.ReasonNotFound, `create it with key "uri"`)
	e.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mongo"}, StringData: map[string]string{"uri": "mongodb://u:hidden@db"}})
	e.wantCondition(t, core, api.ConditionConfigurationValid, metav1.ConditionTrue, "", "")
	secret := &corev1.Secret{}
	eventually(t, "the NRF's configuration is a Secret", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-nrf-config"}, secret)
	})
	if !strings.Contains(string(secret.Data["nrfcfg.yaml"]), "mongodb://u:hidden@db") {
		t.Error("the NRF is not told the URI")
	}
	var configs corev1.ConfigMapList
	if err := e.client.List(t.Context(), &configs, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, c := range configs.Items {
		if strings.Contains(fmt.Sprint(c.Data), "hidden") {
			t.Errorf("ConfigMap %s holds the password", c.Name)
		}
	}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-database"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("an embedded database runs beside the external one: %v", err)
	}
}

func (e *environment) testRegistrationLost(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, &appsv1.Deployment{})
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "amf-pod", Labels: specs.Labels("core5g", "amf"), Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "amf", Image: "x"}}},
	}
	e.create(t, pod)
	e.makeReady(t, ns, "amf-pod")
	e.wantServed(t, core, api.ConditionRegistered, metav1.ConditionFalse, api.ReasonRegistrationMis, "AMF core5g-amf")
	fake := e.nrfs.At("http://core5g-nrf."+ns+".svc:8000", nil)
	fake.Put("amf-1", "AMF", "core5g-amf")
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionTrue, "", "")
	fake.Lose()
	e.clock.add(registrationPeriod)
	e.nudge(t, pod) // stands for the periodic check
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionFalse, api.ReasonRegistrationMis, "")
	e.clock.add(restoreGrace)
	eventually(t, "the profile is put back", func() error {
		e.nudge(t, pod)
		if !fake.Has("amf-1") {
			return errors.New("it is missing")
		}
		return nil
	})
	e.wantCondition(t, core, api.ConditionRegistered, metav1.ConditionTrue, "", "")
	again := &corev1.Pod{}
	e.get(t, again, ns, "amf-pod")
	if again.UID != pod.UID {
		t.Error("the AMF was restarted")
	}
}
