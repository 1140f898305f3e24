package main

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/free5gc/openapi/models"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestUEMetricsFollowTheContexts(t *testing.T) {
	type pduSession struct{ Sst, Sd, Dnn string }
	type ueContext struct {
		CmState     models.CmState
		PduSessions []pduSession
	}
	contexts := []ueContext{
		{models.CmState_CONNECTED, []pduSession{{"1", "010203", "internet"}, {"1", "0102AB", "ims"}}},
		{models.CmState_IDLE, []pduSession{{"1", "010203", "internet"}, {"3", "", "iot"}}},
		{models.CmState_IDLE, nil},
	}
	count := func() tally {
		n := newTally()
		n.gnbs = 2
		for _, c := range contexts {
			n.ue(reflect.ValueOf(c))
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		m := newUEMetrics()
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(m)
		go m.run(ctx, count)
		time.Sleep(countInterval)
		synctest.Wait()
		if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP core5g_amf_gnbs NG-RAN nodes with an N2 association.
# TYPE core5g_amf_gnbs gauge
core5g_amf_gnbs 2
# HELP core5g_amf_pdu_sessions PDU sessions of the UEs that are registered at this AMF.
# TYPE core5g_amf_pdu_sessions gauge
core5g_amf_pdu_sessions{dnn="ims",snssai="1-0102ab"} 1
core5g_amf_pdu_sessions{dnn="internet",snssai="1-010203"} 2
core5g_amf_pdu_sessions{dnn="iot",snssai="3"} 1
# HELP core5g_amf_registered_ues UEs in 5GMM-REGISTERED at this AMF, by connection management state (TS 23.501 5.3.3).
# TYPE core5g_amf_registered_ues gauge
core5g_amf_registered_ues{cm_state="connected"} 1
core5g_amf_registered_ues{cm_state="idle"} 2
`)); err != nil {
			t.Error(err)
		}
		contexts = contexts[:0]
		time.Sleep(countInterval)
		synctest.Wait()
		if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP core5g_amf_pdu_sessions PDU sessions of the UEs that are registered at this AMF.
# TYPE core5g_amf_pdu_sessions gauge
core5g_amf_pdu_sessions{dnn="ims",snssai="1-0102ab"} 0
core5g_amf_pdu_sessions{dnn="internet",snssai="1-010203"} 0
core5g_amf_pdu_sessions{dnn="iot",snssai="3"} 0
`), "core5g_amf_pdu_sessions"); err != nil {
			t.Error(err)
		}
	})
}
