package slice

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// Which Slices a change of something else concerns. A pass over a Slice looks at all others of its namespace, so that
// waking all of them for each change would cost the square of their number.

// toSlices wakes the Slices of the namespace that the changed object concerns.
func (r *Reconciler) toSlices(concerns func(changed client.Object, slice *api.Slice) bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.slicesWith(ctx, o, func(s *api.Slice) bool { return concerns(o, s) })
	})
}

func (r *Reconciler) slicesWith(ctx context.Context, o client.Object, is func(*api.Slice) bool) []reconcile.Request {
	var list api.SliceList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if is(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

func ofCoreNamed(core string) func(*api.Slice) bool {
	return func(s *api.Slice) bool { return s.Spec.CoreRef.NameOrDefault() == core }
}

func ofCore(core client.Object, s *api.Slice) bool { return ofCoreNamed(core.GetName())(s) }

// servedBy finds those that the core's own SMF serves.
func servedBy(deployment client.Object, s *api.Slice) bool {
	return ofCoreNamed(deployment.GetLabels()[api.LabelInstance])(s) && s.Spec.SessionManagement != api.SessionManagementDedicated
}

// smfServes: one pod is enough. That another is missing the Core5G says.
func smfServes(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas > 0
}

// sharedSMF passes that SMF, when it comes, goes, begins or ceases to serve.
func sharedSMF() predicate.Predicate {
	serves := func(o client.Object) bool {
		d, is := o.(*appsv1.Deployment)
		return is && smfServes(d)
	}
	return predicate.And(predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetLabels()[api.LabelSessionManagement] == specs.SharedSMF
	}), predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return serves(e.ObjectOld) != serves(e.ObjectNew) || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}})
}

// besideSlice finds those that cannot be because of the changed one, and those that may wait for it.
func besideSlice(o client.Object, s *api.Slice) bool {
	changed, ok := o.(*api.Slice)
	if !ok || changed.Name == s.Name || changed.Spec.CoreRef.NameOrDefault() != s.Spec.CoreRef.NameOrDefault() {
		return false
	}
	waits := func(kind string) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		return c == nil || c.Status != metav1.ConditionTrue
	}
	one := []api.Slice{*changed}
	return waits(api.ConditionPoolsValid) || waits(api.ConditionAdvertised) ||
		specs.SNSSAIProblem(s, one) != nil || specs.CheckPools(s, one, nil, nil) != nil
}

// onUPF finds those that use the UPFInstance or may mean it.
func onUPF(o client.Object, s *api.Slice) bool {
	upf, ok := o.(*api.UPFInstance)
	return ok && (specs.MayMean(s, upf) || specs.Uses(s, upf.Name) || slices.Contains(specs.FurtherUPFs(s), upf.Name))
}

// upfMatters passes what Slices read of a UPFInstance, and leaves out how its units, links and places are from one
// moment to the next.
func upfMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*api.UPFInstance)
		after, is := e.ObjectNew.(*api.UPFInstance)
		return !ok || !is || before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
			!slices.EqualFunc(before.Status.Endpoints, after.Status.Endpoints, func(a, b api.EndpointAllocation) bool { return equality.Semantic.DeepEqual(a, b) }) ||
			!slices.EqualFunc(before.Status.UnitStatuses, after.Status.UnitStatuses, sameForSMF) ||
			!sameCondition(before, after, api.ConditionReady) || !sameCondition(before, after, api.ConditionEndpointsAllocated)
	}}
}

// sameForSMF compares where a unit is reached, and how far its end has come.
func sameForSMF(a, b api.UnitStatus) bool {
	return a.Name == b.Name && a.N4Address == b.N4Address && (a.Drain == nil) == (b.Drain == nil) &&
		(a.Drain == nil || (a.Drain.ReleasedAt == nil) == (b.Drain.ReleasedAt == nil))
}

func sameCondition(a, b *api.UPFInstance, kind string) bool {
	x, y := meta.FindStatusCondition(a.Status.Conditions, kind), meta.FindStatusCondition(b.Status.Conditions, kind)
	if x == nil || y == nil {
		return x == y
	}
	return x.Status == y.Status && x.Reason == y.Reason && x.Message == y.Message && x.ObservedGeneration == y.ObservedGeneration
}
