package specs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// What a custom resource was given, and others know it by, has to outlive a restore from a backup: the addresses of Services (Node IDs on
// N4, where gNBs find N2), the nodes' ports, the N3 endpoints of Slices. A status is in no backup, a tool that restores
// a Service may leave its addresses out, and an object with an owner goes when that has another UID than before.
// So they stand in a ConfigMap without an owner: an entry for a Service has its name and its ClusterIPs, one for a port of the nodes the
// Service's and the port's name, one for an N3 endpoint begins with n3. What stands there is what is used: who writes another free address there moves
// what has it.

// ComponentAllocations is the component of such a ConfigMap.
const ComponentAllocations = "allocations"

// CoreAllocations of a Core5G, without content.
func CoreAllocations(core *api.Core5G) *corev1.ConfigMap {
	return allocations(core.Namespace, core.Name+"-addresses", Labels(core.Name, ComponentAllocations))
}

// SliceAllocations of a Slice that has an SMF of its own.
func SliceAllocations(slice *api.Slice) *corev1.ConfigMap {
	core := slice.Spec.CoreRef.NameOrDefault()
	return allocations(slice.Namespace, SMFObjectName(core, slice.Name)+"-addresses", with(Labels(core, ComponentAllocations), api.LabelSlice, slice.Name))
}

// UPFAllocations of a UPFInstance.
func UPFAllocations(upf *api.UPFInstance) *corev1.ConfigMap {
	labels := with(upfLabels(upf), api.LabelComponent, ComponentAllocations)
	return allocations(upf.Namespace, upf.Name+"-endpoints", labels)
}

func allocations(namespace, name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
	}
}

// AllocationsOfService are the entries of a Service that has addresses.
func AllocationsOfService(s *corev1.Service) map[string]string {
	out := map[string]string{}
	if ips := clusterIPs(s); len(ips) > 0 {
		out[s.Name] = strings.Join(ips, ",")
	}
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			out[nodePortKey(s.Name, p.Name)] = strconv.Itoa(int(p.NodePort))
		}
	}
	return out
}

// IsAllocationOfService reports whether an entry is one of the Service's.
func IsAllocationOfService(key, service string) bool {
	return key == service || strings.HasPrefix(key, service+".")
}

func nodePortKey(service, port string) string { return service + "." + port }

func clusterIPs(s *corev1.Service) []string {
	switch {
	case s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone:
		return nil
	case len(s.Spec.ClusterIPs) > 0:
		return s.Spec.ClusterIPs
	}
	return []string{s.Spec.ClusterIP}
}

// HasAllocatedAddress reports whether the Service has the addresses that are written for it, or none are.
func HasAllocatedAddress(s *corev1.Service, entries map[string]string) bool {
	kept := entries[s.Name]
	return kept == "" || strings.Join(clusterIPs(s), ",") == kept
}

// WithAllocations is the Service with the addresses that are written for it, and of the nodes' ports those that its builder leaves open.
func WithAllocations(s *corev1.Service, entries map[string]string) *corev1.Service {
	out := s.DeepCopy()
	if kept := entries[s.Name]; kept != "" {
		out.Spec.ClusterIPs = strings.Split(kept, ",")
		out.Spec.ClusterIP = out.Spec.ClusterIPs[0]
	}
	if s.Spec.Type != corev1.ServiceTypeNodePort && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return out
	}
	for i := range out.Spec.Ports {
		p := &out.Spec.Ports[i]
		if number, err := strconv.ParseInt(entries[nodePortKey(s.Name, p.Name)], 10, 32); err == nil && p.NodePort == 0 {
			p.NodePort = int32(number)
		}
	}
	return out
}

const endpointKeyPrefix = "n3."

// AllocationsOfEndpoints are the entries of N3 endpoints.
func AllocationsOfEndpoints(endpoints []api.EndpointAllocation) map[string]string {
	out := map[string]string{}
	for _, e := range endpoints {
		out[endpointKeyPrefix+e.Slice] = e.Address
	}
	return out
}

// AllocatedEndpoints are the N3 endpoints that are written down, by the names of their Slices.
func AllocatedEndpoints(entries map[string]string) []api.EndpointAllocation {
	var out []api.EndpointAllocation
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if slice, is := strings.CutPrefix(key, endpointKeyPrefix); is {
			out = append(out, api.EndpointAllocation{Slice: slice, Address: entries[key]})
		}
	}
	return out
}
