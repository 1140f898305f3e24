package controllers

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// applier applies objects server-side with the one field owner. It remembers what it applied last and
// what the API server made of it, and stays quiet while both are the same: reconciling is cheap, and
// a change by somebody else is still undone. Objects of others with the same name are a cluster.TakenError.
type applier struct {
	client client.Client
	// live reads past the cache.
	live client.Reader

	mu   sync.Mutex
	seen map[string]string
}

func newApplier(c client.Client, live client.Reader) *applier {
	return &applier{client: c, live: live, seen: map[string]string{}}
}

// apply brings the object about and fills in what the API server has of it (a ClusterIP, a status).
func (a *applier) apply(ctx context.Context, object client.Object) error {
	gvk, err := apiutil.GVKForObject(object, a.client.Scheme())
	if err != nil {
		return err
	}
	desired, err := intent(object)
	if err != nil {
		return err
	}
	desired.SetGroupVersionKind(gvk)
	hash := specs.Hash(desired.Object)
	key := gvk.String() + " " + client.ObjectKeyFromObject(object).String()

	live := object.DeepCopyObject().(client.Object)
	err = a.client.Get(ctx, client.ObjectKeyFromObject(object), live)
	options := []client.PatchOption{client.FieldOwner(specs.FieldOwner)}
	switch {
	case apierrors.IsNotFound(err):
		// Without force: what comes in between is not overwritten. Kinds of other projects are in no cache.
		if _, live := object.(*unstructured.Unstructured); !live {
			if err := a.free(ctx, gvk, desired); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	case a.last(key) == mark(hash, live):
		return copyInto(object, live)
	default:
		if err := cluster.Belongs(gvk.Kind, live, metav1.GetControllerOf(desired)); err != nil {
			return err
		}
		options = append(options, client.ForceOwnership)
	}
	if err := a.client.Patch(ctx, desired, client.Apply, options...); err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	a.remember(key, mark(hash, desired))
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object = desired.Object
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(desired.Object, object)
}

func copyInto(object, live client.Object) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return err
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.Object = raw
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(raw, object)
}

// intent is the object without what a builder cannot know: the field owner must not claim it.
func intent(object client.Object) (*unstructured.Unstructured, error) {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(raw)}
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "creationTimestamp")
	return u, nil
}

// mark joins what was asked with the version that came of it: the generation where there is one,
// because a status moves the resource version.
func mark(hash string, live client.Object) string {
	if g := live.GetGeneration(); g > 0 {
		return fmt.Sprintf("%s %s generation %d", hash, live.GetUID(), g)
	}
	return fmt.Sprintf("%s %s version %s", hash, live.GetUID(), live.GetResourceVersion())
}

func (a *applier) last(key string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[key]
}

func (a *applier) remember(key, mark string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[key] = mark
}

// applyFunction applies everything around one network function, its configuration before the pods
// that read it. Its Services have the addresses that k says they had.
func (a *applier) applyFunction(ctx context.Context, k *allocations, o *specs.FunctionObjects) error {
	if o.ConfigMap != nil {
		if err := a.apply(ctx, o.ConfigMap); err != nil {
			return err
		}
	}
	if o.Secret != nil {
		if err := a.apply(ctx, o.Secret); err != nil {
			return err
		}
	}
	for _, s := range o.Services {
		if err := a.applyService(ctx, k, s); err != nil {
			return err
		}
	}
	if o.Budget != nil {
		if err := a.apply(ctx, o.Budget); err != nil {
			return err
		}
	}
	live := &appsv1.Deployment{}
	switch err := a.client.Get(ctx, client.ObjectKeyFromObject(o.Deployment), live); {
	case err == nil:
		specs.KeepRunning(o.Deployment, live)
	case !apierrors.IsNotFound(err):
		return err
	}
	return a.apply(ctx, o.Deployment)
}

// remove deletes the object if it is there and has the given owner.
func (a *applier) remove(ctx context.Context, owner client.Object, object client.Object) error {
	err := a.client.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !cluster.Owns(owner, object) || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return client.IgnoreNotFound(a.client.Delete(ctx, object, client.PropagationPolicy("Background")))
}

// free looks past the cache, which has the operator's own objects alone, whether a name is free.
func (a *applier) free(ctx context.Context, gvk schema.GroupVersionKind, desired client.Object) error {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(gvk)
	err := a.live.Get(ctx, client.ObjectKeyFromObject(desired), there)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	return cluster.Belongs(gvk.Kind, there, metav1.GetControllerOf(desired))
}
