package ausf

import (
	"container/list"
	"sync"
	"time"

	"core5g.dev/core5g/images/subscriber-data/aka"
)

// authContext is an authentication that waits for its confirmation.
type authContext struct {
	id                 string
	supi               string
	servingNetworkName string
	vector             aka.Vector
	expires            time.Time
}

// contexts holds open authentications. All live equally long, so that the oldest is always the first to
// expire, and the first to go where there are too many.
type contexts struct {
	now      func() time.Time
	lifetime time.Duration
	capacity int

	mu    sync.Mutex
	order *list.List // of *authContext, oldest first
	byID  map[string]*list.Element
}

func newContexts(now func() time.Time, lifetime time.Duration, capacity int) *contexts {
	return &contexts{
		now: now, lifetime: lifetime, capacity: capacity,
		order: list.New(), byID: make(map[string]*list.Element),
	}
}

// add stores a context and sets when it expires.
func (c *contexts) add(a *authContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if c.order.Len() >= c.capacity {
		c.drop(c.order.Front())
	}
	a.expires = c.now().Add(c.lifetime)
	c.byID[a.id] = c.order.PushBack(a)
}

// take removes a context and returns it: a confirmation is answered once.
func (c *contexts) take(id string) (*authContext, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	e, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	c.drop(e)
	return e.Value.(*authContext), true
}

// challenged reports whether RAND was sent to the SUPI in a context that is still open.
func (c *contexts) challenged(supi string, rand [16]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	for e := c.order.Back(); e != nil; e = e.Prev() {
		if a := e.Value.(*authContext); a.supi == supi && a.vector.RAND == rand {
			return true
		}
	}
	return false
}

func (c *contexts) expire() {
	now := c.now()
	for e := c.order.Front(); e != nil && !now.Before(e.Value.(*authContext).expires); e = c.order.Front() {
		c.drop(e)
	}
}

func (c *contexts) drop(e *list.Element) {
	delete(c.byID, e.Value.(*authContext).id)
	c.order.Remove(e)
}
