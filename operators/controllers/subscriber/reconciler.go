package subscriber

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/specs"
)

// Reconciler says what is wrong with a Subscriber. It makes nothing: the subscriber data
// functions serve Subscribers as they are. What it reads of a Secret never leaves it. There are many Subscribers:
// what one of them is like its conditions say, and no Event.
type Reconciler struct {
	client.Client
	// Live reads Secrets past the cache, which has their metadata alone.
	Live client.Reader
}

// keyRules is the number of the rules of secretProblem: a change of them makes it one more, and every Secret is
// read once again.
const keyRules = 1

type scope struct {
	subscriber *api.Subscriber
	core       *api.Core5G
	conditions conditions.List
}

// Reconcile judges one Subscriber.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	subscriber := &api.Subscriber{}
	if err := r.Get(ctx, req.NamespacedName, subscriber); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !subscriber.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	base := subscriber.DeepCopy()
	s := &scope{subscriber: subscriber, conditions: conditions.Of(&subscriber.Status.Conditions, subscriber.Generation)}
	for _, phase := range []func(context.Context, *scope) error{
		r.findCore,
		r.checkAuthentication,
		r.checkGPSI,
		r.checkSlices,
		r.checkAddresses,
		r.sum,
	} {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	subscriber.Status.ObservedGeneration = subscriber.Generation
	subscriber.Status.Slices = specs.SubscribedSlices(subscriber)
	if patchErr := conditions.PatchStatus(ctx, r.Client, base, subscriber, base.Status, subscriber.Status); err == nil {
		err = patchErr
	}
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: staleSubscriber}, nil
	}
	return ctrl.Result{}, err
}

// asCached has what every Subscriber looks at, and nobody changes, not copied for each.
func asCached() client.GetOption { return &client.GetOptions{UnsafeDisableDeepCopy: ptr.To(true)} }

// staleSubscriber is when to look again at a Subscriber whose copy in the cache was old.
const staleSubscriber = time.Second

// findCore says whether the core is there: without one nobody asks for the subscription.
func (r *Reconciler) findCore(ctx context.Context, s *scope) error {
	name := s.subscriber.Spec.CoreRef.NameOrDefault()
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: name}, core, asCached())
	switch {
	case apierrors.IsNotFound(err):
		var there api.Core5GList
		if err := r.List(ctx, &there, client.InNamespace(s.subscriber.Namespace)); err != nil {
			return err
		}
		s.conditions.No(api.ConditionCoreFound, api.ReasonNotFound, coreMissing(name, there.Items))
	case err != nil:
		return err
	case !core.DeletionTimestamp.IsZero():
		s.conditions.No(api.ConditionCoreFound, api.ReasonDeleting, fmt.Sprintf("Core5G %s is being deleted: create it anew, or delete the Subscriber too", name))
	default:
		s.core = core
		s.conditions.Yes(api.ConditionCoreFound, api.ReasonReady, "Core5G "+name+" exists")
	}
	return nil
}

// coreMissing names the cores that a user may have meant.
func coreMissing(name string, there []api.Core5G) string {
	if len(there) == 0 {
		return fmt.Sprintf("Core5G %s does not exist: create it", name)
	}
	var names []string
	for i := range there {
		names = append(names, there[i].Name)
	}
	slices.Sort(names)
	return fmt.Sprintf("Core5G %s does not exist: create it, or delete the Subscriber and create it with one that is there in spec.coreRef.name (%s)", name, strings.Join(names, ", "))
}

func (r *Reconciler) checkAuthentication(ctx context.Context, s *scope) error {
	same, err := By(ctx, r, s.subscriber.Namespace, IndexSUPI, s.subscriber.Spec.SUPI)
	if err != nil {
		return err
	}
	problem := specs.SUPIProblem(s.subscriber, same)
	if problem == nil && s.core != nil {
		problem = specs.HomeProblem(s.subscriber, s.core)
	}
	if problem != nil {
		s.subscriber.Status.CheckedSecret = ""
		s.conditions.No(api.ConditionAuthenticationReady, problem.Reason, problem.Message)
		return nil
	}
	return r.checkSecret(ctx, s)
}

// checkSecret reads the Secret where its metadata say that it is not the one that was checked. One that is not in
// the cache may be new.
func (r *Reconciler) checkSecret(ctx context.Context, s *scope) error {
	key := client.ObjectKey{Namespace: s.subscriber.Namespace, Name: s.subscriber.Spec.Authentication.SecretRef.Name}
	known := cluster.SecretMetadata()
	if err := r.Get(ctx, key, known); client.IgnoreNotFound(err) != nil {
		return err
	}
	checked := func(version string) string { return fmt.Sprintf("%d/%s", keyRules, version) }
	before := meta.FindStatusCondition(s.subscriber.Status.Conditions, api.ConditionAuthenticationReady)
	if before != nil && known.ResourceVersion != "" && s.subscriber.Status.CheckedSecret == checked(known.ResourceVersion) {
		s.conditions.Set(before.Type, before.Status, before.Reason, before.Message)
		return nil
	}
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		s.subscriber.Status.CheckedSecret = ""
		s.conditions.No(api.ConditionAuthenticationReady, api.ReasonNotFound,
			fmt.Sprintf("Secret %s does not exist: create it with keys %q and %q, 32 hexadecimal digits each, under stringData", key.Name, api.SecretKeyK, api.SecretKeyOPc))
		return nil
	}
	if err != nil {
		return err
	}
	s.subscriber.Status.CheckedSecret = checked(secret.ResourceVersion)
	if problem := secretProblem(secret); problem != "" {
		s.conditions.No(api.ConditionAuthenticationReady, api.ReasonMalformed, problem)
		return nil
	}
	s.conditions.Yes(api.ConditionAuthenticationReady, api.ReasonReady, "the Secret holds well-formed keys")
	return nil
}

// secretProblem names keys, never what they hold.
func secretProblem(secret *corev1.Secret) string {
	second := api.SecretKeyOPc
	if len(secret.Data[api.SecretKeyOPc]) > 0 && len(secret.Data[api.SecretKeyOP]) > 0 {
		return fmt.Sprintf("Secret %s has both keys %q and %q: take away the one that the SIM was not made with; no authentication succeeds until then",
			secret.Name, api.SecretKeyOPc, api.SecretKeyOP)
	}
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
func (r *Reconciler) checkGPSI(ctx context.Context, s *scope) error {
	if s.subscriber.Spec.GPSI == "" {
		meta.RemoveStatusCondition(&s.subscriber.Status.Conditions, api.ConditionGPSIUnique)
		return nil
	}
	same, err := By(ctx, r, s.subscriber.Namespace, IndexGPSI, s.subscriber.Spec.GPSI)
	if err != nil {
		return err
	}
	if problem := specs.GPSIProblem(s.subscriber, same); problem != nil {
		s.conditions.No(api.ConditionGPSIUnique, problem.Reason, problem.Message)
		return nil
	}
	s.conditions.Yes(api.ConditionGPSIUnique, api.ReasonReady, "no other Subscriber has the GPSI")
	return nil
}

// checkSlices wants every Slice to exist and one of them to be Ready. What is wrong with a Slice the Slice says:
// here it would be written once for each of its Subscribers, at every change.
func (r *Reconciler) checkSlices(ctx context.Context, s *scope) error {
	var waiting []string
	for _, subscribed := range s.subscriber.Spec.Slices {
		slice := &api.Slice{}
		err := r.Get(ctx, client.ObjectKey{Namespace: s.subscriber.Namespace, Name: subscribed.Name}, slice, asCached())
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil {
			slice = nil
		}
		problem := specs.SubscribedSliceProblem(s.subscriber, subscribed, slice)
		if problem == nil {
			problem = specs.FlowsProblem(subscribed, slice)
		}
		if problem == nil {
			problem = specs.SubscriptionProblem(subscribed, s.core)
		}
		if problem != nil {
			s.conditions.No(api.ConditionSlicesReady, problem.Reason, problem.Message)
			return nil
		}
		if !sliceReady(slice) {
			waiting = append(waiting, slice.Name)
		}
	}
	names := strings.Join(waiting, " ")
	describe := fmt.Sprintf("`kubectl -n %s describe slice %s` says why", s.subscriber.Namespace, names)
	switch len(waiting) {
	case 0:
		s.conditions.Yes(api.ConditionSlicesReady, api.ReasonReady, "every Slice and data network of the subscription exists, and every Slice is Ready")
	case len(s.subscriber.Spec.Slices):
		s.conditions.No(api.ConditionSlicesReady, api.ReasonSliceNotReady, "no Slice of the subscription is Ready: "+describe)
	default:
		s.conditions.Yes(api.ConditionSlicesReady, api.ReasonReady, "every Slice and data network of the subscription exists; not Ready: "+describe)
	}
	return nil
}

// checkAddresses looks for the static addresses and the networks behind the UE among the others' and in the pools: two UEs would answer to one.
func (r *Reconciler) checkAddresses(ctx context.Context, s *scope) error {
	addresses := append(specs.StaticAddresses(s.subscriber), specs.FramedRoutes(s.subscriber)...)
	if len(addresses) == 0 {
		meta.RemoveStatusCondition(&s.subscriber.Status.Conditions, api.ConditionAddressesUnique)
		return nil
	}
	problem, err := StaticAddressProblem(ctx, r, s.subscriber)
	if err != nil {
		return err
	}
	if problem != nil {
		s.conditions.No(api.ConditionAddressesUnique, problem.Reason, problem.Message)
		return nil
	}
	s.conditions.Yes(api.ConditionAddressesUnique, api.ReasonReady, "no other Subscriber has "+strings.Join(addresses, ", "))
	return nil
}

// StaticAddressProblem judges the static addresses of a Subscriber, and the networks behind its UE, by the Slices and Subscribers that there are.
func StaticAddressProblem(ctx context.Context, c client.Reader, s *api.Subscriber) (*specs.Problem, error) {
	var others []api.Subscriber
	for _, address := range specs.StaticAddresses(s) {
		same, err := By(ctx, c, s.Namespace, IndexAddress, address)
		if err != nil {
			return nil, err
		}
		others = append(others, same...)
	}
	for _, subscribed := range s.Spec.Slices {
		if len(subscribed.Addresses) == 0 {
			continue
		}
		slice := &api.Slice{}
		err := c.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: subscribed.Name}, slice, asCached())
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err != nil {
			slice = nil
		}
		if problem := specs.StaticAddressProblem(s, subscribed, slice, others); problem != nil {
			return problem, nil
		}
	}
	return framedRoutesProblem(ctx, c, s)
}

// framedRoutesProblem judges the networks behind the UE, and static addresses by those behind others.
func framedRoutesProblem(ctx context.Context, c client.Reader, s *api.Subscriber) (*specs.Problem, error) {
	var others []api.Subscriber
	for _, key := range specs.OverlappingKeys(s) {
		some, err := By(ctx, c, s.Namespace, IndexNetwork, key)
		if err != nil {
			return nil, err
		}
		others = append(others, some...)
	}
	if len(others) == 0 && len(specs.FramedRoutes(s)) == 0 {
		return nil, nil
	}
	var all api.SliceList
	var upfs api.UPFInstanceList
	if err := errors.Join(c.List(ctx, &all, client.InNamespace(s.Namespace)), c.List(ctx, &upfs, client.InNamespace(s.Namespace))); err != nil {
		return nil, err
	}
	return specs.FramedRoutesProblem(s, others, all.Items, upfs.Items), nil
}

// sliceReady says whether UEs can have PDU sessions in the Slice.
func sliceReady(slice *api.Slice) bool {
	return slice.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(slice.Status.Conditions, api.ConditionReady)
}

func (r *Reconciler) sum(_ context.Context, s *scope) error {
	kinds := []string{api.ConditionCoreFound, api.ConditionAuthenticationReady, api.ConditionSlicesReady}
	if s.subscriber.Spec.GPSI != "" {
		kinds = append(kinds, api.ConditionGPSIUnique)
	}
	if len(specs.StaticAddresses(s.subscriber))+len(specs.FramedRoutes(s.subscriber)) > 0 {
		kinds = append(kinds, api.ConditionAddressesUnique)
	}
	s.conditions.Sum(kinds, "the subscription is served")
	return nil
}
