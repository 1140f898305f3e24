package pfcp

import (
	"bytes"
	"hash/maphash"
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
	seed    maphash.Seed
}

type cacheKey struct {
	from     netip.AddrPort
	sequence uint32
	msgType  uint8
}

type cacheEntry struct {
	key     cacheKey
	sum     uint64 // of the request
	request []byte // only while it is being executed
	answer  []byte // nil until then
	arrived time.Time
	next    *cacheEntry
}

type verdict int

const (
	isNew verdict = iota
	isRunning
	isAnswered
)

// keepAnswers outlasts the repetitions of common peers (three times every 3 s).
const keepAnswers = 12 * time.Second

func newResponseCache(keep time.Duration) *responseCache {
	return &responseCache{entries: map[cacheKey]*cacheEntry{}, keep: keep, seed: maphash.MakeSeed()}
}

// begin says what to do with a request; for isAnswered the answer comes with it.
func (c *responseCache) begin(k cacheKey, request []byte, now time.Time) (verdict, *cacheEntry, []byte) {
	sum := maphash.Bytes(c.seed, request)
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
	if e, ok := c.entries[k]; ok && e.sum == sum {
		if e.answer == nil {
			return isRunning, e, nil
		}
		return isAnswered, e, e.answer
	}
	e := &cacheEntry{key: k, sum: sum, request: bytes.Clone(request), arrived: now}
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
	e.request = nil
	if e.answer = answer; answer == nil && c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
}
