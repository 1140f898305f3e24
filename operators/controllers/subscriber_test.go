package controllers

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

func (e *environment) testSubscriber(t *testing.T) {
	ns := e.namespace(t)
	const key = "8baf473f2f8fd09487cccbd7097c6862"
	subscriber := controllertest.Parse[api.Subscriber](t, ns, `
metadata: {name: a}
spec:
  supi: imsi-208930000000001
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet, dnns: [internet]}]
`)
	core := controllertest.Core(t, ns)
	e.create(t, subscriber)
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionFalse, api.ReasonNotFound, "Core5G core5g does not exist")
	e.create(t, core)
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionTrue, "", "")
	if subscriber.Spec.Authentication.AMF != "8000" {
		t.Errorf("defaults: %+v", subscriber.Spec.Authentication)
	}
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonNotFound, "create it with keys")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "keys"}, StringData: map[string]string{"k": key}}
	e.create(t, secret)
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, `no key "opc"`)
	e.edit(t, secret, func() { secret.StringData = map[string]string{"opc": key[:30] + "zz"} })
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, "has 32 characters that are not all hexadecimal digits")
	e.edit(t, secret, func() { secret.StringData = map[string]string{"opc": key} })
	e.wantCondition(t, subscriber, api.ConditionAuthenticationReady, metav1.ConditionTrue, "", "")
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonNotFound, "Slice internet does not exist")
	slice := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	e.create(t, slice)
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonSliceNotReady, "describe slice internet")
	e.serve(t, ns, slice)
	e.wantCondition(t, subscriber, api.ConditionReady, metav1.ConditionTrue, "", "")
	smf := &appsv1.Deployment{}
	e.get(t, smf, ns, "core5g-smf-internet")
	e.editStatus(t, smf, func() { smf.Status.ReadyReplicas, smf.Status.AvailableReplicas = 0, 0 })
	e.wantCondition(t, subscriber, api.ConditionReady, metav1.ConditionFalse, api.ReasonSliceNotReady, "")
	e.wantServed(t, subscriber, api.ConditionReady, metav1.ConditionTrue, "", "")

	eventually(t, "a data network that the Slice does not have", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.Slices[0].DNNs = []api.DNN{"ims"}
		return e.client.Update(t.Context(), subscriber)
	})
	e.wantCondition(t, subscriber, api.ConditionSlicesReady, metav1.ConditionFalse, api.ReasonNotFound, "no data network ims")

	twin := subscriber.DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "b"}
	e.create(t, twin)
	e.wantCondition(t, twin, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Subscriber a")
	namesake := subscriber.DeepCopy()
	namesake.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "d"}
	namesake.Spec.SUPI, namesake.Spec.GPSI = "imsi-208930000000004", "msisdn-33600000001"
	eventually(t, "a number", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.GPSI = namesake.Spec.GPSI
		return e.client.Update(t.Context(), subscriber)
	})
	e.create(t, namesake)
	e.wantCondition(t, namesake, api.ConditionGPSIUnique, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Subscriber a")
	e.wantCondition(t, subscriber, api.ConditionGPSIUnique, metav1.ConditionTrue, "", "")
	eventually(t, "the number is free", func() error {
		e.get(t, subscriber, ns, "a")
		subscriber.Spec.GPSI = ""
		return e.client.Update(t.Context(), subscriber)
	})
	e.wantCondition(t, namesake, api.ConditionGPSIUnique, metav1.ConditionTrue, "", "")
	stranger := subscriber.DeepCopy()
	stranger.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "c"}
	stranger.Spec.SUPI = "imsi-999700000000001"
	e.create(t, stranger)
	e.wantCondition(t, stranger, api.ConditionAuthenticationReady, metav1.ConditionFalse, api.ReasonMalformed, "begins with no PLMN")

	eventually(t, "all are counted, by what their status says", func() error {
		families, err := e.metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "core5g_subscribers" && m.GetLabel()[0].GetValue() == ns {
					got[m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		if want := map[string]float64{"False": 4}; !maps.Equal(got, want) {
			return fmt.Errorf("counted %v, want %v", got, want)
		}
		return nil
	})

	var events corev1.EventList
	var subscribers api.SubscriberList
	for _, l := range []client.ObjectList{&events, &subscribers} {
		if err := e.client.List(t.Context(), l, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	if said := fmt.Sprintf("%+v %+v", events.Items, subscribers.Items); strings.Contains(said, key[:16]) {
		t.Error("a key is in an Event or a status")
	}
	if err := e.client.Delete(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, subscriber, api.ConditionCoreFound, metav1.ConditionFalse, "", "Core5G core5g")
}
