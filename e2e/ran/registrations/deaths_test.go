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
		// first what happened before the worker that will die began to count its writes, then what it dies in, and which writes there are.
		first, then func(*phone)
		from, to    int
		// renames: the UE may have another 5G-GUTI then.
		renames bool
	}
	for _, tt := range []story{
		{"in a service request", (*phone).idle, func(p *phone) { p.must(p.ServiceRequest(p.s.ctx)) }, 0, 2, false},
		{"when a UE goes idle", func(*phone) {}, (*phone).idle, 0, 2, false},
		{"in paging", (*phone).idle, func(p *phone) {
			p.s.packet()
			p.wait("paging", func(x ue.Status) bool { return x.Counters.Pagings > 0 && x.CM == "connected" && x.Ready })
		}, 1, 5, true}, // without an answer to its request, the SMF asks again after 10 s
	} {
		for n := tt.from; n < tt.to; n++ {
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
					if y.Counters.Registrations != x.Counters.Registrations || y.Counters.Rejects != x.Counters.Rejects || y.Counters.MACFailures != 0 || y.GUTI != x.GUTI && !tt.renames ||
						y.Sessions[0].Address != x.Sessions[0].Address {
						t.Errorf("the UE was %+v, and is %+v", x, y)
					}
				})
			}
		}
	}
}

// The worker is killed at each write of a UE's first registration, and of its session. The UE gets both: what nobody has kept of it, it says again.
func TestAWorkerDiesDuringRegistration(t *testing.T) {
	for n := range 8 {
		for _, moment := range []string{before, after} {
			t.Run(fmt.Sprintf("%s write %d", moment, n+1), func(t *testing.T) {
				var count atomic.Int32
				s := begin(t, func(w *amfWorker, at string) {
					if at == moment && int(count.Add(1)) == n+1 {
						w.kill()
					}
				})
				s.startWorker()
				began := time.Now()
				p := s.switchOn(1)
				p.ready()
				t.Logf("it took %s, with %d writes", time.Since(began), count.Load())
				p.must(p.again())
				if x := p.Status(); x.Counters.Rejects+x.Counters.MACFailures != 0 {
					t.Errorf("the UE is %+v", x)
				}
				s.until("no session too many", func() bool { return len(s.upfu.Sessions()) == 1 })
			})
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
