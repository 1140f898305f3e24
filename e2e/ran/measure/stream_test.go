package measure

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		numbers []uint64
		want    Order
	}{
		"in order":                    {[]uint64{0, 1, 2, 3}, Order{Received: 4}},
		"one missing":                 {[]uint64{0, 1, 3}, Order{Received: 3}},
		"one twice":                   {[]uint64{0, 1, 1, 2, 0}, Order{Received: 3, Duplicated: 2}},
		"one late":                    {[]uint64{0, 2, 1, 3}, Order{Received: 4, OutOfOrder: 1}},
		"the first is not number 0":   {[]uint64{1, 0}, Order{Received: 2, OutOfOrder: 1}},
		"a number that no stream has": {[]uint64{0, 1 << 60}, Order{Received: 1}},
		"far apart":                   {[]uint64{0, 900000, 5}, Order{Received: 3, OutOfOrder: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var o Order
			for _, n := range tt.numbers {
				o.Take(n)
			}
			if diff := cmp.Diff(tt.want, o, cmpopts.IgnoreUnexported(Order{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDatagramReadsWhatUDPWrites(t *testing.T) {
	for _, pair := range [][2]string{{"10.45.0.1", "172.30.6.1"}, {"fd00:45::1", "fd00:6::1"}} {
		src, dst := netip.AddrPortFrom(netip.MustParseAddr(pair[0]), 40000), netip.AddrPortFrom(netip.MustParseAddr(pair[1]), StreamPort)
		from, port, payload, ok := Datagram(UDP(src, dst, StreamDatagram(7, 42, 100)))
		if !ok || from != src || port != StreamPort {
			t.Fatalf("%s: from %s to port %d, %v", pair[0], from, port, ok)
		}
		if id, n, ok := ReadStreamDatagram(payload); !ok || id != 7 || n != 42 || len(payload) != 100 {
			t.Errorf("stream %d, number %d, %v, %d octets", id, n, ok, len(payload))
		}
	}
}

func TestStreamServer(t *testing.T) {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP("127.0.0.1")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ServeStreams(ctx, server, slog.New(slog.DiscardHandler)) }()
	client, err := net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send := func(b []byte) {
		t.Helper()
		if _, err := client.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	receive := func() []byte {
		t.Helper()
		_ = client.SetReadDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 65536)
		n, err := client.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return b[:n]
	}
	c := StreamConfig{Direction: "down", Count: 50, Rate: 10000, Size: 200}
	send(StreamRequest(1, c, false))
	send(StreamRequest(1, c, false)) // the same again begins nothing
	send([]byte("nonsense"))
	send([]byte("core5g-stream 1 2 down 1 1 1\n")) // too small
	var o Order
	for range c.Count {
		id, n, ok := ReadStreamDatagram(receive())
		if !ok || id != 1 {
			t.Fatalf("stream %d, %v", id, ok)
		}
		o.Take(n)
	}
	if o.Received != 50 || o.Duplicated != 0 {
		t.Errorf("%+v", o)
	}
	for _, n := range []uint64{0, 1, 3, 3, 2} {
		send(StreamDatagram(9, n, 64))
	}
	send(StreamRequest(9, c, true))
	var up Order
	if err := json.Unmarshal(receive(), &up); err != nil || up.Received != 4 || up.Duplicated != 1 || up.OutOfOrder != 1 {
		t.Errorf("%+v, %v", up, err)
	}
	cancel()
	server.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestStreamConfig(t *testing.T) {
	good := StreamConfig{Direction: "up", Count: 1, Rate: 1, Size: 64}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*StreamConfig){
		"not up or down": func(c *StreamConfig) { c.Direction = "left" }, "a count of": func(c *StreamConfig) { c.Count = 0 },
		"a rate of": func(c *StreamConfig) { c.Rate = -1 }, "a size of": func(c *StreamConfig) { c.Size = 5 },
	} {
		c := good
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(UDP(netip.MustParseAddrPort("10.45.0.1:1"), netip.MustParseAddrPort("172.30.6.1:2"), []byte("x")))
	f.Add(UDP(netip.MustParseAddrPort("[fd00::1]:1"), netip.MustParseAddrPort("[fd00::2]:2"), []byte("x")))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if _, _, payload, ok := Datagram(b); ok {
			_, _, _ = ReadStreamDatagram(payload)
		}
	})
}
