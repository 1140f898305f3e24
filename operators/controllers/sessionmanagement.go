package controllers

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sessionmanagement "core5g.dev/core5g/images/session-management/configuration/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// With controlPlane Core5G the core has one SMF for all Slices, made by the Core5G's controller; a Slice with
// sessionManagement Dedicated has another, made by its own. Both read Slices and UPFInstances themselves: neither is
// restarted for a Slice, and nobody is told of units.

// applySessionManagement makes the core's SMF, with the addresses of its shards.
func (r *CoreReconciler) applySessionManagement(ctx context.Context, s *coreScope) error {
	if s.halted || !s.core.OwnControlPlane() {
		meta.RemoveStatusCondition(&s.core.Status.Conditions, api.ConditionSMFReady)
		return nil
	}
	if s.core.Fused() || s.switching { // it is a part of the one pod, or waits until that has gone
		return nil
	}
	objects, err := applying.SMFSet(ctx, r.applier, s.kept, specs.SMFSet{Core: s.core}, r.Platform)
	if err != nil {
		return err
	}
	s.functions = append(s.functions, objects)
	return nil
}

// unwantedSessionManagement is what the core's SMF has no use for: all of it with controlPlane Free5GC, else shards that
// were taken away. Its PodDisruptionBudget stays and means nobody.
func unwantedSessionManagement(core *api.Core5G) []client.Object {
	set, shards, outside := specs.SMFSet{Core: core}, 0, 0
	var out []client.Object
	if core.OwnControlPlane() {
		shards, outside = set.Shards(), len(set.OutsideServices())
	} else {
		out = append(out, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: core.Namespace, Name: set.Object()}})
	}
	for shard := shards + 1; shard <= mostShards; shard++ {
		out = append(out, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: core.Namespace, Name: set.ShardServiceName(shard)}})
	}
	for shard := outside + 1; shard <= mostShards; shard++ {
		out = append(out, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: core.Namespace, Name: set.OutsideServiceName(shard)}})
	}
	return out
}

// mostShards is what the definition allows.
const mostShards = 64

// shardsOf the core's SMFs ought to be registered, each by itself.
func shardsOf(s *coreScope, add func(nfType, object string, labels map[string]string) error) error {
	sets := []specs.SMFSet{{Core: s.core}}
	for i := range s.slices {
		if s.slices[i].Spec.SessionManagement == api.SessionManagementDedicated {
			sets = append(sets, specs.SMFSetOf(s.core, &s.slices[i]))
		}
	}
	for _, set := range sets {
		for shard := 1; shard <= set.Shards(); shard++ {
			if err := add("SMF", set.ShardServiceName(shard), set.Labels()); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOwnSMF has the Slice served by core5g's own SMF, once free5GC's has left.
func (r *SliceReconciler) applyOwnSMF(ctx context.Context, s *sliceScope) error {
	problem, err := r.leaveFree5GC(ctx, s.slice)
	if err != nil {
		return err
	}
	if problem != "" {
		s.again(releaseRetry)
		s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, "free5GC's SMF gives the Slice up: "+problem)
		return nil
	}
	set := specs.SMFSetOf(s.core, s.slice)
	deployment := &appsv1.Deployment{}
	if set.Slice != nil {
		if problem, err = r.keepCertificate(ctx, s); err != nil {
			return err
		}
		if problem != "" {
			s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, problem)
			return nil
		}
		objects, err := applying.SMFSet(ctx, r.applier, s.kept, set, r.Platform)
		if err != nil {
			return s.taken(err)
		}
		if len(set.OutsideServices()) == 0 {
			if err := r.applier.Remove(ctx, s.slice, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.slice.Namespace, Name: set.OutsideServiceName(1)}}); err != nil {
				return err
			}
		}
		deployment = objects.Deployment
	} else {
		if err := r.removeOwnSMF(ctx, s); err != nil {
			return err
		}
		err := r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: set.Deployment()}, deployment)
		if apierrors.IsNotFound(err) {
			s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, fmt.Sprintf("Core5G %s has not made %s yet", s.core.Name, set.Deployment()))
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.slice.Status.SMF = set.Deployment()
	if refused, err := r.judgeSlice(ctx, s); err != nil {
		return err
	} else if refused != nil {
		s.conditions.No(api.ConditionSMFReady, api.ReasonMalformed, fmt.Sprintf("the SMF cannot use the Slice as it is, and serves it as before, or not at all where it is new: %v", refused))
		return nil
	}
	if smfServes(deployment) {
		s.conditions.Yes(api.ConditionSMFReady, api.ReasonReady, set.Deployment()+" is ready")
		return nil
	}
	if problem, err = workloads.DeploymentProblem(ctx, r.Client, deployment); err != nil {
		return err
	}
	s.conditions.No(api.ConditionSMFReady, api.ReasonProgressing, problem)
	return nil
}

// judgeSlice by the word of core5g's own SMF, which follows the Slice itself: what neither the schema nor the other conditions see.
func (r *SliceReconciler) judgeSlice(ctx context.Context, s *sliceScope) (refused, err error) {
	all, err := r.upfs(ctx, s)
	if err != nil {
		return nil, err
	}
	var used []api.UPFInstance
	for i := range all {
		if u := &all[i]; u.Name == s.upf.Name || slices.Contains(specs.FurtherUPFs(s.slice), u.Name) {
			used = append(used, *u.DeepCopy())
		}
	}
	return sessionmanagement.Problem(s.core, s.slice.DeepCopy(), used), nil
}

// leaveFree5GC stops the SMF that the Slice had for itself, has the UPF end its sessions, and takes away what was around
// it. The problem says what it waits for.
func (r *SliceReconciler) leaveFree5GC(ctx context.Context, slice *api.Slice) (problem string, err error) {
	if problem, err = r.stopSMF(ctx, slice); problem != "" || err != nil {
		return problem, err
	}
	name := specs.SMFObjectName(slice.Spec.CoreRef.NameOrDefault(), slice.Name)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: slice.Namespace, Name: name}}
	switch err := r.Get(ctx, client.ObjectKeyFromObject(service), service); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	if problem, err = r.releaseSessions(ctx, slice); problem != "" || err != nil {
		return problem, err
	}
	slice.Status.PreviousUPF = nil
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: slice.Namespace, Name: name + "-config"}}
	if err := r.applier.Remove(ctx, slice, config); err != nil {
		return "", err
	}
	return "", r.applier.Remove(ctx, slice, service)
}

// removeOwnSMF takes away the pods that a Slice had for itself, and no more wants.
func (r *SliceReconciler) removeOwnSMF(ctx context.Context, s *sliceScope) error {
	set := specs.SMFSet{Core: s.core, Slice: s.slice}
	name, outside := metav1.ObjectMeta{Namespace: s.slice.Namespace, Name: set.Object()}, metav1.ObjectMeta{Namespace: s.slice.Namespace, Name: set.OutsideServiceName(1)}
	for _, o := range []client.Object{&appsv1.Deployment{ObjectMeta: name}, &corev1.Service{ObjectMeta: name}, &corev1.Service{ObjectMeta: outside}} {
		if err := r.applier.Remove(ctx, s.slice, o); err != nil {
			return err
		}
	}
	return nil
}
