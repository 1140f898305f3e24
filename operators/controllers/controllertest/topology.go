package controllertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"core5g.dev/core5g/operators/placement"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

// InCell is a unit that has everything in one of two cells, but its N6 port.
func InCell(cell, n6 int32) *topology.Topology {
	return &topology.Topology{
		Cells:   2,
		Threads: []topology.Thread{{Role: "control", CPU: 2, Cell: &cell}, {Role: "worker 0", CPU: 3, Cell: &cell}},
		Ports: []topology.Port{
			{Interface: "n3", Device: "0000:81:10.0", Cell: &cell, Link: topology.LinkUp},
			{Interface: "n6", Device: "0000:01:10.0", Cell: &n6, Link: topology.LinkUp},
		},
		Memory: []topology.Memory{{Cell: cell, Octets: 64 << 20}},
	}
}

// TopologyOfPod is a unit that is where it was placed.
func TopologyOfPod(_ context.Context, pod *corev1.Pod) (*topology.Topology, error) {
	cell := int32(0)
	if spot, known := specs.PodSpot(pod); known && spot.Cell != placement.AnyCell {
		cell = spot.Cell
	}
	return InCell(cell, cell), nil
}
