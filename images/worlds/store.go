package worlds

import (
	"context"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

// Store is the session store of a world.
type Store struct {
	*memory.Store
	clock *Clock
	// Unkind: writes are lost, or their answers.
	Unkind bool
	// Away and Slow until then.
	Away, Slow time.Time
	// Written is told the key of each record that may be another, whether its writer hears of it or not.
	Written func(key string)
	looking bool
}

// NewStore that is unkind.
func NewStore(c *Clock, written func(key string)) *Store {
	s := &Store{clock: c, Unkind: true, Written: written}
	s.Store = memory.New(func() time.Time { return c.Now })
	s.Fault = s.fault
	s.Store.Away = func() bool { return !s.looking && c.Now.Before(s.Away) }
	return s
}

// Commit looks at what there is then.
func (s *Store) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	err := s.Store.Commit(ctx, l, c)
	s.Written(c.Key)
	return err
}

// Look at the store, which is there then: a checker does.
func (s *Store) Look(f func(context.Context, *memory.Store)) {
	was := s.looking
	s.looking = true
	defer func() { s.looking = was }()
	f(context.Background(), s.Store)
}

func (s *Store) fault(string) memory.Fault {
	if !s.Unkind || s.looking || !s.clock.Chance(50) {
		return memory.None
	}
	return memory.Fault(1 + s.clock.Rand.IntN(3))
}

// Call executes f at the store after a while, and what it returns after another.
func (s *Store) Call(f func(sessionstore.Store) func()) {
	slow := 3 * time.Millisecond
	if s.Unkind && s.clock.Now.Before(s.Slow) {
		slow = 1500 * time.Millisecond
	}
	s.clock.Soon(100*time.Microsecond, slow, func() {
		then := f(s)
		s.clock.Soon(100*time.Microsecond, slow, then)
	})
}
