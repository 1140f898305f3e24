package pfcp

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// responseCache makes a request happen once (TS 29.244 6.4): the first copy is executed and answered, every
// copy that the kernel received after the answer gets the same answer again. Those that came before it was
// given, while the request ran or waited to be read, are answered by it: however long this side was busy, it
// does not send an answer a copy for them, for peers exist that a second one stops for good (free5GC's SMF
// 1.2.4). A sequence number that comes back with another content is a new request: peers that restarted
// begin anew. So a request is known by a hash of all of it, its sender included.
//
// Answers lie one behind the other in pieces that are dropped when their last answer is too old, or
// when all of them together exceed their limit, the oldest first: 50,000 sessions a second must not
// cost more memory than the sessions themselves.
type responseCache struct {
	mu      sync.Mutex
	seed    maphash.Seed
	keep    time.Duration
	limit   int                 // octets of answers
	running map[uint64]struct{} // being executed
	answers map[uint64]place
	pieces  []*piece // the last one is being filled
	first   uint32   // number of pieces[0]
	clock   func() time.Time
}

// place is where an answer lies, and when it was given.
type place struct {
	piece, at uint32
	given     int64 // UnixNano: the kernel's clock for arrivals
}

// piece holds answers, each behind its hash (8 octets) and its length (4).
type piece struct {
	b    []byte
	last time.Time // arrival of the youngest answer's request
}

const (
	pieceSize   = 64 * 1024
	answerHead  = 12
	keepAnswers = 12 * time.Second // outlasts the repetitions of common peers (three times every 3 s)
)

type verdict int

const (
	isNew verdict = iota
	isRunning
	isAnswered
	isOnItsWay // answered after this copy came
)

func newResponseCache(keep time.Duration, limit int) *responseCache {
	return &responseCache{
		seed: maphash.MakeSeed(), keep: keep, limit: limit,
		running: map[uint64]struct{}{}, answers: map[uint64]place{},
		clock: time.Now,
	}
}

// name is what a request is known by.
func (c *responseCache) name(from netip.AddrPort, request []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	a := from.Addr().As16()
	var port [2]byte
	binary.BigEndian.PutUint16(port[:], from.Port())
	_, _ = h.Write(a[:])
	_, _ = h.Write(port[:])
	_, _ = h.Write(request)
	return h.Sum64()
}

// begin says what to do with a request that the kernel has received at a time; for isAnswered the
// answer comes with it, which is not changed any more.
func (c *responseCache) begin(name uint64, now time.Time) (verdict, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pieces) > 0 && now.Sub(c.pieces[0].last) > c.keep {
		c.dropOldest()
	}
	if _, ok := c.running[name]; ok {
		return isRunning, nil
	}
	if p, ok := c.answers[name]; ok {
		// A clock that was set back is believed for as long as answers are kept.
		if before := p.given - now.UnixNano(); before > 0 && before < int64(c.keep) {
			return isOnItsWay, nil
		}
		b := c.pieces[p.piece-c.first].b[p.at:]
		n := binary.LittleEndian.Uint32(b[8:])
		return isAnswered, b[answerHead : answerHead+n]
	}
	c.running[name] = struct{}{}
	return isNew, nil
}

func (c *responseCache) dropOldest() {
	for b := c.pieces[0].b; len(b) > 0; {
		name := binary.LittleEndian.Uint64(b)
		if c.answers[name].piece == c.first {
			delete(c.answers, name)
		}
		b = b[answerHead+binary.LittleEndian.Uint32(b[8:]):]
	}
	c.pieces[0] = nil
	c.pieces = c.pieces[1:]
	c.first++
	if len(c.answers) == 0 {
		c.answers = map[uint64]place{} // a map keeps the room of its best days
	}
}

// finish records the answer to a request that arrived at a time, and returns it as it is kept: header and IEs. No header means that
// none is sent and a repetition is to be executed.
func (c *responseCache) finish(name uint64, header, ies []byte, arrived time.Time) []byte {
	given := c.clock().UnixNano()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, name)
	if header == nil {
		return nil
	}
	n := answerHead + len(header) + len(ies)
	last := len(c.pieces) - 1
	if last < 0 || len(c.pieces[last].b)+n > cap(c.pieces[last].b) {
		for len(c.pieces) > 0 && (len(c.pieces)+1)*pieceSize > c.limit {
			c.dropOldest()
		}
		c.pieces = append(c.pieces, &piece{b: make([]byte, 0, max(pieceSize, n))})
		last = len(c.pieces) - 1
	}
	p := c.pieces[last]
	c.answers[name] = place{c.first + uint32(last), uint32(len(p.b)), given}
	p.b = binary.LittleEndian.AppendUint64(p.b, name)
	p.b = binary.LittleEndian.AppendUint32(p.b, uint32(n-answerHead))
	p.b = append(append(p.b, header...), ies...)
	if arrived.After(p.last) {
		p.last = arrived
	}
	return p.b[len(p.b)-(n-answerHead):]
}
