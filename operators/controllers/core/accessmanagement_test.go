package core

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// One condition is of workers and terminators: it names each that is not ready.
func TestTheAMFIsReadyWithAllItsParts(t *testing.T) {
	core := controllertest.Core(t, "ns")
	core.UID = "core"
	controllertest.OwnControlPlane(core)
	core.Spec.AMF.Terminators = ptr.To[int32](2)
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		workers, terminators int32
		ready                metav1.ConditionStatus
		says                 []string
	}{
		"all":            {2, 2, metav1.ConditionTrue, nil},
		"a worker":       {1, 2, metav1.ConditionFalse, []string{"1 of 2 pods of core5g-amf are ready: core5g-amf is starting"}},
		"a terminator":   {2, 0, metav1.ConditionFalse, []string{"0 of 2 pods of core5g-amf-n2 are ready: core5g-amf-n2 is starting"}},
		"some of either": {0, 1, metav1.ConditionFalse, []string{"1 of 2 pods of core5g-amf-n2 are ready", "0 of 2 pods of core5g-amf are ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			c5g := core.DeepCopy()
			r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}
			s := &scope{core: c5g, conditions: conditions.Of(&c5g.Status.Conditions, 1)}
			s.functions = []specs.FunctionObjects{specs.N2Terminators(c5g, r.Platform), specs.AMFWorkers(c5g, r.Platform)}
			for i, n := range []int32{c.terminators, c.workers} {
				s.functions[i].Deployment.Status = appsv1.DeploymentStatus{ReadyReplicas: n, UpdatedReplicas: n, AvailableReplicas: n}
			}
			if err := r.observeFunctions(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			got := meta.FindStatusCondition(c5g.Status.Conditions, api.ConditionAMFReady)
			if got == nil || got.Status != c.ready {
				t.Fatalf("AMFReady is %+v", got)
			}
			for _, words := range c.says {
				if !strings.Contains(got.Message, words) {
					t.Errorf("says %q, want %q", got.Message, words)
				}
			}
		})
	}
}

// Whoever has to delete a pod for its registration is told what that ends.
func TestARestartOfAWorkerEndsNothing(t *testing.T) {
	core := controllertest.Core(t, "ns")
	controllertest.OwnControlPlane(core)
	pod := smfPod("1")
	r := newRegistrationRig(t, pod)
	lost := expectedFunction{nfType: "AMF", host: "core5g-amf", pod: pod, lasting: lasting(specs.AMFLabels(core))}
	r.after(0, lost)
	if got := r.after(lostGrace+time.Second, lost); !strings.Contains(got.problem, "delete pod "+pod.Name+"`, which ends nothing") {
		t.Errorf("says %q", got.problem)
	}
}
