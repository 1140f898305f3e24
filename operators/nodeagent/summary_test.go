package nodeagent

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestSummaryNamesEveryCell(t *testing.T) {
	pool := func(size, free, total string) api.HugepagePool {
		return api.HugepagePool{Size: size, Free: resource.MustParse(free), Total: resource.MustParse(total)}
	}
	got := summarize([]api.NUMACell{
		{
			ID: 0, ExclusiveCPUs: api.CPUCount{Total: 8, Free: 2},
			Hugepages: []api.HugepagePool{pool("1Gi", "1Gi", "4Gi"), pool("2Mi", "64Mi", "192Mi")},
			Interfaces: []api.NodeInterface{
				{Name: "n3", VFs: api.VFCount{Total: 8, Free: 7}}, {Name: "n6", VFs: api.VFCount{Total: 8, Free: 8}},
			},
		},
		{ID: 1, Hugepages: []api.HugepagePool{pool("1Gi", "0", "0")}},
	})
	want := api.NodeSummary{Cells: 2, CPUs: "2/8 0/0", Hugepages: "1Gi/4Gi+64Mi/192Mi 0", VFs: "15/16 0/0"}
	if got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
}
