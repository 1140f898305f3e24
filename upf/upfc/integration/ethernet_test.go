package integration

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"golang.org/x/sys/unix"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// lan is the far end of an Ethernet network instance's N6: a packet socket on a veth interface.
type lan struct {
	t  *testing.T
	fd int
}

// newLAN joins a device of the UPF with one in the namespace of peers.
func (r *rig) newLAN(device string) *lan {
	r.t.Helper()
	peer := "far-" + device
	r.run("ip", "-n", r.upf, "link", "add", device, "type", "veth", "peer", "name", peer, "netns", r.peers)
	for ns, name := range map[string]string{r.upf: device, r.peers: peer} {
		r.run("ip", "netns", "exec", ns, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/"+name+"/disable_ipv6")
		r.run("ip", "-n", ns, "link", "set", name, "up")
	}
	l := &lan{t: r.t}
	r.within(r.peers, func() {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(htons(unix.ETH_P_ALL)))
		if err != nil {
			r.t.Fatal(err)
		}
		in, err := net.InterfaceByName(peer)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: in.Index}); err != nil {
			r.t.Fatal(err)
		}
		// The tag of a frame comes beside it.
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
			r.t.Fatal(err)
		}
		l.fd = fd
	})
	r.t.Cleanup(func() { _ = unix.Close(l.fd) })
	return l
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

func (l *lan) send(frame []byte) {
	l.t.Helper()
	if _, err := unix.Write(l.fd, frame); err != nil {
		l.t.Fatal(err)
	}
}

// receive is the next frame, with its tag; nil when none comes in time.
func (l *lan) receive(d time.Duration) []byte {
	l.t.Helper()
	deadline := time.Now().Add(d)
	for time.Now().Before(deadline) {
		poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(time.Until(deadline).Milliseconds())+1); err == unix.EINTR || n == 0 {
			continue
		} else if err != nil {
			l.t.Fatal(err)
		}
		frame, oob := make([]byte, 2048), make([]byte, 256)
		n, oobn, _, from, err := unix.Recvmsg(l.fd, frame, oob, 0)
		if err != nil {
			l.t.Fatal(err)
		}
		if sa, ok := from.(*unix.SockaddrLinklayer); ok && sa.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		frame = frame[:n]
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			l.t.Fatal(err)
		}
		for _, m := range messages {
			// struct tpacket_auxdata: tp_status, …, tp_vlan_tci at 16.
			if status := binary.NativeEndian.Uint32(m.Data); status&unix.TP_STATUS_VLAN_VALID != 0 {
				tag := []byte{0x81, 0, 0, 0}
				binary.BigEndian.PutUint16(tag[2:], binary.NativeEndian.Uint16(m.Data[16:]))
				frame = slices.Insert(frame, 12, tag...)
			}
		}
		return frame
	}
	return nil
}

var everybody = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func station(n byte) []byte { return []byte{0x02, 0, 0, 0, 0, n} }

// frame is one from a station; vlan 0: without a tag.
func frame(to, from []byte, vlan uint16, text string) []byte {
	f := slices.Concat(to, from)
	if vlan != 0 {
		f = binary.BigEndian.AppendUint16(append(f, 0x81, 0), vlan)
	}
	return append(append(f, 0x88, 0xb5), text...)
}

// ethernetSession is one with an uplink and a downlink PDR in a network instance; filters go into the downlink one.
func ethernetSession(teid uint32, instance string, filters ...*ie.IE) []*ie.IE {
	up := ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x01, teid, net.ParseIP(n3Addr).To4(), nil, 0), ie.NewNetworkInstance(instance))
	down := ie.NewPDI(append([]*ie.IE{ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewNetworkInstance(instance), ie.NewEthernetPDUSessionInformation(1)}, filters...)...)
	return []*ie.IE{
		ie.NewPDNType(5),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(255), up, ie.NewOuterHeaderRemoval(0, 0), ie.NewFARID(1), ie.NewURRID(1), ie.NewQERID(1)),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(255), down, ie.NewFARID(2), ie.NewURRID(1), ie.NewQERID(1)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance(instance))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x02), ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
			ie.NewOuterHeaderCreation(0x0100, gnbTEID+teid, gnbAddr, "", 0, 0, 0))),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewQFI(1)),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0, 0x08), ie.NewEthernetInactivityTimer(2*time.Second)),
	}
}

func (r *rig) frameUp(teid uint32, user []byte) {
	r.t.Helper()
	p := []byte{0x34, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, 1, 0}
	binary.BigEndian.PutUint16(p[2:], uint16(8+len(user)))
	binary.BigEndian.PutUint32(p[4:], teid)
	if _, err := r.gnb.WriteToUDP(append(p, user...), &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152}); err != nil {
		r.t.Fatal(err)
	}
}

// frameDown is the next frame that the gNB receives, and its tunnel; nil when none comes in time.
func (r *rig) frameDown(d time.Duration) (teid uint32, user []byte) {
	r.t.Helper()
	b := make([]byte, 2048)
	if err := r.gnb.SetReadDeadline(time.Now().Add(d)); err != nil {
		r.t.Fatal(err)
	}
	n, err := r.gnb.Read(b)
	if err != nil {
		return 0, nil
	}
	return binary.BigEndian.Uint32(b[4:]) - gnbTEID, b[16:n]
}

// macs waits for a Session Report Request with MAC addresses: those detected and those removed.
func (r *rig) macs() (detected, removed [][]byte) {
	r.t.Helper()
	report := r.smf.Report()
	for _, u := range report.UsageReport {
		for _, e := range u.ChildIEs {
			if e.Type == ie.UsageReportTrigger && (len(e.Payload) < 2 || e.Payload[1]&0x40 == 0) {
				r.t.Errorf("a report with triggers % x", e.Payload)
			}
			if e.Type != ie.EthernetTrafficInformation {
				continue
			}
			for _, list := range e.ChildIEs {
				into := &detected
				if list.Type == ie.MACAddressesRemoved {
					into = &removed
				}
				for i := range int(list.Payload[0]) {
					*into = append(*into, list.Payload[1+6*i:7+6*i])
				}
			}
		}
	}
	return detected, removed
}

func TestIntegrationEthernet(t *testing.T) {
	r := newRig(t)
	r.upfc.kill()
	r.upfu.kill()
	office, plant := r.newLAN("office"), r.newLAN("plant")
	r.file("upf-u.yaml", `
memory: 128
hugepages: false
socket: `+r.path("upf.sock")+`
limits: {sessions_max: 4096}
ue_to_ue: allow
interfaces:
  n3: {driver: af_packet, device: n3, addresses: 172.30.3.16/28, prefix_length: 24, gateway: 172.30.3.1}
  n6:
  - {network_instance: internet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1}
  - {network_instance: office, device: office, ethernet: {}}
  - {network_instance: plant, device: plant, ethernet: {}}
`)
	r.startUPFU()
	r.startUPFC()
	r.smf.Associate()
	r.smf.Established(7, ethernetSession(1, "office")...)
	// Of the second one's VLANs only 20 leads to it.
	r.smf.Established(8, ethernetSession(2, "office", ie.NewEthernetPacketFilter(ie.NewCTAG(0x04, 0, 0, 20)))...)
	seid := r.smf.Established(9, ethernetSession(3, "plant")...)
	// A session of IP is none of a bridge's.
	phone := fakesmf.UE{TEID: 4, N3: n3Addr, Addr: "10.45.0.1", NetworkInstance: "office"}
	a := r.smf.Establish(10, phone.Session()...)
	fakesmf.WantCause(t, a.Cause, ie.CauseRuleCreationModificationFailure)
	fakesmf.WantOffending(t, a.OffendingIE, ie.NetworkInstance)

	sees := func(l *lan, want []byte) {
		t.Helper()
		if got := l.receive(time.Minute); !bytes.Equal(got, want) {
			t.Fatalf("the data network receives % x, want % x", got, want)
		}
	}
	gets := func(teid uint32, want []byte) {
		t.Helper()
		if tunnel, got := r.frameDown(time.Minute); tunnel != teid || !bytes.Equal(got, want) {
			t.Fatalf("by tunnel %d comes % x, want by %d % x", tunnel, got, teid, want)
		}
	}
	wantMACs := func(detected, removed []byte) {
		t.Helper()
		d, g := r.macs()
		if !bytes.Equal(slices.Concat(d...), detected) || !bytes.Equal(slices.Concat(g...), removed) {
			t.Fatalf("MAC addresses detected %x and removed %x, want %x and %x", d, g, detected, removed)
		}
	}

	// Station 1 speaks: all of its network instance hear it, in VLAN 20 the other session, too.
	hello := frame(everybody, station(1), 20, "hello")
	r.frameUp(1, hello)
	sees(office, hello)
	gets(2, hello)
	wantMACs(station(1), nil)
	// It is found where it was heard, by who is outside and by another UE.
	answer := frame(station(1), station(100), 20, "answer")
	office.send(answer)
	gets(1, answer)
	inside := frame(station(1), station(2), 20, "from a UE")
	r.frameUp(2, inside)
	gets(1, inside)
	wantMACs(station(2), nil)
	// Another VLAN does not reach the second session, and the same address is another station there.
	other := frame(station(1), station(100), 30, "other VLAN")
	office.send(other)
	gets(1, other)
	r.await(time.Minute, "the copy for the second session is dropped by its filter", func() bool { return r.drops("flood_filtered") == 1 })

	// Network instances know nothing of each other.
	same := frame(everybody, station(1), 20, "plant")
	r.frameUp(3, same)
	sees(plant, same)
	wantMACs(station(1), nil)
	plant.send(frame(everybody, station(100), 0, "to the plant"))
	gets(3, frame(everybody, station(100), 0, "to the plant"))
	if tunnel, got := r.frameDown(100 * time.Millisecond); got != nil {
		t.Errorf("% x of another network instance comes by tunnel %d", got, tunnel)
	}

	// Silence of more than the Ethernet Inactivity Timer.
	gone := map[string]bool{}
	for len(gone) < 2 {
		_, removed := r.macs()
		for _, m := range removed {
			gone[string(m)] = true
		}
	}
	lines := r.metrics()
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, `upf_bridge_stations_total{event="aged"}`) && !strings.HasSuffix(l, " 0")
	}) {
		t.Error("upf_bridge_stations_total counts none that aged")
	}

	// Either half begins anew: sessions are there, and stations are learned again.
	again := func() {
		t.Helper()
		r.frameUp(3, same)
		sees(plant, same)
		reply := frame(station(1), station(100), 20, "again")
		plant.send(reply)
		gets(3, reply)
	}
	again()
	r.upfc.kill()
	again()
	r.startUPFC()
	again()
	r.await(time.Minute, "upf-c shows the station", func() bool { return strings.Contains(r.upfctl(nil, "sessions"), "02:00:00:00:00:01") })
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the sessions are in the next upf-u", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected
	})
	again()
	fakesmf.WantCause(t, r.smf.Delete(seid).Cause, ie.CauseRequestAccepted)
}
