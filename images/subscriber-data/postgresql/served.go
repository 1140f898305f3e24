package postgresql

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriberdatabase"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// ErrAway is what requests are answered while the database does not answer, and nothing is cached of the subscriber.
var ErrAway = sbi.NewProblem(http.StatusServiceUnavailable, "NF_FAILOVER", "the database of subscribers does not answer, and this one was not served lately: ask again")

// Results of a look-up, as the metric counts them.
const (
	resultCached  = "cached"
	resultRead    = "read"
	resultUnknown = "unknown"
	resultStale   = "stale"
	resultRefused = "refused"
)

// Served are the subscribers of a database, as the functions ask for them.
type Served struct {
	database *Database
	log      *slog.Logger
	decoder  decoder
	// readLimit and answerLimit are the constants, unless a test has a machine that is slower.
	readLimit, answerLimit time.Duration

	mu sync.Mutex
	// up: the listening connection is there, and epoch says which one: what an earlier one saw is old.
	up    bool
	epoch uint64
	cache *cache
	reads map[string]*read
	// waiting are those of the reads that no reader has taken yet, of which there are so many.
	waiting []*read
	readers int
	tell    []func(supi string)
	// find is Database.rows, unless a test answers.
	find func(ctx context.Context, supis []string) (map[string]*row, error)

	lookUps *prometheus.CounterVec
	upGauge prometheus.Gauge
}

// NewServed serves a database, of which it caches so many subscribers. Nothing is read before Run.
func NewServed(d *Database, cached int, log *slog.Logger, reg prometheus.Registerer) *Served {
	s := &Served{
		database: d, find: d.rows, log: log, readLimit: readLimit, answerLimit: answerLimit, decoder: decoder{known: make(map[subscribed]*decoded)}, cache: newCache(cached), reads: make(map[string]*read),
		lookUps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_subscriber_database_lookups_total", Help: "Look-ups of subscribers that no Subscriber object names, by result.",
		}, []string{"result"}),
		upGauge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "core5g_subscriber_database_up", Help: "1 while the subscriber database answers this pod and tells it of changes, 0 while only what is cached is served.",
		}),
	}
	for _, result := range []string{resultCached, resultRead, resultUnknown, resultStale, resultRefused} {
		s.lookUps.WithLabelValues(result) // 0 from the start, so that a rate sees the first
	}
	reg.MustRegister(s.lookUps, s.upGauge, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "core5g_subscriber_database_cached", Help: "Subscribers of the database that this pod has in memory.",
	}, func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return float64(s.cache.len())
	}))
	return s
}

// OnChange has changes told: of one SUPI, or with "", of any. It is called before Run.
func (s *Served) OnChange(tell func(supi string)) { s.tell = append(s.tell, tell) }

// Subscriber returns one, whose keys are Keys. Errors are subscription.ErrUnknownSubscriber and ErrAway.
func (s *Served) Subscriber(ctx context.Context, supi string) (*v1alpha1.Subscriber, error) {
	r, err := s.row(ctx, supi)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.Subscriber{}
	out.Name, out.Spec.SUPI, out.Spec.Barred, out.Spec.GPSI = supi, supi, r.barred, ptr.Deref(r.gpsi, "")
	out.Spec.Authentication = v1alpha1.Authentication{AMF: r.amf}
	d, err := s.decoder.decode(r)
	if err != nil {
		return nil, err
	}
	out.Spec.Slices, out.Spec.AMBR = d.slices, d.ambr
	return out, nil
}

// Keys are what a Secret of the subscriber would hold.
func (s *Served) Keys(ctx context.Context, supi string) (map[string][]byte, error) {
	r, err := s.row(ctx, supi)
	if err != nil {
		return nil, err
	}
	keys, err := openKeys(s.database.sealer.Load(), supi, r.keys)
	if err != nil {
		return nil, err
	}
	return keys.Secret(), nil
}

// row is cached, or read; while the database is away, what was cached last serves.
func (s *Served) row(ctx context.Context, supi string) (*row, error) {
	s.mu.Lock()
	cached, epoch := s.cache.get(supi)
	switch {
	case cached != nil && (!s.up || epoch == s.epoch):
		result := resultCached
		if !s.up {
			result = resultStale
		}
		s.mu.Unlock()
		s.count(result)
		return cached, nil
	case !s.up:
		s.mu.Unlock()
		s.count(resultRefused)
		return nil, ErrAway
	}
	asked := s.ask(supi)
	s.mu.Unlock()
	select {
	case <-asked.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.answer(cached, asked)
}

// answer of a read; cached is what was there before, nil for nothing.
func (s *Served) answer(cached *row, asked *read) (*row, error) {
	switch {
	case asked.err == nil:
		s.count(resultRead)
		return asked.row, nil
	case errors.Is(asked.err, pgx.ErrNoRows):
		s.count(resultUnknown)
		return nil, subscription.ErrUnknownSubscriber
	case !subscriberdatabase.IsAway(asked.err):
		return nil, asked.err
	case cached != nil && !asked.changed:
		s.count(resultStale)
		return cached, nil
	}
	s.count(resultRefused)
	return nil, errors.Join(ErrAway, asked.err)
}

func (s *Served) count(result string) { s.lookUps.WithLabelValues(result).Inc() }

// changed says that SUPIs are not as they were; the caller tells of it.
func (s *Served) changed(supis []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, supi := range supis {
		s.cache.remove(supi)
		if r := s.reads[supi]; r != nil {
			r.changed = true
			delete(s.reads, supi)
		}
	}
}

// anew says that everything may have changed: with a new connection, or because nobody can list what has. forget drops what is cached, too.
func (s *Served) anew(forget bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	for supi, r := range s.reads {
		r.changed = true
		delete(s.reads, supi)
	}
	if forget {
		s.cache.clear()
	}
}

// setUp says whether the database tells of changes.
func (s *Served) setUp(up bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up = up
	value := 0.0
	if up {
		value = 1
	}
	s.upGauge.Set(value)
}

func (s *Served) tellAll(supis ...string) {
	for _, tell := range s.tell {
		for _, supi := range supis {
			tell(supi)
		}
	}
}
