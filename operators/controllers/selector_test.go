package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// A selector that means nothing takes nothing from a Slice whose SMF runs, one that means another UPFInstance moves
// it there when that can serve it, and the N3 endpoint that it leaves is free when the sessions are released.
func (e *environment) testSelectorMistake(t *testing.T) {
	ns := e.namespace(t)
	upf, north := controllertest.UPF(t, ns), controllertest.UPF(t, ns)
	north.Name, north.Spec.N3.Endpoints, north.Spec.N6.Address = "north", "172.30.3.64/28", "172.30.6.9/24"
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, controllertest.Core(t, ns), upf, slice)
	eventually(t, "the unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.smfOf(t, ns, slice)
	e.wantCondition(t, slice, api.ConditionReady, metav1.ConditionTrue, "", "")
	n4 := slice.Status.UPF.N4Address
	smf := func() string {
		t.Helper()
		config := &corev1.ConfigMap{}
		e.get(t, config, ns, "core5g-smf-internet-config")
		return config.Data["smfcfg.yaml"]
	}
	before := e.snapshot(t, ns)
	selects := func(s api.UPFSelector) {
		t.Helper()
		eventually(t, "the selector", func() error {
			e.get(t, slice, ns, "internet")
			slice.Spec.UPFSelector = &s
			return e.client.Update(t.Context(), slice)
		})
	}
	endpoints := func(upf *api.UPFInstance) (out []string) {
		t.Helper()
		e.get(t, upf, ns, upf.Name)
		for _, a := range upf.Status.Endpoints {
			out = append(out, a.Slice+" "+a.Address)
		}
		return out
	}

	selects(api.UPFSelector{MatchLabels: map[string]string{"site": "nowhere"}})
	e.wantCondition(t, slice, api.ConditionUPFReady, metav1.ConditionFalse, api.ReasonHeld,
		"site=nowhere. The SMF runs on with UPFInstance upf and N3 endpoint 172.30.3.16, which stay its own: correct spec.upfSelector")
	second := controllertest.Slice(t, ns, "second", "112233", "10.46.0.0/16")
	e.create(t, second)
	eventually(t, "the next Slice has another endpoint", func() error {
		if got := endpoints(upf); !slices.Equal(got, []string{"internet 172.30.3.16", "second 172.30.3.17"}) {
			return fmt.Errorf("endpoints are %v", got)
		}
		return nil
	})

	// One that does not run yet does not get it.
	selects(api.UPFSelector{Name: "north"})
	e.create(t, north)
	e.wantCondition(t, slice, api.ConditionUPFReady, metav1.ConditionFalse, api.ReasonHeld, "UPFInstance north is not ready")
	for name, was := range before {
		if now := e.snapshot(t, ns)[name]; now != was {
			t.Errorf("%s was touched: %s, was %s", name, now, was)
		}
	}
	if !strings.Contains(smf(), n4) {
		t.Error("the SMF does not have its UPF any more")
	}

	eventually(t, "the other unit", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "north-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "north-0")
	eventually(t, "the SMF gets the other UPF", func() error {
		e.get(t, slice, ns, "internet")
		if strings.Contains(smf(), n4) || slice.Status.UPF.Name != "north" || slice.Status.PreviousUPF == nil {
			return fmt.Errorf("status is %+v, before %+v", slice.Status.UPF, slice.Status.PreviousUPF)
		}
		return nil
	})
	// Its pod has not been replaced yet.
	if got := endpoints(upf); !slices.Contains(got, "internet 172.30.3.16") {
		t.Errorf("the endpoint was given up with the SMF on it: %v", got)
	}
	service := &corev1.Service{}
	e.get(t, service, ns, "core5g-smf-internet")
	if _, told := e.released.Load(n4 + " " + service.Spec.ClusterIP); told {
		t.Error("the UPF was told that the association is over while the SMF ran")
	}
	// A UPF that does not answer keeps the endpoint, and the Slice from nothing.
	e.silent.Store(n4, true)
	e.wantServed(t, slice, api.ConditionUPFReady, metav1.ConditionTrue, "", "UPFInstance upf did not release the sessions of the SMF: no answer: its N3 endpoint 172.30.3.16 is kept until it does")
	e.wantCondition(t, slice, api.ConditionReady, metav1.ConditionTrue, "", "")
	if got := endpoints(upf); !slices.Contains(got, "internet 172.30.3.16") {
		t.Errorf("the endpoint was given up with sessions on it: %v", got)
	}
	e.silent.Delete(n4)
	eventually(t, "the endpoint is free", func() error {
		e.makeAvailable(t, ns)
		if got := endpoints(upf); !slices.Equal(got, []string{"second 172.30.3.17"}) {
			return fmt.Errorf("endpoints are %v", got)
		}
		return nil
	})
	if _, told := e.released.Load(n4 + " " + service.Spec.ClusterIP); !told {
		t.Error("the UPF was not told that the association is over")
	}
	e.wantCondition(t, slice, api.ConditionReady, metav1.ConditionTrue, "", "")
	if slice.Status.PreviousUPF != nil || slice.Status.UPF.N3Endpoint != "172.30.3.64" {
		t.Errorf("status %+v", slice.Status)
	}
	// A mistake in a Slice that has no SMF yet holds nothing.
	third := controllertest.Slice(t, ns, "third", "112233", "10.47.0.0/16")
	e.create(t, third)
	eventually(t, "an endpoint", func() error {
		if got := endpoints(upf); len(got) != 2 {
			return fmt.Errorf("endpoints are %v", got)
		}
		return nil
	})
	eventually(t, "the selector", func() error {
		e.get(t, third, ns, "third")
		third.Spec.UPFSelector = &api.UPFSelector{Name: "nobody"}
		return e.client.Update(t.Context(), third)
	})
	eventually(t, "the endpoint is free again", func() error {
		e.get(t, third, ns, "third")
		if third.Status.UPF != nil || len(endpoints(upf)) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
}
