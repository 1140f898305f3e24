package specs

import (
	"fmt"
	"net/netip"
	"sort"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// PoolProblem says why a Slice's UE pools cannot be used.
type PoolProblem struct {
	// Reason is a condition reason.
	Reason  string
	Message string
}

// Older reports whether a has the older claim on what two Slices want: the one created first, and by
// name where both were created in the same second.
func Older(a, b *api.Slice) bool {
	ta, tb := a.CreationTimestamp.Time, b.CreationTimestamp.Time
	if !ta.Equal(tb) {
		return ta.Before(tb)
	}
	return a.Name < b.Name
}

// CheckPools judges a Slice's pools: against each other, against those of older Slices of the core,
// and against the subnets of its UPF. It returns nil when they can be used.
func CheckPools(slice *api.Slice, others []api.Slice, upf *api.UPFInstance) *PoolProblem {
	var mine []claim
	for _, dn := range slice.Spec.DataNetworks {
		for _, cidr := range dn.UEPools {
			prefix, err := netip.ParsePrefix(string(cidr))
			if err != nil {
				return &PoolProblem{api.ReasonMalformed, fmt.Sprintf("pool %q of DNN %s: %v", cidr, dn.DNN, err)}
			}
			if !prefix.Addr().Is4() {
				return &PoolProblem{api.ReasonNotSupported, fmt.Sprintf(
					"pool %s of DNN %s is IPv6, and the SMF assigns IPv4 addresses only: write an IPv4 pool", cidr, dn.DNN)}
			}
			c := claim{prefix: prefix.Masked(), what: fmt.Sprintf("pool %s of DNN %s", cidr, dn.DNN)}
			for _, m := range mine {
				if m.prefix.Overlaps(c.prefix) {
					return &PoolProblem{api.ReasonPoolOverlap, fmt.Sprintf(
						"%s overlaps %s of the same Slice: give each data network pools of its own", c.what, m.what)}
				}
			}
			mine = append(mine, c)
		}
	}
	for _, taken := range takenBefore(slice, others, upf) {
		for _, m := range mine {
			if m.prefix.Overlaps(taken.prefix) {
				return &PoolProblem{api.ReasonPoolOverlap, fmt.Sprintf("%s overlaps %s: write a pool that is free", m.what, taken.what)}
			}
		}
	}
	return nil
}

type claim struct {
	prefix netip.Prefix
	what   string
}

func takenBefore(slice *api.Slice, others []api.Slice, upf *api.UPFInstance) []claim {
	var out []claim
	sorted := append([]api.Slice(nil), others...)
	sort.Slice(sorted, func(i, j int) bool { return Older(&sorted[i], &sorted[j]) })
	for i := range sorted {
		o := &sorted[i]
		if o.Name == slice.Name || o.Spec.CoreRef.NameOrDefault() != slice.Spec.CoreRef.NameOrDefault() || !Older(o, slice) {
			continue
		}
		for _, dn := range o.Spec.DataNetworks {
			for _, cidr := range dn.UEPools {
				if p, err := netip.ParsePrefix(string(cidr)); err == nil {
					out = append(out, claim{p.Masked(), fmt.Sprintf("pool %s of Slice %s", cidr, o.Name)})
				}
			}
		}
	}
	if upf == nil {
		return out
	}
	for _, subnet := range []struct{ cidr, what string }{
		{string(upf.Spec.N3.Subnet), "the N3 subnet"},
		{string(upf.Spec.N6.Address), "the N6 subnet"},
	} {
		if p, err := netip.ParsePrefix(subnet.cidr); err == nil {
			out = append(out, claim{p.Masked(), fmt.Sprintf("%s %s of UPFInstance %s", subnet.what, p.Masked(), upf.Name)})
		}
	}
	return out
}

// DuplicateSNSSAI returns the older Slice of the core that has the same S-NSSAI, or nil: the AMF takes
// the first SMF that the NRF names for an S-NSSAI.
func DuplicateSNSSAI(slice *api.Slice, others []api.Slice) *api.Slice {
	for i := range others {
		o := &others[i]
		if o.Name != slice.Name && o.Spec.CoreRef.NameOrDefault() == slice.Spec.CoreRef.NameOrDefault() &&
			o.Spec.SNSSAI.Equal(slice.Spec.SNSSAI) && Older(o, slice) {
			return o
		}
	}
	return nil
}
