package simulation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/worlds"
)

// pod runs the shards that it has.
type pod struct {
	*worlds.Pod
	w    *world
	held map[string]*holding
}

// holding is a shard that a pod has, from lease to lease.
type holding struct {
	shard  uint16
	lease  sessionstore.Lease
	runner *runner.Runner
	since  time.Time
	doomed bool     // deaths.go
	n4     *shardN4 // where units are real
}

func (w *world) newPod(name string) *pod {
	p := &pod{w: w}
	p.Pod = worlds.NewPod(name, w.Story, w.store, p)
	return p
}

func (p *pod) Started()         { p.held = map[string]*holding{} }
func (p *pod) Killed()          { p.held = nil }
func (p *pod) Shards() []string { return p.w.shardNames() }
func (p *pod) Set() string      { return "smf" }

func (p *pod) Gained(l sessionstore.Lease) {
	p.w.Note("%s holds %s, epoch %d", p.Name, l.Shard, l.Epoch)
	h := &holding{shard: p.w.shardNumber(l.Shard), lease: l, since: p.w.Now}
	p.held[l.Shard] = h
	p.w.oneHolder(l.Shard)
	v := &view{pod: p, life: p.Life, held: h}
	h.runner = runner.New(runner.Config{
		World: v, Log: p.w.log.With(slog.String("pod", p.Name)), Shard: h.shard, Lease: l, Sealer: p.w.sealer,
		Writer: p.w.Rand.Uint64(), Cached: 1 + p.w.Rand.IntN(4),
	})
	h.runner.Start()
	v.begins()
	if p.w.real {
		h.n4 = newN4(v)
		return
	}
	for _, u := range p.w.units {
		p.met(h, u)
	}
}

func (p *pod) Leaving(name string) {
	h := p.held[name]
	if h == nil {
		p.Left(name)
		return
	}
	p.w.Note("%s is leaving %s", p.Name, name)
	h.runner.Leave(func() { p.Left(name) })
}

func (p *pod) Lost(name string) {
	if h := p.held[name]; h != nil {
		p.w.Note("%s holds %s no more", p.Name, name)
		h.runner.Stop()
		if h.n4 != nil {
			h.n4.e.Close()
		}
		delete(p.held, name)
	}
}

// met: there is an association with a unit after a while.
func (p *pod) met(h *holding, u *unit) {
	life := p.Life
	p.w.Soon(time.Millisecond, 300*time.Millisecond, func() {
		stamp := u.stamp
		p.In(life, func() {
			if p.held[h.lease.Shard] == h && !u.gone {
				h.runner.UnitMet(u.nodeID, stamp, true)
			}
		})
	})
}

// view is the world as a shard of one life of a pod sees it.
type view struct {
	pod  *pod
	life int
	held *holding
}

func (v *view) in(f func()) {
	v.pod.In(v.life, func() {
		if v.pod.held[v.held.lease.Shard] == v.held {
			f()
		}
	})
}

func (v *view) Now() time.Time { return v.pod.w.Now }

func (v *view) After(d time.Duration, f func()) { v.pod.w.After(d, func() { v.in(f) }) }

func (v *view) May() bool { return v.pod.May(v.held.lease) }

func (v *view) Random(b []byte) {
	for n := range b {
		b[n] = byte(v.pod.w.Rand.Uint32())
	}
}

func (v *view) Configuration() *configuration.Snapshot { return v.pod.w.config }

func (v *view) Live() map[string]configuration.Live {
	if v.held.n4 != nil {
		return v.pod.w.live(v.held.n4.live)
	}
	return v.pod.w.live(nil)
}

// Store takes a while there and a while back. What was sent before the pod died is executed.
func (v *view) Store(f func(context.Context, sessionstore.Store) func()) {
	v.pod.w.store.Call(func(store sessionstore.Store) func() {
		then := f(context.Background(), store)
		return func() { v.in(then) }
	})
}

func (v *view) Waiting(t procedure.Token) bool {
	x, ok := v.pod.w.waiting[t]
	return ok && !x.r.done
}

func (v *view) Ended(r procedure.Result) {
	v.pod.w.Ended[r.Kind.String()]++
	v.pod.w.leftOut(r)
	v.pod.w.Note("%s ended: %s", r.Kind, r.Cause)
}

func (v *view) Stopped(why error) {
	v.pod.w.Note("%s stops %s: %v", v.pod.Name, v.held.lease.Shard, why)
	if errors.Is(why, sessionstore.ErrFenced) {
		v.pod.Fenced(v.held.lease)
	}
}

func (v *view) Do(e procedure.Effect, done func(procedure.Event)) {
	v.pod.w.leaves(v)
	v.asks(e)
	a, toUnit := e.(procedure.AskUnit)
	if toUnit {
		v.pod.w.deletes(a)
	}
	if toUnit && v.held.n4 != nil {
		v.held.n4.ask(a, func(answer procedure.Event) { v.in(func() { done(answer) }) })
		return
	}
	v.pod.w.do(v.held.shard, e, func(answer procedure.Event) {
		if toUnit {
			v.carries(a.CPSEID, answer)
		}
		v.in(func() { done(answer) })
	})
}

func (v *view) List(nodeID string, done func([]runner.Listed, error)) {
	if v.held.n4 != nil {
		v.held.n4.list(nodeID, done)
		return
	}
	w := v.pod.w
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
		listed, err := w.unitNamed(nodeID).list(v.held.shard)
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() { v.in(func() { done(listed, err) }) })
	})
}

func (v *view) Restored(nodeID string, stamp uint32) {
	shard := v.held.shard
	w := v.pod.w
	w.leaves(v)
	w.met[[2]string{v.held.lease.Shard, nodeID}] = stamp
	if v.held.n4 != nil {
		v.held.n4.restored(nodeID, stamp)
		return
	}
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() { w.unitNamed(nodeID).restored(shard, stamp) })
}

// Left: units of these worlds stay configured.
func (v *view) Left(string) {}

func (v *view) EndElsewhere(shard uint16, key string, done func(error)) {
	w := v.pod.w
	w.toShard(shard, func(to *runner.Runner) { to.Deliver(key, procedure.Release{}) })
	w.Soon(time.Millisecond, 10*time.Millisecond, func() { v.in(func() { done(nil) }) })
}

// holds says whether the pod has the shard, and can be spoken with.
func (p *pod) holds(shard string) *holding {
	if !p.There() {
		return nil
	}
	return p.held[shard]
}
