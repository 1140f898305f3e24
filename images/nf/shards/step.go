package shards

import (
	"context"
	"errors"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// Op is what a Request asks of the store.
type Op string

// Values of Op.
const (
	OpAcquire Op = "acquire"
	OpRenew   Op = "renew"
	OpRelease Op = "release"
	// OpLook asks who has the shard.
	OpLook Op = "look"
	// OpEvict releases the lease of a holder that is dead.
	OpEvict Op = "evict"
)

// Request is something to ask of the store. Lease has the Shard, and the rest as far as the operation needs it.
type Request struct {
	Op    Op
	Lease sessionstore.Lease
	id    uint64
}

// Answer of the store: the lease that was acquired or renewed, or who has the shard.
type Answer struct {
	Lease  sessionstore.Lease
	Holder string
	Epoch  uint64
	Err    error
}

// Do asks the store.
func (k *Keeper) Do(ctx context.Context, store sessionstore.Store, r Request) (a Answer) {
	switch r.Op {
	case OpAcquire:
		a.Lease, a.Err = store.Acquire(ctx, r.Lease.Shard, r.Lease.Holder, k.ttl)
	case OpRenew:
		a.Lease, a.Err = store.Renew(ctx, r.Lease, k.ttl)
	case OpRelease:
		a.Err = store.Release(ctx, r.Lease)
	case OpLook:
		a.Holder, a.Epoch, a.Err = store.Holder(ctx, r.Lease.Shard)
	case OpEvict:
		if r.Lease.Generation, a.Err = store.Generation(ctx); a.Err == nil {
			a.Err = store.Release(ctx, r.Lease)
		}
	}
	return a
}

// Step does what is due. It returns what is to be asked of the store, in any order, and when to call it again at the
// latest; call it after every Answered, too.
func (k *Keeper) Step() (requests []Request, next time.Time) {
	k.mu.Lock()
	now := k.now()
	k.expire(now)
	k.giveUp(now)
	renewing := k.renewing(now)
	for _, c := range k.claims {
		if c.asked == 0 && (!c.next.After(now) || c.held() && renewing) {
			if r, ok := k.oldBusiness(c, now); ok {
				requests = append(requests, k.ask(c, r))
			}
		}
	}
	for _, c := range k.wanted(now) {
		c.acquiring = true
		requests = append(requests, k.ask(c, Request{Op: OpAcquire, Lease: sessionstore.Lease{Shard: c.name, Holder: k.options.Holder}}))
	}
	for _, c := range k.claims {
		if c.asked == 0 && !c.held() && !c.unwanted && !k.ending && !c.next.After(now) {
			requests = append(requests, k.ask(c, Request{Op: OpLook, Lease: sessionstore.Lease{Shard: c.name}}))
		}
	}
	next = k.dueAt(now)
	k.mu.Unlock()
	k.call()
	return requests, next
}

// expire drops what the pod must not use any more.
func (k *Keeper) expire(now time.Time) {
	fenced := false
	for _, c := range k.claims {
		switch {
		case !c.held() || k.usable(c, now):
		case c.fenced:
			fenced = true
			k.drop(c, "fenced", false)
		default:
			k.drop(c, "not renewed in time", false)
		}
	}
	if fenced { // by a store of another generation they all are
		for _, c := range k.claims {
			c.next = time.Time{}
		}
	}
}

// renewing says whether a lease is to be renewed. Then all are, so that a dead pod's end together: a seat that lasted
// longer than the shards would keep the others from taking them.
func (k *Keeper) renewing(now time.Time) bool {
	return slices.ContainsFunc(k.claims, func(c *claim) bool { return c.held() && !c.next.After(now) })
}

// giveUp drops what the set has no more, what is above the pod's share, and at the end everything.
func (k *Keeper) giveUp(now time.Time) {
	leaving := 0
	for _, c := range k.claims {
		switch {
		case !c.held():
		case c.unwanted:
			k.drop(c, "not in the set", true)
		case k.ending && c.seat: // at once: what is free already is the others'
			k.drop(c, "end", true)
		case k.ending:
			k.leave(c, "end", now)
		case !c.leaving.IsZero():
			k.leave(c, "above the share", now)
		}
		if !c.leaving.IsZero() {
			leaving++
		}
	}
	k.claims = slices.DeleteFunc(k.claims, func(c *claim) bool {
		return c.unwanted && !c.held() && c.asked == 0 && c.returned.Epoch == 0
	})
	if k.ending {
		return
	}
	mine := k.mine()
	surplus := len(mine) - k.shareAmong(func(c *claim) bool {
		return now.Sub(c.since) >= k.ttl && now.Sub(c.looked) < k.ttl
	})
	for _, c := range slices.Backward(mine) {
		if surplus > leaving && c.leaving.IsZero() {
			k.leave(c, "above the share", now)
			leaving++
		}
	}
}

// leave a shard: it is dropped when nothing keeps it, or when it was kept for long enough.
func (k *Keeper) leave(c *claim, why string, now time.Time) {
	switch {
	case k.options.Leaving == nil || c.left || !c.leaving.IsZero() && !now.Before(c.leaving.Add(Farewell)):
		k.drop(c, why, true)
	case c.leaving.IsZero():
		c.leaving = now
		k.calls = append(k.calls, func() { k.options.Leaving(c.name) })
	}
}

func (k *Keeper) mine() (mine []*claim) {
	for _, c := range k.claims {
		if c.held() && !c.seat {
			mine = append(mine, c)
		}
	}
	return mine
}

// shareAmong is the pod's share among itself and those whose claims count: who has a seat. One that has shards alone is leaving them.
func (k *Keeper) shareAmong(counts func(*claim) bool) int {
	held := map[string]int{k.options.Holder: len(k.mine())}
	for _, c := range k.claims { // seats first
		if c.held() || c.holder == "" || c.holder == k.options.Holder || !counts(c) {
			continue
		}
		if _, seated := held[c.holder]; c.seat {
			held[c.holder] += 0
		} else if seated {
			held[c.holder]++
		}
	}
	n := share(held, k.options.Holder, k.total())
	if k.options.Max > 0 {
		n = min(n, k.options.Max)
	}
	return n
}

// oldBusiness is what is to be asked about a lease that there is: the pod's, one to be given back, a dead pod's.
func (k *Keeper) oldBusiness(c *claim, now time.Time) (Request, bool) {
	switch {
	case c.returned.Epoch != 0:
		if now.Before(c.returned.Until) {
			return Request{Op: OpRelease, Lease: c.returned}, true
		}
		c.returned = sessionstore.Lease{}
	case c.held():
		return Request{Op: OpRenew, Lease: c.lease}, true
	case c.dead != 0 && c.dead == c.epoch && !k.ending:
		return Request{Op: OpEvict, Lease: sessionstore.Lease{Shard: c.name, Holder: c.holder, Epoch: c.epoch}}, true
	}
	return Request{}, false
}

// wanted is what the pod takes now: first a seat, then shards up to its share.
func (k *Keeper) wanted(now time.Time) (take []*claim) {
	if k.ending {
		return nil
	}
	if k.taking(true) == 0 {
		// A seat that the store says is this pod's is of a life before, or of an answer that was lost.
		for _, own := range []bool{true, false} {
			for _, c := range k.claims {
				if c.seat && k.free(c, now) && (c.holder != "") == own {
					return []*claim{c}
				}
			}
		}
		return nil
	}
	seated := slices.ContainsFunc(k.claims, func(c *claim) bool { return c.seat && c.held() })
	if !seated || slices.ContainsFunc(k.claims, func(c *claim) bool { return !c.held() && c.looked.IsZero() }) {
		return nil
	}
	missing := k.shareAmong(func(*claim) bool { return true }) - k.taking(false)
	for _, c := range k.claims {
		if missing > 0 && !c.seat && k.free(c, now) {
			take = append(take, c)
			missing--
		}
	}
	return take
}

// taking counts what the pod has, and what it has asked for.
func (k *Keeper) taking(seats bool) (n int) {
	for _, c := range k.claims {
		if c.seat == seats && !c.unwanted && (c.held() || c.acquiring) {
			n++
		}
	}
	return n
}

// free says whether the pod may ask for it now. What the store has forgotten is for those who had it at first.
func (k *Keeper) free(c *claim, now time.Time) bool {
	restoring := now.Before(k.before) || slices.ContainsFunc(k.claims, func(c *claim) bool { return now.Before(c.ours) })
	return !c.held() && !c.unwanted && c.asked == 0 && c.returned.Epoch == 0 && !c.looked.IsZero() &&
		(c.holder == "" || c.holder == k.options.Holder) && !c.retry.After(now) && (!restoring || now.Before(c.ours))
}

func (k *Keeper) ask(c *claim, r Request) Request {
	k.ids++
	r.id = k.ids
	c.asked, c.askedAt = r.id, k.now()
	return r
}

// dueAt is when something happens next without an answer.
func (k *Keeper) dueAt(now time.Time) time.Time {
	next := now.Add(k.renewal())
	if now.Before(k.before) {
		next = earlier(next, k.before)
	}
	for _, c := range k.claims {
		if c.held() {
			next = earlier(next, k.usedUntil(c))
		}
		if !c.leaving.IsZero() {
			next = earlier(next, c.leaving.Add(Farewell))
		}
		if c.asked == 0 && c.next.After(now) {
			next = earlier(next, c.next)
		}
		if c.asked == 0 && c.retry.After(now) {
			next = earlier(next, c.retry)
		}
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Answered takes the store's answer to a request of Step's.
func (k *Keeper) Answered(r Request, a Answer) {
	k.mu.Lock()
	now := k.now() // not before: by what Lease has said meanwhile it may have ended
	// A lease that has ended stays lost, also where its renewal is answered now.
	k.expire(now)
	if i := slices.IndexFunc(k.claims, func(c *claim) bool { return c.asked == r.id }); i >= 0 {
		c := k.claims[i]
		c.asked = 0
		k.hear(c, r, a.Err, now)
		k.answered(c, r, a, now)
		if c.again {
			c.again, c.next = false, now
		}
	}
	k.mu.Unlock()
	k.call()
}

func (k *Keeper) answered(c *claim, r Request, a Answer, now time.Time) {
	// Asked again soon, where nothing better is known below.
	c.next = now.Add(k.hurry())
	switch r.Op {
	case OpAcquire:
		k.acquired(c, a, now)
	case OpRenew:
		switch {
		case c.lease.Epoch != r.Lease.Epoch:
			c.next = now // lost meanwhile
		case errors.Is(a.Err, sessionstore.ErrFenced):
			c.fenced = true
			k.expire(now)
		case a.Err == nil:
			c.lease = a.Lease
			c.next = a.Lease.Until.Add(k.renewal() - k.ttl)
		}
	case OpRelease:
		if a.Err == nil {
			c.returned = sessionstore.Lease{}
			if k.options.Released != nil {
				k.calls = append(k.calls, func() { k.options.Released(c.name) })
			}
		}
	case OpLook:
		if a.Err == nil {
			c.see(a.Holder, a.Epoch, now)
			c.next = k.lookAgain(c, now)
		}
	case OpEvict:
		if a.Err == nil {
			k.log.Warn("a dead pod's lease is ended", "shard", c.name, "holder", c.holder, "epoch", c.epoch)
			c.see("", 0, now)
			c.dead, c.next = 0, now
		}
	}
}

func (k *Keeper) acquired(c *claim, a Answer, now time.Time) {
	c.acquiring = false
	var held *sessionstore.HeldError
	switch {
	case errors.As(a.Err, &held):
		c.see(held.Holder, held.Epoch, now)
		c.next = earlier(now.Add(k.look()), now.Add(max(held.Remaining, k.hurry())))
	case a.Err != nil:
		c.retry = now.Add(k.hurry())
	default:
		k.generationIs(a.Lease.Generation, now)
		if c.unwanted || k.ending || now.Before(k.before) && !now.Before(c.ours) {
			c.returned, c.next = a.Lease, now
			return
		}
		c.lease = a.Lease
		if !k.usable(c, now) { // an answer of a lease's life ago: ask anew
			c.lease = sessionstore.Lease{}
			return
		}
		c.next = a.Lease.Until.Add(k.renewal() - k.ttl)
		c.see(k.options.Holder, a.Lease.Epoch, now)
		k.log.Info("shard gained", "shard", c.name, "epoch", c.lease.Epoch, "generation", c.lease.Generation)
		if !c.seat {
			l := c.lease
			l.Until = k.usedUntil(c)
			k.calls = append(k.calls, func() { k.options.Gained(l) })
		}
	}
}

// generationIs notes a store that has forgotten. Leases of the generation before, which it may not know any more, end
// within their life, by the clocks of who has them.
func (k *Keeper) generationIs(generation string, now time.Time) {
	if k.generation != "" && generation != k.generation {
		k.log.Warn("the session store has lost writes", "generation", generation)
		k.before = now.Add(k.ttl)
	}
	k.generation = generation
}

// lookAgain is sooner where a shard may come free.
func (k *Keeper) lookAgain(c *claim, now time.Time) time.Time {
	if c.gone || len(k.mine()) < k.shareAmong(func(*claim) bool { return true }) {
		return now.Add(k.hurry())
	}
	return now.Add(k.look())
}
