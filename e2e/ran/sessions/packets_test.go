package sessions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/tun"
	"core5g.dev/core5g/hack/repository"
)

// forwarding is a user plane with upf-u in a network namespace; in another one are the gNBs' addresses and the data network's.
type forwarding struct {
	s          *story
	upf, peers string // namespaces
	dir        string
	upfu       *exec.Cmd
	killC      func()
	dn         *net.UDPConn
	limits     string // of upf-u, beside the usual ones
	// interfaces of upf-u.yaml where they are not the usual ones, and what is laid for them.
	interfaces string
	lay        func()
}

var (
	dn4 = netip.MustParseAddr("172.30.6.1")
	dn6 = netip.MustParseAddr("fd00:6::1")
)

func upfu(t *testing.T) string { return repository.Path(t, "out/bin/upf-u") }

// flowing is a user plane that forwards.
func flowing(t *testing.T) *forwarding {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs upf-u in network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces and veth interfaces")
	}
	if _, err := os.Stat(upfu(t)); err != nil {
		t.Skip("out/bin/upf-u is not built: make -C upf upf-u")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the command ip")
	}
	return &forwarding{}
}

func (p *forwarding) run(name string, args ...string) {
	p.s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		p.s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (p *forwarding) start(s *story) netip.AddrPort {
	p.s = s
	t := s.t
	p.dir = t.TempDir()
	p.upf, p.peers = fmt.Sprintf("c5gs-u%d-%d", os.Getpid(), s.number), fmt.Sprintf("c5gs-p%d-%d", os.Getpid(), s.number)
	for _, ns := range []string{p.upf, p.peers} {
		p.run("ip", "netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		p.run("ip", "-n", ns, "link", "set", "lo", "up")
	}
	for _, l := range []struct {
		name, peer string
		addresses  []string
	}{{"n3", "gnb", []string{"172.30.3.100/24", "172.30.3.101/24"}}, {"n6", "dn", []string{dn4.String() + "/24", dn6.String() + "/64"}}} {
		p.run("ip", "-n", p.upf, "link", "add", l.name, "type", "veth", "peer", "name", l.peer, "netns", p.peers)
		p.run("ip", "netns", "exec", p.upf, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+l.name+"/disable_ipv6")
		p.run("ip", "-n", p.upf, "link", "set", l.name, "up")
		p.run("ip", "-n", p.peers, "link", "set", l.peer, "up")
		for _, a := range l.addresses {
			p.run("ip", "-n", p.peers, "addr", "add", a, "dev", l.peer, "nodad")
		}
	}
	p.run("ip", "-n", p.peers, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")
	p.run("ip", "-n", p.peers, "-6", "route", "add", "2001:db8:45::/48", "via", "fd00:6::2")
	if p.lay != nil {
		p.lay()
	}
	if p.interfaces == "" {
		p.interfaces = `
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1, address6: 'fd00:6::2/64', gateway6: 'fd00:6::1'}
`
	}
	if err := os.WriteFile(filepath.Join(p.dir, "upf-u.yaml"), []byte(`
memory: 128
hugepages: false
socket: "`+p.socket()+`"
limits: {sessions_max: 4096`+p.limits+`}
`+p.interfaces), 0o600); err != nil {
		t.Fatal(err)
	}
	p.startUPFU()
	p.within(func() error {
		var err error
		p.dn, err = net.ListenUDP("udp", &net.UDPAddr{Port: 5000})
		return err
	})
	t.Cleanup(func() { _ = p.dn.Close() })
	return p.startUPFC()
}

func (p *forwarding) socket() string { return filepath.Join(p.dir, "upf.sock") }

func (p *forwarding) startUPFU() {
	p.s.t.Helper()
	c := exec.Command("ip", "netns", "exec", p.upf, upfu(p.s.t), "-c", filepath.Join(p.dir, "upf-u.yaml"))
	var log bytes.Buffer
	c.Stdout, c.Stderr = &log, &log
	c.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := c.Start(); err != nil {
		p.s.t.Fatal(err)
	}
	p.upfu = c
	p.s.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if p.s.t.Failed() {
			p.s.t.Logf("---- upf-u\n%s", log.String())
		}
	})
}

// killUPFU is kill -9.
func (p *forwarding) killUPFU() {
	_ = p.upfu.Process.Kill()
	_ = p.upfu.Wait()
}

func (p *forwarding) startUPFC() netip.AddrPort {
	address, kill := startAgent(p.s, p.socket(), filepath.Join(p.dir, "upf-c.state"), "172.30.3.16/28")
	p.killC = kill
	return address
}

// within opens something in the namespace of gNBs and data network.
func (p *forwarding) within(open func() error) {
	p.s.t.Helper()
	p.in(p.peers, open)
}

// in opens something in a namespace.
func (p *forwarding) in(name string, open func() error) {
	p.s.t.Helper()
	if err := tun.Within(name, open); err != nil {
		p.s.t.Fatal(err)
	}
}

func (p *forwarding) listen(_ *story, n int) (e *gtpu.Endpoint, err error) {
	p.within(func() error {
		e, err = gtpu.Listen(netip.AddrFrom4([4]byte{172, 30, 3, byte(100 + n)}), logger())
		return nil
	})
	return e, err
}

// ping the data network from a session, until there is a reply or the time is over.
func (u *phone) ping(psi uint8, from, to netip.Addr) bool {
	u.s.t.Helper()
	id := measure.NewID()
	replies := make(chan gtpu.Reply, 100)
	for _, n3 := range u.s.n3s {
		defer n3.Watches().Add(id, replies)()
	}
	for n := range uint16(50) {
		u.must(u.SendUplink(psi, measure.Echo{ID: id, Sequence: n, Payload: make([]byte, 40)}.Packet(from, to)))
		select {
		case <-replies:
			return true
		case <-time.After(100 * time.Millisecond):
		}
	}
	return false
}

// pings4 and pings6 from the session's addresses.
func (u *phone) pings4(psi uint8) {
	u.s.t.Helper()
	if a := u.session(psi).Address; a == "" || !u.ping(psi, netip.MustParseAddr(a), dn4) {
		u.s.t.Fatalf("no reply by IPv4 to %q: %+v", a, u.session(psi))
	}
}

func (u *phone) pings6(psi uint8) {
	u.s.t.Helper()
	if a := u.session(psi).Address6; a == "" || !u.ping(psi, netip.MustParseAddr(a), dn6) {
		u.s.t.Fatalf("no reply by IPv6 to %q: %+v", a, u.session(psi))
	}
}

// stream is numbered downlink packets to a UE.
type stream struct {
	p    *forwarding
	to   *net.UDPAddr
	sent uint64
	// burst is how many packets leave in a millisecond; 0: one.
	burst int

	mu   sync.Mutex
	seen []uint64
}

func (p *forwarding) stream(u *phone, psi uint8) *stream {
	p.s.t.Helper()
	x := &stream{p: p, to: &net.UDPAddr{IP: net.ParseIP(u.session(psi).Address), Port: 6000}}
	_, err := u.Tap(psi, func(packet []byte) bool {
		_, port, payload, ok := measure.Datagram(packet)
		if !ok || port != 6000 || len(payload) < 8 {
			return false
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.seen = append(x.seen, binary.BigEndian.Uint64(payload))
		return true
	})
	u.must(err)
	return x
}

func (x *stream) send() {
	x.p.s.t.Helper()
	if _, err := x.p.dn.WriteToUDP(binary.BigEndian.AppendUint64(nil, x.sent), x.to); err != nil {
		x.p.s.t.Fatal(err)
	}
	x.sent++
}

// during sends packets, a burst each millisecond, while something goes on.
func (x *stream) during(f func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				for range max(1, x.burst) {
					x.send()
				}
			}
		}
	}()
	f()
	close(done)
	<-ended
}

// whole: every packet has come, once, and in order.
func (x *stream) whole() {
	t := x.p.s.t
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for x.missing() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d packets of %d have not come\ntrace: %s", x.missing(), x.sent, strings.Join(x.p.s.amf.Trace(), "; "))
		}
		time.Sleep(2 * time.Millisecond)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, n := range x.seen {
		if n != uint64(i) {
			t.Fatalf("packet %d came in the place of %d (%d of %d came)", n, i, len(x.seen), x.sent)
		}
	}
}

// missing is how many packets have not come.
func (x *stream) missing() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	seen := map[uint64]bool{}
	for _, n := range x.seen {
		seen[n] = true
	}
	return int(x.sent) - len(seen)
}
