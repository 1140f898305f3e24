package upf

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// In a namespace that ends nothing is waited for, and no finalizer is put on.
func TestNothingIsWaitedForInANamespaceThatEnds(t *testing.T) {
	rig := newUnitRig(t)
	rig.reconciler.Sessions = func(context.Context, *corev1.Pod) (int64, error) { return 5, nil }
	rig.change(func(u *api.UPFInstance) {
		u.Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 600 * time.Second}}
	})
	rig.mustPass()
	rig.ready()
	rig.mustPass()
	if err := rig.live.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Finalizers: []string{"kubernetes"}}}); err != nil {
		t.Fatal(err)
	}
	if err := rig.live.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}); err != nil {
		t.Fatal(err)
	}
	rig.change(func(u *api.UPFInstance) { u.Finalizers = nil })
	rig.mustPass()
	if upf := rig.upf(); len(upf.Finalizers) != 0 {
		t.Fatalf("finalizers %v", upf.Finalizers)
	}
	rig.change(func(u *api.UPFInstance) { u.Finalizers = []string{api.Finalizer} })
	if err := rig.live.Delete(t.Context(), rig.upf()); err != nil {
		t.Fatal(err)
	}
	rig.mustPass()
	err := rig.live.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "upf"}, &api.UPFInstance{})
	if !apierrors.IsNotFound(err) {
		t.Error(fmt.Errorf("the UPFInstance has not ended: %w", err))
	}
}
