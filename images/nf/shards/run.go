package shards

import (
	"context"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// Run keeps shards until ctx ends, then gives all up and returns when the store has them back, or its leases have
// ended without it. It is called once.
func (k *Keeper) Run(ctx context.Context, store sessionstore.Store) {
	type answered struct {
		Request
		Answer
	}
	answers, stopped := make(chan answered), make(chan struct{})
	defer close(stopped)
	ask := func(r Request) {
		// The end of ctx is when leases are given back.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.renewal())
		defer cancel()
		a := k.Do(asking, store, r)
		select {
		case answers <- answered{r, a}:
		case <-stopped:
		}
	}
	end, last := ctx.Done(), (<-chan time.Time)(nil)
	for {
		requests, next := k.Step()
		for _, r := range requests {
			go ask(r)
		}
		if k.Ended() {
			return
		}
		timer := time.NewTimer(next.Sub(k.now()))
		select {
		case a := <-answers:
			k.Answered(a.Request, a.Answer)
		case <-timer.C:
		case <-k.wake:
		case <-end:
			k.End()
			end, last = nil, time.After(Farewell+k.ttl)
		case <-last:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}
