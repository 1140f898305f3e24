package subscriber

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// What a Subscriber depends on is of two sorts. Its Secret and those who claim its SUPI, GPSI or addresses concern one or
// two Subscribers, and are looked at at once. A Slice or a Core5G concerns all of its Subscribers, and each may
// need its status written: these wait in a queue of their own with one worker, so that a new Subscriber is not
// behind 20,000 others and the API server has one request of this sort at a time. Only what changes the verdict
// leads there: that a Slice becomes Ready, or has not been for a while, not every change of its status.

// sliceDown is how long a Slice may be not Ready before its Subscribers are looked at: an SMF that is replaced is
// back sooner, and nothing is written.
const sliceDown = 10 * time.Second

// Names of the indexes that lead from a Secret, a Slice, a SUPI, a GPSI or a static address to Subscribers without
// reading all of them.
const (
	indexSecret = "authenticationSecret"
	IndexSlice  = "slice"
	IndexSUPI   = "supi"
	IndexGPSI   = "gpsi"
	// IndexAddress is of static addresses, as specs.StaticAddresses writes them.
	IndexAddress = "address"
	// IndexNetwork is of static addresses and the networks behind UEs, as specs.NetworkKeys writes them.
	IndexNetwork = "network"
)

// valuesOf are those that an index knows a Subscriber by.
func valuesOf(index string, s *api.Subscriber) (values []string) {
	switch index {
	case indexSecret:
		return []string{s.Spec.Authentication.SecretRef.Name}
	case IndexSUPI:
		return []string{s.Spec.SUPI}
	case IndexGPSI:
		if s.Spec.GPSI != "" {
			return []string{s.Spec.GPSI}
		}
	case IndexAddress:
		return specs.StaticAddresses(s)
	case IndexNetwork:
		return specs.NetworkKeys(s)
	case IndexSlice:
		for _, slice := range s.Spec.Slices {
			values = append(values, slice.Name)
		}
	}
	return values
}

// bucket is what a cache has of a value. It keeps a set of objects for each value, twice, and most values are those
// of one Subscriber: with 20,000 of them these sets would be twice as large as the Subscribers themselves.
func bucket(value string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(value))
	return strconv.Itoa(int(h.Sum32() % 4096))
}

// Index makes the indexes, which the admission webhook uses too.
func Index(indexer client.FieldIndexer) error {
	for _, index := range []string{indexSecret, IndexSlice, IndexSUPI, IndexGPSI, IndexAddress, IndexNetwork} {
		buckets := func(o client.Object) []string {
			values := valuesOf(index, o.(*api.Subscriber))
			for i := range values {
				values[i] = bucket(values[i])
			}
			slices.Sort(values)
			return slices.Compact(values)
		}
		if err := indexer.IndexField(context.Background(), &api.Subscriber{}, index, buckets); err != nil {
			return err
		}
	}
	return nil
}

// By are those of a namespace that an index leads to from a value. They are the cache's own: they must
// not be changed.
func By(ctx context.Context, c client.Reader, namespace, index, value string) ([]api.Subscriber, error) {
	var list api.SubscriberList
	err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{index: bucket(value)}, client.UnsafeDisableDeepCopy)
	return slices.DeleteFunc(list.Items, func(s api.Subscriber) bool { return !slices.Contains(valuesOf(index, &s), value) }), err
}

// SetupWithManager watches Subscribers and what they name.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := Index(mgr.GetFieldIndexer()); err != nil {
		return err
	}
	changed := predicate.GenerationChangedPredicate{}
	// At the start every Subscriber is looked at for itself.
	later := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
	err := ctrl.NewControllerManagedBy(mgr).
		For(&api.Subscriber{}, builder.WithPredicates(changed)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSecret, client.Object.GetName)), builder.WithPredicates(later)).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(others(r.byIndex(IndexSUPI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.SUPI
		}))), builder.WithPredicates(later, changed)).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(others(r.byIndex(IndexGPSI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.GPSI
		}))), builder.WithPredicates(later, changed)).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(others(r.byAddress)), builder.WithPredicates(later, changed)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named("subscribers-of").
		Watches(&api.Slice{}, r.fanOut(r.byIndex(IndexSlice, client.Object.GetName), sliceMatters), builder.WithPredicates(later)).
		Watches(&api.Core5G{}, r.fanOut(r.ofCore, coreMatters), builder.WithPredicates(later)).
		Complete(r)
}

// fanOut leads from an object to its Subscribers. An update does where it matters to them, after a while.
func (r *Reconciler) fanOut(subscribers handler.MapFunc, matters func(before, now client.Object) (bool, time.Duration)) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	all := func(ctx context.Context, o client.Object, q queue, after time.Duration) {
		for _, request := range subscribers(ctx, o) {
			q.AddAfter(request, after)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { all(ctx, e.Object, q, 0) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { all(ctx, e.Object, q, 0) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if matter, after := matters(e.ObjectOld, e.ObjectNew); matter {
				all(ctx, e.ObjectNew, q, after)
			}
		},
	}
}

// sliceMatters says whether a Slice has changed for its Subscribers, and when to look at them.
func sliceMatters(before, now client.Object) (bool, time.Duration) {
	old, slice := before.(*api.Slice), now.(*api.Slice)
	switch {
	case old.Generation != slice.Generation: // a data network, or that it is being deleted
		return true, 0
	case sliceReady(old) && !sliceReady(slice):
		return true, sliceDown
	}
	return !sliceReady(old) && sliceReady(slice), 0
}

// coreMatters says whether a Core5G has changed for its Subscribers.
func coreMatters(before, now client.Object) (bool, time.Duration) {
	old, core := before.(*api.Core5G), now.(*api.Core5G)
	return !slices.EqualFunc(old.Spec.PLMNs, core.Spec.PLMNs, func(a, b api.PLMN) bool { return a.String() == b.String() }) || old.OwnControlPlane() != core.OwnControlPlane() || old.DeletionTimestamp.IsZero() != core.DeletionTimestamp.IsZero(), 0
}

func (r *Reconciler) byIndex(index string, key func(client.Object) string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list, err := By(ctx, r, o.GetNamespace(), index, key(o))
		if err != nil {
			return nil
		}
		return requestsOf(list)
	}
}

// byAddress leads to those who claim one of a Subscriber's addresses, or of the networks behind its UE.
func (r *Reconciler) byAddress(ctx context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, address := range specs.StaticAddresses(o.(*api.Subscriber)) {
		out = append(out, r.byIndex(IndexAddress, func(client.Object) string { return address })(ctx, o)...)
	}
	for _, key := range specs.OverlappingKeys(o.(*api.Subscriber)) {
		out = append(out, r.byIndex(IndexNetwork, func(client.Object) string { return key })(ctx, o)...)
	}
	return out
}

// others leaves out the object itself, which would be looked at twice.
func others(of handler.MapFunc) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		itself := client.ObjectKeyFromObject(o)
		return slices.DeleteFunc(of(ctx, o), func(q reconcile.Request) bool { return q.NamespacedName == itself })
	}
}

func (r *Reconciler) ofCore(ctx context.Context, o client.Object) []reconcile.Request {
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
