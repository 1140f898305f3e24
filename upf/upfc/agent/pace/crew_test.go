package pace

import (
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"core5g.dev/core5g/upf/upfc/machine"
)

// job is what there is to do.
type job struct{ index uint32 }

// A crew never has more goroutines than it may, does each job, and a job that is given while it is done is done
// again.
func TestCrew(t *testing.T) {
	const limit, jobs = 5, 1000
	var mu sync.Mutex
	var done sync.WaitGroup
	now, most, times, told := 0, 0, map[uint32]int{}, map[uint32]bool{}
	gate, started := make(chan struct{}), make(chan struct{}, 2*jobs)
	var c *Crew[job]
	c = NewCrew(limit, machine.Real().Go, func(j job, saidSo bool) {
		defer done.Done()
		mu.Lock()
		now++
		most = max(most, now)
		times[j.index]++
		told[j.index] = told[j.index] || saidSo
		again := j.index == 7 && times[7] == 1
		mu.Unlock()
		if again {
			done.Add(1)
			c.Add(j, true)
		}
		started <- struct{}{}
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
	})
	done.Add(jobs)
	for i := range uint32(jobs) {
		c.Add(job{index: i}, false)
	}
	for i := range uint32(jobs) { // those that wait are not given twice, and are told if one says so
		if i >= jobs/2 {
			c.Add(job{index: i}, i%2 == 0)
		}
	}
	for range limit {
		<-started
	}
	close(gate)
	done.Wait()
	if most != limit {
		t.Errorf("%d at once, want %d", most, limit)
	}
	for i := range uint32(jobs) {
		want, wantTold := 1, i >= jobs/2 && i%2 == 0
		if i == 7 {
			want, wantTold = 2, true
		}
		if times[i] != want || told[i] != wantTold {
			t.Errorf("job %d was done %d times, told %t; want %d, %t", i, times[i], told[i], want, wantTold)
		}
	}
}

// Each CP function has its own, and those that have nothing to do are not kept for ever.
func TestCrews(t *testing.T) {
	var done sync.WaitGroup
	gate := make(chan struct{})
	busy := netip.MustParseAddr("10.0.0.1")
	c := NewCrews(1, machine.Real().Go, func(j job, _ bool) {
		defer done.Done()
		if j.index == 0 {
			<-gate
		}
	})
	done.Add(1)
	c.Add(busy, job{})
	addr := netip.MustParseAddr("10.1.0.0")
	for range 3 * crewsMax {
		addr = addr.Next()
		done.Add(1)
		c.Add(addr, job{index: 1}) // is not held up by the first one
		for !c.to[addr].idle() {
			runtime.Gosched()
		}
	}
	if len(c.to) > crewsMax || c.to[busy] == nil {
		t.Errorf("%d crews, want at most %d; the one that works is there: %t", len(c.to), crewsMax, c.to[busy] != nil)
	}
	close(gate)
	done.Wait()
}
