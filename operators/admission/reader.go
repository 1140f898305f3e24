package admission

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/specs"
)

// reader finds the other objects of a namespace.
type reader struct {
	// cached is behind by some milliseconds, live is not and costs the API server a look.
	cached, live client.Reader
	platform     specs.Platform
}

func (r reader) slices(ctx context.Context, namespace string) ([]api.Slice, error) {
	var list api.SliceList
	err := r.live.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// slicesOf are those of one core.
func (r reader) slicesOf(ctx context.Context, core *api.Core5G) ([]api.Slice, error) {
	all, err := r.slices(ctx, core.Namespace)
	return slices.DeleteFunc(all, func(s api.Slice) bool { return s.Spec.CoreRef.NameOrDefault() != core.Name }), err
}

func (r reader) upfs(ctx context.Context, namespace string) ([]api.UPFInstance, error) {
	var list api.UPFInstanceList
	err := r.live.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// core is nil where it does not exist.
func (r reader) core(ctx context.Context, namespace, name string) (*api.Core5G, error) {
	core := &api.Core5G{}
	err := r.cached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, core)
	if !apierrors.IsNotFound(err) {
		return core, err
	}
	var list api.Core5GList // it may have come with the same file
	err = r.live.List(ctx, &list, client.InNamespace(namespace))
	return named(list.Items, name, func(c *api.Core5G) string { return c.Name }), err
}

// slice is nil where it does not exist.
func (r reader) slice(ctx context.Context, namespace, name string) (*api.Slice, error) {
	slice := &api.Slice{}
	err := r.cached.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, slice)
	if !apierrors.IsNotFound(err) {
		return slice, err
	}
	all, err := r.slices(ctx, namespace)
	return named(all, name, func(s *api.Slice) string { return s.Name }), err
}

func named[T any](list []T, name string, of func(*T) string) *T {
	for i := range list {
		if of(&list[i]) == name {
			return &list[i]
		}
	}
	return nil
}

// subscribers that an index leads to.
func (r reader) subscribers(ctx context.Context, namespace, index, value string) ([]api.Subscriber, error) {
	return subscriber.By(ctx, r.cached, namespace, index, value)
}
