package core

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// A core changes its layout by what it has left: the pods of the one go, and give up what they hold, before those of the other take it. Both at once would share
// shards, and could not pass on to each other what is another's. UEs and sessions are in the session store meanwhile, and packets flow.

// conditionsOfFused are those that the one pod of the layout Fused has: it is AMF, SMF and subscriber data.
var conditionsOfFused = []string{api.ConditionAMFReady, api.ConditionSMFReady, api.ConditionSubscriberDataReady}

// conditionsWithoutFused are of functions that the layout Fused does without.
var conditionsWithoutFused = []string{api.ConditionDatabaseReady, api.ConditionNRFReady, api.ConditionPCFReady, api.ConditionCHFReady, api.ConditionRegistered, api.ConditionCertificatesReady}

// leaveOtherLayout takes away what the core has of the layout that it is not in. The problem says whose pods are still there.
func (r *Reconciler) leaveOtherLayout(ctx context.Context, s *scope) error {
	if s.halted {
		return nil
	}
	if s.core.Fused() {
		for _, kind := range conditionsWithoutFused {
			meta.RemoveStatusCondition(&s.core.Status.Conditions, kind)
		}
	}
	other := specs.OtherLayout(s.core, r.Platform)
	unwanted := other.Rest
	guarded := false
	for _, d := range other.Deployments {
		left, err := r.left(ctx, s.core, d)
		if err != nil {
			return err
		}
		guarded = guarded || left != ""
		if left != "" && s.leaving == "" && layoutWaitsFor(d) {
			s.leaving = fmt.Sprintf("the layout before goes first: %s", left)
		}
	}
	if !guarded {
		for _, policy := range other.Policies {
			unwanted = append(unwanted, policy)
		}
	}
	for _, o := range unwanted {
		if err := r.applier.Remove(ctx, s.core, o); err != nil {
			return err
		}
	}
	s.switching = s.leaving != ""
	return nil
}

// layoutWaitsFor the pods of what holds shards, or answers for UEs.
func layoutWaitsFor(d *appsv1.Deployment) bool {
	switch d.Labels[api.LabelComponent] {
	case string(api.FunctionAMF), string(api.FunctionSMF), specs.ComponentN2, string(api.FunctionSubscriberData), string(api.FunctionControlPlane):
		return true
	}
	return false
}

// left deletes a Deployment of the core, and says what is still there of it.
func (r *Reconciler) left(ctx context.Context, core *api.Core5G, d *appsv1.Deployment) (string, error) {
	live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	err := r.Get(ctx, client.ObjectKeyFromObject(live), live)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	if err == nil && cluster.Owns(core, live) {
		return fmt.Sprintf("Deployment %s is being deleted", d.Name), r.applier.Remove(ctx, core, live)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return "", err
	}
	if len(pods.Items) > 0 {
		return fmt.Sprintf("pod %s is still there", pods.Items[0].Name), nil
	}
	return "", nil
}

// applyFused makes the one pod of the layout Fused, with the addresses of its shards.
func (r *Reconciler) applyFused(ctx context.Context, s *scope) error {
	set := specs.SMFSet{Core: s.core}
	services, outside := set.Services(), set.OutsideServices()
	for _, service := range slices.Concat(services, outside) {
		if err := r.applier.ApplyService(ctx, s.kept, service); err != nil {
			return err
		}
	}
	if s.switching {
		return nil
	}
	objects := specs.ControlPlane(s.core, r.Platform, services, outside...)
	if err := r.applier.ApplyFunction(ctx, s.kept, &objects); err != nil {
		return err
	}
	s.functions = append(s.functions, objects)
	return nil
}

// toldBy the pods of a function are these conditions.
func toldBy(f api.FunctionName) []string {
	if f == api.FunctionControlPlane {
		return conditionsOfFused
	}
	return []string{conditionOf[f]}
}
