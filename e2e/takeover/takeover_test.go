package takeover

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/ran/gtpu"
)

var (
	loopback = netip.MustParseAddrPort("127.0.0.1:0")
	ue       = netip.MustParseAddr("10.46.200.1")
	server   = netip.MustParseAddr("172.30.6.1")
)

// upf answers echo requests as UPF and server together would; those that lost says so of get no answer.
func upf(t *testing.T, lost func(n int) bool) netip.AddrPort {
	t.Helper()
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		b := make([]byte, 2048)
		for n := 0; ; n++ {
			size, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			if lost(n) {
				continue
			}
			ip := b[gtpu.HeaderLen:size]
			copy(ip[12:16], server.AsSlice())
			copy(ip[16:20], ue.AsSlice())
			ip[ipv4Len] = icmpReply
			for range 1 + n%2 { // every other answer comes twice
				_, _ = conn.WriteToUDPAddrPort(b[:size], from)
			}
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func echo(t *testing.T, upf netip.AddrPort) *Echo {
	t.Helper()
	e, err := OpenEcho(loopback, upf, 7, ue, server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestEchoCountsEachAnswerOnce(t *testing.T) {
	const lost = 3
	e := echo(t, upf(t, func(n int) bool { return n >= 10 && n < 10+lost }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Send(ctx, 1000) }()
	await(t, "50 answers", func() bool { return e.Count().Answered >= 50 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	await(t, "all answers but those that were lost", func() bool { c := e.Count(); return c.Sent-c.Answered == lost })
}

// The time behind the last request is none without packets.
func TestAGapEndsWithTheRequests(t *testing.T) {
	e := echo(t, upf(t, func(int) bool { return false }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Send(ctx, 1000) }()
	await(t, "an answer", func() bool { return e.Count().Answered > 0 })
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	await(t, "all answers", func() bool { c := e.Count(); return c.Answered == c.Sent })
	gap := e.Count().GapMS
	time.Sleep(10 * time.Millisecond)
	if got := e.Count().GapMS; got != gap {
		t.Errorf("the gap grew from %v to %v ms without requests", gap, got)
	}
}

func TestGaps(t *testing.T) {
	e := &Echo{answered: map[uint64]bool{}}
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	e.begun, e.last, e.ended = at(0), at(0), at(700)
	mark := uint64(e.begun.UnixNano())
	for i, ms := range []int{5, 10, 310, 315} {
		e.note(mark+uint64(i), at(ms))
	}
	e.note(mark-1, at(400)) // of an earlier run
	e.note(mark, at(500))   // twice
	e.sent = 6
	if diff := cmp.Diff(Echoes{Sent: 6, Answered: 4, GapMS: 385, GapAt: at(315)}, e.Count()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	e := &Echo{ue: ue}
	reply := func(change func(b []byte)) []byte {
		b := (&Echo{ue: server, to: ue, teid: 1}).request(42)
		b[gtpu.HeaderLen+ipv4Len] = icmpReply
		change(b)
		return b
	}
	for name, b := range map[string][]byte{
		"a request":           (&Echo{ue: server, to: ue}).request(42),
		"to another UE":       reply(func(b []byte) { b[gtpu.HeaderLen+19]++ }),
		"UDP":                 reply(func(b []byte) { b[gtpu.HeaderLen+9] = 17 }),
		"IPv6":                reply(func(b []byte) { b[gtpu.HeaderLen] = 0x65 }),
		"a header of nothing": reply(func(b []byte) { b[gtpu.HeaderLen] = 0x40 }),
		"a header too long":   reply(func(b []byte) { b[gtpu.HeaderLen] = 0x4f }),
		"no G-PDU":            reply(func(b []byte) { b[1] = gtpu.EchoRequest }),
		"cut short":           reply(func([]byte) {})[:gtpu.HeaderLen+ipv4Len],
		"nothing":             nil,
	} {
		if mark, is := e.answerMark(b); is {
			t.Errorf("%s: an answer to %d", name, mark)
		}
	}
	if mark, is := e.answerMark(reply(func([]byte) {})); !is || mark != 42 {
		t.Errorf("an answer is %d, %v", mark, is)
	}
}

var (
	address = netip.MustParseAddr("172.30.3.16")
	other   = netip.MustParseAddr("172.30.3.17")
	macA    = net.HardwareAddr{2, 0, 0, 0, 0, 0xa}
	macB    = net.HardwareAddr{2, 0, 0, 0, 0, 0xb}
)

// says is ARP in which a MAC address says that it has an IPv4 address.
func says(mac net.HardwareAddr, about netip.Addr) []byte {
	return arpRequest(mac, about, about)
}

func packet(mac net.HardwareAddr, from netip.Addr) []byte {
	b := make([]byte, etherLen+ipv4Len)
	copy(b[6:], mac)
	binary.BigEndian.PutUint16(b[12:], etherIPv4)
	copy(b[etherLen+ipv4SourceAt:], from.AsSlice())
	return b
}

func TestWhoAnswers(t *testing.T) {
	type frame struct {
		at int // milliseconds
		b  []byte
	}
	for name, test := range map[string]struct {
		frames []frame
		both   time.Duration // answer
		two    time.Duration // forward
		owners int
	}{
		"one": {frames: []frame{{0, says(macA, address)}, {10, packet(macA, address)}}, owners: 1},
		"one after the other": {
			frames: []frame{{0, says(macA, address)}, {10, packet(macA, address)}, {200, says(macB, address)}, {300, packet(macB, address)}}, owners: 2,
		},
		"the first one goes on": {
			frames: []frame{{0, says(macA, address)}, {200, says(macB, address)}, {230, says(macA, address)}, {240, says(macB, address)}},
			both:   30 * time.Millisecond, owners: 2,
		},
		"the first one only forwards on": {
			frames: []frame{{0, says(macA, address)}, {10, packet(macA, address)}, {200, says(macB, address)}, {210, packet(macB, address)}, {250, packet(macA, address)}},
			two:    40 * time.Millisecond, owners: 2,
		},
		"the first one comes back": {
			frames: []frame{{0, says(macA, address)}, {200, says(macB, address)}, {5000, says(macA, address)}},
			both:   4800 * time.Millisecond, owners: 2,
		},
		"another address": {frames: []frame{{0, says(macA, address)}, {10, says(macB, other)}, {20, packet(macB, other)}, {30, says(macA, address)}}, owners: 1},
		"cut short":       {frames: []frame{{0, says(macA, address)[:etherLen+arpLen-1]}, {0, packet(macA, address)[:etherLen+1]}, {0, nil}}},
		"who asks":        {frames: []frame{{0, arpRequest(macA, other, address)}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOwners(address)
			for _, f := range test.frames {
				o.Frame(f.b, time.Unix(1000, 0).Add(time.Duration(f.at)*time.Millisecond))
			}
			both, two, owners := o.Both()
			if both != test.both || two != test.two || len(owners) != test.owners {
				t.Errorf("two answered for %s and forwarded for %s, owners %v; want %s, %s, %d", both, two, owners, test.both, test.two, test.owners)
			}
			o.Reset()
			if _, _, owners := o.Both(); len(owners) > 0 {
				t.Errorf("after a reset: %v", owners)
			}
		})
	}
}
