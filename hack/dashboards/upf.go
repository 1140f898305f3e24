package dashboards

func upfSelect() *Select {
	return &Select{"pod", "UPF", `upf_sessions{namespace="$namespace"}`, "pod"}
}

// UPF is the data plane: what comes in, goes out, waits and is lost.
func UPF() Dashboard {
	return Dashboard{
		UID: "core5g-upf", Title: "5G core / UPF",
		About:  "Packets of the user plane: interfaces, drops by reason, buffers, tables.",
		Select: upfSelect(),
		Rows: []Row{
			{"Now", []Panel{
				{Title: "PFCP sessions", Kind: Number, Width: 4,
					Queries: one(`sum(upf_sessions{namespace="$namespace", pod=~"$pod"})`, "")},
				{Title: "Data plane connected", Kind: Number, Width: 4, Warn: 1, Bad: 0.5, Low: true,
					About:   "1 while upf-u runs and has all sessions that upf-c knows.",
					Queries: one(`min(upf_dataplane_connected{namespace="$namespace", pod=~"$pod"})`, "")},
				{Title: "Forwarded", Kind: Number, Width: 4, Unit: "pps",
					Queries: one(`sum by (direction) (rate(upf_forwarded_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{direction}}")},
				{Title: "Dropped", Kind: Number, Width: 4, Unit: "percentunit", Warn: 0.001, Bad: 0.01,
					About:   "Share of the received packets.",
					Queries: one(`max(upf:dropped:ratio1m{namespace="$namespace", pod=~"$pod"})`, "")},
				{Title: "Packets in downlink buffers", Kind: Number, Width: 4,
					About:   "They wait for UEs that are being paged.",
					Queries: one(`sum(upf_buffer_packets{namespace="$namespace", pod=~"$pod"})`, "")},
				{Title: "Fullest table", Kind: Number, Width: 4, Unit: "percentunit", Warn: 0.7, Bad: 0.9,
					Queries: one(`max(upf:table_used:ratio{namespace="$namespace", pod=~"$pod"})`, "")},
			}},
			{"Packets", []Panel{
				{Title: "Bits by interface", Kind: Lines, Width: 8, Unit: "bps",
					About:   "Ethernet headers included.",
					Queries: one(`sum by (pod, interface, direction) (upf:interface_bits:rate1m{namespace="$namespace", pod=~"$pod", interface=~"n3|n6|n9"})`, "{{pod}} {{interface}} {{direction}}")},
				{Title: "Packets by interface", Kind: Lines, Width: 8, Unit: "pps",
					Queries: one(`sum by (pod, interface, direction) (rate(upf_interface_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{pod}} {{interface}} {{direction}}")},
				{Title: "User packets forwarded", Kind: Lines, Width: 8, Unit: "pps",
					Queries: one(`sum by (pod, direction) (rate(upf_forwarded_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{pod}} {{direction}}")},
			}},
			{"Losses and waits", []Panel{
				{Title: "Dropped by reason", Kind: Lines, Width: 8, Unit: "pps",
					About:   "docs/upf/metrics.md explains each reason.",
					Empty:   "nothing was dropped",
					Queries: one(`sum by (pod, reason) (upf:dropped_packets:rate1m{namespace="$namespace", pod=~"$pod"}) > 0`, "{{pod}} {{reason}}")},
				{Title: "Downlink buffers", Kind: Lines, Width: 8,
					About:   "Packets that wait for a UE to answer its paging.",
					Queries: one(`sum by (pod) (upf_buffer_packets{namespace="$namespace", pod=~"$pod"})`, "{{pod}}")},
				{Title: "Buffered, and what became of it", Kind: Lines, Width: 8, Unit: "pps",
					Queries: []Query{
						{`sum(rate(upf_buffered_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "had to wait"},
						{`sum(rate(upf_buffer_released_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "forwarded then"},
						{`sum by (reason) (upf:dropped_packets:rate1m{namespace="$namespace", pod=~"$pod", reason=~"buffer_.+"}) > 0`, "dropped: {{reason}}"},
					}},
			}},
			{"GTP-U and IP", []Panel{
				{Title: "GTP-U peers by path", Kind: Lines, Width: 8,
					About:   "gNBs and other UPFs, by what Echo Requests say of the path (TS 29.281 7.2).",
					Queries: one(`sum by (path) (upf_gtpu_peers{namespace="$namespace", pod=~"$pod"})`, "{{path}}")},
				{Title: "GTP-U messages", Kind: Lines, Width: 8, Unit: "pps",
					About:   "All but G-PDUs.",
					Queries: one(`sum by (message, direction) (rate(upf_gtpu_messages_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{message}} {{direction}}")},
				{Title: "Fragments, reassembly, local packets", Kind: Lines, Width: 8, Unit: "pps",
					Queries: []Query{
						{`sum(rate(upf_fragments_sent_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "fragments sent"},
						{`sum(rate(upf_reassembled_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "reassembled"},
						{`sum by (kind) (rate(upf_local_packets_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval])) > 0`, "{{kind}}"},
					}},
				{Title: "Table use", Kind: Bars, Width: 12, Unit: "percentunit", Max: 1, Warn: 0.7, Bad: 0.9,
					Queries: one(`max by (pod, table) (upf:table_used:ratio{namespace="$namespace", pod=~"$pod"})`, "{{pod}} {{table}}")},
				{Title: "Memory of rules", Kind: Lines, Width: 12, Unit: "bytes",
					Queries: one(`sum by (pod) (upf_rules_bytes{namespace="$namespace", pod=~"$pod"})`, "{{pod}}")},
			}},
		},
	}
}
