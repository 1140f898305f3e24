package agent_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/fakesmf"
)

// N4 over IPv6; a socket on [::] serves CP functions of both versions.
func TestN4OverIPv6(t *testing.T) {
	l := newLab(t, func(c *config.Config) {
		c.PFCP.Listen, c.PFCP.Advertise = netip.MustParseAddrPort("[::]:0"), netip.MustParseAddr("::1")
	})
	conn, err := net.DialUDP("udp6", nil, &net.UDPAddr{IP: net.IPv6loopback, Port: int(l.addr.Port())})
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer func() { _ = conn.Close() }()
	ask := func(m message.Message) message.Message {
		t.Helper()
		b := make([]byte, m.MarshalLen())
		if err := m.MarshalTo(b); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(fakesmf.Patience)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 65536)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := message.Parse(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	node := ie.NewNodeID("", "::1", "")
	setup, ok := ask(message.NewAssociationSetupRequest(1, node, ie.NewRecoveryTimeStamp(time.Now()))).(*message.AssociationSetupResponse)
	if !ok {
		t.Fatal("no Association Setup Response")
	}
	fakesmf.WantCause(t, setup.Cause, ie.CauseRequestAccepted)
	establish := func(seq uint32, f *ie.IE) *message.SessionEstablishmentResponse {
		a, ok := ask(message.NewSessionEstablishmentRequest(0, 0, 0, seq, 0, append([]*ie.IE{node, f}, fakesmf.Phone.Session()...)...)).(*message.SessionEstablishmentResponse)
		if !ok {
			t.Fatal("no Session Establishment Response")
		}
		return a
	}
	a := establish(2, ie.NewFSEID(7, nil, net.IPv6loopback))
	fakesmf.WantCause(t, a.Cause, ie.CauseRequestAccepted)
	if f, err := a.UPFSEID.FSEID(); err != nil || !f.IPv6Address.Equal(net.IPv6loopback) || f.HasIPv4() {
		t.Errorf("UP F-SEID %+v (%v), want ::1", f, err)
	}
	if a = establish(3, ie.NewFSEID(8, nil, nil)); a.Cause.Payload[0] != ie.CauseMandatoryIEIncorrect {
		t.Errorf("a CP F-SEID without address: cause %d", a.Cause.Payload[0])
	}
	// And an SMF on IPv4 beside it.
	s := fakesmf.New(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.addr.Port()))
	s.Associate()
	s.Established(9, fakesmf.UE{TEID: 2, N3: "172.30.3.16", Addr: "10.45.0.2"}.Session()...)
}
