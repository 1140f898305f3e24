package main

import (
	"reflect"

	"github.com/free5gc/openapi/models"
	"github.com/free5gc/smf/pkg/factory"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	sessionsDesc = prometheus.NewDesc("core5g_smf_pdu_sessions",
		"PDU sessions that this SMF has and that have a UPF.", []string{"snssai", "dnn"}, nil)
	associatedDesc = prometheus.NewDesc("core5g_smf_upf_associated",
		"1 where this SMF has a PFCP association with the UPF, else 0.", []string{"upf"}, nil)
)

// view is what the metrics need of the SMF when somebody asks.
type view struct {
	sessions map[session]int
	upfs     map[string]bool // associated
}

// sessionMetrics counts what the SMF has, when somebody asks.
type sessionMetrics struct{ look func() view }

func (m sessionMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- sessionsDesc
	ch <- associatedDesc
}

func (m sessionMetrics) Collect(ch chan<- prometheus.Metric) {
	v := m.look()
	for s, n := range v.sessions {
		ch <- prometheus.MustNewConstMetric(sessionsDesc, prometheus.GaugeValue, float64(n), s.snssai, s.dnn)
	}
	for upf, associated := range v.upfs {
		value := 0.0
		if associated {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(associatedDesc, prometheus.GaugeValue, value, upf)
	}
}

// configured are the data networks that the SMF serves.
func configured(c *factory.Configuration) []session {
	var all []session
	for _, slice := range c.SNssaiInfo {
		for _, dnn := range slice.DnnInfos {
			all = append(all, session{snssaiLabel(int(slice.SNssai.Sst), slice.SNssai.Sd), dnn.Dnn})
		}
	}
	return all
}

// tally adds the SM contexts that each calls back with. Their type cannot be named outside free5GC's module;
// what the AMF sent when it created one is a field of it.
func tally[T any](sessions map[session]int, each func(func(T))) {
	each(func(context T) {
		created, ok := reflect.Indirect(reflect.ValueOf(context)).FieldByName("SmContextCreateData").Interface().(*models.SmContextCreateData)
		if !ok || created == nil || created.SNssai == nil {
			return
		}
		sessions[session{snssaiLabel(int(created.SNssai.Sst), created.SNssai.Sd), created.Dnn}]++
	})
}
