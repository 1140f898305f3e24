package upf

import (
	"context"
	"maps"
	"reflect"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/specs"
)

// SetupWithManager watches UPFInstances, what they own, their Slices and their core, and what may give a
// place to a unit that has none: DataplaneNodes, Nodes and the end of other units.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = applying.New(mgr.GetClient(), mgr.GetAPIReader())
	r.certifier = certifying.New(r.Client, r.applier, r.Recorder, r.Now)
	r.asking = asking.New()
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.UPFInstance{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{},
		))).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&coordinationv1.Lease{}, builder.WithPredicates(unitMoved())).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfSlice), builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, sliceMoved()))).
		Watches(&api.Core5G{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfCore), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.UPFInstance{}, handler.EnqueueRequestsFromMapFunc(r.overlappingUPFs), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.DataplaneNode{}, handler.EnqueueRequestsFromMapFunc(r.waitingUPFs)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.upfsOfNode), builder.WithPredicates(nodeChanged())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.waitingUPFs), builder.WithPredicates(unitEnded())).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(applying.NamedBy(api.LabelUPF)), applying.AllocationsMoved(api.LabelUPF)).
		WatchesRawSource(source.Channel(r.asking.Answered, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// unitEnded passes the end of pods of units.
func unitEnded() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return e.Object.GetLabels()[api.LabelUPF] != "" },
	}
}

// nodeChanged passes what decides whether units may be on a node, and leaves out the kubelet's heartbeats.
func nodeChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, is := e.ObjectNew.(*corev1.Node)
		if !ok || !is {
			return true
		}
		return before.Spec.Unschedulable != after.Spec.Unschedulable ||
			!reflect.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
			!maps.Equal(before.Labels, after.Labels) ||
			nodeReady(before) != nodeReady(after)
	}}
}

func nodeReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitingUPFs are those with a unit that has no place.
func (r *Reconciler) waitingUPFs(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.upfsWith(ctx, func(u *api.UnitStatus) bool { return u.State == api.UnitUnplaced })
}

// upfsOfNode are those with a unit on the node, and those that wait.
func (r *Reconciler) upfsOfNode(ctx context.Context, node client.Object) []reconcile.Request {
	return r.upfsWith(ctx, func(u *api.UnitStatus) bool {
		return u.State == api.UnitUnplaced || u.Node == node.GetName() || u.Standby != nil && u.Standby.Node == node.GetName()
	})
}

func (r *Reconciler) upfsWith(ctx context.Context, is func(*api.UnitStatus) bool) []reconcile.Request {
	var list api.UPFInstanceList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		units := list.Items[i].Status.UnitStatuses
		for j := range units {
			if is(&units[j]) {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				break
			}
		}
	}
	return out
}

// overlappingUPFs are those that want addresses of this one, or wait for some that they can have.
func (r *Reconciler) overlappingUPFs(ctx context.Context, o client.Object) []reconcile.Request {
	changed, ok := o.(*api.UPFInstance)
	var list api.UPFInstanceList
	if !ok || r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		other := &list.Items[i]
		allocated := meta.FindStatusCondition(other.Status.Conditions, api.ConditionEndpointsAllocated)
		waits := allocated != nil && allocated.Reason == api.ReasonAddressOverlap
		if waits || specs.AddressProblem(other, []api.UPFInstance{*changed}) != nil {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
	}
	return out
}

// sliceMoved passes changes of which UPFInstances a Slice uses.
func sliceMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*api.Slice)
		after, is := e.ObjectNew.(*api.Slice)
		return !ok || !is || specs.NameOfUPF(before.Status.UPF) != specs.NameOfUPF(after.Status.UPF) || specs.NameOfUPF(before.Status.PreviousUPF) != specs.NameOfUPF(after.Status.PreviousUPF)
	}}
}

// upfsOfSlice are those that the Slice may mean, that it uses, and that have an endpoint for it.
func (r *Reconciler) upfsOfSlice(ctx context.Context, o client.Object) []reconcile.Request {
	slice, ok := o.(*api.Slice)
	var list api.UPFInstanceList
	if !ok || r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		upf := &list.Items[i]
		if specs.MayMean(slice, upf) || specs.Uses(slice, upf.Name) || specs.EndpointOf(upf, slice.Name) != "" {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(upf)})
		}
	}
	return out
}

func (r *Reconciler) upfsOfCore(ctx context.Context, o client.Object) []reconcile.Request {
	var list api.UPFInstanceList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.CoreRef.NameOrDefault() == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
