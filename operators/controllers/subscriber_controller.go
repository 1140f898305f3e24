package controllers

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// SubscriberReconciler says what is wrong with a Subscriber. It makes nothing: the subscriber data
// functions serve Subscribers as they are. What it reads of a Secret never leaves it.
type SubscriberReconciler struct {
	client.Client
	Recorder record.EventRecorder
}

// Names of the indexes that lead from a Secret, a Slice or a SUPI to Subscribers without reading all of
// them.
const (
	indexSecret = "authenticationSecret"
	indexSlice  = "slice"
	indexSUPI   = "supi"
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
		r.checkSlices,
		r.sum,
	} {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	subscriber.Status.ObservedGeneration = subscriber.Generation
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
	older, err := r.olderWithSUPI(ctx, s.subscriber)
	if err != nil {
		return err
	}
	if older != "" {
		s.conditions.no(api.ConditionAuthenticationReady, api.ReasonDuplicate,
			fmt.Sprintf("SUPI %s belongs to Subscriber %s already: delete one of the two", s.subscriber.Spec.SUPI, older))
		return nil
	}
	if s.core != nil && !homeOf(s.core, s.subscriber.Spec.SUPI) {
		s.conditions.no(api.ConditionAuthenticationReady, api.ReasonMalformed,
			fmt.Sprintf("SUPI %s begins with no PLMN of Core5G %s (%s): it is not a subscriber of this network", s.subscriber.Spec.SUPI, s.core.Name, plmns(s.core)))
		return nil
	}
	name := s.subscriber.Spec.Authentication.SecretRef.Name
	secret := &corev1.Secret{}
	err = r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		s.conditions.no(api.ConditionAuthenticationReady, api.ReasonNotFound,
			fmt.Sprintf("Secret %s does not exist: create it with keys %q and %q, 32 hexadecimal digits each", name, api.SecretKeyK, api.SecretKeyOPc))
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
		value, ok := secret.Data[key]
		if !ok {
			return fmt.Sprintf("Secret %s has no key %q: write 32 hexadecimal digits there", secret.Name, key)
		}
		decoded, err := hex.DecodeString(strings.TrimSpace(string(value)))
		if err != nil || len(decoded) != 16 {
			return fmt.Sprintf("key %q of Secret %s is not 32 hexadecimal digits", key, secret.Name)
		}
	}
	return ""
}

func homeOf(core *api.Core5G, supi string) bool {
	imsi := strings.TrimPrefix(supi, "imsi-")
	return slices.ContainsFunc(core.Spec.PLMNs, func(p api.PLMN) bool { return strings.HasPrefix(imsi, p.String()) })
}

func plmns(core *api.Core5G) string {
	var out []string
	for _, p := range core.Spec.PLMNs {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

// olderWithSUPI returns the Subscriber of the same core that had the SUPI first, or "".
func (r *SubscriberReconciler) olderWithSUPI(ctx context.Context, s *api.Subscriber) (string, error) {
	var list api.SubscriberList
	if err := r.List(ctx, &list, client.InNamespace(s.Namespace), client.MatchingFields{indexSUPI: s.Spec.SUPI}); err != nil {
		return "", err
	}
	for _, o := range list.Items {
		if o.Name == s.Name || o.Spec.CoreRef.NameOrDefault() != s.Spec.CoreRef.NameOrDefault() {
			continue
		}
		if o.CreationTimestamp.Before(&s.CreationTimestamp) || (o.CreationTimestamp.Equal(&s.CreationTimestamp) && o.Name < s.Name) {
			return o.Name, nil
		}
	}
	return "", nil
}

func (r *SubscriberReconciler) checkSlices(ctx context.Context, s *subscriberScope) error {
	core := s.subscriber.Spec.CoreRef.NameOrDefault()
	for _, subscribed := range s.subscriber.Spec.Slices {
		slice := &api.Slice{}
		err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: subscribed.Name}, slice)
		if apierrors.IsNotFound(err) {
			s.conditions.no(api.ConditionSlicesReady, api.ReasonNotFound,
				fmt.Sprintf("Slice %s does not exist: create it, or take it out of spec.slices", subscribed.Name))
			return nil
		}
		if err != nil {
			return err
		}
		if slice.Spec.CoreRef.NameOrDefault() != core {
			s.conditions.no(api.ConditionSlicesReady, api.ReasonMalformed,
				fmt.Sprintf("Slice %s belongs to Core5G %s and the Subscriber to %s", slice.Name, slice.Spec.CoreRef.NameOrDefault(), core))
			return nil
		}
		for _, dnn := range subscribed.DNNs {
			if !slices.ContainsFunc(slice.Spec.DataNetworks, func(d api.DataNetwork) bool { return d.DNN == dnn }) {
				s.conditions.no(api.ConditionSlicesReady, api.ReasonNotFound,
					fmt.Sprintf("Slice %s has no data network %s: write one of its own, or none for all of them", slice.Name, dnn))
				return nil
			}
		}
	}
	s.conditions.yes(api.ConditionSlicesReady, api.ReasonReady, "every Slice and data network of the subscription exists")
	return nil
}

func (r *SubscriberReconciler) sum(_ context.Context, s *subscriberScope) error {
	if s.conditions.sum([]string{api.ConditionAuthenticationReady, api.ConditionSlicesReady}, "the subscription is served") {
		announce(r.Recorder, s.subscriber, s.subscriber.Status.Conditions)
	}
	return nil
}

// SetupWithManager watches Subscribers and what they name.
func (r *SubscriberReconciler) SetupWithManager(mgr ctrl.Manager) error {
	indexer := mgr.GetFieldIndexer()
	for name, values := range map[string]func(*api.Subscriber) []string{
		indexSecret: func(s *api.Subscriber) []string { return []string{s.Spec.Authentication.SecretRef.Name} },
		indexSUPI:   func(s *api.Subscriber) []string { return []string{s.Spec.SUPI} },
		indexSlice: func(s *api.Subscriber) []string {
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
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Subscriber{}, changed).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSecret, client.Object.GetName))).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSlice, client.Object.GetName)), changed).
		Watches(&api.Subscriber{}, handler.EnqueueRequestsFromMapFunc(r.byIndex(indexSUPI, func(o client.Object) string {
			return o.(*api.Subscriber).Spec.SUPI
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
