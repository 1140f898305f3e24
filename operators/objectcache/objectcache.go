// Package objectcache keeps caches of many objects small. A cache holds every object of its kinds, and for a
// moment more than that: a reflector asks for all of a kind in one answer, which is decoded as a whole before
// anything of it can be left out. With 20,000 Subscribers that moment decides how much memory a program needs.
// So lists are read in pages, and what nobody reads is taken out of each page as it comes.
package objectcache

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// WithoutManagedFields takes out of an object who has written which of its fields. An update of an object
// without managedFields leaves those of the API server as they are.
func WithoutManagedFields(o any) (any, error) {
	// A deletion that was missed comes as a tombstone of what the cache has.
	if accessor, err := meta.Accessor(o); err == nil {
		accessor.SetManagedFields(nil)
	}
	return o, nil
}

// NewInformer is for cache.Options, with the transformation of its objects, which changes them in place: it returns
// how to make an informer that lists page by page and cuts each page down as it comes.
func NewInformer(cut toolscache.TransformFunc) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		return toolscache.NewSharedIndexInformer(paged{toolscache.ToListerWatcherWithContext(lw), cut}, example, resync, indexers)
	}
}

// paged lists in pages of the size that the reflector's pager asks for.
type paged struct {
	toolscache.ListerWatcherWithContext
	cut toolscache.TransformFunc
}

// List and Watch make it what an informer is made from; a reflector calls those with a context.
func (p paged) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

func (p paged) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// ListWithContext asks for the newest objects where a reflector would take any: only then the API server keeps to
// the limit.
func (p paged) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersion == "0" && options.Limit > 0 {
		options.ResourceVersion = ""
	}
	list, err := p.ListerWatcherWithContext.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := meta.EachListItem(list, func(o runtime.Object) error {
		_, err := p.cut(o)
		return err
	}); err != nil {
		return nil, fmt.Errorf("a page of %T: %w", list, err)
	}
	return list, nil
}
