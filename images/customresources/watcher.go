package customresources

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// gathering is how long changes are waited for that come together, as those of one kubectl apply do.
	gathering = 50 * time.Millisecond
	// retry is when objects are listed again that could not be.
	retry = time.Second
)

// Refusal says that an object cannot be used as it is.
type Refusal struct {
	Kind, Name string
	Err        error
	// Earlier: what was last good of it is in force; otherwise nothing of it is.
	Earlier bool
}

func (r Refusal) Error() string { return fmt.Sprintf("%s %s: %v", r.Kind, r.Name, r.Err) }

// Names of a Watcher's metrics, whole, so that whoever looks for one finds it.
type Names struct{ Refused, Changes, Failures string }

// Options of a Watcher.
type Options[T any] struct {
	// Function is SMF, AMF.
	Function string
	Names    Names
	// Kinds are the objects to look at.
	Kinds []client.Object
	// Build makes a configuration of the objects as they are now, nil for none yet, and says which of them cannot be used. An error: they could not be read.
	// It is called by one at a time.
	Build func(ctx context.Context) (*T, []Refusal, error)
	// Equal says whether two configurations say the same; either may be nil.
	Equal    func(a, b *T) bool
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Watcher has the configuration that is in force.
type Watcher[T any] struct {
	Options[T]
	Metrics Metrics
	current atomic.Pointer[T]
	changed chan struct{}

	mu        sync.Mutex // of what follows
	followers []func(before, now *T)
	refused   map[string]string
}

// Metrics of a Watcher.
type Metrics struct {
	Refused  *prometheus.GaugeVec
	Changes  prometheus.Counter
	Failures prometheus.Counter
}

// New makes a Watcher that has looked at nothing yet.
func New[T any](o Options[T]) *Watcher[T] {
	w := &Watcher[T]{
		Options: o, changed: make(chan struct{}, 1), refused: map[string]string{},
		Metrics: Metrics{
			Refused: prometheus.NewGaugeVec(prometheus.GaugeOpts{
				Name: o.Names.Refused,
				Help: "1 for an object that the " + o.Function + " cannot use as it is; in_force says what it uses instead: earlier, what was last good of it, or nothing.",
			}, []string{"kind", "object", "in_force"}),
			Changes:  prometheus.NewCounter(prometheus.CounterOpts{Name: o.Names.Changes, Help: "Configurations that the " + o.Function + " took over."}),
			Failures: prometheus.NewCounter(prometheus.CounterOpts{Name: o.Names.Failures, Help: "Times that the objects of the configuration could not be read."}),
		},
	}
	o.Registry.MustRegister(w.Metrics.Refused, w.Metrics.Changes, w.Metrics.Failures)
	return w
}

// Current is the configuration in force; nil until the first was built.
func (w *Watcher[T]) Current() *T { return w.current.Load() }

// Follow has f told of every configuration from now on, one after the other, with the one before it, nil at first. f must not wait.
func (w *Watcher[T]) Follow(f func(before, now *T)) {
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

// Watch has the Watcher look again when an object of the cache changes.
func (w *Watcher[T]) Watch(ctx context.Context, informers Informers) error {
	for _, kind := range w.Kinds {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
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

// Look has Run build a configuration soon.
func (w *Watcher[T]) Look() {
	select {
	case w.changed <- struct{}{}:
	default: // it will, anyway
	}
}

// Run builds a configuration at once, and whenever it is to look, until ctx ends.
func (w *Watcher[T]) Run(ctx context.Context) {
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

// Refresh builds a configuration from the objects as they are now, and puts it in force. Where they cannot be read, the one before stays.
func (w *Watcher[T]) Refresh(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, refusals, err := w.Build(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.Metrics.Failures.Inc()
			w.Log.Error("the configuration cannot be read, the one before stays in force", "error", err)
		}
		return err
	}
	w.say(refusals)
	before := w.Current()
	if now == nil || w.Equal(now, before) {
		return nil
	}
	w.current.Store(now)
	w.Metrics.Changes.Inc()
	for _, f := range w.followers {
		f(before, now)
	}
	return nil
}

// say what cannot be used, once for each sentence; mu is held.
func (w *Watcher[T]) say(refusals []Refusal) {
	w.Metrics.Refused.Reset()
	said := map[string]string{}
	for _, r := range refusals {
		force := "nothing"
		if r.Earlier {
			force = "earlier"
		}
		w.Metrics.Refused.WithLabelValues(r.Kind, r.Name, force).Set(1)
		key := r.Kind + "/" + r.Name
		said[key] = force + ": " + r.Err.Error()
		if w.refused[key] != said[key] {
			w.Log.Warn("an object cannot be used as it is", "kind", r.Kind, "name", r.Name, "in_force", force, "error", r.Err)
		}
	}
	for key := range w.refused {
		if _, still := said[key]; !still {
			w.Log.Info("an object can be used again", "object", key)
		}
	}
	w.refused = said
}
