package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// A namespace has a Secret for each Subscriber, with keys that the operator looks at once. So of Secrets only the
// metadata are watched and kept; what one holds is read when it is needed. The few that the operator has made
// itself, certificates and configurations, are needed at every pass: they are read anew when their metadata say
// that they have changed. What others have made is never kept.

// secretClient reads Secrets by what their metadata say, and everything else as the client within does.
type secretClient struct {
	client.Client
	// live reads past the cache.
	live client.Reader

	mu sync.Mutex
	// own are Secrets of the operator as they were read last.
	own map[client.ObjectKey]*corev1.Secret
}

// NewClient is for the options of a manager: the client of the controllers. What is typed as a Secret comes from
// the API server, what is PartialObjectMetadata of one from the cache.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	cached, err := client.New(config, options)
	if err != nil {
		return nil, err
	}
	past := options
	past.Cache = nil
	live, err := client.New(config, past)
	if err != nil {
		return nil, err
	}
	c := &secretClient{Client: cached, live: live, own: map[client.ObjectKey]*corev1.Secret{}}
	if options.Cache == nil {
		return c, nil
	}
	informers, is := options.Cache.Reader.(cache.Informers)
	if !is {
		return nil, fmt.Errorf("%T does not say when a Secret is deleted", options.Cache.Reader)
	}
	// It is not started yet: nothing can be waited for.
	informer, err := informers.GetInformer(context.Background(), SecretMetadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: c.deleted})
	return c, err
}

// SecretMetadata is what the cache has of a Secret.
func SecretMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return m
}

// Get implements client.Reader.
func (c *secretClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	secret, is := o.(*corev1.Secret)
	if !is {
		return c.Client.Get(ctx, key, o, options...)
	}
	known := SecretMetadata()
	if err := c.Client.Get(ctx, key, known); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(key)
		}
		return err
	}
	if kept := c.kept(key); kept != nil && kept.UID == known.UID && kept.ResourceVersion == known.ResourceVersion {
		kept.DeepCopyInto(secret)
		return nil
	}
	if err := c.live.Get(ctx, key, secret, options...); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(key)
		}
		return err
	}
	if secret.Labels[api.LabelManagedBy] == specs.FieldOwner {
		c.keep(key, secret.DeepCopy())
	}
	return nil
}

// List implements client.Reader. Nobody needs what all Secrets hold, and a cache of it would be made.
func (c *secretClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, is := list.(*corev1.SecretList); is {
		return errors.New("Secrets are listed by their metadata, and read one by one")
	}
	return c.Client.List(ctx, list, options...)
}

func (c *secretClient) kept(key client.ObjectKey) *corev1.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own[key]
}

func (c *secretClient) keep(key client.ObjectKey, secret *corev1.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	secret.ManagedFields = nil
	c.own[key] = secret
}

func (c *secretClient) forget(key client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.own, key)
}

func (c *secretClient) deleted(o any) {
	if tombstone, is := o.(toolscache.DeletedFinalStateUnknown); is {
		o = tombstone.Obj
	}
	if secret, is := o.(client.Object); is {
		c.forget(client.ObjectKeyFromObject(secret))
	}
}
