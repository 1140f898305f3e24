package processes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideEnv says that a program is on the machine that Isolate has made.
const insideEnv = "CORE5G_PROCESSES_INSIDE"

// Isolate runs the program once more, with the same arguments, on a machine of its own: its network has nothing but loopback addresses, so that no port is
// taken, and its names are hosts, which have addresses each; who calls a name comes to the first that listens. Inside, where done is false, the program goes
// on. Outside, done is true when it has ended, with its exit status. It needs root, or user namespaces.
func Isolate(ctx context.Context, hosts map[string][]string) (done bool, status int, err error) {
	if os.Getenv(insideEnv) != "" {
		return false, 0, inside(hosts)
	}
	c := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	c.Env = append(os.Environ(), insideEnv+"=1")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	if os.Getuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	runtime.LockOSThread() // whose death Pdeathsig is of
	defer runtime.UnlockOSThread()
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return true, max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return true, 1, fmt.Errorf("network and mount namespaces: %w: run it as root", err)
	}
	return true, 0, nil
}

func inside(hosts map[string][]string) error {
	if err := up("lo"); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	file, err := os.CreateTemp("", "hosts-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // what is mounted stays
	var text strings.Builder
	fmt.Fprintln(&text, "127.0.0.1 localhost")
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		for _, address := range hosts[name] {
			fmt.Fprintln(&text, address, name)
		}
	}
	_, err = file.WriteString(text.String())
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	if err := unix.Mount(file.Name(), "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("names of its own: %w", err)
	}
	return nil
}

// up switches a network interface on.
func up(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return nil
}
