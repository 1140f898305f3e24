package integration

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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

	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/upf/upfc/control"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// rig is the UPF in one namespace; in the other one, the gNB's address (a UDP socket speaks GTP-U
// there) and the data network's (the kernel answers pings).
type rig struct {
	t          *testing.T
	dir        string
	upf, peers string // namespaces
	upfu, upfc *process
	gnb        *net.UDPConn
	smf        *fakesmf.SMF
	binC       string
}

const (
	gnbAddr = "172.30.3.100"
	n3Addr  = "172.30.3.16"
	dnAddr  = "172.30.6.1"
	gnbTEID = 0x100
)

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigWith(t, "gtpu: {echo: {interval: 0s}}")
}

// newNamespaces are the rig's namespaces, and upf-c.
func newNamespaces(t *testing.T) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs both halves of the UPF in network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces and veth interfaces")
	}
	binU := repository.Path(t, "out/bin/upf-u")
	if _, err := os.Stat(binU); err != nil {
		t.Skip("out/bin/upf-u is not built: make -C upf upf-u")
	}
	for _, tool := range []string{"ip", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs the command %s", tool)
		}
	}
	r := &rig{t: t, dir: t.TempDir(), upf: fmt.Sprintf("upfc-u%d", os.Getpid()), peers: fmt.Sprintf("upfc-p%d", os.Getpid())}
	r.binC = filepath.Join(r.dir, "upf-c")
	r.run("go", "build", "-o", r.binC, repository.Path(t, "upf/upfc/cmd/upf-c"))

	for _, ns := range []string{r.upf, r.peers} {
		r.run("ip", "netns", "add", ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
		r.run("ip", "-n", ns, "link", "set", "lo", "up")
	}
	return r
}

// newRigWith adds lines to upf-c.yaml.
func newRigWith(t *testing.T, lines string) *rig {
	t.Helper()
	r := newNamespaces(t)
	for _, l := range []struct{ name, peer, addr string }{{"n3", "gnb", gnbAddr}, {"n6", "dn", dnAddr}} {
		r.run("ip", "-n", r.upf, "link", "add", l.name, "type", "veth", "peer", "name", l.peer, "netns", r.peers)
		r.run("ip", "netns", "exec", r.upf, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+l.name+"/disable_ipv6")
		r.run("ip", "netns", "exec", r.peers, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+l.peer+"/disable_ipv6")
		r.run("ip", "-n", r.upf, "link", "set", l.name, "up")
		r.run("ip", "-n", r.peers, "addr", "add", l.addr+"/24", "dev", l.peer)
		r.run("ip", "-n", r.peers, "link", "set", l.peer, "up")
	}
	r.run("ip", "-n", r.peers, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")

	r.file("upf-u.yaml", `
memory: 128
hugepages: false
socket: `+r.path("upf.sock")+`
limits: {sessions_max: 4096}
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6: {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}
`)
	r.file("upf-c.yaml", `
nodeID: upf.test
pfcp: {listen: "127.0.0.1:8805", retransmit: {interval: 200ms}}
heartbeat: {interval: 500ms}
n3: {endpoints: [172.30.3.16/28]}
dataplane: {socket: `+r.path("upf.sock")+`}
state: {file: `+r.path("upf-c.state")+`}
control: {socket: `+r.path("ctl.sock")+`}
metrics: {listen: "127.0.0.1:9090"}
health: {listen: ""}
log: {level: debug, format: text}
`+lines+"\n")
	r.startUPFU()
	r.startUPFC()
	r.within(r.peers, func() {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(gnbAddr), Port: 2152})
		if err != nil {
			t.Fatal(err)
		}
		r.gnb = conn
	})
	t.Cleanup(func() { _ = r.gnb.Close() })
	r.within(r.upf, func() { r.smf = fakesmf.New(t, netip.MustParseAddrPort("127.0.0.1:8805")) })
	r.smf.Recovery = time.Now().Add(-time.Minute)
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) file(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) run(name string, args ...string) {
	r.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		r.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// within runs f on a thread inside a namespace; sockets that it opens stay there.
func (r *rig) within(ns string, f func()) {
	r.t.Helper()
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() {
		if err := netns.Set(home); err == nil {
			runtime.UnlockOSThread() // else the thread must not be used again
		}
		_ = home.Close()
	}()
	there, err := netns.GetFromName(ns)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = there.Close() }()
	if err := netns.Set(there); err != nil {
		r.t.Fatal(err)
	}
	f()
}

// process is upf-u or upf-c.
type process struct {
	cmd  *exec.Cmd
	log  output
	done chan struct{}
}

// output is what a process has written, also while it does.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (r *rig) start(name string, args ...string) *process {
	r.t.Helper()
	p := &process{cmd: exec.Command("ip", append([]string{"netns", "exec", r.upf, name}, args...)...), done: make(chan struct{})}
	p.cmd.Stderr = &p.log
	p.cmd.Stdout = &p.log
	p.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	r.t.Cleanup(func() {
		p.kill()
		if r.t.Failed() {
			r.t.Logf("---- %s\n%s", filepath.Base(name), p.log.String())
		}
	})
	return p
}

// kill is kill -9. (`ip netns exec` becomes the program: the pid is its own.)
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (r *rig) startUPFU() {
	r.upfu = r.start(repository.Path(r.t, "out/bin/upf-u"), "-c", r.path("upf-u.yaml"))
}

func (r *rig) startUPFC() {
	r.t.Helper()
	r.upfc = r.start(r.binC, "-config", r.path("upf-c.yaml"))
	r.await(time.Minute, "upf-c serves with upf-u connected", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected
	})
}

func (r *rig) await(d time.Duration, what string, cond func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(d)
	for !cond() {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %v: %s", d, what)
		}
		for _, p := range []*process{r.upfu, r.upfc} {
			select {
			case <-p.done:
				r.t.Fatalf("a process ended: %s\n%s", p.cmd, p.log.String())
			default:
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// stats asks the control socket, as `upf-c ctl stats` does.
func (r *rig) stats() (*control.Stats, error) {
	c := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.path("ctl.sock"))
	}}}
	resp, err := c.Get("http://upf-c/debug/stats")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	st := &control.Stats{}
	return st, json.NewDecoder(resp.Body).Decode(st)
}

// metrics are the lines that upf-c serves.
func (r *rig) metrics() []string {
	r.t.Helper()
	var text []byte
	r.within(r.upf, func() {
		conn, err := net.Dial("tcp", "127.0.0.1:9090")
		if err != nil {
			r.t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET /metrics HTTP/1.0\r\n\r\n"); err != nil {
			r.t.Fatal(err)
		}
		if text, err = io.ReadAll(conn); err != nil {
			r.t.Fatal(err)
		}
	})
	return strings.Split(string(text), "\n")
}

// mapsUPFU says whether upf-c maps memory of a upf-u.
func (r *rig) mapsUPFU() bool {
	r.t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", r.upfc.cmd.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	return bytes.Contains(maps, []byte("memfd:upf-shm"))
}

func (r *rig) drops(reason string) uint64 {
	r.t.Helper()
	st, err := r.stats()
	if err != nil {
		r.t.Fatal(err)
	}
	return st.Drops[reason]
}

// ---- GTP-U (TS 29.281 5.1, TS 38.415 5.5.2) ----------------------------------------------------

// uplink sends an ICMP echo request of a UE to the data network through the tunnel.
func (r *rig) uplink(teid uint32, src string, seq uint16) error {
	inner := gopacket.NewSerializeBuffer()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dnAddr)}
	icmp := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 7, Seq: seq}
	err := gopacket.SerializeLayers(inner, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, icmp, gopacket.Payload(make([]byte, 56)))
	if err != nil {
		return err
	}
	// Version 1, PT, E; a PDU Session Container of one unit: UL PDU SESSION INFORMATION, QFI 1.
	p := []byte{0x34, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, 1, 0}
	binary.BigEndian.PutUint16(p[2:], uint16(8+len(inner.Bytes())))
	binary.BigEndian.PutUint32(p[4:], teid)
	p = append(p, inner.Bytes()...)
	_, err = r.gnb.WriteToUDP(p, &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152})
	return err
}

// downlink is one packet that the gNB received.
type downlink struct {
	from netip.AddrPort
	teid uint32
	qfi  uint8 // 0: no PDU Session Container
	typ  uint8
	seq  uint16 // of the ICMP echo reply inside
	dst  string
}

var errNotForUs = errors.New("not an echo reply")

func parseDownlink(b []byte) (downlink, error) {
	var d downlink
	if len(b) < 8 {
		return d, errNotForUs
	}
	d.typ, d.teid = b[1], binary.BigEndian.Uint32(b[4:])
	if d.typ != 0xff {
		return d, nil
	}
	at := 8
	if b[0]&0x07 != 0 {
		next := b[11]
		at = 12
		for next != 0 && at < len(b) {
			n := int(b[at]) * 4
			if n == 0 || at+n > len(b) {
				return d, errNotForUs
			}
			if next == 0x85 {
				d.qfi = b[at+2] & 0x3f
			}
			next = b[at+n-1]
			at += n
		}
	}
	p := gopacket.NewPacket(b[at:], layers.LayerTypeIPv4, gopacket.NoCopy)
	ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	icmp, _ := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4)
	if ip == nil || icmp == nil || icmp.TypeCode.Type() != layers.ICMPv4TypeEchoReply {
		return d, errNotForUs
	}
	d.seq, d.dst = icmp.Seq, ip.DstIP.String()
	return d, nil
}

// receive waits for the next packet at the gNB; false when none comes in time.
func (r *rig) receive(d time.Duration) (downlink, bool) {
	buf := make([]byte, 2048)
	if err := r.gnb.SetReadDeadline(time.Now().Add(d)); err != nil {
		r.t.Fatal(err)
	}
	n, from, err := r.gnb.ReadFromUDPAddrPort(buf)
	if err != nil {
		return downlink{}, false
	}
	p, err := parseDownlink(buf[:n])
	if err != nil {
		r.t.Errorf("gNB received % x: %v", buf[:n], err)
	}
	p.from = from
	return p, true
}

// traffic pings at a steady rate until stop, and says which pings were lost.
type traffic struct {
	mu      sync.Mutex
	sent    map[uint16]time.Time
	got     map[uint16]time.Time
	last    uint16
	stopped chan struct{}
	done    sync.WaitGroup
}

func (r *rig) traffic(teid uint32, src string, every time.Duration) *traffic {
	tr := &traffic{sent: map[uint16]time.Time{}, got: map[uint16]time.Time{}, stopped: make(chan struct{})}
	tr.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tr.stopped:
				return
			case <-tick.C:
			}
			tr.mu.Lock()
			tr.last++
			seq := tr.last
			tr.sent[seq] = time.Now()
			tr.mu.Unlock()
			if err := r.uplink(teid, src, seq); err != nil {
				r.t.Error(err)
			}
		}
	})
	tr.done.Go(func() {
		for {
			p, ok := r.receive(100 * time.Millisecond)
			if ok && p.typ == 0xff {
				tr.mu.Lock()
				if _, twice := tr.got[p.seq]; twice {
					r.t.Errorf("ping %d answered twice", p.seq)
				}
				tr.got[p.seq] = time.Now()
				tr.mu.Unlock()
				continue
			}
			select {
			case <-tr.stopped:
				if !ok {
					return // quiet for a while
				}
			default:
			}
		}
	})
	return tr
}

func (tr *traffic) stop() (sent int, lost []uint16) {
	close(tr.stopped)
	tr.done.Wait()
	for seq := range tr.sent {
		if _, ok := tr.got[seq]; !ok {
			lost = append(lost, seq)
		}
	}
	return len(tr.sent), lost
}

// answered counts the pings sent at or after t that were answered.
func (tr *traffic) answered(t time.Time) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	n := 0
	for seq, at := range tr.sent {
		if _, ok := tr.got[seq]; ok && !at.Before(t) {
			n++
		}
	}
	return n
}

// longestGap is the longest time without an answer.
func (tr *traffic) longestGap() time.Duration {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var before time.Time
	var gap time.Duration
	for seq := uint16(1); seq <= tr.last; seq++ {
		at, ok := tr.got[seq]
		if !ok {
			continue
		}
		if !before.IsZero() {
			gap = max(gap, at.Sub(before))
		}
		before = at
	}
	return gap
}
