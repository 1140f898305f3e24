package tun

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// isolate runs the test in a network namespace of its own, on a thread that ends with it.
func isolate(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	if err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	t.Cleanup(func() { ns.Close() }) // the thread stays locked, and dies
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		t.Skip("no /dev/net/tun")
	}
}

// bound sends one UDP datagram from a socket prepared by control, and returns the error.
func bound(t *testing.T, local *net.UDPAddr, device string) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if device != "" {
		if err := syscall.BindToDevice(fd, device); err != nil {
			return err
		}
	}
	if local != nil {
		if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(local.IP.To4())}); err != nil {
			return err
		}
	}
	return syscall.Sendto(fd, []byte("x"), 0, &syscall.SockaddrInet4{Port: 9, Addr: [4]byte{172, 30, 6, 1}})
}

func readPacket(t *testing.T, d *Device) []byte {
	t.Helper()
	b := make([]byte, 2000)
	_ = d.file.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		n, err := d.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if b[0]>>4 == 4 {
			return b[:n]
		}
	}
}

// A device of Ethernet moves frames, and has neither address nor route.
func TestEthernetDevice(t *testing.T) {
	isolate(t)
	d, err := Open(Config{Name: "ue1-1", Ethernet: true, MTU: 1460})
	if err != nil {
		t.Skipf("no TAP here: %v", err)
	}
	defer d.Close()
	link, err := netlink.LinkByName("ue1-1")
	if err != nil {
		t.Fatal(err)
	}
	if a := link.Attrs(); a.MTU != 1460 || len(a.HardwareAddr) != 6 || a.Flags&net.FlagUp == 0 {
		t.Errorf("%+v", a)
	}
	addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
	routes, routesErr := netlink.RouteList(link, netlink.FAMILY_V4)
	if err != nil || routesErr != nil || len(addresses)+len(routes) > 0 {
		t.Errorf("addresses %v, routes %v; %v, %v", addresses, routes, err, routesErr)
	}
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(172, 30, 6, 2), Mask: net.CIDRMask(24, 32)}}); err != nil {
		t.Fatal(err)
	}
	if err := bound(t, nil, "ue1-1"); err != nil { // somebody looks for 172.30.6.1
		t.Fatal(err)
	}
	b := make([]byte, 2000)
	_ = d.file.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		n, err := d.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if n >= 42 && binary.BigEndian.Uint16(b[12:]) == 0x0806 && net.HardwareAddr(b[6:12]).String() == link.Attrs().HardwareAddr.String() {
			return
		}
	}
}

func TestDeviceRouting(t *testing.T) {
	isolate(t)
	one, err := Open(Config{Name: "ue1-1", Address: netip.MustParseAddr("10.45.0.1"), MTU: 1400, Table: 1017})
	if err != nil {
		t.Skipf("no TUN here: %v", err)
	}
	two, err := Open(Config{Name: "ue2-1", Address: netip.MustParseAddr("10.45.0.2"), MTU: 1400, Table: 1033})
	if err != nil {
		t.Fatal(err)
	}
	if err := bound(t, nil, ""); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("a program that is bound to no UE got a route: %v", err)
	}
	if err := bound(t, &net.UDPAddr{IP: net.IPv4(10, 45, 0, 2)}, ""); err != nil {
		t.Fatalf("bound to the second UE's address: %v", err)
	}
	if p := readPacket(t, two); net.IP(p[12:16]).String() != "10.45.0.2" {
		t.Errorf("the second device carries a packet from %v", net.IP(p[12:16]))
	}
	if err := bound(t, nil, "ue1-1"); err != nil {
		t.Fatalf("bound to the first UE's device: %v", err)
	}
	p := readPacket(t, one)
	if net.IP(p[12:16]).String() != "10.45.0.1" || binary.BigEndian.Uint16(p[2:]) != 29 {
		t.Errorf("the first device carries % x", p)
	}

	woken := make(chan error, 1)
	go func() {
		_, err := two.Read(make([]byte, 2000))
		woken <- err
	}()
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	if err := <-woken; err == nil {
		t.Error("Read of a closed device returned a packet")
	}
	one.Close()
	rules, err := netlink.RuleList(netlink.FAMILY_V4)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != 3 {
		t.Errorf("%d rules left, want the kernel's own 3: %v", len(rules), rules)
	}
	if _, err := netlink.LinkByName("ue1-1"); err == nil {
		t.Error("the interface outlives its device")
	}
}

// boundTo sends one UDP datagram over IPv6 from a socket bound to a device or an address.
func boundTo(t *testing.T, from netip.Addr, device string) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if device != "" {
		if err := syscall.BindToDevice(fd, device); err != nil {
			return err
		}
	}
	if from.IsValid() {
		if err := syscall.Bind(fd, &syscall.SockaddrInet6{Addr: from.As16()}); err != nil {
			return err
		}
	}
	return syscall.Sendto(fd, []byte("x"), 0, &syscall.SockaddrInet6{Port: 9, Addr: netip.MustParseAddr("fd00:6::1").As16()})
}

func TestDeviceWithIPv6(t *testing.T) {
	isolate(t)
	four, six := netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("fd00:45:0:1::5")
	late, err := Open(Config{Name: "ue1-1", Address: four, MTU: 1360, Table: 1017})
	if err != nil {
		t.Skipf("no TUN here: %v", err)
	}
	if err := late.AddIPv6(six, 1380); err != nil {
		t.Fatal(err)
	}
	only, err := Open(Config{Name: "ue2-1", Address6: netip.MustParseAddr("fd00:45:0:2::5"), MTU: 1400, Table: 1033})
	if err != nil {
		t.Fatal(err)
	}
	from := func(d *Device) netip.Addr {
		b := make([]byte, 2000)
		_ = d.file.SetReadDeadline(time.Now().Add(time.Minute))
		for {
			n, err := d.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			const udp = 17
			if n > 40 && b[0]>>4 == 6 && b[6] == udp {
				return netip.AddrFrom16([16]byte(b[8:24]))
			}
		}
	}
	if err := boundTo(t, six, ""); err != nil {
		t.Fatalf("bound to the first UE's address: %v", err)
	}
	if got := from(late); got != six {
		t.Errorf("the first device carries a packet from %s", got)
	}
	if err := boundTo(t, netip.Addr{}, "ue2-1"); err != nil {
		t.Fatalf("bound to the second UE's device: %v", err)
	}
	if got := from(only); got.String() != "fd00:45:0:2::5" {
		t.Errorf("the second device carries a packet from %s", got)
	}
	if err := bound(t, &net.UDPAddr{IP: net.IPv4(10, 45, 0, 1)}, ""); err != nil {
		t.Errorf("the first device has lost IPv4: %v", err)
	}
	late.Close()
	only.Close()
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rules, err := netlink.RuleList(family)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rules {
			if r.Priority == rulePriority {
				t.Errorf("a rule is left: %v", r)
			}
		}
	}
}

func TestDeviceRefused(t *testing.T) {
	if _, err := Open(Config{Name: "a-name-that-is-too-long"}); err == nil {
		t.Error("a name of 23 octets was accepted")
	}
}
