package specs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Network instances of N6 (TS 29.244 5.4) are VRFs of UPF-U. spec.n6 is the one without a name, which serves every data network that no
// other is named for; those of spec.networkInstances stand beside it, each a VLAN of n6's interface or an interface of its own. A
// UPFInstance without any has one network, as it always had.

// networkInterface is the name in the pod of a network instance's own interface: Linux leaves 15 characters, and a name may have 100.
func networkInterface(at int) string { return fmt.Sprintf("%s-%d", InterfaceN6, at+1) }

// InterfacesOfN6 are their names in the pod.
func InterfacesOfN6(upf *api.UPFInstance) []string {
	var out []string
	for _, a := range attachmentsOf(upf) {
		if a.iface != InterfaceN3 {
			out = append(out, a.iface)
		}
	}
	return out
}

// networkMTU is that of a network instance's frames.
func networkMTU(upf *api.UPFInstance, n *api.NetworkInstance) int32 {
	if n.Attachment != nil {
		return cmp.Or(ptr.Deref(n.MTU, 0), 1500)
	}
	return cmp.Or(ptr.Deref(n.MTU, 0), upf.Spec.N6.MTU)
}

// NetworkInstanceOf a data network at a UPFInstance, as that writes it; "" is n6. The UPFInstance may be nil, which knows no names.
func NetworkInstanceOf(dn *api.DataNetwork, upf *api.UPFInstance) (string, *Problem) {
	wanted := cmp.Or(dn.NetworkInstance, dn.DNN)
	var names []string
	if upf != nil {
		for _, n := range upf.Spec.NetworkInstances {
			if strings.EqualFold(string(n.Name), string(wanted)) {
				return string(n.Name), typeProblem(dn, upf, &n)
			}
			names = append(names, string(n.Name))
		}
	}
	switch {
	case upf == nil:
		return "", nil
	case dn.IsEthernet() && upf.Spec.External == nil: // that one routes
		return "", &Problem{api.ReasonNotFound, fmt.Sprintf(
			"UPFInstance %s has no network instance %s for DNN %s, and n6 is for IP: add it to spec.networkInstances there, or write the name of one for Ethernet in networkInstance", upf.Name, wanted, dn.DNN)}
	case dn.NetworkInstance == "":
		return "", nil
	case upf.Spec.External != nil:
		return "", &Problem{api.ReasonNotSupported, fmt.Sprintf(
			"networkInstance of DNN %s: UPFInstance %s runs elsewhere: leave it out, and write the UPF's name for the data network in spec.external.networkInstances.core there", dn.DNN, upf.Name)}
	case len(names) == 0:
		return "", &Problem{api.ReasonNotFound, fmt.Sprintf(
			"UPFInstance %s has no network instance %s for DNN %s: add it to spec.networkInstances there, or leave networkInstance out, and the data network is reached through n6", upf.Name, dn.NetworkInstance, dn.DNN)}
	}
	return "", &Problem{api.ReasonNotFound, fmt.Sprintf(
		"UPFInstance %s has no network instance %s for DNN %s: write one of its own (%s), or add it to spec.networkInstances there", upf.Name, dn.NetworkInstance, dn.DNN, strings.Join(names, ", "))}
}

// typeProblem: sessions of a data network and its network instance are of one type.
func typeProblem(dn *api.DataNetwork, upf *api.UPFInstance, n *api.NetworkInstance) *Problem {
	switch ethernet := n.Type == api.NetworkInstanceEthernet; {
	case dn.IsEthernet() && !ethernet:
		return &Problem{api.ReasonNotSupported, fmt.Sprintf(
			"DNN %s is of Ethernet, and network instance %s of UPFInstance %s is for IP: write type: Ethernet there, or another one in networkInstance", dn.DNN, n.Name, upf.Name)}
	case ethernet && !dn.IsEthernet():
		return &Problem{api.ReasonNotSupported, fmt.Sprintf(
			"DNN %s is of IP, and network instance %s of UPFInstance %s is for Ethernet: write sessionTypes: [Ethernet], or another one in networkInstance", dn.DNN, n.Name, upf.Name)}
	}
	return nil
}

// NetworkInstanceProblem says which data network of a Slice names a network instance that one of its UPFInstances has not.
func NetworkInstanceProblem(slice *api.Slice, upf *api.UPFInstance, upfs []api.UPFInstance) *Problem {
	for i := range slice.Spec.DataNetworks {
		dn := &slice.Spec.DataNetworks[i]
		at := []*api.UPFInstance{upf}
		for _, further := range dn.UPFs {
			at = append(at, upfNamed(upfs, further.Name))
		}
		for _, b := range dn.Breakouts {
			at = append(at, upfNamed(upfs, b.UPFInstance))
		}
		for _, u := range at {
			if _, problem := NetworkInstanceOf(dn, u); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// FurtherNetworkProblem says which data network of a Slice has the UPFInstance among its upfs or breakouts, and names a network instance that that has not.
func FurtherNetworkProblem(slice *api.Slice, upf *api.UPFInstance) *Problem {
	for i := range slice.Spec.DataNetworks {
		dn := &slice.Spec.DataNetworks[i]
		if !slices.ContainsFunc(dn.UPFs, func(u api.DataNetworkUPF) bool { return u.Name == upf.Name }) &&
			!slices.ContainsFunc(dn.Breakouts, func(b api.Breakout) bool { return b.UPFInstance == upf.Name }) {
			continue
		}
		if _, problem := NetworkInstanceOf(dn, upf); problem != nil {
			return problem
		}
	}
	return nil
}

func upfNamed(upfs []api.UPFInstance, name string) *api.UPFInstance {
	if i := slices.IndexFunc(upfs, func(u api.UPFInstance) bool { return u.Name == name }); i >= 0 {
		return &upfs[i]
	}
	return nil
}

// UnitNetworkAddresses are a unit's addresses in a network instance with the prefix lengths of its subnets, in the order of addresses; "" for one that there
// is not.
func UnitNetworkAddresses(n *api.NetworkInstance, unit int) []string {
	out := make([]string, len(n.Addresses))
	for i, own := range n.Addresses {
		if unit == 0 {
			out[i] = string(own)
			continue
		}
		if further := furtherAddresses(own, unitBlock(n, own), n.Gateways, unit); len(further) == unit {
			out[i] = further[unit-1]
		}
	}
	return out
}

// unitBlock is the block of unitAddresses of the same IP version; "" where there is none.
func unitBlock(n *api.NetworkInstance, own api.InterfaceAddress) api.CIDR {
	for _, block := range n.UnitAddresses {
		if isIPv6(string(block)) == isIPv6(string(own)) {
			return block
		}
	}
	return ""
}

func isIPv6(text string) bool { return strings.Contains(text, ":") }

// UnitNetworks are where a unit is in the network instances beside n6.
func UnitNetworks(upf *api.UPFInstance, unit int) []api.UnitNetworkInstance {
	var out []api.UnitNetworkInstance
	for i := range upf.Spec.NetworkInstances {
		n := &upf.Spec.NetworkInstances[i]
		out = append(out, api.UnitNetworkInstance{Name: string(n.Name), Addresses: UnitNetworkAddresses(n, unit), NAT44Addresses: UnitNAT44Addresses(upf, n.NAT44, unit)})
	}
	return out
}

// networksOf N6 in upf-u.yaml: n6 first, then what shares its interface, for an entry without a device has that of the one before.
func networksOf(upf *api.UPFInstance, n6 upfuInterface, unit int) []upfuInterface {
	out := []upfuInterface{n6}
	for _, own := range []bool{false, true} {
		for i := range upf.Spec.NetworkInstances {
			n := &upf.Spec.NetworkInstances[i]
			if (n.Attachment != nil) != own {
				continue
			}
			in := upfuInterface{MTU: networkMTU(upf, n), VLAN: ptr.Deref(n.VLAN, 0)}
			if own {
				in = interfaceOf(upf, networkInterface(i))
			}
			in.NetworkInstance, in.NAT44 = string(n.Name), natOf(upf, n.NAT44, unit)
			if n.Type == api.NetworkInstanceEthernet {
				in.Ethernet = &struct{}{}
			}
			for _, a := range UnitNetworkAddresses(n, unit) {
				if isIPv6(a) {
					in.Address6 = a
				} else {
					in.Address = a
				}
			}
			for _, g := range n.Gateways {
				if isIPv6(string(g)) {
					in.Gateway6 = append(in.Gateway6, string(g))
				} else {
					in.Gateway = append(in.Gateway, string(g))
				}
			}
			out = append(out, in)
		}
	}
	return out
}

// NetworksProblem says what of spec.networkInstances, and of NAT44, UPF-U would not take.
func NetworksProblem(upf *api.UPFInstance) *Problem {
	shared := map[int32]string{}
	if len(upf.Spec.NetworkInstances) > 0 {
		shared[ptr.Deref(upf.Spec.N6.VLAN, 0)] = "n6"
	}
	names := map[string]string{}
	for i := range upf.Spec.NetworkInstances {
		n := &upf.Spec.NetworkInstances[i]
		fail := func(format string, arguments ...any) *Problem {
			return &Problem{api.ReasonMalformed, fmt.Sprintf("networkInstances[%s]: ", n.Name) + fmt.Sprintf(format, arguments...)}
		}
		if other, is := names[strings.ToLower(string(n.Name))]; is {
			return fail("%s is the same name (TS 23.003 9.1: case makes no difference): keep one of them", other)
		}
		names[strings.ToLower(string(n.Name))] = string(n.Name)
		if n.Attachment == nil {
			if problem := sharedProblem(upf, n, shared); problem != "" {
				return fail("%s", problem)
			}
			shared[ptr.Deref(n.VLAN, 0)] = "networkInstances[" + string(n.Name) + "]"
		}
		if problem := addressesProblem(upf, n); problem != "" {
			return fail("%s", problem)
		}
	}
	return natProblem(upf)
}

// sharedProblem judges a network instance on the interface of n6.
func sharedProblem(upf *api.UPFInstance, n *api.NetworkInstance, shared map[int32]string) string {
	vlan := ptr.Deref(n.VLAN, 0)
	if other, taken := shared[vlan]; taken {
		return fmt.Sprintf("vlan %d is that of %s on the same interface: write another, or an attachment of its own", vlan, other)
	}
	if upf.Spec.N6.Attachment.Type == api.AttachmentSRIOV && upf.Spec.N6.VLAN != nil {
		return "the NIC tags all frames of n6 (attachment.type SRIOV with n6.vlan): write an attachment of its own, or leave n6.vlan out"
	}
	if mtu := ptr.Deref(n.MTU, 0); mtu > upf.Spec.N6.MTU {
		return fmt.Sprintf("mtu %d is more than n6.mtu %d of the interface that it shares: write %d at most, or raise n6.mtu", mtu, upf.Spec.N6.MTU, upf.Spec.N6.MTU)
	}
	return ""
}

// addressesProblem judges what a network instance has of addresses: of gNBs' side none may be among them, and what it names must be near.
func addressesProblem(upf *api.UPFInstance, n *api.NetworkInstance) string {
	subnets := map[bool]netip.Prefix{}
	for _, text := range n.Addresses {
		own, err := netip.ParsePrefix(string(text))
		if err != nil {
			return fmt.Sprintf("address %q is none: write for example 172.30.7.2/24", text)
		}
		if own.IsSingleIP() || own.Addr().Is4() && own.Bits() < 1 || own.Addr().IsMulticast() || own.Addr().IsLinkLocalUnicast() || own.Addr().IsUnspecified() {
			return fmt.Sprintf("address %s is none of an interface in a subnet: write for example 172.30.7.2/24", text)
		}
		if overlap(string(text), string(upf.Spec.N3.Subnet)) {
			return fmt.Sprintf("address %s is in the N3 subnet %s: write one of another network", text, upf.Spec.N3.Subnet)
		}
		subnets[own.Addr().Is6()] = own
	}
	near := func(text string) bool {
		a, err := netip.ParseAddr(text)
		return err == nil && (subnets[a.Is6()].Masked().Contains(a) || a.Is6() && a.IsLinkLocalUnicast() && subnets[true].IsValid())
	}
	for _, g := range n.Gateways {
		if !near(string(g)) {
			return fmt.Sprintf("gateway %s is in no subnet of addresses: write the address of the router there", g)
		}
		if slices.ContainsFunc(n.Addresses, func(a api.InterfaceAddress) bool { return strings.HasPrefix(string(a), string(g)+"/") }) {
			return fmt.Sprintf("gateway %s is the UPF's own address: write that of the router", g)
		}
	}
	for _, r := range n.Routes {
		if isIPv6(string(r.Destination)) != isIPv6(string(r.Via)) {
			return fmt.Sprintf("route to %s via %s: write an address of the same IP version", r.Destination, r.Via)
		}
		if !near(string(r.Via)) {
			return fmt.Sprintf("route to %s via %s, which is in no subnet of addresses: write the address of a router there", r.Destination, r.Via)
		}
	}
	for _, block := range n.UnitAddresses {
		b, err := netip.ParsePrefix(string(block))
		if err != nil || !subnets[b.Addr().Is6()].IsValid() || subnets[b.Addr().Is6()].Bits() > b.Bits() || !subnets[b.Addr().Is6()].Masked().Contains(b.Addr()) {
			return fmt.Sprintf("unitAddresses %s is no part of a subnet of addresses: write one", block)
		}
	}
	return ""
}
