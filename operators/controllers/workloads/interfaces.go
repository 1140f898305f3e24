package workloads

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// NetworkStatus is one entry of Multus' annotation on a running pod.
type NetworkStatus struct {
	Interface string   `json:"interface"`
	IPs       []string `json:"ips"`
}

// AttachedTo is what Multus says of a pod; nothing, where it says nothing that can be read.
func AttachedTo(pod *corev1.Pod) (attached []NetworkStatus) {
	if err := json.Unmarshal([]byte(pod.Annotations[AnnotationNetworkStatus]), &attached); err != nil {
		return nil
	}
	return attached
}

// AnnotationNetworkStatus is where Multus writes it.
const AnnotationNetworkStatus = "k8s.v1.cni.cncf.io/network-status"
