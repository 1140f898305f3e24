package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

func (e *environment) testSliceLife(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	first := controllertest.Slice(t, ns, "internet", "010203", "10.45.0.0/16")
	// The Slice comes first: the order does not matter.
	e.create(t, first)
	e.wantCondition(t, first, api.ConditionReady, metav1.ConditionFalse, "", "Core5G core5g does not exist")
	e.create(t, upf, core)
	eventually(t, "the SMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-internet"}, &appsv1.Deployment{})
	})
	eventually(t, "the UPF's pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	e.wantCondition(t, upf, api.ConditionReady, metav1.ConditionTrue, "", "")
	// The core's functions are made beside the Slice's, and the AMF is the last: all stand before what
	// must not move is looked at.
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, &appsv1.Deployment{})
	})
	e.wantServed(t, first, api.ConditionReady, metav1.ConditionTrue, "", "")
	if first.Status.UPF.N3Endpoint != "172.30.3.16" {
		t.Errorf("N3 endpoint %s", first.Status.UPF.N3Endpoint)
	}
	config := &corev1.ConfigMap{}
	e.get(t, config, ns, "core5g-smf-internet-config")
	for _, want := range []string{"172.30.3.16", first.Status.UPF.N4Address, "10.45.0.0/16"} {
		if !strings.Contains(config.Data["smfcfg.yaml"], want) {
			t.Errorf("the SMF is not told %s", want)
		}
	}

	before := e.snapshot(t, ns)
	second := controllertest.Slice(t, ns, "second", "112233", "10.46.0.0/16")
	e.create(t, second)
	eventually(t, "the second SMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-second"}, &appsv1.Deployment{})
	})
	e.wantServed(t, second, api.ConditionReady, metav1.ConditionTrue, "", "")
	if second.Status.UPF.N3Endpoint != "172.30.3.17" {
		t.Errorf("N3 endpoint %s", second.Status.UPF.N3Endpoint)
	}
	after := e.snapshot(t, ns)
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s was touched by a new Slice: %s, was %s", name, after[name], was)
		}
	}

	smf := &corev1.Service{}
	e.get(t, smf, ns, "core5g-smf-internet")

	// The first one goes; the second keeps everything, its endpoint included.
	kept := e.snapshot(t, ns)
	if err := e.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Slice ends", func() error {
		err := e.client.Get(t.Context(), client.ObjectKeyFromObject(first), first)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %v", err)
	})
	if _, ok := e.released.Load(first.Status.UPF.N4Address + " " + smf.Spec.ClusterIP); !ok {
		t.Error("the UPF was not told that the SMF's association is over")
	}
	eventually(t, "its endpoint is free", func() error {
		e.get(t, upf, ns, "upf")
		if len(upf.Status.Endpoints) != 1 || upf.Status.Endpoints[0].Slice != "second" || upf.Status.Endpoints[0].Address != "172.30.3.17" {
			return fmt.Errorf("%v", upf.Status.Endpoints)
		}
		return nil
	})
	for name, now := range e.snapshot(t, ns) {
		if kept[name] != now {
			t.Errorf("%s was touched by the end of a Slice: %s, was %s", name, now, kept[name])
		}
	}
	if err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-internet"}, &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the SMF of the deleted Slice: %v", err)
	}

	// Its pool is free again, and its address too.
	again := controllertest.Slice(t, ns, "again", "010203", "10.45.0.0/16")
	e.create(t, again)
	e.wantCondition(t, again, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")
	eventually(t, "the freed endpoint is given out again", func() error {
		e.get(t, again, ns, "again")
		if again.Status.UPF == nil || again.Status.UPF.N3Endpoint != "172.30.3.16" {
			return fmt.Errorf("%+v", again.Status.UPF)
		}
		return nil
	})
}

// A data network of Ethernet says where it cannot be, and is there with nothing of pools where it can.
func (e *environment) testEthernet(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	lan := controllertest.Parse[api.Slice](t, ns, `
metadata: {name: plant}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks: [{dnn: lan, sessionTypes: [Ethernet], flows: [{name: goose, fiveQI: 69, precedence: 1, filters: [{ethernet: {etherType: "0x88b8"}}]}]}]
`)
	e.create(t, core, upf, lan)
	e.wantCondition(t, lan, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonNotFound, "UPFInstance upf has no network instance lan for DNN lan, and n6 is for IP")
	eventually(t, "another UPFInstance, which is not there yet", func() error {
		e.get(t, lan, ns, "plant")
		before := lan.DeepCopy()
		lan.Spec.UPFSelector = &api.UPFSelector{Name: "later"}
		return e.client.Patch(t.Context(), lan, client.MergeFrom(before))
	})
	e.wantCondition(t, lan, api.ConditionPoolsValid, metav1.ConditionTrue, api.ReasonReady, "of Ethernet, which has no UE pools")
}

func (e *environment) testSliceProblems(t *testing.T) {
	ns := e.namespace(t)
	core, upf := controllertest.Core(t, ns), controllertest.UPF(t, ns)
	upf.Spec.N3.Endpoints = "172.30.3.16/31"
	first := controllertest.Slice(t, ns, "a-first", "010203", "10.45.0.0/16")
	e.create(t, core, upf, first)
	e.wantCondition(t, first, api.ConditionUPFReady, metav1.ConditionFalse, "", "")

	overlap := controllertest.Slice(t, ns, "b-overlap", "112233", "10.45.128.0/17")
	e.create(t, overlap)
	e.wantCondition(t, overlap, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonPoolOverlap, "Slice a-first")

	duplicate := controllertest.Slice(t, ns, "c-duplicate", "010203", "10.50.0.0/16")
	e.create(t, duplicate)
	e.wantCondition(t, duplicate, api.ConditionAdvertised, metav1.ConditionFalse, api.ReasonDuplicate, "belongs to Slice a-first")
	// Two addresses are there, three Slices want one.
	e.wantCondition(t, upf, api.ConditionEndpointsAllocated, metav1.ConditionFalse, api.ReasonExhausted, "c-duplicate")

	outside := controllertest.Slice(t, ns, "d-outside", "aabbcc", "10.60.0.0/16")
	outside.Spec.UPFSelector = &api.UPFSelector{MatchLabels: map[string]string{"site": "north"}}
	e.create(t, outside)
	e.wantCondition(t, outside, api.ConditionAdvertised, metav1.ConditionFalse, api.ReasonRestartRequired, "restarts the AMF")
	e.wantCondition(t, outside, api.ConditionUPFReady, metav1.ConditionFalse, api.ReasonNotFound, "site=north")
	// A restart of the AMF would not help alone: what else is missing comes first.
	e.wantCondition(t, outside, api.ConditionReady, metav1.ConditionFalse, api.ReasonNotFound, "site=north")
	for _, name := range []string{"b-overlap", "c-duplicate", "d-outside"} {
		err := e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-smf-" + name}, &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("an SMF of Slice %s was started: %v", name, err)
		}
	}

	// The API server of the tests has Services in 10.0.0.0/16.
	service := controllertest.Slice(t, ns, "e-service", "aabbcd", "10.0.128.0/17")
	e.create(t, service)
	e.wantCondition(t, service, api.ConditionPoolsValid, metav1.ConditionFalse, api.ReasonPoolOverlap,
		"overlaps the cluster's Service network 10.0.0.0/16: write a pool that is free")
	// A network that the cluster is given later takes no pool away.
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-late"},
		Spec:       corev1.NodeSpec{PodCIDR: "10.60.0.0/24", PodCIDRs: []string{"10.60.0.0/24"}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.61.0.1"}}},
	}
	if err := e.client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	probes := 0
	eventually(t, "the operator knows of the node", func() error {
		probes++
		probe := controllertest.Slice(t, ns, fmt.Sprintf("f-probe-%d", probes), "aabbce", "10.61.0.0/16")
		if err := e.client.Create(t.Context(), probe); err != nil {
			return err
		}
		e.wantCondition(t, probe, api.ConditionPoolsValid, "", "", "")
		if c := meta.FindStatusCondition(probe.Status.Conditions, api.ConditionPoolsValid); !strings.Contains(c.Message, "overlaps the address 10.61.0.1 of node "+node.Name) {
			return errors.Join(errors.New(c.Message), e.client.Delete(t.Context(), probe))
		}
		return nil
	})
	eventually(t, "Slice d-outside is looked at again", func() error {
		e.get(t, outside, ns, "d-outside")
		outside.Spec.DataNetworks[0].MTU = 1300
		return e.client.Update(t.Context(), outside)
	})
	eventually(t, "Slice d-outside has been looked at", func() error {
		e.get(t, outside, ns, "d-outside")
		if outside.Status.ObservedGeneration != outside.Generation {
			return errors.New("not yet")
		}
		return nil
	})
	e.wantCondition(t, outside, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")

	// Into the catalogue with it: the AMF rolls, and the Slice is advertised.
	amf := &appsv1.Deployment{}
	eventually(t, "the AMF", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "core5g-amf"}, amf)
	})
	was := amf.Generation
	eventually(t, "the catalogue grows", func() error {
		e.get(t, core, ns, "core5g")
		core.Spec.SliceCatalogue = append(core.Spec.SliceCatalogue, api.SNSSAI{SST: 1, SD: "AABBCC"})
		return e.client.Update(t.Context(), core)
	})
	e.wantCondition(t, outside, api.ConditionAdvertised, metav1.ConditionTrue, api.ReasonInCatalogue, "")
	eventually(t, "the AMF rolls", func() error {
		e.get(t, amf, ns, "core5g-amf")
		if amf.Generation == was {
			return errors.New("unchanged")
		}
		return nil
	})

	// The older one goes: the overlap is over.
	if err := e.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	e.wantCondition(t, overlap, api.ConditionPoolsValid, metav1.ConditionTrue, "", "")
	e.wantCondition(t, duplicate, api.ConditionAdvertised, metav1.ConditionTrue, "", "")
}

// serve plays everything that makes a Slice of the namespace's core Ready.
func (e *environment) serve(t *testing.T, ns string, slice *api.Slice) {
	t.Helper()
	e.create(t, controllertest.UPF(t, ns))
	eventually(t, "the UPF's pod", func() error {
		return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "upf-0"}, &corev1.Pod{})
	})
	e.makeReady(t, ns, "upf-0")
	for _, name := range []string{"core5g-amf", "core5g-smf-" + slice.Name} {
		eventually(t, name, func() error {
			return e.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &appsv1.Deployment{})
		})
	}
	e.wantServed(t, slice, api.ConditionReady, metav1.ConditionTrue, "", "")
}
