package slice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/controllertest"
	"core5g.dev/core5g/operators/specs"
)

// The operator was away when the Slice was deleted, and for longer than its end may take. It still stops the SMF first and
// has the UPF release the sessions, for as long as if it had been there.
func TestEndOfASliceBeginsWhenItIsDone(t *testing.T) {
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	slice := controllertest.Slice(t, "ns", "internet", "010203", "10.45.0.0/16")
	deleted := time.Now().Add(-time.Hour)
	slice.UID, slice.Finalizers, slice.DeletionTimestamp = "slice", []string{api.Finalizer}, &metav1.Time{Time: deleted}
	slice.Status.UPF = &api.SliceUPFStatus{Name: "upf", N4Address: "10.96.0.9"}
	upf := controllertest.UPF(t, "ns")
	upf.Status.Units = 1
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(slice, api.GroupVersion.WithKind("Slice"))}
	name := specs.SMFObjectName("core5g", "internet")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: owner}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, OwnerReferences: owner}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.8"}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name + "-0", Labels: map[string]string{
		api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: "internet",
	}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&api.Slice{}).WithObjects(slice, upf, deployment, service, pod).Build()
	clock, silent := deleted.Add(time.Hour), true
	var released []string
	recorder := record.NewFakeRecorder(10)
	r := &Reconciler{
		Client: c, Live: c, Recorder: recorder, Now: func() time.Time { return clock }, applier: applying.New(c, c),
		Release: func(_ context.Context, upfAddress, smfNodeID string) error {
			if silent {
				return errors.New("it does not answer")
			}
			released = append(released, upfAddress+" "+smfNodeID)
			return nil
		},
	}
	pass := func() {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(slice)}); err != nil {
			t.Fatal(err)
		}
	}
	waits := func(reason, words string) {
		t.Helper()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); err != nil {
			t.Fatalf("the Slice has ended: %v", err)
		}
		got := meta.FindStatusCondition(slice.Status.Conditions, api.ConditionReleased)
		if got == nil || got.Reason != reason || !strings.Contains(got.Message, words) {
			t.Fatalf("Released is %+v, want %s that says %q", got, reason, words)
		}
	}
	pass()
	waits("SMFNotStopped", "pod "+pod.Name)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); !apierrors.IsNotFound(err) {
		t.Errorf("the SMF is not stopped: %v", err)
	}
	if err := c.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(smfStopTimeout - 2*time.Second)
	pass()
	waits("SessionsNotReleased", "it does not answer")
	silent = false
	pass()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(slice), slice); !apierrors.IsNotFound(err) {
		t.Errorf("the Slice has not ended: %v", err)
	}
	if len(released) != 1 || released[0] != "10.96.0.9 10.96.0.8" || len(recorder.Events) != 0 {
		t.Errorf("released %v, %d Events", released, len(recorder.Events))
	}
}
