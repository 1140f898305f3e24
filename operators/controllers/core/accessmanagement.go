package core

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// free5GC's AMF and core5g's own have one name, and one is in the other's place. A Deployment keeps its selector, and two
// AMFs of one GUAMI would answer for each other's UEs: so the one is gone, with its pods, before the other is made. UEs
// register anew in any case.

// servesUEs says whether a function is the AMF, or a part of it.
func servesUEs(f api.FunctionName) bool { return conditionOf[f] == api.ConditionAMFReady }

// leaveOtherAMF takes away the AMF that is not wanted. The problem says what is still there of it.
func (r *Reconciler) leaveOtherAMF(ctx context.Context, core *api.Core5G) (problem string, err error) {
	other := "core5g's own AMF"
	if core.OwnControlPlane() {
		other = "free5GC's AMF"
	}
	d := &appsv1.Deployment{}
	err = r.Get(ctx, client.ObjectKey{Namespace: core.Namespace, Name: specs.FunctionObjectName(core.Name, api.FunctionAMF)}, d)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return "", err
	case err == nil && cluster.Owns(core, d) && !maps.Equal(d.Spec.Selector.MatchLabels, specs.AMFLabels(core)):
		return fmt.Sprintf("%s goes first: Deployment %s is being deleted", other, d.Name), r.applier.Remove(ctx, core, d)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(core.Namespace), client.MatchingLabels(specs.Labels(core.Name, string(api.FunctionAMF)))); err != nil {
		return "", err
	}
	for i := range pods.Items {
		if _, own := pods.Items[i].Labels[api.LabelAccessManagement]; own != core.OwnControlPlane() {
			return fmt.Sprintf("%s goes first: pod %s is still there", other, pods.Items[i].Name), nil
		}
	}
	return "", nil
}

// unwantedAMF is what the AMF that serves has no use for. The PodDisruptionBudgets of core5g's own stay and mean nobody.
func unwantedAMF(core *api.Core5G) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: core.Namespace, Name: name} }
	if core.OwnControlPlane() {
		return []client.Object{&corev1.ConfigMap{ObjectMeta: named(specs.FunctionObjectName(core.Name, api.FunctionAMF) + "-config")}}
	}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: named(specs.N2ServiceName(core.Name))},
		&corev1.Service{ObjectMeta: named(specs.N2WorkersServiceName(core.Name))},
		specs.N2TerminatorPolicy(core),
	}
}
