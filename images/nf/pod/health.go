package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"core5g.dev/core5g/images/nf/sbi"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Health says how a program is. Its zero value is alive and not ready.
type Health struct {
	checks atomic.Pointer[checks]
	// beside is what stands beside the metrics; nil: there are none.
	beside *http.ServeMux
}

// Shows something beside the metrics, to those who may read them. A pattern is shown once.
func (h *Health) Shows(pattern string, handler http.HandlerFunc) {
	if h.beside != nil {
		h.beside.HandleFunc(pattern, handler)
	}
}

type checks struct{ alive, ready func() error }

// Answers has others told what these say: what is wrong, nil for nothing. They are called by many at a time. alive may be nil: it is.
func (h *Health) Answers(alive, ready func() error) {
	if alive == nil {
		alive = func() error { return nil }
	}
	h.checks.Store(&checks{alive, ready})
}

// Parts are so many functions of one program, each with its own answers: the program is alive as long as all are, and ready when all are.
func (h *Health) Parts(names ...string) []func(alive, ready func() error) {
	parts := make([]Health, len(names))
	all := func(which func(*checks) func() error) func() error {
		return func() error {
			for n := range parts {
				if err := which(parts[n].now())(); err != nil {
					return fmt.Errorf("%s: %w", names[n], err)
				}
			}
			return nil
		}
	}
	h.Answers(all(func(c *checks) func() error { return c.alive }), all(func(c *checks) func() error { return c.ready }))
	out := make([]func(alive, ready func() error), len(names))
	for n := range parts {
		out[n] = parts[n].Answers
	}
	return out
}

// now is what to ask.
func (h *Health) now() *checks {
	if c := h.checks.Load(); c != nil {
		return c
	}
	return &checks{func() error { return nil }, func() error { return errStarting }}
}

var errStarting = errors.New("the program is not up yet")

// Handler of /healthz and /readyz.
func (h *Health) Handler() http.Handler {
	answer := func(which func(*checks) func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if err := which(h.now())(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_, _ = w.Write([]byte("ok\n"))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(func(c *checks) func() error { return c.alive }))
	mux.HandleFunc("GET /readyz", answer(func(c *checks) func() error { return c.ready }))
	return mux
}

// Observed begins to answer who looks after the pod, until ctx ends: the health that is returned, and the metrics of the registry. run does the serving.
func (c *Config) Observed(ctx context.Context, run func(func() error)) (*Health, prometheus.Registerer, error) {
	health, registries, err := c.ObservedParts(ctx, run, "")
	if err != nil {
		return nil, nil, err
	}
	return health, registries[0], nil
}

// ObservedParts is Observed with a registry for each part of the program. What they count has the name of the part in the label part, unless that is "".
func (c *Config) ObservedParts(ctx context.Context, run func(func() error), names ...string) (*Health, []prometheus.Registerer, error) {
	process, health := prometheus.NewRegistry(), &Health{}
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	// Not one registry for all: it would refuse metrics of one name that have other labels in another part.
	all, out := prometheus.Gatherers{process}, []prometheus.Registerer(nil)
	for _, name := range names {
		registry := prometheus.NewRegistry()
		all = append(all, registry)
		if name == "" {
			out = append(out, registry)
			continue
		}
		out = append(out, prometheus.WrapRegistererWith(prometheus.Labels{"part": name}, registry))
	}
	if err := sbi.ServeBeside(ctx, run, c.HealthListen, health.Handler()); err != nil {
		return nil, nil, err
	}
	metrics := http.NewServeMux()
	health.beside = metrics
	metrics.Handle("GET /metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	return health, out, sbi.ServeBeside(ctx, run, c.MetricsListen, metrics)
}
