package pod

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Listen on all addresses in a pod, and on the own one where that is a loopback address: several fit on one machine.
func (m *Member) Listen() netip.Addr {
	if m.Address.IsLoopback() {
		return m.Address
	}
	if m.Address.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// Holder is the pod's name in leases, by which others reach it.
func (m *Member) Holder() string { return m.Pod + "/" + m.Address.String() }

// RootAt is the API root at a port of the pod that has that name in leases.
func RootAt(scheme, holder string, port uint16) string {
	_, address, _ := strings.Cut(holder, "/")
	return scheme + "://" + net.JoinHostPort(address, strconv.Itoa(int(port)))
}
