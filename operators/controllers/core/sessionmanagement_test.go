package core

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/controllertest"
)

// The core's SMF has a Service for each shard, and what is not wanted any more goes.
func TestTheCoresOwnSMF(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	core := controllertest.Core(t, "ns")
	core.UID, core.Spec.ControlPlane, core.Spec.SessionManagement = "core", api.ControlPlaneCore5G, &api.SessionManagementSpec{Shards: ptr.To[int32](3)}
	c := controllertest.StrictAboutIntents(scheme)
	r := &Reconciler{Client: c, applier: applying.New(c, c)}
	apply := func() *scope {
		t.Helper()
		s := &scope{core: core, conditions: conditions.Of(&core.Status.Conditions, 1)}
		for _, phase := range []func(context.Context, *scope) error{r.applySessionManagement, r.removeUnwanted} {
			if err := phase(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	names := func() string {
		t.Helper()
		var services corev1.ServiceList
		var deployments appsv1.DeploymentList
		if err := c.List(t.Context(), &services); err != nil {
			t.Fatal(err)
		}
		if err := c.List(t.Context(), &deployments); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, o := range services.Items {
			out = append(out, o.Name)
		}
		for _, o := range deployments.Items {
			out = append(out, o.Name)
		}
		return strings.Join(out, " ")
	}
	if s := apply(); len(s.functions) != 1 || conditionOf[s.functions[0].Function] != api.ConditionSMFReady {
		t.Errorf("functions %+v", s.functions)
	}
	if got, want := names(), "core5g-smf-shard-1 core5g-smf-shard-2 core5g-smf-shard-3 core5g-smf"; got != want {
		t.Errorf("made %q, want %q", got, want)
	}
	core.Spec.SessionManagement.Shards = ptr.To[int32](1)
	apply()
	if got, want := names(), "core5g-smf-shard-1 core5g-smf"; got != want {
		t.Errorf("with one shard %q, want %q", got, want)
	}
	core.Spec.ControlPlane, core.Spec.SessionManagement = api.ControlPlaneFree5GC, nil
	meta.SetStatusCondition(&core.Status.Conditions, metav1.Condition{Type: api.ConditionSMFReady, Status: metav1.ConditionTrue, Reason: "x"})
	apply()
	if got := names(); got != "" || meta.FindStatusCondition(core.Status.Conditions, api.ConditionSMFReady) != nil {
		t.Errorf("with free5GC's %q, %+v", got, core.Status.Conditions)
	}
}
