package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A write counts when Options.Replicas have it, and waits, for a moment, for all others that follow the primary. A Sentinel that makes one of them the primary
// knows how far each was a second ago, or ten: it may take one that is a little behind another, and what that one alone had is lost. Of replicas that have all
// that was answered any will do. One that is slow, or far away, holds up a write a second.

const (
	// followEvery is how often the primary is asked who follows it.
	followEvery = time.Second
	// othersTime is how long a write waits for more than Options.Replicas.
	othersTime = 50 * time.Millisecond
	// mostLag of one that follows, in seconds since it was heard (INFO replication, lag). Each speaks every second.
	mostLag = 2
)

// following is how many replicas follow the primary, as it has told last, without those that were too slow since.
type following struct {
	mu    sync.Mutex
	count int
	asked time.Time
}

// waits of a pipeline, for the replicas to have what was sent before on the same connection.
type waits struct {
	enough *redis.Cmd // Options.Replicas of them
	// all that follow, so many of them, and who does; nil where that was not asked.
	all    *redis.Cmd
	wanted int
	told   *redis.StringCmd
}

// wait for the replicas; nil where none are asked for.
func (s *Store) wait(ctx context.Context, p redis.Pipeliner) *waits {
	if s.options.Replicas == 0 {
		return nil
	}
	w := &waits{}
	s.following.mu.Lock()
	defer s.following.mu.Unlock()
	if now := s.now(); now.Sub(s.following.asked) >= followEvery {
		s.following.asked = now
		w.told = p.Info(ctx, "replication")
	}
	if w.wanted = s.following.count; w.wanted > s.options.Replicas {
		w.all = p.Do(ctx, "WAIT", w.wanted, othersTime.Milliseconds())
	}
	w.enough = p.Do(ctx, "WAIT", s.options.Replicas, s.options.ReplicaTimeout.Milliseconds())
	return w
}

// exec sends a pipeline, and returns what became of its waiting for replicas; nil where none are asked for. Each command has its own error.
func (s *Store) exec(ctx context.Context, p redis.Pipeliner) *waits {
	w := s.wait(ctx, p)
	_, _ = p.Exec(ctx)
	if w != nil {
		s.waited(w)
	}
	return w
}

// waited: the pipeline has been answered.
func (s *Store) waited(w *waits) {
	s.following.mu.Lock()
	defer s.following.mu.Unlock()
	if w.told != nil {
		if info, err := w.told.Result(); err == nil {
			s.following.count = follow(info)
		}
	}
	if w.all != nil {
		if n, err := w.all.Int(); err == nil && n < w.wanted {
			s.following.count = min(s.following.count, n)
		}
	}
}

// follow is how many replicas follow a primary, by its INFO replication: slave0:ip=…,port=…,state=online,offset=…,lag=1.
func follow(info string) (n int) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if number, is := strings.CutPrefix(name, "slave"); !is || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		fields := map[string]string{}
		for field := range strings.SplitSeq(value, ",") {
			k, v, _ := strings.Cut(field, "=")
			fields[k] = v
		}
		if lag, err := strconv.Atoi(fields["lag"]); err == nil && lag <= mostLag && fields["state"] == "online" {
			n++
		}
	}
	return n
}
