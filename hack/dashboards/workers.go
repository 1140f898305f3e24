package dashboards

// Workers is the CPU side of the data plane, and where its units stand.
func Workers() Dashboard {
	return Dashboard{
		UID: "core5g-upf-workers", Title: "5G core / UPF workers and NUMA",
		About:  "True load of every worker, and the placement of units on NUMA cells.",
		Select: upfSelect(),
		Rows: []Row{
			{"Workers", []Panel{
				{Title: "Busy share", Kind: Lines, Width: 12, Unit: "percentunit", Max: 1, Warn: 0.7, Bad: 0.9,
					About:   "Share of a worker's cycles in polls that found packets. A worker polls all the time: what its CPU shows says nothing.",
					Queries: one(`upf:worker_busy:ratio1m{namespace="$namespace", pod=~"$pod"}`, "{{pod}} worker {{worker}}, lcore {{lcore}}")},
				{Title: "Busy share now", Kind: Bars, Width: 12, Unit: "percentunit", Max: 1, Warn: 0.7, Bad: 0.9,
					Queries: one(`upf:worker_busy:ratio1m{namespace="$namespace", pod=~"$pod"}`, "{{pod}} worker {{worker}}")},
				{Title: "Cycles a packet", Kind: Lines, Width: 8,
					About: "Busy cycles over packets received. It falls as bursts grow: full bursts are cheapest.",
					Empty: "no packet was received",
					Queries: one(`sum by (pod) (rate(upf_worker_cycles_total{namespace="$namespace", pod=~"$pod", state="busy"}[$__rate_interval]))
  / (sum by (pod) (rate(upf_interface_packets_total{namespace="$namespace", pod=~"$pod", direction="rx"}[$__rate_interval])) > 0)`, "{{pod}}")},
				{Title: "Polls that found packets", Kind: Lines, Width: 8, Unit: "percentunit",
					Queries: one(`sum by (pod, worker) (rate(upf_worker_polls_total{namespace="$namespace", pod=~"$pod", found="packets"}[$__rate_interval]))
  / sum by (pod, worker) (rate(upf_worker_polls_total{namespace="$namespace", pod=~"$pod"}[$__rate_interval]))`, "{{pod}} worker {{worker}}")},
				{Title: "Packets a poll that found some", Kind: Lines, Width: 8,
					Empty: "no poll found a packet",
					Queries: one(`sum by (pod) (rate(upf_interface_packets_total{namespace="$namespace", pod=~"$pod", direction="rx"}[$__rate_interval]))
  / (sum by (pod) (rate(upf_worker_polls_total{namespace="$namespace", pod=~"$pod", found="packets"}[$__rate_interval])) > 0)`, "{{pod}}")},
			}},
			{"Placement", []Panel{
				{Title: "Units", Kind: Table, Width: 14,
					About:   "Where the units are, and in which state (docs/placement.md). No NUMA cell: the kubelet chose.",
					Queries: one(`max by (upfinstance, unit, node, numa_cell, state) (core5g_upf_unit{namespace="$namespace"})`, ""),
					Columns: []Column{{"upfinstance", "UPFInstance"}, {"unit", "Unit"}, {"node", "Node"}, {"numa_cell", "NUMA cell"}, {"state", "State"}}},
				{Title: "NUMA alignment", Kind: Table, Width: 10,
					About:   "1 True, 0 False, -1 Unknown.",
					Empty:   "no UPFInstance has the condition NUMAAligned",
					Queries: one(`max by (name, reason) (core5g_condition{namespace="$namespace", kind="UPFInstance", type="NUMAAligned"})`, ""),
					Columns: []Column{{"name", "UPFInstance"}, {"reason", "Reason"}}, Value: "Status"},
				{Title: "Refused pods", Kind: Lines, Width: 12,
					About:   "Pods of units that a kubelet refused or that failed, in the last five minutes.",
					Empty:   "no pod was refused",
					Queries: one(`sum by (node, numa_cell, reason) (increase(core5g_upf_rejections_total{namespace="$namespace"}[5m])) > 0`, "{{node}} cell {{numa_cell}} {{reason}}")},
				{Title: "Cells in back-off", Kind: Table, Width: 12,
					About:   "Places that refused a unit and are left alone for a while.",
					Empty:   "no cell is in back-off",
					Queries: one(`max by (upfinstance, node, numa_cell) (core5g_upf_cell_rejections{namespace="$namespace"})`, ""),
					Columns: []Column{{"upfinstance", "UPFInstance"}, {"node", "Node"}, {"numa_cell", "NUMA cell"}}, Value: "Refusals"},
			}},
			{"Nodes", []Panel{
				{Title: "Exclusive CPUs by NUMA cell", Kind: Bars, Width: 8,
					About:   "From the node agent.",
					Empty:   "no DataplaneNode: the node agent is not installed",
					Queries: one(`max by (node, numa_cell, state) (core5g_numa_cell_cpus)`, "{{node}} cell {{numa_cell}} {{state}}")},
				{Title: "Hugepages by NUMA cell", Kind: Bars, Width: 8, Unit: "bytes",
					Empty:   "no DataplaneNode: the node agent is not installed",
					Queries: one(`max by (node, numa_cell, page_size, state) (core5g_numa_cell_hugepages_bytes)`, "{{node}} cell {{numa_cell}} {{page_size}} {{state}}")},
				{Title: "Virtual functions by NUMA cell", Kind: Bars, Width: 8,
					Empty:   "no node offers virtual functions",
					Queries: one(`max by (node, numa_cell, resource, state) (core5g_numa_cell_vfs)`, "{{node}} cell {{numa_cell}} {{resource}} {{state}}")},
			}},
		},
	}
}
