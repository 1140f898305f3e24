package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

const (
	// unitStopTimeout bounds how long the end of a UPFInstance waits for its pods.
	unitStopTimeout = 2 * time.Minute
	// multusRetry is how often a missing NetworkAttachmentDefinition kind is looked for again.
	multusRetry = 30 * time.Second
	// staleRetry gives the cache time to catch up with the API server.
	staleRetry = 50 * time.Millisecond
	// supportedUnits is how many units of one UPFInstance run; more need endpoints and N6 addresses for
	// each, which are planned.
	supportedUnits = 1
)

// UPFReconciler makes the pods of a UPFInstance, without a workload controller in between: a UPF unit is
// restarted only when somebody has asked for it, or when it is gone.
type UPFReconciler struct {
	client.Client
	Platform specs.Platform
	Recorder record.EventRecorder
	Now      func() time.Time

	// Live reads past the cache.
	Live client.Reader

	applier *applier
}

type upfScope struct {
	upf        *api.UPFInstance
	core       *api.Core5G
	conditions conditions
	// halted is set when no pod can be made.
	halted  bool
	units   []*unitScope
	requeue time.Duration
}

func (s *upfScope) again(in time.Duration) {
	if s.requeue == 0 || in < s.requeue {
		s.requeue = max(in, time.Millisecond)
	}
}

// Reconcile brings one UPFInstance about.
func (r *UPFReconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	upf := &api.UPFInstance{}
	if err := r.Get(ctx, req.NamespacedName, upf); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !upf.DeletionTimestamp.IsZero() {
		return r.delete(ctx, upf)
	}
	if controllerutil.AddFinalizer(upf, api.Finalizer) {
		if err := r.Update(ctx, upf); err != nil {
			return ctrl.Result{}, err
		}
	}
	base := upf.DeepCopy()
	s := &upfScope{upf: upf, conditions: conditions{&upf.Status.Conditions, upf.Generation}}
	for _, phase := range []func(context.Context, *upfScope) error{
		r.findCore,
		r.allocateEndpoints,
		r.checkSupported,
		r.applyAttachments,
		r.applyN4,
		r.keepUnits,
		r.removeSurplus,
		r.observeUnits,
		r.sum,
	} {
		if err = phase(ctx, s); err != nil {
			break
		}
	}
	upf.Status.ObservedGeneration = upf.Generation
	upf.Status.Selector = labels.SelectorFromSet(specs.UPFSelector(upf)).String()
	if patchErr := patchStatus(ctx, r.Client, base, upf, base.Status, upf.Status); err == nil {
		err = patchErr
	}
	if err == nil {
		err = r.discard(ctx, s)
	}
	if errors.Is(err, errStale) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	return ctrl.Result{RequeueAfter: s.requeue}, err
}

// delete stops the pods before the NetworkAttachmentDefinitions go with the object: Multus needs them to
// take the interfaces down. It ends in any case.
func (r *UPFReconciler) delete(ctx context.Context, upf *api.UPFInstance) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(upf, api.Finalizer) {
		return ctrl.Result{}, nil
	}
	pods, err := r.pods(ctx, upf)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range pods {
		if pods[i].DeletionTimestamp.IsZero() {
			if err := client.IgnoreNotFound(r.Delete(ctx, &pods[i])); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	left := upf.DeletionTimestamp.Add(unitStopTimeout).Sub(r.Now())
	if len(pods) > 0 && left > 0 {
		return ctrl.Result{RequeueAfter: min(left, 5*time.Second)}, nil
	}
	if len(pods) > 0 {
		r.Recorder.Eventf(upf, corev1.EventTypeWarning, "UnitNotStopped",
			"pod %s did not stop within %s; the UPFInstance ends without it", pods[0].Name, unitStopTimeout)
	}
	controllerutil.RemoveFinalizer(upf, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
}

func (r *UPFReconciler) pods(ctx context.Context, upf *api.UPFInstance) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.List(ctx, &list, client.InNamespace(upf.Namespace), client.MatchingLabels(specs.UPFSelector(upf)))
	return list.Items, err
}

func (r *UPFReconciler) findCore(ctx context.Context, s *upfScope) error {
	core := &api.Core5G{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.upf.Namespace, Name: s.upf.Spec.CoreRef.NameOrDefault()}, core)
	if err == nil {
		s.core = core
	}
	return client.IgnoreNotFound(err)
}

// allocateEndpoints gives out and takes back N3 addresses. A Slice that is being deleted keeps its
// address until it is gone, because its SMF may still use it.
func (r *UPFReconciler) allocateEndpoints(ctx context.Context, s *upfScope) error {
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.upf.Namespace)); err != nil {
		return err
	}
	var wanted []api.Slice
	for i := range all.Items {
		chosen, problem, err := selectUPF(ctx, r.Client, &all.Items[i])
		if err != nil {
			return err
		}
		if problem != "" || chosen.Name != s.upf.Name {
			continue
		}
		fresh := specs.EndpointOf(s.upf, all.Items[i].Name) == ""
		if fresh && (!all.Items[i].DeletionTimestamp.IsZero() || s.upf.Spec.AdministrativeState == api.StateShuttingDown) {
			continue
		}
		wanted = append(wanted, all.Items[i])
	}
	allocated, left := specs.AllocateEndpoints(s.upf, wanted)
	s.upf.Status.Endpoints = allocated
	if len(left) > 0 {
		s.conditions.no(api.ConditionEndpointsAllocated, api.ReasonExhausted,
			fmt.Sprintf("spec.n3.endpoints %s has no address left for Slice %s: write a larger block, or give the Slice another UPFInstance",
				s.upf.Spec.N3.Endpoints, strings.Join(left, ", ")))
		return nil
	}
	s.conditions.yes(api.ConditionEndpointsAllocated, api.ReasonReady, fmt.Sprintf("%d N3 endpoints of %s are given out", len(allocated), s.upf.Spec.N3.Endpoints))
	return nil
}

func (r *UPFReconciler) checkSupported(_ context.Context, s *upfScope) error {
	if s.upf.Spec.Driver != api.DriverAFPacket && s.upf.Spec.Driver != "" {
		s.halted = true
		s.conditions.no(api.ConditionPlaced, api.ReasonNotSupported,
			fmt.Sprintf("driver %s is planned and not deployed by this version: write AFPacket", s.upf.Spec.Driver))
	}
	return nil
}

func (r *UPFReconciler) applyAttachments(ctx context.Context, s *upfScope) error {
	_, err := r.RESTMapper().RESTMapping(specs.AttachmentKind.GroupKind(), specs.AttachmentKind.Version)
	if meta.IsNoMatchError(err) {
		s.halted = true
		s.again(multusRetry)
		message := "the cluster has no kind NetworkAttachmentDefinition, so no pod can have N3 and N6 interfaces: install Multus"
		s.conditions.no(api.ConditionN3Attached, api.ReasonNoMultus, message)
		s.conditions.no(api.ConditionN6Attached, api.ReasonNoMultus, message)
		s.conditions.no(api.ConditionPlaced, api.ReasonNoMultus, message)
		return nil
	}
	if err != nil {
		return err
	}
	for _, a := range specs.Attachments(s.upf) {
		if err := r.applier.apply(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// wantedUnits is how many pods there should be.
func wantedUnits(upf *api.UPFInstance) int {
	if upf.Spec.AdministrativeState == api.StateLocked {
		return 0
	}
	return possibleUnits(upf)
}

// possibleUnits is how many pods there would be if the UPFInstance were unlocked.
func possibleUnits(upf *api.UPFInstance) int {
	return min(int(ptr.Deref(upf.Spec.Units, 1)), supportedUnits)
}

func (r *UPFReconciler) applyN4(ctx context.Context, s *upfScope) error {
	// A locked unit keeps its Service: SMFs find the same address when it is unlocked.
	for unit := range possibleUnits(s.upf) {
		service := specs.N4Service(s.upf, unit)
		if err := r.applier.apply(ctx, service); err != nil {
			return err
		}
		s.units = append(s.units, newUnitScope(s.upf, unit, service.Spec.ClusterIP))
	}
	return nil
}

func (r *UPFReconciler) keepUnits(ctx context.Context, s *upfScope) error {
	for _, u := range s.units {
		if err := r.keepUnit(ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// removeSurplus takes away pods of units that are not wanted, and configurations that no pod reads.
func (r *UPFReconciler) removeSurplus(ctx context.Context, s *upfScope) error {
	pods, err := r.pods(ctx, s.upf)
	if err != nil {
		return err
	}
	read := map[string]bool{}
	for _, u := range s.units {
		if u.want.Config != nil {
			read[u.want.Config.Name] = true
		}
	}
	for i := range pods {
		for _, v := range pods[i].Spec.Volumes {
			if v.ConfigMap != nil {
				read[v.ConfigMap.Name] = true
			}
		}
		if s.unit(pods[i].Name) == nil && pods[i].DeletionTimestamp.IsZero() {
			if err := client.IgnoreNotFound(r.Delete(ctx, &pods[i])); err != nil {
				return err
			}
		}
	}
	var configs corev1.ConfigMapList
	if err := r.List(ctx, &configs, client.InNamespace(s.upf.Namespace), client.MatchingLabels(specs.UPFSelector(s.upf))); err != nil {
		return err
	}
	for i := range configs.Items {
		if c := &configs.Items[i]; !read[c.Name] && owns(s.upf, c) {
			if err := client.IgnoreNotFound(r.Delete(ctx, c)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *upfScope) unit(name string) *unitScope {
	for _, u := range s.units {
		if u.status.Name == name {
			return u
		}
	}
	return nil
}

func (r *UPFReconciler) sum(_ context.Context, s *upfScope) error {
	kinds := []string{
		api.ConditionPlaced, api.ConditionN3Attached, api.ConditionN6Attached,
		api.ConditionUnitsReady, api.ConditionEndpointsAllocated,
	}
	if s.conditions.sum(kinds, fmt.Sprintf("%d units forward packets", s.upf.Status.ReadyUnits)) {
		announce(r.Recorder, s.upf, s.upf.Status.Conditions)
	}
	return nil
}

// SetupWithManager watches UPFInstances, what they own, their Slices and their core.
func (r *UPFReconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = newApplier(mgr.GetClient())
	all := handler.EnqueueRequestsFromMapFunc(r.upfsOfNamespace)
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.UPFInstance{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&api.Slice{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Core5G{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

func (r *UPFReconciler) upfsOfNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	var list api.UPFInstanceList
	if err := r.List(ctx, &list, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}
