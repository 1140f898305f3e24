package pfcp

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a request of N4 and its response cost, of 600 octets each as a session's establishment has, as the ways between SMF and upf-c are: two pods whose
// network namespaces are joined by a veth, or by the node that routes between them, and a Unix datagram socket, which two pods of one node could share
// (docs/adr/0024-n4-is-udp-in-either-layout.md). At rest either side sleeps until it is asked; busy, the next request follows the response. It needs root.
//
//	go test ./images/session-management/pfcp -run '^$' -bench Datagram -benchtime 2000x -count 5
func BenchmarkDatagram(b *testing.B) {
	if os.Getuid() != 0 {
		b.Skip("network namespaces: run it as root")
	}
	for _, way := range []struct {
		name string
		open func(*testing.B) (asks, answers datagrams)
	}{
		{"udp-veth", func(b *testing.B) (asks, answers datagrams) {
			smf, upf := newNamespace(b), newNamespace(b)
			smf.join("n4", "10.0.1.1/24", upf, "n4", "10.0.1.2/24")
			return smf.listen("10.0.1.1:8805", "10.0.1.2:8805"), upf.listen("10.0.1.2:8805", "10.0.1.1:8805")
		}},
		{"udp-node", func(b *testing.B) (asks, answers datagrams) {
			smf, node, upf := newNamespace(b), newNamespace(b), newNamespace(b)
			smf.join("eth0", "10.0.1.2/24", node, "smf", "10.0.1.1/24")
			upf.join("eth0", "10.0.2.2/24", node, "upf", "10.0.2.1/24")
			smf.ip("route add default via 10.0.1.1")
			upf.ip("route add default via 10.0.2.1")
			var err error
			node.do(func() { err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) })
			if err != nil {
				b.Fatal(err)
			}
			return smf.listen("10.0.1.2:8805", "10.0.2.2:8805"), upf.listen("10.0.2.2:8805", "10.0.1.2:8805")
		}},
		{"unix", func(b *testing.B) (asks, answers datagrams) {
			smf, upf := filepath.Join(b.TempDir(), "smf"), filepath.Join(b.TempDir(), "upf")
			return listenUnix(b, smf, upf), listenUnix(b, upf, smf)
		}},
	} {
		for _, pace := range []struct {
			name  string
			pause time.Duration
		}{{"rest", 2 * time.Millisecond}, {"busy", 0}} {
			b.Run(way.name+"/"+pace.name, func(b *testing.B) {
				asks, answers := way.open(b)
				go echo(answers)
				request, response := make([]byte, 600), make([]byte, 1<<16)
				var waited time.Duration
				before := cpuTime()
				for b.Loop() {
					time.Sleep(pace.pause)
					began := time.Now()
					if err := asks.send(request); err != nil {
						b.Fatal(err)
					}
					if _, err := asks.receive(response); err != nil {
						b.Fatal(err)
					}
					waited += time.Since(began)
				}
				b.ReportMetric(float64(waited.Nanoseconds())/float64(b.N), "waited-ns/op")
				b.ReportMetric(float64((cpuTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// datagrams are one end of a way, to its other end.
type datagrams struct {
	send    func([]byte) error
	receive func([]byte) (int, error)
}

func echo(d datagrams) {
	for buf := make([]byte, 1<<16); ; {
		n, err := d.receive(buf)
		if err != nil || d.send(buf[:n]) != nil {
			return
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func listenUnix(b *testing.B, here, there string) datagrams {
	b.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: here, Net: "unixgram"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	to := &net.UnixAddr{Name: there, Net: "unixgram"}
	return datagrams{
		func(p []byte) error { _, err := c.WriteToUnix(p, to); return err },
		func(p []byte) (int, error) { n, _, err := c.ReadFromUnix(p); return n, err },
	}
}

// namespace is a network namespace, with the thread that keeps it: what is opened there stays there, whoever uses it.
type namespace struct {
	b      *testing.B
	thread int
	work   chan func()
}

func newNamespace(b *testing.B) *namespace {
	b.Helper()
	n := &namespace{b: b, work: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with it
		n.thread = unix.Gettid()
		made <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range n.work {
			f()
		}
	}()
	b.Cleanup(func() { close(n.work) })
	if err := <-made; err != nil {
		b.Fatal(err)
	}
	n.ip("link set lo up")
	return n
}

func (n *namespace) do(f func()) {
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// ip has iproute2 do something there.
func (n *namespace) ip(args string) {
	n.b.Helper()
	var out []byte
	var err error
	n.do(func() { out, err = exec.Command("ip", strings.Fields(args)...).CombinedOutput() })
	if err != nil {
		n.b.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// join it with another by a veth.
func (n *namespace) join(name, address string, other *namespace, otherName, otherAddress string) {
	n.b.Helper()
	n.ip("link add " + name + " type veth peer name " + otherName + " netns " + strconv.Itoa(other.thread))
	for _, end := range []struct {
		of            *namespace
		name, address string
	}{{n, name, address}, {other, otherName, otherAddress}} {
		end.of.ip("address add " + end.address + " dev " + end.name)
		end.of.ip("link set " + end.name + " up")
	}
}

func (n *namespace) listen(here, there string) datagrams {
	n.b.Helper()
	var c *net.UDPConn
	var err error
	n.do(func() { c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(here))) })
	if err != nil {
		n.b.Fatal(err)
	}
	n.b.Cleanup(func() { _ = c.Close() })
	to := netip.MustParseAddrPort(there)
	return datagrams{
		func(p []byte) error { _, err := c.WriteToUDPAddrPort(p, to); return err },
		func(p []byte) (int, error) { n, _, err := c.ReadFromUDPAddrPort(p); return n, err },
	}
}
