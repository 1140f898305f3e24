package applying

import (
	"context"
	"fmt"
	"slices"
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

// Applier applies objects server-side with the one field owner. It remembers what it applied last and
// what the API server made of it, and stays quiet while both are the same: reconciling is cheap, and
// a change by somebody else is still undone. Objects of others with the same name are a cluster.TakenError.
type Applier struct {
	client client.Client
	// Live reads past the cache.
	Live client.Reader

	mu   sync.Mutex
	seen map[string]string
}

// New applies by a client, and looks past its cache by another.
func New(c client.Client, live client.Reader) *Applier {
	return &Applier{client: c, Live: live, seen: map[string]string{}}
}

// Apply brings the object about and fills in what the API server has of it (a ClusterIP, a status).
func (a *Applier) Apply(ctx context.Context, object client.Object) error {
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

func (a *Applier) last(key string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[key]
}

func (a *Applier) remember(key, mark string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[key] = mark
}

// ApplyFunction applies everything around one network function, its configuration before the pods
// that read it. Its Services have the addresses that k says they had.
func (a *Applier) ApplyFunction(ctx context.Context, k *Allocations, o *specs.FunctionObjects) error {
	if o.ConfigMap != nil {
		if err := a.Apply(ctx, o.ConfigMap); err != nil {
			return err
		}
	}
	if o.Secret != nil {
		if err := a.Apply(ctx, o.Secret); err != nil {
			return err
		}
	}
	for _, s := range o.Services {
		if err := a.ApplyService(ctx, k, s); err != nil {
			return err
		}
	}
	if o.Budget != nil {
		if err := a.Apply(ctx, o.Budget); err != nil {
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
	return a.Apply(ctx, o.Deployment)
}

// Remove deletes the object if it is there and has the given owner.
func (a *Applier) Remove(ctx context.Context, owner client.Object, object client.Object) error {
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
func (a *Applier) free(ctx context.Context, gvk schema.GroupVersionKind, desired client.Object) error {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(gvk)
	err := a.Live.Get(ctx, client.ObjectKeyFromObject(desired), there)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s %s: %w", gvk.Kind, desired.GetName(), err)
	}
	return cluster.Belongs(gvk.Kind, there, metav1.GetControllerOf(desired))
}

// Uncached is the object as one of no type: a client asks the API server for it, and makes no cache of its kind.
func Uncached(scheme *runtime.Scheme, o client.Object) (client.Object, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return nil, err
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// SMFSet applies the Services first: their addresses are told to the pods.
func SMFSet(ctx context.Context, a *Applier, k *Allocations, set specs.SMFSet, p specs.Platform) (specs.FunctionObjects, error) {
	services, outside := set.Services(), set.OutsideServices()
	for _, service := range slices.Concat(services, outside) {
		if err := a.ApplyService(ctx, k, service); err != nil {
			return specs.FunctionObjects{}, err
		}
	}
	objects := set.Build(p, services, outside...)
	return objects, a.ApplyFunction(ctx, k, &objects)
}
