package sessionstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxRecord bounds a record, in octets as it is stored (sealed).
const MaxRecord = 2048

var (
	// ErrNotFound: the store has looked, under its present generation, and there is none.
	ErrNotFound = errors.New("session store: no such record")
	// ErrFenced: the lease is not the shard's any more. Its holder must stop to act for the shard at once.
	ErrFenced = errors.New("session store: the lease of the shard is lost")
	// ErrConflict: the record has another revision than the change was made from.
	ErrConflict = errors.New("session store: the record has changed meanwhile")
	// ErrTaken: a unique index names another record. It comes as a *TakenError.
	ErrTaken = errors.New("session store: the index belongs to another record")
	// ErrUnknown: nobody knows whether it was written. Commit the same change again.
	ErrUnknown = errors.New("session store: it is not known whether this was written")
	// ErrUnavailable: the store did not answer, and nothing was asked of it that could have changed it.
	ErrUnavailable = errors.New("session store: not available")
	// ErrTooLarge: a record above MaxRecord; nothing was sent.
	ErrTooLarge = fmt.Errorf("session store: a record has more than %d octets", MaxRecord)
)

// TakenError is an ErrTaken that says which index it is.
type TakenError struct{ Index Index }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%v: %s:%s", ErrTaken, e.Index.Kind, e.Index.Value)
}

// Is ErrTaken.
func (e *TakenError) Is(target error) bool { return target == ErrTaken }

// HeldError says who has the shard that somebody wanted.
type HeldError struct {
	Shard, Holder string
	// Epoch of the holder's lease.
	Epoch uint64
	// Remaining is what is left of the holder's lease.
	Remaining time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("session store: shard %s is held by %s for %s more", e.Shard, e.Holder, e.Remaining)
}

// Lease is the right to write the records of a shard.
type Lease struct {
	Shard, Holder string
	// Epoch grows with every holder, also across generations as long as the store's clock does not run backwards.
	Epoch uint64
	// Generation is the store's, when the lease was taken.
	Generation string
	// Until is when the lease ends by the clock of the holder, counted from before it was asked for: a holder that
	// has not renewed it by then must have stopped to act.
	Until time.Time
}

// Valid says whether the holder may act for the shard at that time: send on N2, N4 or the SBI, or answer.
func (l Lease) Valid(now time.Time) bool { return l.Epoch != 0 && now.Before(l.Until) }

// Revision names one write of a record: who wrote it, and the writer's own count. The zero Revision is that of a
// record that does not exist.
type Revision struct {
	// Writer is random, new with each life of a program: two lives never share a revision.
	Writer uint64
	Count  uint64
}

// Index is a unique secondary key: at most one record has it.
type Index struct{ Kind, Value string }

// Record is what the store has under a key.
type Record struct {
	Key      string
	Revision Revision
	Value    []byte
}

// Change is one write. Everything in it happens in one step.
type Change struct {
	Key string
	// Was is the revision that the change was made from, zero where there must be no record. Is is its own.
	Was, Is Revision
	// Value replaces the record; nil deletes it, and then AddIndexes, JoinGroups and OpenIntent must be empty, and Due only takes away. Where Was is zero, too,
	// there is no record, and what is left of one is taken away: due names and intents of the shard, indexes, groups. It must name some.
	Value []byte

	// Indexes that name the record from now on, and such that do so no longer. Removing one that names another record
	// leaves it alone.
	AddIndexes, RemoveIndexes []Index
	// Groups list records. A record may be in many.
	JoinGroups, LeaveGroups []string
	// Due adds or moves what the holder of the shard has to look at at a time, by a name of the record's own ("T3591");
	// a zero time takes it away.
	Due map[string]time.Time
	// OpenIntent marks that a procedure of the record is under way whose outcome others may know and the record does
	// not; CloseIntent takes the mark away.
	OpenIntent, CloseIntent bool
	// From is another shard, whose holder has given the record up; "" for none. What was due of it there by the names in Gone is so no more, and its
	// intent there is closed.
	From string
	Gone []string
}

// Due is something to look at.
type Due struct {
	Key, Name string
	At        time.Time
}

// Store keeps records. It is safe for concurrent use. Every method ends with its context.
type Store interface {
	// Acquire takes a shard that nobody holds: *HeldError otherwise. The same holder taking it again gets a new epoch.
	Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (Lease, error)
	// Renew prolongs the lease, or says ErrFenced.
	Renew(ctx context.Context, l Lease, ttl time.Duration) (Lease, error)
	// Release gives the shard up at once. One that is lost already is nil, too.
	Release(ctx context.Context, l Lease) error
	// Holder says who has the shard; "" for nobody.
	Holder(ctx context.Context, shard string) (holder string, epoch uint64, err error)

	// Commit writes, under the lease.
	Commit(ctx context.Context, l Lease, c Change) error
	// Read returns a record, or ErrNotFound.
	Read(ctx context.Context, key string) (Record, error)
	// Find returns the record that an index names, or ErrNotFound.
	Find(ctx context.Context, i Index) (Record, error)
	// Members returns keys of a group, at most about max, from a cursor that is "" at first and "" again behind the
	// last. A key that is in the group all the time comes at least once.
	Members(ctx context.Context, group, cursor string, max int) (keys []string, next string, err error)
	// Count says how many keys a group has.
	Count(ctx context.Context, group string) (int, error)
	// Intents returns keys of records of the shard with an open intent, the oldest first, at most max.
	Intents(ctx context.Context, shard string, max int) ([]string, error)
	// Due returns what is due in the shard at that time, the earliest first, at most max. It stays due until a Commit
	// moves it or takes it away.
	Due(ctx context.Context, shard string, at time.Time, max int) ([]Due, error)

	// Reserve gives the holder of the shard a block of n numbers that nobody got before: first, first+1, … It
	// begins at 0. What is not used of a block is lost.
	Reserve(ctx context.Context, l Lease, name string, n uint64) (first uint64, err error)

	// Generation changes when the store may have lost writes that it had acknowledged.
	Generation(ctx context.Context) (string, error)
}

// Check says whether a change makes sense, before anything is sent.
func (c *Change) Check() error {
	switch {
	case c.Key == "":
		return errors.New("session store: a change without a key")
	case c.Is == Revision{} || c.Is == c.Was:
		return fmt.Errorf("session store: the change of %s has no revision of its own", c.Key)
	case len(c.Value) > MaxRecord:
		return fmt.Errorf("%w: %s has %d", ErrTooLarge, c.Key, len(c.Value))
	case c.OpenIntent && c.CloseIntent:
		return fmt.Errorf("session store: the change of %s opens and closes an intent", c.Key)
	case c.From == "" && len(c.Gone) != 0:
		return fmt.Errorf("session store: the change of %s does not say in which shard something is not due any more", c.Key)
	}
	for _, name := range slices.AppendSeq(slices.Clone(c.Gone), maps.Keys(c.Due)) {
		if name == "" || strings.Contains(name, " ") {
			return fmt.Errorf("session store: %s: %q names nothing that is due: write a name without spaces", c.Key, name)
		}
	}
	if c.Value != nil {
		return nil
	}
	switch {
	case c.Was == Revision{} && !c.CloseIntent && len(c.Due)+len(c.RemoveIndexes)+len(c.LeaveGroups) == 0:
		return fmt.Errorf("session store: the deletion of %s says neither of which revision nor what is left of it", c.Key)
	case len(c.AddIndexes) != 0 || len(c.JoinGroups) != 0 || c.OpenIntent:
		return fmt.Errorf("session store: the deletion of %s adds something to it", c.Key)
	}
	for name, at := range c.Due {
		if !at.IsZero() {
			return fmt.Errorf("session store: the deletion of %s makes %s due", c.Key, name)
		}
	}
	return nil
}
