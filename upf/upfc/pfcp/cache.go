package pfcp

import (
	"bytes"
	"net/netip"
	"sync"
	"time"
)

// responseCache makes a request happen once (TS 29.244 6.4): the first copy is executed, copies
// that arrive while it runs are dropped, later ones get the same answer again. A sequence number
// that comes back with another content is a new request: peers that restarted begin anew.
type responseCache struct {
	mu      sync.Mutex
	entries map[cacheKey]*cacheEntry
	oldest  *cacheEntry // singly linked in order of arrival, for expiry
	newest  *cacheEntry
	keep    time.Duration
}

type cacheKey struct {
	from     netip.AddrPort
	sequence uint32
	msgType  uint8
}

type cacheEntry struct {
	key     cacheKey
	request []byte
	answer  []byte // nil while the request is being executed
	arrived time.Time
	next    *cacheEntry
}

type verdict int

const (
	isNew verdict = iota
	isRunning
	isAnswered
)

func newResponseCache(keep time.Duration) *responseCache {
	return &responseCache{entries: map[cacheKey]*cacheEntry{}, keep: keep}
}

// begin says what to do with a request; for isAnswered the answer comes with it.
func (c *responseCache) begin(k cacheKey, request []byte, now time.Time) (verdict, *cacheEntry, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.oldest != nil && now.Sub(c.oldest.arrived) > c.keep {
		old := c.oldest
		if c.entries[old.key] == old {
			delete(c.entries, old.key)
		}
		if c.oldest = old.next; c.oldest == nil {
			c.newest = nil
		}
	}
	if e, ok := c.entries[k]; ok && bytes.Equal(e.request, request) {
		if e.answer == nil {
			return isRunning, e, nil
		}
		return isAnswered, e, e.answer
	}
	e := &cacheEntry{key: k, request: bytes.Clone(request), arrived: now}
	c.entries[k] = e
	if c.newest == nil {
		c.oldest = e
	} else {
		c.newest.next = e
	}
	c.newest = e
	return isNew, e, nil
}

// finish records the answer; nil means that none was sent and a repetition is to be executed.
func (c *responseCache) finish(e *cacheEntry, answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.answer = answer; answer == nil && c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
}
