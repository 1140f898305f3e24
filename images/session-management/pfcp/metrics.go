package pfcp

import (
	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics of all endpoints of a program; label node is the shard's Node ID.
type Metrics struct {
	messages, retransmissions, unanswered, notSent, dropped *prometheus.CounterVec
	roundTrip                                               *prometheus.HistogramVec
	units, underWay, waiting, loads, reductions             *prometheus.GaugeVec
}

// roundTripBuckets are dense where a healthy unit is and end where requests are given up.
var roundTripBuckets = []float64{100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.5, 1, 2, 3}

// NewMetrics makes and registers them.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		reg.MustRegister(v)
		return v
	}
	m := &Metrics{
		messages:        counter("core5g_pfcp_messages_total", "PFCP messages by direction, message type and, in responses, cause.", "direction", "message", "cause"),
		retransmissions: counter("core5g_pfcp_retransmissions_total", "PFCP requests that came again and were not handed on again (in), or that were sent again (out).", "direction", "message"),
		unanswered:      counter("core5g_pfcp_unanswered_total", "PFCP requests that were given up without an answer.", "message"),
		notSent:         counter("core5g_pfcp_not_sent_total", "PFCP session requests that never left, because their unit could not be reached or was not known.", "message"),
		dropped:         counter("core5g_pfcp_dropped_total", "PFCP datagrams that were not taken, or did not leave, by reason.", "reason"),
		roundTrip: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "core5g_pfcp_round_trip_seconds", Help: "From the first sending of a PFCP request to its answer.", Buckets: roundTripBuckets,
		}, []string{"message"}),
		units:      gauge("core5g_pfcp_association", "1 for the state that a UPF unit is in, as a shard sees it.", "node", "upf", "state"),
		underWay:   gauge("core5g_pfcp_requests_under_way", "PFCP session requests that wait for a unit's answer.", "node", "upf"),
		waiting:    gauge("core5g_pfcp_requests_waiting", "PFCP session requests that wait to be sent.", "node", "upf"),
		loads:      gauge("core5g_pfcp_load_percent", "How full a unit says that it is.", "node", "upf"),
		reductions: gauge("core5g_pfcp_overload_reduction_percent", "The share of new sessions that a unit asks to be left out, 0 when it is over.", "node", "upf"),
	}
	reg.MustRegister(m.roundTrip)
	for _, reason := range []string{"malformed", "version", "stranger", "no_request"} { // 0 from the start, so that a rate sees the first
		m.dropped.WithLabelValues(reason)
	}
	return m
}

func (m *Metrics) message(direction string, kind uint8, cause string) {
	m.messages.WithLabelValues(direction, wire.TypeName(kind), cause).Inc()
}

func (m *Metrics) state(node, unit string, is State) {
	for s, name := range stateNames {
		v := 0.0
		if State(s) == is {
			v = 1
		}
		m.units.WithLabelValues(node, unit, name).Set(v)
	}
}

func (m *Metrics) load(node string, u *unit) {
	if u.removed {
		return
	}
	m.underWay.WithLabelValues(node, u.NodeID).Set(float64(u.underWay))
	m.waiting.WithLabelValues(node, u.NodeID).Set(float64(u.waiting()))
}

// unsaid: nothing is known of what a unit says.
func (m *Metrics) unsaid(node, unit string) {
	m.loads.DeleteLabelValues(node, unit)
	m.reductions.DeleteLabelValues(node, unit)
}

func (m *Metrics) forget(node, unit string) {
	labels := prometheus.Labels{"node": node, "upf": unit}
	m.units.DeletePartialMatch(labels)
	m.underWay.DeletePartialMatch(labels)
	m.waiting.DeletePartialMatch(labels)
}
