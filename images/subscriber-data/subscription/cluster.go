package subscription

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/objectcache"
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

// CacheOptions are those of the cache that Cluster reads: one namespace, and of each object what is served. What is read is not
// copied: nobody changes it, and a challenge reads a Core5G twice.
func CacheOptions(scheme *runtime.Scheme, namespace string) cache.Options {
	return cache.Options{
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultTransform:  served, NewInformer: objectcache.NewInformer(served),
		DefaultUnsafeDisableDeepCopy: ptr(true),
	}
}

// served takes out of an object what is not served: of a Subscriber, of which there are many, its status too.
func served(o any) (any, error) {
	if s, ok := o.(*v1alpha1.Subscriber); ok {
		s.Status = v1alpha1.SubscriberStatus{}
		objectcache.Subscriber(s)
		return s, nil
	}
	return objectcache.WithoutManagedFields(o)
}

// Cluster is Objects from a Kubernetes namespace. Custom resources come from a cache that watches them, and so do the keys
// of subscribers (see Watch), so that a challenge asks nobody. A Secret that is not watched, or not yet, is read when it
// is needed; the last good copy serves while the API server does not answer, and as long as its Subscriber is there.
type Cluster struct {
	cache client.Reader
	// api is asked for what is not watched: Secrets, and whether there is a Subscriber.
	api       client.Reader
	namespace string
	core      string
	// patience is for one answer of the API server.
	patience time.Duration
	// keys are the watched Secrets, nil where none are; watching says that they are known.
	keys     client.Reader
	watching func() bool
	listeners

	mu   sync.Mutex
	last map[string]copied
}

// copied is what was read of a Secret, and its resource version.
type copied struct {
	data    map[string][]byte
	version string
}

// secretPatience leaves a UE the most of its T3510, 15 s (TS 24.501 table 10.2.1): an API server whose node is gone
// refuses nothing, and a connection to it ends after half a minute.
const secretPatience = 2 * time.Second

// NewCluster reads the named core. cache must have SUPIIndex.
func NewCluster(cache, api client.Reader, namespace, core string) *Cluster {
	return &Cluster{
		cache: cache, api: api, namespace: namespace, core: core, patience: secretPatience,
		last: make(map[string]copied),
	}
}

// KeyCacheOptions are those of the cache that Watch takes: of all Secrets of the namespace it holds the keys of subscribers,
// and of the others no more than that they are there.
func KeyCacheOptions(scheme *runtime.Scheme, namespace string) cache.Options {
	return cache.Options{
		Scheme:                       scheme,
		DefaultNamespaces:            map[string]cache.Config{namespace: {}},
		DefaultTransform:             keysAlone,
		NewInformer:                  objectcache.NewInformer(keysAlone),
		DefaultUnsafeDisableDeepCopy: ptr(true),
	}
}

func ptr[T any](v T) *T { return &v }

// keysAlone takes out of a Secret all but its name and a subscriber's keys.
func keysAlone(o any) (any, error) {
	s, ok := o.(*corev1.Secret)
	if !ok {
		return o, nil
	}
	s.ObjectMeta = metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace, UID: s.UID, ResourceVersion: s.ResourceVersion, DeletionTimestamp: s.DeletionTimestamp}
	data := s.Data
	s.Data, s.StringData = nil, nil
	if _, subscriber := data[v1alpha1.SecretKeyK]; !subscriber {
		return s, nil
	}
	s.Data = make(map[string][]byte, 2)
	for _, name := range []string{v1alpha1.SecretKeyK, v1alpha1.SecretKeyOPc, v1alpha1.SecretKeyOP} {
		if value, there := data[name]; there {
			s.Data[name] = value
		}
	}
	return s, nil
}

// Watch has keys read from Secrets that a cache watches, once it is known that they have been read.
func (c *Cluster) Watch(keys client.Reader, known func() bool) { c.keys, c.watching = keys, known }

// Follow has what was read of a Secret go with the Subscriber that names it, and changes of Subscribers told: the informer
// is theirs.
func (c *Cluster) Follow(subscribers cache.Informer) error {
	_, err := subscribers.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if s, is := o.(*v1alpha1.Subscriber); is {
				c.tell(s.Spec.SUPI)
			}
		},
		UpdateFunc: func(before, now any) {
			old, was := before.(*v1alpha1.Subscriber)
			s, is := now.(*v1alpha1.Subscriber)
			if !was || !is {
				return
			}
			if old.Spec.Authentication.SecretRef.Name != s.Spec.Authentication.SecretRef.Name {
				c.forget(old.Spec.Authentication.SecretRef.Name)
			}
			if old.Generation != s.Generation || (old.DeletionTimestamp == nil) != (s.DeletionTimestamp == nil) {
				c.tell(s.Spec.SUPI)
			}
		},
		DeleteFunc: func(o any) {
			if tombstone, is := o.(toolscache.DeletedFinalStateUnknown); is {
				o = tombstone.Obj
			}
			if s, is := o.(*v1alpha1.Subscriber); is {
				c.forget(s.Spec.Authentication.SecretRef.Name)
				c.tell(s.Spec.SUPI)
			}
		},
	})
	return err
}

// FollowShared has changes told of what every Subscriber may be made of: the informer is that of Slices, or of Core5Gs.
func (c *Cluster) FollowShared(objects cache.Informer) error {
	_, err := objects.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.tell("") },
		UpdateFunc: func(before, now any) {
			old, was := before.(client.Object)
			o, is := now.(client.Object)
			if was && is && (old.GetGeneration() != o.GetGeneration() || (old.GetDeletionTimestamp() == nil) != (o.GetDeletionTimestamp() == nil)) {
				c.tell("")
			}
		},
		DeleteFunc: func(any) { c.tell("") },
	})
	return err
}

// forget drops the last good copy of a Secret. Another Subscriber that names it has it read again.
func (c *Cluster) forget(secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.last, secret)
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
	return c.first(list.Items)
}

// first of those that claim a SUPI, none: ErrUnknownSubscriber.
func (c *Cluster) first(list []v1alpha1.Subscriber) (*v1alpha1.Subscriber, error) {
	mine := slices.DeleteFunc(list, func(s v1alpha1.Subscriber) bool {
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
	data, version := c.watched(ctx, name)
	if data != nil {
		return data, nil
	}
	if kept, there := c.copyOf(name); there && version != "" && kept.version == version {
		return kept.data, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	var o corev1.Secret
	err := c.api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &o)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.last[name] = copied{o.Data, o.ResourceVersion}
		return o.Data, nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		delete(c.last, name)
		if apierrors.IsNotFound(err) {
			return nil, ErrNotFound
		}
		return nil, err
	}
	if kept, ok := c.last[name]; ok {
		return kept.data, nil
	}
	return nil, err
}

// watched are a subscriber's keys, nil where they are not watched, and the version of the Secret. What the cache has is what
// the API server said last; of a Secret of something else, such as the private keys of the home network, it says whether
// what was read of it is still so.
func (c *Cluster) watched(ctx context.Context, name string) (data map[string][]byte, version string) {
	if c.keys == nil || !c.watching() {
		return nil, ""
	}
	var o corev1.Secret
	if c.keys.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &o) != nil {
		return nil, ""
	}
	return o.Data, o.ResourceVersion
}

func (c *Cluster) copyOf(secret string) (copied, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, there := c.last[secret]
	return kept, there
}
