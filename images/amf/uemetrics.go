package main

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// free5GC's AMF counts transitions, and its gauges drift when a UE context ends in an unusual way. What it
// has now is in its contexts: they are counted every countInterval, by the procedure behind its OAM
// interface, which takes each UE's lock. A scrape does not wait for a UE.

const countInterval = 5 * time.Second

var (
	uesDesc = prometheus.NewDesc("core5g_amf_registered_ues",
		"UEs in 5GMM-REGISTERED at this AMF, by connection management state (TS 23.501 5.3.3).", []string{"cm_state"}, nil)
	sessionsDesc = prometheus.NewDesc("core5g_amf_pdu_sessions",
		"PDU sessions of the UEs that are registered at this AMF.", []string{"snssai", "dnn"}, nil)
	gnbsDesc = prometheus.NewDesc("core5g_amf_gnbs", "NG-RAN nodes with an N2 association.", nil, nil)
)

type session struct{ snssai, dnn string }

// tally is what the AMF has at a time.
type tally struct {
	ues      map[string]int // by cm_state
	sessions map[session]int
	gnbs     int
}

func newTally() tally {
	return tally{ues: map[string]int{"connected": 0, "idle": 0}, sessions: map[session]int{}}
}

// ue adds an entry of free5GC's list of registered UEs. Its type cannot be named outside free5GC's module.
func (t *tally) ue(context reflect.Value) {
	t.ues[strings.ToLower(context.FieldByName("CmState").String())]++
	sessions := context.FieldByName("PduSessions")
	for i := range sessions.Len() {
		s := sessions.Index(i)
		snssai := s.FieldByName("Sst").String()
		if sd := s.FieldByName("Sd").String(); sd != "" {
			snssai += "-" + strings.ToLower(sd)
		}
		t.sessions[session{snssai, s.FieldByName("Dnn").String()}]++
	}
}

// ueMetrics tells the latest tally.
type ueMetrics struct {
	mu     sync.Mutex
	latest tally
}

func newUEMetrics() *ueMetrics { return &ueMetrics{latest: newTally()} }

// run counts until ctx ends.
func (m *ueMetrics) run(ctx context.Context, count func() tally) {
	tick := time.NewTicker(countInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := count()
			m.mu.Lock()
			for s := range m.latest.sessions { // a data network that was in use stays, with 0
				if _, ok := now.sessions[s]; !ok {
					now.sessions[s] = 0
				}
			}
			m.latest = now
			m.mu.Unlock()
		}
	}
}

// Describe implements prometheus.Collector.
func (m *ueMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- uesDesc
	ch <- sessionsDesc
	ch <- gnbsDesc
}

// Collect implements prometheus.Collector.
func (m *ueMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for state, n := range m.latest.ues {
		ch <- prometheus.MustNewConstMetric(uesDesc, prometheus.GaugeValue, float64(n), state)
	}
	for s, n := range m.latest.sessions {
		ch <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(n), s.snssai, s.dnn)
	}
	ch <- prometheus.MustNewConstMetric(gnbsDesc, prometheus.GaugeValue, float64(m.latest.gnbs))
}
