package metrics

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// What the agent and the PFCP server tell as it happens.
var (
	messages = Family{"upf_pfcp_messages_total", counter, "PFCP messages by direction, message type and, in responses that carry one, cause.",
		[]string{"direction", "message", "cause"}, "direction: in, out"}
	latency = Family{"upf_n4_latency_seconds", histogram, "From the arrival of a PFCP request to its response.",
		[]string{"message"}, ""}
	retransmissions = Family{"upf_pfcp_retransmissions_total", counter, "PFCP requests that came again and were not executed again (in), or that were sent again (out).",
		[]string{"direction", "message"}, "direction: in, out"}
	reports = Family{"upf_pfcp_reports_total", counter, "Reports that CP functions have acknowledged.",
		[]string{"kind"}, "kind: usage, downlink_data, error_indication, path_failure and others"}
	usageReports = Family{"upf_usage_reports_total", counter, "Usage Reports by Usage Report Trigger (TS 29.244 8.2.41); one with several triggers counts for each.",
		[]string{"trigger"}, "trigger: as in TS 29.244, in lower case"}
	restarts = Family{"upf_restarts_seen_total", counter, "Restarts noticed: of upf-u, of upf-c (this process continued from an earlier one's state), of a CP function.",
		[]string{"peer"}, "peer: upf-u, upf-c, cp"}
	dropped = Family{"upf_sessions_dropped_total", counter, "Sessions that ended without a PFCP Session Deletion Request.",
		[]string{"reason"}, ""}
)

// latencyBuckets are dense where a healthy UPF is and end with the retransmission timer's range.
var latencyBuckets = []float64{20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 0.2, 1, 3}

// Recorder counts what the agent tells it. It implements agent.Recorder.
type Recorder struct {
	messages, retransmissions, reports, usageReports, restarts, dropped *prometheus.CounterVec
	latency                                                             *prometheus.HistogramVec

	// What has been counted before, by its labels: each message is.
	mu       sync.RWMutex
	ofLabels map[[3]string]prometheus.Counter
	ofType   map[string]prometheus.Observer
}

// NewRecorder makes the counters and registers them.
func NewRecorder(reg prometheus.Registerer) *Recorder {
	vec := func(f Family) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.Labels)
		reg.MustRegister(v)
		return v
	}
	r := &Recorder{
		messages: vec(messages), retransmissions: vec(retransmissions), reports: vec(reports),
		usageReports: vec(usageReports), restarts: vec(restarts), dropped: vec(dropped),
		latency:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: latency.Name, Help: latency.Help, Buckets: latencyBuckets}, latency.Labels),
		ofLabels: map[[3]string]prometheus.Counter{}, ofType: map[string]prometheus.Observer{},
	}
	reg.MustRegister(r.latency)
	for _, peer := range []string{"upf-u", "upf-c", "cp"} { // 0 from the start, so that a rate sees the first
		r.restarts.WithLabelValues(peer)
	}
	return r
}

// Message counts a PFCP message.
func (r *Recorder) Message(direction, msgType, cause string) {
	known(r, r.ofLabels, [3]string{direction, msgType, cause}, func() prometheus.Counter { return r.messages.WithLabelValues(direction, msgType, cause) }).Inc()
}

// known is what was found before.
func known[K comparable, V any](r *Recorder, list map[K]V, key K, find func() V) V {
	r.mu.RLock()
	v, ok := list[key]
	r.mu.RUnlock()
	if !ok {
		v = find()
		r.mu.Lock()
		list[key] = v
		r.mu.Unlock()
	}
	return v
}

// Retransmission counts a request that came again ("in") or that we repeat ("out").
func (r *Recorder) Retransmission(direction, msgType string) {
	r.retransmissions.WithLabelValues(direction, msgType).Inc()
}

// Latency notes how long a request took.
func (r *Recorder) Latency(msgType string, d time.Duration) {
	known(r, r.ofType, msgType, func() prometheus.Observer { return r.latency.WithLabelValues(msgType) }).Observe(d.Seconds())
}

// Restart counts a restart of a peer.
func (r *Recorder) Restart(peer string) { r.restarts.WithLabelValues(peer).Inc() }

// SessionsDropped counts sessions that ended without a request.
func (r *Recorder) SessionsDropped(reason string, n int) {
	r.dropped.WithLabelValues(strings.ReplaceAll(reason, " ", "_")).Add(float64(n))
}

// Report counts a report that a CP function has.
func (r *Recorder) Report(kind string) { r.reports.WithLabelValues(kind).Inc() }

// usageTriggers are the bits of the Usage Report Trigger, octet 5 lowest.
var usageTriggers = [...]string{
	"perio", "volth", "timth", "quhti", "start", "stopt", "droth", "immer",
	"volqu", "timqu", "liusa", "termr", "monit", "envcl", "macar", "eveth",
	"evequ", "tebur", "ipmjl", "quvti", "emrre", "upint",
}

// UsageReport counts a Usage Report that was made, whatever becomes of it.
func (r *Recorder) UsageReport(trigger uint32) {
	for bit, name := range usageTriggers {
		if trigger>>bit&1 != 0 {
			r.usageReports.WithLabelValues(name).Inc()
		}
	}
}
