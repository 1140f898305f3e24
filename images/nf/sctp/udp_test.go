package sctp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// vanish ends the client's end of an association as a killed process does: no packet goes out.
func vanish(c *SCTPConn) {
	a := c.assoc.(*udpAssociation)
	a.path.fail(net.ErrClosed)
}

func clientPort(c *SCTPConn) int { return c.LocalAddr().(*SCTPAddr).Port }

func TestNewInitFromAKnownAddressReplacesTheAssociation(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	l := listen(t, 0)
	first := dial(t, nil, l)
	old := accept(t, l)
	port := clientPort(first)
	vanish(first)

	second := dial(t, &SCTPAddr{IPAddrs: loopback, Port: port}, l)
	fresh := accept(t, l)
	if seen := readEnd(t, old, 3*time.Second); len(seen) != 1 || seen[0] != fmt.Sprintf("state %d", SCTP_COMM_LOST) {
		t.Errorf("the replaced association saw %v", seen)
	}
	if _, err := second.Write([]byte("again")); err != nil {
		t.Fatalf("write: %v", err)
	}
	if data, _ := receive(t, fresh); string(data) != "again" {
		t.Errorf("got %q", data)
	}
	if _, err := fresh.Write([]byte("welcome")); err != nil {
		t.Fatalf("write: %v", err)
	}
	if data, _ := receive(t, second); string(data) != "welcome" {
		t.Errorf("got %q", data)
	}
}

// parameter of an INIT, padded.
func parameter(kind uint16, value ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(parameterHeaderLength+len(value)))
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

// What other stacks say of themselves in their INITs is taken.
func TestInitsOfOtherStacks(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	extensions := parameter(0x8008, 0xc1, 0x80, 0x82, 0x40, 0x0f)
	for name, parameters := range map[string][][]byte{
		"usrsctp": {
			parameter(paramSupportedAddressTypes, 0, 5), parameter(0xc006, 0, 0, 0, 0), parameter(0x8000), parameter(0xc000), extensions,
			parameter(0x8002, bytes.Repeat([]byte{7}, 32)...), parameter(0x8004, 0, 1), parameter(0x8003, 0xc1, 0x80),
		},
		"Linux, with two addresses": {
			parameter(paramIPv4Address, 192, 0, 2, 1), parameter(paramIPv6Address, bytes.Repeat([]byte{1}, 16)...), parameter(paramSupportedAddressTypes, 0, 6, 0, 5),
			parameter(0x8000), parameter(0xc000), extensions,
		},
		"one that wants its cookie to live longer": {extensions, parameter(paramCookiePreservative, 0, 0, 0, 9)},
		"nothing said": {},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, 0)
			to := l.acceptor.(*udpListener).local.Port
			peer, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: loopback[0].IP, Port: to})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = peer.Close() }()
			say := func(tag uint32, kind chunkType, value []byte) {
				t.Helper()
				raw := controlPacket(5001, uint16(to), tag, kind, 0, value...)
				if _, err := peer.Write(raw); err != nil {
					t.Fatal(err)
				}
			}
			hear := func() packet {
				t.Helper()
				b := make([]byte, 2048)
				_ = peer.SetReadDeadline(time.Now().Add(time.Minute))
				n, err := peer.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				k, ok := parsePacket(b[:n])
				if !ok || k.verificationTag != 77 {
					t.Fatalf("not well-formed, or not for us: % x", b[:n])
				}
				return k
			}
			say(0, chunkInit, append([]byte{0, 0, 0, 77, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 1}, bytes.Join(parameters, nil)...))
			ack := hear()
			if ack.first != chunkInitAck {
				t.Fatalf("answered with chunk %d", ack.first)
			}
			var cookie []byte
			for rest := ack.raw[commonHeaderLength+chunkHeaderLength+16:]; len(rest) >= parameterHeaderLength; {
				size := int(binary.BigEndian.Uint16(rest[2:]))
				if binary.BigEndian.Uint16(rest) == paramStateCookie {
					cookie = rest[parameterHeaderLength:size]
				}
				rest = rest[min((size+3)&^3, len(rest)):]
			}
			say(ack.initiateTag, chunkCookieEcho, cookie)
			accept(t, l)
		})
	}
}

// What is left of an INIT is what was said, but addresses.
func TestWithoutAddresses(t *testing.T) {
	fixed := bytes.Repeat([]byte{7}, 16)
	unknown, extensions := parameter(0x0fff, 1, 2, 3, 4), parameter(0x8008, 0xc1)
	for name, c := range map[string]struct{ parameters, want [][]byte }{
		"nothing":                     {},
		"addresses alone":             {[][]byte{parameter(paramSupportedAddressTypes, 0, 5), parameter(paramIPv4Address, 192, 0, 2, 1)}, nil},
		"others stay, in their order": {[][]byte{unknown, parameter(paramSupportedAddressTypes, 0, 5), extensions}, [][]byte{unknown, extensions}},
		"one without an end":          {[][]byte{parameter(paramSupportedAddressTypes, 0, 5), {0, 5, 0, 99}}, [][]byte{parameter(paramSupportedAddressTypes, 0, 5), {0, 5, 0, 99}}},
		"one that is too short":       {[][]byte{{0, 5, 0, 3}}, [][]byte{{0, 5, 0, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := withoutAddresses(controlPacket(1, 2, 0, chunkInit, 0, append(bytes.Clone(fixed), bytes.Join(c.parameters, nil)...)...))
			setPorts(got, 1, 2)
			if k, ok := parsePacket(got); !ok || k.initiateTag != 0x07070707 {
				t.Fatalf("% x is no INIT", got)
			}
			is := got[commonHeaderLength+chunkHeaderLength+len(fixed):]
			if want := bytes.Join(c.want, nil); !bytes.Equal(is, want) {
				t.Errorf("got % x, want % x", is, want)
			}
		})
	}
}

func TestForgedPacketsTakeNoAssociationAway(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	l := listen(t, 0)
	client := dial(t, nil, l)
	server := accept(t, l)
	udp := l.acceptor.(*udpListener)
	from := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(clientPort(client)))
	forge := func(tag uint32, chunk []byte) packet {
		raw := append(make([]byte, commonHeaderLength), chunk...)
		binary.BigEndian.PutUint32(raw[4:], tag)
		setPorts(raw, from.Port(), uint16(udp.local.Port))
		k, ok := parsePacket(raw)
		if !ok {
			t.Fatalf("the forged packet % x is not well-formed", raw)
		}
		return k
	}
	init := append([]byte{byte(chunkInit), 0, 0, 20}, bytes.Repeat([]byte{7}, 16)...)
	udp.handleInit(udp.sockets[0], from, forge(0, init))
	if p := udp.find(peerKey{from, from.Port()}, forge(12345, []byte{byte(chunkAbort), 0, 0, 4})); p != nil {
		t.Error("an ABORT with a wrong verification tag was let through")
	}
	if _, err := client.Write([]byte("unharmed")); err != nil {
		t.Fatalf("write: %v", err)
	}
	if data, _ := receive(t, server); string(data) != "unharmed" {
		t.Errorf("got %q", data)
	}
}

func TestSilentPeerIsGivenUpWithinSeconds(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	client, server := pairWith(t, impatient)
	vanish(client)
	start := time.Now()
	want := fmt.Sprintf("state %d", SCTP_COMM_LOST)
	if seen := readEnd(t, server, time.Minute); len(seen) != 1 || seen[0] != want {
		t.Errorf("saw %v, want %q", seen, want)
	}
	// The listener asks for one unanswered heartbeat; by itself an association stands ten, that is 21 s.
	if took := time.Since(start); took > 8*heartbeatInterval {
		t.Errorf("took %v", took)
	}
}

func TestIdleAssociationLivesOnHeartbeats(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	client, server := pairWith(t, impatient)
	<-time.After(3 * heartbeatInterval)
	if _, err := client.Write([]byte("awake")); err != nil {
		t.Fatalf("write: %v", err)
	}
	if data, _ := receive(t, server); string(data) != "awake" {
		t.Errorf("got %q", data)
	}
}

func TestRestartedListenerAbortsAssociationsItDoesNotKnow(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: loopback[0].IP})
	if err != nil {
		t.Fatal(err)
	}
	before, after := listen(t, 0), listen(t, 0)
	relay := startRelay(t, front, before.Addr().(*SCTPAddr).Port, func() bool { return false })
	cfg := &SocketConfig{AssocInfo: &AssocInfo{AsocMaxRxt: 10}}
	relayPort := front.LocalAddr().(*net.UDPAddr).Port
	client, err := cfg.Dial("sctp", nil, &SCTPAddr{IPAddrs: loopback, Port: relayPort})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	_ = client.SubscribeEvents(allEvents)
	accept(t, before)
	relay.moveTo(after.acceptor.(*udpListener).sockets[0].LocalAddr().(*net.UDPAddr))
	if seen := readEnd(t, client, time.Minute); len(seen) != 1 || seen[0] != fmt.Sprintf("state %d", SCTP_COMM_LOST) {
		t.Errorf("saw %v", seen)
	}
}

// relay is a NAT as kube-proxy's is: the client sends to its address, the server sees another one.
type relay struct {
	front *net.UDPConn
	drop  func() bool

	mu     sync.Mutex
	target *net.UDPAddr
	back   map[netip.AddrPort]*net.UDPConn
}

func startRelay(t *testing.T, front *net.UDPConn, port int, drop func() bool) *relay {
	r := &relay{
		front: front, drop: drop, target: &net.UDPAddr{IP: loopback[0].IP, Port: port},
		back: map[netip.AddrPort]*net.UDPConn{},
	}
	t.Cleanup(func() {
		_ = front.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, s := range r.back {
			_ = s.Close()
		}
	})
	go func() {
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := front.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if s := r.backFor(from); s != nil && !drop() {
				r.mu.Lock()
				to := r.target
				r.mu.Unlock()
				_, _ = s.WriteToUDP(buf[:n], to)
			}
		}
	}()
	return r
}

func (r *relay) moveTo(target *net.UDPAddr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

func (r *relay) backFor(client netip.AddrPort) *net.UDPConn {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.back[client]; s != nil {
		return s
	}
	s, err := net.ListenUDP("udp", &net.UDPAddr{IP: loopback[0].IP})
	if err != nil {
		return nil
	}
	r.back[client] = s
	go func() {
		buf := make([]byte, maxDatagram)
		for {
			n, err := s.Read(buf)
			if err != nil {
				return
			}
			if !r.drop() {
				_, _ = r.front.WriteToUDPAddrPort(buf[:n], client)
			}
		}
	}()
	return s
}

func TestNATAndLossInBetween(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: loopback[0].IP})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, 0)
	var mu sync.Mutex
	random := rand.New(rand.NewSource(1))
	startRelay(t, front, l.Addr().(*SCTPAddr).Port, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return random.Intn(100) < 5
	})
	port := front.LocalAddr().(*net.UDPAddr).Port
	client, err := (&SocketConfig{}).Dial("sctp", nil, &SCTPAddr{IPAddrs: loopback, Port: port})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer func() { _ = client.Close() }()
	server := accept(t, l)
	if got := client.RemoteAddr().(*SCTPAddr).Port; got != port {
		t.Errorf("the client sees port %d, want the relay's %d", got, port)
	}
	const messages = 60
	go func() {
		for i := range messages {
			_, _ = client.Write(bytes.Repeat([]byte{byte(i + 1)}, 40*i+1))
		}
	}()
	for i := range messages {
		data, _ := receive(t, server)
		if len(data) != 40*i+1 || data[0] != byte(i+1) {
			t.Fatalf("message %d: %d octets, first %d", i, len(data), data[0])
		}
	}
}

func TestFullSendBufferIsAnError(t *testing.T) {
	t.Setenv(TransportEnv, "udp")
	client, _ := pair(t)
	if err := client.SetWriteBuffer(1000); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write(make([]byte, 1001)); err == nil {
		t.Error("more than the send buffer was taken")
	}
	if _, err := client.Write(make([]byte, 500)); err != nil {
		t.Errorf("write: %v", err)
	}
	if _, err := client.Write(nil); err == nil {
		t.Error("a message without data was taken")
	}
}

func TestAnswerToPacketsOutOfTheBlue(t *testing.T) {
	build := func(chunk chunkType) packet {
		k, ok := parsePacket(controlPacket(1000, 38412, 77, chunk, 0))
		if !ok {
			t.Fatal("the packet is not well-formed")
		}
		return k
	}
	for _, chunk := range []chunkType{chunkAbort, chunkShutdownComplete, chunkError} {
		if answer := answerOutOfTheBlue(build(chunk)); answer != nil {
			t.Errorf("chunk %d was answered", chunk)
		}
	}
	for chunk, want := range map[chunkType]chunkType{
		chunkCookieEcho: chunkAbort, chunkShutdown: chunkAbort, chunkShutdownAck: chunkShutdownComplete,
	} {
		k, ok := parsePacket(answerOutOfTheBlue(build(chunk)))
		if !ok || k.first != want || k.firstFlags != flagT || k.verificationTag != 77 ||
			k.sourcePort != 38412 || k.destinationPort != 1000 {
			t.Errorf("chunk %d was answered with %+v", chunk, k)
		}
	}
}

func FuzzParsePacket(f *testing.F) {
	f.Add(controlPacket(1, 2, 3, chunkShutdown, 0))
	f.Add(append(controlPacket(1, 2, 3, chunkInit, 0), make([]byte, 16)...))
	f.Add(controlPacket(1, 2, 3, chunkData, 3)[:13])
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= commonHeaderLength {
			setPorts(raw, 1000, 38412)
		}
		k, ok := parsePacket(raw)
		if !ok {
			return
		}
		if k.sourcePort != 1000 || k.destinationPort != 38412 {
			t.Errorf("ports %d, %d", k.sourcePort, k.destinationPort)
		}
		if k.initiateTag != 0 {
			less := withoutAddresses(bytes.Clone(raw))
			if setPorts(less, 1000, 38412); len(less) > len(raw)+3 {
				t.Errorf("% x has become % x", raw, less)
			}
			if again, ok := parsePacket(less); !ok || again.initiateTag != k.initiateTag || again.inboundStreams != k.inboundStreams {
				t.Errorf("% x has become % x, another INIT, or none", raw, less)
			}
		}
		if answer := answerOutOfTheBlue(k); answer != nil {
			if again, ok := parsePacket(answer); !ok || answerOutOfTheBlue(again) != nil {
				t.Errorf("the answer % x to % x is answered in turn", answer, raw)
			}
		}
	})
}

func FuzzParseNotification(f *testing.F) {
	f.Add(make([]byte, 20))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if n := parseNotification(raw); n != nil && len(raw) < 8 {
			t.Errorf("%d octets gave %v", len(raw), n)
		}
	})
}
