package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// observe registers what the agent tells of its looks, and gives the function that it tells.
func observe(reg prometheus.Registerer) func(time.Duration, error) {
	looks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "core5g_node_agent_looks_total",
		Help: "Looks at the node by result; after an error the DataplaneNode is not up to date.",
	}, []string{"result"})
	last := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "core5g_node_agent_last_look_timestamp_seconds",
		Help: "When a look last ended well.",
	})
	duration := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "core5g_node_agent_look_duration_seconds",
		Help:    "How long a look took, with the writing of what was new.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
	})
	reg.MustRegister(looks, last, duration,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, result := range []string{"ok", "error"} { // 0 from the start, so that a rate sees the first
		looks.WithLabelValues(result)
	}
	return func(took time.Duration, err error) {
		duration.Observe(took.Seconds())
		if err != nil {
			looks.WithLabelValues("error").Inc()
			return
		}
		looks.WithLabelValues("ok").Inc()
		last.SetToCurrentTime()
	}
}
