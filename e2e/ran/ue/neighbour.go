package ue

// A UE's part of Neighbour Discovery on a session with IPv6 (RFC 4861, RFC 4862; TS 23.501 5.8.2.2.3): it makes its
// link-local address of the interface identifier that the network has given it, solicits a router through the
// tunnel, and makes its global address of the advertised prefix and the same identifier. The simulator does this
// itself and gives the device a finished address: a pod's /proc/sys is often read-only, so the kernel could not be
// told which identifier to use, and a session without a device needs an address too.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/measure"
)

const (
	icmp6                 = 58
	routerSolicitation    = 133
	routerAdvertisement   = 134
	neighbourHopLimit     = 255
	ipv6Header            = 40
	advertisementFixed    = 16
	optionPrefix          = 3
	optionMTU             = 5
	optionDNS             = 25 // RFC 8106
	prefixAutonomous      = 0x40
	minimumIPv6MTU        = 1280
	maximumSolicitations  = 3
	solicitationInterval  = 4 * time.Second
	interfaceIdentifierAt = 8
)

var (
	allRouters = netip.MustParseAddr("ff02::2")
	allNodes   = netip.MustParseAddr("ff02::1")
)

// Advertisement is what a Router Advertisement says (RFC 4861 4.2).
type Advertisement struct {
	Router   netip.Addr   `json:"router"`
	Prefix   netip.Prefix `json:"prefix"` // of the first option with the autonomous flag; a /64
	Lifetime int          `json:"lifetime_seconds"`
	MTU      int          `json:"mtu,omitempty"`
	DNS      []netip.Addr `json:"rdnss,omitempty"`
}

// withIdentifier is the address of a prefix's /64 with an interface identifier.
func withIdentifier(prefix netip.Addr, id [8]byte) netip.Addr {
	b := prefix.As16()
	copy(b[interfaceIdentifierAt:], id[:])
	return netip.AddrFrom16(b)
}

func linkLocal(id [8]byte) netip.Addr { return withIdentifier(netip.MustParseAddr("fe80::"), id) }

// solicitation is a whole packet from the link-local address. TUN has no link-layer address to tell.
func solicitation(from netip.Addr) []byte {
	b := measure.IPv6(from, allRouters, icmp6, measure.ICMPv6(from, allRouters, []byte{routerSolicitation, 0, 0, 0, 0, 0, 0, 0}))
	b[7] = neighbourHopLimit
	return b
}

// isAdvertisement says whether a downlink packet is one, so that no other packet leaves the way of user data.
func isAdvertisement(p []byte) bool {
	return len(p) >= ipv6Header+advertisementFixed && p[0]>>4 == 6 && p[6] == icmp6 && p[ipv6Header] == routerAdvertisement
}

// readAdvertisement checks and reads a packet that isAdvertisement is true of (RFC 4861 6.1.2).
func readAdvertisement(p []byte, own netip.Addr) (Advertisement, error) {
	var a Advertisement
	if !isAdvertisement(p) {
		return a, errors.New("no Router Advertisement")
	}
	n := int(binary.BigEndian.Uint16(p[4:]))
	if n < advertisementFixed || len(p) < ipv6Header+n {
		return a, errors.New("Router Advertisement cut")
	}
	from, to := netip.AddrFrom16([16]byte(p[8:24])), netip.AddrFrom16([16]byte(p[24:40]))
	m := p[ipv6Header : ipv6Header+n]
	switch {
	case p[7] != neighbourHopLimit:
		return a, fmt.Errorf("Router Advertisement with hop limit %d, so not from a neighbour", p[7])
	case !from.IsLinkLocalUnicast():
		return a, fmt.Errorf("Router Advertisement from %s, which is no link-local address", from)
	case to != own && to != allNodes:
		return a, fmt.Errorf("Router Advertisement to %s", to)
	case m[1] != 0 || !measure.ICMPv6Valid(from, to, m):
		return a, errors.New("Router Advertisement with a wrong code or checksum")
	}
	a.Router, a.Lifetime = from, int(binary.BigEndian.Uint16(m[6:]))
	return a, a.options(m[advertisementFixed:])
}

func (a *Advertisement) options(b []byte) error {
	for len(b) > 0 {
		if len(b) < 2 || b[1] == 0 || len(b) < 8*int(b[1]) {
			return errors.New("Router Advertisement with an option of no length, or cut")
		}
		o := b[:8*int(b[1])]
		b = b[len(o):]
		switch {
		case o[0] == optionPrefix && len(o) == 32 && o[3]&prefixAutonomous != 0 && !a.Prefix.IsValid():
			if o[2] != 64 {
				return fmt.Errorf("Router Advertisement with a prefix of %d bits, which takes no interface identifier of 64", o[2])
			}
			a.Prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte(o[16:32])), 64).Masked()
		case o[0] == optionMTU && len(o) == 8:
			a.MTU = int(binary.BigEndian.Uint32(o[4:]))
		case o[0] == optionDNS && len(o) >= 24:
			for s := o[8:]; len(s) >= 16; s = s[16:] {
				a.DNS = append(a.DNS, netip.AddrFrom16([16]byte(s[:16])))
			}
		}
	}
	if !a.Prefix.IsValid() {
		return errors.New("Router Advertisement without a prefix for addresses")
	}
	return nil
}

// solicit asks for a Router Advertisement, up to three times (RFC 4861 6.3.7), while the session has no global
// address and a tunnel. TS 23.501 does not bound the wait; a session that gets none says so.
func (u *UE) solicit(s *session) {
	if s.interfaceID == nil || s.state != active || s.address6.IsValid() || s.tunnel.Load() == nil {
		return
	}
	if s.solicitor != nil {
		s.solicitor.Stop()
	}
	if s.solicited == maximumSolicitations {
		s.solicited = 0
		err := errors.New("no Router Advertisement came: the session has no global IPv6 address")
		u.fail(fmt.Errorf("PDU session %d: %w", s.cfg.PSI, err))
		u.answer(s, err)
		return
	}
	s.solicited++
	u.count.Solicitations++
	p := solicitation(linkLocal(*s.interfaceID))
	u.uplink(s, append(make([]byte, gtpu.HeaderLen, gtpu.HeaderLen+len(p)), p...))
	id := s.interfaceID
	s.solicitor = time.AfterFunc(u.cfg.Timers.Solicitation, func() {
		u.q.push(func() {
			if s.interfaceID == id {
				u.solicit(s)
			}
		})
	})
}

// advertised takes a Router Advertisement of the session's downlink.
func (u *UE) advertised(s *session, p []byte) {
	if s.interfaceID == nil || s.state != active {
		return
	}
	a, err := readAdvertisement(p, linkLocal(*s.interfaceID))
	if err != nil {
		u.fail(fmt.Errorf("PDU session %d: %w", s.cfg.PSI, err))
		return
	}
	u.count.Advertisements++
	s.advertisement, s.solicited = &a, 0
	if s.solicitor != nil {
		s.solicitor.Stop()
	}
	if address := withIdentifier(a.Prefix.Addr(), *s.interfaceID); s.address6 != address {
		s.address6 = address
		u.log.Info("IPv6 address", "psi", s.cfg.PSI, "address", address, "prefix", a.Prefix)
	}
	s.hasIPv6.Store(true)
	if a.MTU >= minimumIPv6MTU && (a.MTU < s.mtu || !s.address.IsValid()) {
		s.mtu = a.MTU
	}
	u.ready(s)
}
