package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
)

// Pods that die at the worst moments, in some of the worlds that have shown no fault before: when all is well otherwise, in the midst of what nobody else asks for
// again, because a time has begun it; and, where a store forgets what has just been numbered, when they have heard so.

// aDeathInTheMidst is one of these.
const aDeathInTheMidst = "a death in the midst"

// deaths of a world.
type deaths struct {
	chance *rand.Rand // of its own: other worlds go on as they did
	// stumbles are the deaths that are left behind the unkind time, amnesia says whether the store forgets what has just been numbered.
	stumbles int
	amnesia  bool
}

func newDeaths(seed uint64, forgetful bool) deaths {
	d := deaths{chance: rand.New(rand.NewPCG(seed, 9))}
	if d.chance.IntN(3) == 0 {
		d.stumbles = 8
	}
	d.amnesia = forgetful && d.chance.IntN(2) == 0
	return d
}

// Handled is what a time has begun, which nobody waits for.
func (v *view) Handled(h runner.Handled) {
	w := v.pod.w
	d := &w.deaths
	_, timed := h.Event.(procedure.Due)
	v.held.doomed = timed && h.Output.Busy && !w.faults && d.stumbles > 0 && d.chance.IntN(2) == 0
}

// asks somebody: the pod may die before it has the answer, or before that is kept.
func (v *view) asks(e procedure.Effect) {
	if v.held.doomed && procedure.Asks(e) {
		v.held.doomed = false
		v.pod.w.deaths.stumbles--
		v.dies(3 * time.Millisecond)
	}
}

// dies soon.
func (v *view) dies(within time.Duration) {
	w, life := v.pod.w, v.pod.Life
	w.After(time.Duration(w.deaths.chance.Int64N(int64(within))), func() {
		if v.pod.Alive && v.pod.Life == life {
			w.Ended[aDeathInTheMidst]++
			v.pod.Kill()
		}
	})
}

// numbers were given, and the holder of the shard is new: a store that forgets both gives them again.
func (w *world) hasNumbered(is *record.Session) {
	d := &w.deaths
	if !d.amnesia || !w.faults || w.Now.Sub(w.forgotten) < 3*time.Second {
		return
	}
	for _, p := range w.pods {
		if h := p.held[shardName(record.ShardOf(is.CPSEID))]; p.Alive && h != nil && w.Now.Sub(h.since) < 900*time.Millisecond && d.chance.IntN(2) == 0 {
			w.After(time.Duration(d.chance.Int64N(int64(20*time.Millisecond))), w.forget)
			return
		}
	}
}

// keeps the shard's own record: where the store has forgotten, the holder may die while it makes good for that.
func (w *world) keeps(key string) {
	d := &w.deaths
	if !d.amnesia || !w.faults || w.Now.Sub(w.forgotten) > 10*time.Second || d.chance.IntN(2) != 0 {
		return
	}
	for _, p := range w.pods {
		for name, h := range p.held {
			if p.Alive && key == "shard/"+name {
				(&view{pod: p, life: p.Life, held: h}).dies(time.Microsecond)
			}
		}
	}
}

// resumed is soon, when all is well, what the holder before was in the midst of; also what nobody asks for again.
const resumed = 4 * time.Second

// begins to hold a shard.
func (v *view) begins() {
	w := v.pod.w
	if w.faults || w.real {
		return
	}
	was := map[string]record.Procedure{}
	for key, rec := range w.records {
		if rec.Procedure != nil && record.ShardOf(rec.CPSEID) == v.held.shard && !w.unitGone(rec) { // a unit that is taken away is asked until it has not answered often enough
			was[key] = *rec.Procedure
		}
	}
	v.After(resumed, func() {
		for _, key := range slices.Sorted(maps.Keys(was)) {
			p := was[key]
			if rec := w.records[key]; rec != nil && rec.Procedure != nil && rec.Procedure.Kind == p.Kind && rec.Procedure.Step == p.Step && rec.Procedure.Began == p.Began {
				w.Fail("%s: nobody goes on with the %s of the holder before", key, procedure.Kind(p.Kind))
			}
		}
	})
}

// unitGone says whether one of a session's units was taken away: it answers nobody.
func (w *world) unitGone(rec *record.Session) bool {
	return slices.ContainsFunc(w.units, func(u *unit) bool {
		cp, _ := rec.On(u.nodeID)
		return u.gone && cp != 0
	})
}
