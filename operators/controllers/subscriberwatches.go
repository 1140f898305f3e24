package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Names of the indexes that lead from a Secret, a Slice, a SUPI or a GPSI to Subscribers without reading all
// of them.
const (
	indexSecret = "authenticationSecret"
	IndexSlice  = "slice"
	IndexSUPI   = "supi"
	IndexGPSI   = "gpsi"
)

// IndexSubscribers makes the indexes, which the admission webhook uses too.
func IndexSubscribers(indexer client.FieldIndexer) error {
	for name, values := range map[string]func(*api.Subscriber) []string{
		indexSecret: func(s *api.Subscriber) []string { return []string{s.Spec.Authentication.SecretRef.Name} },
		IndexSUPI:   func(s *api.Subscriber) []string { return []string{s.Spec.SUPI} },
		IndexGPSI: func(s *api.Subscriber) []string {
			if s.Spec.GPSI == "" {
				return nil
			}
			return []string{s.Spec.GPSI}
		},
		IndexSlice: func(s *api.Subscriber) []string {
			var out []string
			for _, slice := range s.Spec.Slices {
				out = append(out, slice.Name)
			}
			return out
		},
	} {
		extract := func(o client.Object) []string { return values(o.(*api.Subscriber)) }
		if err := indexer.IndexField(context.Background(), &api.Subscriber{}, name, extract); err != nil {
			return err
		}
	}
	return nil
}

// SetupWithManager watches Subscribers and what they name.
func (r *SubscriberReconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := IndexSubscribers(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	changed := predicate.GenerationChangedPredicate{}
	// At the start every Subscriber is looked at for itself.
	later := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Subscriber{}, builder.WithPredicates(changed)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSecret, client.Object.GetName)), builder.WithPredicates(later)).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(others(r.byIndex(IndexSUPI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.SUPI
		}))), builder.WithPredicates(later, changed)).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(others(r.byIndex(IndexGPSI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.GPSI
		}))), builder.WithPredicates(later, changed)).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(IndexSlice, client.Object.GetName)), builder.WithPredicates(later, changed)).
		Watches(&api.Core5G{}, handler.EnqueueRequestsFromMapFunc(r.ofCore), builder.WithPredicates(later, changed)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

func (r *SubscriberReconciler) byIndex(index string, key func(client.Object) string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var list api.SubscriberList
		// Of each its name is read, no more: nothing is copied for that.
		err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: key(o)}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil
		}
		return requestsOf(list.Items)
	}
}

// others leaves out the object itself, which would be looked at twice.
func others(of handler.MapFunc) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		itself := client.ObjectKeyFromObject(o)
		return slices.DeleteFunc(of(ctx, o), func(q reconcile.Request) bool { return q.NamespacedName == itself })
	}
}

func (r *SubscriberReconciler) ofCore(ctx context.Context, o client.Object) []reconcile.Request {
	var list api.SubscriberList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return requestsOf(slices.DeleteFunc(list.Items, func(s api.Subscriber) bool { return s.Spec.CoreRef.NameOrDefault() != o.GetName() }))
}

func requestsOf(items []api.Subscriber) []reconcile.Request {
	var out []reconcile.Request
	for i := range items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items[i])})
	}
	return out
}
