package terminator

import "github.com/prometheus/client_golang/prometheus"

// counts is a collector: what happened to messages, and what there is now.
type counts struct {
	happened *prometheus.CounterVec
	snapshot func() snapshot
}

// snapshot of a terminator.
type snapshot struct{ associations, workers, waiting, untaken int }

var (
	associationsDesc = prometheus.NewDesc("core5g_amf_n2_associations", "SCTP associations of gNBs (TS 38.412).", nil, nil)
	workersDesc      = prometheus.NewDesc("core5g_amf_n2_workers", "AMF workers that are connected.", nil, nil)
	waitingDesc      = prometheus.NewDesc("core5g_amf_n2_waiting_messages", "NGAP messages that no worker is done with, taken by one or not.", []string{"taken"}, nil)
)

func newCounts() *counts {
	return &counts{happened: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "core5g_amf_n2_messages_total",
		Help: "What became of NGAP messages: delivered to a worker, redelivered to the next one, expired because nobody took them in time, " +
			"orphaned by their association's end, sent, fenced because another worker holds the shard, unsendable, repeated answers to an NG Setup.",
	}, []string{"result"})}
}

func (c *counts) count(h Happening) { c.happened.WithLabelValues(string(h)).Inc() }

// Describe implements prometheus.Collector.
func (c *counts) Describe(out chan<- *prometheus.Desc) {
	c.happened.Describe(out)
	out <- associationsDesc
	out <- workersDesc
	out <- waitingDesc
}

// Collect implements prometheus.Collector.
func (c *counts) Collect(out chan<- prometheus.Metric) {
	c.happened.Collect(out)
	s := c.snapshot()
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(associationsDesc, s.associations)
	gauge(workersDesc, s.workers)
	gauge(waitingDesc, s.waiting-s.untaken, "yes")
	gauge(waitingDesc, s.untaken, "no")
}

func (r *run) snapshot() snapshot {
	var s snapshot
	r.do(func() {
		s.associations, s.workers = len(r.associations), len(r.workers)
		s.waiting, s.untaken = r.t.Waiting()
	})
	return s
}
