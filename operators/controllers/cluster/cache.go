package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/objectcache"
	"core5g.dev/core5g/operators/specs"
)

// CacheOptions restricts what the controllers see to namespaces (or all, when there are none), and of other
// projects' kinds to what the operator has made; of Secrets to their metadata, together with NewClient.
func CacheOptions(namespaces ...string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{api.LabelManagedBy: api.ManagedBy})
	options := cache.Options{DefaultTransform: withVersions, NewInformer: objectcache.NewInformer(withVersions), ByObject: map[client.Object]cache.ByObject{
		&corev1.Pod{}:                   {Label: ours},
		&corev1.Service{}:               {Label: ours},
		&corev1.ConfigMap{}:             {Label: ours},
		&appsv1.Deployment{}:            {Label: ours},
		&policyv1.PodDisruptionBudget{}: {Label: ours},
		&networkingv1.NetworkPolicy{}:   {Label: ours},
		&coordinationv1.Lease{}:         {Label: ours},
	}}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range namespaces {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options
}

// cut takes out of an object what no controller reads. Of the kinds that there are many of it is more: they are
// patched, and never updated.
func cut(o any) (any, error) {
	switch o := o.(type) {
	case *api.Subscriber:
		objectcache.Subscriber(o)
		return o, nil
	case *metav1.PartialObjectMetadata:
		if o.Kind == "Secret" {
			objectcache.Secret(o, api.LabelManagedBy, specs.FieldOwner)
			return o, nil
		}
	}
	return objectcache.WithoutManagedFields(o)
}

// withVersions is cut, but for what a StoredVersion has to do with, until it is done.
func withVersions(o any) (any, error) {
	accessor, err := meta.Accessor(o)
	if err != nil || !OfAnotherVersion(accessor.GetManagedFields()) {
		return cut(o)
	}
	fields := accessor.GetManagedFields()
	if o, err = cut(o); err == nil {
		accessor.SetManagedFields(fields)
	}
	return o, err
}
