package dashboards

// Authentication is about subscribers who come, and those who are refused.
func Authentication() Dashboard {
	return Dashboard{
		UID: "core5g-authentication", Title: "5G core / Subscriber authentication",
		About: "5G-AKA, registrations and the subscriber data functions AUSF, UDM, UDR and NSSF.",
		Rows: []Row{
			{"Authentication", []Panel{
				{Title: "Results of 5G-AKA", Kind: Lines, Width: 12, Unit: "ops",
					About:   "challenged: an authentication vector was made. success: RES* was right (TS 33.501 6.1.3.2).",
					Queries: one(`sum by (result) (core:authentications:rate1m{namespace="$namespace"})`, "{{result}}")},
				{Title: "Failures", Kind: Lines, Width: 12, Unit: "ops",
					About:   "The USIM's refusals (TS 24.501 5.4.1.3.6) as the AMF counts them, and those of the AUSF.",
					Empty:   "no authentication failed",
					Queries: one(`sum by (cause) (core:authentication_failures:rate1m{namespace="$namespace"}) > 0`, "{{cause}}")},
				{Title: "Registration Rejects", Kind: Lines, Width: 12, Unit: "ops",
					About:   "By 5GMM cause (TS 24.501 9.11.3.2).",
					Empty:   "no registration was rejected",
					Queries: one(`sum by (cause) (core:registration_rejects:rate1m{namespace="$namespace"}) > 0`, "{{cause}}")},
				{Title: "NAS messages of UEs", Kind: Lines, Width: 12, Unit: "ops",
					About:   "As the AMF received them.",
					Queries: one(`sum by (name) (rate(free5gc_nas_msg_received_total{namespace="$namespace"}[$__rate_interval]))`, "{{name}}")},
			}},
			{"Registered", []Panel{
				{Title: "Registered UEs by S-NSSAI", Kind: Area, Width: 8,
					About:   "UEs with an AMF registration at the UDM, once for each S-NSSAI that they may use.",
					Queries: one(`max by (snssai) (core5g_registered_ues{namespace="$namespace"})`, "{{snssai}}")},
				{Title: "UEs by connection", Kind: Area, Width: 8,
					About:   "CM-CONNECTED and CM-IDLE (TS 23.501 5.3.3).",
					Queries: one(`sum by (cm_state) (core5g_amf_registered_ues{namespace="$namespace"})`, "{{cm_state}}")},
				{Title: "Subscribers", Kind: Bars, Width: 8,
					About:   "Subscriber objects, by the status of their condition Ready.",
					Queries: one(`max by (ready) (core5g_subscribers{namespace="$namespace"})`, "Ready={{ready}}")},
			}},
			{"AUSF, UDM, UDR, NSSF", []Panel{
				{Title: "Requests by service", Kind: Lines, Width: 8, Unit: "reqps",
					Queries: one(`sum by (service) (rate(core5g_sbi_requests_total{namespace="$namespace"}[$__rate_interval]))`, "{{service}}")},
				{Title: "Requests that were refused", Kind: Lines, Width: 8, Unit: "reqps",
					Empty:   "no request was refused",
					Queries: one(`sum by (service, operation, status) (rate(core5g_sbi_requests_total{namespace="$namespace", status=~"[45].."}[$__rate_interval])) > 0`, "{{service}} {{operation}} {{status}}")},
				{Title: "Latency, 99 of 100", Kind: Lines, Width: 8, Unit: "s",
					Empty:   "no request came lately",
					Queries: one(`histogram_quantile(0.99, sum by (le, service) (rate(core5g_sbi_request_duration_seconds_bucket{namespace="$namespace"}[$__rate_interval]))) >= 0`, "{{service}}")},
				{Title: "Registered at the NRF", Kind: Table, Width: 24,
					About:   "1 while the NRF holds the profile.",
					Queries: one(`max by (nf_type, slice, pod) (core5g_nf_registered{namespace="$namespace"})`, ""),
					Columns: []Column{{"nf_type", "Network function"}, {"slice", "Slice"}, {"pod", "Pod"}}, Value: "Registered"},
			}},
		},
	}
}
