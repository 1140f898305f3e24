package gtpu

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPutUplink(t *testing.T) {
	b := append(make([]byte, HeaderLen), 0x45, 0, 0, 20)
	PutUplink(b, 0x11223344, 9, 4)
	if want := unhex(t, "34ff000c 11223344 00000085 01100900 45000014"); !bytes.Equal(b, want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		in      string
		want    Packet
		wantErr error
	}{
		"a G-PDU without options":                                {in: "30ff0004 00000001 45000014", want: Packet{Type: GPDU, TEID: 1, Payload: unhex(t, "45000014")}},
		"a downlink G-PDU with QFI 5 and reflective QoS":         {in: "34ff000c 00000002 00000085 01004500 45000014", want: Packet{Type: GPDU, TEID: 2, HasPSC: true, QFI: 5, RQI: true, Payload: unhex(t, "45000014")}},
		"the PSC after another extension header":                 {in: "34ff0010 00000002 00000040 01000085 01000100 45000014", want: Packet{Type: GPDU, TEID: 2, HasPSC: true, QFI: 1, Payload: unhex(t, "45000014")}},
		"an eight-octet PSC":                                     {in: "34ff0010 00000002 00000085 02000700 00000000 45000014", want: Packet{Type: GPDU, TEID: 2, HasPSC: true, QFI: 7, Payload: unhex(t, "45000014")}},
		"a sequence number without extension headers":            {in: "32ff0008 00000003 abcd0085 45000014", want: Packet{Type: GPDU, TEID: 3, HasSeq: true, Sequence: 0xabcd, Payload: unhex(t, "45000014")}},
		"octets after the length are padding of the lower layer": {in: "30ff0004 00000001 45000014 ffff", want: Packet{Type: GPDU, TEID: 1, Payload: unhex(t, "45000014")}},
		"an end marker":                                          {in: "30fe0000 00000004", want: Packet{Type: EndMarker, TEID: 4, Payload: []byte{}}},
		"seven octets":                                           {in: "30ff0000 000000", wantErr: ErrTruncated},
		"a length beyond the datagram":                           {in: "30ff0005 00000001 45000014", wantErr: ErrTruncated},
		"version 2":                                              {in: "50ff0000 00000001", wantErr: ErrVersion},
		"GTP prime":                                              {in: "20ff0000 00000001", wantErr: ErrVersion},
		"an extension header of length 0":                        {in: "34ff0008 00000001 00000085 00000000", wantErr: ErrExtension},
		"an extension header cut off":                            {in: "34ff0008 00000001 00000085 02000000", wantErr: ErrTruncated},
		"an unknown header to comprehend":                        {in: "34ff0008 00000001 000000c1 01000000", wantErr: ErrExtension},
		"optional fields announced, absent":                      {in: "34ff0000 00000001", wantErr: ErrTruncated},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(unhex(t, tt.in))
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("err = %v, want %v", err, tt.wantErr)
			}
			if tt.wantErr == nil {
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func TestErrorIndicationRoundTrip(t *testing.T) {
	b := AppendErrorIndication(nil, 0xCAFE, netip.MustParseAddr("172.30.3.16"))
	if want := unhex(t, "321a0010 00000000 00000000 10 0000cafe 85 0004 ac1e0310"); !bytes.Equal(b, want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
	p, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	teid, addr, err := ParseErrorIndication(p.Payload)
	if err != nil || teid != 0xCAFE || addr.String() != "172.30.3.16" {
		t.Errorf("got %#x %v %v", teid, addr, err)
	}
	if _, _, err := ParseErrorIndication([]byte{16, 0, 0, 0, 1}); err == nil {
		t.Error("an error indication without an address was accepted")
	}
}

// peer is a UPF made of one socket on another loopback address.
func peer(t *testing.T, address string) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(address), Port: Port})
	if err != nil {
		t.Skipf("no socket at %s:%d: %v", address, Port, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func read(t *testing.T, c *net.UDPConn) []byte {
	t.Helper()
	b := make([]byte, 2000)
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

func TestEndpoint(t *testing.T) {
	upf := peer(t, "127.30.3.16")
	e, err := Listen(netip.MustParseAddr("127.30.3.100"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skip(err)
	}
	served := make(chan error, 1)
	go func() { served <- e.Serve() }()

	type delivery struct {
		packet string
		qfi    uint8
	}
	down, lost := make(chan delivery, 1), make(chan struct{}, 1)
	upfAddr := netip.MustParseAddrPort("127.30.3.16:2152")
	tun := &Tunnel{
		PeerTEID: 0xA1, Peer: upfAddr, QFI: 9,
		Deliver: func(p []byte, qfi uint8) { down <- delivery{string(p), qfi} },
		Lost:    func() { lost <- struct{}{} },
	}
	e.Open(tun)

	if err := e.Send(tun, tun.QFI, append(make([]byte, HeaderLen), "hello"...)); err != nil {
		t.Fatal(err)
	}
	p, err := Parse(read(t, upf))
	if err != nil || p.TEID != 0xA1 || p.QFI != 9 || p.PDUType != 1 || string(p.Payload) != "hello" {
		t.Fatalf("uplink: %+v, %v", p, err)
	}

	gnb := &net.UDPAddr{IP: net.ParseIP("127.30.3.100"), Port: Port}
	send := func(b []byte) {
		if _, err := upf.WriteToUDP(b, gnb); err != nil {
			t.Fatal(err)
		}
	}
	b := append(make([]byte, HeaderLen), "world"...)
	PutUplink(b, tun.LocalTEID, 3, 5)
	b[13] = 0 // downlink
	send(b)
	if d := <-down; d.packet != "world" || d.qfi != 3 {
		t.Errorf("downlink: %+v", d)
	}

	send(unhex(t, "32010004 00000000 beef0000"))
	if got := read(t, upf); !bytes.Equal(got, unhex(t, "32020006 00000000 beef0000 0e00")) {
		t.Errorf("echo response: %x", got)
	}

	PutUplink(b, tun.LocalTEID+1, 3, 5)
	send(b)
	p, err = Parse(read(t, upf))
	if err != nil || p.Type != ErrorIndication {
		t.Fatalf("unknown TEID answered by %+v, %v", p, err)
	}
	if teid, addr, err := ParseErrorIndication(p.Payload); err != nil || teid != tun.LocalTEID+1 || addr.String() != "127.30.3.100" {
		t.Errorf("error indication names %#x at %v, %v", teid, addr, err)
	}

	send(AppendErrorIndication(nil, 0xA1, upfAddr.Addr()))
	<-lost
	send([]byte{1, 2, 3})
	send(unhex(t, "30fe0000 00000004"))
	send(unhex(t, "32010004 00000000 00010000"))
	read(t, upf) // the answer to the echo: everything before it has been handled
	c := &e.Counters
	if c.Malformed.Load() != 1 || c.EndMarkers.Load() != 1 || c.UnknownTEID.Load() != 1 || c.EchoRequests.Load() != 2 || c.ErrorIndications.Load() != 1 {
		t.Errorf("counters: malformed %d, end markers %d, unknown TEID %d, echo %d, error indications %d", c.Malformed.Load(), c.EndMarkers.Load(), c.UnknownTEID.Load(), c.EchoRequests.Load(), c.ErrorIndications.Load())
	}
	if tun.UplinkPackets.Load() != 1 || tun.DownlinkOctets.Load() != 5 {
		t.Error("tunnel counters")
	}
	e.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte{0x34, 0xff, 0, 12, 0, 0, 0, 2, 0, 0, 0, 0x85, 1, 0, 0x45, 0, 0x45, 0, 0, 20})
	f.Add(AppendErrorIndication(nil, 1, netip.MustParseAddr("10.0.0.1")))
	var w Watches
	w.Add(1, make(chan Reply, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err == nil && len(p.Payload) > len(b)-8 {
			t.Errorf("payload of %d octets out of %d", len(p.Payload), len(b))
		}
		_, _, _ = ParseErrorIndication(p.Payload)
		w.offer(nil, p.Payload)
	})
}
