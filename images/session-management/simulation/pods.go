package simulation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"
)

// pod holds shards, as its keeper shares them with the other pods.
type pod struct {
	w      *world
	name   string
	life   int // grows with every death: what was asked in an earlier life is answered to nobody
	alive  bool
	frozen time.Time // until then nothing happens in it
	keeper *shards.Keeper
	steps  int // numbers the keeper's alarms: one is set at a time
	held   map[string]*holding
}

// holding is a shard that a pod has, from lease to lease.
type holding struct {
	shard  uint16
	lease  sessionstore.Lease
	runner *runner.Runner
	n4     *shardN4 // where units are real
}

func (p *pod) start() {
	p.alive, p.life, p.held = true, p.life+1, map[string]*holding{}
	var err error
	p.keeper, err = shards.New(shards.Options{
		Holder: p.name, Set: "smf", Shards: p.w.shardNames(), Now: func() time.Time { return p.w.now }, Gained: p.gained, Lost: p.lost,
	})
	if err != nil {
		p.w.fail("a keeper: %v", err)
		return
	}
	p.step()
}

func (p *pod) kill() {
	p.alive, p.life, p.held = false, p.life+1, nil
	p.w.note("%s is killed", p.name)
	p.w.soon(200*time.Millisecond, 5*time.Second, p.start)
}

// end gracefully: shards are given back.
func (p *pod) end() {
	p.w.note("%s ends", p.name)
	p.keeper.End()
	p.step()
	life := p.life
	p.w.after(500*time.Millisecond, func() {
		if p.alive && p.life == life {
			p.kill()
		}
	})
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

// step of the keeper, now and when it wants to.
func (p *pod) step() {
	life := p.life
	requests, next := p.keeper.Step()
	for _, r := range requests {
		p.w.storeCall(func(store sessionstore.Store) func() {
			a := p.keeper.Do(context.Background(), store, r)
			return func() {
				p.in(life, func() {
					p.keeper.Answered(r, a)
					p.step()
				})
			}
		})
	}
	p.steps++
	step := p.steps
	p.w.after(max(next.Sub(p.w.now), time.Millisecond), func() {
		p.in(life, func() {
			if p.steps == step {
				p.step()
			}
		})
	})
}

func (p *pod) gained(l sessionstore.Lease) {
	p.w.note("%s holds %s, epoch %d", p.name, l.Shard, l.Epoch)
	h := &holding{shard: p.w.shardNumber(l.Shard), lease: l}
	p.held[l.Shard] = h
	p.w.oneHolder(l.Shard)
	v := &view{pod: p, life: p.life, held: h}
	h.runner = runner.New(runner.Config{
		World: v, Log: p.w.log.With(slog.String("pod", p.name)), Shard: h.shard, Lease: l, Sealer: p.w.sealer,
		Writer: p.w.rand.Uint64(), Cached: 1 + p.w.rand.IntN(4),
	})
	h.runner.Start()
	if p.w.real {
		h.n4 = newN4(v)
		return
	}
	for _, u := range p.w.units {
		p.met(h, u)
	}
}

func (p *pod) lost(name string) {
	if h := p.held[name]; h != nil {
		p.w.note("%s holds %s no more", p.name, name)
		h.runner.Stop()
		if h.n4 != nil {
			h.n4.e.Close()
		}
		delete(p.held, name)
	}
}

// met: there is an association with a unit after a while.
func (p *pod) met(h *holding, u *unit) {
	life := p.life
	p.w.soon(time.Millisecond, 300*time.Millisecond, func() {
		stamp := u.stamp
		p.in(life, func() {
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
	v.pod.in(v.life, func() {
		if v.pod.held[v.held.lease.Shard] == v.held {
			f()
		}
	})
}

func (v *view) Now() time.Time { return v.pod.w.now }

func (v *view) After(d time.Duration, f func()) { v.pod.w.after(d, func() { v.in(f) }) }

func (v *view) May() bool {
	l, ok := v.pod.keeper.Lease(v.held.lease.Shard)
	return ok && l.Epoch == v.held.lease.Epoch
}

func (v *view) Random(b []byte) {
	for n := range b {
		b[n] = byte(v.pod.w.rand.Uint32())
	}
}

func (v *view) Configuration() *configuration.Snapshot { return v.pod.w.config }

func (v *view) Live() map[string]configuration.Live { return nil }

// Store takes a while there and a while back. What was sent before the pod died is executed.
func (v *view) Store(f func(context.Context, sessionstore.Store) func()) {
	v.pod.w.storeCall(func(store sessionstore.Store) func() {
		then := f(context.Background(), store)
		return func() { v.in(then) }
	})
}

func (v *view) Waiting(t procedure.Token) bool {
	x, ok := v.pod.w.waiting[t]
	return ok && !x.r.done
}

func (v *view) Ended(r procedure.Result) {
	v.pod.w.ended[r.Kind.String()]++
	v.pod.w.note("%s ended: %s", r.Kind, r.Cause)
}

func (v *view) Stopped(why error) {
	v.pod.w.note("%s stops %s: %v", v.pod.name, v.held.lease.Shard, why)
	if errors.Is(why, sessionstore.ErrFenced) {
		v.pod.keeper.Fenced(v.held.lease)
		v.pod.w.after(0, func() { v.pod.in(v.life, v.pod.step) })
	}
}

func (v *view) Do(e procedure.Effect, done func(procedure.Event)) {
	v.pod.w.leaves(v)
	if a, ok := e.(procedure.AskUnit); ok && v.held.n4 != nil {
		v.held.n4.ask(a, func(answer procedure.Event) { v.in(func() { done(answer) }) })
		return
	}
	v.pod.w.do(v.held.shard, e, func(answer procedure.Event) {
		if a, ok := e.(procedure.AskUnit); ok {
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
	w.soon(50*time.Microsecond, 5*time.Millisecond, func() {
		listed, err := w.unitNamed(nodeID).list(v.held.shard)
		w.soon(50*time.Microsecond, 5*time.Millisecond, func() { v.in(func() { done(listed, err) }) })
	})
}

func (v *view) Restored(nodeID string, stamp uint32) {
	shard := v.held.shard
	w := v.pod.w
	w.leaves(v)
	w.met[[2]string{v.held.lease.Shard, nodeID}] = stamp
	if v.held.n4 != nil {
		v.held.n4.say(nodeID, stamp, true)
		return
	}
	w.soon(50*time.Microsecond, 5*time.Millisecond, func() { w.unitNamed(nodeID).restored(shard, stamp) })
}

// Left: units of these worlds stay configured.
func (v *view) Left(string) {}

func (v *view) EndElsewhere(shard uint16, key string, done func(error)) {
	w := v.pod.w
	w.toShard(shard, func(to *runner.Runner) { to.Deliver(key, procedure.Release{}) })
	w.soon(time.Millisecond, 10*time.Millisecond, func() { v.in(func() { done(nil) }) })
}

// holds says whether the pod has the shard, and can be spoken with.
func (p *pod) holds(shard string) *holding {
	if !p.alive || p.w.now.Before(p.frozen) {
		return nil
	}
	return p.held[shard]
}

// living pods that can be spoken with.
func (w *world) living() []*pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *pod) bool { return !p.alive || w.now.Before(p.frozen) })
}
