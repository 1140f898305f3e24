package shard

import (
	"context"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/prometheus/client_golang/prometheus"
)

// measures are what a pod counts.
type measures struct {
	mu                     sync.Mutex // of what a shard's loop and its end both write
	procedures             *prometheus.CounterVec
	took                   *prometheus.HistogramVec
	established            *prometheus.CounterVec
	establishing           *prometheus.HistogramVec
	held, sessions         *prometheus.GaugeVec
	all, associated        *prometheus.GaugeVec
	refused, passed, store *prometheus.CounterVec
	orphans                *prometheus.CounterVec
	uncharged              prometheus.Counter
}

func newMeasures(reg prometheus.Registerer, list []Identity) *measures {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &measures{
		procedures: counter("core5g_smf_procedures_total", "Procedures of PDU sessions that have ended, by kind, result and cause.", "procedure", "result", "cause"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "core5g_smf_procedure_seconds", Help: "How long a procedure of a PDU session took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"procedure", "result"}),
		established: counter("core5g_pdu_session_establishments_total", "PDU sessions that UEs asked for, by what became of them.", "slice", "snssai", "dnn", "result", "cause"),
		establishing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "core5g_pdu_session_establishment_seconds", Help: "From the AMF's request to the access network's answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"slice", "snssai", "dnn"}),
		all:        gauge("core5g_smf_pdu_sessions", "PDU sessions of a slice that a shard has, as the session store counts them.", "shard", "slice", "snssai"),
		associated: gauge("core5g_smf_upf_associated", "1 where a shard has a PFCP association with a UPF unit of a slice, else 0.", "shard", "slice", "upf"),
		held:       gauge("core5g_smf_shard_held", "1 for a shard that the pod holds and serves, else 0.", "shard"),
		sessions:   gauge("core5g_smf_sessions_in_memory", "PDU sessions of a shard that are in memory; the session store has all.", "shard"),
		refused:    counter("core5g_smf_refused_total", "Requests and reports that were refused before anybody looked at their session.", "shard", "why"),
		passed:     counter("core5g_smf_passed_on_total", "What came for a shard that another pod holds.", "what", "result"),
		store:      counter("core5g_smf_commits_repeated_total", "Records that were not written at the first attempt.", "shard", "why"),
		orphans:    counter("core5g_smf_orphans_total", "Sessions of UPF units that were deleted there, because no record has them.", "shard"),
		uncharged: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "core5g_smf_uncharged_total", Help: "PDU sessions of whose usage the CHF never heard, because others have taken their names; the log has it.",
		}),
	}
	reg.MustRegister(m.procedures, m.took, m.held, m.sessions, m.refused, m.passed, m.store, m.orphans, m.uncharged, m.established, m.establishing, m.all, m.associated)
	for _, id := range list {
		m.held.WithLabelValues(id.Name).Set(0)
		for _, why := range []string{whyQueue, whyStore, whyOther} {
			m.refused.WithLabelValues(id.Name, why)
		}
	}
	return m
}

// The label values of core5g_smf_refused_total and core5g_smf_passed_on_total.
const (
	whyQueue, whyStore, whyOther  = "queue_full", "store_away", "other"
	passedRequest, passedDatagram = "request", "n4"
	passedDone, passedNotReached  = "done", "not_reached"
)

// ended is a procedure of a session; c is nil before there is a configuration.
func (m *measures) ended(r procedure.Result, c *configuration.Snapshot) {
	result, kind := "done", r.Kind.String()
	if r.Cause != "" {
		result = "failed"
	}
	m.procedures.WithLabelValues(kind, result, causeOf(r.Cause)).Inc()
	m.took.WithLabelValues(kind, result).Observe(r.Took.Seconds())
	if r.Kind != procedure.Establishment {
		return
	}
	snssai, result := "", "success"
	if c != nil {
		if network := c.Named(r.Slice, r.DNN); network != nil {
			snssai = network.SNSSAI()
		}
	}
	if r.Cause != "" {
		result = "failure"
	} else {
		m.establishing.WithLabelValues(r.Slice, snssai, r.DNN).Observe(r.Took.Seconds())
	}
	m.established.WithLabelValues(r.Slice, snssai, r.DNN, result, causeOf(r.Cause)).Inc()
}

// causes are what procedures end with, as label values: no more than these come to be.
var causes = map[string]string{
	"": "",
	"a record of a program that knows more steps": "newer_record",
	"lost":                                                  "lost",
	"no answer of the AMF":                                  "amf_no_answer",
	"no answer of the PCF":                                  "pcf_no_answer",
	"no answer of the UPF":                                  "upf_no_answer",
	"policy refused":                                        "policy_refused",
	"the data network is gone":                              "data_network_gone",
	"the UE asked for what it does not get":                 "ue_asked_for_more",
	"no packet comes through between two units":             "path_failed",
	"the UPF does not send its packets there":               "upf_refused",
	"the UPF did not take it":                               "upf_refused",
	"the UPF has lost the session":                          "upf_lost_session",
	"the UPF refused":                                       "upf_refused",
	"every address that the UPF chose is another session's": "addresses_taken",
	"no answer of the CHF":                                  "chf_no_answer",
	"the CHF refused":                                       "chf_refused",
	"the CHF has not heard of all that was used":            "chf_no_answer",
	"the PCF refused":                                       "pcf_refused",
	"the PCF gives nothing":                                 "pcf_refused",
	"the PCF does not know the session":                     "pcf_lost_session",
	"the subscription could not be had":                     "udm_no_answer",
	"the UE refused":                                        "ue_refused",
	"no UPF takes framed routes":                            "no_framed_routes",
	configuration.Overloaded.String():                       "upf_overload",
	configuration.NoneNear.String():                         "upf_of_area_away",
	"too many framed routes":                                "too_many_framed_routes",
	"no answer of the UE":                                   "ue_no_answer",
}

const (
	causeOfAMF  = "the AMF did not take it: "
	amfRefused  = "amf_refused"
	otherCause  = "other"
	longestWord = 40
)

// causeOf a procedure's end as a label value: one of causes, a protocol cause of our own answers in lower case, or other.
func causeOf(cause string) string {
	if word, ok := causes[cause]; ok {
		return word
	}
	switch {
	case strings.HasPrefix(cause, causeOfAMF):
		return amfRefused
	case len(cause) <= longestWord && strings.Trim(cause, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "": // procedures have them as constants
		return strings.ToLower(cause)
	}
	return otherCause
}

// observeEvery is how often a runner's own counts are taken over.
const observeEvery = time.Second

// observe what the runner has counted since, and go on with it; on the loop.
func (s *Shard) observe(before runner.Counts) {
	m, now := s.pod.measures, s.runner.Counts()
	m.serves(s)
	for why, n := range map[string]uint64{
		whyQueue: now.Full - before.Full, whyStore: now.Away - before.Away,
		whyOther: (now.Declined - now.Full - now.Away) - (before.Declined - before.Full - before.Away),
	} {
		m.refused.WithLabelValues(s.Name, why).Add(float64(n))
	}
	m.store.WithLabelValues(s.Name, "conflict").Add(float64(now.Conflicts - before.Conflicts))
	m.store.WithLabelValues(s.Name, "unknown").Add(float64(now.Repeated - before.Repeated))
	m.orphans.WithLabelValues(s.Name).Add(float64(now.Orphans - before.Orphans))
	s.associations()
	s.After(observeEvery, func() { s.observe(now) })
}

// associations with the units of each slice; on the loop.
func (s *Shard) associations() {
	c, now := s.Configuration(), map[unitOf]bool{}
	if c == nil {
		return
	}
	for _, slice := range c.Slices() {
		for _, network := range slice.DataNetworks {
			for _, unit := range network.Units {
				if live, known := s.live[unit.NodeID]; known {
					now[unitOf{slice.Name, unit.NodeID}] = !live.Away
				}
			}
		}
	}
	s.pod.measures.associate(s, now)
}

// unitOf a slice.
type unitOf struct{ slice, node string }

func (m *measures) associate(s *Shard, now map[unitOf]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed.Load() {
		return
	}
	for of, up := range now {
		value := 0.0
		if up {
			value = 1
		}
		m.associated.WithLabelValues(s.Name, of.slice, of.node).Set(value)
	}
	for of := range s.links {
		if _, is := now[of]; !is {
			m.associated.DeleteLabelValues(s.Name, of.slice, of.node)
		}
	}
	s.links = now
}

// countEvery is how often the session store is asked how many sessions there are.
const countEvery = 5 * time.Second

// count the sessions of each slice; on the loop. Where the store does not answer, the numbers before stand.
func (s *Shard) count() {
	var list []*configuration.Slice
	if c := s.Configuration(); c != nil {
		list = c.Slices()
	}
	s.Store(func(ctx context.Context, store sessionstore.Store) func() {
		counts := map[*configuration.Slice]int{}
		for _, slice := range list {
			if n, err := store.Count(ctx, runner.SliceGroup(s.Number, slice.Name)); err == nil {
				counts[slice] = n
			}
		}
		return func() {
			s.pod.measures.counted(s, counts)
			s.After(countEvery, s.count)
		}
	})
}

func (m *measures) counted(s *Shard, counts map[*configuration.Slice]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed.Load() {
		return
	}
	names := map[string]bool{}
	for slice, n := range counts {
		m.all.WithLabelValues(s.Name, slice.Name, slice.SNSSAI()).Set(float64(n))
		names[slice.Name] = true
	}
	for name := range s.counted {
		if s.Configuration().SliceGone(name) {
			m.all.DeletePartialMatch(prometheus.Labels{"shard": s.Name, "slice": name})
		} else {
			names[name] = true
		}
	}
	s.counted = names
}

// serves says that the pod has the shard, unless it has ended meanwhile.
func (m *measures) serves(s *Shard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.closed.Load() {
		return
	}
	m.held.WithLabelValues(s.Name).Set(1)
	m.sessions.WithLabelValues(s.Name).Set(float64(s.runner.Sessions()))
}

// gaveUp a shard, which is closed.
func (m *measures) gaveUp(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held.WithLabelValues(name).Set(0)
	m.sessions.DeleteLabelValues(name)
	m.all.DeletePartialMatch(prometheus.Labels{"shard": name})
	m.associated.DeletePartialMatch(prometheus.Labels{"shard": name})
}
