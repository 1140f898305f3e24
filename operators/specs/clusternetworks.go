package specs

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A UE with an address of the cluster's own would be answered by a pod, a Service or a node instead of the data
// network, and a route of the UE pool on a node would take the cluster's traffic to the UPF.

// ClusterNetwork is a network, or an address, that the cluster itself uses.
type ClusterNetwork struct {
	Prefix netip.Prefix
	// What it is, in words, with its addresses.
	What string
}

// ClusterNetworks are those that the cluster tells of: ranges of Services, blocks and addresses of nodes, and, where
// ranges and blocks are kept elsewhere, the addresses of the Services and pods that are known.
func ClusterNetworks(ranges []networkingv1.ServiceCIDR, nodes []corev1.Node, services []corev1.Service, pods []corev1.Pod) []ClusterNetwork {
	var out []ClusterNetwork
	network := func(cidr, what string) {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			out = append(out, ClusterNetwork{p.Masked(), fmt.Sprintf("%s %s", what, p.Masked())})
		}
	}
	address := func(ip, what string) {
		if a, err := netip.ParseAddr(ip); err == nil {
			out = append(out, ClusterNetwork{netip.PrefixFrom(a, a.BitLen()), fmt.Sprintf("the address %s of %s", a, what)})
		}
	}
	for i := range ranges {
		for _, cidr := range ranges[i].Spec.CIDRs {
			network(cidr, "the cluster's Service network")
		}
	}
	for i := range nodes {
		for _, cidr := range nodes[i].Spec.PodCIDRs {
			network(cidr, "the pod network of node "+nodes[i].Name)
		}
		for _, a := range nodes[i].Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				address(a.Address, "node "+nodes[i].Name)
			}
		}
	}
	for i := range services {
		for _, ip := range services[i].Spec.ClusterIPs {
			address(ip, "Service "+services[i].Name)
		}
	}
	for i := range pods {
		for _, ip := range pods[i].Status.PodIPs {
			address(ip.IP, "pod "+pods[i].Name)
		}
	}
	return out
}

// ClusterProblem says which UE pool of a Slice has addresses that the cluster uses.
func ClusterProblem(slice *api.Slice, networks []ClusterNetwork) *Problem {
	for _, dn := range slice.Spec.DataNetworks {
		for _, cidr := range append(everyPool(dn), staticPools(dn)...) {
			pool, err := netip.ParsePrefix(string(cidr))
			if err != nil {
				continue // CheckPools says so
			}
			for _, n := range networks {
				if n.Prefix.Overlaps(pool.Masked()) {
					return &Problem{api.ReasonPoolOverlap, fmt.Sprintf("pool %s of DNN %s overlaps %s: write a pool that is free", cidr, dn.DNN, n.What)}
				}
			}
		}
	}
	return nil
}
