package metrics

import (
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/topology"
)

// Source is where the collector reads; *agent.Agent is one.
type Source interface {
	Status() agent.Status
	Tables() []agent.Table
	Peers() []peers.Peer
	Traffic() []agent.NodeTraffic
}

// NewRegistry has the Go runtime's and the process's metrics.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// Register adds what is read from the source when scraped.
func Register(reg prometheus.Registerer, source Source) { reg.MustRegister(&collector{source: source}) }

// scrape is what one scrape sees.
type scrape struct {
	agent.Status
	tables []agent.Table
	peers  []peers.Peer
	nodes  []agent.NodeTraffic
	sum    abi.WorkerStats // over all workers
	busy   []float64       // by worker
}

// emit sends one value with its labels' values.
type emit func(v float64, labels ...string)

// reading is a family that is read from a scrape.
type reading struct {
	Family
	dataplane bool // only while upf-u is connected
	read      func(s *scrape, e emit)
}

var directions = [2]string{abi.Ul: "ul", abi.Dl: "dl"}

// ports calls f for each interface of upf-u.
func (s *scrape) ports(f func(p int, of networks.Port)) {
	for p := range abi.Ports {
		if of, ok := s.Networks.Port(p); ok {
			f(p, of)
		}
	}
}

func perPort(of func(*abi.PortStats) (rx, tx uint64)) func(*scrape, emit) {
	return func(s *scrape, e emit) {
		s.ports(func(p int, port networks.Port) {
			rx, tx := of(&s.sum.Port[p])
			e(float64(rx), port.Interface, port.NetworkInstance, "rx")
			e(float64(tx), port.Interface, port.NetworkInstance, "tx")
		})
	}
}

func perWorker(values func(s *scrape, i int, e emit)) func(*scrape, emit) {
	return func(s *scrape, e emit) {
		for i := range s.Workers {
			worker, lcore := strconv.Itoa(i), strconv.FormatUint(s.Workers[i].Lcore, 10)
			values(s, i, func(v float64, labels ...string) { e(v, append([]string{worker, lcore}, labels...)...) })
		}
	}
}

func local(of func(*abi.LocalStats) uint64) func(*scrape, emit) {
	return func(s *scrape, e emit) { e(float64(of(&s.sum.Local))) }
}

// places is a reading of where upf-u is.
func places(of func(*topology.Topology, emit)) func(*scrape, emit) {
	return func(s *scrape, e emit) {
		if s.Topology != nil {
			of(s.Topology, e)
		}
	}
}

// ofStandby is of UPFs with redundancy.
func ofStandby(of func(s *agent.StandbyStatus) float64) func(*scrape, emit) {
	return func(s *scrape, e emit) {
		if s.Standby != nil {
			e(of(s.Standby))
		}
	}
}

func cellOf(cell *int32) float64 {
	if cell == nil {
		return -1
	}
	return float64(*cell)
}

// dnns is of metrics by CP function and Network Instance.
const dnns = "dnn: the Network Instance of the session's PDRs, where the SMF puts the DNN; direction: ul, dl"

const (
	whichTable = "table: sessions, slot_pairs; where there is NAT44 nat_blocks, with a network instance that has a name nat_blocks:ims"

	which = "interface: n3, n6, n9; network_instance: of N6, where it has a name"
	rxtx  = which + "; direction: rx, tx"
)

var readings = []reading{
	{Family{"upf_build_info", gauge, "1, with what this upf-c was built from.", []string{"revision", "go_version", "abi_version"}, ""}, false,
		func(_ *scrape, e emit) {
			revision, version := build()
			e(1, revision, version, strconv.Itoa(abi.AbiVersion))
		}},
	{Family{"upf_sessions", gauge, "PFCP sessions.", nil, ""}, false,
		func(s *scrape, e emit) { e(float64(s.Sessions)) }},
	{Family{"upf_pfcp_associations", gauge, "PFCP associations by the state of the path to the CP function.", []string{"path"}, "path: up, failed"}, false,
		func(s *scrape, e emit) {
			failed := 0
			for _, a := range s.Associations {
				if a.Failed != nil {
					failed++
				}
			}
			e(float64(len(s.Associations)-failed), "up")
			e(float64(failed), "failed")
		}},
	{Family{"upf_association_sessions", gauge, "PFCP sessions of a CP function, by its Node ID.", []string{"cp_node"}, ""}, false,
		func(s *scrape, e emit) {
			for _, a := range s.Associations {
				e(float64(a.Sessions), a.Node)
			}
		}},
	{Family{"upf_association_bytes_total", counter, "Octets of user packets that the sessions of a CP function have carried, as their URRs count them; up to 5 s late.", []string{"cp_node", "dnn", "direction"}, dnns}, false,
		func(s *scrape, e emit) {
			for _, n := range s.nodes {
				e(float64(n.UL), n.Node, n.NetworkInstance, "ul")
				e(float64(n.DL), n.Node, n.NetworkInstance, "dl")
			}
		}},
	{Family{"upf_association_packets_total", counter, "The same in packets.", []string{"cp_node", "dnn", "direction"}, dnns}, false,
		func(s *scrape, e emit) {
			for _, n := range s.nodes {
				e(float64(n.ULPackets), n.Node, n.NetworkInstance, "ul")
				e(float64(n.DLPackets), n.Node, n.NetworkInstance, "dl")
			}
		}},
	{Family{"upf_gtpu_peers", gauge, "GTP-U peers by the state of the path to them, unknown where nobody has asked.", []string{"path"}, "path: up, down, unknown"}, false,
		func(s *scrape, e emit) {
			n := map[string]int{"up": 0, "down": 0, "unknown": 0}
			for _, p := range s.peers {
				n[p.Path]++
			}
			for path, n := range n {
				e(float64(n), path)
			}
		}},
	{Family{"upf_table_entries", gauge, "How full the tables are whose size is configured.", []string{"table"}, whichTable}, false,
		func(s *scrape, e emit) {
			for _, t := range s.tables {
				e(float64(t.Used), t.Name)
			}
		}},
	{Family{"upf_table_limit", gauge, "How many entries fit the tables.", []string{"table"}, whichTable}, false,
		func(s *scrape, e emit) {
			for _, t := range s.tables {
				e(float64(t.Limit), t.Name)
			}
		}},
	{Family{"upf_load_percent", gauge, "The PFCP Load Metric, of which CP functions are told that have said LOAD: the fullest of sessions, slot pairs and workers' cycles.", nil, ""}, false,
		func(s *scrape, e emit) { e(float64(s.Load)) }},
	{Family{"upf_overload_reduction_percent", gauge, "The PFCP Overload Reduction Metric: the share of their requests that CP functions which have said OVRL are asked to leave out; 0: none.", nil, ""}, false,
		func(s *scrape, e emit) { e(float64(s.Reduction)) }},
	{Family{"upf_dataplane_connected", gauge, "1 while upf-u is connected and has all sessions.", nil, ""}, false,
		func(s *scrape, e emit) {
			if s.Connected {
				e(1)
			} else {
				e(0)
			}
		}},
	{Family{"upf_recovery_timestamp_seconds", gauge, "The PFCP Recovery Time Stamp.", nil, ""}, false,
		func(s *scrape, e emit) { e(float64(s.Recovery.Unix())) }},

	{Family{"upf_standby_in_sync", gauge, "1 while a standby has all that was answered and may take over; missing without redundancy.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 {
			if s.InSync {
				return 1
			}
			return 0
		})},
	{Family{"upf_granted_epoch", gauge, "The epoch in which this UPF serves its unit, 0 while it is silent; missing without redundancy.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 { return float64(s.Epoch) })},
	{Family{"upf_standby_behind", gauge, "Changes of sessions that the standby has not acknowledged.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 { return float64(s.Behind) })},
	{Family{"upf_standby_sent_bytes_total", counter, "Octets sent to standbys.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 { return float64(s.Octets) })},
	{Family{"upf_standby_snapshots_total", counter, "How often a standby began with all sessions.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 { return float64(s.Snapshots) })},
	{Family{"upf_standby_struck_total", counter, "How often the unit went on without its standby, as it did not acknowledge in time.", nil, ""}, false,
		ofStandby(func(s *agent.StandbyStatus) float64 { return float64(s.Struck) })},

	{Family{"upf_rules_bytes", gauge, "Memory that the compiled rules of all sessions take in upf-u.", nil, ""}, true,
		func(s *scrape, e emit) { e(float64(s.RulesOctets)) }},
	{Family{"upf_interface_packets_total", counter, "Packets on an interface.", []string{"interface", "network_instance", "direction"}, rxtx}, true,
		perPort(func(p *abi.PortStats) (uint64, uint64) { return p.RxPackets, p.TxPackets })},
	{Family{"upf_interface_bytes_total", counter, "Octets on an interface, Ethernet headers included.", []string{"interface", "network_instance", "direction"}, rxtx}, true,
		perPort(func(p *abi.PortStats) (uint64, uint64) { return p.RxBytes, p.TxBytes })},
	{Family{"upf_interface_missed_packets_total", counter, "Frames that came and were lost before upf-u could take them: no room in the NIC's queue or in the kernel's ring.", []string{"interface", "network_instance"}, which}, true,
		func(s *scrape, e emit) {
			s.ports(func(p int, port networks.Port) { e(float64(s.Missed[p]), port.Interface, port.NetworkInstance) })
		}},
	{Family{"upf_forwarded_packets_total", counter, "User packets forwarded.", []string{"direction"}, "direction: ul, dl"}, true,
		func(s *scrape, e emit) {
			for d, name := range directions {
				e(float64(s.sum.Forwarded[d]), name)
			}
		}},
	{Family{"upf_dropped_packets_total", counter, "Packets dropped, by reason, and by the interface by which they came; what was on its way out already, or is upf-u's own, by the interface by which it was to leave.", []string{"interface", "network_instance", "reason"}, which + "; reason: see below"}, true,
		func(s *scrape, e emit) {
			s.ports(func(p int, port networks.Port) {
				for r, reason := range abi.DropReasons {
					e(float64(s.sum.Drops[p].Reason[r]), port.Interface, port.NetworkInstance, reason.Label)
				}
			})
		}},
	{Family{"upf_association_dropped_packets_total", counter, "Those of them that belonged to a session, by its CP function and DNN. What is lost on its way out (tx_full, no_neighbour) belongs to none any more.", []string{"cp_node", "dnn", "reason"}, "dnn: the Network Instance; reason: see below"}, true,
		func(s *scrape, e emit) {
			for i := range s.Groups {
				g := &s.Groups[i]
				for r, reason := range abi.DropReasons {
					e(float64(g.Drops.Reason[r]), g.Node, g.NetworkInstance, reason.Label)
				}
			}
		}},
	{Family{"upf_interface_up", gauge, "1 while the interface has a link, 0 when it is down or the device is gone.", []string{"interface", "network_instance", "device"}, which}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				switch p.Link {
				case topology.LinkUp:
					e(1, p.Interface, p.NetworkInstance, p.Device)
				case topology.LinkDown:
					e(0, p.Interface, p.NetworkInstance, p.Device)
				}
			}
		})},
	{Family{"upf_interface_downs_total", counter, "How often the link of the interface went down.", []string{"interface", "network_instance", "device"}, which}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				e(float64(p.LinkDowns), p.Interface, p.NetworkInstance, p.Device)
			}
		})},
	{Family{"upf_gateway_up", gauge, "1 while a gateway answers ARP or Neighbour Discovery, 0 when it does not: of an interface that has two of an IP version.", []string{"interface", "network_instance", "gateway"}, which + "; gateway: its address"}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				for _, g := range p.Gateways {
					switch g.State {
					case topology.GatewayAnswers:
						e(1, p.Interface, p.NetworkInstance, g.Address)
					case topology.GatewaySilent:
						e(0, p.Interface, p.NetworkInstance, g.Address)
					}
				}
			}
		})},
	{Family{"upf_gateway_losses_total", counter, "How often such a gateway ceased to answer.", []string{"interface", "network_instance", "gateway"}, which + "; gateway: its address"}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				for _, g := range p.Gateways {
					e(float64(g.Losses), p.Interface, p.NetworkInstance, g.Address)
				}
			}
		})},

	{Family{"upf_worker_cycles_total", counter, "TSC cycles of a worker in polls that found something to do (busy) or nothing (idle).", []string{"worker", "lcore", "state"}, "state: busy, idle"}, true,
		perWorker(func(s *scrape, i int, e emit) {
			e(float64(s.Workers[i].CyclesBusy), "busy")
			e(float64(s.Workers[i].CyclesIdle), "idle")
		})},
	{Family{"upf_worker_busy_ratio", gauge, "Busy share of a worker's cycles since the scrape before, 0 to 1: its true load, whatever its CPU shows.", []string{"worker", "lcore"}, ""}, true,
		perWorker(func(s *scrape, i int, e emit) { e(s.busy[i]) })},
	{Family{"upf_worker_polls_total", counter, "Polls of a worker, by whether they found packets.", []string{"worker", "lcore", "found"}, "found: packets, none"}, true,
		perWorker(func(s *scrape, i int, e emit) {
			w := &s.Workers[i]
			e(float64(w.Polls-min(w.PollsEmpty, w.Polls)), "packets")
			e(float64(w.PollsEmpty), "none")
		})},
	{Family{"upf_tsc_hertz", gauge, "Rate of the clock of upf_worker_cycles_total.", nil, ""}, true,
		func(s *scrape, e emit) { e(float64(s.TSCHz)) }},

	{Family{"upf_cpu_numa_cell", gauge, "NUMA cell of a CPU that upf-u runs on.", []string{"thread", "cpu"}, "thread: control, worker 0, …"}, true,
		places(func(t *topology.Topology, e emit) {
			for _, thread := range t.Threads {
				e(cellOf(thread.Cell), thread.Role, strconv.FormatUint(uint64(thread.CPU), 10))
			}
		})},
	{Family{"upf_interface_numa_cell", gauge, "NUMA cell of an interface's device; -1 where it belongs to none.", []string{"interface", "network_instance", "device", "driver"}, which}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				e(cellOf(p.Cell), p.Interface, p.NetworkInstance, p.Device, p.Driver)
			}
		})},
	{Family{"upf_interface_spread", gauge, "1 for what of an interface's packets the NIC hashes to choose a worker, where there are several: what comes in at another than its session's is handed over.", []string{"interface", "network_instance", "device", "hash"}, which + "; hash: ue, ue_ipv4, outer, software"}, true,
		places(func(t *topology.Topology, e emit) {
			for _, p := range t.Ports {
				if p.Spread != "" {
					e(1, p.Interface, p.NetworkInstance, p.Device, string(p.Spread))
				}
			}
		})},
	{Family{"upf_memory_bytes", gauge, "Memory of upf-u by NUMA cell: packet buffers, rules, counters.", []string{"numa_cell", "use"}, "use: packet_buffers, other; numa_cell: unknown where the kernel does not tell"}, true,
		places(func(t *topology.Topology, e emit) {
			for _, m := range t.Memory {
				buffers := min(m.Buffers, m.Octets)
				e(float64(buffers), strconv.Itoa(int(m.Cell)), "packet_buffers")
				e(float64(m.Octets-buffers), strconv.Itoa(int(m.Cell)), "other")
			}
			if t.MemoryUnknown > 0 {
				e(float64(t.MemoryUnknown), "unknown", "other")
			}
		})},
	{Family{"upf_numa_aligned", gauge, "1 when CPUs, ports and memory are known to be in one NUMA cell, else 0.", nil, ""}, true,
		places(func(t *topology.Topology, e emit) {
			if verdict, _ := t.Judge(-1); verdict == topology.Aligned {
				e(1)
			} else {
				e(0)
			}
		})},

	{Family{"upf_buffer_packets", gauge, "Downlink packets that wait for their UEs.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BufferWaiting })},
	{Family{"upf_buffer_bytes", gauge, "Octets of the packets that wait.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BufferWaitingOctets })},
	{Family{"upf_buffered_packets_total", counter, "Downlink packets that had to wait; what became of others is in upf_dropped_packets_total as buffer_full, buffer_expired and buffer_released.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.Buffered })},
	{Family{"upf_buffer_released_packets_total", counter, "Packets that waited and were then forwarded.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BufferedReleased })},
	{Family{"upf_shaped_packets_total", counter, "Packets above a maximum bit rate that waited for their time; what found no room is in upf_dropped_packets_total as mbr_exceeded.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.Shaped })},
	{Family{"upf_shaper_packets", gauge, "Packets that wait for their rate.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.ShaperWaiting })},
	{Family{"upf_nat_mappings", gauge, "NAT44 mappings that there are, of all network instances.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.NatMappings })},
	{Family{"upf_nat_mapped_total", counter, "NAT44 mappings that were made; for what none could be made, upf_dropped_packets_total has nat_ports and nat_table.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.NatMapped })},
	{Family{"upf_detected_entries", gauge, "Flows, addresses and DNS questions by which packets are told to be of an application with domain names.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.DetectedNow })},
	{Family{"upf_detected_total", counter, "What was found to be of an application with domain names.", []string{"by"},
		"by: tls and quic, flows by their ClientHello; dns, addresses by the answer to a UE's question"}, true,
		func(s *scrape, e emit) {
			l := &s.sum.Local
			e(float64(l.DetectedTls), "tls")
			e(float64(l.DetectedQuic), "quic")
			e(float64(l.DetectedDns), "dns")
		}},
	{Family{"upf_detection_misses_total", counter, "What could have told an application and did not; its packets are those of PDRs of lower precedence.", []string{"reason"},
		"reason: unread, a ClientHello or QUIC Initial packet whose server's name could not be read; full, there was no room to keep it, for its session or for all; limited, too many of its session, or of all, in a second"}, true,
		func(s *scrape, e emit) {
			l := &s.sum.Local
			e(float64(l.DetectionUnread), "unread")
			e(float64(l.DetectionFull), "full")
			e(float64(l.DetectionLimited), "limited")
		}},
	{Family{"upf_bridge_stations", gauge, "MAC addresses that the bridges of Ethernet network instances know.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BridgeStations })},
	{Family{"upf_bridge_stations_total", counter, "What became of MAC addresses in bridges.", []string{"event"},
		"event: learned; moved, to another PDU session, or to N6 or from there; aged, silent for too long; full, not learned, for there was no room for its PDU session, for N6 or for all"}, true,
		func(s *scrape, e emit) {
			l := &s.sum.Local
			e(float64(l.BridgeLearned), "learned")
			e(float64(l.BridgeMoved), "moved")
			e(float64(l.BridgeAged), "aged")
			e(float64(l.BridgeFull), "full")
		}},
	{Family{"upf_bridge_flooded_frames_total", counter, "Ethernet frames to all: broadcast, multicast, and destinations that are not known.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BridgeFlooded })},
	{Family{"upf_bridge_copies_total", counter, "Copies of them for PDU sessions; those beyond the limit are in upf_dropped_packets_total as flood_limit.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BridgeCopies })},
	{Family{"upf_bridge_switched_frames_total", counter, "Ethernet frames from one PDU session to another of the network instance.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.BridgeSwitched })},
	{Family{"upf_duplicated_packets_total", counter, "Copies of user packets made as Duplicating Parameters say; those that did not leave are in upf_dropped_packets_total as duplication.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.Duplicated })},
	{Family{"upf_redirected_packets_total", counter, "Packets of HTTP connections that a FAR's Redirect Information answered.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.Redirected })},
	{Family{"upf_gtpu_messages_total", counter, "GTP-U messages but G-PDUs (TS 29.281 6.1).", []string{"direction", "message"},
		"direction: in, out; message: echo_request, echo_response, error_indication, end_marker, supported_extension_headers_notification"}, true,
		func(s *scrape, e emit) {
			l := &s.sum.Local
			for _, m := range []struct {
				direction, message string
				n                  uint64
			}{
				{"in", "echo_request", l.GtpuEchoRequests}, {"out", "echo_request", l.GtpuEchoRequestsSent},
				{"in", "echo_response", l.GtpuEchoResponses}, {"out", "echo_response", l.GtpuEchoRequests},
				{"in", "error_indication", l.ErrorIndicationsReceived}, {"out", "error_indication", l.ErrorIndicationsSent},
				{"in", "end_marker", l.EndMarkersReceived}, {"out", "end_marker", l.EndMarkersSent},
				{"in", "supported_extension_headers_notification", l.SupportedExtensionsReceived},
				{"out", "supported_extension_headers_notification", l.SupportedExtensionsSent},
			} {
				e(float64(m.n), m.direction, m.message)
			}
		}},
	{Family{"upf_local_packets_total", counter, "Packets of ARP, Neighbour Discovery and ICMP that upf-u took or sent itself.", []string{"kind"},
		"kind: arp_request, arp_reply, neighbour_solicitation, neighbour_advertisement, router_solicitation and icmp_echo received; router_advertisement and icmp_error sent"}, true,
		func(s *scrape, e emit) {
			l := &s.sum.Local
			e(float64(l.ArpRequests), "arp_request")
			e(float64(l.ArpReplies), "arp_reply")
			e(float64(l.NdSolicitations), "neighbour_solicitation")
			e(float64(l.NdAdvertisements), "neighbour_advertisement")
			e(float64(l.RouterSolicitations), "router_solicitation")
			e(float64(l.RouterAdvertisementsSent), "router_advertisement")
			e(float64(l.IcmpEcho), "icmp_echo")
			e(float64(l.IcmpErrorsSent), "icmp_error")
		}},
	{Family{"upf_fragments_sent_total", counter, "Fragments sent of packets that did not fit the outgoing MTU.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.FragmentsSent })},
	{Family{"upf_reassembled_packets_total", counter, "Packets put together from fragments.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.FragmentsReassembled })},
	{Family{"upf_mss_clamped_packets_total", counter, "TCP handshakes whose maximum segment size was lowered.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.MssClamped })},
	{Family{"upf_traced_packets_total", counter, "Packets that upfctl followed.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.Traced })},
	{Family{"upf_trace_lost_events_total", counter, "Steps of followed packets that nobody took in time.", nil, ""}, true,
		local(func(l *abi.LocalStats) uint64 { return l.TraceLost })},
}

// build is what this program was built from.
func build() (revision, version string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "unknown"
	}
	revision = "unknown"
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return revision, info.GoVersion
}

// collector turns a scrape into metrics.
type collector struct {
	source Source

	mu     sync.Mutex
	before []abi.WorkerStats // at the last scrape
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, r := range readings {
		ch <- r.desc()
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{Status: c.source.Status(), tables: c.source.Tables(), peers: c.source.Peers(), nodes: c.source.Traffic()}
	for i := range s.Workers {
		add(&s.sum, &s.Workers[i])
	}
	s.busy = c.load(s.Workers)
	for _, r := range readings {
		if r.dataplane && !s.Connected {
			continue
		}
		desc, kind := r.desc(), prometheus.GaugeValue
		if r.Type == counter {
			kind = prometheus.CounterValue
		}
		r.read(&s, func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(desc, kind, v, labels...)
		})
	}
}

// load is the busy share of each worker's cycles since the last call.
func (c *collector) load(now []abi.WorkerStats) []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]float64, len(now))
	for i := range now {
		busy, idle := now[i].CyclesBusy, now[i].CyclesIdle
		if i < len(c.before) && c.before[i].CyclesBusy <= busy && c.before[i].CyclesIdle <= idle { // the same upf-u
			busy, idle = busy-c.before[i].CyclesBusy, idle-c.before[i].CyclesIdle
		}
		if busy+idle > 0 {
			out[i] = float64(busy) / float64(busy+idle)
		}
	}
	c.before = now
	return out
}

func add(sum, w *abi.WorkerStats) {
	for p := range w.Port {
		sum.Port[p].RxPackets += w.Port[p].RxPackets
		sum.Port[p].RxBytes += w.Port[p].RxBytes
		sum.Port[p].TxPackets += w.Port[p].TxPackets
		sum.Port[p].TxBytes += w.Port[p].TxBytes
	}
	for d := range w.Forwarded {
		sum.Forwarded[d] += w.Forwarded[d]
	}
	for p := range w.Drops {
		for r, n := range w.Drops[p].Reason {
			sum.Drops[p].Reason[r] += n
		}
	}
	into, from := abi.Words(&sum.Local), abi.Words(&w.Local)
	for i := range from {
		into[i] += from[i]
	}
}
