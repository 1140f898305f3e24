package worker

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// complaints are what other functions do not do. Where one is away it is the same for every UE: a cause is worth a warning once a minute, with how many more
// there were, and each is there at level debug.
type complaints struct {
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
	complainEvery = time.Minute
	// mostCauses are told apart: they are in others' words.
	mostCauses = 64
)

// about says at which level that is to be told now, and how many have not been since the last warning.
func (c *complaints) about(now time.Time, x complaint) (level slog.Level, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[complaint]*complained{}
	}
	was := c.made[x]
	if was == nil && len(c.made) >= mostCauses {
		x.cause = "another"
		was = c.made[x]
	}
	switch {
	case was == nil:
		c.made[x] = &complained{at: now}
		return slog.LevelWarn, 0
	case now.Sub(was.at) < complainEvery:
		was.more++
		return slog.LevelDebug, 0
	}
	more = was.more
	was.at, was.more = now, 0
	return slog.LevelWarn, more
}

// complain of a function that has not done what it was asked.
func (s *Shard) complain(what string, err error, args ...any) {
	got, cause := outcome(err)
	if cause == "" {
		cause = fmt.Sprint(got)
	}
	level, more := s.pod.complaints.about(time.Now(), complaint{what, cause})
	args = append(args, "err", err)
	if more > 0 {
		args = append(args, "more", more)
	}
	s.log.Log(s.ctx, level, what, args...)
}
