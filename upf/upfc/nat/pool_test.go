package nat

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/upf/abi"
)

func config(ports uint32, prefixes ...string) Config {
	c := Config{Ports: ports}
	for _, p := range prefixes {
		c.Prefixes = append(c.Prefixes, netip.MustParsePrefix(p))
	}
	return c
}

func ue(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 45, byte(i >> 8), byte(i)}) }

var now = time.Unix(1_800_000_000, 0)

func take(t *testing.T, p *Pool, i int, at time.Time) Block {
	t.Helper()
	b, ok := p.Take(ue(i), uint32(i), at)
	if !ok {
		t.Fatalf("UE %d gets no block", i)
	}
	return b
}

// Every block is given once, lies in its prefix, begins at a multiple of its size, and is where index says.
func TestAllBlocksAreGiven(t *testing.T) {
	for _, tt := range []struct {
		config Config
		want   int
	}{
		{config(1024, "203.0.113.0/30"), 4 * 63},
		{config(64, "203.0.113.7/32"), 1008},
		{config(2048, "203.0.113.0/31", "198.51.100.9/32"), 3 * 31},
		{config(32768, "203.0.113.0/28"), 16},
	} {
		t.Run(fmt.Sprint(tt.config), func(t *testing.T) {
			p := New(tt.config)
			seen := map[Block]bool{}
			for i := range tt.want {
				b := take(t, p, i, now)
				in := slices.ContainsFunc(tt.config.Prefixes, func(p netip.Prefix) bool { return p.Contains(b.Addr) })
				if seen[b] || !in || b.Port < abi.NatFirstPort || uint32(b.Port)%tt.config.Ports != 0 || !p.Holds(b, uint32(i)) || p.Holds(b, uint32(i)+1) {
					t.Fatalf("UE %d gets %v", i, b)
				}
				seen[b] = true
			}
			if b, ok := p.Take(ue(9999), 9999, now); ok {
				t.Errorf("one too many: %v", b)
			}
			if used, size := p.Used(); used != tt.want || size != tt.want {
				t.Errorf("%d of %d are used, want %d", used, size, tt.want)
			}
		})
	}
}

func TestAUEGetsItsBlockAgain(t *testing.T) {
	c := config(1024, "203.0.113.0/28")
	p := New(c)
	first := take(t, p, 7, now)
	p.Give(first, 7, ue(7), now)
	if b := take(t, p, 7, now); b != first {
		t.Errorf("%v and then %v", first, b)
	}
	if b := take(t, New(c), 7, now); b != first {
		t.Errorf("%v, and of the next upf-c %v", first, b)
	}
}

func TestBlocksRest(t *testing.T) {
	p := New(config(32768, "203.0.113.0/31"))
	a, b := take(t, p, 1, now), take(t, p, 2, now)
	p.Give(a, 1, ue(1), now)
	p.Give(a, 1, ue(1), now) // twice is once
	p.Give(b, 1, ue(1), now) // it is another's
	if !p.Holds(b, 2) {
		t.Fatal("a block is given back by who does not have it")
	}
	// There is no other one.
	if got := take(t, p, 3, now.Add(time.Second)); got != a {
		t.Errorf("%v, want %v, although it rests", got, a)
	}
	p.Give(a, 3, ue(3), now.Add(2*time.Second))
	p.Give(b, 2, ue(2), now.Add(3*time.Second))
	// The one that has rested for the longest.
	if got := take(t, p, 4, now.Add(4*time.Second)); got != a {
		t.Errorf("%v, want %v, which has rested for longer", got, a)
	}
	p = New(config(1024, "203.0.113.0/28"))
	a = take(t, p, 1, now)
	p.Give(a, 1, ue(1), now)
	rested := func(at time.Time) bool {
		for i := range 63*16 - 1 {
			if take(t, p, 100+i, at) == a {
				return true
			}
		}
		return false
	}
	if rested(now.Add(rest - time.Second)) {
		t.Error("a block is given to somebody else too early")
	}
	if got := take(t, p, 5000, now.Add(rest)); got != a {
		t.Errorf("%v, want %v, which has rested", got, a)
	}
}

func TestBlocksOfBefore(t *testing.T) {
	p := New(config(1024, "203.0.113.0/30"))
	mine := Block{netip.MustParseAddr("203.0.113.2"), 2048}
	for _, session := range []uint32{1, 1, 2} {
		if got := p.Keep(mine, session); got != (session == 1) {
			t.Errorf("session %d keeps the block of session 1: %v", session, got)
		}
	}
	for _, b := range []Block{
		{}, {mine.Addr, 2049}, {mine.Addr, 0}, {netip.MustParseAddr("203.0.113.4"), 2048}, {netip.MustParseAddr("2001:db8::1"), 2048},
	} {
		if p.Has(b) || p.Keep(b, 3) || p.Holds(b, 0) {
			t.Errorf("%v is taken for one", b)
		}
	}
	// Another configuration has some of them.
	q := New(config(1024, "198.51.100.0/30", "203.0.113.2/32"))
	p.Keep(Block{netip.MustParseAddr("203.0.113.1"), 2048}, 5)
	q.KeepAll(p)
	if used, _ := q.Used(); used != 1 || !q.Holds(mine, 1) {
		t.Errorf("%d blocks are kept", used)
	}
}

// Against a plain account.
func TestAgainstAPlainAccount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := New(config(8192, "203.0.113.0/29", "198.51.100.0/31"))
	has := map[int]Block{}
	at := now
	for range 20000 {
		at = at.Add(time.Duration(r.IntN(20)) * time.Second)
		i := r.IntN(100)
		if b, ok := has[i]; ok {
			p.Give(b, uint32(i), ue(i), at)
			delete(has, i)
			continue
		}
		b, ok := p.Take(ue(i), uint32(i), at)
		if ok != (len(has) < 70) {
			t.Fatalf("%d of 70 are given, and one more: %v", len(has), ok)
		}
		if !ok {
			continue
		}
		for j, other := range has {
			if other == b {
				t.Fatalf("%v is given to %d and to %d", b, j, i)
			}
		}
		has[i] = b
	}
	if used, _ := p.Used(); used != len(has) {
		t.Errorf("%d are used, want %d", used, len(has))
	}
}

func TestOfWhatUPFUSays(t *testing.T) {
	var h abi.Hello
	h.Networks = 3
	prefix := func(a string, bits uint8) abi.NatPrefix {
		return abi.NatPrefix{AddrBe: abi.AddrBe(netip.MustParseAddr(a)), Len: bits}
	}
	h.Network[1].NatPorts, h.Network[1].NatPrefixes = 1024, 2
	h.Network[1].NatPrefix = [8]abi.NatPrefix{prefix("203.0.113.0", 28), prefix("198.51.100.7", 32)}
	h.Network[2].NatPorts, h.Network[2].NatPrefixes = 1000, 1 // no power of two
	got := Of(&h)
	if len(got) != 3 || got[0].Ports != 0 || !got[1].Equal(config(1024, "203.0.113.0/28", "198.51.100.7/32")) || got[2].Ports != 0 {
		t.Errorf("got %v", got)
	}
	if text := got[1].Text(Block{Port: 2048}); text != "2048-3071" {
		t.Errorf("got %s", text)
	}
}
