package upf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"core5g.dev/core5g/images/associations"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// What the SMF says becomes a condition that says what to do.
func TestWhatTheSMFSaysOfAUPFElsewhere(t *testing.T) {
	silent := controllertest.Reporting(associations.Unit{Problem: "no answer to 3 requests"})
	three := controllertest.Reporting(associations.Unit{Associated: true})
	three.Shards[3].Units[1] = associations.Unit{NodeID: controllertest.EdgeNode, Problem: "no answer to 3 requests"}
	two := controllertest.Reporting(associations.Unit{Associated: true})
	two.Shards = two.Shards[:2]
	for name, c := range map[string]struct {
		core   func(*api.Core5G)
		report *associations.Report
		noPod  bool
		status metav1.ConditionStatus
		reason string
		words  string
		ready  int32
		state  api.UnitState
	}{
		"all shards": {report: controllertest.Reporting(associations.Unit{Associated: true}), status: metav1.ConditionTrue, reason: api.ReasonReady,
			words: "4 of 4 shards of the SMF have an association with the UPF at 203.0.113.7:8805", ready: 1, state: api.UnitReady},
		"none": {report: silent, status: metav1.ConditionFalse, reason: api.ReasonUnreachable, state: api.UnitAway,
			words: "no shard of the SMF has an association with the UPF at 203.0.113.7:8805 (no answer to 3 requests): see that it runs, calls itself upf.edge.example.org (Node ID), takes associations from this cluster's addresses"},
		"all but one":              {report: three, status: metav1.ConditionFalse, reason: api.ReasonProgressing, state: api.UnitAway, words: "3 of 4 shards of the SMF have an association with the UPF at 203.0.113.7:8805; shard smf/4: no answer to 3 requests"},
		"shards that nobody holds": {report: two, status: metav1.ConditionFalse, reason: api.ReasonProgressing, state: api.UnitAway, words: "2 of 4 shards"},
		"features that it lacks": {
			report: controllertest.Reporting(associations.Unit{Lacks: []string{"FTUP"}, Problem: "the UP function upf.edge.example.org lacks FTUP; it has to choose F-TEIDs itself: switch on its allocation of F-TEIDs"}),
			status: metav1.ConditionFalse, reason: api.ReasonFeaturesMissing, words: "switch on its allocation of F-TEIDs", state: api.UnitAway,
		},
		"an SMF that does not answer": {status: metav1.ConditionUnknown, reason: api.ReasonNotReported, state: api.UnitAway,
			words: "no pod of the SMF tells whether it has an association with the UPF at 203.0.113.7:8805: connection refused"},
		"no SMF": {noPod: true, status: metav1.ConditionUnknown, reason: api.ReasonNotReported, words: "there is no pod of the SMF", state: api.UnitAway},
		"free5GC's SMF": {core: func(c *api.Core5G) { c.Spec.ControlPlane = api.ControlPlaneFree5GC }, status: metav1.ConditionFalse, reason: api.ReasonNotSupported,
			words: "external needs core5g's own SMF: write controlPlane: Core5G in Core5G core5g", state: api.UnitAway},
		"no core": {core: func(c *api.Core5G) { c.Name = "other" }, status: metav1.ConditionFalse, reason: api.ReasonNotFound, words: "Core5G core5g does not exist: create it", state: api.UnitAway},
	} {
		t.Run(name, func(t *testing.T) {
			core := controllertest.Core(t, "ns")
			core.Spec.ControlPlane = api.ControlPlaneCore5G
			if c.core != nil {
				c.core(core)
			}
			pod := controllertest.OwnSMFPod("ns")
			pod.Status.PodIP = "10.244.0.9"
			there := []client.Object{core, controllertest.ExternalUPF("ns")}
			if !c.noPod {
				there = append(there, pod)
			}
			r, cl := externalReconciler(t, there...)
			r.Associations = func(context.Context, *corev1.Pod, []string) (*associations.Report, error) {
				if c.report == nil {
					return nil, errors.New("connection refused")
				}
				return c.report, nil
			}
			upf := passOver(t, r, cl)
			found := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionAssociated)
			if found == nil || found.Status != c.status || found.Reason != c.reason || !strings.Contains(found.Message, c.words) {
				t.Errorf("Associated is %+v", found)
			}
			ready := meta.FindStatusCondition(upf.Status.Conditions, api.ConditionReady)
			if ready == nil || (ready.Status == metav1.ConditionTrue) != (c.status == metav1.ConditionTrue) || !strings.Contains(ready.Message, c.words) {
				t.Errorf("Ready is %+v", ready)
			}
			if s := upf.Status; s.Units != 1 || s.ReadyUnits != c.ready || len(s.UnitStatuses) != 1 || s.UnitStatuses[0].Name != "edge-0" || s.UnitStatuses[0].N4Address != "203.0.113.7" || s.UnitStatuses[0].State != c.state {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func externalReconciler(t *testing.T, objects ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.UPFInstance{}).WithObjects(objects...).Build()
	return &Reconciler{Client: c, Live: c, Recorder: record.NewFakeRecorder(100), Now: time.Now, applier: applying.New(c, c)}, c
}

func passOver(t *testing.T, r *Reconciler, c client.Client) *api.UPFInstance {
	t.Helper()
	upf := &api.UPFInstance{}
	key := client.ObjectKey{Namespace: "ns", Name: "edge"}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), key, upf); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return upf
}

// A UPF elsewhere goes out of service as any unit: with the time that spec.drain gives it, or when its sessions have ended.
func TestDrainOfAUPFElsewhere(t *testing.T) {
	core := controllertest.Core(t, "ns")
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	pod := controllertest.OwnSMFPod("ns")
	pod.Status.PodIP = "10.244.0.9"
	upf := controllertest.ExternalUPF("ns")
	upf.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 60 * time.Second}}
	r, c := externalReconciler(t, core, pod, upf)
	now, sessions := time.Unix(1_800_000_000, 0), int64(2)
	r.Now = func() time.Time { return now }
	r.Associations = func(_ context.Context, _ *corev1.Pod, units []string) (*associations.Report, error) {
		report := controllertest.Reporting(associations.Unit{Associated: true})
		if slices.Contains(units, controllertest.EdgeNode) {
			report.Sessions = map[string]int64{controllertest.EdgeNode: sessions}
		}
		return report, nil
	}
	patch := func(change func(*api.UPFInstance)) {
		t.Helper()
		u := &api.UPFInstance{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "edge"}, u); err != nil {
			t.Fatal(err)
		}
		change(u)
		if err := c.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	unit := func(want api.UnitState, words string, released bool) {
		t.Helper()
		u := passOver(t, r, c).Status.UnitStatuses[0]
		if u.State != want || !strings.Contains(u.Message, words) || (u.Drain != nil && u.Drain.ReleasedAt != nil) != released {
			t.Errorf("unit %+v, drain %+v; want %s, %q", u, u.Drain, want, words)
		}
	}
	unit(api.UnitReady, "", false)
	patch(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked })
	unit(api.UnitDraining, "administrativeState is Locked: waits until", false)
	unit(api.UnitDraining, "2 PDU sessions", false)
	sessions = 0
	unit(api.UnitStopped, "administrativeState is Locked", true)
	unit(api.UnitStopped, "", true)
	patch(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateUnlocked })
	unit(api.UnitReady, "", false)
	sessions = 3
	patch(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateShuttingDown })
	unit(api.UnitDraining, "administrativeState is ShuttingDown", false)
	now = now.Add(61 * time.Second)
	unit(api.UnitStopped, "", true) // whoever is left
	patch(func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateUnlocked })
	unit(api.UnitReady, "", false)

	if err := c.Delete(t.Context(), upf); err != nil {
		t.Fatal(err)
	}
	left := passOver(t, r, c)
	if len(left.Status.UnitStatuses) != 1 || left.Status.UnitStatuses[0].State != api.UnitDraining || !strings.Contains(left.Status.UnitStatuses[0].Message, "the UPFInstance is deleted: waits until") {
		t.Errorf("at its end: %+v", left.Status)
	}
	now = now.Add(61 * time.Second)
	if left = passOver(t, r, c); left.Name != "" {
		t.Errorf("it is still there: %+v", left.Status)
	}
}

func TestScrapeAssociations(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: "127.0.0.1"}}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", specs.PortMetrics))
	if err != nil {
		t.Skipf("the port of metrics is taken here: %v", err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != associations.Path || r.URL.Query().Get(associations.Sessions) != controllertest.EdgeNode {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"shards":[{"name":"smf/1","node":"10.96.0.1","units":[{"nodeID":"upf.edge.example.org","associated":true}]}],"sessions":{"upf.edge.example.org":7}}`))
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	report, err := ScrapeAssociations(t.Context(), pod, []string{controllertest.EdgeNode})
	if err != nil || len(report.Shards) != 1 || !report.Shards[0].Units[0].Associated || report.Sessions[controllertest.EdgeNode] != 7 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := ScrapeAssociations(t.Context(), pod, nil); err == nil || !strings.Contains(err.Error(), "does not tell /associations: 404") {
		t.Errorf("of an older pod: %v", err)
	}
}
