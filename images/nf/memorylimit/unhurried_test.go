package memorylimit

import (
	"runtime/debug"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	for sentence, x := range map[string]struct {
		live uint64
		want int
	}{
		"nothing was collected yet":  {0, most},
		"next to nothing":            {1 << 20, most},
		"less than the room":         {8 << 20, 400},
		"as much as the room":        {32 << 20, usual},
		"a heap for which it is one": {1 << 30, usual},
	} {
		if got := growth(x.live); got != x.want {
			t.Errorf("%s: %d, want %d", sentence, got, x.want)
		}
	}
}

var kept []byte

// The collector follows the heap.
func TestUnhurried(t *testing.T) {
	before := debug.SetGCPercent(usual)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "")
	Unhurried()
	awaitPercent(t, func(p int) bool { return p > usual })
	kept = make([]byte, 2*room)
	awaitPercent(t, func(p int) bool { return p == usual })
	kept = nil
	awaitPercent(t, func(p int) bool { return p > usual })
}

// awaitPercent that is in force after a collection.
func awaitPercent(t *testing.T, is func(int) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // finalizers have a goroutine of their own
		debug.FreeOSMemory() // collects
		now := debug.SetGCPercent(usual)
		debug.SetGCPercent(now)
		if is(now) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the collector waits for %d percent", now)
		}
	}
}
