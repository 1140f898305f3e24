package sessions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	sorting "slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"core5g.dev/core5g/e2e/ran/ue"
	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/images/session-management/n1"
)

// plantObjects are what a user writes: a network instance that is a bridge, and a data network of Ethernet in it, with a flow for GOOSE.
func plantObjects(s *story, n4 netip.AddrPort) cluster.Objects {
	return written(s, fmt.Sprintf(`
metadata: {namespace: ns, name: upf}
spec:
  driver: AFPacket
  ueToUE: Allow
  n3: {attachment: {type: Bridge, bridge: n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.16/28, gateway: 172.30.3.1, mtu: 1500}
  n6: {attachment: {type: Bridge, bridge: n6}, address: 172.30.6.2/24, gateway: 172.30.6.1, mtu: 1500}
  networkInstances:
  - {name: lan, type: Ethernet, attachment: {type: Bridge, bridge: lan}}
status: {unitStatuses: [{name: upf-0, n4Address: %s}]}
`, n4.Addr()), `
metadata: {namespace: ns, name: one}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - {dnn: internet, uePools: [10.45.0.0/24]}
  - dnn: lan
    sessionTypes: [Ethernet]
    flows:
    - {name: goose, fiveQI: 69, precedence: 10, filters: [{ethernet: {etherType: "0x88b8"}}]}
`)
}

// forwardingFrames has upf-u with the configuration that the operator makes; the far end of its bridge is a packet socket.
type forwardingFrames struct {
	*forwarding
	far int
}

func (p *forwardingFrames) start(s *story) netip.AddrPort {
	s.byAddress = true
	at := netip.AddrPortFrom(s.loopback(1), 8805)
	o := plantObjects(s, at)
	p.asOperated(s, o, at)
	p.lay = func() {
		p.run("ip", "-n", p.upf, "link", "add", "n6-1", "type", "veth", "peer", "name", "plant", "netns", p.peers)
		for ns, device := range map[string]string{p.upf: "n6-1", p.peers: "plant"} {
			if out, err := exec.Command("ip", "netns", "exec", ns, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+device+"/disable_ipv6").CombinedOutput(); err != nil {
				s.t.Fatalf("%v: %s", err, out)
			}
			p.run("ip", "-n", ns, "link", "set", device, "up")
		}
		p.within(func() (err error) {
			if p.far, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
				return err
			}
			device, err := net.InterfaceByName("plant")
			if err != nil {
				return err
			}
			return unix.Bind(p.far, &unix.SockaddrLinklayer{Protocol: 0x0300 /* ETH_P_ALL */, Ifindex: device.Index})
		})
		s.t.Cleanup(func() { _ = unix.Close(p.far) })
		if err := unix.SetsockoptTimeval(p.far, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000}); err != nil {
			s.t.Fatal(err)
		}
	}
	return p.forwarding.start(s)
}

// send a frame from what is beyond the bridge.
func (p *forwardingFrames) send(frame []byte) {
	p.s.t.Helper()
	if _, err := unix.Write(p.far, frame); err != nil {
		p.s.t.Fatal(err)
	}
}

// heard says whether a frame comes by the bridge before the time is over.
func (p *forwardingFrames) heard(want []byte, limit time.Duration) bool {
	b := make([]byte, 2048)
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if n, _, err := unix.Recvfrom(p.far, b, 0); err == nil && bytes.Equal(b[:n], want) {
			return true
		}
	}
	return false
}

var toAll = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// device behind the n-th UE, or 0xff: beyond the bridge.
func device(n byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, n} }

func ethernetFrame(to, from net.HardwareAddr, etherType uint16, number uint32) []byte {
	f := binary.BigEndian.AppendUint16(sorting.Concat(to, from), etherType)
	return append(binary.BigEndian.AppendUint32(f, number), make([]byte, 46)...)
}

// port is a UE's Ethernet session: what comes for it, with the flow that it came in.
type port struct {
	*phone
	frames chan []byte
}

func (s *story) port(n int) *port {
	s.t.Helper()
	p := &port{phone: s.attach(n, ue.SessionConfig{PSI: 1, Slice: slice1, DNN: "lan", Type: n1.Ethernet}), frames: make(chan []byte, 256)}
	_, err := p.Tap(1, func(frame []byte) bool {
		p.frames <- bytes.Clone(frame)
		return true
	})
	p.must(err)
	return p
}

// hears says whether a frame comes before the time is over.
func (p *port) hears(want []byte, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case got := <-p.frames:
			if bytes.Equal(got, want) {
				return true
			}
		case <-timer.C:
			return false
		}
	}
}

// Two UEs and a network beyond the UPF are one bridge, whatever dies: frames to all reach all, those to a device that was heard reach its UE alone. An idle UE is paged for them.
func TestFramesOfEthernetSessions(t *testing.T) {
	p := &forwardingFrames{forwarding: flowing(t)}
	s := begin(t, p)
	one, two := s.port(1), s.port(2)
	for _, u := range []*port{one, two} {
		if x := u.session(1); x.Type != "Ethernet" || x.Address+x.Address6 != "" || len(x.Flows) != 2 || x.Flows[1].Rules[0].Filters[0].EtherType != "0x88b8" {
			t.Fatalf("%+v", x)
		}
	}
	number := uint32(0)
	// sends frames again until they are heard, since the first of them may go before the tunnels are up.
	reaches := func(what string, send func([]byte), to, from net.HardwareAddr, etherType uint16, hear ...func([]byte, time.Duration) bool) []byte {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			number++
			frame := ethernetFrame(to, from, etherType, number)
			send(frame)
			all := true
			for _, h := range hear {
				all = h(frame, 2*time.Second) && all
			}
			if all {
				return frame
			}
		}
		t.Fatalf("%s: no frame has come", what)
		return nil
	}
	by := func(u *port) func([]byte) { return func(f []byte) { u.must(u.SendUplink(1, f)) } }

	reaches("from the first UE to all", by(one), toAll, device(1), 0x88b5, two.hears, p.heard)
	reaches("from beyond to all", p.send, toAll, device(0xff), 0x88b5, one.hears, two.hears)
	alone := reaches("to the device behind the first UE", p.send, device(1), device(0xff), 0x88b5, one.hears)
	reaches("to the device beyond", by(two), device(0xff), device(2), 0x88b5, p.heard)
	reaches("from UE to UE", by(one), device(2), device(1), 0x88b8, two.hears)
	if two.hears(alone, 0) {
		t.Error("the other UE has it, too")
	}

	two.must(two.Idle(s.ctx))
	s.amf.WaitTrace("session 1 DEACTIVATED: 200", 1)
	number++
	paged := ethernetFrame(device(2), device(0xff), 0x88b8, number)
	p.send(paged)
	if !two.hears(paged, patience) {
		t.Fatalf("the idle UE has no frame: %+v", two.Status())
	}

	s.startPod()
	s.living()[0].kill()
	s.until("another pod holds the shard", s.ready)
	one.must(one.Idle(s.ctx))
	one.must(one.ServiceRequest(s.ctx))
	reaches("behind the death of an SMF's pod", p.send, device(1), device(0xff), 0x88b5, one.hears)

	p.killUPFU()
	p.startUPFU()
	reaches("behind the death of upf-u, to all", p.send, toAll, device(0xff), 0x88b5, one.hears, two.hears)
	reaches("behind the death of upf-u, from the first UE", by(one), device(0xff), device(1), 0x88b5, p.heard)

	one.must(one.Release(s.ctx, 1))
	number++
	gone := ethernetFrame(device(1), device(0xff), 0x88b5, number)
	p.send(gone)
	if !two.hears(gone, 5*time.Second) {
		t.Error("a device whose session has ended is not looked for any more")
	}
	if one.hears(gone, 0) {
		t.Error("a session that has ended has a frame")
	}
}
