package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

var (
	observedDesc = prometheus.NewDesc("core5g_dataplanenode_observed_timestamp_seconds",
		"When the node agent last wrote the DataplaneNode.", []string{"node"}, nil)
	cellCPUsDesc = prometheus.NewDesc("core5g_numa_cell_cpus",
		"CPUs of a NUMA cell that one container may have alone: state total, and those that are free.",
		[]string{"node", "numa_cell", "state"}, nil)
	cellHugepagesDesc = prometheus.NewDesc("core5g_numa_cell_hugepages_bytes",
		"Hugepage memory of a NUMA cell by the size of a page: state total, and what is free.",
		[]string{"node", "numa_cell", "page_size", "state"}, nil)
	cellVFsDesc = prometheus.NewDesc("core5g_numa_cell_vfs",
		"Virtual functions of NICs of a NUMA cell by the device plugin's resource: state total, and those that are free.",
		[]string{"node", "numa_cell", "resource", "state"}, nil)
)

// collectNode tells what a node has for units, as its agent saw it.
func collectNode(ch chan<- prometheus.Metric, node *api.DataplaneNode) {
	if at := node.Status.ObservedAt; at != nil {
		ch <- prometheus.MustNewConstMetric(observedDesc, prometheus.GaugeValue, float64(at.Unix()), node.Name)
	}
	for i := range node.Status.Cells {
		cell := &node.Status.Cells[i]
		id := strconv.Itoa(int(cell.ID))
		pair := func(desc *prometheus.Desc, total, free float64, labels ...string) {
			labels = append([]string{node.Name, id}, labels...)
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, total, append(labels[:len(labels):len(labels)], "total")...)
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, free, append(labels[:len(labels):len(labels)], "free")...)
		}
		pair(cellCPUsDesc, float64(cell.ExclusiveCPUs.Total), float64(cell.ExclusiveCPUs.Free))
		for _, h := range cell.Hugepages {
			pair(cellHugepagesDesc, h.Total.AsApproximateFloat64(), h.Free.AsApproximateFloat64(), h.Size)
		}
		type count struct{ total, free int32 }
		vfs := map[string]count{} // several PFs may share a resource
		for _, f := range cell.Interfaces {
			if f.ResourceName != "" {
				n := vfs[f.ResourceName]
				vfs[f.ResourceName] = count{n.total + f.VFs.Total, n.free + f.VFs.Free}
			}
		}
		for resource, n := range vfs {
			pair(cellVFsDesc, float64(n.total), float64(n.free), resource)
		}
	}
}
