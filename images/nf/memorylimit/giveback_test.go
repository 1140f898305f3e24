package memorylimit

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Memory goes back when a program has little to do and something to give, and not otherwise.
func TestGiveBack(t *testing.T) {
	const mib = 1 << 20
	for sentence, x := range map[string]struct {
		readings []heap // the first at the beginning, then one each tick, and one behind each collection
		want     []int  // behind which of them there is a collection
	}{
		"with nothing to give":             {[]heap{{}, {allocated: mib}, {allocated: 2 * mib, garbage: mib}}, nil},
		"what is free in a moment of rest": {[]heap{{}, {allocated: mib, free: 50 * mib}, {allocated: mib}, {allocated: 2 * mib}}, []int{1}},
		"garbage in a moment of rest":      {[]heap{{}, {allocated: mib, garbage: 8 * mib}, {allocated: mib}, {allocated: 2 * mib}}, []int{1}},
		"not in a storm, but behind it": {
			[]heap{{}, {allocated: 500 * mib, free: 20 * mib, garbage: 20 * mib}, {allocated: 501 * mib, garbage: 32 * mib}, {allocated: 501 * mib}, {allocated: 502 * mib}},
			[]int{2},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []int
			n := 0
			tick := make(chan time.Time, len(x.readings))
			for range len(x.readings) - 1 - len(x.want) {
				tick <- time.Time{}
			}
			close(tick)
			giveBack(tick, func() heap {
				n++
				return x.readings[n-1]
			}, func() { got = append(got, n-1) })
			if diff := cmp.Diff(x.want, got); diff != "" {
				t.Errorf("collections (-want +got):\n%s", diff)
			}
		})
	}
}

// What the runtime says is what the decision is made of.
func TestReadHeap(t *testing.T) {
	// A collection that begins with so large a piece of memory, and ends before the reading, would leave nothing new.
	t.Cleanup(func(was int) func() { return func() { debug.SetGCPercent(was) } }(debug.SetGCPercent(-1)))
	debug.FreeOSMemory()
	kept = make([]byte, 3*room+room/4) // a quarter for what the collection before leaves to be swept
	before := readHeap()
	if before.garbage < 3*room {
		t.Errorf("%d octets are new", before.garbage)
	}
	kept = nil
	debug.FreeOSMemory()
	if now := readHeap(); now.allocated < before.allocated || now.free+now.garbage > worth {
		t.Errorf("behind a collection there are %+v", now)
	}
}
