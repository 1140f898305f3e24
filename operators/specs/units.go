package specs

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The units of a UPFInstance share its addresses without a word between them: n3.endpoints and each UE
// pool are cut into equal parts, a power of two of them, and unit i has part i. Unit 0 has n6.address, the
// others an address of n6.unitAddresses each. With one part everything is unit 0's, as it always was.

// AskedUnits is the number of units that the user asks for.
func AskedUnits(upf *api.UPFInstance) int { return int(ptr.Deref(upf.Spec.Units, 1)) }

// UnitNumber is the number in a unit's name, or -1.
func UnitNumber(upf *api.UPFInstance, name string) int {
	digits, found := strings.CutPrefix(name, upf.Name+"-")
	number, err := strconv.Atoi(digits)
	if !found || err != nil || number < 0 {
		return -1
	}
	return number
}

// UnitLimit is how many units have addresses, and why no more have.
func UnitLimit(upf *api.UPFInstance) (units int, problem string) {
	asked := max(AskedUnits(upf), int(ptr.Deref(upf.Spec.MaxUnits, 1)), 1)
	if asked == 1 {
		return 1, ""
	}
	units = asked
	if further := len(furtherN6Addresses(upf, asked-1)); further < asked-1 {
		units = 1 + further
		problem = fmt.Sprintf("%d units need %d N6 addresses beside %s: write a block with that many free addresses of the N6 subnet in spec.n6.unitAddresses",
			asked, asked-1, upf.Spec.N6.Address)
	}
	for i := range upf.Spec.NetworkInstances {
		n := &upf.Spec.NetworkInstances[i]
		for _, own := range n.Addresses {
			if further := len(furtherAddresses(own, unitBlock(n, own), n.Gateways, asked-1)); 1+further < units {
				units = 1 + further
				problem = fmt.Sprintf("%d units need %d addresses beside %s in network instance %s: write a block with that many free addresses of its subnet in unitAddresses of spec.networkInstances[%s]",
					asked, asked-1, own, n.Name, n.Name)
			}
		}
	}
	block, err := netip.ParsePrefix(string(upf.Spec.N3.Endpoints))
	if err != nil {
		return 1, err.Error()
	}
	if fit := 1 << min(block.Addr().BitLen()-block.Bits(), 6); units > fit {
		units = fit
		problem = fmt.Sprintf("spec.n3.endpoints %s has no address for each of %d units: write a larger block", upf.Spec.N3.Endpoints, asked)
	}
	return units, problem
}

// PossibleUnits is how many pods there would be if the UPFInstance were unlocked.
func PossibleUnits(upf *api.UPFInstance) int {
	limit, _ := UnitLimit(upf)
	return min(AskedUnits(upf), limit)
}

// Parts into which N3 endpoints and UE pools are cut.
func Parts(upf *api.UPFInstance) int {
	limit, _ := UnitLimit(upf)
	parts := 1
	for parts < limit {
		parts *= 2
	}
	return parts
}

// part returns the i-th of parts equal parts of a block; false where it is too small.
func part(block netip.Prefix, parts, i int) (netip.Prefix, bool) {
	bits := block.Bits()
	for n := 1; n < parts; n *= 2 {
		bits++
	}
	if bits > block.Addr().BitLen() {
		return netip.Prefix{}, false
	}
	if parts == 1 {
		return block.Masked(), true
	}
	return netip.PrefixFrom(offset(block.Masked().Addr(), i, block.Addr().BitLen()-bits), bits), true
}

// offset adds i << shift to an address.
func offset(a netip.Addr, i, shift int) netip.Addr {
	raw := a.AsSlice()
	carry := uint64(i) << (shift % 8)
	for at := len(raw) - 1 - shift/8; at >= 0 && carry > 0; at-- {
		carry += uint64(raw[at])
		raw[at] = byte(carry)
		carry >>= 8
	}
	out, _ := netip.AddrFromSlice(raw)
	return out
}

// UnitN3Endpoints is a unit's part of the N3 endpoints.
func UnitN3Endpoints(upf *api.UPFInstance, unit int) string {
	block, err := netip.ParsePrefix(string(upf.Spec.N3.Endpoints))
	parts := Parts(upf)
	if err != nil || parts == 1 {
		return string(upf.Spec.N3.Endpoints)
	}
	own, fits := part(block, parts, unit)
	if !fits {
		return ""
	}
	return own.String()
}

// UnitN6Address is a unit's address on N6 with the prefix length of the subnet; "" where there is none.
func UnitN6Address(upf *api.UPFInstance, unit int) string {
	if unit == 0 {
		return string(upf.Spec.N6.Address)
	}
	further := furtherN6Addresses(upf, unit)
	if len(further) < unit {
		return ""
	}
	return further[unit-1]
}

// furtherN6Addresses are the first n usable addresses of n6.unitAddresses, or as many as there are.
func furtherN6Addresses(upf *api.UPFInstance, n int) (out []string) {
	n6 := upf.Spec.N6
	gateways := []api.IPAddress{n6.Gateway}
	if n6.SecondGateway != nil {
		gateways = append(gateways, *n6.SecondGateway)
	}
	return furtherAddresses(n6.Address, ptr.Deref(n6.UnitAddresses, ""), gateways, n)
}

// furtherAddresses are the first n usable addresses of a block of the subnet of an address, or as many as there are.
func furtherAddresses(address api.InterfaceAddress, of api.CIDR, gateways []api.IPAddress, n int) (out []string) {
	block, err := netip.ParsePrefix(string(of))
	if err != nil {
		return nil
	}
	own, err := netip.ParsePrefix(string(address))
	if err != nil {
		return nil
	}
	subnet := own.Masked()
	for a := block.Masked().Addr(); block.Contains(a) && len(out) < n; a = a.Next() {
		edge := a.Is4() && subnet.Bits() < 31 && (a == subnet.Addr() || !subnet.Contains(a.Next()))
		if !edge && subnet.Contains(a) && a != own.Addr() && !slices.Contains(gateways, api.IPAddress(a.String())) {
			out = append(out, netip.PrefixFrom(a, own.Bits()).String())
		}
	}
	return out
}

// smallestPool is the prefix length of the smallest block that is worth being a UE pool: four IPv4 addresses, or the /64
// of one UE.
func smallestPool(block netip.Prefix) int {
	if block.Addr().Is6() {
		return 64
	}
	return 30
}

// UnitPools are a unit's parts of the UE pools of a data network; the problem says which cannot be cut.
func UnitPools(upf *api.UPFInstance, pools []api.CIDR, unit int) (out []string, problem string) {
	parts := Parts(upf)
	for _, cidr := range pools {
		if parts == 1 {
			out = append(out, string(cidr))
			continue
		}
		block, err := netip.ParsePrefix(string(cidr))
		if err != nil {
			return nil, err.Error()
		}
		own, fits := part(block, parts, unit)
		if !fits || own.Bits() > smallestPool(block) {
			return nil, fmt.Sprintf("pool %s is too small to be cut into %d parts for the units of UPFInstance %s: write a larger pool", cidr, parts, upf.Name)
		}
		out = append(out, own.String())
	}
	return out, ""
}
