package registrations

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/ran/ue"
)

// The worker that holds the UE's shard is killed at each write of a procedure, before and after it, and the other one goes on: the UE is neither rejected nor
// does it begin anew, and its session is the same.
func TestAWorkerDies(t *testing.T) {
	type story struct {
		name string
		// first what happened before the worker that will die began to count its writes, then what it dies in, and writes how many there are.
		first, then func(*phone)
		writes      int
	}
	for _, tt := range []story{
		{"in a service request", (*phone).idle, func(p *phone) { p.must(p.ServiceRequest(p.s.ctx)) }, 2},
		{"when a UE goes idle", func(*phone) {}, (*phone).idle, 2},
		{"in paging", (*phone).idle, func(p *phone) {
			p.s.packet()
			p.wait("paging", func(x ue.Status) bool { return x.Counters.Pagings > 0 && x.CM == "connected" && x.Ready })
		}, 3},
	} {
		for n := range tt.writes {
			for _, moment := range []string{before, after} {
				t.Run(fmt.Sprintf("%s, %s write %d", tt.name, moment, n+1), func(t *testing.T) {
					var armed atomic.Bool
					var count atomic.Int32
					s := begin(t, func(w *amfWorker, at string) {
						if armed.Load() && at == moment && int(count.Add(1)) == n+1 {
							w.kill()
						}
					})
					p := s.attach(1)
					s.startWorker()
					tt.first(p)
					x := p.Status()
					victim := s.holder(1)
					armed.Store(true)
					began := time.Now()
					tt.then(p)
					victim.kill() // where it has written less
					t.Logf("it took %s, with %d writes", time.Since(began), count.Load())
					p.must(p.again())
					y := p.ready()
					if y.Counters.Registrations != x.Counters.Registrations || y.Counters.Rejects+y.Counters.MACFailures != 0 || y.GUTI != x.GUTI ||
						y.Sessions[0].Address != x.Sessions[0].Address {
						t.Errorf("the UE was %+v, and is %+v", x, y)
					}
				})
			}
		}
	}
}

// again is a service request of a UE that goes idle before, where it is not.
func (p *phone) again() error {
	if p.Status().CM != "idle" {
		p.idle()
	}
	return p.ServiceRequest(p.s.ctx)
}
