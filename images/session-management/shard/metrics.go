package shard

import (
	"core5g.dev/core5g/images/session-management/procedure"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	procedures *prometheus.CounterVec
	took       *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		procedures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_smf_procedures_total", Help: "Procedures of PDU sessions that have ended, by kind and result.",
		}, []string{"procedure", "result"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "core5g_smf_procedure_seconds", Help: "How long a procedure of a PDU session took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"procedure"}),
	}
	reg.MustRegister(m.procedures, m.took)
	return m
}

func (m *metrics) ended(r procedure.Result) {
	result := "done"
	if r.Cause != "" {
		result = "failed"
	}
	m.procedures.WithLabelValues(r.Kind.String(), result).Inc()
	m.took.WithLabelValues(r.Kind.String()).Observe(r.Took.Seconds())
}
