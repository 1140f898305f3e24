package specs

import (
	"net/netip"
	"slices"
	"sort"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// AllocateEndpoints gives each Slice one N3 address of the UPFInstance's block. Two of free5GC's SMFs choose TEIDs
// independently, so an F-TEID is only unique as (address, TEID) when each of them has an address alone. core5g's own
// SMF has units choose, and needs none of them.
//
// What is allocated stays, as long as it lies within the block; new Slices get the lowest free address,
// the older first. Slices for which none is left come back in left. Where the block is cut into parts for
// several units, a Slice has the same place in each part. What is reserved goes to none of them.
func AllocateEndpoints(upf *api.UPFInstance, wanted []api.Slice, reservedFor ...api.EndpointAllocation) (allocated []api.EndpointAllocation, left []string) {
	block, err := netip.ParsePrefix(string(upf.Spec.N3.Endpoints))
	if err != nil {
		return nil, names(wanted)
	}
	subnet, err := netip.ParsePrefix(string(upf.Spec.N3.Subnet))
	if err != nil || block.Bits() < subnet.Bits() || !subnet.Contains(block.Addr()) {
		return nil, names(wanted) // the schema refuses it
	}
	parts := Parts(upf)
	if block, _ = part(block, parts, 0); !block.IsValid() {
		return nil, names(wanted)
	}
	shift := block.Addr().BitLen() - block.Bits()
	usable := func(a netip.Addr) bool {
		for i := range parts {
			if reserved(upf, subnet, offset(a, i, shift)) {
				return false
			}
		}
		return block.Contains(a)
	}
	taken := map[netip.Addr]bool{}
	for _, e := range upf.Status.Endpoints {
		a, err := netip.ParseAddr(e.Address)
		if err != nil || !usable(a) || taken[a] ||
			!slices.ContainsFunc(wanted, func(s api.Slice) bool { return s.Name == e.Slice }) {
			continue
		}
		taken[a] = true
		allocated = append(allocated, e)
	}
	for _, e := range reservedFor {
		if a, err := netip.ParseAddr(e.Address); err == nil {
			taken[a] = true
		}
	}
	sorted := append([]api.Slice(nil), wanted...)
	sort.Slice(sorted, func(i, j int) bool { return Older(&sorted[i], &sorted[j]) })
	next := block.Masked().Addr()
	for i := range sorted {
		name := sorted[i].Name
		if slices.ContainsFunc(allocated, func(e api.EndpointAllocation) bool { return e.Slice == name }) {
			continue
		}
		for block.Contains(next) && (!usable(next) || taken[next]) {
			next = next.Next()
		}
		if !block.Contains(next) {
			left = append(left, name)
			continue
		}
		taken[next] = true
		allocated = append(allocated, api.EndpointAllocation{Slice: name, Address: next.String()})
	}
	for i := range allocated {
		allocated[i].UnitAddresses = nil
		if a, err := netip.ParseAddr(allocated[i].Address); err == nil && parts > 1 {
			for unit := range parts {
				allocated[i].UnitAddresses = append(allocated[i].UnitAddresses, offset(a, unit, shift).String())
			}
		}
	}
	slices.SortFunc(allocated, func(a, b api.EndpointAllocation) int { return strings.Compare(a.Slice, b.Slice) })
	return allocated, left
}

// reserved addresses of the N3 subnet: its network and broadcast address, and the gateways.
func reserved(upf *api.UPFInstance, subnet netip.Prefix, a netip.Addr) bool {
	if slices.Contains(routersOf(upf.Spec.N3.Gateway, upf.Spec.N3.SecondGateway), a.String()) {
		return true
	}
	if !a.Is4() || subnet.Bits() >= 31 {
		return false
	}
	return a == subnet.Masked().Addr() || !subnet.Contains(a.Next())
}

// EndpointOf returns the N3 address that a UPFInstance has given to a Slice, or "".
func EndpointOf(upf *api.UPFInstance, slice string) string {
	for _, e := range upf.Status.Endpoints {
		if e.Slice == slice {
			return e.Address
		}
	}
	return ""
}

// UnitEndpointOf returns the N3 address that a unit has for a Slice, or "".
func UnitEndpointOf(upf *api.UPFInstance, slice string, unit int) string {
	for _, e := range upf.Status.Endpoints {
		if e.Slice != slice {
			continue
		}
		if unit < len(e.UnitAddresses) {
			return e.UnitAddresses[unit]
		}
		if unit == 0 {
			return e.Address
		}
	}
	return ""
}

func names(list []api.Slice) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].Name)
	}
	return out
}
