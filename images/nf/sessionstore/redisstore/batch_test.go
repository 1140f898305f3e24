package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// Commits that go together are each answered for itself, also by a server that has not heard of the script.
func TestCommitsThatGoTogether(t *testing.T) {
	redisServer(t)
	srv := start(t)
	s := open(t, Options{Addresses: []string{srv.address()}})
	c := srv.client()
	defer func() { _ = c.Close() }()
	ctx := context.Background()
	lease, err := s.Acquire(ctx, "shard", "pod", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	const keys = 200
	for _, round := range []struct {
		name string
		want error
	}{{"the first of each key", nil}, {"once more, of a revision that there is not", sessionstore.ErrConflict}} {
		if err := c.ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for n := range keys {
			wg.Go(func() {
				key := fmt.Sprint("k", n)
				is := sessionstore.Revision{Writer: uint64(n + 1), Count: 1}
				if round.want != nil && n%2 == 1 {
					is.Writer = 1 << 40
				}
				err := s.Commit(ctx, lease, sessionstore.Change{Key: key, Is: is, Value: []byte(key)})
				want := round.want
				if n%2 == 0 {
					want = nil // its own write, repeated
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: %s: %v, want %v", round.name, key, err, want)
				}
			})
		}
		wg.Wait()
	}
	for n := range keys {
		key := fmt.Sprint("k", n)
		r, err := s.Read(ctx, key)
		if err != nil || string(r.Value) != key || r.Revision.Writer != uint64(n+1) {
			t.Errorf("%s: %q of %+v, %v", key, r.Value, r.Revision, err)
		}
	}
	await(t, "nothing is under way", func() error {
		s.batches.mu.Lock()
		defer s.batches.mu.Unlock()
		if s.batches.lanes != 0 || len(s.batches.waiting) != 0 {
			return fmt.Errorf("%d lanes, %d waiting", s.batches.lanes, len(s.batches.waiting))
		}
		return nil
	})
}

// A caller whose time is over while its commit waits for others does not know what becomes of it.
func TestACommitThatWaitsTooLong(t *testing.T) {
	s := &Store{now: time.Now}
	s.batches.lanes = mostLanes
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Commit(ctx, sessionstore.Lease{}, change("k", 1)); !errors.Is(err, sessionstore.ErrUnknown) {
		t.Errorf("%v, want %v", err, sessionstore.ErrUnknown)
	}
}
