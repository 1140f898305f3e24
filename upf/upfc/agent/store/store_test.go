package store

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"core5g.dev/core5g/upf/upfc/rules"
)

// Blobs of all sizes come, grow, shrink and go; each is what was put, and cells are used again.
func TestSlab(t *testing.T) {
	type kept struct {
		unit uint32
		blob []byte
	}
	var s slab
	r := rand.New(rand.NewPCG(1, 2))
	held := map[int]kept{}
	blob := func() []byte {
		size := 1 + r.IntN(600)
		if r.IntN(50) == 0 {
			size = 1 + r.IntN(200_000)
		}
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for i := range 20_000 {
		k := r.IntN(500)
		old, ok := held[k]
		var err error
		switch {
		case !ok:
			n := kept{blob: blob()}
			n.unit, err = s.put(n.blob)
			held[k] = n
		case i%3 == 0:
			s.drop(old.unit, len(old.blob))
			delete(held, k)
		default:
			n := kept{blob: blob()}
			n.unit, err = s.put(n.blob)
			s.drop(old.unit, len(old.blob))
			held[k] = n
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			for k, h := range held {
				if !bytes.Equal(s.cell(h.unit, len(h.blob)), h.blob) {
					t.Fatalf("step %d: blob %d of %d octets is another one", i, k, len(h.blob))
				}
			}
		}
	}
	for _, h := range held {
		s.drop(h.unit, len(h.blob))
	}
	if s.used != 0 {
		t.Errorf("%d octets in use, though nothing is held", s.used)
	}
	if n := len(s.chunks); n > 60 {
		t.Errorf("%d chunks: cells are not used again", n)
	}
}

// The table finds what a map finds, through growth and removals in the middle of runs.
func TestTunnels(t *testing.T) {
	var table tunnels
	r := rand.New(rand.NewPCG(3, 4))
	want := map[rules.FTEID]map[uint32]int{}
	key := func() rules.FTEID {
		return rules.FTEID{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(3))}), TEID: r.Uint32N(300)}
	}
	for range 50_000 {
		f, index := key(), r.Uint32N(20)
		if want[f] == nil {
			want[f] = map[uint32]int{}
		}
		if r.IntN(2) == 0 {
			table.add(f, index)
			want[f][index]++
		} else {
			table.remove(f, index)
			if want[f][index]--; want[f][index] <= 0 {
				delete(want[f], index)
			}
		}
	}
	for f, users := range want {
		n := 0
		for _, index := range table.find(f) {
			if users[index] == 0 {
				t.Errorf("%v: session %d is found and has no such tunnel", f, index)
			}
			n++
		}
		total := 0
		for _, c := range users {
			total += c
		}
		if n != total {
			t.Errorf("%v: %d entries, want %d", f, n, total)
		}
	}
}
