package core

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/specs"
)

// With controlPlane Core5G the core has one SMF for all Slices, made by the Core5G's controller; a Slice with
// sessionManagement Dedicated has another, made by its own. Both read Slices and UPFInstances themselves: neither is
// restarted for a Slice, and nobody is told of units.

// applySessionManagement makes the core's SMF, with the addresses of its shards.
func (r *Reconciler) applySessionManagement(ctx context.Context, s *scope) error {
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
func shardsOf(s *scope, add func(nfType, object string, labels map[string]string) error) error {
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
