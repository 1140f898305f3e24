package shards

import (
	"errors"
	"fmt"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// silence is a time in which the store does not answer. Every seat and shard is asked for several times a second then, so it is said when it begins and when
// it is over, not with each of them.
type silence struct {
	since, last time.Time       // of the first and the last request without an answer; zero: there is no silence
	shards      map[string]bool // that were asked for in vain
}

// hear notes whether the store has answered a request about a claim. A silence is over when nothing was asked in vain for the life of a lease: a store that
// answers some requests, or is there and away in turns, is not said to be well with each answer.
func (k *Keeper) hear(c *claim, r Request, err error, now time.Time) {
	s := &k.silence
	var held *sessionstore.HeldError
	switch {
	case err != nil && !errors.Is(err, sessionstore.ErrFenced) && !errors.As(err, &held):
		if s.since.IsZero() {
			*s = silence{since: now, shards: map[string]bool{}}
			k.log.Warn("the session store does not answer, shards are neither kept nor taken", "held", len(k.mine()), "shards", k.total(), "asked", r.Op, "error", err)
		}
		if s.last = now; !c.seat {
			s.shards[c.name] = true
		}
	case !s.since.IsZero() && now.Sub(s.last) >= k.ttl:
		k.log.Info("the session store answers again", "away", s.last.Sub(s.since), "shards", len(s.shards), "held", len(k.mine()))
		*s = silence{}
	}
}

// Alive says which request has not come back from the store, though Run asks with a third of a lease's life to wait: whatever it waits for does not end by
// itself, and no shard is kept or taken meanwhile. A store that is away is no reason: its requests come back, with an error.
func (k *Keeper) Alive() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, c := range k.claims {
		if waited := now.Sub(c.askedAt); c.asked != 0 && waited > lostAfter*k.ttl {
			return fmt.Errorf("a request about %s has not come back from the session store for %s", c.name, waited.Round(time.Second))
		}
	}
	return nil
}

// lostAfter so many lives of a lease a request does not come back any more.
const lostAfter = 10

// total is how many shards the set has.
func (k *Keeper) total() (n int) {
	for _, c := range k.claims {
		if !c.seat && !c.unwanted {
			n++
		}
	}
	return n
}
