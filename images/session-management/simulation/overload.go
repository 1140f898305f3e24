package simulation

import (
	"maps"
	"math/rand/v2"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
)

// overload of units, as they say it to whoever holds a shard: new sessions are left out by lot, and nothing else is. Units that are upf-c say by
// themselves how full they are, too.
type overload struct {
	chance *rand.Rand // of its own: worlds without it are as they were
	units  map[string]configuration.Live
	// seen is when a shard last knew of a unit that is overloaded.
	seen time.Time
}

// aSessionLeftOut counts them.
const aSessionLeftOut = "session left out"

// overloads come and go in every third world.
func (w *world) overloads(seed uint64) {
	w.overload = overload{chance: rand.New(rand.NewPCG(seed, 29)), units: map[string]configuration.Live{}}
	if seed%3 == 1 {
		w.oneOverload()
	}
}

func (w *world) oneOverload() {
	if !w.faults {
		return
	}
	o := &w.overload
	upTo := func(d time.Duration) time.Duration { return time.Duration(o.chance.Int64N(int64(d))) }
	w.After(time.Second+upTo(5*time.Second), w.oneOverload)
	u := w.units[o.chance.IntN(len(w.units))]
	if _, is := o.units[u.nodeID]; is {
		return
	}
	l := configuration.Live{Reduction: uint8(1 + o.chance.IntN(100)), Until: w.Now.Add(upTo(10 * time.Second))}
	w.Note("%s asks for %d percent less", u.nodeID, l.Reduction)
	o.units[u.nodeID] = l
	w.After(l.Until.Sub(w.Now), func() { delete(o.units, u.nodeID) })
}

// live is what a shard knows of the units.
func (w *world) live(said map[string]configuration.Live) map[string]configuration.Live {
	out := maps.Clone(said)
	for node, l := range w.overload.units {
		if out == nil {
			out = map[string]configuration.Live{}
		}
		l.Load = out[node].Load
		out[node] = l
	}
	for _, l := range out {
		if l.Reduction > 0 {
			w.overload.seen = w.Now
		}
	}
	return out
}

// leftOut looks whether a session was left out for a reason; it was some time ago.
func (w *world) leftOut(r procedure.Result) {
	if r.Cause != configuration.Overloaded.String() {
		return
	}
	w.Ended[aSessionLeftOut]++
	if r.Kind != procedure.Establishment {
		w.Fail("a %s was left out", r.Kind)
	}
	if w.Now.Sub(w.overload.seen) > 10*time.Second {
		w.Fail("a session was left out, and no unit was overloaded")
	}
}
