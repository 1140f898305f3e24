package specs

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// AddressProblem says which older UPFInstance of the core has an address that this one would use too. On N3
// that is any in both blocks of endpoints: gNBs reach all UPFs of a core. On N6 each data network has
// addresses of its own, so only UPFInstances with the same attachment and VLAN are compared.
func AddressProblem(upf *api.UPFInstance, others []api.UPFInstance) *Problem {
	for i := range others {
		o := &others[i]
		if o.Name == upf.Name || o.Spec.CoreRef.NameOrDefault() != upf.Spec.CoreRef.NameOrDefault() || !Older(o, upf) {
			continue
		}
		for _, mine := range n3Blocks(upf) {
			for _, taken := range n3Blocks(o) {
				if overlap(mine.cidr, taken.cidr) {
					return &Problem{api.ReasonAddressOverlap, fmt.Sprintf("%s %s overlaps %s of UPFInstance %s: write a block that is free",
						mine.field, mine.cidr, taken.cidr, o.Name)}
				}
			}
		}
		if same := sameN4(upf, o); same != "" {
			return &Problem{api.ReasonAddressOverlap, fmt.Sprintf("UPFInstance %s has %s already: name each UPF once", o.Name, same)}
		}
		if upf.Spec.External != nil || o.Spec.External != nil {
			continue
		}
		if problem := natOverlap(upf, o); problem != nil {
			return problem
		}
		for _, mine := range n6Addresses(upf) {
			for _, taken := range n6Addresses(o) {
				if mine.on == taken.on && overlap(mine.cidr, taken.cidr) {
					return &Problem{api.ReasonAddressOverlap, fmt.Sprintf("%s %s overlaps %s of UPFInstance %s: write what is free on that network",
						mine.field, mine.cidr, taken.cidr, o.Name)}
				}
			}
		}
	}
	return nil
}

func overlap(a, b string) bool {
	pa, err := netip.ParsePrefix(a)
	if err != nil {
		return false // the schema refuses it
	}
	pb, err := netip.ParsePrefix(b)
	return err == nil && pa.Masked().Overlaps(pb.Masked())
}

// wire is what an interface of N6 hangs at.
type wire struct {
	attachment api.AttachmentSpec
	vlan       int32
}

// wireOf leaves out what makes no other network of it.
func wireOf(a api.AttachmentSpec, vlan *int32) wire {
	a.Trust, a.MACAddress = "", ""
	return wire{a, ptr.Deref(vlan, 0)}
}

type n6Address struct {
	on          wire
	field, cidr string
}

// n6Addresses are those that the UPFInstance may use, as blocks.
func n6Addresses(upf *api.UPFInstance) []n6Address {
	var out []n6Address
	own := func(on wire, field string, address api.InterfaceAddress) {
		if own, err := netip.ParsePrefix(string(address)); err == nil {
			out = append(out, n6Address{on, field, netip.PrefixFrom(own.Addr(), own.Addr().BitLen()).String()})
		}
	}
	n6 := wireOf(upf.Spec.N6.Attachment, upf.Spec.N6.VLAN)
	own(n6, "spec.n6.address", upf.Spec.N6.Address)
	if block := upf.Spec.N6.UnitAddresses; block != nil {
		out = append(out, n6Address{n6, "spec.n6.unitAddresses", string(*block)})
	}
	for _, n := range upf.Spec.NetworkInstances {
		on := wireOf(ptr.Deref(n.Attachment, upf.Spec.N6.Attachment), n.VLAN)
		for _, a := range n.Addresses {
			own(on, fmt.Sprintf("spec.networkInstances[%s].addresses", n.Name), a)
		}
		for _, block := range n.UnitAddresses {
			out = append(out, n6Address{on, fmt.Sprintf("spec.networkInstances[%s].unitAddresses", n.Name), string(block)})
		}
	}
	return out
}

// EndpointsProblem says which Slices the block of N3 endpoints has no address left for.
func EndpointsProblem(upf *api.UPFInstance, left []string) *Problem {
	if len(left) == 0 {
		return nil
	}
	return &Problem{api.ReasonExhausted, fmt.Sprintf(
		"spec.n3.endpoints %s has no address left for Slice %s: write a larger block, or give the Slice another UPFInstance",
		upf.Spec.N3.Endpoints, strings.Join(left, ", "))}
}

// UnitsProblem says why not every unit that is asked for has addresses.
func UnitsProblem(upf *api.UPFInstance) *Problem {
	if limit, problem := UnitLimit(upf); AskedUnits(upf) > limit {
		return &Problem{api.ReasonAddressesMissing, problem}
	}
	return nil
}

// CutProblem says which UE pool of a Slice is too small for the units of its UPFInstance.
func CutProblem(slice *api.Slice, upf *api.UPFInstance) *Problem {
	for _, dn := range slice.Spec.DataNetworks {
		for _, pools := range [][]api.CIDR{dn.UEPools, dn.StaticPools} {
			if _, problem := UnitPools(upf, pools, 0); problem != "" {
				return &Problem{"PoolTooSmall", problem}
			}
		}
	}
	return nil
}
