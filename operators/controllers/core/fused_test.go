package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// What the API server says of the shards' Services is no intent: a second reconciliation is as quiet as the first.
func TestTheOnePodIsAppliedAgain(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	core := controllertest.Core(t, "ns")
	core.UID, core.Spec.ControlPlane, core.Spec.Layout = "core", api.ControlPlaneCore5G, api.LayoutFused
	c := controllertest.StrictAboutIntents(scheme)
	r := &Reconciler{Client: c, applier: applying.New(c, c)}
	for range 2 {
		if err := r.applyFused(t.Context(), &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: specs.SMFSet{Core: core}.ShardServiceName(1)}, &corev1.Service{}); err != nil {
		t.Error(err)
	}
}
