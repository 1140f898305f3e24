// Package metered is a session store that counts what another one is asked and what it answers.
package metered

import (
	"context"
	"errors"
	"sync"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/prometheus/client_golang/prometheus"
)

// Store is a sessionstore.Store around another one, and a prometheus.Collector.
type Store struct {
	inner sessionstore.Store
	now   func() time.Time

	operations  *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	octets      *prometheus.HistogramVec
	generations prometheus.Counter
	epoch, left *prometheus.Desc

	mu sync.Mutex
	// leases are those that this program holds, by shard.
	leases     map[string]sessionstore.Lease
	generation string
}

var (
	_ sessionstore.Store   = (*Store)(nil)
	_ prometheus.Collector = (*Store)(nil)
)

// New measures a store by that clock, and registers what it counts.
func New(inner sessionstore.Store, reg prometheus.Registerer, now func() time.Time) (*Store, error) {
	s := &Store{
		inner: inner, now: now, leases: map[string]sessionstore.Lease{},
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_session_store_operations_total",
			Help: "Operations of the session store, by operation and result.",
		}, []string{"operation", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "core5g_session_store_operation_seconds",
			Help:    "Time until the session store has answered, or was no longer waited for.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 1, 2.5},
		}, []string{"operation", "result"}),
		octets: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "core5g_session_store_record_bytes",
			Help:    "Size of the records that were written and read, sealed.",
			Buckets: []float64{128, 256, 512, 768, 1024, 1280, 1536, 1792, sessionstore.MaxRecord},
		}, []string{"direction"}),
		generations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "core5g_session_store_generation_changes_total",
			Help: "Times that the session store came back as one that may have lost acknowledged writes.",
		}),
		epoch: prometheus.NewDesc("core5g_session_store_lease_epoch",
			"Epoch under which this program holds a shard; there is none for a shard that it does not hold.", []string{"shard"}, nil),
		left: prometheus.NewDesc("core5g_session_store_lease_remaining_seconds",
			"What is left of the lease of a shard that this program holds.", []string{"shard"}, nil),
	}
	return s, reg.Register(s)
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(to chan<- *prometheus.Desc) {
	s.operations.Describe(to)
	s.seconds.Describe(to)
	s.octets.Describe(to)
	s.generations.Describe(to)
	to <- s.epoch
	to <- s.left
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(to chan<- prometheus.Metric) {
	s.operations.Collect(to)
	s.seconds.Collect(to)
	s.octets.Collect(to)
	s.generations.Collect(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for shard, l := range s.leases {
		if !l.Valid(now) {
			continue
		}
		to <- prometheus.MustNewConstMetric(s.epoch, prometheus.GaugeValue, float64(l.Epoch), shard)
		to <- prometheus.MustNewConstMetric(s.left, prometheus.GaugeValue, l.Until.Sub(now).Seconds(), shard)
	}
}

// results in the order in which they are looked for: an error may be several.
var results = []struct {
	err  error
	name string
}{
	{sessionstore.ErrNotFound, "not_found"},
	{sessionstore.ErrFenced, "fenced"},
	{sessionstore.ErrConflict, "conflict"},
	{sessionstore.ErrTaken, "taken"},
	{sessionstore.ErrUnknown, "unknown"},
	{sessionstore.ErrUnavailable, "unavailable"},
	{sessionstore.ErrTooLarge, "too_large"},
	{sessionstore.ErrUnreadable, "unreadable"},
}

// Result is an error's value of the label result.
func Result(err error) string {
	if err == nil {
		return "ok"
	}
	var held *sessionstore.HeldError
	if errors.As(err, &held) {
		return "held"
	}
	for _, r := range results {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return "failed"
}

// measure times one operation.
func (s *Store) measure(operation string, do func() error) error {
	asked := s.now()
	err := do()
	result := Result(err)
	s.operations.WithLabelValues(operation, result).Inc()
	s.seconds.WithLabelValues(operation, result).Observe(s.now().Sub(asked).Seconds())
	return err
}

// saw notes the generation that an answer spoke of.
func (s *Store) saw(generation string) {
	if s.generation != "" && generation != s.generation {
		s.generations.Inc()
	}
	s.generation = generation
}

func (s *Store) hold(l sessionstore.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saw(l.Generation)
	s.leases[l.Shard] = l
}

// lose forgets a lease, unless it was taken anew meanwhile.
func (s *Store) lose(l sessionstore.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[l.Shard].Epoch == l.Epoch {
		delete(s.leases, l.Shard)
	}
}

// Acquire implements sessionstore.Store.
func (s *Store) Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (l sessionstore.Lease, err error) {
	err = s.measure("acquire", func() (err error) { l, err = s.inner.Acquire(ctx, shard, holder, ttl); return err })
	if err == nil {
		s.hold(l)
	}
	return l, err
}

// Renew implements sessionstore.Store.
func (s *Store) Renew(ctx context.Context, l sessionstore.Lease, ttl time.Duration) (renewed sessionstore.Lease, err error) {
	err = s.measure("renew", func() (err error) { renewed, err = s.inner.Renew(ctx, l, ttl); return err })
	switch {
	case err == nil:
		s.hold(renewed)
	case errors.Is(err, sessionstore.ErrFenced):
		s.lose(l)
	}
	return renewed, err
}

// Release implements sessionstore.Store.
func (s *Store) Release(ctx context.Context, l sessionstore.Lease) error {
	err := s.measure("release", func() error { return s.inner.Release(ctx, l) })
	s.lose(l) // whatever the store says, the holder acts no more
	return err
}

// Holder implements sessionstore.Store.
func (s *Store) Holder(ctx context.Context, shard string) (holder string, epoch uint64, err error) {
	err = s.measure("holder", func() (err error) { holder, epoch, err = s.inner.Holder(ctx, shard); return err })
	return holder, epoch, err
}

// Commit implements sessionstore.Store.
func (s *Store) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	err := s.measure("commit", func() error { return s.inner.Commit(ctx, l, c) })
	switch {
	case err == nil && c.Value != nil:
		s.octets.WithLabelValues("written").Observe(float64(len(c.Value)))
	case errors.Is(err, sessionstore.ErrFenced):
		s.lose(l)
	}
	return err
}

func (s *Store) record(operation string, read func() (sessionstore.Record, error)) (r sessionstore.Record, err error) {
	err = s.measure(operation, func() (err error) { r, err = read(); return err })
	if err == nil {
		s.octets.WithLabelValues("read").Observe(float64(len(r.Value)))
	}
	return r, err
}

// Read implements sessionstore.Store.
func (s *Store) Read(ctx context.Context, key string) (sessionstore.Record, error) {
	return s.record("read", func() (sessionstore.Record, error) { return s.inner.Read(ctx, key) })
}

// Find implements sessionstore.Store.
func (s *Store) Find(ctx context.Context, i sessionstore.Index) (sessionstore.Record, error) {
	return s.record("find", func() (sessionstore.Record, error) { return s.inner.Find(ctx, i) })
}

// Members implements sessionstore.Store.
func (s *Store) Members(ctx context.Context, group, cursor string, max int) (keys []string, next string, err error) {
	err = s.measure("members", func() (err error) { keys, next, err = s.inner.Members(ctx, group, cursor, max); return err })
	return keys, next, err
}

// Count implements sessionstore.Store.
func (s *Store) Count(ctx context.Context, group string) (n int, err error) {
	err = s.measure("count", func() (err error) { n, err = s.inner.Count(ctx, group); return err })
	return n, err
}

// Intents implements sessionstore.Store.
func (s *Store) Intents(ctx context.Context, shard string, max int) (keys []string, err error) {
	err = s.measure("intents", func() (err error) { keys, err = s.inner.Intents(ctx, shard, max); return err })
	return keys, err
}

// Due implements sessionstore.Store.
func (s *Store) Due(ctx context.Context, shard string, at time.Time, max int) (due []sessionstore.Due, err error) {
	err = s.measure("due", func() (err error) { due, err = s.inner.Due(ctx, shard, at, max); return err })
	return due, err
}

// Reserve implements sessionstore.Store.
func (s *Store) Reserve(ctx context.Context, l sessionstore.Lease, name string, n uint64) (first uint64, err error) {
	err = s.measure("reserve", func() (err error) { first, err = s.inner.Reserve(ctx, l, name, n); return err })
	if errors.Is(err, sessionstore.ErrFenced) {
		s.lose(l)
	}
	return first, err
}

// Generation implements sessionstore.Store.
func (s *Store) Generation(ctx context.Context) (generation string, err error) {
	err = s.measure("generation", func() (err error) { generation, err = s.inner.Generation(ctx); return err })
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.saw(generation)
	}
	return generation, err
}
