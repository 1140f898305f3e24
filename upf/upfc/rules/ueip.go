package rules

import (
	"net/netip"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// UE IP addresses and prefixes (TS 29.244 8.2.62), given by the CP function or chosen here from the
// pool of a network instance (5.21). A session has at most one of either version.

// UE IP Address flags.
const (
	ueV6    = 0x01
	ueV4    = 0x02
	ueIPv6D = 0x08
	ueCHV4  = 0x10
	ueCHV6  = 0x20
	ueIP6PL = 0x40
)

// parsedUE is the IE as it stands there.
type parsedUE struct {
	flags  uint8
	v4     netip.Addr
	prefix netip.Prefix
	bits   int // of the prefix
}

// parseUEAddress reads the IE's value. The prefix has 64 bits, less those that are delegated
// (IPv6D), or as many as IP6PL says.
func parseUEAddress(b []byte) (u parsedUE, err error) {
	if len(b) < 1 {
		return u, errShort
	}
	u.flags = b[0]
	// Where the UPF is to choose there is no address, whatever the other flag says.
	v4, v6, b, err := addresses(b[1:], u.flags&(ueV4|ueCHV4) == ueV4, u.flags&(ueV6|ueCHV6) == ueV6)
	if err != nil {
		return u, err
	}
	u.v4 = v4
	u.bits = 64
	for _, octet := range []uint8{ueIPv6D, ueIP6PL} {
		if u.flags&octet == 0 {
			continue
		}
		if len(b) < 1 {
			return u, errShort
		}
		if u.bits, b = int(b[0]), b[1:]; octet == ueIPv6D {
			u.bits = 64 - u.bits
		}
	}
	if v6.IsValid() {
		if u.prefix, err = v6.Prefix(u.bits); err != nil {
			return u, err
		}
	}
	return u, nil
}

// wants is a PDR or Traffic Endpoint for which the UPF is to choose UE addresses.
type wants struct {
	pdr      uint16
	endpoint uint8 // when it is one
	is       bool
	core     bool // packets come from there
	v4, v6   bool
	pools    []string // UE IP Address Pool Identities
	ref      named
}

func (p *planner) ueAddress(m *Match, e *pfcp.Element, names pfcp.Elements, who wants, ref named) error {
	u, err := parseUEAddress(e.Value)
	if err == errShort {
		return &pfcp.Reject{Cause: ie.CauseInvalidLength, Offending: ie.UEIPAddress, Rule: ref.ref(), Detail: "UE IP Address is cut short"}
	}
	if err != nil {
		return refuse(ref, ie.UEIPAddress, "UE IP Address: %v", err)
	}
	if u.flags&(ueV4|ueV6|ueCHV4|ueCHV6) == 0 {
		return refuse(ref, ie.UEIPAddress, "UE IP Address without an address")
	}
	if u.v4.IsValid() {
		if u.v4.IsUnspecified() || u.v4.IsMulticast() || u.v4.IsLoopback() {
			return refuse(ref, ie.UEIPAddress, "%s is no UE's address", u.v4)
		}
		if m.UEAddress.IsValid() && m.UEAddress != u.v4 {
			return refuse(ref, ie.UEIPAddress, "more than one IPv4 address in one PDI")
		}
		m.UEAddress = u.v4
	}
	if u.prefix.IsValid() {
		a := u.prefix.Addr()
		if u.prefix.Bits() < 1 || u.prefix.Bits() > 64 {
			return refuse(ref, ie.UEIPAddress, "prefix length %d: this UPF takes 1 to 64", u.prefix.Bits())
		}
		if a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() {
			return refuse(ref, ie.UEIPAddress, "%s is no UE's prefix", u.prefix)
		}
		if m.UEPrefix.IsValid() && m.UEPrefix != u.prefix {
			return refuse(ref, ie.UEIPAddress, "more than one IPv6 prefix in one PDI")
		}
		m.UEPrefix = u.prefix
	}
	if u.flags&(ueCHV4|ueCHV6) == 0 {
		return nil
	}
	if u.flags&ueCHV6 != 0 && u.bits != 64 {
		return refuse(ref, ie.UEIPAddress, "a prefix of %d bits to be chosen: the pools hold /64 prefixes", u.bits)
	}
	m.UEChosen = true
	who.v4, who.v6, who.ref = u.flags&ueCHV4 != 0, u.flags&ueCHV6 != 0, ref
	for i := range names {
		if names[i].Type == ie.UEIPAddressPoolIdentity {
			if name := poolIdentity(names[i].Value); name != "" {
				who.pools = append(who.pools, name)
			}
		}
	}
	p.wanted = append(p.wanted, who)
	return nil
}

// poolIdentity reads a length and a name (TS 29.244 8.2.128). The length has two octets; of those that give it one, the
// first octet is not 0.
func poolIdentity(b []byte) string {
	switch {
	case len(b) > 2 && b[0] == 0:
		return string(b[2:])
	case len(b) > 1 && int(b[0]) == len(b)-1:
		return string(b[1:])
	}
	return ""
}

// chooseUEs gives every PDR and Traffic Endpoint that asked for it the session's UE addresses. It
// comes after all rules were read: only some of those that ask stand in the network instance that
// has the pool.
func (p *planner) chooseUEs(pfcp.Elements) error {
	if len(p.wanted) == 0 {
		return nil
	}
	var instances []string
	for _, w := range p.wanted {
		if m := p.wanting(w); m != nil && m.NetworkInstance != "" {
			instances = append(instances, m.NetworkInstance)
		}
	}
	next := p.change.Next
	v4, v6 := next.UEAddress(), next.UEPrefix()
	// A PDR that is asked for once more keeps what the session was given.
	if !v4.IsValid() {
		v4 = p.base.UEAddress()
	}
	if !v6.IsValid() {
		v6 = p.base.UEPrefix()
	}
	for _, w := range p.wanted {
		m := p.wanting(w)
		if m == nil {
			continue
		}
		choose := func(is6 bool) (netip.Prefix, error) {
			if p.policy.ChooseUE == nil {
				return netip.Prefix{}, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.UEIPAddress, Rule: w.ref.ref(),
					Detail: "this UPF has no pool of UE IP addresses"}
			}
			u, err := p.policy.ChooseUE(next, instances, w.pools, is6)
			if r := policyRefusal(err, ie.UEIPAddress, w.ref); r != nil {
				return u, r
			}
			if err != nil {
				return u, &pfcp.Reject{Cause: pfcp.CauseAllAddressesOccupied, Offending: ie.UEIPAddress, Rule: w.ref.ref(), Detail: err.Error()}
			}
			return u, nil
		}
		if w.v4 && !v4.IsValid() {
			u, err := choose(false)
			if err != nil {
				return err
			}
			v4 = u.Addr()
		}
		if w.v6 && !v6.IsValid() {
			u, err := choose(true)
			if err != nil {
				return err
			}
			v6 = u
		}
		if w.v4 {
			m.UEAddress = v4
		}
		if w.v6 {
			m.UEPrefix = v6
		}
		p.answer(w)
	}
	return nil
}

// wanting is where the addresses go: the rule was made in this plan, so it may be written to.
func (p *planner) wanting(w wants) *Match {
	if w.is {
		if e := p.change.Next.Endpoints.Get(w.endpoint); e != nil {
			return &e.Match
		}
		return nil
	}
	if r := p.change.Next.PDRs.Get(w.pdr); r != nil {
		return &r.PDI.Match
	}
	return nil
}
