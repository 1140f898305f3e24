package sessions

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"path/filepath"
	sorting "slices"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/gtpu"
	"core5g.dev/core5g/e2e/ran/measure"
	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/dataplane/fakeupfu"
)

// ueAddress is all that there is in the pools of three data networks, each in a network instance of its own.
const ueAddress = "10.45.0.9"

// networkObjects are what a user writes: N6 with a VLAN and an interface beside it. The UPF, routers and UEs have the same addresses everywhere.
func networkObjects(s *story, n4 netip.AddrPort) cluster.Objects {
	o := written(s, fmt.Sprintf(`
metadata: {namespace: ns, name: upf}
spec:
  driver: AFPacket
  ueToUE: Deny
  n3: {attachment: {type: Bridge, bridge: n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.16/28, gateway: 172.30.3.1, mtu: 1500}
  n6: {attachment: {type: Bridge, bridge: n6}, address: 172.30.6.2/24, gateway: 172.30.6.1, mtu: 1500}
  networkInstances:
  - {name: ims, vlan: 200, addresses: [172.30.6.2/24], gateways: [172.30.6.1]}
  - {name: factory, attachment: {type: Bridge, bridge: factory}, addresses: [172.30.6.2/24], gateways: [172.30.6.1]}
status: {unitStatuses: [{name: upf-0, n4Address: %s}]}
`, n4.Addr()), strings.ReplaceAll(`
metadata: {namespace: ns, name: one}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - {dnn: internet, uePools: [UE/32]}
  - {dnn: IMS, uePools: [UE/32]}
  - {dnn: robots, networkInstance: factory, uePools: [UE/32]}
`, "UE", ueAddress))
	if problem := specs.CheckPools(&o.Slices[0], nil, &o.UPFInstances[0], o.UPFInstances); problem != nil {
		s.t.Fatal(problem.Message)
	}
	return o
}

// three sessions of a UE, one a data network.
func three() (list []ue.SessionConfig) {
	for n, dnn := range []string{"internet", "ims", "robots"} {
		list = append(list, ue.SessionConfig{PSI: uint8(n + 1), Slice: slice1, DNN: dnn})
	}
	return list
}

// shownNetworks is a user plane with network instances that forwards nothing.
type shownNetworks struct{ shown }

func (p *shownNetworks) start(s *story) netip.AddrPort {
	p.t, s.byAddress = s.t, true
	socket := filepath.Join(s.t.TempDir(), "upf.sock")
	var err error
	if p.upfu, err = fakeupfu.StartWith(socket, "", "ims", "factory"); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.upfu.Kill)
	at, _ := startAgent(s, socket, "", "172.30.3.16/28")
	o := networkObjects(s, at)
	s.objects = func() cluster.Objects { return o }
	return at
}

// One address is three UEs', or one UE's three times, where there are three network instances, and no fourth one's. That stays so over the death of a pod.
func TestOnePoolInThreeNetworkInstances(t *testing.T) {
	t.Parallel()
	p := &shownNetworks{}
	s := begin(t, p)
	u := s.attach(1, three()...)
	networks := func() (list []uint16) {
		for _, x := range p.upfu.Sessions() {
			list = append(list, x.Network)
		}
		sorting.Sort(list)
		return list
	}
	for psi := range uint8(3) {
		if x := u.session(psi + 1); x.Address != ueAddress {
			t.Errorf("session %d has %+v, want %s", psi+1, x, ueAddress)
		}
	}
	if got := networks(); !sorting.Equal(got, []uint16{0, 1, 2}) {
		t.Errorf("upf-u has sessions in networks %v", got)
	}
	other := s.attach(2)
	ims := three()[1]
	if err := other.Establish(s.ctx, ims); err == nil || !strings.Contains(err.Error(), "5GSM cause #26") {
		t.Errorf("a second session with the address in one network instance: %v", err)
	}
	s.startPod()
	s.living()[0].kill()
	s.until("another pod holds the shard", s.ready)
	u.must(u.Idle(s.ctx))
	u.must(u.ServiceRequest(s.ctx))
	s.until("the sessions are up again", func() bool { return u.session(1).Up && u.session(2).Up && u.session(3).Up })
	u.must(u.Release(s.ctx, 2))
	s.until("the address is free", func() bool { return other.Establish(s.ctx, ims) == nil })
	if x := other.session(2); x.Address != ueAddress {
		t.Errorf("the next UE has %+v", x)
	}
	if got := networks(); !sorting.Equal(got, []uint16{0, 1, 2}) {
		t.Errorf("upf-u has sessions in networks %v", got)
	}
}

// forwardingNetworks has upf-u with the configuration that the operator makes, and each data network in a namespace of its own.
type forwardingNetworks struct {
	*forwarding
	// names of the data networks' namespaces, and a host that only it has.
	names, hosts []string
}

func (p *forwardingNetworks) start(s *story) netip.AddrPort {
	s.byAddress = true
	at := netip.AddrPortFrom(s.loopback(1), 8805)
	o := networkObjects(s, at)
	// Not every kernel has VLAN interfaces: test_networks/vlans_tell_networks_apart shows those.
	ims := &o.UPFInstances[0].Spec.NetworkInstances[0]
	ims.VLAN, ims.Attachment = nil, &v1alpha1.AttachmentSpec{Type: v1alpha1.AttachmentBridge, Bridge: "ims"}
	p.asOperated(s, o, at)
	p.lay = func() {
		p.names, p.hosts = []string{p.peers}, []string{"172.30.6.70", "172.30.6.71", "172.30.6.72"}
		for _, device := range []string{"n6-1", "n6-2"} {
			ns := p.peers + "-" + device
			p.run("ip", "netns", "add", ns)
			s.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
			p.names = append(p.names, ns)
			p.run("ip", "-n", p.upf, "link", "add", device, "type", "veth", "peer", "name", "dn", "netns", ns)
			p.run("ip", "netns", "exec", p.upf, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+device+"/disable_ipv6")
			p.run("ip", "-n", p.upf, "link", "set", device, "up")
			p.run("ip", "-n", ns, "link", "set", "dn", "up")
			p.run("ip", "-n", ns, "addr", "add", dn4.String()+"/24", "dev", "dn")
			p.run("ip", "-n", ns, "route", "add", "10.45.0.0/16", "via", "172.30.6.2")
		}
		for n, ns := range p.names {
			p.run("ip", "-n", ns, "addr", "add", p.hosts[n]+"/24", "dev", "dn")
		}
	}
	return p.forwarding.start(s)
}

// Each session of a UE reaches its own data network and no other, and hears from no other, although it has the same address in all.
func TestPacketsOfNetworkInstances(t *testing.T) {
	p := &forwardingNetworks{forwarding: flowing(t)}
	s := begin(t, p)
	u := s.attach(1, three()...)
	from := netip.MustParseAddr(ueAddress)
	for n := range p.names {
		psi := uint8(n + 1)
		if x := u.session(psi); x.Address != ueAddress {
			t.Fatalf("session %d has %+v, want %s", psi, x, ueAddress)
		}
		foreign := measure.NewID()
		replies := make(chan gtpu.Reply, 100)
		remove := s.n3s[0].Watches().Add(foreign, replies)
		for round := range uint16(10) {
			for other, host := range p.hosts {
				if other != n {
					u.must(u.SendUplink(psi, measure.Echo{ID: foreign, Sequence: round, Payload: make([]byte, 40)}.Packet(from, netip.MustParseAddr(host))))
				}
			}
			if !u.ping(psi, from, netip.MustParseAddr(p.hosts[n])) {
				t.Fatalf("session %d has no reply from its data network", psi)
			}
		}
		remove()
		if len(replies) > 0 {
			t.Errorf("session %d reaches hosts of other data networks: %d replies", psi, len(replies))
		}
	}

	var mu sync.Mutex
	heard := make([]map[string]int, len(p.names))
	for n := range p.names {
		heard[n] = map[string]int{}
		_, err := u.Tap(uint8(n+1), func(packet []byte) bool {
			_, port, payload, ok := measure.Datagram(packet)
			if !ok || port != 6000 {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			heard[n][string(payload)]++
			return true
		})
		u.must(err)
	}
	const datagrams = 20
	for n, ns := range p.names {
		var from *net.UDPConn
		p.in(ns, func() (err error) {
			from, err = net.DialUDP("udp", nil, &net.UDPAddr{IP: net.ParseIP(ueAddress), Port: 6000})
			return err
		})
		for range datagrams {
			if _, err := fmt.Fprintf(from, "%d", n); err != nil {
				t.Fatal(err)
			}
		}
		_ = from.Close()
	}
	told := func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprint(heard)
	}
	want := fmt.Sprintf("[map[0:%d] map[1:%d] map[2:%d]]", datagrams, datagrams, datagrams)
	for deadline := time.Now().Add(5 * time.Second); told() != want && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if got := told(); got != want {
		t.Errorf("datagrams by session: %s, want %s", got, want)
	}
}
