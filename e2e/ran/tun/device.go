package tun

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Config describes one device.
type Config struct {
	Name string // interface name, at most 15 octets
	// Address and Address6 are the UE's of IPv4 and IPv6; one may be invalid.
	Address, Address6 netip.Addr
	// Ethernet has a device that moves frames (TAP), without an address or a route: whatever is to be on it its user puts there.
	Ethernet bool
	MTU      int
	// Table is the routing table that holds the device's default route, for what comes from Address
	// or is bound to the device. Not used with Namespace.
	Table int
	// Namespace moves the device into the network namespace of that name (made when missing), where
	// it carries the default route.
	Namespace string
}

// rulePriority puts the devices' rules before the main table's (32766).
const rulePriority = 1000

// Device is a TUN or TAP interface that this process reads and writes.
type Device struct {
	cfg   Config
	file  *os.File
	rules []*netlink.Rule
	made  bool // the namespace is ours
}

// Open makes the interface, its address and its routes.
func Open(cfg Config) (d *Device, err error) {
	kind := uint16(unix.IFF_TUN)
	if cfg.Ethernet {
		kind = unix.IFF_TAP
	}
	file, err := Interface(cfg.Name, kind)
	if missing := new(os.PathError); errors.As(err, &missing) {
		err = fmt.Errorf("%w (the pod needs the device and root or CAP_NET_ADMIN; or configure device: none)", err)
	}
	if err != nil {
		return nil, err
	}
	d = &Device{cfg: cfg, file: file}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if cfg.Namespace != "" {
		return d, d.enter()
	}
	link, err := configure(cfg)
	if err != nil {
		return d, err
	}
	for _, a := range cfg.addresses() {
		if err := d.route(link, a); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Interface opens an interface of a kind, unix.IFF_TUN or unix.IFF_TAP, which it makes when there is none of that
// name. A Read or Write is a packet or a frame, with nothing before it; Close wakes a Read.
func Interface(name string, kind uint16) (*os.File, error) {
	if len(name) >= unix.IFNAMSIZ {
		return nil, fmt.Errorf("interface name %q is longer than %d octets", name, unix.IFNAMSIZ-1)
	}
	req, err := unix.NewIfreq(name)
	if err != nil {
		return nil, fmt.Errorf("interface name %q: %w", name, err)
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	req.SetUint16(kind | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// configure gives the interface its MTU and address, and takes it up, in the current namespace.
func configure(cfg Config) (netlink.Link, error) {
	if !cfg.Address6.IsValid() {
		// No router solicitations. Not possible where /proc/sys is read-only.
		sysctl(cfg.Name, "disable_ipv6", "1")
	}
	link, err := netlink.LinkByName(cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", cfg.Name, err)
	}
	if err := netlink.LinkSetMTU(link, cfg.MTU); err != nil {
		return nil, fmt.Errorf("MTU of %s: %w", cfg.Name, err)
	}
	if err := netlink.LinkSetTxQLen(link, 1000); err != nil {
		return nil, fmt.Errorf("queue of %s: %w", cfg.Name, err)
	}
	for _, a := range cfg.addresses() {
		if err := address(link, a); err != nil {
			return nil, err
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("%s up: %w", cfg.Name, err)
	}
	return link, nil
}

func sysctl(device, name, value string) {
	_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", device, name), []byte(value), 0)
}

func (c Config) addresses() (out []netip.Addr) {
	for _, a := range []netip.Addr{c.Address, c.Address6} {
		if a.IsValid() {
			out = append(out, a)
		}
	}
	return out
}

// address gives the interface one address. That of IPv6 is the UE's alone (its /64 is), so nobody is asked for it.
func address(link netlink.Link, a netip.Addr) error {
	x := &netlink.Addr{IPNet: host(a)}
	if a.Is6() {
		sysctl(link.Attrs().Name, "disable_ipv6", "0")
		x.Flags = unix.IFA_F_NODAD
	}
	err := netlink.AddrAdd(link, x)
	switch {
	case err == nil || errors.Is(err, unix.EEXIST):
		return nil
	case a.Is6() && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.EOPNOTSUPP)):
		return fmt.Errorf("address %s of %s: %w (IPv6 is off in this network namespace; set the pod's sysctl net.ipv6.conf.all.disable_ipv6=0, or configure device: none)", a, link.Attrs().Name, err)
	}
	return fmt.Errorf("address %s of %s: %w", a, link.Attrs().Name, err)
}

func host(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func defaultRoute(link netlink.Link, table int, from netip.Addr) *netlink.Route {
	r := &netlink.Route{
		LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Table: table,
		Dst: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, Src: from.AsSlice(),
	}
	if from.Is6() {
		r.Scope, r.Dst = netlink.SCOPE_UNIVERSE, &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	return r
}

// AddIPv6 gives a device the address that a Router Advertisement has brought, and the MTU that goes with both.
func (d *Device) AddIPv6(a netip.Addr, mtu int) error {
	return Within(d.cfg.Namespace, func() error {
		link, err := netlink.LinkByName(d.cfg.Name)
		if err != nil {
			return fmt.Errorf("interface %s: %w", d.cfg.Name, err)
		}
		if err := netlink.LinkSetMTU(link, mtu); err != nil {
			return fmt.Errorf("MTU of %s: %w", d.cfg.Name, err)
		}
		if err := address(link, a); err != nil {
			return err
		}
		d.cfg.Address6, d.cfg.MTU = a, mtu
		if d.cfg.Namespace != "" {
			return netlink.RouteReplace(defaultRoute(link, unix.RT_TABLE_MAIN, a))
		}
		return d.route(link, a)
	})
}

// route leads what comes from the address, or is bound to the interface, to the device's own table.
func (d *Device) route(link netlink.Link, address netip.Addr) error {
	if err := netlink.RouteReplace(defaultRoute(link, d.cfg.Table, address)); err != nil {
		return fmt.Errorf("route of %s: %w", d.cfg.Name, err)
	}
	// Rules outlive a process that was killed, and an address may come back to another session.
	if old, err := netlink.RuleList(family(address)); err == nil {
		for i := range old {
			if old[i].Priority == rulePriority && (old[i].Table == d.cfg.Table || old[i].Src != nil && old[i].Src.IP.Equal(address.AsSlice())) {
				_ = netlink.RuleDel(&old[i])
			}
		}
	}
	from, out := netlink.NewRule(), netlink.NewRule()
	from.Src, out.OifName = host(address), d.cfg.Name
	for _, r := range []*netlink.Rule{from, out} {
		r.Family, r.Table, r.Priority = family(address), d.cfg.Table, rulePriority
		if err := netlink.RuleAdd(r); err != nil {
			return fmt.Errorf("rule of %s: %w", d.cfg.Name, err)
		}
		d.rules = append(d.rules, r)
	}
	return nil
}

// enter moves the interface into its namespace and configures it there.
func (d *Device) enter() error {
	ns, made, err := openNamespace(d.cfg.Namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	d.made = made
	link, err := netlink.LinkByName(d.cfg.Name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(link, int(ns)); err != nil {
		return fmt.Errorf("move %s to namespace %s: %w", d.cfg.Name, d.cfg.Namespace, err)
	}
	return within(ns, func() error {
		if lo, err := netlink.LinkByName("lo"); err == nil {
			_ = netlink.LinkSetUp(lo)
		}
		cfg := d.cfg
		cfg.Table = unix.RT_TABLE_MAIN
		link, err := configure(cfg)
		if err != nil {
			return err
		}
		for _, a := range cfg.addresses() {
			if err := netlink.RouteReplace(defaultRoute(link, cfg.Table, a)); err != nil {
				return fmt.Errorf("route of %s: %w", cfg.Name, err)
			}
		}
		return nil
	})
}

func openNamespace(name string) (ns netns.NsHandle, made bool, err error) {
	if ns, err = netns.GetFromName(name); err == nil {
		return ns, false, nil
	}
	err = apart(func() error {
		ns, err = netns.NewNamed(name)
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("network namespace %s: %w (needs CAP_SYS_ADMIN; or configure device: tun)", name, err)
	}
	return ns, true, nil
}

// apart runs f on a thread of its own that returns to its network namespace afterwards, or ends.
func apart(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		here, err := netns.Get()
		if err != nil {
			done <- err
			return
		}
		defer here.Close()
		err = f()
		if netns.Set(here) == nil {
			runtime.UnlockOSThread() // else the thread ends with the goroutine
		}
		done <- err
	}()
	return <-done
}

func within(ns netns.NsHandle, f func() error) error {
	return apart(func() error {
		if err := netns.Set(ns); err != nil {
			return err
		}
		return f()
	})
}

// Within runs f in the network namespace of that name; "" means the current one. f must do all its
// system calls in its own goroutine.
func Within(namespace string, f func() error) error {
	if namespace == "" {
		return f()
	}
	ns, err := netns.GetFromName(namespace)
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", namespace, err)
	}
	defer ns.Close()
	return within(ns, f)
}

// Name is the interface's name.
func (d *Device) Name() string { return d.cfg.Name }

// Read takes one IP packet, or frame, that a program sends.
func (d *Device) Read(p []byte) (int, error) { return d.file.Read(p) }

// Write gives one IP packet, or frame, to the programs.
func (d *Device) Write(p []byte) (int, error) { return d.file.Write(p) }

// Close removes the interface, its rules and the namespace that was made for it.
func (d *Device) Close() error {
	for _, r := range d.rules {
		_ = netlink.RuleDel(r)
	}
	err := d.file.Close()
	if d.made {
		err = errors.Join(err, netns.DeleteNamed(d.cfg.Namespace))
	}
	return err
}
