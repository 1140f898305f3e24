package specs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
)

// VFIOAsRoot returns the pod of a unit with driver VFIO for a node that gives /dev/vfio to root alone, or
// limits locked memory: UPF-U is user 0 there, with IPC_LOCK and nothing else. As a unit's place, this is
// no part of its template.
func VFIOAsRoot(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name != string(api.FunctionUPFU) {
			continue
		}
		// The group stays: UPF-C opens the socket by it.
		c.SecurityContext.RunAsUser = ptr.To[int64](0)
		c.SecurityContext.RunAsGroup = ptr.To[int64](userID)
		c.SecurityContext.RunAsNonRoot = ptr.To(false)
		c.SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK"}
	}
	return pod
}

// KernelDriven reports whether a unit may be given virtual functions that stay with the kernel's driver, beside which
// upf-u drives them: those of mlx5. Of reports that of its place counts, or, where the scheduler chooses, each.
func KernelDriven(upf *api.UPFInstance, reports []api.DataplaneNode, place *Place) bool {
	if upf.Spec.Driver != api.DriverVFIO {
		return false
	}
	devices := UnitDemand(upf).Devices
	if place != nil {
		devices = place.Devices
	}
	for i := range reports {
		n := &reports[i]
		if place != nil && n.Name != place.Node {
			continue
		}
		for j := range n.Status.Cells {
			cell := &n.Status.Cells[j]
			for k := range cell.Interfaces {
				in := &cell.Interfaces[k]
				if in.VFs.Driver == api.VFDriverMLX5 && slices.ContainsFunc(devices, func(d string) bool { return placement.ResourceName(d, cell.ID) == in.ResourceName }) {
					return true
				}
			}
		}
	}
	return false
}

// BesideKernel returns the pod of such a unit: NET_RAW makes queues of frames, NET_ADMIN sets the kernel's interface, as its MTU,
// and IPC_LOCK lets the NIC reach hugepages. As a unit's place, this is no part of its template.
func BesideKernel(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == string(api.FunctionUPFU) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}
		}
	}
	return pod
}
