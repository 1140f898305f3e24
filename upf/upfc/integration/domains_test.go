package integration

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
	"golang.org/x/net/dns/dnsmessage"

	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// An application that the SMF describes by a domain name: connections of a TLS and a QUIC client, and what a DNS server answered, are
// counted by the application's URR and by no other one. The rest is the default PDRs'.
func TestIntegrationDomains(t *testing.T) {
	r := newRig(t)
	r.smf.Associate()
	name := "video.example"
	contents := ie.New(ie.PFDContents, append([]byte{0x04, 0, 0, byte(len(name))}, name...))
	answer, ok := r.smf.Ask(message.NewPFDManagementRequest(r.smf.NextSeq(), ie.NewApplicationIDsPFDs(ie.NewApplicationID("video"), ie.NewPFDContext(contents)))).(*message.PFDManagementResponse)
	if !ok {
		t.Fatal("no PFD Management Response")
	}
	fakesmf.WantCause(t, answer.Cause, ie.CauseRequestAccepted)
	const ofDefault, ofVideo = 1, 2 // URRs
	ue := fakesmf.Phone
	of := ue
	of.NoURR = true
	measured := func(pdr *ie.IE) *ie.IE { pdr.Add(ie.NewURRID(ofVideo)); return pdr }
	seid := r.smf.Established(7, append(ue.Session(),
		measured(of.UplinkPDR(11, 10, ie.NewApplicationID("video"))), measured(of.DownlinkPDR(12, 10, ie.NewApplicationID("video"))),
		ie.NewCreateURR(ie.NewURRID(ofVideo), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x02, 0), ie.NewVolumeThreshold(1, 1<<40, 0, 0)))...)
	fakesmf.WantCause(t, r.smf.Modify(seid, ue.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)

	// How many octets each URR counted since the last call.
	ledgers := map[uint32]*ledger{ofDefault: {t: t, seen: map[uint32]bool{}}, ofVideo: {t: t, seen: map[uint32]bool{}}}
	type counted struct{ ul, dl uint64 }
	query := func() map[uint32]counted {
		t.Helper()
		m := r.smf.Modify(seid, ie.NewQueryURR(ie.NewURRID(ofDefault)), ie.NewQueryURR(ie.NewURRID(ofVideo)))
		fakesmf.WantCause(t, m.Cause, ie.CauseRequestAccepted)
		for _, report := range m.UsageReport {
			id, err := report.URRID()
			if err != nil {
				t.Fatal(err)
			}
			ledgers[id].add([]*ie.IE{report})
		}
		out := map[uint32]counted{}
		for id, l := range ledgers {
			out[id] = counted{l.ul, l.dl}
			l.ul, l.dl = 0, 0
		}
		return out
	}
	// Uplink octets sent are those counted, by the application's URR or by the other one.
	sent, before := uint64(0), uint64(0) // in all, and before the server's name was there
	send := func(l ...gopacket.SerializableLayer) {
		t.Helper()
		n, err := r.uplinkOf(ue, l...)
		if err != nil {
			t.Fatal(err)
		}
		sent += n
	}
	wantUplink := func(what string, video bool) {
		t.Helper()
		var total map[uint32]counted
		sum := map[uint32]uint64{}
		r.await(time.Minute, what+" is counted", func() bool {
			total = query()
			sum[ofDefault] += total[ofDefault].ul
			sum[ofVideo] += total[ofVideo].ul
			return sum[ofDefault]+sum[ofVideo] >= sent
		})
		want := map[uint32]uint64{ofDefault: sent, ofVideo: 0}
		if video {
			want[ofDefault], want[ofVideo] = before, sent-before
		}
		if sum[ofDefault] != want[ofDefault] || sum[ofVideo] != want[ofVideo] {
			t.Errorf("%s: %d octets by the default URR and %d by the application's, want %d and %d", what, sum[ofDefault], sum[ofVideo], want[ofDefault], want[ofVideo])
		}
		sent, before = 0, 0
	}
	port := layers.TCPPort(40000)
	connect := func(server string) {
		t.Helper()
		hello := clientHello(t, server)
		port++
		tcp := func(seq uint32) *layers.TCP {
			return &layers.TCP{SrcPort: port, DstPort: 443, Seq: seq, Ack: 1, ACK: true, PSH: true, Window: 1000}
		}
		send(tcp(1), gopacket.Payload(hello[:600])) // Go's has its name in front
		send(tcp(601), gopacket.Payload(hello[600:]))
		for i := range 5 {
			send(tcp(uint32(1+len(hello)+100*i)), gopacket.Payload(make([]byte, 100)))
		}
	}
	udpPort := layers.UDPPort(50000)
	connectQUIC := func(server string) {
		t.Helper()
		udpPort++
		for i, datagram := range quicHello(t, server) {
			if i == 1 { // which has the name
				before = sent
			}
			send(&layers.UDP{SrcPort: udpPort, DstPort: 443}, gopacket.Payload(datagram))
		}
		for range 5 {
			send(&layers.UDP{SrcPort: udpPort, DstPort: 443}, gopacket.Payload(append([]byte{0x40}, make([]byte, 99)...)))
		}
	}
	wantMetrics := func(lines ...string) {
		t.Helper()
		all := strings.Join(r.metrics(), "\n") + "\n"
		for _, want := range lines {
			if !strings.Contains(all, want+"\n") {
				t.Errorf("upf-c does not say %s", want)
			}
		}
	}

	connect("www.other.example")
	wantUplink("a connection to another server", false)
	connect("cdn.video.example")
	wantUplink("a connection to one of the application's", true)
	connectQUIC("www.other.example")
	wantUplink("a QUIC connection to another server", false)
	connectQUIC("video.example")
	wantUplink("a QUIC connection to one of the application's", true)
	wantMetrics(`upf_detected_total{by="tls"} 1`, `upf_detected_total{by="quic"} 1`, `upf_detection_misses_total{reason="unread"} 0`)

	// PFDs outlive upf-c and upf-u: new connections are found.
	r.upfc.kill()
	r.startUPFC()
	connect("video.example")
	wantUplink("a connection behind a new upf-c", true)
	r.upfu.kill()
	r.startUPFU()
	r.await(time.Minute, "the session is in the next upf-u", func() bool {
		st, err := r.stats()
		return err == nil && st.Connected
	})
	query()
	connectQUIC("video.example")
	wantUplink("a QUIC connection behind a new upf-u", true)

	// Before anybody asks for its address the data network is nobody's, and then the application's, both ways.
	ping := func(seq uint16, want uint32) {
		t.Helper()
		query()
		if err := r.uplink(ue.TEID, ue.Addr, seq); err != nil {
			t.Fatal(err)
		}
		r.await(time.Minute, "a ping is answered", func() bool {
			p, ok := r.receiveAny(time.Second)
			return ok && p.seq == seq
		})
		other := ofDefault + ofVideo - want
		if got := query(); got[want] != (counted{pingOctets, pingOctets}) || got[other] != (counted{}) {
			t.Errorf("ping %d: URR %d counted %+v, URR %d %+v", seq, want, got[want], other, got[other])
		}
	}
	r.await(time.Minute, "the kernel of the data network has said all", func() bool { _, more := r.receiveAny(100 * time.Millisecond); return !more })
	ping(1, ofDefault)
	resolve := r.resolver(name)
	send(&layers.UDP{SrcPort: 33333, DstPort: 53}, gopacket.Payload(resolve))
	r.await(time.Minute, "upf-u has learned an address", func() bool {
		return strings.Contains(strings.Join(r.metrics(), "\n")+"\n", "upf_detected_total{by=\"dns\"} 1\n")
	})
	r.await(time.Minute, "the answer has come through", func() bool { _, more := r.receiveAny(100 * time.Millisecond); return !more })
	ping(2, ofVideo)
}

// TS 29.244 5.4.11: the CP function hears that an application's traffic begins and ends, and which application it is.
func TestIntegrationApplicationReports(t *testing.T) {
	r := newRig(t)
	r.smf.Associate()
	name := "video.example"
	contents := ie.New(ie.PFDContents, append([]byte{0x04, 0, 0, byte(len(name))}, name...))
	if _, ok := r.smf.Ask(message.NewPFDManagementRequest(r.smf.NextSeq(), ie.NewApplicationIDsPFDs(ie.NewApplicationID("video"), ie.NewPFDContext(contents)))).(*message.PFDManagementResponse); !ok {
		t.Fatal("no PFD Management Response")
	}
	ue := fakesmf.Phone
	of := ue
	of.NoURR = true
	measured := func(pdr *ie.IE) *ie.IE { pdr.Add(ie.NewURRID(2)); return pdr }
	seid := r.smf.Established(7, append(ue.Session(),
		measured(of.UplinkPDR(11, 10, ie.NewApplicationID("video"))), measured(of.DownlinkPDR(12, 10, ie.NewApplicationID("video"))),
		ie.NewCreateURR(ie.NewURRID(2), ie.NewMeasurementMethod(0, 1, 0), ie.NewReportingTriggers(0x30, 0), ie.NewInactivityDetectionTime(1)))...)
	fakesmf.WantCause(t, r.smf.Modify(seid, ue.GNB(gnbTEID, gnbAddr)).Cause, ie.CauseRequestAccepted)
	for i, server := range []string{"www.other.example", "www.video.example"} {
		tcp := &layers.TCP{SrcPort: layers.TCPPort(40000 + i), DstPort: 443, Seq: 1, Ack: 1, ACK: true, PSH: true, Window: 1000}
		if _, err := r.uplinkOf(ue, tcp, gopacket.Payload(clientHello(t, server)[:1000])); err != nil {
			t.Fatal(err)
		}
	}
	instance := ""
	for _, want := range []string{"100000", "200000"} { // START, STOPT: of the second connection alone
		m := r.smf.Report()
		if len(m.UsageReport) != 1 {
			t.Fatalf("%d usage reports, want 1", len(m.UsageReport))
		}
		e := m.UsageReport[0]
		if id, err := e.URRID(); err != nil || id != 2 || fakesmf.Trigger(t, e) != want {
			t.Errorf("URR %d (%v) with trigger %s, want 2 with %s", id, err, fakesmf.Trigger(t, e), want)
		}
		if id, err := e.ApplicationID(); err != nil || id != "video" {
			t.Errorf("a report about application %q (%v)", id, err)
		}
		id, err := e.ApplicationInstanceID()
		if err != nil || id == "" || instance != "" && id != instance {
			t.Errorf("a report about instance %q (%v), after %q", id, err, instance)
		}
		instance = id
		flow, err := e.FlowInformation()
		if text := "permit out 6 from " + dnAddr + " 443 to " + ue.Addr + " 40001"; err != nil || len(flow) < 3 || string(flow[3:]) != text {
			t.Errorf("a report about flow %q (%v), want %q", flow, err, text)
		}
	}
}

// uplinkOf sends a UE's packet to the data network through its tunnel; how many octets it has.
func (r *rig) uplinkOf(ue fakesmf.UE, l ...gopacket.SerializableLayer) (uint64, error) {
	ip := &layers.IPv4{Version: 4, TTL: 64, SrcIP: net.ParseIP(ue.Addr), DstIP: net.ParseIP(dnAddr)}
	switch transport := l[0].(type) {
	case *layers.TCP:
		ip.Protocol = layers.IPProtocolTCP
		if err := transport.SetNetworkLayerForChecksum(ip); err != nil {
			return 0, err
		}
	case *layers.UDP:
		ip.Protocol = layers.IPProtocolUDP
		if err := transport.SetNetworkLayerForChecksum(ip); err != nil {
			return 0, err
		}
	}
	inner := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(inner, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, append([]gopacket.SerializableLayer{ip}, l...)...); err != nil {
		return 0, err
	}
	p := []byte{0x34, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x85, 1, 0x10, 1, 0}
	binary.BigEndian.PutUint16(p[2:], uint16(8+len(inner.Bytes())))
	binary.BigEndian.PutUint32(p[4:], ue.TEID)
	_, err := r.gnb.WriteToUDP(append(p, inner.Bytes()...), &net.UDPAddr{IP: net.ParseIP(n3Addr), Port: 2152})
	return uint64(len(inner.Bytes())), err
}

// receiveAny is the next packet at the gNB, an echo reply or not; false when none comes in time.
func (r *rig) receiveAny(d time.Duration) (downlink, bool) {
	buf := make([]byte, 2048)
	if err := r.gnb.SetReadDeadline(time.Now().Add(d)); err != nil {
		r.t.Fatal(err)
	}
	n, err := r.gnb.Read(buf)
	if err != nil {
		return downlink{}, false
	}
	p, _ := parseDownlink(buf[:n])
	return p, true
}

// clientHello is what crypto/tls sends first.
func clientHello(t *testing.T, server string) []byte {
	t.Helper()
	client, peer := net.Pipe()
	go func() { _ = tls.Client(client, &tls.Config{ServerName: server}).Handshake() }()
	defer func() { _ = client.Close() }()
	b := make([]byte, 8192)
	n, err := peer.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// quicHello are the datagrams of a QUIC client with crypto/tls's ClientHello: the second half of it comes in the first one.
func quicHello(t *testing.T, server string) [][]byte {
	t.Helper()
	conn := tls.QUICClient(&tls.QUICConfig{TLSConfig: &tls.Config{ServerName: server, MinVersion: tls.VersionTLS13, NextProtos: []string{"h3"}}})
	conn.SetTransportParameters([]byte{0x04, 0x04, 0x80, 0x01, 0x00, 0x00})
	if err := conn.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var hello []byte
	for e := conn.NextEvent(); e.Kind != tls.QUICNoEvent; e = conn.NextEvent() {
		if e.Kind == tls.QUICWriteData {
			hello = append(hello, e.Data...)
		}
	}
	const half = 900
	if len(hello) < half+100 {
		t.Fatalf("a ClientHello of %d octets", len(hello))
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	return [][]byte{initialPacket(t, id, 1, half, hello[half:]), initialPacket(t, id, 0, 0, hello[:half])}
}

// initialPacket is an Initial packet of QUIC version 1 with a CRYPTO frame (RFC 9000 17.2.2, RFC 9001 5).
func initialPacket(t *testing.T, id []byte, number uint8, offset int, piece []byte) []byte {
	t.Helper()
	salt := []byte{0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a}
	expand := func(secret []byte, label string, n int) []byte {
		info := append([]byte{0, byte(n), byte(len("tls13 " + label))}, "tls13 "+label+"\x00"...)
		out, err := hkdf.Expand(sha256.New, secret, string(info), n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	initial, err := hkdf.Extract(sha256.New, id, salt)
	if err != nil {
		t.Fatal(err)
	}
	client := expand(initial, "client in", 32)
	block := func(key []byte) cipher.Block {
		c, err := aes.NewCipher(key)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	gcm, err := cipher.NewGCM(block(expand(client, "quic key", 16)))
	if err != nil {
		t.Fatal(err)
	}
	const datagram, overhead = 1200, 16
	header := append(append([]byte{0xc0, 0, 0, 0, 1, byte(len(id))}, id...), 0, 0) // one octet of packet number; no source ID, no token
	header = binary.BigEndian.AppendUint16(header, 0x4000|uint16(datagram-len(header)-2))
	header = append(header, number)
	frame := binary.BigEndian.AppendUint16([]byte{6}, 0x4000|uint16(offset))
	frame = append(binary.BigEndian.AppendUint16(frame, 0x4000|uint16(len(piece))), piece...)
	frame = append(frame, make([]byte, datagram-overhead-len(header)-len(frame))...)
	nonce := expand(client, "quic iv", 12)
	nonce[11] ^= number
	packet := gcm.Seal(bytes.Clone(header), nonce, frame, header)
	mask := make([]byte, 16)
	block(expand(client, "quic hp", 16)).Encrypt(mask, packet[len(header)+3:])
	packet[0] ^= mask[0] & 0x0f
	packet[len(header)-1] ^= mask[1]
	return packet
}

// resolver answers one question for a name's address with the data network's, and returns the question.
func (r *rig) resolver(name string) (question []byte) {
	r.t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 77, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	question, err := m.Pack()
	if err != nil {
		r.t.Fatal(err)
	}
	m.Response = true
	m.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: 300},
		Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(dnAddr).To4())},
	}}
	answer, err := m.Pack()
	if err != nil {
		r.t.Fatal(err)
	}
	r.within(r.peers, func() {
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(dnAddr), Port: 53})
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = conn.Close() })
		go func() {
			b := make([]byte, 2048)
			if _, from, err := conn.ReadFromUDP(b); err == nil {
				_, _ = conn.WriteToUDP(answer, from)
			}
		}()
	})
	return question
}
