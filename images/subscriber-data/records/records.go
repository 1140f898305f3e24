package records

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/sessionstore/memory"
)

const (
	// patience is how long a change is tried while the store does not answer, and pause the time between two attempts. A
	// failover of the store takes up to 5 s; callers give up before.
	patience = 4 * time.Second
	pause    = 50 * time.Millisecond

	// remembered bounds the records that a replica has seen last, and need not read again to change them.
	remembered = 8192
	// page is how many members of a group are asked for at a time.
	page = 1024
)

// MaxValue bounds the value of a record, in octets.
const MaxValue = sessionstore.MaxRecord - sessionstore.SealOverhead

// Sealer encrypts values: they hold keys of sessions and identities of people.
type Sealer interface {
	Seal(key string, value []byte) []byte
	Open(key string, sealed []byte) ([]byte, error)
}

// ErrAway is what requests are answered while the store does not answer. ErrTooLarge: the record would have more than MaxValue.
var (
	ErrAway = sbi.NewProblem(http.StatusServiceUnavailable, "NF_FAILOVER", "the session store does not answer: ask again")
	// ErrTooLarge is the fault of who sends that much.
	ErrTooLarge = sbi.NewProblem(http.StatusRequestEntityTooLarge, "INVALID_MSG_FORMAT", fmt.Sprintf("this is more than is kept: write less than %d octets", MaxValue))
)

// Records is safe for concurrent use.
type Records struct {
	// Unreadable, where it is set before anything else is done, hears of records that cannot be read.
	Unreadable func(error)

	store  sessionstore.Store
	sealer Sealer
	seat   *seat
	writer uint64
	count  atomic.Uint64

	mu    sync.Mutex
	seen  map[string]seen
	locks map[string]*lock
}

// seen is a record as it was when it was read or written last.
type seen struct {
	value    []byte
	revision sessionstore.Revision
}

// lock is held while this replica changes a record: its own changes need not collide.
type lock struct {
	held    chan struct{}
	waiting int
}

// New keeps records in the store. holder names this process among its like, as a pod's name does.
func New(store sessionstore.Store, sealer Sealer, holder string) *Records {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return &Records{
		store: store, sealer: sealer, seat: newSeat(store, holder), writer: binary.BigEndian.Uint64(b[:]),
		seen: make(map[string]seen), locks: make(map[string]*lock),
	}
}

// InMemory keeps records in this process, which is alone.
func InMemory() *Records {
	key := make([]byte, sessionstore.KeySize)
	_, _ = rand.Read(key) // never fails
	sealer, err := sessionstore.NewSealer(map[uint32][]byte{1: key})
	if err != nil {
		panic(err) // of a key of another size
	}
	return New(memory.New(time.Now), sealer, "alone")
}

// Close gives the seat back. Nothing is to be changed afterwards.
func (r *Records) Close(ctx context.Context) { r.seat.release(ctx) }

// Sealer is what seals the records.
func (r *Records) Sealer() Sealer { return r.sealer }

// Recall is the value of a record as this replica knows it, which may be old; nil where it knows nothing.
func (r *Records) Recall(key string) []byte {
	s, _ := r.recall(key)
	return s.value
}

// Read returns the value under a key as the store has it, nil where there is none. A record that cannot be read, because the key that has sealed it was
// taken away or a newer program has written it, counts as none, and is written anew: nothing that is kept here is worth that nobody can register any more.
func (r *Records) Read(ctx context.Context, key string) ([]byte, error) {
	s, err := r.read(ctx, key)
	return s.value, err
}

func (r *Records) read(ctx context.Context, key string) (seen, error) {
	found, err := r.store.Read(ctx, key)
	if errors.Is(err, sessionstore.ErrNotFound) {
		return seen{}, nil
	}
	if err != nil {
		return seen{}, away(err)
	}
	value, err := r.sealer.Open(key, found.Value)
	if err == nil {
		if value, err = unpack(value); err != nil {
			err = fmt.Errorf("%w: %s: %w", sessionstore.ErrUnreadable, key, err)
		}
	}
	if errors.Is(err, sessionstore.ErrUnreadable) {
		if r.Unreadable != nil {
			r.Unreadable(err)
		}
		return seen{nil, found.Revision}, nil
	}
	return seen{value, found.Revision}, err
}

// await is read of a store that may be away for a while, as commit is its write.
func (r *Records) await(ctx context.Context, key string) (seen, error) {
	for {
		s, err := r.read(ctx, key)
		if !errors.Is(err, ErrAway) || !sleep(ctx, pause) {
			return s, err
		}
	}
}

// Becomes is what is to become of a record: another value, or with nil, nothing. The groups are those that it is in from now
// on, and those that it is in no longer.
type Becomes struct {
	Value       []byte
	Join, Leave []string
	// Random: it lasts for seconds, and most of it has never been said before, so that packing it costs more than it saves.
	Random bool
}

// ErrKeep, returned by what changes a record, leaves it as it is, and is no error of Change.
var ErrKeep = errors.New("the record stays as it is")

// Change makes another record of the one under the key. change is called with its value, nil where there is none, and
// again where another replica has changed it meanwhile; its error ends it. New says that there is probably none yet, which saves
// the question.
func (r *Records) Change(ctx context.Context, key string, likelyNew bool, change func(was []byte) (Becomes, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlock, err := r.lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	known, sure := r.recall(key)
	if !sure && !likelyNew {
		if known, err = r.await(ctx, key); err != nil {
			return err
		}
		sure = true
	} else {
		sure = false
	}
	for {
		becomes, err := change(known.value)
		switch {
		case err == nil && !sure && becomes.Value == nil:
			err = sessionstore.ErrConflict // the store does not say whose deletion it was
		case err == nil:
			err = r.commit(ctx, key, known.revision, becomes)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, sessionstore.ErrConflict) || !sure && !errors.Is(err, ErrAway):
			// It was judged by what this replica believed.
			r.forget(key)
			if known, err = r.await(ctx, key); err != nil {
				return err
			}
			sure = true
		case errors.Is(err, ErrKeep):
			r.remember(key, known)
			return nil
		default:
			return err
		}
	}
}

// commit until it is known what has become of it.
func (r *Records) commit(ctx context.Context, key string, was sessionstore.Revision, becomes Becomes) error {
	none := was == sessionstore.Revision{}
	if becomes.Value == nil && none {
		return nil
	}
	if len(becomes.Value) > MaxValue {
		return ErrTooLarge
	}
	c := sessionstore.Change{
		Key: key, Was: was, Is: sessionstore.Revision{Writer: r.writer, Count: r.count.Add(1)},
		JoinGroups: becomes.Join, LeaveGroups: becomes.Leave,
	}
	if becomes.Value != nil {
		kept := becomes.Value
		if !becomes.Random {
			kept = pack(kept)
		}
		c.Value = r.sealer.Seal(key, kept)
	}
	for {
		lease, err := r.seat.lease(ctx)
		if err == nil {
			err = r.store.Commit(ctx, lease, c)
		}
		switch {
		case err == nil:
			if becomes.Value == nil {
				r.forget(key)
			} else {
				r.remember(key, seen{becomes.Value, c.Is})
			}
			return nil
		case errors.Is(err, sessionstore.ErrFenced):
			r.seat.lost(lease)
		case errors.Is(err, sessionstore.ErrUnknown), errors.Is(err, sessionstore.ErrUnavailable):
			r.forget(key)
			if !sleep(ctx, pause) {
				return away(err)
			}
		default:
			return err
		}
		if ctx.Err() != nil {
			return away(ctx.Err())
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// away is an error of the store for who has asked; what it was is for the log.
func away(err error) error {
	return fmt.Errorf("%w (%w)", ErrAway, err)
}

// Members calls each with the keys of a group, until it says false. A key that comes or goes meanwhile may be missed.
func (r *Records) Members(ctx context.Context, group string, each func(key string) bool) error {
	for cursor := ""; ; {
		keys, next, err := r.store.Members(ctx, group, cursor, page)
		if err != nil {
			return away(err)
		}
		for _, key := range keys {
			if !each(key) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// Count says how many keys a group has.
func (r *Records) Count(ctx context.Context, group string) (int, error) {
	n, err := r.store.Count(ctx, group)
	if err != nil {
		return 0, away(err)
	}
	return n, nil
}

func (r *Records) recall(key string) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, there := r.seen[key]
	return s, there
}

func (r *Records) remember(key string, s seen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.value == nil {
		delete(r.seen, key)
		return
	}
	if _, there := r.seen[key]; !there && len(r.seen) >= remembered {
		for other := range r.seen { // any
			delete(r.seen, other)
			break
		}
	}
	r.seen[key] = s
}

func (r *Records) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}

// lock a key among the requests of this replica.
func (r *Records) lock(ctx context.Context, key string) (unlock func(), err error) {
	r.mu.Lock()
	l := r.locks[key]
	if l == nil {
		l = &lock{held: make(chan struct{}, 1)}
		r.locks[key] = l
	}
	l.waiting++
	r.mu.Unlock()
	leave := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if l.waiting--; l.waiting == 0 {
			delete(r.locks, key)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, away(ctx.Err())
	}
}
