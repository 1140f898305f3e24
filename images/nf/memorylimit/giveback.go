package memorylimit

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// lookEvery is how often a program is asked whether it has little to do: it has where it allocated less than calm since.
	lookEvery = 15 * time.Second
	calm      = room / 4
	// worth is how much must be had for a collection out of turn.
	worth = room / 4
)

// heap at a moment, in octets.
type heap struct {
	// allocated since the program began, free of what the system gave, garbage at most: what was allocated since the last collection.
	allocated, free, garbage uint64
}

// giveBack to the system what a program does not use any more, each time it has had little to do from one tick to the next. The collector alone does not: behind
// a storm it waits for room, or for the heap to double, and a program at rest takes hours to get there.
func giveBack(tick <-chan time.Time, read func() heap, collect func()) {
	before := read()
	for range tick {
		now := read()
		if now.allocated-before.allocated < calm && now.free+now.garbage >= worth {
			collect()
			now = read()
		}
		before = now
	}
}

func readHeap() heap {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(s)
	objects, live := s[2].Value.Uint64(), s[3].Value.Uint64()
	return heap{allocated: s[0].Value.Uint64(), free: s[1].Value.Uint64(), garbage: objects - min(live, objects)}
}

// giveBackAlways for as long as the program runs.
func giveBackAlways() { giveBack(time.Tick(lookEvery), readHeap, debug.FreeOSMemory) }
