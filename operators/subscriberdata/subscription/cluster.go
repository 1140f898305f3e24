package subscription

import (
	"cmp"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// SUPIIndex is the cache index that Cluster finds Subscribers with.
const SUPIIndex = "spec.supi"

// IndexSUPI is the index function of SUPIIndex.
func IndexSUPI(o client.Object) []string {
	if s, ok := o.(*v1alpha1.Subscriber); ok {
		return []string{s.Spec.SUPI}
	}
	return nil
}

// Cluster is Objects from a Kubernetes namespace. Custom resources come from a cache that watches them.
// Secrets are read one by one when they are needed, so that no more than "get" is asked for and a new
// key is in force at once; the last good copy serves while the API server does not answer.
type Cluster struct {
	cache     client.Reader
	secrets   client.Reader
	namespace string
	core      string

	mu   sync.Mutex
	last map[string]map[string][]byte
}

// NewCluster reads the named core. cache must have SUPIIndex.
func NewCluster(cache, secrets client.Reader, namespace, core string) *Cluster {
	return &Cluster{
		cache: cache, secrets: secrets, namespace: namespace, core: core,
		last: make(map[string]map[string][]byte),
	}
}

// Core5G implements Objects.
func (c *Cluster) Core5G(ctx context.Context) (*v1alpha1.Core5G, error) {
	var o v1alpha1.Core5G
	err := c.cache.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: c.core}, &o)
	if apierrors.IsNotFound(err) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// Slices implements Objects.
func (c *Cluster) Slices(ctx context.Context) ([]v1alpha1.Slice, error) {
	var list v1alpha1.SliceList
	if err := c.cache.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(list.Items, func(s v1alpha1.Slice) bool {
		return s.Spec.CoreRef.NameOrDefault() != c.core || s.DeletionTimestamp != nil
	})
	slices.SortFunc(mine, func(a, b v1alpha1.Slice) int { return cmp.Compare(a.Name, b.Name) })
	return mine, nil
}

// Subscriber implements Objects. Where two objects claim one SUPI, the older one has it.
func (c *Cluster) Subscriber(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	var list v1alpha1.SubscriberList
	err := c.cache.List(ctx, &list, client.InNamespace(c.namespace), client.MatchingFields{SUPIIndex: supi})
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(list.Items, func(s v1alpha1.Subscriber) bool {
		return s.Spec.CoreRef.NameOrDefault() != c.core || s.DeletionTimestamp != nil
	})
	if len(mine) == 0 {
		return nil, ErrUnknownSubscriber
	}
	first := slices.MinFunc(mine, func(a, b v1alpha1.Subscriber) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return &first, nil
}

// Secret implements Objects.
func (c *Cluster) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	var o corev1.Secret
	err := c.secrets.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &o)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.last[name] = o.Data
		return o.Data, nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		delete(c.last, name)
		if apierrors.IsNotFound(err) {
			return nil, ErrNotFound
		}
		return nil, err
	}
	if data, ok := c.last[name]; ok {
		return data, nil
	}
	return nil, err
}
