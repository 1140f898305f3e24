package dashboards

// N4 is what SMFs and UPFs say to each other.
func N4() Dashboard {
	return Dashboard{
		UID: "core5g-n4", Title: "5G core / N4 and PFCP",
		About:  "PFCP associations, sessions, latency, refusals and reports (TS 29.244).",
		Select: upfSelect(),
		Rows: []Row{
			{"Associations", []Panel{
				{Title: "Associations", Kind: Lines, Width: 6,
					About:   "By the state of the path to the CP function.",
					Queries: one(`sum by (pod, path) (upf_pfcp_associations{namespace="$namespace", pod=~"$pod"})`, "{{pod}} {{path}}")},
				{Title: "Sessions by SMF", Kind: Area, Width: 6,
					Queries: one(`sum by (pod, cp_node) (upf_association_sessions{namespace="$namespace", pod=~"$pod"})`, "{{pod}} of {{cp_node}}")},
				{Title: "Restarts noticed", Kind: Lines, Width: 6,
					About:   "Of upf-u, of upf-c and of CP functions, in the last five minutes.",
					Queries: one(`sum by (pod, peer) (increase(upf_restarts_seen_total{namespace="$namespace", pod=~"$pod"}[5m]))`, "{{pod}} {{peer}}")},
				{Title: "Load and overload", Kind: Lines, Width: 6, Unit: "percent",
					About: "What CP functions hear that have said LOAD and OVRL: how full the UPF is, and what share of their requests it asks them to leave out.",
					Queries: []Query{
						{`max by (pod) (upf_load_percent{namespace="$namespace", pod=~"$pod"})`, "{{pod}} load"},
						{`max by (pod) (upf_overload_reduction_percent{namespace="$namespace", pod=~"$pod"})`, "{{pod}} to be left out"},
					}},
			}},
			{"Messages", []Panel{
				{Title: "Messages", Kind: Lines, Width: 12, Unit: "ops",
					Queries: one(`sum by (message, direction) (rate(upf_pfcp_messages_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{message}} {{direction}}")},
				{Title: "Latency, 99 of 100", Kind: Lines, Width: 12, Unit: "s",
					About:   "From the arrival of a request at the UPF to its response, which is not sent before the workers have the rules.",
					Queries: one(`max by (message) (upf:n4_latency_seconds:p99_1m{namespace="$namespace", pod=~"$pod"}) >= 0`, "{{message}}")},
				{Title: "Refused requests", Kind: Lines, Width: 8, Unit: "ops",
					About:   "By message and PFCP cause (TS 29.244 8.2.1).",
					Empty:   "no request was refused",
					Queries: one(`sum by (message, cause) (upf:pfcp_rejections:rate1m{namespace="$namespace", pod=~"$pod"}) > 0`, "{{message}} {{cause}}")},
				{Title: "Retransmissions", Kind: Lines, Width: 8, Unit: "ops",
					About:   "in: a request came again. out: the UPF had to send one again, for no answer came.",
					Empty:   "no message was sent twice",
					Queries: one(`sum by (message, direction) (rate(upf_pfcp_retransmissions_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval])) > 0`, "{{message}} {{direction}}")},
				{Title: "Sessions that ended without a deletion", Kind: Lines, Width: 8,
					About:   "By reason, in the last five minutes.",
					Empty:   "every session was ended by its SMF",
					Queries: one(`sum by (pod, reason) (increase(upf_sessions_dropped_total{namespace="$namespace", pod=~"$pod"}[5m])) > 0`, "{{pod}} {{reason}}")},
			}},
			{"Reports", []Panel{
				{Title: "Reports", Kind: Lines, Width: 12, Unit: "ops",
					About:   "Session and Node Reports that CP functions have acknowledged.",
					Queries: one(`sum by (kind) (rate(upf_pfcp_reports_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{kind}}")},
				{Title: "Usage Reports by trigger", Kind: Lines, Width: 12, Unit: "ops",
					About:   "TS 29.244 8.2.41.",
					Empty:   "no usage was reported",
					Queries: one(`sum by (trigger) (rate(upf_usage_reports_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{trigger}}")},
			}},
		},
	}
}
