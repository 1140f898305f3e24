// Package memory is a session store in the memory of one process, for tests and for simulation: what time it is is
// the caller's, nothing happens by itself, and its faults are asked for.
package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
)

// Fault is what happens to the next write.
type Fault int

const (
	// None: it is executed and answered.
	None Fault = iota
	// LostRequest: it is not executed, and the answer is ErrUnknown.
	LostRequest
	// LostAnswer: it is executed, and the answer is ErrUnknown.
	LostAnswer
	// Away: it is not executed, and the answer is ErrUnavailable.
	Away
)

// Store is a sessionstore.Store. Its exported fields are set before it is used, or under Lock.
type Store struct {
	// Now is the store's clock.
	Now func() time.Time
	// Fault, where it is set, is asked before every write what shall happen to it. op is the method's name.
	Fault func(op string) Fault
	// Away makes every method fail with ErrUnavailable while it returns true.
	Away func() bool

	mu         sync.Mutex
	data       data
	generation int
	// past is what Forget can go back to.
	past []data
}

type data struct {
	leases  map[string]lease
	epochs  map[string]uint64
	records map[string]sessionstore.Record
	indexes map[sessionstore.Index]string
	groups  map[string]map[string]bool
	intents map[string]map[string]int64 // shard, key: when, in the order of opening
	due     map[string]map[dueKey]time.Time
	blocks  map[string]uint64
	opened  int64
}

type dueKey struct{ key, name string }

type lease struct {
	holder string
	epoch  uint64
	until  time.Time
}

var _ sessionstore.Store = (*Store)(nil)

// New is an empty store.
func New(now func() time.Time) *Store {
	return &Store{Now: now, data: data{
		leases: map[string]lease{}, epochs: map[string]uint64{}, records: map[string]sessionstore.Record{},
		indexes: map[sessionstore.Index]string{}, groups: map[string]map[string]bool{},
		intents: map[string]map[string]int64{}, due: map[string]map[dueKey]time.Time{}, blocks: map[string]uint64{},
	}}
}

func (d data) clone() data {
	d.leases, d.epochs, d.records = maps.Clone(d.leases), maps.Clone(d.epochs), maps.Clone(d.records)
	d.indexes, d.blocks = maps.Clone(d.indexes), maps.Clone(d.blocks)
	d.groups, d.intents, d.due = cloneEach(d.groups), cloneEach(d.intents), cloneEach(d.due)
	return d
}

func cloneEach[K, L comparable, V any](m map[K]map[L]V) map[K]map[L]V {
	out := make(map[K]map[L]V, len(m))
	for k, v := range m {
		out[k] = maps.Clone(v)
	}
	return out
}

// ---- faults ----------------------------------------------------------------------------------------------

// Checkpoint remembers what is there, as a disk that was just synced does.
func (s *Store) Checkpoint() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past = append(s.past, s.data.clone())
}

// Forget goes back to the last checkpoint, as after a loss of power: acknowledged writes are gone, and the generation is
// another. Without a checkpoint everything is gone.
func (s *Store) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	if len(s.past) == 0 {
		s.data = New(s.Now).data
		return
	}
	s.data = s.past[len(s.past)-1].clone()
}

// begin asks for the fault of a write. done is to be called with the write's answer.
func (s *Store) begin(op string) (execute bool, done func(error) error) {
	fault := None
	if s.Away != nil && s.Away() {
		fault = Away
	} else if s.Fault != nil {
		fault = s.Fault(op)
	}
	switch fault {
	case LostRequest:
		return false, func(error) error { return fmt.Errorf("%w: the request was lost", sessionstore.ErrUnknown) }
	case Away:
		return false, func(error) error { return sessionstore.ErrUnavailable }
	case LostAnswer:
		return true, func(error) error { return fmt.Errorf("%w: the answer was lost", sessionstore.ErrUnknown) }
	}
	return true, func(err error) error { return err }
}

func (s *Store) away() error {
	if s.Away != nil && s.Away() {
		return sessionstore.ErrUnavailable
	}
	return nil
}

// ---- leases ----------------------------------------------------------------------------------------------

func (s *Store) generationName() string { return "memory-" + strconv.Itoa(s.generation) }

// Acquire implements sessionstore.Store.
func (s *Store) Acquire(_ context.Context, shard, holder string, ttl time.Duration) (sessionstore.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	execute, done := s.begin("Acquire")
	if !execute {
		return sessionstore.Lease{}, done(nil)
	}
	now := s.Now()
	if l, ok := s.data.leases[shard]; ok && l.holder != holder && now.Before(l.until) {
		return sessionstore.Lease{}, done(&sessionstore.HeldError{Shard: shard, Holder: l.holder, Epoch: l.epoch, Remaining: l.until.Sub(now)})
	}
	epoch := max(s.data.epochs[shard]+1, uint64(now.UnixMilli()))
	s.data.epochs[shard] = epoch
	s.data.leases[shard] = lease{holder: holder, epoch: epoch, until: now.Add(ttl)}
	l := sessionstore.Lease{Shard: shard, Holder: holder, Epoch: epoch, Generation: s.generationName(), Until: now.Add(ttl)}
	if err := done(nil); err != nil {
		return sessionstore.Lease{}, err
	}
	return l, nil
}

func (s *Store) fenced(l sessionstore.Lease) bool {
	there, ok := s.data.leases[l.Shard]
	return !ok || there.holder != l.Holder || there.epoch != l.Epoch || l.Generation != s.generationName() ||
		!s.Now().Before(there.until)
}

// Renew implements sessionstore.Store.
func (s *Store) Renew(_ context.Context, l sessionstore.Lease, ttl time.Duration) (sessionstore.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	execute, done := s.begin("Renew")
	if !execute {
		return l, done(nil)
	}
	if s.fenced(l) {
		return l, done(sessionstore.ErrFenced)
	}
	until := s.Now().Add(ttl)
	s.data.leases[l.Shard] = lease{holder: l.Holder, epoch: l.Epoch, until: until}
	if err := done(nil); err != nil {
		return l, err
	}
	l.Until = until
	return l, nil
}

// Release implements sessionstore.Store.
func (s *Store) Release(_ context.Context, l sessionstore.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	execute, done := s.begin("Release")
	if execute && !s.fenced(l) {
		delete(s.data.leases, l.Shard)
	}
	return done(nil)
}

// Holder implements sessionstore.Store.
func (s *Store) Holder(_ context.Context, shard string) (string, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return "", 0, err
	}
	l, ok := s.data.leases[shard]
	if !ok || !s.Now().Before(l.until) {
		return "", 0, nil
	}
	return l.holder, l.epoch, nil
}

// ---- writes ----------------------------------------------------------------------------------------------

// Commit implements sessionstore.Store.
func (s *Store) Commit(_ context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	execute, done := s.begin("Commit")
	if !execute {
		return done(nil)
	}
	return done(s.commit(l, c))
}

func (s *Store) commit(l sessionstore.Lease, c sessionstore.Change) error {
	if s.fenced(l) {
		return sessionstore.ErrFenced
	}
	d := &s.data
	there, exists := d.records[c.Key]
	if (exists && there.Revision == c.Is) || (!exists && c.Value == nil && c.Was != sessionstore.Revision{}) {
		return nil // its own write, repeated
	}
	if there.Revision != c.Was {
		return sessionstore.ErrConflict
	}
	for _, i := range c.AddIndexes {
		if other, ok := d.indexes[i]; ok && other != c.Key {
			if _, alive := d.records[other]; alive {
				return &sessionstore.TakenError{Index: i}
			}
		}
	}
	if c.Value == nil {
		delete(d.records, c.Key)
	} else {
		d.records[c.Key] = sessionstore.Record{Key: c.Key, Revision: c.Is, Value: slices.Clone(c.Value)}
	}
	for _, i := range c.AddIndexes {
		d.indexes[i] = c.Key
	}
	for _, i := range c.RemoveIndexes {
		if d.indexes[i] == c.Key {
			delete(d.indexes, i)
		}
	}
	for _, g := range c.JoinGroups {
		in(d.groups, g)[c.Key] = true
	}
	for _, g := range c.LeaveGroups {
		delete(in(d.groups, g), c.Key)
	}
	intents := in(d.intents, l.Shard)
	if _, open := intents[c.Key]; c.OpenIntent && !open {
		d.opened++
		intents[c.Key] = d.opened
	} else if c.CloseIntent || c.Value == nil {
		delete(intents, c.Key)
	}
	due := in(d.due, l.Shard)
	for name, at := range c.Due {
		if at.IsZero() {
			delete(due, dueKey{c.Key, name})
		} else {
			due[dueKey{c.Key, name}] = time.UnixMilli(at.UnixMilli())
		}
	}
	if c.From != "" {
		delete(in(d.intents, c.From), c.Key)
		for _, name := range c.Gone {
			delete(in(d.due, c.From), dueKey{c.Key, name})
		}
	}
	return nil
}

func in[K, L comparable, V any](m map[K]map[L]V, k K) map[L]V {
	if m[k] == nil {
		m[k] = map[L]V{}
	}
	return m[k]
}

// Reserve implements sessionstore.Store.
func (s *Store) Reserve(_ context.Context, l sessionstore.Lease, name string, n uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	execute, done := s.begin("Reserve")
	if !execute {
		return 0, done(nil)
	}
	if s.fenced(l) {
		return 0, done(sessionstore.ErrFenced)
	}
	first := s.data.blocks[name]
	s.data.blocks[name] = first + n
	if err := done(nil); err != nil {
		return 0, err
	}
	return first, nil
}

// ---- reads -----------------------------------------------------------------------------------------------

// Read implements sessionstore.Store.
func (s *Store) Read(_ context.Context, key string) (sessionstore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return sessionstore.Record{}, err
	}
	return s.read(key)
}

func (s *Store) read(key string) (sessionstore.Record, error) {
	r, ok := s.data.records[key]
	if !ok {
		return sessionstore.Record{}, sessionstore.ErrNotFound
	}
	r.Value = slices.Clone(r.Value)
	return r, nil
}

// Find implements sessionstore.Store.
func (s *Store) Find(_ context.Context, i sessionstore.Index) (sessionstore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return sessionstore.Record{}, err
	}
	return s.read(s.data.indexes[i])
}

// Members implements sessionstore.Store. Keys come in their order, the cursor is the last one.
func (s *Store) Members(_ context.Context, group, cursor string, max int) ([]string, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return nil, "", err
	}
	keys := slices.Sorted(maps.Keys(s.data.groups[group]))
	keys = keys[sort.Search(len(keys), func(n int) bool { return strings.Compare(keys[n], cursor) > 0 }):]
	if len(keys) <= max {
		return keys, "", nil
	}
	return keys[:max], keys[max-1], nil
}

// Count implements sessionstore.Store.
func (s *Store) Count(_ context.Context, group string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return 0, err
	}
	return len(s.data.groups[group]), nil
}

// Intents implements sessionstore.Store.
func (s *Store) Intents(_ context.Context, shard string, max int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return nil, err
	}
	open := s.data.intents[shard]
	keys := slices.SortedFunc(maps.Keys(open), func(a, b string) int { return int(open[a] - open[b]) })
	return keys[:min(max, len(keys))], nil
}

// Due implements sessionstore.Store.
func (s *Store) Due(_ context.Context, shard string, at time.Time, max int) ([]sessionstore.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return nil, err
	}
	var due []sessionstore.Due
	for k, when := range s.data.due[shard] {
		if !when.After(at) {
			due = append(due, sessionstore.Due{Key: k.key, Name: k.name, At: when})
		}
	}
	slices.SortFunc(due, func(a, b sessionstore.Due) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Name+" "+a.Key, b.Name+" "+b.Key)
	})
	return due[:min(max, len(due))], nil
}

// Generation implements sessionstore.Store.
func (s *Store) Generation(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.away(); err != nil {
		return "", err
	}
	return s.generationName(), nil
}
