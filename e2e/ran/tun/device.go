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
	Name    string // interface name, at most 15 octets
	Address netip.Addr
	MTU     int
	// Table is the routing table that holds the device's default route, for what comes from Address
	// or is bound to the device. Not used with Namespace.
	Table int
	// Namespace moves the device into the network namespace of that name (made when missing), where
	// it carries the default route.
	Namespace string
}

// rulePriority puts the devices' rules before the main table's (32766).
const rulePriority = 1000

// Device is a TUN interface that this process reads and writes.
type Device struct {
	cfg   Config
	file  *os.File
	rules []*netlink.Rule
	made  bool // the namespace is ours
}

// Open makes the interface, its address and its routes.
func Open(cfg Config) (d *Device, err error) {
	file, err := Interface(cfg.Name, unix.IFF_TUN)
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
	return d, d.route(link)
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
	// The session is IPv4: no router solicitations. Not possible where /proc/sys is read-only.
	_ = os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", cfg.Name, "disable_ipv6"), []byte("1"), 0)
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
	if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: host(cfg.Address)}); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("address of %s: %w", cfg.Name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("%s up: %w", cfg.Name, err)
	}
	return link, nil
}

func host(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}
}

func defaultRoute(link netlink.Link, cfg Config) *netlink.Route {
	return &netlink.Route{
		LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK, Table: cfg.Table,
		Dst: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, Src: cfg.Address.AsSlice(),
	}
}

// route leads what comes from the address, or is bound to the interface, to the device's own table.
func (d *Device) route(link netlink.Link) error {
	if err := netlink.RouteReplace(defaultRoute(link, d.cfg)); err != nil {
		return fmt.Errorf("route of %s: %w", d.cfg.Name, err)
	}
	// Rules outlive a process that was killed, and an address may come back to another session.
	if old, err := netlink.RuleList(netlink.FAMILY_V4); err == nil {
		for i := range old {
			if old[i].Priority == rulePriority && (old[i].Table == d.cfg.Table || old[i].Src != nil && old[i].Src.IP.Equal(d.cfg.Address.AsSlice())) {
				_ = netlink.RuleDel(&old[i])
			}
		}
	}
	from, out := netlink.NewRule(), netlink.NewRule()
	from.Src, out.OifName = host(d.cfg.Address), d.cfg.Name
	for _, r := range []*netlink.Rule{from, out} {
		r.Family, r.Table, r.Priority = netlink.FAMILY_V4, d.cfg.Table, rulePriority
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
		return netlink.RouteReplace(defaultRoute(link, cfg))
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

// Read takes one IP packet that a program sends.
func (d *Device) Read(p []byte) (int, error) { return d.file.Read(p) }

// Write gives one IP packet to the programs.
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
