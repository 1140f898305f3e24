package metrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
)

// Recorder counts what the agent tells it. It implements agent.Recorder.
type Recorder struct {
	messages *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	restarts *prometheus.CounterVec
	dropped  *prometheus.CounterVec
	reports  *prometheus.CounterVec
}

// NewRecorder makes the counters and registers them.
func NewRecorder(reg prometheus.Registerer) *Recorder {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	r := &Recorder{
		messages: counter("upf_pfcp_messages_total", "PFCP messages by direction, message type and, in responses that carry one, cause.", "direction", "message", "cause"),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "upf_n4_latency_seconds", Help: "From the arrival of a PFCP request to its response.",
			Buckets: []float64{50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 0.2, 1, 3},
		}, []string{"message"}),
		restarts: counter("upf_restarts_seen_total", "Restarts noticed, by who restarted: upf-u, upf-c (this process continued from an earlier one's state) or cp.", "peer"),
		dropped:  counter("upf_sessions_dropped_total", "Sessions that ended without a PFCP Session Deletion Request.", "reason"),
		reports:  counter("upf_pfcp_reports_total", "Reports that CP functions have: usage, downlink_data, error_indication.", "kind"),
	}
	for _, peer := range []string{"upf-u", "upf-c", "cp"} {
		r.restarts.WithLabelValues(peer)
	}
	reg.MustRegister(r.messages, r.latency, r.restarts, r.dropped, r.reports)
	return r
}

// Message counts a PFCP message.
func (r *Recorder) Message(direction, msgType, cause string) {
	r.messages.WithLabelValues(direction, msgType, cause).Inc()
}

// Latency notes how long a request took.
func (r *Recorder) Latency(msgType string, d time.Duration) {
	r.latency.WithLabelValues(msgType).Observe(d.Seconds())
}

// Restart counts a restart of a peer.
func (r *Recorder) Restart(peer string) { r.restarts.WithLabelValues(peer).Inc() }

// SessionsDropped counts sessions that ended without a request.
func (r *Recorder) SessionsDropped(reason string, n int) {
	r.dropped.WithLabelValues(strings.ReplaceAll(reason, " ", "_")).Add(float64(n))
}

// Report counts a report.
func (r *Recorder) Report(kind string) { r.reports.WithLabelValues(kind).Inc() }

// Source is where the collector reads; *agent.Agent is one.
type Source interface{ Status() agent.Status }

// collector turns a Status into metrics.
type collector struct {
	source Source

	sessions, associations, connected, recovery *prometheus.Desc
	packets, bytes, forwarded, drops            *prometheus.Desc
	cycles, polls, local, tsc                   *prometheus.Desc
}

// NewRegistry has the agent's, the Go runtime's and the process's metrics; the recorder must have
// been registered with it.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// Register adds what is read from the source when scraped.
func Register(reg prometheus.Registerer, source Source) {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	reg.MustRegister(&collector{
		source:       source,
		sessions:     d("upf_sessions", "PFCP sessions."),
		associations: d("upf_pfcp_associations", "PFCP associations by the state of the path to the CP function.", "path"),
		connected:    d("upf_dataplane_connected", "1 while upf-u is connected and has all sessions."),
		recovery:     d("upf_recovery_timestamp_seconds", "The PFCP Recovery Time Stamp."),
		packets:      d("upf_interface_packets_total", "Packets on an interface.", "interface", "direction"),
		bytes:        d("upf_interface_bytes_total", "Octets on an interface, Ethernet headers included.", "interface", "direction"),
		forwarded:    d("upf_forwarded_packets_total", "User packets forwarded.", "direction"),
		drops:        d("upf_dropped_packets_total", "Packets dropped, by reason.", "reason"),
		cycles:       d("upf_worker_cycles_total", "TSC cycles of a worker in polls that found packets (busy) or none (idle). Utilisation is rate(busy) / rate(all).", "worker", "lcore", "state"),
		polls:        d("upf_worker_polls_total", "Polls of a worker, by whether they found packets.", "worker", "lcore", "found"),
		local:        d("upf_local_packets_total", "Packets that upf-u answered, consumed, sent or buffered itself.", "kind"),
		tsc:          d("upf_tsc_hertz", "Rate of the clock of upf_worker_cycles_total."),
	})
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.sessions, c.associations, c.connected, c.recovery, c.packets, c.bytes, c.forwarded, c.drops, c.cycles, c.polls, c.local, c.tsc} {
		ch <- d
	}
}

var localKinds = []struct {
	kind string
	of   func(*abi.LocalStats) uint64
}{
	{"arp_request", func(l *abi.LocalStats) uint64 { return l.ArpRequests }},
	{"arp_reply", func(l *abi.LocalStats) uint64 { return l.ArpReplies }},
	{"icmp_echo", func(l *abi.LocalStats) uint64 { return l.IcmpEcho }},
	{"gtpu_echo_request", func(l *abi.LocalStats) uint64 { return l.GtpuEchoRequests }},
	{"gtpu_echo_response", func(l *abi.LocalStats) uint64 { return l.GtpuEchoResponses }},
	{"error_indication_received", func(l *abi.LocalStats) uint64 { return l.ErrorIndicationsReceived }},
	{"error_indication_sent", func(l *abi.LocalStats) uint64 { return l.ErrorIndicationsSent }},
	{"end_marker_received", func(l *abi.LocalStats) uint64 { return l.EndMarkersReceived }},
	{"end_marker_sent", func(l *abi.LocalStats) uint64 { return l.EndMarkersSent }},
	{"buffered", func(l *abi.LocalStats) uint64 { return l.Buffered }},
	{"buffered_released", func(l *abi.LocalStats) uint64 { return l.BufferedReleased }},
}

var (
	interfaces = [abi.Ports]string{abi.PortN3: "n3", abi.PortN6: "n6", abi.PortN9: "n9"}
	directions = [2]string{abi.Ul: "ul", abi.Dl: "dl"}
)

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	st := c.source.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(c.sessions, float64(st.Sessions))
	failed := 0
	for _, a := range st.Associations {
		if a.Failed != nil {
			failed++
		}
	}
	gauge(c.associations, float64(len(st.Associations)-failed), "up")
	gauge(c.associations, float64(failed), "failed")
	gauge(c.recovery, float64(st.Recovery.Unix()))
	if !st.Connected {
		gauge(c.connected, 0)
		return
	}
	gauge(c.connected, 1)
	gauge(c.tsc, float64(st.TSCHz))

	var sum abi.WorkerStats
	for i, w := range st.Workers {
		worker, lcore := strconv.Itoa(i), strconv.FormatUint(w.Lcore, 10)
		count(c.cycles, w.CyclesBusy, worker, lcore, "busy")
		count(c.cycles, w.CyclesIdle, worker, lcore, "idle")
		count(c.polls, w.Polls-min(w.PollsEmpty, w.Polls), worker, lcore, "packets")
		count(c.polls, w.PollsEmpty, worker, lcore, "none")
		for p := range w.Port {
			sum.Port[p].RxPackets += w.Port[p].RxPackets
			sum.Port[p].RxBytes += w.Port[p].RxBytes
			sum.Port[p].TxPackets += w.Port[p].TxPackets
			sum.Port[p].TxBytes += w.Port[p].TxBytes
		}
		for d := range w.Forwarded {
			sum.Forwarded[d] += w.Forwarded[d]
		}
		for r := range abi.DropReasons {
			sum.Drops[r] += w.Drops[r]
		}
	}
	for p, name := range interfaces {
		count(c.packets, sum.Port[p].RxPackets, name, "rx")
		count(c.packets, sum.Port[p].TxPackets, name, "tx")
		count(c.bytes, sum.Port[p].RxBytes, name, "rx")
		count(c.bytes, sum.Port[p].TxBytes, name, "tx")
	}
	for d, name := range directions {
		count(c.forwarded, sum.Forwarded[d], name)
	}
	for r, reason := range abi.DropReasons {
		count(c.drops, sum.Drops[r], reason.Label)
	}
	for _, k := range localKinds {
		var n uint64
		for i := range st.Workers {
			n += k.of(&st.Workers[i].Local)
		}
		count(c.local, n, k.kind)
	}
}
