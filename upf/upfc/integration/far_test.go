package integration

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// tcpUp sends a TCP segment of the usual UE to port 80 of the data network.
func (r *rig) tcpUp(seq, ack uint32, set func(*layers.TCP), data string) {
	r.t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.ParseIP(fakesmf.Phone.Addr), DstIP: net.ParseIP(dnAddr)}
	tcp := &layers.TCP{SrcPort: 40000, DstPort: 80, Seq: seq, Ack: ack, Window: 65535}
	set(tcp)
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		r.t.Fatal(err)
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, tcp, gopacket.Payload(data))
	if err != nil {
		r.t.Fatal(err)
	}
	gpdu := binary.BigEndian.AppendUint16([]byte{0x30, 255}, uint16(len(b.Bytes())))
	gpdu = binary.BigEndian.AppendUint32(gpdu, 1)
	if _, err := r.gnb.WriteTo(append(gpdu, b.Bytes()...), &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152}); err != nil {
		r.t.Fatal(err)
	}
}

// down is the next G-PDU that the gNB gets: its TEID and what is behind the PDU Session Container.
func (r *rig) down() (teid uint32, user []byte) {
	r.t.Helper()
	b := make([]byte, 2048)
	if err := r.gnb.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	n, err := r.gnb.Read(b)
	if err != nil {
		r.t.Fatal("nothing came down: ", err)
	}
	if n < 16 || b[1] != 255 {
		r.t.Fatalf("% x came down", b[:n])
	}
	return binary.BigEndian.Uint32(b[4:]), b[16:n]
}

// tcpDown is the next TCP segment that comes down the UE's tunnel.
func (r *rig) tcpDown() *layers.TCP {
	r.t.Helper()
	teid, user := r.down()
	p := gopacket.NewPacket(user, layers.LayerTypeIPv4, gopacket.Default)
	tcp, ok := p.Layer(layers.LayerTypeTCP).(*layers.TCP)
	if !ok || teid != gnbTEID {
		r.t.Fatalf("no TCP segment in tunnel %#x: %s", teid, p)
	}
	return tcp
}

func TestIntegrationRedirectAndDuplicate(t *testing.T) {
	r := newRig(t)
	seid := r.session()

	t.Run("a web page is redirected, and nothing else passes", func(t *testing.T) {
		const url = "http://portal.example/top-up"
		fakesmf.WantCause(t, r.smf.Modify(seid, ie.NewUpdateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02), ie.NewUpdateForwardingParameters(
			ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewRedirectInformation(2, url, "")))).Cause, ie.CauseRequestAccepted)
		r.tcpUp(1000, 0, func(l *layers.TCP) { l.SYN = true }, "")
		if a := r.tcpDown(); !a.SYN || !a.ACK || a.Ack != 1001 {
			t.Errorf("SYN is answered %+v", a)
		}
		request := "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
		r.tcpUp(1001, 1001, func(l *layers.TCP) { l.ACK, l.PSH = true, true }, request)
		if a := r.tcpDown(); !a.FIN || a.Ack != 1001+uint32(len(request)) ||
			!strings.HasPrefix(string(a.Payload), "HTTP/1.1 302 Found\r\nLocation: "+url+"\r\n") {
			t.Errorf("GET is answered %+v %q", a, a.Payload)
		}
		before := r.drops("redirect")
		if err := r.uplink(1, fakesmf.Phone.Addr, 1); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "a ping is dropped as redirect", func() bool { return r.drops("redirect") == before+1 })
	})

	t.Run("copies arrive, and so does the original", func(t *testing.T) {
		const copies = 0xc0de
		fakesmf.WantCause(t, r.smf.Modify(seid,
			ie.NewRemovePDR(ie.NewPDRID(3)), ie.NewRemovePDR(ie.NewPDRID(1)), ie.NewRemoveFAR(ie.NewFARID(1)),
			fakesmf.Phone.UplinkPDR(1, 255),
			ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x12),
				ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore), ie.NewNetworkInstance("internet")),
				ie.NewDuplicatingParameters(ie.NewDestinationInterface(ie.DstInterfaceLIFunction), ie.NewOuterHeaderCreation(0x0100, copies, gnbAddr, "", 0, 0, 0)))).Cause,
			ie.CauseRequestAccepted)
		if err := r.uplink(1, fakesmf.Phone.Addr, 77); err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for range 2 {
			teid, _ := r.down()
			seen[teid] = true
		}
		if !seen[copies] || !seen[gnbTEID] {
			t.Errorf("came in tunnels %v", seen)
		}
	})
}
