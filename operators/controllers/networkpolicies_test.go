package controllers

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

func (e *environment) testNetworkPolicies(t *testing.T) {
	ns := e.namespace(t)
	core := controllertest.Core(t, ns)
	e.create(t, core)
	wanted := len(specs.NetworkPolicies(core))
	count := func(want int) func() error {
		return func() error {
			var list networkingv1.NetworkPolicyList
			if err := e.client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
				return err
			}
			if len(list.Items) != want {
				return fmt.Errorf("there are %d, want %d", len(list.Items), want)
			}
			return nil
		}
	}
	eventually(t, "a policy for each component", count(wanted))
	nrf := &networkingv1.NetworkPolicy{}
	e.get(t, nrf, ns, "core5g-nrf")
	if !cluster.Owns(core, nrf) {
		t.Error("the policy does not go with its core")
	}
	patch := func(text string) {
		t.Helper()
		if err := e.client.Patch(t.Context(), core, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"spec":{"networkPolicy":{"mode":"Disabled"}}}`)
	eventually(t, "none when disabled", count(0))
	patch(`{"spec":{"networkPolicy":{"mode":"Enabled"}}}`)
	eventually(t, "all again", count(wanted))
}
