package postgresql

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// answered is what is served of a database that a test answers for, to readers one question after the other.
type answered struct {
	*Served
	mu    sync.Mutex
	asked [][]string
	// let questions be answered, of which each takes one.
	let chan struct{}
}

func answeredByHand(t *testing.T) *answered {
	a := &answered{let: make(chan struct{})}
	a.Served = NewServed(open(t, secret("postgres://nobody@127.0.0.1:1/none")), 1000, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	a.setUp(true)
	a.find = func(ctx context.Context, supis []string) (map[string]*row, error) {
		a.mu.Lock()
		a.asked = append(a.asked, supis)
		a.mu.Unlock()
		select {
		case <-a.let:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		out := make(map[string]*row)
		for _, s := range supis {
			if s != supi(0) { // whom nobody knows
				out[s] = &row{supi: s, slices: "[]", ambr: "{}"}
			}
		}
		return out, nil
	}
	return a
}

// questions so far, how many rows each asked for.
func (a *answered) questions() (sizes []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, supis := range a.asked {
		sizes = append(sizes, len(supis))
	}
	return sizes
}

func TestRowsThatAreWantedTogetherAreAskedForTogether(t *testing.T) {
	a := answeredByHand(t)
	synctest.Test(t, func(t *testing.T) {
		a.let = make(chan struct{}) // channels of a bubble are made in it
		var group sync.WaitGroup
		ask := func(n int) {
			group.Go(func() {
				s, err := a.Subscriber(t.Context(), supi(n))
				switch {
				case n == 0 && !errors.Is(err, subscription.ErrUnknownSubscriber):
					t.Errorf("of one whom nobody knows: %v", err)
				case n > 0 && (err != nil || s.Spec.SUPI != supi(n)):
					t.Errorf("%s is answered %+v, %v", supi(n), s, err)
				}
			})
			synctest.Wait()
		}
		const more = perRead + 44
		for n := range more + readers {
			ask(n)
		}
		ask(more) // is asked for already
		if got, want := a.questions(), slices.Repeat([]int{1}, readers); !slices.Equal(got, want) {
			t.Fatalf("questions for %v rows while none is answered, want %v", got, want)
		}
		close(a.let)
		group.Wait()
		asked := a.questions()
		slices.Sort(asked[min(readers, len(asked)):]) // two readers ask at once
		if want := append(slices.Repeat([]int{1}, readers), more-perRead, perRead); !slices.Equal(asked, want) {
			t.Errorf("questions for %v rows, want %v", asked, want)
		}
		ask(1)
		group.Wait()
		if n := len(a.questions()); n != readers+2 {
			t.Errorf("%d questions: one that is cached is asked for", n)
		}
	})
}

// TestWaitingForAReaderCountsAsWaiting: who waits behind questions that nobody answers waits no longer than who is asked for at once.
func TestWaitingForAReaderCountsAsWaiting(t *testing.T) {
	a := answeredByHand(t)
	synctest.Test(t, func(t *testing.T) {
		a.let = make(chan struct{})
		begin := time.Now()
		var group sync.WaitGroup
		for n := 1; n <= readers+2; n++ {
			group.Go(func() {
				if _, err := a.Subscriber(t.Context(), supi(n)); !errors.Is(err, ErrAway) {
					t.Errorf("a database that does not answer: %v", err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		if waited := time.Since(begin); waited != readLimit {
			t.Errorf("the last has waited %v, want %v", waited, readLimit)
		}
	})
}
