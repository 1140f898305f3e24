package measure

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// loop is a Pinger that answers the sequence numbers that answer allows.
type loop struct {
	replies chan Reply
	answer  func(Echo) int // how many replies
}

func (l *loop) Send(e Echo) error {
	for range l.answer(e) {
		l.replies <- Reply{Sequence: e.Sequence, At: time.Now()}
	}
	return nil
}

func (l *loop) Replies() <-chan Reply { return l.replies }

func TestRunCountsWhatComesBack(t *testing.T) {
	tests := map[string]struct {
		answer       func(Echo) int
		wantReceived int
		wantLoss     float64
	}{
		"all":        {func(Echo) int { return 1 }, 10, 0},
		"none":       {func(Echo) int { return 0 }, 0, 100},
		"every 4th":  {func(e Echo) int { return int(e.Sequence % 4 / 3) }, 2, 80},
		"duplicates": {func(Echo) int { return 2 }, 10, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := &loop{make(chan Reply, 100), tt.answer}
			cfg := PingConfig{To: netip.MustParseAddr("172.30.6.1"), Count: 10, Interval: time.Millisecond, Timeout: 50 * time.Millisecond}
			res, err := Run(context.Background(), cfg, 1, l)
			if err != nil {
				t.Fatal(err)
			}
			if res.Sent != 10 || res.Received != tt.wantReceived || res.Loss != tt.wantLoss || (res.RTT != nil) != (tt.wantReceived > 0) {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestWarmUpIsNotCounted(t *testing.T) {
	sent := 0
	l := &loop{make(chan Reply, 100), func(Echo) int {
		if sent++; sent > 3 {
			return 1
		}
		return 0
	}}
	cfg := PingConfig{To: netip.MustParseAddr("172.30.6.1"), Count: 5, Interval: time.Millisecond, Timeout: time.Second, WarmUp: 5 * time.Second}
	res, err := Run(context.Background(), cfg, 1, l)
	if err != nil || res.WarmUp != 4 || res.Sent != 5 || res.Received != 5 {
		t.Errorf("%+v, %v", res, err)
	}
	l.answer = func(Echo) int { return 0 }
	cfg.WarmUp = 50 * time.Millisecond
	if _, err := Run(context.Background(), cfg, 1, l); err == nil {
		t.Error("a warm-up without a reply succeeded")
	}
}

func TestEchoAndIPv4(t *testing.T) {
	b := IPv4(netip.MustParseAddr("10.45.0.1"), netip.MustParseAddr("172.30.6.1"), 1, Echo{ID: 0x1234, Sequence: 1, Payload: []byte{0xAB}}.Marshal())
	if len(b) != 29 || Checksum(b[:20]) != 0 || Checksum(b[20:]) != 0 {
		t.Errorf("checksums: % x", b)
	}
	if want := "4500001d00000000400"; !strings.HasPrefix(hex.EncodeToString(b), want) {
		t.Errorf("got %x", b)
	}
	if !bytes.Equal(b[12:20], []byte{10, 45, 0, 1, 172, 30, 6, 1}) {
		t.Errorf("addresses: % x", b[12:20])
	}
}

func server(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ServeThroughput(l, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// shaped is a connection that lets so many octets a second through, so that the right answer is known.
type shaped struct {
	net.Conn
	perSecond int
	began     time.Time
	done      int
}

func (s *shaped) wait(n int) {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	s.done += n
	time.Sleep(time.Until(s.began.Add(time.Duration(s.done) * time.Second / time.Duration(s.perSecond))))
}

func (s *shaped) Write(b []byte) (int, error) {
	n, err := s.Conn.Write(b)
	s.wait(n)
	return n, err
}

func (s *shaped) CloseWrite() error { return s.Conn.(*net.TCPConn).CloseWrite() }

func TestThroughput(t *testing.T) {
	to := server(t)
	dial := Dialer(netip.MustParseAddr("127.0.0.1"), "").DialContext
	for _, direction := range []string{"up", "down"} {
		res, err := Throughput(context.Background(), dial, to, direction, 200*time.Millisecond)
		if err != nil {
			t.Fatalf("%s: %v", direction, err)
		}
		if res.Octets < 1<<20 || res.Mbps < 1 || res.Seconds < 0.1 || res.Seconds > 5 {
			t.Errorf("%s: %+v", direction, res)
		}
	}
	const rate = 8 << 20
	slow := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return &shaped{Conn: c, perSecond: rate}, err
	}
	res, err := Throughput(context.Background(), slow, to, "up", 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if want := rate * 8 / 1e6; res.Mbps < 0.5*want || res.Mbps > 2*want {
		t.Errorf("a path of %.0f Mbit/s measured as %.0f", want, res.Mbps)
	}
}

func TestThroughputRefused(t *testing.T) {
	to := server(t)
	dial := Dialer(netip.Addr{}, "").DialContext
	if _, err := Throughput(context.Background(), dial, to, "sideways", time.Second); err == nil {
		t.Error("a direction of sideways was accepted")
	}
	conn, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if b, err := io.ReadAll(conn); len(b) != 0 || err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Errorf("a stranger got %q, %v", b, err)
	}
}

func TestChecksum(t *testing.T) { // RFC 1071, 3
	if got := Checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("%#x", got)
	}
}
