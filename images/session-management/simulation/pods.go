package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"
)

const (
	shardNumber = 1
	shardName   = "smf-1"
	leaseTime   = 3 * time.Second
	renewEvery  = time.Second
)

// pod holds the shard, or would like to.
type pod struct {
	w      *world
	name   string
	life   int // grows with every death: what was asked in an earlier life is answered to nobody
	alive  bool
	frozen time.Time // until then nothing happens in it
	lease  sessionstore.Lease
	runner *runner.Runner
}

func (p *pod) start() {
	p.alive, p.life = true, p.life+1
	p.runner, p.lease = nil, sessionstore.Lease{}
	p.hold()
}

func (p *pod) kill() {
	p.alive, p.life = false, p.life+1
	p.runner = nil
	p.w.note("%s is killed", p.name)
	p.w.soon(200*time.Millisecond, 5*time.Second, p.start)
}

// in runs f in this life of the pod, when it is not frozen.
func (p *pod) in(life int, f func()) {
	switch {
	case !p.alive || p.life != life:
	case p.w.now.Before(p.frozen):
		p.w.after(p.frozen.Sub(p.w.now), func() { p.in(life, f) })
	default:
		f()
	}
}

// hold the shard: take it when it is free, and renew it.
func (p *pod) hold() {
	life := p.life
	defer p.w.after(renewEvery/2, func() { p.in(life, p.hold) })
	if p.runner == nil {
		if l, err := p.w.store.Acquire(context.Background(), shardName, fmt.Sprint(p.name, "/", life), leaseTime); err == nil {
			p.take(l)
		}
		return
	}
	l, err := p.w.store.Renew(context.Background(), p.lease, leaseTime)
	switch {
	case err == nil:
		p.lease = l
	case !p.lease.Valid(p.w.now):
		p.runner.Stop()
		p.runner = nil
	}
}

func (p *pod) take(l sessionstore.Lease) {
	p.w.note("%s holds the shard, epoch %d", p.name, l.Epoch)
	p.lease = l
	p.runner = runner.New(runner.Config{
		World: &view{pod: p, life: p.life, epoch: l.Epoch}, Log: p.w.log.With(slog.String("pod", p.name)), Shard: shardNumber, Lease: l, Sealer: p.w.sealer,
		Writer: p.w.rand.Uint64(),
	})
	p.runner.Start()
	p.w.unitMet(p)
}

// view is the world as one life of a pod sees it.
type view struct {
	pod   *pod
	life  int
	epoch uint64
}

func (v *view) in(f func()) {
	v.pod.in(v.life, func() {
		if v.pod.runner != nil && v.pod.lease.Epoch == v.epoch {
			f()
		}
	})
}

func (v *view) Now() time.Time { return v.pod.w.now }

func (v *view) After(d time.Duration, f func()) { v.pod.w.after(d, func() { v.in(f) }) }

func (v *view) May() bool { return v.pod.lease.Valid(v.pod.w.now) }

func (v *view) Random(b []byte) {
	for n := range b {
		b[n] = byte(v.pod.w.rand.Uint32())
	}
}

func (v *view) Configuration() *configuration.Snapshot { return v.pod.w.config }

func (v *view) Live() map[string]configuration.Live { return nil }

// Store takes a while there and a while back. What was sent before the pod died is executed.
func (v *view) Store(f func(context.Context, sessionstore.Store) func()) {
	w := v.pod.w
	w.soon(100*time.Microsecond, 3*time.Millisecond, func() {
		then := f(context.Background(), w.store)
		w.soon(100*time.Microsecond, 3*time.Millisecond, func() { v.in(then) })
	})
}

func (v *view) Ended(r procedure.Result) {
	v.pod.w.ended[r.Kind.String()]++
	v.pod.w.note("%s ended: %s", r.Kind, r.Cause)
}

func (v *view) Stopped(why error) {
	v.pod.w.note("%s stops: %v", v.pod.name, why)
	v.pod.runner = nil
}

func (v *view) Do(e procedure.Effect, done func(procedure.Event)) {
	v.pod.w.do(e, func(answer procedure.Event) { v.in(func() { done(answer) }) })
}

func (v *view) List(_ string, done func([]runner.Listed, error)) {
	w := v.pod.w
	w.soon(50*time.Microsecond, 5*time.Millisecond, func() {
		listed := w.unit.list()
		w.soon(50*time.Microsecond, 5*time.Millisecond, func() { v.in(func() { done(listed, nil) }) })
	})
}

func (v *view) Restored(string, uint32) {}

func (v *view) EndElsewhere(uint16, string, func(error)) {}
