package records

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

const (
	// seats is more than there are replicas: those of pods that have just ended are taken for seatTTL.
	seats   = 256
	seatTTL = time.Minute
)

// seat is a lease that nobody else wants: writes of one record are told apart by its revision, not by who holds what. It is
// taken with the first write, prolonged with later ones, and ends by itself.
type seat struct {
	store  sessionstore.Store
	holder string

	mu       sync.Mutex
	held     sessionstore.Lease
	renewing bool
}

func newSeat(store sessionstore.Store, holder string) *seat {
	return &seat{store: store, holder: holder}
}

// lease to write under.
func (s *seat) lease(ctx context.Context) (sessionstore.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := time.Until(s.held.Until)
	if s.held.Epoch == 0 || left <= 0 {
		return s.held, s.take(ctx)
	}
	if left < seatTTL/2 && !s.renewing {
		s.renewing = true
		go s.renew(s.held)
	}
	return s.held, nil
}

// take any; the caller holds the lock.
func (s *seat) take(ctx context.Context) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.holder))
	for n := range seats {
		taken, err := s.store.Acquire(ctx, fmt.Sprintf("seat-%d", (int(h.Sum32()%seats)+n)%seats), s.holder, seatTTL)
		var held *sessionstore.HeldError
		if errors.As(err, &held) {
			continue
		}
		if err == nil {
			s.held = taken
		}
		return err
	}
	return fmt.Errorf("%w: all %d seats are taken", sessionstore.ErrUnavailable, seats)
}

func (s *seat) renew(l sessionstore.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	renewed, err := s.store.Renew(ctx, l, seatTTL)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewing = false
	if err == nil && s.held.Epoch == l.Epoch {
		s.held = renewed
	}
}

// lost says that the store has refused a write under it.
func (s *seat) lost(l sessionstore.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.Epoch == l.Epoch {
		s.held = sessionstore.Lease{}
	}
}

func (s *seat) release(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.Epoch != 0 {
		_ = s.store.Release(ctx, s.held) // it ends by itself
	}
	s.held = sessionstore.Lease{}
}
