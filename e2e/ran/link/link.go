package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Wait returns when the interface exists.
func Wait(ctx context.Context, name string) (netlink.Link, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := netlink.LinkByName(name)
		if err == nil {
			return l, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("interface %q: %w (is the network attached to the pod?)", name, err)
		case <-tick.C:
		}
	}
}

// Address gives the interface an address that it does not have yet, and takes it up.
func Address(l netlink.Link, prefix netip.Prefix) error {
	addr := &netlink.Addr{Flags: noDuplicateSearch(prefix.Addr()), IPNet: &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}}
	if err := netlink.AddrAdd(l, addr); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("address %s on %s: %w", prefix, l.Attrs().Name, err)
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return fmt.Errorf("%s up: %w", l.Attrs().Name, err)
	}
	return nil
}

// noDuplicateSearch makes an IPv6 address usable at once (RFC 4862 5.4): it is ours by configuration.
func noDuplicateSearch(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return unix.IFA_F_NODAD
}

// MTU sets the interface's MTU unless it has it.
func MTU(l netlink.Link, mtu int) error {
	if l.Attrs().MTU == mtu {
		return nil
	}
	if err := netlink.LinkSetMTU(l, mtu); err != nil {
		return fmt.Errorf("MTU %d on %s: %w", mtu, l.Attrs().Name, err)
	}
	return nil
}

// Route leads a prefix to a gateway behind the interface.
func Route(l netlink.Link, to netip.Prefix, via netip.Addr) error {
	r := &netlink.Route{
		LinkIndex: l.Attrs().Index, Gw: via.AsSlice(),
		Dst: &net.IPNet{IP: to.Masked().Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), to.Addr().BitLen())},
	}
	if err := netlink.RouteReplace(r); err != nil {
		return fmt.Errorf("route %s via %s: %w", to, via, err)
	}
	return nil
}

// ethtool commands that switch one offload (linux/ethtool.h).
const (
	setTxCsum = 0x17
	setSG     = 0x19
	setTSO    = 0x1f
	setGSO    = 0x24
	setGRO    = 0x2c
)

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct {
	cmd, data uint32
}

// DisableOffloads turns off what would let packets with partial checksums, or segments larger than
// the MTU, across a veth pair: transmit checksums, TSO, GSO, scatter-gather, GRO. An interface that
// cannot change one of them keeps it when the driver says so (EOPNOTSUPP).
func DisableOffloads(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, cmd := range []uint32{setTSO, setGSO, setGRO, setSG, setTxCsum} {
		v := ethtoolValue{cmd: cmd}
		var req struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte
		}
		copy(req.name[:unix.IFNAMSIZ-1], name)
		req.data = unsafe.Pointer(&v)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
		if errno != 0 && errno != unix.EOPNOTSUPP {
			return fmt.Errorf("ethtool command %#x on %s: %w (needs CAP_NET_ADMIN)", cmd, name, errno)
		}
	}
	return nil
}
