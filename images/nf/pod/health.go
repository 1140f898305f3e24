package pod

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"core5g.dev/core5g/images/nf/sbi"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Health says how a program is. Its zero value is alive and not ready.
type Health struct{ checks atomic.Pointer[checks] }

type checks struct{ alive, ready func() error }

// Answers has others told what these say: what is wrong, nil for nothing. They are called by many at a time. alive may be nil: it is.
func (h *Health) Answers(alive, ready func() error) {
	if alive == nil {
		alive = func() error { return nil }
	}
	h.checks.Store(&checks{alive, ready})
}

var errStarting = errors.New("the program is not up yet")

// Handler of /healthz and /readyz.
func (h *Health) Handler() http.Handler {
	starting := &checks{func() error { return nil }, func() error { return errStarting }}
	answer := func(which func(*checks) func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			now := h.checks.Load()
			if now == nil {
				now = starting
			}
			if err := which(now)(); err != nil {
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
func (c *Config) Observed(ctx context.Context, run func(func() error)) (*Health, *prometheus.Registry, error) {
	registry, health := prometheus.NewRegistry(), &Health{}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := sbi.ServeBeside(ctx, run, c.HealthListen, health.Handler()); err != nil {
		return nil, nil, err
	}
	metrics := http.NewServeMux()
	metrics.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return health, registry, sbi.ServeBeside(ctx, run, c.MetricsListen, metrics)
}
