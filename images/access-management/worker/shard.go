package worker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"
)

// Shard is one that this pod holds, from the lease that it got to the lease's end.
type Shard struct {
	number   uint16
	pod      *Pod
	log      *slog.Logger
	lease    sessionstore.Lease
	loop     *loop.Loop
	runner   *runner.Runner
	ctx      context.Context
	cancel   context.CancelFunc
	closed   atomic.Bool
	refusals refusals
}

var _ runner.World = (*Shard)(nil)

// storeTime bounds a request to the session store.
const storeTime = 2 * time.Second

func (p *Pod) open(n uint16, l sessionstore.Lease) *Shard {
	s := &Shard{number: n, pod: p, lease: l, log: p.Log.With("shard", l.Shard), loop: loop.New()}
	s.ctx, s.cancel = context.WithCancel(p.ctx)
	s.runner = runner.New(runner.Config{
		World: s, Log: s.log, Shard: n, ShardName: p.name, Lease: l, Sealer: p.Sealer, Keys: procedure.NAS{}, Writer: random(),
	})
	return s
}

// start what the holder before has left. Terminators know of the lease by then: one that did not would refuse what is sent, as another holder's.
func (s *Shard) start() {
	s.pod.running.Go(s.takeCensus)
	s.loop.Post(func() {
		s.runner.Start()
		s.observe(runner.Counts{})
	})
}

// close: nothing leaves for the shard any more.
func (s *Shard) close() {
	s.closed.Store(true)
	s.cancel()
	s.loop.End()
	<-s.loop.Done()
	s.runner.Stop() // what still calls back finds it so
	s.pod.measures.gaveUp(s.lease.Shard)
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// Now implements runner.World.
func (s *Shard) Now() time.Time { return time.Now() }

// After implements runner.World.
func (s *Shard) After(d time.Duration, f func()) {
	time.AfterFunc(d, func() { s.loop.Post(f) })
}

// May implements runner.World.
func (s *Shard) May() bool {
	if s.closed.Load() {
		return false
	}
	l, ok := s.pod.keeper.Lease(s.lease.Shard)
	return ok && l.Epoch == s.lease.Epoch
}

// Random implements runner.World.
func (s *Shard) Random(b []byte) { _, _ = rand.Read(b) } // never fails

// Settings implements runner.World.
func (s *Shard) Settings() *procedure.Settings { return s.pod.settings.Load() }

// Store implements runner.World.
func (s *Shard) Store(f func(context.Context, sessionstore.Store) func()) {
	s.loop.Errand(s.pod.running.Go, func() func() {
		select {
		case s.pod.writes <- struct{}{}:
		case <-s.ctx.Done():
			return nil
		}
		defer func() { <-s.pod.writes }()
		ctx, cancel := context.WithTimeout(s.ctx, storeTime)
		defer cancel()
		return f(ctx, s.pod.Store)
	})
}

// Waiting implements runner.World.
func (s *Shard) Waiting(t procedure.Token) bool { return s.pod.tokens.Has(t) }

// Post implements runner.World.
func (s *Shard) Post(terminator string, f link.Frame) { s.pod.links.post(terminator, f) }

// Association implements runner.World.
func (s *Shard) Association(terminator string, association uint64) runner.Standing {
	return s.pod.links.standing(terminator, association)
}

// GNB implements runner.World.
func (s *Shard) GNB(terminator string, association uint64) *record.GNB {
	return s.pod.links.node(terminator, association)
}

// Beside implements runner.World.
func (s *Shard) Beside(at record.Attachment) *record.GNB { return s.pod.links.beside(at) }

// Find implements runner.World.
func (s *Shard) Find(name string) *record.GNB { return s.pod.links.find(name) }

// GNBs implements runner.World.
func (s *Shard) GNBs() []*record.GNB { return s.pod.links.gnbs() }

// Lost implements runner.World.
func (s *Shard) Lost(name string) (time.Time, bool) { return s.pod.links.lost(name) }

// Near implements runner.World.
func (s *Shard) Near(area record.Area) []*record.GNB { return s.pod.links.near(area) }

// Ended implements runner.World.
func (s *Shard) Ended(r procedure.Result) { s.pod.measures.ended(r) }

// Stopped implements runner.World.
func (s *Shard) Stopped(why error) {
	s.log.Warn("the shard is lost", "err", why)
	s.closed.Store(true)
	s.pod.keeper.Fenced(s.lease) // whatever the keeper thinks of it: a runner that has stopped does not begin again
}
