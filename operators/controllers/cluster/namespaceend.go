package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A namespace that is deleted takes everything with it: pods first, where Kubernetes is 1.33 or later, the operator's own
// among them, and custom resources when all pods are gone. Nobody would serve their finalizers then, and the namespace
// would stay for ever. There is nothing left for them to guard: so the operator takes its own finalizers off when it
// is told to stop in such a namespace, puts none on there, and waits for nothing of what is deleted there.

// NamespaceEnds reports whether the namespace is being deleted. An answer that does not come is a no.
func NamespaceEnds(ctx context.Context, live client.Reader, name string) bool {
	namespace := &corev1.Namespace{}
	return live.Get(ctx, client.ObjectKey{Name: name}, namespace) == nil && !namespace.DeletionTimestamp.IsZero()
}

// LetGo takes the operator's finalizers off all objects of a namespace that is being deleted, and returns of how many. Of
// another namespace it does nothing.
func LetGo(ctx context.Context, c client.Client, namespace string) (int, error) {
	if !NamespaceEnds(ctx, c, namespace) {
		return 0, nil
	}
	var slices api.SliceList
	var upfs api.UPFInstanceList
	var problems []error
	for _, list := range []client.ObjectList{&slices, &upfs} {
		problems = append(problems, c.List(ctx, list, client.InNamespace(namespace)))
	}
	var all []client.Object
	for i := range slices.Items {
		all = append(all, &slices.Items[i])
	}
	for i := range upfs.Items {
		all = append(all, &upfs.Items[i])
	}
	count := 0
	for _, o := range all {
		if !controllerutil.RemoveFinalizer(o, api.Finalizer) {
			continue
		}
		if err := client.IgnoreNotFound(c.Update(ctx, o)); err != nil {
			problems = append(problems, fmt.Errorf("finalizer of %T %s: %w", o, o.GetName(), err))
			continue
		}
		count++
	}
	return count, errors.Join(problems...)
}
