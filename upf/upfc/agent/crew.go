package agent

import (
	"net/netip"
	"slices"
	"sync"

	"core5g.dev/core5g/upf/upfc/rules"
)

// A crew does jobs with a bounded number of goroutines: 400,000 sessions may have something to report in the
// same second, and one gNB that restarts has Error Indications for all of its tunnels. What waits takes some
// octets, not a goroutine and a decoded session. Measuring has one crew, and each CP function has one that
// reports to it: as many requests are under way as it has goroutines, so that the CP function's answers set
// the pace.
type crew struct {
	limit int
	begin func(f func()) // a thread
	do    func(j job, told bool)

	mu      sync.Mutex
	running int
	queue   []job
	told    map[job]bool // of those in the queue
}

// job is about a session; two that are equal are one.
type job struct {
	index  uint32
	tunnel rules.FTEID // of an Error Indication; else it is about the session's usage
	last   *lastReports
	about  about
}

// about is what of a session's the job is about that upf-u has told of.
type about uint8

const (
	aboutUsage    about = iota
	aboutStations       // MAC addresses have come to the session or left it
	aboutFlows          // flows of applications have begun or ended
)

// waiting is what upf-u has said of sessions that nobody has looked at yet, by their indexes.
type waiting[E any] struct {
	mu   sync.Mutex
	list map[uint32][]E
}

// add adds something, which is the last word on what is over.
func (w *waiting[E]) add(index uint32, e E, over func(E) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.list == nil {
		w.list = map[uint32][]E{}
	}
	w.list[index] = append(slices.DeleteFunc(w.list[index], over), e)
}

func (w *waiting[E]) take(index uint32) []E {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list[index]
	delete(w.list, index)
	return list
}

func (w *waiting[E]) drop(index uint32) { w.take(index) }

func newCrew(limit int, begin func(f func()), do func(j job, told bool)) *crew {
	return &crew{limit: limit, begin: begin, do: do, told: map[job]bool{}}
}

// add has a job done soon, once if it waits already. told is passed on, if it was set once.
func (c *crew) add(j job, told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, waits := c.told[j]; waits {
		c.told[j] = was || told
		return
	}
	c.told[j] = told
	c.queue = append(c.queue, j)
	if c.running < c.limit {
		c.running++
		c.begin(c.work)
	}
}

func (c *crew) work() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.running--
			c.queue, c.told = nil, map[job]bool{} // they keep the room of their best days
			c.mu.Unlock()
			return
		}
		j := c.queue[0]
		c.queue = c.queue[1:]
		told := c.told[j]
		delete(c.told, j)
		c.mu.Unlock()
		c.do(j, told)
	}
}

func (c *crew) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running == 0
}

// crews are those that report, by the CP function's address.
type crews struct {
	limit int
	begin func(f func())
	do    func(j job, told bool)

	mu sync.Mutex
	to map[netip.Addr]*crew
}

// crewsMax is how many there are before those that have nothing to do are forgotten.
const crewsMax = 256

func (c *crews) add(to netip.Addr, j job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.to[to]
	if found == nil {
		if len(c.to) >= crewsMax {
			for addr, idle := range c.to {
				if idle.idle() {
					delete(c.to, addr)
				}
			}
		}
		found = newCrew(c.limit, c.begin, c.do)
		c.to[to] = found
	}
	found.add(j, false)
}
