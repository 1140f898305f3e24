package nodeagent

import (
	"fmt"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// summarize puts what a cell has free of what it has into a word for each cell, in the cells' order:
// kubectl's columns show one value each.
func summarize(cells []api.NUMACell) api.NodeSummary {
	var cpus, hugepages, vfs []string
	for _, c := range cells {
		cpus = append(cpus, fmt.Sprintf("%d/%d", c.ExclusiveCPUs.Free, c.ExclusiveCPUs.Total))
		var pools []string
		for _, p := range c.Hugepages {
			if !p.Total.IsZero() {
				pools = append(pools, p.Free.String()+"/"+p.Total.String())
			}
		}
		hugepages = append(hugepages, strings.Join(pools, "+"))
		if len(pools) == 0 {
			hugepages[len(hugepages)-1] = "0"
		}
		var free, total int32
		for _, pf := range c.Interfaces {
			free, total = free+pf.VFs.Free, total+pf.VFs.Total
		}
		vfs = append(vfs, fmt.Sprintf("%d/%d", free, total))
	}
	return api.NodeSummary{
		Cells: int32(len(cells)),
		CPUs:  strings.Join(cpus, " "), Hugepages: strings.Join(hugepages, " "), VFs: strings.Join(vfs, " "),
	}
}
