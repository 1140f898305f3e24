package upf

import (
	"context"
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// A unit's N4 Service leads to the pod that has a label, because the unit's Lease names it. A node that is lost may take the unit that served along with the replica of the
// operator that acts, and another one acts when its lease has run out: for so long no new session would be made. So every replica puts the label
// where the Lease says. That is safe: who serves is not theirs to decide, each of them writes what all of them read, and one that was behind is corrected by all that are not,
// since a pod whose label changes is looked at again.

// ServingReconciler keeps the label at units with redundancy, whether or not this replica acts.
type ServingReconciler struct{ client.Client }

// Reconcile looks at the Lease of a unit.
func (r *ServingReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	lease := &coordinationv1.Lease{}
	if err := r.Get(ctx, request.NamespacedName, lease); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	upf, unit, is := unitOf(lease)
	if !is {
		return ctrl.Result{}, nil
	}
	record, err := specs.UnitRecord(lease)
	if err != nil || record.Holder == "" { // the UPFInstance says what is wrong
		return ctrl.Result{}, nil
	}
	var serves, other *corev1.Pod
	for _, m := range specs.Members {
		pod := &corev1.Pod{}
		err := r.Get(ctx, client.ObjectKey{Namespace: lease.Namespace, Name: specs.MemberName(upf, unit, m)}, pod)
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		switch {
		case err != nil || !sameOwner(lease, pod) || !specs.IsMember(pod):
		case isLife(pod, record.Holder):
			serves = pod
		default:
			other = pod
		}
	}
	if serves == nil {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, leadTo(ctx, r.Client, serves, other)
}

// unitOf a Lease that says who serves it.
func unitOf(lease client.Object) (upf string, unit int, is bool) {
	owner := metav1.GetControllerOf(lease)
	unit, err := strconv.Atoi(lease.GetLabels()[api.LabelUnit])
	if owner == nil || owner.Kind != "UPFInstance" || err != nil {
		return "", 0, false
	}
	return owner.Name, unit, true
}

func sameOwner(a, b client.Object) bool {
	first, second := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return first != nil && second != nil && first.UID == second.UID
}

// leadTo has a unit's N4 Service lead to the pod that serves, and not to the other one; either may be nil.
func leadTo(ctx context.Context, c client.Client, serves, other *corev1.Pod) error {
	if err := setServing(ctx, c, serves, true); err != nil {
		return err
	}
	return setServing(ctx, c, other, false)
}

func setServing(ctx context.Context, c client.Client, pod *corev1.Pod, serves bool) error {
	if pod == nil || (pod.Labels[api.LabelServing] != "") == serves {
		return nil
	}
	value := "null"
	if serves {
		value = `"true"`
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, api.LabelServing, value)
	return client.IgnoreNotFound(c.Patch(ctx, pod.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// SetupWithManager watches the Leases of units, and the labels of their pods.
func (r *ServingReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("serving").
		For(&coordinationv1.Lease{}, builder.WithPredicates(unitMoved())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(leaseOf), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(r)
}

// leaseOf the unit of a member.
func leaseOf(_ context.Context, pod client.Object) []reconcile.Request {
	upf, unit, is := unitOf(pod)
	if !is || pod.GetLabels()[api.LabelMember] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: specs.LeaseName(upf, unit)}}}
}
