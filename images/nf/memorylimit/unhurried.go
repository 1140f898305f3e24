package memorylimit

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// room is how much a program may allocate before the garbage collector runs, at least. Go runs it when the heap has doubled: a network function whose UEs
	// are in the session store has a heap of some MiB, and would collect it many times a second in a storm, which is a fifth of what it does then.
	room = 32 << 20
	// usual is the growth in percent that Go waits for, most bounds it for a program with next to nothing.
	usual, most = 100, 1000
)

// Unhurried has the garbage collector wait until room was allocated, or the heap has doubled if that is more; what that has left behind goes back to the system
// when the program has little to do (giveback.go). The limit of Respect holds all the same. A GOGC of the environment is somebody's decision and stays.
func Unhurried() {
	if os.Getenv("GOGC") != "" {
		return
	}
	inForce := usual
	adjust := func() {
		wanted := growth(live())
		if 5*max(wanted-inForce, inForce-wanted) > inForce { // a change stops the program for a moment
			inForce = wanted
			debug.SetGCPercent(wanted)
		}
	}
	adjust()
	eachCycle(adjust)
	go giveBackAlways()
}

// growth of a heap with so many live octets, in percent.
func growth(live uint64) int {
	return int(min(max(room*100/max(live, 1), usual), most))
}

// live octets of the heap, as the last collection has found them.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// cycle is garbage. It has a pointer, so that it lies by itself.
type cycle struct{ _ *byte }

// eachCycle calls f after each collection.
func eachCycle(f func()) {
	runtime.SetFinalizer(&cycle{}, func(*cycle) {
		f()
		eachCycle(f)
	})
}
