package shards

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

const ttl = 3 * time.Second

// world is pods with keepers, and a store, in a time of their own: nothing happens but at advance, one thing after the
// other, in an order that the seed gives. After each it looks whether two pods may act for one shard.
type world struct {
	t      *testing.T
	rand   *rand.Rand
	now    time.Time
	store  *memory.Store
	shards []string
	pods   map[string]*pod
	events []event
	count  int
	// delay of a request on its way, and of its answer.
	delay func() time.Duration
	moves int // shards that were given up by a pod that lived on
}

type event struct {
	at    time.Time
	order int
	do    func()
}

// pod is one life of a program. Its clock may run otherwise than the store's.
type pod struct {
	*Keeper
	w      *world
	name   string
	rate   float64
	born   time.Time
	dead   bool
	ended  bool
	acting map[string]sessionstore.Lease
	step   int
}

func newWorld(t *testing.T, seed uint64, shards ...string) *world {
	w := &world{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: time.UnixMilli(1_800_000_000_000),
		shards: shards, pods: map[string]*pod{},
	}
	w.store = memory.New(func() time.Time { return w.now })
	w.delay = func() time.Duration { return time.Duration(w.rand.IntN(2000)) * time.Microsecond }
	return w
}

func (w *world) at(when time.Time, do func()) {
	w.count++
	w.events = append(w.events, event{when, w.count, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

func (w *world) join(name string, change ...func(*Options)) *pod {
	p := &pod{w: w, name: name, rate: 1, born: w.now, acting: map[string]sessionstore.Lease{}}
	o := Options{
		Holder: name, Set: "smf", Shards: w.shards, TTL: ttl, Now: p.clock,
		Gained: func(l sessionstore.Lease) {
			if _, twice := p.acting[l.Shard]; twice {
				w.t.Errorf("%s gained %s twice", name, l.Shard)
			}
			if got, ok := p.Lease(l.Shard); !ok || got != l {
				w.t.Errorf("%s gained %+v, Lease says %+v, %v", name, l, got, ok)
			}
			p.acting[l.Shard] = l
		},
		Lost: func(shard string) {
			if _, had := p.acting[shard]; !had {
				w.t.Errorf("%s lost %s, which it did not have", name, shard)
			}
			if _, ok := p.Lease(shard); ok {
				w.t.Errorf("%s lost %s, and may act for it", name, shard)
			}
			if holder, _, _ := w.store.Holder(context.Background(), shard); holder != "" && holder != name {
				// It has ended by the holder's clock before, or this would be too late.
				if p.acting[shard].Generation == w.generation() && p.clock().Before(p.acting[shard].Until) {
					w.t.Errorf("%s has %s before %s has lost it", holder, shard, name)
				}
			}
			delete(p.acting, shard)
			w.moves++
		},
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if p.Keeper, err = New(o); err != nil {
		w.t.Fatal(err)
	}
	w.pods[name] = p
	p.poke()
	return p
}

func (w *world) generation() string {
	g, _ := w.store.Generation(context.Background())
	return g
}

func (p *pod) clock() time.Time {
	return p.born.Add(time.Duration(float64(p.w.now.Sub(p.born)) * p.rate))
}

// poke is the pod's loop, once.
func (p *pod) poke() {
	p.step++
	mine := p.step
	if p.dead || p.ended {
		return
	}
	requests, next := p.Step()
	for _, r := range requests {
		p.send(r)
	}
	if p.Ended() {
		p.ended = true
		return
	}
	// Timers of a real machine are late, not early.
	wait := time.Duration(float64(next.Sub(p.clock()))/p.rate) + time.Microsecond
	p.w.after(max(0, wait), func() {
		if p.step == mine {
			p.poke()
		}
	})
}

// send brings a request to the store and the answer back, or what Run says when neither comes.
func (p *pod) send(r Request) {
	asked, there, back := p.clock(), p.w.delay(), p.w.delay()
	answered := false
	answer := func(a Answer) {
		if !answered && !p.dead {
			answered = true
			p.Answered(r, a)
			p.poke()
		}
	}
	p.w.after(there, func() {
		a := p.Do(context.Background(), p.w.store, r)
		if a.Err == nil && a.Lease.Epoch != 0 {
			a.Lease.Until = asked.Add(ttl) // by the clock of the holder
		}
		p.w.after(back, func() { answer(a) })
	})
	p.w.after(ttl/3, func() { answer(Answer{Err: sessionstore.ErrUnknown}) })
}

// told wakes a pod, as Run does.
func (p *pod) told() {
	select {
	case <-p.wake:
		p.poke()
	default:
	}
}

func (p *pod) end() { p.End(); p.told() }

// kill ends a pod without a word.
func (p *pod) kill() { p.dead = true; delete(p.w.pods, p.name) }

// advance lets time go by.
func (w *world) advance(d time.Duration) {
	until := w.now.Add(d)
	for {
		first := -1
		for i, e := range w.events {
			if !e.at.After(until) && (first < 0 || e.at.Before(w.events[first].at) ||
				e.at.Equal(w.events[first].at) && e.order < w.events[first].order) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		e := w.events[first]
		w.events = slices.Delete(w.events, first, first+1)
		if e.at.After(w.now) {
			w.now = e.at
		}
		e.do()
		w.check()
	}
	w.now = until
	w.check()
}

// check: never two valid leases of a shard, by the clocks of their holders.
func (w *world) check() {
	w.t.Helper()
	for _, shard := range w.shards {
		var who []string
		for name, p := range w.pods {
			if l, ok := p.Lease(shard); ok {
				who = append(who, name)
				if _, acting := p.acting[shard]; !acting {
					w.t.Fatalf("%s has a lease of %s of which it was not told", name, shard)
				}
				if l.Holder != name || !l.Valid(p.clock()) {
					w.t.Fatalf("the lease of %s is %+v at %s", name, l, p.clock())
				}
			}
		}
		if len(who) > 1 {
			w.t.Fatalf("%s has holders %q", shard, who)
		}
	}
}

// have says who holds what: "a: 0 1, b: 2".
func (w *world) have() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		var has []string
		for _, shard := range w.shards {
			if _, ok := w.pods[name].Lease(shard); ok {
				has = append(has, shard)
			}
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s", name, strings.Join(has, " "))))
	}
	return strings.Join(out, ", ")
}

func (w *world) wants(what, want string) {
	w.t.Helper()
	if got := w.have(); got != want {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// held counts what each pod holds, the most first.
func (w *world) held() (counts []int) {
	for _, p := range w.pods {
		n := 0
		for _, shard := range w.shards {
			if _, ok := p.Lease(shard); ok {
				n++
			}
		}
		counts = append(counts, n)
	}
	slices.SortFunc(counts, func(a, b int) int { return b - a })
	return counts
}
