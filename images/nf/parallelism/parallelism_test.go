package parallelism

import (
	"context"
	"runtime"
	"testing"
	"time"
)

const ms = time.Millisecond

// One look at much to do is enough for all CPUs; one CPU comes back when there has been little for half a second.
func TestLook(t *testing.T) {
	p := program{}
	for n, x := range []struct {
		used          time.Duration
		changed, wide bool
	}{
		{5 * ms, false, false},
		{35 * ms, false, false}, // as much as busy is not more
		{36 * ms, true, true},
		{80 * ms, false, true},
		{24 * ms, false, true},
	} {
		if changed := p.look(x.used, lookEvery); changed != x.changed || p.wide != x.wide {
			t.Errorf("look %d: changed %t, wide %t; want %t, %t", n, changed, p.wide, x.changed, x.wide)
		}
	}
	for n := range idleLooks - 2 {
		if p.look(24*ms, lookEvery) {
			t.Fatalf("narrow after %d looks", n+2)
		}
	}
	if p.look(25*ms, lookEvery) {
		t.Error("narrow although there is more to do")
	}
	for n := range idleLooks - 1 {
		if p.look(0, lookEvery) {
			t.Fatalf("narrow %d looks later", n+1)
		}
	}
	if !p.look(0, lookEvery) || p.wide {
		t.Error("it stays wide")
	}
}

func await(t *testing.T, procs int, what string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); runtime.GOMAXPROCS(0) != procs; time.Sleep(ms) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: GOMAXPROCS is %d, want %d", what, runtime.GOMAXPROCS(0), procs)
		}
	}
}

// A program is on one CPU soon, on all while it computes, and in the end.
func TestFollow(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	if all == 1 {
		t.Skip("this machine has one CPU")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Follow(ctx)
	}()
	await(t, 1, "nothing to do")
	computing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for computing.Err() == nil {
		}
	}()
	await(t, all, "much to do")
	stop()
	await(t, 1, "nothing to do again")
	cancel()
	<-ended
	if n := runtime.GOMAXPROCS(0); n != all {
		t.Errorf("GOMAXPROCS is %d in the end, want %d", n, all)
	}
}

// What somebody has set stays.
func TestFollowWhatIsSet(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	all := runtime.GOMAXPROCS(0)
	Follow(t.Context()) // it returns
	if n := runtime.GOMAXPROCS(0); n != all {
		t.Errorf("GOMAXPROCS is %d, want %d", n, all)
	}
}
