package smoke

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"core5g.dev/core5g/operators/specs"
)

// inNamespace tells the second life of the test binary, inside its namespaces, from the first.
const inNamespace = "CORE5G_SMOKE_NAMESPACE"

// TestMain runs the tests in a new network and mount namespace, where every Service of the core is a name
// in /etc/hosts with a loopback address of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() || os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	if os.Getenv(inNamespace) == "" {
		again := exec.Command("/proc/self/exe", os.Args[1:]...)
		again.Env = append(os.Environ(), inNamespace+"=1")
		again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		}
		err := again.Run()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			os.Exit(exit.ExitCode())
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	directory, err := os.MkdirTemp("", "core5g-smoke-")
	if err == nil {
		err = enter(directory)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "network namespace:", err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

// enter makes the new namespaces usable. directory is for the hosts file.
func enter(directory string) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	hosts := new(strings.Builder)
	fmt.Fprintln(hosts, "127.0.0.1 localhost")
	for name, address := range addresses {
		fmt.Fprintln(hosts, address, name)
	}
	file := filepath.Join(directory, "hosts")
	if err := os.WriteFile(file, []byte(hosts.String()), 0o644); err != nil {
		return err
	}
	return syscall.Mount(file, "/etc/hosts", "", syscall.MS_BIND, "")
}

// addresses are where the Services of the core are.
var addresses = map[string]string{
	core.Name + "-database": "127.0.1.1",
	core.Name + "-nrf":      "127.0.1.2",
	core.Name + "-pcf":      "127.0.1.3",
	core.Name + "-chf":      "127.0.1.4",
	core.Name + "-amf":      "127.0.1.5",
	core.Name + "-ausf":     "127.0.1.6",
	core.Name + "-udm":      "127.0.1.6",
	core.Name + "-udr":      "127.0.1.9", // a relay, to 127.0.1.6
	core.Name + "-nssf":     "127.0.1.6",
	smfName:                 "127.0.1.7",
	upfName:                 "127.0.1.8",
}

var smfName = specs.SMFObjectName(core.Name, slice.Name)

const upfName = "upf-0-n4"

// needBinaries skips where the network functions are not built or namespaces cannot be made.
func needBinaries(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts every network function: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, file := range []string{"nf/nrf", "nf/pcf", "nf/chf", "nf/amf", "nf/smf", "database/runtime/bin/java"} {
		if _, err := os.Stat(filepath.Join(binaries, file)); err != nil {
			t.Fatalf("%v: run make -C images nf database first", err)
		}
	}
	if interfaces, err := net.Interfaces(); err != nil || len(interfaces) != 1 {
		t.Fatalf("the test is not in a network namespace of its own: %v, %v", interfaces, err)
	}
}
