// Package parallelism has a program that has little to do run Go on one CPU at a time, and on all that it may use as soon as there is more.
//
// Whenever a goroutine becomes ready and a CPU of GOMAXPROCS is idle, the runtime wakes a thread that looks for something to do. Where a program is asked for one thing
// at a time, of which each step wakes the next, that thread finds nothing, or takes a step away from the CPU that has all of it in its caches: between a tenth
// and a third of what a call over HTTP/2 costs, client and server. With one CPU nobody looks.
package parallelism

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"time"
)

const (
	// lookEvery is how long something that comes all at once has one CPU at most.
	lookEvery = 50 * time.Millisecond
	// busy is when one CPU may be too little, in percent of it: what comes waits about twice as long as it takes, which is a millisecond at most.
	busy = 70
	// idle is when one is plenty, after so many looks in a row.
	idle, idleLooks = 50, 10
)

// Follow the load until ctx ends; the program has all of its CPUs then. Who has set GOMAXPROCS has said what is to be, and it stays.
func Follow(ctx context.Context) {
	if os.Getenv("GOMAXPROCS") != "" || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	defer runtime.SetDefaultGOMAXPROCS()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	p := program{wide: true, quiet: idleLooks}
	for last, at := used(), time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, time := used(), time.Now()
		if p.look(now-last, time.Sub(at)) {
			p.set()
		}
		last, at = now, time
	}
}

// program is what is known of it.
type program struct {
	wide  bool // it runs on all CPUs
	quiet int  // looks in a row at which it was idle
}

// look at the CPU time that was used since the last look, and say whether wide has changed.
func (p *program) look(used, since time.Duration) (changed bool) {
	before := p.wide
	if used*100 < since*idle {
		p.quiet = min(p.quiet+1, idleLooks)
	} else {
		p.quiet = 0
	}
	switch {
	case used*100 > since*busy:
		p.wide = true
	case p.quiet == idleLooks:
		p.wide = false
	}
	return p.wide != before
}

func (p *program) set() {
	if p.wide {
		runtime.SetDefaultGOMAXPROCS() // what the container's limit says now
	} else {
		runtime.GOMAXPROCS(1)
	}
}

// used is the CPU time that the process has used.
func used() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
