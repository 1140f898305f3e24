package redisstore

import (
	"context"
	"fmt"
	"sync"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/redis/go-redis/v9"
)

// Commits that come while others are on their way go together: one write, one WAIT for all of them, one read. A server that syncs its file
// before it answers does so once for what has come meanwhile, so what is sent together costs one sync. A commit that comes when few are under
// way leaves at once, from its caller's goroutine.

const (
	// mostLanes are batches that are under way at a time, each on a connection.
	mostLanes = 4
	// mostTogether are commits of one batch.
	mostTogether = 64
)

// batches of commits.
type batches struct {
	mu      sync.Mutex
	lanes   int
	waiting []*waitingCommit
}

// waitingCommit is one that is to be answered. done has room for the answer: nobody waits for who waits no more.
type waitingCommit struct {
	keys []string
	args []any
	done chan committed
}

type committed struct {
	answer []any
	err    error
}

// batched runs the commit script together with others.
func (s *Store) batched(ctx context.Context, keys []string, args []any) ([]any, error) {
	w := &waitingCommit{keys: keys, args: args, done: make(chan committed, 1)}
	s.batches.mu.Lock()
	if s.batches.lanes < mostLanes {
		s.batches.lanes++
		s.batches.mu.Unlock()
		s.flush(ctx, []*waitingCommit{w})
		s.next()
		c := <-w.done
		return c.answer, c.err
	}
	s.batches.waiting = append(s.batches.waiting, w)
	s.batches.mu.Unlock()
	select {
	case c := <-w.done:
		return c.answer, c.err
	case <-ctx.Done(): // it may be on its way
		return nil, fmt.Errorf("%w: %w", sessionstore.ErrUnknown, ctx.Err())
	}
}

// next gives the lane to those who have come meanwhile.
func (s *Store) next() {
	s.batches.mu.Lock()
	if len(s.batches.waiting) == 0 {
		s.batches.lanes--
		s.batches.mu.Unlock()
		return
	}
	s.batches.mu.Unlock()
	go func() {
		for {
			s.batches.mu.Lock()
			list := s.batches.waiting[:min(len(s.batches.waiting), mostTogether)]
			s.batches.waiting = s.batches.waiting[len(list):]
			if len(list) == 0 {
				s.batches.waiting = nil
				s.batches.lanes--
				s.batches.mu.Unlock()
				return
			}
			s.batches.mu.Unlock()
			// Of several callers none may end it for the others: the connection's own limits hold.
			s.flush(context.Background(), list)
		}
	}()
}

// flush sends commits together, and answers each.
func (s *Store) flush(ctx context.Context, list []*waitingCommit) {
	p := s.client.Pipeline()
	evaluated := make([]*redis.Cmd, len(list))
	for n, w := range list {
		evaluated[n] = commit.EvalSha(ctx, p, w.keys, w.args...)
	}
	replicas := s.exec(ctx, p)
	for n, w := range list {
		answer, err := s.answered(evaluated[n], replicas)
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			answer, err = s.once(ctx, func(p redis.Pipeliner) *redis.Cmd { return commit.Eval(ctx, p, w.keys, w.args...) })
		}
		w.done <- committed{answer, err}
	}
}
