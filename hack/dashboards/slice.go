package dashboards

// Slice is what the owner of a slice asks for.
func Slice() Dashboard {
	return Dashboard{
		UID: "core5g-slice", Title: "5G core / Slice",
		About:  "Subscribers, PDU sessions and traffic of network slices.",
		Select: &Select{"slice", "Slice", `core5g_slice_info{namespace="$namespace"}`, "slice"},
		Rows: []Row{
			{"Now", []Panel{
				{Title: "Registered UEs", Kind: Number, Width: 6,
					About: "UEs with a registration at the UDM whose subscription names the slice.",
					Queries: one(`sum by (slice) (max by (namespace, snssai) (core5g_registered_ues{namespace="$namespace"})
  * on (namespace, snssai) group_right () max by (namespace, slice, snssai) (core5g_slice_info{namespace="$namespace", slice=~"$slice"}))`, "{{slice}}")},
				{Title: "PDU sessions", Kind: Number, Width: 6,
					Queries: one(`sum by (slice) (slice:pdu_sessions:sum{namespace="$namespace", slice=~"$slice"})`, "{{slice}}")},
				{Title: "Traffic", Kind: Number, Width: 6, Unit: "bps",
					Queries: one(`8 * sum by (slice, direction) (slice:upf_bytes:rate1m{namespace="$namespace", slice=~"$slice"})`, "{{slice}} {{direction}}")},
				{Title: "SMF and UPF associated", Kind: Number, Width: 6, Warn: 1, Bad: 0.5, Low: true,
					About:   "1 while every shard of the SMF has a PFCP association with every unit of the slice's UPFs (TS 29.244 6.2.6).",
					Queries: one(`min by (slice) (core5g_smf_upf_associated{namespace="$namespace", slice=~"$slice"})`, "{{slice}}")},
			}},
			{"PDU sessions", []Panel{
				{Title: "PDU sessions by slice", Kind: Area, Width: 8,
					Queries: one(`sum by (slice, snssai) (slice:pdu_sessions:sum{namespace="$namespace", slice=~"$slice"})`, "{{slice}}")},
				{Title: "Establishments", Kind: Lines, Width: 8, Unit: "ops",
					About:   "By result and 5GSM cause (TS 24.501 9.11.4.2).",
					Queries: one(`sum by (slice, dnn, result, cause) (slice:pdu_session_establishments:rate1m{namespace="$namespace", slice=~"$slice"})`, "{{slice}} {{dnn}} {{result}} {{cause}}")},
				{Title: "Time to establish", Kind: Lines, Width: 8, Unit: "s",
					About: "At the SMF, from the AMF's request to the answer. 95 of 100 are faster than the upper line.",
					Empty: "no PDU session was established lately",
					Queries: []Query{
						{`histogram_quantile(0.95, sum by (le, slice) (rate(core5g_pdu_session_establishment_seconds_bucket{namespace="$namespace", slice=~"$slice"}[$__rate_interval]))) >= 0`, "{{slice}} 95 %"},
						{`histogram_quantile(0.5, sum by (le, slice) (rate(core5g_pdu_session_establishment_seconds_bucket{namespace="$namespace", slice=~"$slice"}[$__rate_interval]))) >= 0`, "{{slice}} median"},
					}},
			}},
			{"Traffic", []Panel{
				{Title: "Bits by DNN", Kind: Lines, Width: 8, Unit: "bps",
					Queries: one(`8 * sum by (slice, dnn, direction) (slice:upf_bytes:rate1m{namespace="$namespace", slice=~"$slice"})`, "{{slice}} {{dnn}} {{direction}}")},
				{Title: "Packets by DNN", Kind: Lines, Width: 8, Unit: "pps",
					Queries: one(`sum by (slice, dnn, direction) (slice:upf_packets:rate1m{namespace="$namespace", slice=~"$slice"})`, "{{slice}} {{dnn}} {{direction}}")},
				{Title: "Dropped packets by DNN", Kind: Lines, Width: 8, Unit: "pps",
					About:   "Of PDU sessions, by reason. What no PDU session has, and what is lost on its way out, is on the UPF's page.",
					Empty:   "no packet of a PDU session was dropped lately",
					Queries: one(`sum by (slice, dnn, reason) (slice:upf_dropped_packets:rate1m{namespace="$namespace", slice=~"$slice"}) > 0`, "{{slice}} {{dnn}} {{reason}}")},
			}},
			{"State", []Panel{
				{Title: "Slices", Kind: Table, Width: 12,
					Queries: one(`max by (slice, snssai, core, upfinstance) (core5g_slice_info{namespace="$namespace", slice=~"$slice"})`, ""),
					Columns: []Column{{"slice", "Slice"}, {"snssai", "S-NSSAI"}, {"core", "Core"}, {"upfinstance", "UPFInstance"}}},
				{Title: "Conditions", Kind: Table, Width: 12,
					About:   "1 True, 0 False, -1 Unknown; kubectl describe slice has the message.",
					Queries: one(`max by (name, type, reason) (core5g_condition{namespace="$namespace", kind="Slice", name=~"$slice"})`, ""),
					Columns: []Column{{"name", "Slice"}, {"type", "Condition"}, {"reason", "Reason"}}, Value: "Status"},
			}},
		},
	}
}
