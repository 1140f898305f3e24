package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// runInit is process 1 of the sandbox. It does not return.
func (s *settings) runInit() error {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if os.Getpid() != 1 {
		return errors.New("init is started by `embedded up`, as process 1 of new namespaces")
	}
	// The other side closes the pipe once its end of the veth pair is in this namespace.
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := s.mounts(); err != nil {
		return fmt.Errorf("mounts of the sandbox: %w", err)
	}
	if err := s.network(); err != nil {
		return fmt.Errorf("network of the sandbox: %w", err)
	}
	if err := syscall.Sethostname([]byte(s.name())); err != nil {
		return fmt.Errorf("host name: %w", err)
	}

	raiseLimits()

	started := make(map[string]chan struct{})
	daemons := s.daemons()
	for _, d := range daemons {
		started[d.name] = make(chan struct{})
	}
	children := newReaper()
	for _, d := range daemons {
		go func() {
			for _, other := range d.after {
				<-started[other]
			}
			go s.supervise(d, children)
			if d.ready != nil {
				until(d.ready)
			}
			close(started[d.name])
		}()
	}
	children.run()
	return nil
}

// raiseLimits lifts what the shell's limits would impose on every container: locked memory, which a
// driver needs that maps a device (vfio), and open files. Without CAP_SYS_RESOURCE the limits stay.
func raiseLimits() {
	for _, limit := range []struct {
		name     string
		resource int
		value    uint64
	}{{"locked memory", unix.RLIMIT_MEMLOCK, unix.RLIM_INFINITY}, {"open files", unix.RLIMIT_NOFILE, 1 << 20}} {
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.value, Max: limit.value}); err != nil {
			slog.Info("limit stays as it is", "limit", limit.name, "err", err)
		}
	}
}

// mounts gives the sandbox its own view of the places where the daemons keep things.
func (s *settings) mounts() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private /: %w", err)
	}
	// Staged first and bound to /run after, for the repository may itself be below a place that is about
	// to be hidden.
	run := s.path("run")
	if err := os.MkdirAll(run, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", run, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("tmpfs on %s: %w", run, err)
	}
	stage := filepath.Join(run, filepath.Base(stageDir))
	for _, m := range []struct{ from, to string }{
		{s.bin, filepath.Join(stage, "bin")},
		{s.cniBin, filepath.Join(stage, "cni")},
		{s.state, filepath.Join(stage, "state")},
	} {
		if err := bind(m.from, m.to); err != nil {
			return err
		}
	}
	if err := syscall.Mount(run, "/run", "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind /run: %w", err)
	}
	s.state = insideDir
	for _, dir := range []string{"/var/lib", "/var/log"} {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("tmpfs on %s: %w", dir, err)
		}
	}
	for _, m := range []struct{ from, to string }{
		{inside("containerd"), "/var/lib/containerd"},
		{inside("kubelet"), "/var/lib/kubelet"},
		{inside("volumes"), volumesDir},
		{inside("cni"), "/var/lib/cni"},
		{inside("log", "pods"), "/var/log/pods"},
	} {
		if err := os.MkdirAll(m.from, 0o755); err != nil {
			return err
		}
		if err := bind(m.from, m.to); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/var/log/containers", 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat("/etc/hosts"); err == nil && info.Mode().IsRegular() {
		if err := syscall.Mount(inside("hosts"), "/etc/hosts", "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind /etc/hosts: %w", err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := s.mountHugetlbCgroup(); err != nil {
		return err
	}
	if err := s.showShare(s.nodes); err != nil {
		return err
	}
	if s.number > 1 {
		if err := showBoot(); err != nil {
			return err
		}
	}
	// Volumes that ask for propagation see mounts made later.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("shared /: %w", err)
	}
	return nil
}

func bind(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", from, to, err)
	}
	return nil
}

// network brings up the sandbox's end of the veth pair. What a pod sends out of the cluster leaves with
// the node's address, for the machine has no route to pods.
func (s *settings) network() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	bits, gateway := 30, s.hostIP
	if s.number > 1 {
		bits, gateway = netip.MustParsePrefix(nodesSubnet).Bits(), addressOf(1)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: s.nodeIP.AsSlice(), Mask: net.CIDRMask(bits, 32)}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
		return err
	}
	if s.number > 1 {
		if err := s.joinNetworks(link); err != nil {
			return err
		}
	}
	for key, value := range map[string]string{
		"net/ipv4/ip_forward": "1",
		// Frames on bridges are the user plane's: no filter, no connection tracking.
		"net/bridge/bridge-nf-call-iptables":  "0",
		"net/bridge/bridge-nf-call-ip6tables": "0",
		"net/bridge/bridge-nf-call-arptables": "0",
	} {
		err := os.WriteFile("/proc/sys/"+key, []byte(value), 0o644)
		if err != nil && !(errors.Is(err, os.ErrNotExist) && strings.HasPrefix(key, "net/bridge/")) {
			return err
		}
	}
	if s.number > 1 {
		return nil // what leaves the cluster passes the first node
	}
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(`table ip core5g {
	chain leave {
		type nat hook postrouting priority srcnat;
		oifname "eth0" ip saddr { ` + clusterPods + `, ` + nodesSubnet + ` } masquerade
	}
}`)
	if out, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// supervise starts a daemon, and again whenever it ends. It does not return.
func (s *settings) supervise(d daemon, children *reaper) {
	for {
		err := s.runDaemon(d, children)
		slog.Error("daemon ended", "daemon", d.name, "err", err)
		if err := s.noteExit(d.name, err); err != nil {
			slog.Error("exit not noted", "daemon", d.name, "err", err)
		}
		time.Sleep(time.Second) // a daemon that ends at once must not take a CPU
	}
}

func (s *settings) runDaemon(d daemon, children *reaper) error {
	log, err := os.OpenFile(inside("log", d.name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	program := filepath.Join(binDir, "kube")
	if d.path != "" {
		if program, err = exec.LookPath(d.path); err != nil {
			return err
		}
	}
	status, err := children.start(program, append([]string{d.name}, d.args...), &os.ProcAttr{
		Dir:   "/",
		Env:   append(os.Environ(), d.env...),
		Files: []*os.File{null, log, log},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return err
	}
	return describe(<-status)
}

// noteExit leaves a line for `embedded up` to see that a daemon does not stay.
func (s *settings) noteExit(name string, reason error) error {
	f, err := os.OpenFile(inside("log", name+".exits"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, reason)
	return err
}

func describe(status syscall.WaitStatus) error {
	if status.Signaled() {
		return fmt.Errorf("signal %s", status.Signal())
	}
	return fmt.Errorf("exit status %d", status.ExitStatus())
}

// reaper waits for every child of process 1: the daemons, and the orphans of the whole sandbox, which
// become its children.
type reaper struct {
	mu      sync.Mutex // held from a start to the note of its pid, or the end could come first
	waiting map[int]chan syscall.WaitStatus
	started *sync.Cond
}

func newReaper() *reaper {
	r := &reaper{waiting: make(map[int]chan syscall.WaitStatus)}
	r.started = sync.NewCond(&r.mu)
	return r
}

func (r *reaper) start(program string, args []string, attr *os.ProcAttr) (<-chan syscall.WaitStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	process, err := os.StartProcess(program, args, attr)
	if err != nil {
		return nil, err
	}
	status := make(chan syscall.WaitStatus, 1)
	r.waiting[process.Pid] = status
	r.started.Broadcast()
	return status, process.Release()
}

func (r *reaper) run() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			r.mu.Lock()
			if len(r.waiting) == 0 {
				r.started.Wait()
			}
			r.mu.Unlock()
		case err == nil:
			r.mu.Lock()
			if waiting, ok := r.waiting[pid]; ok {
				waiting <- status
				delete(r.waiting, pid)
			}
			r.mu.Unlock()
		}
	}
}
