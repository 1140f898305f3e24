package signalling

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of what people cost.
const (
	// MostTraced UEs at a time.
	MostTraced = 8
	// Longest time that a trace lasts after it was last asked for.
	Longest = 10 * time.Minute

	ringLength    = 2048
	mostOctets    = 1 << 21 // of a ring
	mostPage      = 512
	mostStrangers = 256
	strangerRing  = 32
	strangerTime  = 30 * time.Second
)

// Tracer of a program. Its methods are safe for concurrent use.
type Tracer struct {
	now    func() time.Time
	life   uint64
	active atomic.Int32

	mu        sync.Mutex
	traces    map[string]*trace // by SUPI
	strangers map[Stranger]*stranger
}

type trace struct {
	until  time.Time
	nas    bool
	ring   []Entry
	first  uint64 // number of ring[0]
	octets int
}

// Stranger names a UE of which no SUPI is known.
type Stranger struct {
	Shard uint16
	UE    uint64
}

type stranger struct {
	since   time.Time
	entries []Entry
	supi    string // "" as long as nobody knows
}

// New makes a tracer that traces nobody. now is the clock.
func New(now func() time.Time) *Tracer {
	return &Tracer{now: now, life: rand.Uint64()>>1 | 1, traces: map[string]*trace{}, strangers: map[Stranger]*stranger{}}
}

// Active says whether anybody is traced. A nil tracer traces nobody.
func (t *Tracer) Active() bool { return t != nil && t.active.Load() > 0 }

// Trace a UE until that time from now, 1 s to Longest, and read what was kept behind a number, 0 for all. nas: the octets of NAS are kept too, from then on.
func (t *Tracer) Trace(supi string, last time.Duration, nas bool, after uint64) (Page, error) {
	if last < time.Second || last > Longest {
		return Page{}, fmt.Errorf("a trace of %s: write 1s to %s", last, Longest)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
	now := t.now()
	x := t.traces[supi]
	if x == nil {
		if len(t.traces) >= MostTraced {
			return Page{}, fmt.Errorf("%d UEs are traced already: wait until one of these traces ends", MostTraced)
		}
		x = &trace{first: 1}
		t.traces[supi] = x
		t.active.Store(int32(len(t.traces)))
	}
	x.until, x.nas = now.Add(last), nas
	time.AfterFunc(last+time.Second, t.sweepLocked)
	page := Page{Entries: []Entry{}, Next: after, Life: t.life, Now: now}
	if after+1 < x.first {
		page.Lost, after = x.first-after-1, x.first-1
	}
	if n := after + 1 - x.first; n < uint64(len(x.ring)) {
		list := x.ring[n:]
		page.Entries = append(page.Entries, list[:min(len(list), mostPage)]...)
	}
	if n := len(page.Entries); n > 0 {
		page.Next = page.Entries[n-1].Number
	} else {
		page.Next = min(after, x.first+uint64(len(x.ring))-1)
	}
	return page, nil
}

func (t *Tracer) sweepLocked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep()
}

// sweep away what nobody asks for any more.
func (t *Tracer) sweep() {
	now := t.now()
	for supi, x := range t.traces {
		if !now.Before(x.until) {
			delete(t.traces, supi)
		}
	}
	for s, x := range t.strangers {
		if len(t.traces) == 0 || now.Sub(x.since) >= strangerTime {
			delete(t.strangers, s)
		}
	}
	t.active.Store(int32(len(t.traces)))
}

// Wants says whether a UE is traced.
func (t *Tracer) Wants(supi string) bool {
	if !t.Active() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.traces[supi] != nil
}

// Add entries of a UE, where it is traced. Their time is now, unless they have one.
func (t *Tracer) Add(supi string, entries ...Entry) {
	if !t.Active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.traces[supi]; x != nil {
		x.add(t.stamped(entries))
	}
}

func (t *Tracer) stamped(entries []Entry) []Entry {
	now := t.now()
	for n := range entries {
		if entries[n].At.IsZero() {
			entries[n].At = now
		}
	}
	return entries
}

func (x *trace) add(entries []Entry) {
	for _, e := range entries {
		if e.Protocol == NAS && !x.nas {
			e.Octets = nil
		}
		e.Number = x.first + uint64(len(x.ring))
		x.ring = append(x.ring, e)
		x.octets += len(e.Octets)
	}
	for len(x.ring) > ringLength || x.octets > mostOctets {
		x.octets -= len(x.ring[0].Octets)
		x.ring[0] = Entry{}
		x.ring, x.first = x.ring[1:], x.first+1
	}
}

// AddStranger keeps entries of a UE that may turn out to be one that is traced.
func (t *Tracer) AddStranger(s Stranger, entries ...Entry) {
	if !t.Active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.strangers[s]
	if x == nil {
		if len(t.strangers) >= mostStrangers {
			t.sweep()
		}
		if len(t.strangers) >= mostStrangers || len(t.traces) == 0 {
			return
		}
		x = &stranger{since: t.now()}
		t.strangers[s] = x
	}
	if traced := t.traces[x.supi]; traced != nil {
		traced.add(t.stamped(entries))
		return
	}
	if room := strangerRing - len(x.entries); room > 0 {
		x.entries = append(x.entries, t.stamped(entries[:min(room, len(entries))])...)
	}
}

// Known: a stranger is that UE, or says so. What was kept of it, and what comes, is the trace's, or nobody's.
func (t *Tracer) Known(s Stranger, supi string) {
	if !t.Active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x, traced := t.strangers[s], t.traces[supi]
	switch {
	case traced == nil:
		delete(t.strangers, s)
	case x == nil:
		t.strangers[s] = &stranger{since: t.now(), supi: supi}
	case x.supi == supi:
		x.since = t.now()
	default:
		traced.add(x.entries)
		x.entries, x.supi = nil, supi
	}
}
