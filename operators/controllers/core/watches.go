package core

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/certifying"
	"core5g.dev/core5g/operators/specs"
)

// SetupWithManager watches the Core5G, what it owns, its Slices, and the Secrets that it names.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.applier = applying.New(mgr.GetClient(), mgr.GetAPIReader())
	r.certifier = certifying.New(mgr.GetClient(), r.applier, r.Recorder, r.Now)
	r.Registrations.asking = asking.New()
	return ctrl.NewControllerManagedBy(mgr).
		For(&api.Core5G{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&api.Slice{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			slice := o.(*api.Slice)
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: slice.Namespace, Name: slice.Spec.CoreRef.NameOrDefault()}}}
		}), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.coresOfSecret)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(coreOfPod)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(applying.NamedBy(api.LabelInstance)), applying.AllocationsMoved(api.LabelInstance)).
		WatchesRawSource(source.Channel(r.Registrations.asking.Answered, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// coreOfPod leads from a pod of a function to its core, so that status says at once what a pod waits
// for.
func coreOfPod(_ context.Context, o client.Object) []reconcile.Request {
	core := o.GetLabels()[api.LabelInstance]
	component := o.GetLabels()[api.LabelComponent]
	if core == "" || !slices.Contains([]string{"amf", specs.ComponentN2, "nrf", "pcf", "chf", "database", "session-store", "subscriber-data", "smf", string(api.FunctionControlPlane)}, component) || o.GetLabels()[api.LabelSlice] != "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: core}}}
}

func (r *Reconciler) coresOfSecret(ctx context.Context, o client.Object) []reconcile.Request {
	if requests := coreOfCertificate(o); requests != nil {
		return requests
	}
	var cores api.Core5GList
	if err := r.List(ctx, &cores, client.InNamespace(o.GetNamespace())); err != nil {
		return nil
	}
	var out []reconcile.Request
	for i := range cores.Items {
		core := &cores.Items[i]
		ref := core.Spec.Database.URISecretRef
		store := specs.NeedsSessionStore(core) &&
			(o.GetName() == specs.SessionStoreSecretName(core) || o.GetName() == specs.SessionStoreKeysName(core.Name))
		if store || o.GetName() == specs.SubscriberDatabaseSecretName(core) || ref != nil && ref.Name == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&cores.Items[i])})
		}
	}
	return out
}

// coreOfCertificate leads from a Secret with a certificate to its core, so that one that was deleted is
// made again at once, and one that cert-manager has made is noticed.
func coreOfCertificate(o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[api.LabelManagedBy] != specs.Labels("", "")[api.LabelManagedBy] || labels[api.LabelInstance] == "" || labels[api.LabelSlice] != "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: labels[api.LabelInstance]}}}
}
