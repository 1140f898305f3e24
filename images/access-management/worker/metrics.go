package worker

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/runner"

	"github.com/prometheus/client_golang/prometheus"
)

// measures are what a pod counts.
type measures struct {
	procedures    *prometheus.CounterVec
	registrations *prometheus.CounterVec
	messages      *messageCounts
	took          *prometheus.HistogramVec
	events        *prometheus.CounterVec
	passed        *prometheus.CounterVec
	linkEnds      prometheus.Counter

	mu     sync.Mutex
	counts map[string]shardCounts // by shard
	census map[string]census      // by shard
}

// shardCounts are what is in memory of a shard that is held.
type shardCounts struct{ ues, strangers, reduction int }

// The label values of core5g_amf_passed_on_total.
const (
	passedRequest, passedUE      = "request", "ue"
	passedDone, passedNotReached = "done", "not_reached"
)

func newMeasures(reg prometheus.Registerer) *measures {
	m := &measures{
		procedures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_procedures_total", Help: "Procedures of UEs that have ended, by kind, result and cause.",
		}, []string{"procedure", "result", "cause"}),
		registrations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_registrations_total", Help: "Registrations that have ended, by their type (TS 24.501 9.11.3.7), result and cause.",
		}, []string{"type", "result", "cause"}),
		messages: newMessageCounts(),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "core5g_amf_procedure_seconds", Help: "How long a procedure of a UE took.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"procedure", "result"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_events_total",
			Help: "What happened to what came for UEs and to their records: declined because a queue was full (full), the store away (away) or otherwise (declined); " +
				"written again after a conflict (conflict) or an answer that was lost (repeated); evicted from memory; taken over, given_up; stale answers, " +
				"skipped times, abandoned requests; unreadable messages of gNBs, repetitions of what was done, messages not_sent.",
		}, []string{"event"}),
		passed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_amf_passed_on_total", Help: "What came for a UE of a shard that another pod holds.",
		}, []string{"what", "result"}),
		linkEnds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "core5g_amf_link_failures_total", Help: "Connections to N2 terminators that have ended, or could not be made.",
		}),
		counts: map[string]shardCounts{}, census: map[string]census{},
	}
	for _, kind := range registrationTypes {
		m.registrations.WithLabelValues(kind, done, "")
	}
	reg.MustRegister(m.procedures, m.registrations, m.messages.nas, m.messages.ngap, m.took, m.events, m.passed, m.linkEnds)
	return m
}

// The label values of procedures' results.
const (
	done   = "done"
	failed = "failed"
)

// registrationTypes as label values; that of a request that is not kept is not known.
var registrationTypes = map[n1.RegistrationType]string{
	0: "unknown", n1.InitialRegistration: "initial", n1.MobilityRegistration: "mobility", n1.PeriodicRegistration: "periodic", n1.EmergencyRegistration: "emergency",
}

func (m *measures) ended(r procedure.Result) {
	result, kind := done, r.Kind.String()
	if r.Cause != "" {
		result = failed
	}
	if r.Kind == procedure.Registration {
		m.registrations.WithLabelValues(registrationTypes[r.Type], result, causeOf(r.Cause)).Inc()
	}
	m.procedures.WithLabelValues(kind, result, causeOf(r.Cause)).Inc()
	m.took.WithLabelValues(kind, result).Observe(r.Took.Seconds())
}

// longestCause is that of a label: what procedures end with are short sentences of their own, and behind a colon what others have said.
const longestCause = 48

// causeOf a procedure's end as a label value.
func causeOf(cause string) string {
	cause, _, _ = strings.Cut(cause, ":")
	if len(cause) > longestCause {
		cause = cause[:longestCause]
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(cause))
}

// observeEvery is how often a runner's own counts are taken over.
const observeEvery = time.Second

// observe what the runner has counted since, and go on with it; on the loop.
func (s *Shard) observe(before runner.Counts) {
	m, now := s.pod.measures, s.runner.Counts()
	for event, n := range map[string]uint64{
		"full": now.Full - before.Full, "away": now.Away - before.Away,
		"declined": (now.Declined - now.Full - now.Away) - (before.Declined - before.Full - before.Away), "conflict": now.Conflicts - before.Conflicts,
		"repeated": now.Repeated - before.Repeated, "evicted": now.Evicted - before.Evicted, "taken_over": now.TakenOver - before.TakenOver,
		"given_up": now.GivenUp - before.GivenUp, "stale": now.Stale - before.Stale, "skipped": now.Skipped - before.Skipped,
		"abandoned": now.Abandoned - before.Abandoned, "unreadable": now.Unreadable - before.Unreadable, "repetition": now.Repetitions - before.Repetitions,
		"not_sent": now.NotSent - before.NotSent, "begun_again": now.BegunAgain - before.BegunAgain,
	} {
		m.events.WithLabelValues(event).Add(float64(n))
	}
	all, strangers := s.runner.UEs()
	m.mu.Lock()
	if !s.closed.Load() {
		m.counts[s.lease.Shard] = shardCounts{all, strangers, int(s.runner.Reduction())}
	}
	m.mu.Unlock()
	s.After(observeEvery, func() { s.observe(now) })
}

// gaveUp a shard, which is closed.
func (m *measures) gaveUp(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.counts, name)
	delete(m.census, name)
}

// gauges is a collector of what there is now.
type gauges struct{ pod *Pod }

var (
	registeredDesc = prometheus.NewDesc("core5g_amf_registered_ues",
		"UEs of the shards that the pod holds, by connection management state (TS 23.501 5.3.3).", []string{"cm_state"}, nil)
	slicesDesc = prometheus.NewDesc("core5g_amf_slice_ues", "Those of them that are allowed an S-NSSAI, by that.", []string{"snssai"}, nil)
	heldDesc   = prometheus.NewDesc("core5g_amf_shard_held", "1 for a shard that the pod holds and serves, else 0.", []string{"shard"}, nil)
	uesDesc    = prometheus.NewDesc("core5g_amf_ues_in_memory",
		"UEs of a shard that are in memory, and those of them that have not shown who they are (strangers); the session store has all others.", []string{"shard", "known"}, nil)
	reductionDesc = prometheus.NewDesc("core5g_amf_overload_reduction_percent",
		"The share of UEs that gNBs are asked to refuse (Overload Start, TS 38.413 8.7.7), since more come than a shard can look at.", []string{"shard"}, nil)
	gnbsDesc      = prometheus.NewDesc("core5g_amf_gnbs", "gNBs that have been set up, as this pod knows by its connections to N2 terminators.", nil, nil)
	unreachedDesc = prometheus.NewDesc("core5g_amf_unreached_terminator_gnbs",
		"gNBs that could not connect to an N2 terminator that they were told of (AMF Configuration Update, TS 38.413 8.7.3), by its address, as this pod knows.", []string{"address"}, nil)
	linksDesc = prometheus.NewDesc("core5g_amf_links", "Connections to N2 terminators.", nil, nil)
)

// Describe implements prometheus.Collector.
func (gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{registeredDesc, slicesDesc, heldDesc, uesDesc, reductionDesc, gnbsDesc, unreachedDesc, linksDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c gauges) Collect(out chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, v int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	m := c.pod.measures
	m.mu.Lock()
	for n := range c.pod.Shards {
		name := c.pod.name(n + 1)
		x, held := m.counts[name]
		if !held {
			set(heldDesc, 0, name)
			continue
		}
		set(heldDesc, 1, name)
		set(uesDesc, x.ues-x.strangers, name, "yes")
		set(uesDesc, x.strangers, name, "no")
		set(reductionDesc, x.reduction, name)
	}
	all := census{slices: map[string]int{}}
	for _, name := range c.pod.slices() {
		all.slices[name] = 0
	}
	for _, shard := range m.census {
		all.registered, all.connected = all.registered+shard.registered, all.connected+shard.connected
		for name, n := range shard.slices {
			all.slices[name] += n
		}
	}
	m.mu.Unlock()
	set(registeredDesc, all.connected, "connected")
	set(registeredDesc, max(all.registered-all.connected, 0), "idle")
	for name, n := range all.slices {
		set(slicesDesc, n, name)
	}
	gnbs, links := c.pod.links.counts()
	for address, n := range c.pod.unreached() {
		set(unreachedDesc, n, address)
	}
	set(gnbsDesc, gnbs)
	set(linksDesc, links)
}

// counts of gNBs and connections.
func (l *links) counts() (gnbs, connections int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	nodes := map[string]bool{}
	for _, x := range l.lives {
		if x.conn != nil {
			connections++
		}
		for _, a := range x.associations {
			if a.node != nil {
				nodes[a.node.Key()] = true
			}
		}
	}
	return len(nodes), connections
}

// unreached are gNBs that could not connect to a terminator, by the terminator's addresses.
func (p *Pod) unreached() map[string]int {
	out := map[string]int{}
	settings := p.settings.Load()
	if settings == nil {
		return out
	}
	for _, t := range settings.Terminators {
		for _, at := range t.Addresses {
			out[at.String()] = 0
		}
	}
	for _, g := range p.links.gnbs() {
		if g.Offered == 0 { // it is told by another of its associations
			continue
		}
		for _, e := range g.Ends {
			at, _ := netip.AddrFromSlice(e.Address)
			if _, is := out[at.String()]; is && e.Refused {
				out[at.String()]++
			}
		}
	}
	return out
}
