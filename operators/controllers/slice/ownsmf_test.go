package slice

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// A Slice goes from free5GC's SMF to core5g's own: first the one stops and its sessions are released, then the other
// serves it, as soon as one of its pods does.
func TestASliceGoesToTheCoresOwnSMF(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	core := controllertest.Core(t, "ns")
	core.UID, core.Spec.ControlPlane = "core", api.ControlPlaneCore5G
	slice := controllertest.Slice(t, "ns", "internet", "010203", "10.45.0.0/16")
	slice.UID, slice.Finalizers = "slice", []string{api.Finalizer}
	slice.Status.UPF = &api.SliceUPFStatus{Name: "upf", N4Address: "10.96.0.9"}
	upf := controllertest.UPF(t, "ns")
	upf.Status = api.UPFInstanceStatus{
		Units: 1, UnitStatuses: []api.UnitStatus{{Name: "upf-0", N4Address: "10.96.0.9"}},
		Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: upf.Generation}},
	}
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(slice, api.GroupVersion.WithKind("Slice"))}
	legacy := metav1.ObjectMeta{Namespace: "ns", Name: specs.SMFObjectName("core5g", "internet"), OwnerReferences: owner}
	service := &corev1.Service{ObjectMeta: legacy, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.8"}}
	config := &corev1.ConfigMap{ObjectMeta: legacy}
	config.Name += "-config"
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.Slice{}).
		WithObjects(core, slice, upf, &appsv1.Deployment{ObjectMeta: legacy}, service, config).Build()
	var released []string
	r := &Reconciler{
		Client: c, Live: c, Recorder: record.NewFakeRecorder(10), Now: time.Now, applier: applying.New(c, c),
		Release: func(_ context.Context, upfAddress, smfNodeID string) error {
			released = append(released, upfAddress+" "+smfNodeID)
			return nil
		},
	}
	pass := func(status metav1.ConditionStatus, words string) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(slice)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); err != nil {
			t.Fatal(err)
		}
		got := meta.FindStatusCondition(slice.Status.Conditions, api.ConditionSMFReady)
		if got == nil || got.Status != status || !strings.Contains(got.Message, words) {
			t.Fatalf("SMFReady is %+v, want %s that says %q; all: %+v", got, status, words, slice.Status.Conditions)
		}
	}
	pass(metav1.ConditionFalse, "Core5G core5g has not made core5g-smf yet")
	for _, o := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: legacy.Name}, o); !apierrors.IsNotFound(err) {
			t.Errorf("%T of free5GC's SMF is left: %v", o, err)
		}
	}
	if len(released) != 1 || released[0] != "10.96.0.9 10.96.0.8" {
		t.Errorf("released %v", released)
	}
	shared := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "core5g-smf"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: specs.SMFSet{Core: core}.Labels()},
	}}
	if err := c.Create(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	pass(metav1.ConditionFalse, "core5g-smf is starting")
	shared.Status.AvailableReplicas = 1
	if err := c.Status().Update(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	pass(metav1.ConditionTrue, "core5g-smf is ready")
	if slice.Status.SMF != "core5g-smf" || meta.FindStatusCondition(slice.Status.Conditions, api.ConditionUserPlaneFollowed) != nil ||
		!meta.IsStatusConditionTrue(slice.Status.Conditions, api.ConditionReady) {
		t.Errorf("status %+v", slice.Status)
	}
	if len(released) != 1 {
		t.Errorf("released once more: %v", released)
	}
}

// Routes of data networks are made of what the Slice says of units, whoever's its SMF is.
func TestUnitsOfASliceOfTheCoresOwnSMF(t *testing.T) {
	core := controllertest.Core(t, "ns")
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	upf := controllertest.UPF(t, "ns")
	upf.Spec.Units, upf.Spec.MaxUnits, upf.Spec.N6.UnitAddresses = ptr.To[int32](3), ptr.To[int32](4), ptr.To[api.CIDR]("172.30.6.16/29")
	upf.Status.UnitStatuses = []api.UnitStatus{
		{Name: "upf-0", N4Address: "10.96.0.9"}, {Name: "upf-1", N4Address: "10.96.0.10"}, {Name: "upf-2"},
	}
	slice := controllertest.Slice(t, "ns", "internet", "010203", "10.45.0.0/16")
	slice.Status.UPF = &api.SliceUPFStatus{Name: "upf"}
	s := &scope{core: core, upf: upf, slice: slice, conditions: conditions.Of(&slice.Status.Conditions, 1)}
	s.findUnits()
	if problem := s.cutPools(); problem != nil {
		t.Fatal(problem)
	}
	if err := (&Reconciler{}).followUnits(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := []api.SliceUnitStatus{
		{Name: "upf-0", N4Address: "10.96.0.9", UEPools: []string{"10.45.0.0/18"}},
		{Name: "upf-1", N4Address: "10.96.0.10", UEPools: []string{"10.45.64.0/18"}},
	}
	if diff := cmp.Diff(want, slice.Status.UPF.Units); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}

// A further UPFInstance that is not Ready is said, with what becomes of its areas, and the Slice serves; one that there is not is a mistake in the Slice.
func TestAFurtherUPFIsSaid(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	core := controllertest.Core(t, "ns")
	core.Spec.ControlPlane = api.ControlPlaneCore5G
	for name, c := range map[string]struct {
		edge   metav1.ConditionStatus
		change func(*api.Slice)
		status metav1.ConditionStatus
		says   string
		ready  metav1.ConditionStatus
	}{
		"it is Ready": {edge: metav1.ConditionTrue, status: metav1.ConditionTrue, says: "ready: edge", ready: metav1.ConditionTrue},
		"it is away, and nobody takes its place": {
			edge: metav1.ConditionFalse, status: metav1.ConditionFalse,
			says: "UPFInstance edge: no association; meanwhile new PDU sessions in tracking areas 000002 are refused, where nothing else names these", ready: metav1.ConditionTrue,
		},
		"it is away, and others serve": {
			edge: metav1.ConditionFalse, change: func(s *api.Slice) { s.Spec.DataNetworks[0].UPFs[0].Fallback = "" }, status: metav1.ConditionFalse,
			says: "meanwhile new PDU sessions in tracking areas 000002 go to others of the Slice", ready: metav1.ConditionTrue,
		},
		"it does not exist": {status: metav1.ConditionFalse, says: "UPFInstance edge does not exist: create it", ready: metav1.ConditionFalse},
		"there is no more":  {edge: metav1.ConditionTrue, change: func(s *api.Slice) { s.Spec.DataNetworks[0].UPFs = nil }, ready: metav1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			objects := fake.NewClientBuilder().WithScheme(scheme)
			if c.edge != "" {
				edge := controllertest.UPF(t, "ns")
				edge.Name = "edge"
				edge.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: c.edge, Message: "no association"}}
				objects.WithObjects(edge)
			}
			slice := controllertest.Slice(t, "ns", "internet", "010203", "10.45.0.0/16")
			slice.Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "edge", UEPools: []api.CIDR{"10.46.0.0/16"}, TACs: []api.TAC{"000002"}, Fallback: api.UPFFallbackNone}}
			if c.change != nil {
				c.change(slice)
			}
			for _, kind := range []string{api.ConditionAdvertised, api.ConditionPoolsValid, api.ConditionUPFReady, api.ConditionSMFReady, api.ConditionFurtherUPFsReady} {
				slice.Status.Conditions = append(slice.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
			}
			s := &scope{core: core, slice: slice, conditions: conditions.Of(&slice.Status.Conditions, 1)}
			r := &Reconciler{Client: objects.Build(), Recorder: record.NewFakeRecorder(9)}
			if err := r.checkFurther(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if err := r.sum(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			found, ready := s.conditions.Find(api.ConditionFurtherUPFsReady), s.conditions.Find(api.ConditionReady)
			if (found == nil) != (c.status == "") || found != nil && (found.Status != c.status || !strings.Contains(found.Message, c.says)) {
				t.Errorf("it is %+v, want %s: %q", found, c.status, c.says)
			}
			if ready.Status != c.ready || c.ready == metav1.ConditionFalse && !strings.Contains(ready.Message, c.says) {
				t.Errorf("Ready is %s: %s, want %s", ready.Status, ready.Message, c.ready)
			}
		})
	}
}
