package takeover

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/e2e/storm"
)

// asked is how often a second everybody on the link is asked for the address.
const asked = 100

// Watch has owners see all frames of an interface, and asks for their address from own, until ctx ends.
func Watch(ctx context.Context, owners *Owners, iface string, own netip.Addr) error {
	link, err := net.InterfaceByName(iface)
	if err != nil {
		return err
	}
	all := int(htons(unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return fmt.Errorf("a packet socket: %w", err)
	}
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: link.Index}
	if err := unix.Bind(fd, to); err != nil {
		return err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return err
	}
	request := arpRequest(link.HardwareAddr, own, owners.address)
	go func() {
		_ = storm.Pace(ctx, asked, func() error { return unix.Sendto(fd, request, 0, to) })
	}()
	b := make([]byte, 65536)
	for ctx.Err() == nil {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err == nil {
			owners.Frame(b[:n], time.Now())
		}
	}
	return nil
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }
