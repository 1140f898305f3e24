package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// pfcpPort is PFCP's (TS 29.244 6.4).
const pfcpPort = 8805

// Peer is a CP function: an address or FQDN, and a port.
type Peer struct {
	Host string
	Port uint16
}

func (p Peer) String() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// UnmarshalText reads host or host:port; an IPv6 address with a port stands in brackets.
func (p *Peer) UnmarshalText(text []byte) error {
	s := string(text)
	p.Host, p.Port = s, pfcpPort
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	if host, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("pfcp.peers: %q has no port number", s)
		}
		p.Host, p.Port = host, uint16(n)
	}
	if _, err := netip.ParseAddr(p.Host); err != nil && !isFQDN(p.Host) {
		return fmt.Errorf("pfcp.peers: %q is neither an address nor an FQDN", s)
	}
	return nil
}
