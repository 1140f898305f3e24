package customresources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/objectcache"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	kubeconfig "sigs.k8s.io/controller-runtime/pkg/client/config"
)

// Open a cache of the namespace's objects, with the pod's own account. It is not started.
func Open(namespace string, log *slog.Logger) (cache.Cache, error) {
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	config, err := kubeconfig.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no Kubernetes: %w", err)
	}
	return OpenAs(config, namespace)
}

// OpenAs is Open with an account.
func OpenAs(config *rest.Config, namespace string) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return cache.New(config, cacheOptions(scheme, namespace))
}

// cacheOptions: one namespace, and of each object what is read.
func cacheOptions(scheme *runtime.Scheme, namespace string) cache.Options {
	return cache.Options{
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultTransform:  objectcache.WithoutManagedFields, NewInformer: objectcache.NewInformer(objectcache.WithoutManagedFields),
	}
}

// Begin to follow the objects of a cache, which it starts: there is a configuration when it returns, and it is kept until ctx ends. run does so.
func (w *Watcher[T]) Begin(ctx context.Context, run func(func() error), objects cache.Cache) error {
	run(func() error { return objects.Start(ctx) })
	if err := w.Watch(ctx, objects); err != nil {
		return err
	}
	if !objects.WaitForCacheSync(ctx) {
		return errors.New("stopped before the objects were read")
	}
	if err := w.Refresh(ctx); err != nil {
		return err
	}
	run(func() error {
		w.Run(ctx)
		return nil
	})
	return nil
}
