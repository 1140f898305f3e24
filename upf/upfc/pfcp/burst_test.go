package pfcp

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Datagrams of more peers than one system call takes, of either IP version, by a socket of both or of one.
func TestBursts(t *testing.T) {
	for name, tt := range map[string]struct {
		network, listen string
		peers           []string
	}{
		"a socket of IPv4": {"udp4", "127.0.0.1:0", []string{"127.0.0.1", "127.0.0.2"}},
		"a socket of both": {"udp", "[::]:0", []string{"127.0.0.1", "::1"}},
		"a socket of IPv6": {"udp6", "[::1]:0", []string{"::1"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.ListenPacket(tt.network, tt.listen)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			c, err := l.(*net.UDPConn).SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }); err != nil {
				t.Fatal(err)
			}
			port := l.LocalAddr().(*net.UDPAddr).Port
			const each = datagrams // of every peer
			peers := map[netip.AddrPort]*net.UDPConn{}
			for _, addr := range tt.peers {
				p, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(addr)}, &net.UDPAddr{IP: net.ParseIP(addr), Port: port})
				if tt.listen == "127.0.0.1:0" {
					p, err = net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(addr)}, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
				}
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = p.Close() }()
				peers[p.LocalAddr().(*net.UDPAddr).AddrPort()] = p
			}
			before := time.Now().Add(-time.Second)
			for local, p := range peers {
				for i := range each {
					if _, err := p.Write(fmt.Appendf(nil, "%s %d", local, i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			in, out := newBurst(1<<16), newBurst(0)
			next := map[netip.AddrPort]int{}
			for got := 0; got < each*len(peers); {
				n, err := in.receive(c)
				if err != nil {
					t.Fatal(err)
				}
				read := time.Now().Add(time.Hour) // which no datagram comes at
				for i := range n {
					from := in.from(i)
					if want := fmt.Sprintf("%s %d", from, next[from]); string(in.octets(i)) != want {
						t.Fatalf("%q from %s, want %q", in.octets(i), from, want)
					}
					next[from]++
					if at := in.arrived(i, read); at.Before(before) || at.After(time.Now().Add(time.Second)) {
						t.Fatalf("it came at %v, which it did not", at)
					}
					out.put(i, []byte("answer to "+string(in.octets(i))))
					out.to(i, from, tt.network != "udp4")
				}
				for sent := 0; sent < n; {
					k, err := out.send(c, sent, n-sent)
					if err != nil {
						t.Fatal(err)
					}
					sent += k
				}
				got += n
			}
			for local, p := range peers {
				for i := range each {
					b := make([]byte, 100)
					if err := p.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
						t.Fatal(err)
					}
					n, err := p.Read(b)
					if want := fmt.Sprintf("answer to %s %d", local, i); err != nil || string(b[:n]) != want {
						t.Fatalf("%q, %v; want %q", b[:n], err, want)
					}
				}
			}
		})
	}
}

// What cannot be sent is the first one's fault, and the others go.
func TestBurstWithAPeerThatThereCannotBe(t *testing.T) {
	l, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	out := newBurst(0)
	self := l.LocalAddr().(*net.UDPAddr).AddrPort()
	for i, to := range []netip.AddrPort{netip.MustParseAddrPort("[2001:db8::1]:8805"), self} {
		out.put(i, []byte{byte(i)})
		out.to(i, to, false)
	}
	if n, err := out.send(c, 0, 2); err == nil {
		t.Errorf("%d are sent to an IPv6 address by a socket of IPv4", n)
	}
	if n, err := out.send(c, 1, 1); n != 1 || err != nil {
		t.Errorf("%d, %v: the other one is not sent", n, err)
	}
	in := newBurst(100)
	if n, err := in.receive(c); n != 1 || err != nil || in.octets(0)[0] != 1 || in.from(0) != self {
		t.Errorf("%d, %v: % x from %s", n, err, in.octets(0), in.from(0))
	}
}
