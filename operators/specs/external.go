package specs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A UPF that runs elsewhere (spec.external) is one unit without a pod. Nothing is made for it but a NetworkPolicy that lets it
// speak to the SMF's shards; its own half of N4 is configured where it runs.

// ExternalUnitName names its only unit, as those of pods are named.
func ExternalUnitName(upf *api.UPFInstance) string { return UnitName(upf.Name, 0) }

// ExternalNodeID is what the UPF calls itself by on N4, in the form in which Node IDs are compared.
func ExternalNodeID(upf *api.UPFInstance) string {
	id := cmp.Or(upf.Spec.External.N4.NodeID, string(upf.Spec.External.N4.Address))
	if a, err := netip.ParseAddr(id); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(id)
}

// ExternalN4 is where it is reached; invalid where the address is none.
func ExternalN4(upf *api.UPFInstance) netip.AddrPort {
	a, err := netip.ParseAddr(string(upf.Spec.External.N4.Address))
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(cmp.Or(upf.Spec.External.N4.Port, PortPFCP)))
}

// ExternalProblem says why the core's SMF cannot use a UPF that runs elsewhere: free5GC's chooses TEIDs itself, and needs an
// address on N3 for each Slice.
func ExternalProblem(upf *api.UPFInstance, core *api.Core5G) *Problem {
	if upf.Spec.External == nil || core == nil || core.OwnControlPlane() {
		return nil
	}
	return &Problem{api.ReasonNotSupported, fmt.Sprintf(
		"external needs core5g's own SMF: write controlPlane: Core5G in Core5G %s, which ends all PDU sessions of the core once, or delete the UPFInstance", core.Name)}
}

// externalClaims are the addresses of a UPF that runs elsewhere, which no UE can have.
func externalClaims(upf *api.UPFInstance) (out []claim) {
	for _, block := range n3Blocks(upf) {
		if p, err := netip.ParsePrefix(block.cidr); err == nil {
			out = append(out, claim{p.Masked(), fmt.Sprintf("%s %s of UPFInstance %s", block.field, p.Masked(), upf.Name), network{any: true}})
		}
	}
	if a := ExternalN4(upf).Addr(); a.IsValid() {
		out = append(out, claim{netip.PrefixFrom(a, a.BitLen()), fmt.Sprintf("the N4 address %s of UPFInstance %s", a, upf.Name), network{any: true}})
	}
	return out
}

// ExternalPoolProblem says which UE pool a Slice has at a UPF that runs elsewhere and does not have it, or needs its addresses itself.
func ExternalPoolProblem(slice *api.Slice, upfs []api.UPFInstance) *Problem {
	chosen, _ := SelectUPF(slice, upfs)
	for _, dn := range slice.Spec.DataNetworks {
		if problem := poolsAt(chosen, dn.DNN, dn.UEPools); problem != nil {
			return problem
		}
		for _, further := range dn.UPFs {
			at := slices.IndexFunc(upfs, func(u api.UPFInstance) bool { return u.Name == further.Name })
			if at < 0 {
				continue // the SMF says so
			}
			if problem := poolsAt(&upfs[at], dn.DNN, further.UEPools); problem != nil {
				return problem
			}
		}
	}
	return nil
}

func poolsAt(upf *api.UPFInstance, dnn api.DNN, pools []api.CIDR) *Problem {
	if upf == nil || upf.Spec.External == nil {
		return nil
	}
	for _, pool := range pools {
		for _, taken := range externalClaims(upf) {
			if overlap(string(pool), taken.prefix.String()) {
				return &Problem{api.ReasonPoolOverlap, fmt.Sprintf("pool %s of DNN %s overlaps %s: write a pool that is free", pool, dnn, taken.what)}
			}
		}
		if len(upf.Spec.External.Pools) == 0 {
			continue
		}
		if _, is := ExternalPool(upf, string(pool)); !is {
			var has []string
			for _, p := range upf.Spec.External.Pools {
				has = append(has, string(p.Range))
			}
			return &Problem{api.ReasonNotSupported, fmt.Sprintf("pool %s of DNN %s is none of UPFInstance %s, which has %s: write one of these, or add it to spec.external.pools and to the UPF",
				pool, dnn, upf.Name, strings.Join(has, ", "))}
		}
	}
	return nil
}

// ExternalPool is the UPF's name for a pool, "" for one without; false where it has no such pool.
func ExternalPool(upf *api.UPFInstance, pool string) (name string, is bool) {
	wanted, err := netip.ParsePrefix(pool)
	if err != nil {
		return "", false
	}
	for _, p := range upf.Spec.External.Pools {
		if own, err := netip.ParsePrefix(string(p.Range)); err == nil && own == wanted {
			return p.Name, true
		}
	}
	return "", false
}

// n3Block is a block of addresses that a UPFInstance has on N3.
type n3Block struct{ field, cidr string }

func n3Blocks(upf *api.UPFInstance) (out []n3Block) {
	if upf.Spec.External == nil {
		return []n3Block{{"spec.n3.endpoints", string(upf.Spec.N3.Endpoints)}}
	}
	for _, cidr := range upf.Spec.External.N3.Endpoints {
		out = append(out, n3Block{"spec.external.n3.endpoints", string(cidr)})
	}
	return out
}

// sameN4 says what two UPFs that run elsewhere both have on N4; "" for nothing.
func sameN4(a, b *api.UPFInstance) string {
	switch {
	case a.Spec.External == nil || b.Spec.External == nil:
		return ""
	case ExternalN4(a).IsValid() && ExternalN4(a) == ExternalN4(b):
		return "the N4 address " + ExternalN4(a).String()
	case ExternalNodeID(a) == ExternalNodeID(b):
		return "the Node ID " + ExternalNodeID(a)
	}
	return ""
}

// ExternalPolicyName names the policy of a UPF that runs elsewhere, or whose SMF does.
func ExternalPolicyName(upf string) string { return upf + "-n4" }

// ExternalPolicy lets the UPF report to the SMF's shards, whose pods admit units of the cluster only. What it answers to requests
// of the SMF gets through without.
func ExternalPolicy(upf *api.UPFInstance, core *api.Core5G) *networkingv1.NetworkPolicy {
	component := string(api.FunctionSMF)
	if core.Fused() {
		component = string(api.FunctionControlPlane)
	}
	var from []networkingv1.NetworkPolicyPeer
	for _, block := range externalSources(upf) {
		from = append(from, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: block}})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ExternalPolicyName(upf.Name), Namespace: upf.Namespace, Labels: upfLabels(upf),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *componentSelector(core, component),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: from, Ports: []networkingv1.NetworkPolicyPort{policyPorts(corev1.ProtocolUDP, shardPFCP+1, shardPFCP+int32(SMFSet{Core: core}.Shards()))},
			}},
		},
	}
}

// OutsidePolicy lets SMFs of other clusters speak to the units of a UPFInstance, whose pods admit those of the core only. Who they are is known as
// upf-c knows it: anybody, where no subnets are written.
func OutsidePolicy(upf *api.UPFInstance) *networkingv1.NetworkPolicy {
	var from []networkingv1.NetworkPolicyPeer
	for _, cidr := range upf.Spec.N4.ControlPlaneSubnets {
		from = append(from, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: string(cidr)}})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ExternalPolicyName(upf.Name), Namespace: upf.Namespace, Labels: upfLabels(upf),
			OwnerReferences: []metav1.OwnerReference{ownedBy(upf, "UPFInstance")},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: UPFSelector(upf)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: []networkingv1.NetworkPolicyPort{policyPort(corev1.ProtocolUDP, PortPFCP)}}},
		},
	}
}

// externalSources are the networks that the UPF's requests come from.
func externalSources(upf *api.UPFInstance) (out []string) {
	if a := ExternalN4(upf).Addr(); a.IsValid() {
		out = append(out, netip.PrefixFrom(a, a.BitLen()).String())
	}
	for _, cidr := range upf.Spec.External.N4.Sources {
		out = append(out, string(cidr))
	}
	return out
}
