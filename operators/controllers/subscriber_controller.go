package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/record"
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

// SubscriberReconciler says what is wrong with a Subscriber. It makes nothing: the subscriber data
// functions serve Subscribers as they are. What it reads of a Secret never leaves it.
type SubscriberReconciler struct {
	client.Client
	Recorder record.EventRecorder
}

// Names of the indexes that lead from a Secret, a Slice, a SUPI or a GPSI to Subscribers without reading all
// of them.
const (
	indexSecret = "authenticationSecret"
	IndexSlice  = "slice"
	IndexSUPI   = "supi"
	IndexGPSI   = "gpsi"
)

type subscriberScope struct {
	subscriber *api.Subscriber
	core       *api.Core5G
	conditions conditions
}

// Reconcile judges one Subscriber.
func (r *SubscriberReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	subscriber := &api.Subscriber{}
	if err := r.Get(ctx, req.NamespacedName, subscriber); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !subscriber.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	base := subscriber.DeepCopy()
	s := &subscriberScope{subscriber: subscriber, conditions: conditions{&subscriber.Status.Conditions, subscriber.Generation}}
	for _, phase := range []func(context.Context, *subscriberScope) error{
		r.findCore,
		r.checkAuthentication,
		r.checkGPSI,
		r.checkSlices,
		r.sum,
	} {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	subscriber.Status.ObservedGeneration = subscriber.Generation
	subscriber.Status.Slices = specs.SubscribedSlices(subscriber)
	if patchErr := patchStatus(ctx, r.Client, base, subscriber, base.Status, subscriber.Status); err == nil {
		err = patchErr
	}
	return ctrl.Result{}, err
}

func (r *SubscriberReconciler) findCore(ctx context.Context, s *subscriberScope) error {
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: s.subscriber.Spec.CoreRef.NameOrDefault()}, core)
	if err == nil {
		s.core = core
	}
	return client.IgnoreNotFound(err)
}

func (r *SubscriberReconciler) checkAuthentication(ctx context.Context, s *subscriberScope) error {
	var same api.SubscriberList
	if err := r.List(ctx, &same, client.InNamespace(s.subscriber.Namespace), client.MatchingFields{IndexSUPI: s.subscriber.Spec.SUPI}); err != nil {
		return err
	}
	problem := specs.SUPIProblem(s.subscriber, same.Items)
	if problem == nil && s.core != nil {
		problem = specs.HomeProblem(s.subscriber, s.core)
	}
	if problem != nil {
		s.conditions.no(api.ConditionAuthenticationReady, problem.Reason, problem.Message)
		return nil
	}
	name := s.subscriber.Spec.Authentication.SecretRef.Name
	secret := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		s.conditions.no(api.ConditionAuthenticationReady, api.ReasonNotFound,
			fmt.Sprintf("Secret %s does not exist: create it with keys %q and %q, 32 hexadecimal digits each, under stringData", name, api.SecretKeyK, api.SecretKeyOPc))
		return nil
	}
	if err != nil {
		return err
	}
	if problem := secretProblem(secret); problem != "" {
		s.conditions.no(api.ConditionAuthenticationReady, api.ReasonMalformed, problem)
		return nil
	}
	s.conditions.yes(api.ConditionAuthenticationReady, api.ReasonReady, "the Secret holds well-formed keys")
	return nil
}

// secretProblem names keys, never what they hold.
func secretProblem(secret *corev1.Secret) string {
	second := api.SecretKeyOPc
	if len(secret.Data[api.SecretKeyOPc]) == 0 && len(secret.Data[api.SecretKeyOP]) > 0 {
		second = api.SecretKeyOP
	}
	for _, key := range []string{api.SecretKeyK, second} {
		if fault := keyFault(secret, key); fault != "" {
			return fault
		}
	}
	return ""
}

// checkGPSI looks for the number among the others: the network could not tell them apart by it.
func (r *SubscriberReconciler) checkGPSI(ctx context.Context, s *subscriberScope) error {
	if s.subscriber.Spec.GPSI == "" {
		meta.RemoveStatusCondition(&s.subscriber.Status.Conditions, api.ConditionGPSIUnique)
		return nil
	}
	var same api.SubscriberList
	if err := r.List(ctx, &same, client.InNamespace(s.subscriber.Namespace), client.MatchingFields{IndexGPSI: s.subscriber.Spec.GPSI}); err != nil {
		return err
	}
	if problem := specs.GPSIProblem(s.subscriber, same.Items); problem != nil {
		s.conditions.no(api.ConditionGPSIUnique, problem.Reason, problem.Message)
		return nil
	}
	s.conditions.yes(api.ConditionGPSIUnique, api.ReasonReady, "no other Subscriber has the GPSI")
	return nil
}

func (r *SubscriberReconciler) checkSlices(ctx context.Context, s *subscriberScope) error {
	for _, subscribed := range s.subscriber.Spec.Slices {
		slice := &api.Slice{}
		err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: subscribed.Name}, slice)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil {
			slice = nil
		}
		if problem := specs.SubscribedSliceProblem(s.subscriber, subscribed, slice); problem != nil {
			s.conditions.no(api.ConditionSlicesReady, problem.Reason, problem.Message)
			return nil
		}
	}
	s.conditions.yes(api.ConditionSlicesReady, api.ReasonReady, "every Slice and data network of the subscription exists")
	return nil
}

func (r *SubscriberReconciler) sum(_ context.Context, s *subscriberScope) error {
	kinds := []string{api.ConditionAuthenticationReady, api.ConditionSlicesReady}
	if s.subscriber.Spec.GPSI != "" {
		kinds = append(kinds, api.ConditionGPSIUnique)
	}
	if s.conditions.sum(kinds, "the subscription is served") {
		announce(r.Recorder, s.subscriber, s.subscriber.Status.Conditions)
	}
	return nil
}

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
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Subscriber{}, changed).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSecret, client.Object.GetName))).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(IndexSlice, client.Object.GetName)), changed).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(IndexSUPI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.SUPI
		})), changed).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(IndexGPSI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.GPSI
		})), changed).
		Watches(&api.Core5G{}, handler.EnqueueRequestsFromMapFunc(r.ofCore), changed).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(r)
}

func (r *SubscriberReconciler) byIndex(index string, key func(client.Object) string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		var list api.SubscriberList
		if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: key(o)}); err != nil {
			return nil
		}
		return requestsOf(list.Items)
	}
}

func (r *SubscriberReconciler) ofCore(ctx context.Context, o client.Object) []reconcile.Request {
	var list api.SubscriberList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	return requestsOf(list.Items)
}

func requestsOf(items []api.Subscriber) []reconcile.Request {
	var out []reconcile.Request
	for i := range items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items[i])})
	}
	return out
}
