package pod

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

// What a pod remembers others recall, also while several write at once.
func TestMemory(t *testing.T) {
	store := memory.New(time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if value, err := Memory(store, "a/1").Recall(ctx, "PCF"); value != nil || err != nil {
		t.Errorf("of nothing: %q, %v", value, err)
	}
	var all sync.WaitGroup
	for pod := range 4 {
		m := Memory(store, fmt.Sprint("pod/", pod))
		for key := range 3 {
			for round := range 3 {
				all.Go(func() {
					if err := m.Remember(ctx, fmt.Sprint("key", key), fmt.Appendf(nil, "%d of %d", round, pod)); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
	all.Wait()
	last := Memory(store, "last/1")
	for _, value := range []string{"new", "newer"} {
		if err := last.Remember(ctx, "key0", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := Memory(store, "z/1").Recall(ctx, "key0"); string(got) != value || err != nil {
			t.Errorf("%q, %v, want %q", got, err, value)
		}
	}
	if holder, _, err := store.Holder(ctx, memoryShard); holder != "" || err != nil {
		t.Errorf("%q holds the lease for nothing, %v", holder, err)
	}
	store.Away = func() bool { return true }
	if _, err := last.Recall(ctx, "key0"); !errors.Is(err, sessionstore.ErrUnavailable) {
		t.Errorf("a store that is away: %v", err)
	}
}

// A pod that died in the midst of it is waited for, no longer than the lease lasts, nor than the caller does.
func TestMemoryOfAPodThatDied(t *testing.T) {
	store := memory.New(time.Now)
	if _, err := store.Acquire(t.Context(), memoryShard, "dead/1", time.Hour); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*memoryPause)
	defer cancel()
	var held *sessionstore.HeldError
	if err := Memory(store, "a/1").Remember(ctx, "PCF", []byte("x")); !errors.As(err, &held) || held.Holder != "dead/1" {
		t.Errorf("%v", err)
	}
}
