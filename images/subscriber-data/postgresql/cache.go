package postgresql

import (
	"container/list"
	"encoding/json"
	"fmt"
	"sync"
	"unique"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// cache has the rows that were asked for last, so many of them. Its owner's lock guards it.
type cache struct {
	limit  int
	bySUPI map[string]*list.Element
	// recent has *cached, the one that was asked for last in front.
	recent *list.List
}

// cached is a row, and the epoch it was read in.
type cached struct {
	row   *row
	epoch uint64
	// What many rows say alike is in memory once.
	slices, ambr, amf unique.Handle[string]
}

func newCache(limit int) *cache {
	return &cache{limit: limit, bySUPI: make(map[string]*list.Element), recent: list.New()}
}

func (c *cache) len() int { return c.recent.Len() }

// get returns nil where nothing is cached.
func (c *cache) get(supi string) (*row, uint64) {
	e := c.bySUPI[supi]
	if e == nil {
		return nil, 0
	}
	c.recent.MoveToFront(e)
	k := e.Value.(*cached)
	return k.row, k.epoch
}

func (c *cache) put(r *row, epoch uint64) {
	c.remove(r.supi)
	if c.limit <= 0 {
		return
	}
	for c.recent.Len() >= c.limit {
		c.remove(c.recent.Back().Value.(*cached).row.supi)
	}
	k := &cached{row: r, epoch: epoch, slices: unique.Make(r.slices), ambr: unique.Make(r.ambr), amf: unique.Make(r.amf)}
	r.slices, r.ambr, r.amf = k.slices.Value(), k.ambr.Value(), k.amf.Value()
	c.bySUPI[r.supi] = c.recent.PushFront(k)
}

func (c *cache) remove(supi string) {
	if e := c.bySUPI[supi]; e != nil {
		c.recent.Remove(e)
		delete(c.bySUPI, supi)
	}
}

// clear forgets everything.
func (c *cache) clear() {
	clear(c.bySUPI)
	c.recent.Init()
}

// subscribed is what a subscription says in JSON, decoded what that is.
type subscribed struct{ slices, ambr string }

type decoded struct {
	slices []v1alpha1.SubscribedSlice
	ambr   v1alpha1.AMBR
}

// maxDecoded is how many different subscriptions are kept decoded.
const maxDecoded = 1024

// decoder keeps what subscriptions say that were decoded last: a million subscribers have a few.
type decoder struct {
	mu    sync.Mutex
	known map[subscribed]*decoded
}

// decode what a row says of slices and AMBR. Nobody changes what it returns.
func (c *decoder) decode(r *row) (*decoded, error) {
	key := subscribed{r.slices, r.ambr}
	c.mu.Lock()
	d := c.known[key]
	c.mu.Unlock()
	if d != nil {
		return d, nil
	}
	d = new(decoded)
	if err := json.Unmarshal([]byte(r.slices), &d.slices); err != nil {
		return nil, fmt.Errorf("slices of %s in the subscriber database: %w", r.supi, err)
	}
	if err := json.Unmarshal([]byte(r.ambr), &d.ambr); err != nil {
		return nil, fmt.Errorf("ambr of %s in the subscriber database: %w", r.supi, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxDecoded {
		clear(c.known)
	}
	c.known[key] = d
	return d, nil
}
