package pace

import (
	"net/netip"
	"sync"
)

// A Crew does jobs with a bounded number of goroutines: 400,000 sessions may have something to report in the
// same second, and one gNB that restarts has Error Indications for all of its tunnels. What waits takes some
// octets, not a goroutine and a decoded session. Measuring has one crew, and each CP function has one that
// reports to it: as many requests are under way as it has goroutines, so that the CP function's answers set
// the pace.
type Crew[J comparable] struct {
	limit int
	begin func(f func()) // a thread
	do    func(j J, told bool)

	mu      sync.Mutex
	running int
	queue   []J
	told    map[J]bool // of those in the queue
}

// NewCrew makes one of at most so many goroutines, which begin begins. Two jobs that are equal are one.
func NewCrew[J comparable](limit int, begin func(f func()), do func(j J, told bool)) *Crew[J] {
	return &Crew[J]{limit: limit, begin: begin, do: do, told: map[J]bool{}}
}

// Add has a job done soon, once if it waits already. told is passed on, if it was set once.
func (c *Crew[J]) Add(j J, told bool) {
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

func (c *Crew[J]) work() {
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			c.running--
			c.queue, c.told = nil, map[J]bool{} // they keep the room of their best days
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

func (c *Crew[J]) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running == 0
}

// Crews are those that report, by the CP function's address.
type Crews[J comparable] struct {
	limit int
	begin func(f func())
	do    func(j J, told bool)

	mu sync.Mutex
	to map[netip.Addr]*Crew[J]
}

// crewsMax is how many there are before those that have nothing to do are forgotten.
const crewsMax = 256

// NewCrews makes room for crews of at most so many goroutines each.
func NewCrews[J comparable](limit int, begin func(f func()), do func(j J, told bool)) *Crews[J] {
	return &Crews[J]{limit: limit, begin: begin, do: do, to: map[netip.Addr]*Crew[J]{}}
}

// Add has a CP function's crew do a job soon.
func (c *Crews[J]) Add(to netip.Addr, j J) {
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
		found = NewCrew(c.limit, c.begin, c.do)
		c.to[to] = found
	}
	found.Add(j, false)
}
