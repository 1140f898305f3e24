package worlds

import (
	"context"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/shards"
)

// Pod holds shards, as its keeper shares them with the other pods of its set.
type Pod struct {
	Name string
	// Life grows with every start and every death: what was asked in an earlier one is answered to nobody.
	Life   int
	Alive  bool
	Frozen time.Time // until then nothing happens in it
	Keeper *shards.Keeper

	story *Story
	store *Store
	owner Owner
	steps int // numbers the keeper's alarms: one is set at a time
}

// Owner of a pod is what runs in it.
type Owner interface {
	// Started: there is nothing in it yet. Killed: there is nothing in it any more.
	Started()
	Killed()
	// Shards of the set; Set is its name.
	Shards() []string
	Set() string
	// Gained and Lost are the keeper's.
	Gained(sessionstore.Lease)
	Lost(shard string)
}

// Leaver is an Owner that has to do something before a shard is given up: Leaving is the keeper's, which waits for Left.
type Leaver interface{ Leaving(shard string) }

// NewPod that is not started.
func NewPod(name string, s *Story, store *Store, owner Owner) *Pod {
	return &Pod{Name: name, story: s, store: store, owner: owner}
}

// Start a life.
func (p *Pod) Start() {
	p.Alive, p.Life = true, p.Life+1
	p.owner.Started()
	options := shards.Options{
		Holder: p.Name, Set: p.owner.Set(), Shards: p.owner.Shards(), Now: func() time.Time { return p.story.Now }, Gained: p.owner.Gained, Lost: p.owner.Lost,
	}
	if leaver, is := p.owner.(Leaver); is {
		options.Leaving = leaver.Leaving
	}
	var err error
	p.Keeper, err = shards.New(options)
	if err != nil {
		p.story.Fail("a keeper: %v", err)
		return
	}
	p.Step()
}

// Kill without a word; a new life begins after a while.
func (p *Pod) Kill() {
	p.Alive, p.Life = false, p.Life+1
	p.owner.Killed()
	p.story.Note("%s is killed", p.Name)
	p.story.Soon(200*time.Millisecond, 5*time.Second, p.Start)
}

// End gracefully: shards are given back. An owner that has to leave them gets the time that its keeper does.
func (p *Pod) End() {
	p.story.Note("%s ends", p.Name)
	last := p.story.Now
	if _, is := p.owner.(Leaver); is {
		last = last.Add(shards.Farewell + time.Second)
	}
	p.Keeper.End()
	p.Step()
	life := p.Life
	var end func()
	end = func() {
		switch {
		case !p.Alive || p.Life != life:
		case p.story.Now.Before(last) && !p.Keeper.Ended():
			p.story.After(500*time.Millisecond, end)
		default:
			p.Kill()
		}
	}
	p.story.After(500*time.Millisecond, end)
}

// In runs f in this life of the pod, when it is not frozen.
func (p *Pod) In(life int, f func()) {
	switch {
	case !p.Alive || p.Life != life:
	case p.story.Now.Before(p.Frozen):
		p.story.After(p.Frozen.Sub(p.story.Now), func() { p.In(life, f) })
	default:
		f()
	}
}

// Step of the keeper, now and when it wants to.
func (p *Pod) Step() {
	life := p.Life
	requests, next := p.Keeper.Step()
	for _, r := range requests {
		p.store.Call(func(store sessionstore.Store) func() {
			a := p.Keeper.Do(context.Background(), store, r)
			return func() {
				p.In(life, func() {
					p.Keeper.Answered(r, a)
					p.Step()
				})
			}
		})
	}
	p.steps++
	step := p.steps
	p.story.After(max(next.Sub(p.story.Now), time.Millisecond), func() {
		p.In(life, func() {
			if p.steps == step {
				p.Step()
			}
		})
	})
}

// stepSoon has the keeper look at what it was told, behind whatever happens now.
func (p *Pod) stepSoon() {
	life := p.Life
	p.story.After(0, func() { p.In(life, p.Step) })
}

// Fenced: the store has refused a write under that lease.
func (p *Pod) Fenced(l sessionstore.Lease) {
	p.Keeper.Fenced(l)
	p.stepSoon()
}

// Left: nothing keeps a shard any more that the pod is leaving.
func (p *Pod) Left(shard string) {
	p.Keeper.Left(shard)
	p.stepSoon()
}

// May says whether the pod may act under a lease.
func (p *Pod) May(l sessionstore.Lease) bool {
	is, ok := p.Keeper.Lease(l.Shard)
	return ok && is.Epoch == l.Epoch
}

// There says whether the pod can be spoken with.
func (p *Pod) There() bool { return p.Alive && !p.story.Now.Before(p.Frozen) }

// Living are those of a list that can be spoken with.
func Living[P interface{ There() bool }](list []P) []P {
	return slices.DeleteFunc(slices.Clone(list), func(p P) bool { return !p.There() })
}
