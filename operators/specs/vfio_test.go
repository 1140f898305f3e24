package specs

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
)

// TestKernelDriven asks of units with and without a place, on two nodes, whose first has VFs of mlx5 in its cell 1 alone.
func TestKernelDriven(t *testing.T) {
	node := func(name string, drivers ...string) api.DataplaneNode {
		n := api.DataplaneNode{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for cell, driver := range drivers {
			n.Status.Cells = append(n.Status.Cells, api.NUMACell{ID: int32(cell), Interfaces: []api.NodeInterface{
				{Name: "of no resource", VFs: api.VFCount{Driver: api.VFDriverMLX5}},
				{Name: "n3", ResourceName: "core5g.dev/n3_socket" + string(rune('0'+cell)), VFs: api.VFCount{Driver: driver}},
			}})
		}
		return n
	}
	placed := func(node, device string) *Place {
		return &Place{Spot: placement.Spot{Node: node}, Devices: []string{device}}
	}
	reports := []api.DataplaneNode{node("w1", "vfio-pci", "mlx5_core"), node("w2", "vfio-pci", "vfio-pci")}
	for name, c := range map[string]struct {
		driver   api.UPFDriver
		resource string
		place    *Place
		want     bool
	}{
		"drivers of the kernel":     {api.DriverAFPacket, "core5g.dev/n3_socket1", nil, false},
		"of mlx5":                   {api.DriverVFIO, "core5g.dev/n3_socket1", nil, true},
		"of another cell":           {api.DriverVFIO, "core5g.dev/n3_socket0", nil, false},
		"of any cell":               {api.DriverVFIO, "core5g.dev/n3_socket{cell}", nil, true},
		"of any cell, on its node":  {api.DriverVFIO, "core5g.dev/n3_socket{cell}", placed("w1", "core5g.dev/n3_socket1"), true},
		"in its other cell":         {api.DriverVFIO, "core5g.dev/n3_socket{cell}", placed("w1", "core5g.dev/n3_socket0"), false},
		"of any cell, on the other": {api.DriverVFIO, "core5g.dev/n3_socket{cell}", placed("w2", "core5g.dev/n3_socket1"), false},
		"of no resource":            {api.DriverVFIO, "", nil, false},
	} {
		upf := makeUPF()
		upf.Spec.Driver = c.driver
		upf.Spec.N3.Attachment = api.AttachmentSpec{Type: api.AttachmentHostDevice, ResourceName: c.resource}
		if got := KernelDriven(upf, reports, c.place); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestBesideKernelKeepsTheRest(t *testing.T) {
	upf := makeUPF()
	upf.Spec.Driver = api.DriverVFIO
	pod := UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3").Pod
	for name, before := range map[string]*corev1.Pod{"user": pod, "root": VFIOAsRoot(pod)} {
		after := BesideKernel(before)
		had, has := before.Spec.Containers[0].SecurityContext, after.Spec.Containers[0].SecurityContext
		if !slices.Equal(has.Capabilities.Add, []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}) {
			t.Errorf("%s: adds %v", name, has.Capabilities.Add)
		}
		if (had.RunAsUser == nil) != (has.RunAsUser == nil) || !slices.Equal(has.Capabilities.Drop, had.Capabilities.Drop) || len(after.Spec.Containers[1].SecurityContext.Capabilities.Add) != 0 {
			t.Errorf("%s: %+v became %+v", name, had, has)
		}
		if slices.Equal(had.Capabilities.Add, has.Capabilities.Add) {
			t.Errorf("%s: the pod that it was made of has changed", name)
		}
	}
}
