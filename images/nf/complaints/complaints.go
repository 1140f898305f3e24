// Package complaints is about what others do not do. Where one is away it is the same for every UE: a cause is worth a line once a minute, with how many more
// there were.
package complaints

import (
	"sync"
	"time"
)

// Complaints that were made. Its zero value is ready for use.
type Complaints struct {
	mu   sync.Mutex
	made map[complaint]*complained
}

// complaint is what is not done, and why.
type complaint struct{ what, cause string }

type complained struct {
	at   time.Time
	more int // since
}

const (
	every = time.Minute
	// mostCauses are told apart: they are in others' words.
	mostCauses = 64
)

// About says whether that is to be told now, and how many have not been since it was told last.
func (c *Complaints) About(now time.Time, what, cause string) (tell bool, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[complaint]*complained{}
	}
	x := complaint{what, cause}
	was := c.made[x]
	if was == nil && len(c.made) >= mostCauses {
		x.cause = "another"
		was = c.made[x]
	}
	switch {
	case was == nil:
		c.made[x] = &complained{at: now}
		return true, 0
	case now.Sub(was.at) < every:
		was.more++
		return false, 0
	}
	more = was.more
	was.at, was.more = now, 0
	return true, more
}
