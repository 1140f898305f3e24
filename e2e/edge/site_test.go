package edge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// site is an edge site with the package, in a network namespace of its own; its gNB and its data network are another one, the centre is a third.
//
//	centre 198.51.100.1 ── wan ── 198.51.100.2 edge: upf-c, upf-u ── n3, n6 ── peers
//	       10.99.0.1 ······ tunnel ······ 10.99.0.2
type site struct {
	t                   *testing.T
	root                string // the Debian that the package is installed on
	edge, centre, peers string
	gnb                 *net.UDPConn
	notify              *net.UnixConn
}

const (
	centreWAN, edgeWAN       = "198.51.100.1", "198.51.100.2"
	centreTunnel, edgeTunnel = "10.99.0.1", "10.99.0.2"
	nodeID                   = "upf.edge.example.org"
	gnbAddr                  = "172.30.3.100"
	n3Addr                   = "172.30.3.16"
	dnAddr                   = "172.30.6.1"
	gnbTEID                  = 0x100
)

func newSite(t *testing.T) *site {
	t.Helper()
	deb := pack(t, "0.0.1", t.TempDir())
	id := os.Getpid()
	s := &site{t: t, root: debian(t, deb), edge: fmt.Sprintf("c5edge%d", id), centre: fmt.Sprintf("c5centre%d", id), peers: fmt.Sprintf("c5peers%d", id)}
	dpkg(t, s.root, "--install", deb)
	for _, ns := range []string{s.edge, s.centre, s.peers} {
		run(t, "ip", "netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		run(t, "ip", "-n", ns, "link", "set", "lo", "up")
	}
	run(t, "ip", "-n", s.edge, "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", s.centre)
	for ns, addr := range map[string]string{s.edge: edgeWAN, s.centre: centreWAN} {
		run(t, "ip", "-n", ns, "addr", "add", addr+"/24", "dev", "wan")
		run(t, "ip", "-n", ns, "link", "set", "wan", "up")
	}
	// Whatever has no other route leaves by the link that is listened on.
	run(t, "ip", "-n", s.edge, "route", "add", "default", "via", centreWAN)
	run(t, "ip", "-n", s.centre, "route", "add", "default", "via", edgeWAN)
	for name, l := range map[string]struct{ peer, addr string }{"n3": {"gnb", gnbAddr}, "n6": {"dn", dnAddr}} {
		run(t, "ip", "-n", s.edge, "link", "add", name, "type", "veth", "peer", "name", l.peer, "netns", s.peers)
		run(t, "ip", "netns", "exec", s.edge, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+name+"/disable_ipv6")
		run(t, "ip", "-n", s.edge, "link", "set", name, "up")
		run(t, "ip", "-n", s.peers, "addr", "add", l.addr+"/24", "dev", l.peer)
		run(t, "ip", "-n", s.peers, "link", "set", l.peer, "up")
	}
	run(t, "ip", "-n", s.peers, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")
	s.within(s.peers, func() {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(gnbAddr), Port: 2152})
		if err != nil {
			t.Fatal(err)
		}
		s.gnb = conn
	})
	t.Cleanup(func() { _ = s.gnb.Close() })

	// As whoever runs the site would write them.
	write(t, filepath.Join(s.root, "etc/core5g-upf/upf-u.yaml"), `
memory: 128
hugepages: false
limits: {sessions_max: 4096}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}
`, 0o644)
	write(t, filepath.Join(s.root, "etc/core5g-upf/upf-c.yaml"), `
nodeID: `+nodeID+`
pfcp: {listen: "`+edgeTunnel+`:8805", advertise: `+edgeTunnel+`, controlPlaneSubnets: [`+centreTunnel+`/32], retransmit: {interval: 200ms}}
heartbeat: {interval: 500ms}
n3: {endpoints: [172.30.3.16/28]}
gtpu: {echo: {interval: 0s}}
namedPools: true
metrics: {listen: "127.0.0.1:9090"}
health: {listen: "127.0.0.1:8081"}
log: {format: text}
`, 0o644)

	socket := filepath.Join(s.root, "run/systemd/notify")
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	s.notify = l
	return s
}

// within runs f on a thread inside a namespace; sockets that it opens stay there.
func (s *site) within(ns string, f func()) {
	s.t.Helper()
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := netns.Set(home); err == nil {
			runtime.UnlockOSThread() // else the thread must not be used again
		}
		_ = home.Close()
	}()
	there, err := netns.GetFromName(ns)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	if err := netns.Set(there); err != nil {
		s.t.Fatal(err)
	}
	f()
}

// service is a program that was begun as its unit says.
type service struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	log  bytes.Buffer
	done chan struct{}
}

func (p *service) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *service) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// mounts gives a program what Debian has mounted; each has mounts of its own. chroot, env and setpriv become the program.
const mounts = `for m in proc sys dev; do mount --rbind "/$m" "$0/$m"; done; exec chroot "$0" "$@"`

// begin runs what a unit's ExecStart says in the site's namespace, as the unit's user with its capabilities and environment, and waits until it has
// told that it is ready.
func (s *site) begin(name string) *service {
	s.t.Helper()
	u := readUnit(s.t, s.root, name)
	user := u.one(s.t, "Service.User")
	runtimeDir := filepath.Join("/run", u.one(s.t, "Service.RuntimeDirectory"))
	run(s.t, "chroot", s.root, "install", "-d", "-o", user, "-g", u.one(s.t, "Service.Group"), "-m", u.one(s.t, "Service.RuntimeDirectoryMode"), runtimeDir)
	args := []string{"netns", "exec", s.edge, "unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, s.root,
		"/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin", "NOTIFY_SOCKET=/run/systemd/notify"}
	args = append(args, u["Service.Environment"]...)
	if cpus := u["Service.CPUAffinity"]; len(cpus) > 0 {
		args = append(args, "/usr/bin/taskset", "--cpu-list", strings.Join(strings.Fields(strings.Join(cpus, " ")), ","))
	}
	args = append(args, "/usr/bin/setpriv", "--reuid="+user, "--regid="+u.one(s.t, "Service.Group"), "--clear-groups",
		"--bounding-set="+u.capabilities("Service.CapabilityBoundingSet"),
		"--inh-caps="+u.capabilities("Service.AmbientCapabilities"), "--ambient-caps="+u.capabilities("Service.AmbientCapabilities"),
		"--pdeathsig=KILL")
	if u.one(s.t, "Service.NoNewPrivileges") == "yes" {
		args = append(args, "--no-new-privs")
	}
	args = append(args, strings.Fields(u.one(s.t, "Service.ExecStart"))...)
	p := &service{cmd: exec.Command("ip", args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	s.t.Cleanup(func() {
		p.end()
		if s.t.Failed() {
			s.t.Logf("---- %s\n%s", name, p.said())
		}
	})
	said := make([]byte, 64)
	await(s.t, name+" tells that it is ready", func() string {
		select {
		case <-p.done:
			s.t.Fatalf("%s has ended: %s", name, p.said())
		default:
		}
		_ = s.notify.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := s.notify.Read(said)
		if err != nil || string(said[:n]) != "READY=1" {
			return fmt.Sprintf("%q, %v\n%s", said[:n], err, p.said())
		}
		return ""
	})
	return p
}

// end is kill -9.
func (p *service) end() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// status is a line of /proc/…/status.
func (p *service) status(t *testing.T, key string) string {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))) {
		if value, found := strings.CutPrefix(line, key+":"); found {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s", key)
	return ""
}

// ping sends a UE's ICMP echo request through the tunnel of its PDU session (TS 29.281 5.1, TS 38.415 5.5.2) until it is answered.
func (s *site) ping(teid uint32, src string) {
	s.t.Helper()
	inner := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dnAddr)}
	icmp := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 7, Seq: 1}
	if err := gopacket.SerializeLayers(inner, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, icmp, gopacket.Payload(make([]byte, 56))); err != nil {
		s.t.Fatal(err)
	}
	// Version 1, PT, E; a PDU Session Container of one unit: UL PDU SESSION INFORMATION, QFI 1.
	p := []byte{0x34, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, 1, 0}
	binary.BigEndian.PutUint16(p[2:], uint16(8+len(inner.Bytes())))
	binary.BigEndian.PutUint32(p[4:], teid)
	p = append(p, inner.Bytes()...)
	buf := make([]byte, 2048)
	await(s.t, "a UE's ping is answered", func() string {
		if _, err := s.gnb.WriteToUDP(p, &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152}); err != nil {
			s.t.Fatal(err)
		}
		_ = s.gnb.SetReadDeadline(time.Now().Add(time.Second))
		n, from, err := s.gnb.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err.Error()
		}
		if want := netip.AddrPortFrom(netip.MustParseAddr(n3Addr), 2152); from != want || n < 16 || buf[1] != 0xff || binary.BigEndian.Uint32(buf[4:]) != gnbTEID {
			return fmt.Sprintf("from %s: % x", from, buf[:n])
		}
		return ""
	})
}
