package metrics

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/state"
	"core5g.dev/core5g/upf/upfc/topology"
	"core5g.dev/core5g/upf/upfc/usage"
)

var update = flag.Bool("update", false, "write docs/upf/metrics.md")

type source struct{ status agent.Status }

func (s *source) Status() agent.Status { return s.status }

func (*source) Tables() []agent.Table {
	return []agent.Table{{Name: "sessions", Used: 3, Limit: 100}, {Name: "slot_pairs", Used: 4, Limit: 200}}
}

func (*source) Traffic() []agent.NodeTraffic {
	return []agent.NodeTraffic{{Group: state.Group{Node: "10.96.0.7", NetworkInstance: "internet"}, Counts: usage.Counts{UL: 1000, DL: 2000, ULPackets: 10, DLPackets: 20}}}
}

func (*source) Peers() []peers.Peer {
	return []peers.Peer{{Address: netip.MustParseAddr("172.30.3.100"), Path: "up"}, {Address: netip.MustParseAddr("172.30.3.101"), Path: "up"}}
}

// full is a UPF of two workers in which every counter that the tests look at is something else.
func full() *source {
	var a, b abi.WorkerStats
	a.Lcore, a.CyclesBusy, a.CyclesIdle, a.Polls, a.PollsEmpty = 1, 100, 300, 50, 20
	a.Port[abi.PortN3].RxPackets, b.Port[abi.PortN3].RxPackets = 5, 7
	a.Port[abi.PortN9].TxBytes = 99
	a.Port[abi.PortN6+1].RxBytes = 98
	a.Drops[abi.PortN3].Reason[abi.DropSpoofedSource], b.Drops[abi.PortN3].Reason[abi.DropSpoofedSource] = 2, 3
	a.Forwarded[abi.Ul], b.Forwarded[abi.Ul] = 10, 20
	for i, w := range abi.Words(&a.Local) {
		_ = w
		abi.Words(&a.Local)[i] = 1000 + uint64(i)
	}
	b.Local.GtpuEchoRequests, b.Local.BufferWaiting = 4, 6
	failed := time.Unix(1, 0)
	lost := agent.GroupDrops{Group: state.Group{Node: "10.96.0.7", NetworkInstance: "internet"}}
	lost.Drops.Reason[abi.DropGateClosed] = 7
	return &source{agent.Status{
		Sessions: 3, RulesOctets: 576, Load: 35, Reduction: 20, Connected: true, Workers: []abi.WorkerStats{a, b}, TSCHz: 2_500_000_000, Recovery: time.Unix(1_800_000_000, 0),
		Associations: []agent.AssociationInfo{{Node: "a", Sessions: 2}, {Node: "b", Failed: &failed}}, Topology: twoCells(), Groups: []agent.GroupDrops{lost}, Networks: networks.List{"", "ims"}, Missed: [abi.Ports]uint64{abi.PortN3: 11},
		Standby: &agent.StandbyStatus{Epoch: 7, InSync: true, Behind: 2, Octets: 900, Snapshots: 3, Struck: 1},
	}}
}

// twoCells has its N6 interface and some of its memory beside the rest.
func twoCells() *topology.Topology {
	zero, one := int32(0), int32(1)
	return &topology.Topology{
		Cells: 2, Threads: []topology.Thread{{Role: "control", CPU: 2, Cell: &one}, {Role: "worker 0", CPU: 3, Cell: &one}},
		Ports: []topology.Port{
			{Interface: "n3", Device: "n3", Driver: "net_af_packet", Link: topology.LinkUp},
			{Interface: "n6", Device: "0000:01:10.0", Driver: "net_e1000_igb_vf", Cell: &zero, Spread: topology.SpreadOuter, Link: topology.LinkDown, LinkDowns: 2, Gateways: []topology.Gateway{
				{Address: "172.30.6.1", State: topology.GatewayAnswers}, {Address: "172.30.6.9", State: topology.GatewaySilent, Losses: 4}, {Address: "fe80::1"},
			}},
		},
		Memory: []topology.Memory{{Cell: 1, Octets: 100, Buffers: 70}}, MemoryUnknown: 5,
	}
}

// registry has everything, with each family of the recorder used once.
func registry(src *source) *prometheus.Registry {
	reg := prometheus.NewPedanticRegistry()
	Register(reg, src)
	rec := NewRecorder(reg)
	rec.Message("in", "heartbeat_request", "")
	rec.Retransmission("out", "session_report_request")
	rec.Latency("session_establishment_request", time.Millisecond)
	rec.Report("usage")
	rec.UsageReport(1<<1 | 1<<8)
	rec.SessionsDropped("path failure", 2)
	return reg
}

func TestValues(t *testing.T) {
	src := full()
	reg := registry(src)
	local := src.status.Workers[0].Local
	for _, want := range []string{
		"upf_sessions 3",
		`upf_pfcp_associations{path="failed"} 1`,
		`upf_association_sessions{cp_node="a"} 2`,
		`upf_association_bytes_total{cp_node="10.96.0.7",direction="dl",dnn="internet"} 2000`,
		`upf_association_packets_total{cp_node="10.96.0.7",direction="ul",dnn="internet"} 10`,
		`upf_gtpu_peers{path="up"} 2`,
		`upf_gtpu_peers{path="down"} 0`,
		`upf_table_entries{table="sessions"} 3`,
		`upf_table_limit{table="slot_pairs"} 200`,
		"upf_load_percent 35",
		"upf_overload_reduction_percent 20",
		"upf_dataplane_connected 1",
		"upf_rules_bytes 576",
		"upf_recovery_timestamp_seconds 1.8e+09",
		"upf_standby_in_sync 1",
		"upf_granted_epoch 7",
		"upf_standby_behind 2",
		"upf_standby_sent_bytes_total 900",
		"upf_standby_snapshots_total 3",
		"upf_standby_struck_total 1",
		`upf_interface_packets_total{direction="rx",interface="n3",network_instance=""} 12`,
		`upf_interface_bytes_total{direction="tx",interface="n9",network_instance=""} 99`,
		`upf_interface_bytes_total{direction="rx",interface="n6",network_instance="ims"} 98`,
		`upf_dropped_packets_total{interface="n3",network_instance="",reason="spoofed_source"} 5`,
		`upf_dropped_packets_total{interface="n6",network_instance="",reason="spoofed_source"} 0`,
		`upf_association_dropped_packets_total{cp_node="10.96.0.7",dnn="internet",reason="gate_closed"} 7`,
		`upf_interface_up{device="n3",interface="n3",network_instance=""} 1`,
		`upf_interface_up{device="0000:01:10.0",interface="n6",network_instance=""} 0`,
		`upf_interface_downs_total{device="0000:01:10.0",interface="n6",network_instance=""} 2`,
		`upf_gateway_up{gateway="172.30.6.1",interface="n6",network_instance=""} 1`,
		`upf_gateway_up{gateway="172.30.6.9",interface="n6",network_instance=""} 0`,
		`upf_gateway_losses_total{gateway="172.30.6.9",interface="n6",network_instance=""} 4`,
		`upf_interface_missed_packets_total{interface="n3",network_instance=""} 11`,
		`upf_forwarded_packets_total{direction="ul"} 30`,
		`upf_worker_cycles_total{lcore="1",state="busy",worker="0"} 100`,
		`upf_worker_polls_total{found="packets",lcore="1",worker="0"} 30`,
		"upf_tsc_hertz 2.5e+09",
		`upf_cpu_numa_cell{cpu="3",thread="worker 0"} 1`,
		`upf_interface_numa_cell{device="n3",driver="net_af_packet",interface="n3",network_instance=""} -1`,
		`upf_interface_numa_cell{device="0000:01:10.0",driver="net_e1000_igb_vf",interface="n6",network_instance=""} 0`,
		`upf_interface_spread{device="0000:01:10.0",hash="outer",interface="n6",network_instance=""} 1`,
		`upf_memory_bytes{numa_cell="1",use="packet_buffers"} 70`,
		`upf_memory_bytes{numa_cell="1",use="other"} 30`,
		`upf_memory_bytes{numa_cell="unknown",use="other"} 5`,
		"upf_numa_aligned 0",
		fmt.Sprintf("upf_buffer_packets %d", local.BufferWaiting+6),
		fmt.Sprintf("upf_buffer_bytes %d", local.BufferWaitingOctets),
		fmt.Sprintf("upf_buffered_packets_total %d", local.Buffered),
		fmt.Sprintf("upf_buffer_released_packets_total %d", local.BufferedReleased),
		fmt.Sprintf("upf_shaped_packets_total %d", local.Shaped),
		fmt.Sprintf("upf_shaper_packets %d", local.ShaperWaiting),
		fmt.Sprintf("upf_nat_mappings %d", local.NatMappings),
		fmt.Sprintf("upf_nat_mapped_total %d", local.NatMapped),
		fmt.Sprintf("upf_detected_entries %d", local.DetectedNow),
		fmt.Sprintf(`upf_detected_total{by="tls"} %d`, local.DetectedTls),
		fmt.Sprintf(`upf_detected_total{by="quic"} %d`, local.DetectedQuic),
		fmt.Sprintf(`upf_detected_total{by="dns"} %d`, local.DetectedDns),
		fmt.Sprintf(`upf_detection_misses_total{reason="unread"} %d`, local.DetectionUnread),
		fmt.Sprintf(`upf_detection_misses_total{reason="full"} %d`, local.DetectionFull),
		fmt.Sprintf(`upf_detection_misses_total{reason="limited"} %d`, local.DetectionLimited),
		fmt.Sprintf("upf_bridge_stations %d", local.BridgeStations),
		fmt.Sprintf(`upf_bridge_stations_total{event="learned"} %d`, local.BridgeLearned),
		fmt.Sprintf(`upf_bridge_stations_total{event="moved"} %d`, local.BridgeMoved),
		fmt.Sprintf(`upf_bridge_stations_total{event="aged"} %d`, local.BridgeAged),
		fmt.Sprintf(`upf_bridge_stations_total{event="full"} %d`, local.BridgeFull),
		fmt.Sprintf("upf_bridge_flooded_frames_total %d", local.BridgeFlooded),
		fmt.Sprintf("upf_bridge_copies_total %d", local.BridgeCopies),
		fmt.Sprintf("upf_bridge_switched_frames_total %d", local.BridgeSwitched),
		fmt.Sprintf("upf_duplicated_packets_total %d", local.Duplicated),
		fmt.Sprintf("upf_redirected_packets_total %d", local.Redirected),
		fmt.Sprintf("upf_fragments_sent_total %d", local.FragmentsSent),
		fmt.Sprintf("upf_reassembled_packets_total %d", local.FragmentsReassembled),
		fmt.Sprintf("upf_mss_clamped_packets_total %d", local.MssClamped),
		fmt.Sprintf("upf_traced_packets_total %d", local.Traced),
		fmt.Sprintf("upf_trace_lost_events_total %d", local.TraceLost),
		fmt.Sprintf(`upf_gtpu_messages_total{direction="in",message="echo_request"} %d`, local.GtpuEchoRequests+4),
		fmt.Sprintf(`upf_gtpu_messages_total{direction="out",message="end_marker"} %d`, local.EndMarkersSent),
		fmt.Sprintf(`upf_local_packets_total{kind="icmp_error"} %d`, local.IcmpErrorsSent),
		`upf_pfcp_messages_total{cause="",direction="in",message="heartbeat_request"} 1`,
		`upf_pfcp_retransmissions_total{direction="out",message="session_report_request"} 1`,
		`upf_n4_latency_seconds_count{message="session_establishment_request"} 1`,
		`upf_pfcp_reports_total{kind="usage"} 1`,
		`upf_usage_reports_total{trigger="volth"} 1`,
		`upf_usage_reports_total{trigger="volqu"} 1`,
		`upf_sessions_dropped_total{reason="path_failure"} 2`,
		`upf_restarts_seen_total{peer="upf-u"} 0`,
	} {
		name, _, _ := strings.Cut(want, " ")
		name, _, _ = strings.Cut(name, "{")
		got, err := testutil.CollectAndFormat(reg, expfmt.TypeTextPlain, strings.TrimSuffix(name, "_count"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(got), want+"\n") {
			t.Errorf("want %s in\n%s", want, got)
		}
	}

	src.status.Connected = false
	if n, err := testutil.GatherAndCount(reg, "upf_dropped_packets_total"); err != nil || n != 0 {
		t.Errorf("%d drop counters (%v) without a data plane to read them from", n, err)
	}
}

func TestBusyIsSinceTheScrapeBefore(t *testing.T) {
	src := full()
	reg := registry(src)
	ratio := func() float64 {
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.GetName() == "upf_worker_busy_ratio" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatal("no ratio")
		return 0
	}
	for _, step := range []struct {
		name       string
		busy, idle uint64
		want       float64
	}{
		{"the first time since the start", 100, 300, 0.25},
		{"then of what was added", 190, 310, 0.9},
		{"nothing was", 190, 310, 0},
		{"a new upf-u begins anew", 10, 30, 0.25},
	} {
		src.status.Workers = []abi.WorkerStats{{CyclesBusy: step.busy, CyclesIdle: step.idle}}
		if got := ratio(); got != step.want {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

// What is exported is what is listed, with help and type, and follows Prometheus' conventions.
func TestFamilies(t *testing.T) {
	reg := registry(full())
	all, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range all {
		got[f.GetName()] = strings.ToLower(f.GetType().String()) + ": " + f.GetHelp()
	}
	want := map[string]string{}
	for _, f := range Families() {
		if !strings.HasPrefix(f.Name, "upf_") {
			t.Errorf("%s does not begin with upf_", f.Name)
		}
		if strings.HasSuffix(f.Name, "_total") != (f.Type == counter) {
			t.Errorf("%s is a %s", f.Name, f.Type)
		}
		want[f.Name] = f.Type + ": " + f.Help
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed and exported differ (-listed +exported):\n%s", diff)
	}
	for _, f := range all {
		i := slices.IndexFunc(Families(), func(l Family) bool { return l.Name == f.GetName() })
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName())
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(Families()[i].Labels)), slices.Sorted(slices.Values(labels))); diff != "" {
				t.Errorf("%s: labels (-listed +exported):\n%s", f.GetName(), diff)
			}
		}
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Metrics of the UPF

upf-c serves them on ` + "`metrics.listen`, path `/metrics`" + `, beside those of the Go runtime and of the
process. What workers count is read from upf-u's memory at the scrape, and is missing while upf-u is
not connected. Words are those of 3GPP; ` + "`ul` and `dl`" + ` are uplink and downlink. This page is written by
` + "`go test ./upf/upfc/metrics -update`" + `.

| name | type | labels | |
|---|---|---|---|
`)
	for _, f := range Families() {
		var labels []string
		for _, l := range f.Labels {
			if !strings.Contains(f.Values, l+":") {
				labels = append(labels, l)
			}
		}
		if f.Values != "" {
			labels = append(labels, f.Values)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, strings.Join(labels, "; "), f.Help)
	}
	b.WriteString("\n## Drop reasons\n\nEvery packet that does not leave has a reason, in `upf_dropped_packets_total{reason}`, and\nif it was of a session in `upf_association_dropped_packets_total{reason}`:\n\n| reason | |\n|---|---|\n")
	for _, r := range abi.DropReasons {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Label, r.Help)
	}
	b.WriteString(`
## Questions that they answer

| question | query |
|---|---|
| How busy is each worker? | ` + "`upf_worker_busy_ratio`, or over a time of one's choice `sum without (state) (rate(upf_worker_cycles_total{state=\"busy\"}[1m])) / sum without (state) (rate(upf_worker_cycles_total[1m]))`" + ` |
| Is anything lost? | ` + "`sum by (reason) (rate(upf_dropped_packets_total[1m]))`" + ` |
| Is anything lost before upf-u can take it? | ` + "`sum by (interface) (rate(upf_interface_missed_packets_total[1m]))`" + ` |
| How much has to wait for its rate? | ` + "`rate(upf_shaped_packets_total[1m])`" + ` |
| Who loses it? | ` + "`sum by (cp_node, dnn, reason) (rate(upf_association_dropped_packets_total[1m]))`" + ` |
| Is a link down? | ` + "`upf_interface_up == 0`" + ` |
| Does a gateway not answer? | ` + "`upf_gateway_up == 0`" + ` |
| Does the UPF answer SMFs in time? | ` + "`histogram_quantile(0.99, sum by (le, message) (rate(upf_n4_latency_seconds_bucket[5m])))`" + ` |
| Does N4 lose messages? | ` + "`rate(upf_pfcp_retransmissions_total[5m])`" + ` |
| What do we refuse? | ` + "`rate(upf_pfcp_messages_total{direction=\"out\", cause!~\"\\|request_accepted\"}[5m])`" + ` |
| When is the UPF full? | ` + "`upf_table_entries / upf_table_limit`" + ` |
`)
	return b.String()
}

func TestDocument(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "upf", "metrics.md")
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/upf/metrics.md is not what the code says; `go test ./upf/upfc/metrics -update` writes it:\n%s", diff)
	}
}
