package dashboards

// Operator is the machinery: reconciliation, conditions, certificates, node agents.
func Operator() Dashboard {
	return Dashboard{
		UID: "core5g-operator", Title: "5G core / Operator",
		About: "Reconciliation, conditions of all objects, certificates and node agents.",
		Rows: []Row{
			{"Now", []Panel{
				{Title: "Objects not Ready", Kind: Number, Width: 6, Bad: 1,
					Queries: one(`count(max by (kind, name) (core5g_condition{namespace="$namespace", type="Ready"}) != 1) or vector(0)`, "")},
				{Title: "Reconcile errors", Kind: Number, Width: 6, Bad: 1,
					About:   "In the last five minutes. Single ones are retried and mean nothing.",
					Queries: one(`sum(increase(controller_runtime_reconcile_errors_total{namespace="$namespace"}[5m]))`, "")},
				{Title: "Waiting to be reconciled", Kind: Number, Width: 6,
					Queries: one(`sum(workqueue_depth{namespace="$namespace"})`, "")},
				{Title: "First certificate to expire", Kind: Number, Width: 6, Unit: "s", Warn: 14 * 86400, Bad: 3 * 86400, Low: true,
					Empty:   "no certificates: TLS is off",
					Queries: one(`min(core5g_certificate_expiration_timestamp_seconds{namespace="$namespace"}) - time()`, "")},
			}},
			{"Reconciliation", []Panel{
				{Title: "Reconciliations", Kind: Lines, Width: 8, Unit: "ops",
					Queries: one(`sum by (controller, result) (rate(controller_runtime_reconcile_total{namespace="$namespace"}[$__rate_interval]))`, "{{controller}} {{result}}")},
				{Title: "Duration, 99 of 100", Kind: Lines, Width: 8, Unit: "s",
					Empty:   "nothing was reconciled lately",
					Queries: one(`histogram_quantile(0.99, sum by (le, controller) (rate(controller_runtime_reconcile_time_seconds_bucket{namespace="$namespace"}[$__rate_interval]))) >= 0`, "{{controller}}")},
				{Title: "Work queues", Kind: Lines, Width: 8,
					Queries: one(`sum by (name) (workqueue_depth{namespace="$namespace"})`, "{{name}}")},
				{Title: "Requests to the API server", Kind: Lines, Width: 8, Unit: "reqps",
					Queries: one(`sum by (method, code) (rate(rest_client_requests_total{namespace="$namespace", component="operator"}[$__rate_interval]))`, "{{method}} {{code}}")},
				{Title: "CPU of the operator", Kind: Lines, Width: 8, Unit: "none",
					About:   "Cores in use.",
					Queries: one(`sum by (pod) (rate(process_cpu_seconds_total{namespace="$namespace", component="operator"}[$__rate_interval]))`, "{{pod}}")},
				{Title: "Memory of the operator", Kind: Lines, Width: 8, Unit: "bytes",
					Queries: one(`sum by (pod) (process_resident_memory_bytes{namespace="$namespace", component="operator"})`, "{{pod}}")},
			}},
			{"Objects", []Panel{
				{Title: "Conditions", Kind: Table, Width: 12,
					About:   "1 True, 0 False, -1 Unknown; kubectl describe has the message.",
					Queries: one(`max by (kind, name, type, reason) (core5g_condition{namespace="$namespace"})`, ""),
					Columns: []Column{{"kind", "Kind"}, {"name", "Name"}, {"type", "Condition"}, {"reason", "Reason"}}, Value: "Status"},
				{Title: "Certificates", Kind: Table, Width: 12, Unit: "s",
					About:   "Time until they expire.",
					Empty:   "no certificates: TLS is off",
					Queries: one(`min by (secret) (core5g_certificate_expiration_timestamp_seconds{namespace="$namespace"}) - time()`, ""),
					Columns: []Column{{"secret", "Secret"}}, Value: "Expires in"},
			}},
			{"Node agents", []Panel{
				{Title: "Age of the last report", Kind: Lines, Width: 12, Unit: "s",
					About:   "Time since the node agent last wrote its DataplaneNode.",
					Empty:   "no DataplaneNode: the node agent is not installed",
					Queries: one(`time() - max by (node) (core5g_dataplanenode_observed_timestamp_seconds)`, "{{node}}")},
				{Title: "Looks", Kind: Lines, Width: 12, Unit: "ops",
					About:   "How often node agents look at their node, by result.",
					Empty:   "no node agent is installed",
					Queries: one(`sum by (node_name, result) (rate(core5g_node_agent_looks_total[$__rate_interval]))`, "{{node_name}} {{result}}")},
			}},
		},
	}
}
