package peers

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/upf/upfc/config"
)

func TestPaths(t *testing.T) {
	c := config.Echo{Interval: time.Minute, Timeout: 3 * time.Second, Attempts: 3}
	peer, other := netip.MustParseAddr("172.30.3.100"), netip.MustParseAddr("2001:db8::1")
	used := map[netip.Addr]int{peer: 1}
	start := time.Unix(1_800_000_000, 0)
	p := newPaths()
	last := uint16(0)
	at := func(after time.Duration, wantSent []uint16, wantFailed bool) {
		t.Helper()
		send, failed := p.turn(start.Add(after), used, c)
		var got []uint16
		for _, e := range send {
			if e.repeated != (e.sequence == last) {
				t.Errorf("after %v: request %d repeated: %t", after, e.sequence, e.repeated)
			}
			got, last = append(got, e.sequence), e.sequence
		}
		if diff := cmp.Diff(wantSent, got); diff != "" || (len(failed) > 0) != wantFailed {
			t.Errorf("after %v: failed %v, sequence numbers (-want +got):\n%s", after, failed, diff)
		}
	}
	state := func(want string) {
		t.Helper()
		i := Peer{Address: peer, Path: "unknown"}
		if p.info(&i); i.Path != want {
			t.Errorf("path is %s, want %s", i.Path, want)
		}
	}
	at(0, []uint16{1}, false)
	state("unknown")
	at(time.Second, nil, false)
	if p.answered(start.Add(2*time.Second), peer, 9, c) || p.answered(start, other, 1, c) {
		t.Error("an answer to nothing recovers a path")
	}
	at(3*time.Second, []uint16{1}, false)
	if p.answered(start.Add(4*time.Second), peer, 1, c) {
		t.Error("a path recovered that had not failed")
	}
	state("up")
	at(63*time.Second, nil, false)
	at(64*time.Second, []uint16{2}, false)
	p.askAnew(start.Add(64 * time.Second)) // by another upf-u
	at(64*time.Second, []uint16{3}, false)
	at(67*time.Second, []uint16{3}, false)
	at(70*time.Second, []uint16{3}, false)
	at(73*time.Second, nil, true)
	state("down")
	if p.answered(start.Add(74*time.Second), peer, 3, c) {
		t.Error("an answer that came too late counts")
	}
	// It is asked on, once an interval, and told of once.
	at(124*time.Second, []uint16{4}, false)
	at(127*time.Second, []uint16{4}, false)
	at(130*time.Second, []uint16{4}, false)
	at(133*time.Second, nil, false)
	at(184*time.Second, []uint16{5}, false)
	if !p.answered(start.Add(185*time.Second), peer, 5, c) {
		t.Error("a path that failed did not recover")
	}
	state("up")
	used = map[netip.Addr]int{other: 1}
	at(186*time.Second, []uint16{6}, false)
	state("unknown")
}
