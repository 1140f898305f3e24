package slice

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sessionmanagement "core5g.dev/core5g/images/session-management/configuration/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// applyOwnSMF has the Slice served by core5g's own SMF, once free5GC's has left.
func (r *Reconciler) applyOwnSMF(ctx context.Context, s *scope) error {
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
func (r *Reconciler) judgeSlice(ctx context.Context, s *scope) (refused, err error) {
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
func (r *Reconciler) leaveFree5GC(ctx context.Context, slice *api.Slice) (problem string, err error) {
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
func (r *Reconciler) removeOwnSMF(ctx context.Context, s *scope) error {
	set := specs.SMFSet{Core: s.core, Slice: s.slice}
	name, outside := metav1.ObjectMeta{Namespace: s.slice.Namespace, Name: set.Object()}, metav1.ObjectMeta{Namespace: s.slice.Namespace, Name: set.OutsideServiceName(1)}
	for _, o := range []client.Object{&appsv1.Deployment{ObjectMeta: name}, &corev1.Service{ObjectMeta: name}, &corev1.Service{ObjectMeta: outside}} {
		if err := r.applier.Remove(ctx, s.slice, o); err != nil {
			return err
		}
	}
	return nil
}
