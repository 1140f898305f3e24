package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/objectcache"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CacheOptions are those of the cache that a Watcher reads: one namespace, and of each object what is read.
func CacheOptions(scheme *runtime.Scheme, namespace string) cache.Options {
	return cache.Options{
		Scheme:            scheme,
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultTransform:  objectcache.WithoutManagedFields, NewInformer: objectcache.NewInformer(objectcache.WithoutManagedFields),
	}
}

const (
	// gathering is how long changes are waited for that come together, as those of one kubectl apply do.
	gathering = 50 * time.Millisecond
	// retry is when objects are listed again that could not be.
	retry = time.Second
)

// Watcher has the Snapshot of one core that is in force.
type Watcher struct {
	reader          client.Reader
	namespace, core string
	// slice with pods of its own, which these are; "": all that have none.
	slice   string
	log     *slog.Logger
	metrics instruments
	current atomic.Pointer[configuration.Snapshot]
	changed chan struct{}

	mu        sync.Mutex // of what follows
	good      Good
	followers []func(before, now *configuration.Snapshot)
	refused   map[string]string
}

type instruments struct {
	refused  *prometheus.GaugeVec
	changes  prometheus.Counter
	failures prometheus.Counter
}

// NewWatcher of the named core. reader is a cache of the namespace, or what stands for one.
func NewWatcher(reader client.Reader, namespace, core string, log *slog.Logger, registry prometheus.Registerer) *Watcher {
	w := &Watcher{
		reader: reader, namespace: namespace, core: core, log: log, changed: make(chan struct{}, 1), refused: map[string]string{},
		metrics: instruments{
			refused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
				Name: "core5g_smf_configuration_refused", Help: "1 for an object that the SMF cannot use as it is; in_force says what it uses instead: earlier, what was last good of it, or nothing.",
			}, []string{"kind", "object", "in_force"}),
			changes: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "core5g_smf_configuration_changes_total", Help: "Configurations that the SMF took over.",
			}),
			failures: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "core5g_smf_configuration_read_failures_total", Help: "Times that the objects of the configuration could not be read.",
			}),
		},
	}
	registry.MustRegister(w.metrics.refused, w.metrics.changes, w.metrics.failures)
	return w
}

// Serve the one Slice with sessionManagement Dedicated whose pods these are; without it, or with "", all that have no pods of
// their own. It comes before the first look.
func (w *Watcher) Serve(slice string) { w.slice = slice }

func (w *Watcher) serves(s *v1alpha1.Slice) bool {
	if s.Spec.CoreRef.NameOrDefault() != w.core {
		return false
	}
	dedicated := s.Spec.SessionManagement == v1alpha1.SessionManagementDedicated
	return w.slice == "" && !dedicated || dedicated && w.slice == s.Name
}

// Current is the Snapshot in force; nil until the first was built.
func (w *Watcher) Current() *configuration.Snapshot { return w.current.Load() }

// Follow has f told of every Snapshot from now on, one after the other, with the one before it, nil at first. f must not
// wait.
func (w *Watcher) Follow(f func(before, now *configuration.Snapshot)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers = append(w.followers, f)
	if now := w.Current(); now != nil {
		f(nil, now)
	}
}

// Informers is what of a cache.Cache a Watcher needs.
type Informers interface {
	GetInformer(ctx context.Context, o client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Watch has the Watcher look again when an object of the cache changes. The cache is started by the caller.
func (w *Watcher) Watch(ctx context.Context, informers Informers) error {
	for _, kind := range []client.Object{&v1alpha1.Core5G{}, &v1alpha1.Slice{}, &v1alpha1.UPFInstance{}} {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
		look := func(any) { w.Look() }
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: look, DeleteFunc: look, UpdateFunc: func(_, now any) { w.Look() },
		}); err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return nil
}

// Look has Run build a Snapshot soon.
func (w *Watcher) Look() {
	select {
	case w.changed <- struct{}{}:
	default: // it will, anyway
	}
}

// Run builds a Snapshot at once, and whenever it is to look, until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	armed := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
			if !armed {
				timer.Reset(gathering)
				armed = true
			}
		case <-timer.C:
			if armed = w.Refresh(ctx) != nil; armed {
				timer.Reset(retry)
			}
		}
	}
}

// Refresh builds a Snapshot from the objects as they are now, and puts it in force. Where they cannot be read, the one
// before stays.
func (w *Watcher) Refresh(ctx context.Context) error {
	objects, err := w.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.metrics.failures.Inc()
			w.log.Error("the configuration cannot be read, the one before stays in force", "error", err)
		}
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, refusals := Build(objects, &w.good)
	w.say(refusals)
	before := w.Current()
	if now.Equal(before) {
		return nil
	}
	w.current.Store(now)
	w.metrics.changes.Inc()
	for _, f := range w.followers {
		f(before, now)
	}
	return nil
}

func (w *Watcher) read(ctx context.Context) (Objects, error) {
	var o Objects
	core := &v1alpha1.Core5G{}
	err := w.reader.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: w.core}, core)
	switch {
	case err == nil:
		o.Core = core
	case !apierrors.IsNotFound(err):
		return o, err
	}
	var all v1alpha1.SliceList
	if err := w.reader.List(ctx, &all, client.InNamespace(w.namespace)); err != nil {
		return o, err
	}
	o.Slices = slices.DeleteFunc(all.Items, func(s v1alpha1.Slice) bool { return !w.serves(&s) })
	var upfs v1alpha1.UPFInstanceList
	if err := w.reader.List(ctx, &upfs, client.InNamespace(w.namespace)); err != nil {
		return o, err
	}
	o.UPFInstances = slices.DeleteFunc(upfs.Items, func(u v1alpha1.UPFInstance) bool { return u.Spec.CoreRef.NameOrDefault() != w.core })
	return o, nil
}

// say what cannot be used, once for each sentence; mu is held.
func (w *Watcher) say(refusals []Refusal) {
	w.metrics.refused.Reset()
	said := map[string]string{}
	for _, r := range refusals {
		force := "nothing"
		if r.Earlier {
			force = "earlier"
		}
		w.metrics.refused.WithLabelValues(r.Kind, r.Name, force).Set(1)
		key := r.Kind + "/" + r.Name
		said[key] = force + ": " + r.Err.Error()
		if w.refused[key] != said[key] {
			w.log.Warn("an object cannot be used as it is", "kind", r.Kind, "name", r.Name, "in_force", force, "error", r.Err)
		}
	}
	for key := range w.refused {
		if _, still := said[key]; !still {
			w.log.Info("an object can be used again", "object", key)
		}
	}
	w.refused = said
}
