package specs

import (
	"fmt"
	"net/netip"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// NAT44 of network instances: the UEs of one share public addresses, a block of ports each. Addresses are cut into equal parts for units, as UE
// pools are. A public address is one network instance's of one UPFInstance: by it, a port and a time a UE is found in the UPFs' records.

// natNetwork is a network of N6 that has NAT44.
type natNetwork struct {
	name  string // "" is n6
	field string
	nat   *api.NAT44
	own   []api.InterfaceAddress
}

func natNetworks(upf *api.UPFInstance) (out []natNetwork) {
	if upf.Spec.N6.NAT44 != nil {
		out = append(out, natNetwork{"", "n6.nat44", upf.Spec.N6.NAT44, []api.InterfaceAddress{upf.Spec.N6.Address}})
	}
	for i := range upf.Spec.NetworkInstances {
		if n := &upf.Spec.NetworkInstances[i]; n.NAT44 != nil {
			out = append(out, natNetwork{string(n.Name), fmt.Sprintf("networkInstances[%s].nat44", n.Name), n.NAT44, n.Addresses})
		}
	}
	return out
}

// upfuNAT is NAT44 in upf-u.yaml.
type upfuNAT struct {
	Addresses      []string `json:"addresses"`
	Ports          int32    `json:"ports"`
	Mappings       int32    `json:"mappings"`
	TCPEstablished int64    `json:"tcp_established_s"`
	TCPTransitory  int64    `json:"tcp_transitory_s"`
	UDP            int64    `json:"udp_s"`
	ICMP           int64    `json:"icmp_s"`
}

// natOf a unit; nil: there is none.
func natOf(upf *api.UPFInstance, nat *api.NAT44, unit int) *upfuNAT {
	if nat == nil {
		return nil
	}
	t := nat.Timeouts
	return &upfuNAT{
		Addresses: UnitNAT44Addresses(upf, nat, unit), Ports: nat.PortsPerUE, Mappings: nat.Mappings,
		TCPEstablished: int64(t.TCPEstablished.Seconds()), TCPTransitory: int64(t.TCPTransitory.Seconds()), UDP: int64(t.UDP.Seconds()), ICMP: int64(t.ICMP.Seconds()),
	}
}

// UnitNAT44Addresses are a unit's parts of the public addresses; none where nat is nil.
func UnitNAT44Addresses(upf *api.UPFInstance, nat *api.NAT44, unit int) (out []string) {
	if nat == nil {
		return nil
	}
	parts := Parts(upf)
	for _, a := range nat.Addresses {
		block, err := netip.ParsePrefix(string(a))
		if err != nil {
			continue // the schema refuses it
		}
		if own, fits := part(block, parts, unit); fits {
			out = append(out, own.String())
		}
	}
	return out
}

// natProblem says what of NAT44 UPF-U would not take, or nobody could tell UEs by.
func natProblem(upf *api.UPFInstance) *Problem {
	parts := Parts(upf)
	networks := natNetworks(upf)
	for i, n := range networks {
		fail := func(format string, arguments ...any) *Problem {
			return &Problem{api.ReasonMalformed, n.field + ": " + fmt.Sprintf(format, arguments...)}
		}
		for _, a := range n.nat.Addresses {
			block, err := netip.ParsePrefix(string(a))
			if err != nil || !block.Addr().Is4() || block.Bits() < 16 {
				return fail("%s is none of a /16 to a /32 of IPv4 addresses: write for example 203.0.113.0/28", a)
			}
			if _, fits := part(block, parts, 0); !fits {
				return fail("%s is too small to be cut into %d parts for units: write a larger block", a, parts)
			}
			for _, own := range n.own {
				if overlap(string(a), string(own)) {
					return fail("%s is in the UPF's own subnet %s: write addresses that the gateway routes to the UPF, as it does UE pools", a, masked(own))
				}
			}
			if overlap(string(a), string(upf.Spec.N3.Subnet)) {
				return fail("%s overlaps the N3 subnet %s: write other addresses", a, upf.Spec.N3.Subnet)
			}
			for _, o := range networks[:i] {
				for _, taken := range o.nat.Addresses {
					if overlap(string(a), string(taken)) {
						return &Problem{api.ReasonAddressOverlap, fmt.Sprintf("%s: %s overlaps %s of %s: a public address is one network instance's, or nobody could tell whose UE it was; write other addresses",
							n.field, a, taken, o.field)}
					}
				}
			}
		}
	}
	return nil
}

func masked(a api.InterfaceAddress) string {
	p, err := netip.ParsePrefix(string(a))
	if err != nil {
		return string(a)
	}
	return p.Masked().String()
}

// natOverlap says which of the public addresses another UPFInstance has.
func natOverlap(upf, other *api.UPFInstance) *Problem {
	for _, n := range natNetworks(upf) {
		for _, o := range natNetworks(other) {
			for _, a := range n.nat.Addresses {
				for _, taken := range o.nat.Addresses {
					if overlap(string(a), string(taken)) {
						return &Problem{api.ReasonAddressOverlap, fmt.Sprintf("spec.%s.addresses %s overlaps %s of UPFInstance %s: a public address is routed to one UPF; write other addresses",
							n.field, a, taken, other.Name)}
					}
				}
			}
		}
	}
	return nil
}

// natClaims are the public addresses of a UPFInstance, which no pool of the network instance may hold.
func natClaims(upf *api.UPFInstance) (out []claim) {
	for _, n := range natNetworks(upf) {
		for _, a := range n.nat.Addresses {
			if p, err := netip.ParsePrefix(string(a)); err == nil {
				out = append(out, claim{p.Masked(), fmt.Sprintf("%s.addresses %s of UPFInstance %s", n.field, p.Masked(), upf.Name), network{name: strings.ToLower(n.name)}})
			}
		}
	}
	return out
}

// unitNATAddresses are all of a unit's, which it is made anew for when they change.
func unitNATAddresses(upf *api.UPFInstance, unit int) (out []string) {
	for _, n := range natNetworks(upf) {
		out = append(out, UnitNAT44Addresses(upf, n.nat, unit)...)
	}
	return out
}
