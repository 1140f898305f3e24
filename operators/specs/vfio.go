package specs

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
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
