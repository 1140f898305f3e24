package edge

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/wmnsk/go-pfcp/ie"
	"golang.org/x/sys/unix"

	"core5g.dev/core5g/hack/repository"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// tunnel brings both ends of docs/upf/external.md up, as that document has their files, with keys of the moment: the kernel's WireGuard, or where this
// kernel has none the one of user space.
type tunnel struct {
	s     *site
	files map[string]string // of a namespace
}

var block = regexp.MustCompile("(?s)```ini\n(.*?)```")

// wireguard is what docs/upf/external.md says in files of WireGuard: the centre's, the edge's, and what either has more where it is a node of pods.
func wireguard(t *testing.T) (out []string) {
	t.Helper()
	for _, b := range block.FindAllStringSubmatch(read(t, repository.Path(t, "docs/upf/external.md")), -1) {
		out = append(out, b[1])
	}
	if len(out) != 3 {
		t.Fatalf("docs/upf/external.md has %d files of WireGuard, want the centre's, the edge's, and what a node of pods has more", len(out))
	}
	return out
}

func (s *site) tunnel() *tunnel { return s.tunnelWith("", "") }

// tunnelWith has lines more for the interface at both ends, and further addresses of the centre's.
func (s *site) tunnelWith(lines, further string) *tunnel {
	s.t.Helper()
	blocks := wireguard(s.t)
	keys := map[string]string{}
	for _, end := range []string{"centre", "edge"} {
		private := strings.TrimSpace(run(s.t, "wg", "genkey"))
		cmd := exec.Command("wg", "pubkey")
		cmd.Stdin = strings.NewReader(private)
		public, err := cmd.Output()
		if err != nil {
			s.t.Fatal(err)
		}
		keys["<the "+end+"'s private key>"], keys["<the "+end+"'s public key>"] = private, strings.TrimSpace(string(public))
	}
	w := &tunnel{s: s, files: map[string]string{}}
	for i, ns := range []string{s.centre, s.edge} {
		text := strings.Replace(blocks[i], "\n\n[Peer]", "\n"+lines+"\n[Peer]", 1)
		if further != "" && ns == s.edge {
			text = strings.Replace(text, "AllowedIPs = "+centreTunnel+"/32", "AllowedIPs = "+centreTunnel+"/32, "+further, 1)
		}
		for placeholder, key := range keys {
			text = strings.ReplaceAll(text, placeholder, key)
		}
		// An interface has the name of its file, and is asked for at a socket of that name, which all namespaces share.
		w.files[ns] = filepath.Join(s.t.TempDir(), fmt.Sprintf("c5%s%d.conf", []string{"c", "e"}[i], os.Getpid()))
		write(s.t, w.files[ns], text, 0o600)
		s.quick("up", ns, w.files[ns])
		s.t.Cleanup(func() { _ = exec.Command("ip", "-n", ns, "link", "del", device(w.files[ns])).Run() })
	}
	return w
}

func device(file string) string { return strings.TrimSuffix(filepath.Base(file), ".conf") }

func (s *site) quick(what, ns, file string) {
	s.t.Helper()
	cmd := exec.Command("ip", "netns", "exec", ns, "wg-quick", what, file)
	cmd.Env = append(os.Environ(), "WG_QUICK_USERSPACE_IMPLEMENTATION=wireguard-go", "LOG_LEVEL=error")
	// Not a pipe: what serves the interface from user space keeps its end open.
	log, err := os.Create(filepath.Join(s.t.TempDir(), "wg-quick"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("wg-quick %s in %s: %v\n%s", what, ns, err, read(s.t, log.Name()))
	}
}

// tap listens to a link.
type tap struct {
	mu     sync.Mutex
	frames [][]byte
}

func (s *site) listen(ns, link string) *tap {
	s.t.Helper()
	w := &tap{}
	s.within(ns, func() {
		i, err := net.InterfaceByName(link)
		if err != nil {
			s.t.Fatal(err)
		}
		const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network order
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index}); err != nil {
			s.t.Fatal(err)
		}
		stopped := make(chan struct{})
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}); err != nil {
			s.t.Fatal(err)
		}
		var reading sync.WaitGroup
		reading.Go(func() {
			buf := make([]byte, 65536)
			for {
				select {
				case <-stopped:
					return
				default:
				}
				n, err := unix.Read(fd, buf)
				if err != nil || n == 0 {
					continue
				}
				w.mu.Lock()
				w.frames = append(w.frames, append([]byte(nil), buf[:n]...))
				w.mu.Unlock()
			}
		})
		s.t.Cleanup(func() { close(stopped); reading.Wait(); _ = unix.Close(fd) })
	})
	return w
}

// count tells how many datagrams of WireGuard's port were heard, and what else there was of PFCP: by its port, or by this site's names.
func (w *tap) count() (encrypted int, clear []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, frame := range w.frames {
		p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
		if udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP); udp != nil {
			if udp.SrcPort == 51820 || udp.DstPort == 51820 {
				encrypted++
			}
			if udp.SrcPort == 8805 || udp.DstPort == 8805 {
				clear = append(clear, brief(p))
				continue
			}
		}
		// As in a Node ID, whose labels have their length before them (TS 29.244 8.2.38).
		if strings.Contains(string(frame), "\x03upf\x04edge\x07example\x03org") {
			clear = append(clear, brief(p))
		}
	}
	return encrypted, clear
}

// speak sends a datagram from a namespace.
func (s *site) speak(ns, to string) {
	s.t.Helper()
	s.within(ns, func() {
		conn, err := net.Dial("udp4", to)
		if err != nil {
			s.t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("anything")); err != nil {
			s.t.Fatal(err)
		}
	})
}

// brief is a packet in a line: from where to where, and what.
func brief(p gopacket.Packet) string {
	out := fmt.Sprint(p.NetworkLayer().NetworkFlow())
	if transport := p.TransportLayer(); transport != nil {
		out += fmt.Sprintf(" %s %s", transport.LayerType(), transport.TransportFlow())
	}
	if payload := p.ApplicationLayer(); payload != nil {
		out += fmt.Sprintf(" % x", payload.Payload()[:min(16, len(payload.Payload()))])
	}
	return out
}

// tunnelled reports whether a packet of IP is the tunnel's, or what a router or a site says of one of those.
func tunnelled(p gopacket.Packet) bool {
	if icmp, _ := p.Layer(layers.LayerTypeICMPv4).(*layers.ICMPv4); icmp != nil && icmp.TypeCode.Type() == layers.ICMPv4TypeDestinationUnreachable {
		p = gopacket.NewPacket(icmp.Payload, layers.LayerTypeIPv4, gopacket.NoCopy)
	}
	udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	return udp != nil && (udp.SrcPort == 51820 || udp.DstPort == 51820)
}

// strangers are packets of IP that are not the tunnel's. ARP, and what IPv6 does by itself, are none: nothing here has an address of it.
func (w *tap) strangers() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, frame := range w.frames {
		p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
		if p.Layer(layers.LayerTypeIPv4) != nil && !tunnelled(p) {
			out = append(out, brief(p))
		}
	}
	return out
}

func TestSite(t *testing.T) {
	story(t)
	s := newSite(t)
	heard := s.listen(s.edge, "wan")
	w := s.tunnel()
	// As a site that gives the control half a CPU of its own.
	conf := filepath.Join(s.root, "etc/core5g-upf/upf-c.conf")
	write(t, conf, strings.Replace(read(t, conf), "#CPUAffinity=0 1", "CPUAffinity=0", 1), 0o644)
	upfu := s.begin("core5g-upf-u.service")
	upfc := s.begin("core5g-upf-c.service")

	t.Run("each half has what its unit gives it", func(t *testing.T) {
		// CAP_NET_ADMIN is 12, CAP_NET_RAW 13.
		for key, want := range map[string]string{"CapBnd": "0000000000003000", "CapPrm": "0000000000003000", "NoNewPrivs": "1"} {
			if got := upfu.status(t, key); got != want {
				t.Errorf("upf-u: %s %s, want %s", key, got, want)
			}
		}
		for key, want := range map[string]string{"CapBnd": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1", "Cpus_allowed_list": "0"} {
			if got := upfc.status(t, key); got != want {
				t.Errorf("upf-c: %s %s, want %s", key, got, want)
			}
		}
		for _, p := range []*service{upfu, upfc} {
			if uid := strings.Fields(p.status(t, "Uid")); uid[0] == "0" {
				t.Errorf("%s runs as root", p.cmd)
			}
		}
	})

	var smf *fakesmf.SMF
	s.within(s.centre, func() {
		smf = fakesmf.At(t, netip.MustParseAddr(centreTunnel), netip.MustParseAddrPort(edgeTunnel+":8805"))
	})
	smf.Recovery = time.Now().Add(-time.Minute)
	t.Run("a session through the tunnel, and its packets", func(t *testing.T) {
		a := smf.Associate()
		if id, err := a.NodeID.NodeID(); err != nil || id != nodeID {
			t.Errorf("Node ID %q (%v), want %s", id, err, nodeID)
		}
		seid := smf.Established(7, fakesmf.Phone.Session()...)
		fakesmf.WantCause(t, smf.Modify(seid, fakesmf.Phone.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
		s.ping(fakesmf.Phone.TEID, fakesmf.Phone.Addr)
	})

	t.Run("it outlives both halves", func(t *testing.T) {
		upfc.end()
		upfu.end()
		upfu = s.begin("core5g-upf-u.service")
		upfc = s.begin("core5g-upf-c.service")
		s.ping(fakesmf.Phone.TEID, fakesmf.Phone.Addr)
	})

	t.Run("the link between has nothing of it in clear text", func(t *testing.T) {
		encrypted, clear := heard.count()
		// Handshake, association, session, its change, and their answers, at least.
		if encrypted < 8 || len(clear) > 0 {
			t.Errorf("%d datagrams of WireGuard, in clear text %d: %s", encrypted, len(clear), clear)
		}
	})

	t.Run("nor has it when the tunnel is down", func(t *testing.T) {
		for ns, file := range w.files {
			s.quick("down", ns, file)
		}
		missed := strings.Count(upfc.said(), "level=WARN")
		// An address that stays when its interface has gone is the worst case.
		for ns, addr := range map[string]string{s.edge: edgeTunnel, s.centre: centreTunnel} {
			run(t, "ip", "-n", ns, "addr", "add", addr+"/32", "dev", "lo")
		}
		await(t, "upf-c notices that its SMF is away", func() string {
			if _, clear := heard.count(); len(clear) > 0 {
				t.Fatalf("in clear text %d: %s", len(clear), clear)
			}
			if strings.Count(upfc.said(), "level=WARN") > missed {
				return ""
			}
			return "nothing in its log:\n" + upfc.said()
		})
		s.within(s.edge, func() {
			if conn, err := net.Dial("udp4", centreTunnel+":8805"); err == nil {
				_ = conn.Close()
				t.Error("there is a route to the SMF without the tunnel")
			}
		})
		if _, clear := heard.count(); len(clear) > 0 {
			t.Errorf("in clear text %d: %s", len(clear), clear)
		}
	})

	t.Run("what is sent in clear text would have been heard", func(t *testing.T) {
		s.speak(s.edge, centreWAN+":8805")
		await(t, "a datagram to PFCP's port on the link", func() string {
			if _, clear := heard.count(); len(clear) == 0 {
				return "nothing"
			}
			return ""
		})
	})
}
