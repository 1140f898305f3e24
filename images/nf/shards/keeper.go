package shards

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// DefaultTTL is the life of a lease. Shorter ones flap on a machine that is loaded.
const DefaultTTL = 3 * time.Second

// Farewell is how long a shard is held for Left at most, once Leaving was called.
const Farewell = 5 * time.Second

// Options of a Keeper.
type Options struct {
	// Holder is the pod's name: a container that is started anew in it takes its shards at once.
	Holder string
	// Set names the pods that share the shards.
	Set string
	// Shards of the set.
	Shards []string
	// Max bounds how many of them this pod holds; 0 does not.
	Max int
	// TTL of the leases, DefaultTTL where it is 0.
	TTL time.Duration
	// Now is the clock, time.Now where it is nil.
	Now func() time.Time

	// Gained is called when the pod has a shard, with its lease; Lost when it has it no more, and must return when
	// nothing leaves for the shard any longer. They are called one after the other, and must not block: leases are
	// not renewed meanwhile.
	Gained func(sessionstore.Lease)
	Lost   func(shard string)
	// Leaving, where it is set, is called before a shard is given up on purpose, to another pod or at the end: what is nowhere but in memory can come to its
	// end. The shard is held until Left is called for it, or for Farewell. It must not block.
	Leaving func(shard string)
	// Released, where it is set, is called when the store has a shard back that was given up, or a seat, without which the share of the others is
	// larger: tell the other pods, whose Look of that name spares them half a second.
	Released func(name string)
	// Log is told of what changes.
	Log *slog.Logger
}

// Keeper holds shards. Step and Answered are for one goroutine, the rest for any.
type Keeper struct {
	options Options
	ttl     time.Duration
	now     func() time.Time
	log     *slog.Logger
	wake    chan struct{}

	mu     sync.Mutex
	claims []*claim // seats first, in the order of their numbers, then shards
	ids    uint64
	ending bool
	calls  []func()
	// generation of the store, and until when leases of the one before may be valid by their holders' clocks.
	generation string
	before     time.Time
	silence    silence
}

// claim is what the keeper knows of one seat or shard.
type claim struct {
	name string
	seat bool
	// unwanted: the set has it no more.
	unwanted bool

	// lease, where its Epoch is not 0, is the pod's; fenced says that it is known to be lost.
	lease  sessionstore.Lease
	fenced bool
	// ours is until when nobody else can act under a lease that the store has forgotten, because this pod had it.
	ours time.Time
	// returned is a lease that is to be given back.
	returned sessionstore.Lease
	// leaving is since when the pod is about to give it up, zero: it is not; left says that nothing keeps it.
	leaving time.Time
	left    bool

	// asked is the request under way, 0 for none, and acquiring that it would take it. next is when there is another
	// look or renewal, retry when it may be asked for again.
	asked       uint64
	askedAt     time.Time
	acquiring   bool
	next, retry time.Time
	// again says that it is to be looked at once more: the answer to the request under way may be of before.
	again bool

	// What the store said of others, and when: looked is zero as long as it has said nothing. since is since when
	// the holder is the same.
	looked, since time.Time
	holder        string
	epoch         uint64
	// gone says that the holder does not answer its peers, dead that this epoch's holder has died.
	gone bool
	dead uint64
}

func (c *claim) held() bool { return c.lease.Epoch != 0 }

// lookNow: something was said of it.
func (c *claim) lookNow() { c.next, c.again = time.Time{}, c.asked != 0 }

// New is a keeper that holds nothing yet.
func New(o Options) (*Keeper, error) {
	k := &Keeper{options: o, ttl: cmp.Or(o.TTL, DefaultTTL), now: o.Now, log: o.Log, wake: make(chan struct{}, 1)}
	if k.now == nil {
		k.now = time.Now
	}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.Holder == "":
		return nil, errors.New("shards: no holder: write the pod's name")
	case o.Set == "":
		return nil, errors.New("shards: no set: write a name that all pods that share the shards have")
	case o.Gained == nil || o.Lost == nil:
		return nil, errors.New("shards: nobody to tell of what is gained and lost: set both functions")
	case k.ttl < 100*time.Millisecond:
		return nil, fmt.Errorf("shards: leases of %s: write 100ms or more, 3s is usual", k.ttl)
	}
	return k, k.SetShards(o.Shards)
}

// How often things are done, in lives of a lease.
func (k *Keeper) renewal() time.Duration { return k.ttl / 3 }  // after a lease was asked for
func (k *Keeper) look() time.Duration    { return k.ttl / 6 }  // at what others hold
func (k *Keeper) hurry() time.Duration   { return k.ttl / 12 } // where a shard is missing, or the store did not answer
func (k *Keeper) margin() time.Duration  { return k.ttl / 10 } // before its end a lease is not used any more

// SetShards says which shards the set has from now on. Those that it has no more are given up.
func (k *Keeper) SetShards(names []string) error {
	for i, name := range names {
		if name == "" || strings.HasPrefix(name, seatPrefix) || slices.Contains(names[:i], name) {
			return fmt.Errorf("shards: %q is no name of a shard: write names that differ, and do not begin with %q", name, seatPrefix)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.claims
	k.claims = nil
	keep := func(name string, seat bool) {
		if i := slices.IndexFunc(before, func(c *claim) bool { return c.name == name }); i >= 0 {
			before[i].unwanted = false
			k.claims = append(k.claims, before[i])
			before = slices.Delete(slices.Clone(before), i, i+1)
			return
		}
		k.claims = append(k.claims, &claim{name: name, seat: seat})
	}
	for n := range names {
		keep(seatPrefix+k.options.Set+":"+strconv.Itoa(n), true)
	}
	for _, name := range names {
		keep(name, false)
	}
	for _, c := range before {
		if c.held() || c.asked != 0 || c.returned.Epoch != 0 {
			c.unwanted = true
			k.claims = append(k.claims, c)
		}
	}
	k.stir()
	return nil
}

// seatPrefix keeps seats apart from shards.
const seatPrefix = "seat:"

func (k *Keeper) stir() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// usable says whether the pod may act under the lease, and usedUntil until when.
func (k *Keeper) usable(c *claim, now time.Time) bool {
	end := k.usedUntil(c)
	return c.held() && !c.fenced && now.Before(end) && now.Round(0).Before(end.Round(0))
}

func (k *Keeper) usedUntil(c *claim) time.Time { return c.lease.Until.Add(-k.margin()) }

// Lease is the pod's lease of a shard, until when it may act: look before every message that leaves. It is renewed
// behind the scenes.
func (k *Keeper) Lease(shard string) (sessionstore.Lease, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.claims {
		if c.name == shard && !c.unwanted && k.usable(c, k.now()) {
			l := c.lease
			l.Until = k.usedUntil(c)
			return l, true
		}
	}
	return sessionstore.Lease{}, false
}

// Holder is who has a shard, as far as is known; "" for nobody.
func (k *Keeper) Holder(shard string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.claims {
		switch {
		case c.name != shard:
		case k.usable(c, k.now()):
			return k.options.Holder
		case c.holder != k.options.Holder:
			return c.holder
		}
	}
	return ""
}

// Fenced says that the store has refused a write under that lease, or that its holder has stopped: it is used no more, and given up.
func (k *Keeper) Fenced(l sessionstore.Lease) {
	k.each(func(c *claim) {
		if c.name == l.Shard && c.lease.Epoch == l.Epoch {
			c.fenced = true
		}
	})
}

// Look says that a shard, or a seat, may be free now.
func (k *Keeper) Look(name string) {
	k.each(func(c *claim) {
		if c.name == name && !c.held() {
			c.lookNow()
		}
	})
}

// Gone says that another pod does not answer any more: what it held is looked at now. Its leases go on until they end.
func (k *Keeper) Gone(holder string) {
	k.each(func(c *claim) {
		if !c.held() && c.holder == holder {
			c.gone = true
			c.lookNow()
		}
	})
}

// Dead says that the process of another pod has ended, for certain (its host refuses connections to a port that it
// alone had; one that is only silent may be slow, and act): its leases are ended for it. A new life of the pod has
// other epochs, and keeps what it took.
func (k *Keeper) Dead(holder string) {
	k.each(func(c *claim) {
		if !c.held() && c.holder == holder && holder != k.options.Holder {
			c.dead = c.epoch
			c.lookNow()
		}
	})
}

func (k *Keeper) each(do func(*claim)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.claims {
		do(c)
	}
	k.stir()
}

// Left says that nothing keeps a shard any more for which Leaving was called.
func (k *Keeper) Left(shard string) {
	k.each(func(c *claim) {
		if c.name == shard && !c.leaving.IsZero() {
			c.left = true
		}
	})
}

// End gives everything up at the next Step, or when it is Left, and takes nothing any more.
func (k *Keeper) End() { k.mu.Lock(); k.ending = true; k.stir(); k.mu.Unlock() }

// Ended says that everything is given up, and the store has it back.
func (k *Keeper) Ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ending && !slices.ContainsFunc(k.claims, func(c *claim) bool {
		return c.held() || c.asked != 0 || c.returned.Epoch != 0
	})
}

// drop ends the pod's use of a claim. What is to be given back is given back after Lost has returned: the request
// leaves only when Step does.
func (k *Keeper) drop(c *claim, why string, giveBack bool) {
	k.log.Info("shard lost", "shard", c.name, "epoch", c.lease.Epoch, "reason", why)
	if giveBack {
		c.returned = c.lease
	}
	if !c.seat {
		k.calls = append(k.calls, func() { k.options.Lost(c.name) })
	}
	c.ours = time.Time{}
	if c.fenced {
		c.ours = k.usedUntil(c)
	}
	c.lease, c.fenced, c.next, c.leaving, c.left = sessionstore.Lease{}, false, time.Time{}, time.Time{}, false
	c.see("", 0, k.now())
}

// see notes who has it.
func (c *claim) see(holder string, epoch uint64, now time.Time) {
	if c.looked.IsZero() || c.holder != holder {
		c.since, c.gone = now, false
	}
	c.looked, c.holder, c.epoch = now, holder, epoch
	if holder != "" {
		c.ours = time.Time{}
	}
}

// call does what was collected under the lock. A function may use the keeper.
func (k *Keeper) call() {
	k.mu.Lock()
	calls := k.calls
	k.calls = nil
	k.mu.Unlock()
	for _, f := range calls {
		f()
	}
}
