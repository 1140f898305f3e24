package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
)

type source struct{ status agent.Status }

func (s *source) Status() agent.Status { return s.status }

func TestWorkersAreSummed(t *testing.T) {
	var a, b abi.WorkerStats
	a.Lcore, a.CyclesBusy, a.CyclesIdle = 1, 100, 300
	a.Port[abi.PortN3].RxPackets, b.Port[abi.PortN3].RxPackets = 5, 7
	a.Drops[abi.DropSpoofedSource], b.Drops[abi.DropSpoofedSource] = 2, 3
	a.Forwarded[abi.Ul], b.Forwarded[abi.Ul] = 10, 20
	a.Local.GtpuEchoRequests = 4
	failed := time.Unix(1, 0)
	src := &source{agent.Status{
		Sessions: 3, Connected: true, Workers: []abi.WorkerStats{a, b}, TSCHz: 2_500_000_000, Recovery: time.Unix(1_800_000_000, 0),
		Associations: []agent.AssociationInfo{{Node: "a"}, {Node: "b", Failed: &failed}},
	}}
	reg := prometheus.NewPedanticRegistry()
	Register(reg, src)
	rec := NewRecorder(reg)
	rec.Message("in", "heartbeat_request", "")
	rec.Latency("session_establishment_request", time.Millisecond)
	rec.Report("usage")
	rec.SessionsDropped("path failure", 2)

	for name, want := range map[string]string{
		"upf_sessions":                   "upf_sessions 3",
		"upf_pfcp_associations":          `upf_pfcp_associations{path="failed"} 1`,
		"upf_dataplane_connected":        "upf_dataplane_connected 1",
		"upf_interface_packets_total":    `upf_interface_packets_total{direction="rx",interface="n3"} 12`,
		"upf_dropped_packets_total":      `upf_dropped_packets_total{reason="spoofed_source"} 5`,
		"upf_forwarded_packets_total":    `upf_forwarded_packets_total{direction="ul"} 30`,
		"upf_worker_cycles_total":        `upf_worker_cycles_total{lcore="1",state="busy",worker="0"} 100`,
		"upf_local_packets_total":        `upf_local_packets_total{kind="gtpu_echo_request"} 4`,
		"upf_pfcp_messages_total":        `upf_pfcp_messages_total{cause="",direction="in",message="heartbeat_request"} 1`,
		"upf_n4_latency_seconds":         `upf_n4_latency_seconds_count{message="session_establishment_request"} 1`,
		"upf_pfcp_reports_total":         `upf_pfcp_reports_total{kind="usage"} 1`,
		"upf_sessions_dropped_total":     `upf_sessions_dropped_total{reason="path_failure"} 2`,
		"upf_restarts_seen_total":        `upf_restarts_seen_total{peer="upf-u"} 0`,
		"upf_tsc_hertz":                  "upf_tsc_hertz 2.5e+09",
		"upf_recovery_timestamp_seconds": "upf_recovery_timestamp_seconds 1.8e+09",
	} {
		got, err := testutil.CollectAndFormat(reg, expfmt.TypeTextPlain, name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: want %s in\n%s", name, want, got)
		}
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}

	src.status.Connected = false
	if n, err := testutil.GatherAndCount(reg, "upf_dropped_packets_total"); err != nil || n != 0 {
		t.Errorf("%d drop counters (%v) without a data plane to read them from", n, err)
	}
}
