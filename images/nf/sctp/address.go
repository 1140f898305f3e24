package sctp

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// SCTPAddr is the address of an SCTP endpoint: one port, and one address or more (multi-homing).
type SCTPAddr struct {
	IPAddrs []net.IPAddr
	Port    int
}

// AddrError says why an address cannot be used.
type AddrError struct {
	Addr   *SCTPAddr
	Reason string
}

func (e *AddrError) Error() string { return fmt.Sprintf("sctp address %s: %s", e.Addr, e.Reason) }

// Network implements net.Addr.
func (a *SCTPAddr) Network() string { return "sctp" }

// String prints the addresses separated by slashes, then the port: "10.0.0.1/10.0.1.1:38412".
func (a *SCTPAddr) String() string {
	if a == nil {
		return "<nil>"
	}
	hosts := make([]string, 0, len(a.IPAddrs))
	for _, ip := range a.IPAddrs {
		if ip.IP.To4() == nil && len(ip.IP) > 0 {
			hosts = append(hosts, "["+ip.String()+"]")
		} else {
			hosts = append(hosts, ip.String())
		}
	}
	return strings.Join(hosts, "/") + ":" + strconv.Itoa(a.Port)
}

// ResolveSCTPAddr reads what String prints; host names are resolved.
func ResolveSCTPAddr(network, addrs string) (*SCTPAddr, error) {
	if err := checkNetwork(network); err != nil {
		return nil, err
	}
	tcp := "tcp" + strings.TrimPrefix(network, "sctp")
	if network == "" {
		tcp = "tcp"
	}
	hosts := strings.Split(addrs, "/")
	last, err := net.ResolveTCPAddr(tcp, hosts[len(hosts)-1])
	if err != nil {
		return nil, err
	}
	out := &SCTPAddr{Port: last.Port}
	for _, host := range hosts[:len(hosts)-1] {
		ip, err := net.ResolveTCPAddr(tcp, net.JoinHostPort(strings.Trim(host, "[]"), "0"))
		if err != nil {
			return nil, err
		}
		out.IPAddrs = append(out.IPAddrs, net.IPAddr{IP: ip.IP, Zone: ip.Zone})
	}
	if last.IP != nil {
		out.IPAddrs = append(out.IPAddrs, net.IPAddr{IP: last.IP, Zone: last.Zone})
	}
	return out, nil
}

func checkNetwork(network string) error {
	switch network {
	case "", "sctp", "sctp4", "sctp6":
		return nil
	}
	return net.UnknownNetworkError(network)
}

// isIPv6 tells whether a socket for these addresses must be of the IPv6 family.
func isIPv6(network string, addrs ...*SCTPAddr) bool {
	if network == "sctp6" {
		return true
	}
	for _, a := range addrs {
		if a == nil {
			continue
		}
		for _, ip := range a.IPAddrs {
			if len(ip.IP) > 0 && ip.IP.To4() == nil {
				return true
			}
		}
	}
	return false
}
