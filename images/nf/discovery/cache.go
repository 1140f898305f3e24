package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	// askLimit is how long the NRF is waited for: callers have callers that wait.
	askLimit = time.Second
	// pause is how long the NRF is not asked for something again that it has not answered, or not known.
	pause = time.Second
	// setPause is the same for sets, which free5GC's functions are not registered with.
	setPause = 30 * time.Second
	// shunned is how long an endpoint that was not reached stays behind others.
	shunned = 5 * time.Second
	// forgotten is how long an answer is used after it has expired, while the NRF knows nobody, and after the NRF is back: one that has lost its
	// profiles has them again when their functions have noticed.
	forgotten = 60 * time.Second
	// maxAnswer bounds what is read of the NRF's answer, maxEntries what is remembered.
	maxAnswer  = 4 << 20
	maxEntries = 4096
)

// ErrNobody: the NRF knows nobody who serves what is looked for.
var ErrNobody = errors.New("the NRF knows nobody who serves it")

// Options of a Cache.
type Options struct {
	// NRF is the base URI of the NRF, "" where there is none.
	NRF string
	// Fixed are the API roots of functions that the NRF is not asked for, by NF type, such as PCF.
	Fixed map[string]string
	// Type and InstanceID are our own, such as SMF.
	Type, InstanceID string
	// Ahead are services that Run looks up when it begins: an NRF that is away later has named them already, whoever asks first.
	Ahead []sbi.Service
	// Memory, where it is set, has what the NRF has said to others like us, for questions that we have not asked before it was away.
	Memory Memory
	// CallbackRoot is the API root where Register's route is reached, "" to be told of no changes.
	CallbackRoot string
	Transport    http.RoundTripper
	// Now and Random are time.Now and rand.Float64 where they are nil.
	Now      func() time.Time
	Random   func() float64
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// Cache is a Finder. Its methods may be called by many at a time.
type Cache struct {
	options Options
	results *prometheus.CounterVec

	mu      sync.Mutex
	entries map[string]*entry
	shun    map[string]time.Time // until when, by API root
	types   map[string]bool      // those that were looked for
	wake    chan struct{}        // something in types is new, or the NRF is back
	away    bool                 // the NRF did not answer when it was last asked
	back    bool                 // it answers again, and Run has not seen it
	// answers is since when the NRF has answered, zero while it is away; why is what it did instead.
	answers time.Time
	why     error
	// forgetful: the memory did not take what it was given, which was said.
	forgetful bool
}

// entry is what is known of one question.
type entry struct {
	nfType    string
	endpoints []sbi.Endpoint
	// remembered are those that the memory has.
	remembered []sbi.Endpoint
	// until is when the NRF is to be asked again, and known when it last named the endpoints.
	until, known time.Time
	// asking is closed when the question under way is answered; nil: there is none.
	asking chan struct{}
	// changed: something happened while the question was under way, which the answer may not know.
	changed bool
	err     error
}

// expire has the NRF asked anew.
func (e *entry) expire(now time.Time) { e.until, e.changed = now, true }

// New returns a cache that counts into the registry.
func New(o Options) *Cache {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	c := &Cache{
		options: o, entries: make(map[string]*entry), shun: make(map[string]time.Time), types: make(map[string]bool),
		wake: make(chan struct{}, 1),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_discoveries_total",
			Help: "Look-ups of other functions, by type and result: fixed, cached, asked, stale (the NRF did not answer, or knew nobody), nobody, failed.",
		}, []string{"nf_type", "result"}),
	}
	o.Registry.MustRegister(c.results)
	return c
}

// Find implements sbi.Finder. Of a service with an instance and a set, the instance is first, and then the others of
// the set.
func (c *Cache) Find(ctx context.Context, s sbi.Service) ([]sbi.Endpoint, error) {
	if root := c.options.Fixed[s.Type]; root != "" {
		c.results.WithLabelValues(s.Type, "fixed").Inc()
		return []sbi.Endpoint{{Root: root}}, nil
	}
	if c.options.NRF == "" {
		c.results.WithLabelValues(s.Type, "nobody").Inc()
		return nil, fmt.Errorf("%s: there is no NRF, and no fixed address of a %s", s.Name, s.Type)
	}
	if s.Instance == "" || s.Set == "" {
		return c.find(ctx, s)
	}
	one, all := s, s
	one.Set, all.Instance = "", ""
	endpoints, err := c.find(ctx, one)
	others, errOthers := c.find(ctx, all)
	for _, e := range others {
		if !slices.Contains(endpoints, e) {
			endpoints = append(endpoints, e)
		}
	}
	if len(endpoints) > 0 {
		return c.order(endpoints), nil
	}
	return nil, errors.Join(err, errOthers)
}

// Failed implements sbi.Finder.
func (c *Cache) Failed(_ sbi.Service, e sbi.Endpoint) {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for root, until := range c.shun {
		if now.After(until) {
			delete(c.shun, root)
		}
	}
	c.shun[e.Root] = now.Add(shunned)
	for _, known := range c.entries {
		if slices.ContainsFunc(known.endpoints, func(o sbi.Endpoint) bool { return o.Root == e.Root }) {
			known.expire(now)
		}
	}
}

func (c *Cache) find(ctx context.Context, s sbi.Service) ([]sbi.Endpoint, error) {
	query, err := c.query(s)
	if err != nil {
		return nil, err
	}
	key := query.Encode()
	c.mu.Lock()
	e := c.entries[key]
	if e == nil {
		c.makeRoom()
		e = &entry{nfType: s.Type}
		c.entries[key] = e
	}
	if !c.types[s.Type] {
		c.types[s.Type] = true
		c.nudge()
	}
	if c.options.Now().Before(e.until) {
		defer c.mu.Unlock()
		return c.answer(s, e, "cached")
	}
	if e.asking == nil {
		e.asking, e.changed = make(chan struct{}), false
		// The question outlives who asked it first: others wait for the answer as well.
		go c.ask(context.WithoutCancel(ctx), s, key, e)
	}
	asking := e.asking
	if c.away && len(e.endpoints) > 0 {
		defer c.mu.Unlock()
		return c.answer(s, e, "stale")
	}
	c.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer(s, e, "asked")
}

// answer gives what an entry knows. c.mu is held.
func (c *Cache) answer(s sbi.Service, e *entry, result string) ([]sbi.Endpoint, error) {
	switch {
	case len(e.endpoints) > 0 && e.err != nil:
		result = "stale"
	case len(e.endpoints) > 0:
	case errors.Is(e.err, ErrNobody):
		result = "nobody"
	default:
		result = "failed"
	}
	c.results.WithLabelValues(s.Type, result).Inc()
	if len(e.endpoints) == 0 {
		return nil, fmt.Errorf("%s: %w", s.Name, e.err)
	}
	return c.ordered(e.endpoints), nil
}

func (c *Cache) order(endpoints []sbi.Endpoint) []sbi.Endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ordered(endpoints)
}

// ordered puts those that were not reached behind the others. c.mu is held.
func (c *Cache) ordered(endpoints []sbi.Endpoint) []sbi.Endpoint {
	now := c.options.Now()
	var well, ill []sbi.Endpoint
	for _, e := range endpoints {
		if now.Before(c.shun[e.Root]) {
			ill = append(ill, e)
		} else {
			well = append(well, e)
		}
	}
	return append(well, ill...)
}

// ask asks the NRF, and keeps what it says. Where it says nothing, and we do not know either, the memory may: at once of an NRF that is known to be away.
func (c *Cache) ask(ctx context.Context, s sbi.Service, query string, e *entry) {
	c.mu.Lock()
	unknown, away, why := len(e.endpoints) == 0, c.away, c.why
	c.mu.Unlock()
	var before []sbi.Endpoint
	if unknown && away {
		if before = c.recall(ctx, query); len(before) > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			e.endpoints, e.err = before, why
			c.asked(e, c.options.Now().Add(pause))
			return
		}
	}
	endpoints, validity, err := c.search(ctx, s, query)
	if unknown && !away && len(endpoints) == 0 && (err != nil || c.mayHaveForgotten()) {
		before = c.recall(ctx, query)
	}
	c.take(s, e, endpoints, validity, before, err)
	if len(endpoints) > 0 && c.options.Memory != nil {
		c.remember(ctx, query, e, endpoints)
	}
}

// mayHaveForgotten reports whether an NRF that knows nobody may have lost what it knew.
func (c *Cache) mayHaveForgotten() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.IsZero() || c.options.Now().Sub(c.answers) <= forgotten
}

// asked ends a question. c.mu is held.
func (c *Cache) asked(e *entry, until time.Time) {
	close(e.asking)
	e.asking, e.until = nil, until
	if e.changed {
		e.until = c.options.Now()
	}
}

// take what the NRF has said, or that it said nothing. before is what it said before, to whomever.
func (c *Cache) take(s sbi.Service, e *entry, endpoints []sbi.Endpoint, validity time.Duration, before []sbi.Endpoint, err error) {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(before) > 0 {
		e.endpoints = before
	}
	if err != nil {
		if !c.away {
			c.options.Log.Warn("the NRF does not say who serves what: what it said last is used", "nrf", c.options.NRF, "service", s.Name, "error", err)
		}
		c.away, c.why, c.answers = true, err, time.Time{}
		e.err = err
		c.asked(e, now.Add(pause))
		return
	}
	if c.answers.IsZero() {
		c.answers = now
	}
	until := now.Add(validity)
	if len(endpoints) > 0 {
		e.endpoints, e.err, e.known = endpoints, nil, now
	} else {
		e.err, until = ErrNobody, now.Add(pause)
		if s.Set != "" && s.Instance == "" {
			until = now.Add(setPause)
		}
		if now.Sub(e.known) > forgotten && now.Sub(c.answers) > forgotten {
			e.endpoints = nil
		}
	}
	c.asked(e, until)
	if c.away {
		c.away, c.back = false, true
		c.options.Log.Info("the NRF answers again", "nrf", c.options.NRF)
		c.nudge() // it may have lost what it was to tell us
	}
}

func (c *Cache) search(ctx context.Context, s sbi.Service, query string) ([]sbi.Endpoint, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	status, raw, err := c.do(ctx, http.MethodGet, c.options.NRF+"/nnrf-disc/v1/nf-instances?"+query, nil)
	if err != nil {
		return nil, 0, err
	}
	switch status {
	case http.StatusOK:
		return read(raw, s, c.options.Random)
	case http.StatusNotFound:
		return nil, 0, nil
	}
	return nil, 0, fmt.Errorf("the NRF answered %d", status)
}

func (c *Cache) do(ctx context.Context, method, uri string, body io.Reader) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, uri, body)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	response, err := c.options.Transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, raw, err
}

// query is that of TS 29.510 6.2.3.2.3.1.
func (c *Cache) query(s sbi.Service) (url.Values, error) {
	q := url.Values{"target-nf-type": {s.Type}, "requester-nf-type": {c.options.Type}, "service-names": {s.Name}}
	for name, value := range map[string]string{
		"requester-nf-instance-id": c.options.InstanceID, "dnn": s.DNN, "target-nf-instance-id": s.Instance, "target-nf-set-id": s.Set,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if s.SNSSAI != nil {
		raw, err := json.Marshal([]ts29571.SNSSAI{*s.SNSSAI})
		if err != nil {
			return nil, err
		}
		q.Set("snssais", string(raw))
	}
	if s.GUAMI != nil {
		raw, err := json.Marshal(s.GUAMI)
		if err != nil {
			return nil, err
		}
		q.Set("guami", string(raw))
	}
	return q, nil
}

// makeRoom keeps the entries few. c.mu is held.
func (c *Cache) makeRoom() {
	if len(c.entries) < maxEntries {
		return
	}
	now := c.options.Now()
	for key, e := range c.entries {
		if e.asking == nil && !now.Before(e.until) {
			delete(c.entries, key)
		}
	}
	for key, e := range c.entries {
		if len(c.entries) < maxEntries {
			return
		}
		if e.asking == nil {
			delete(c.entries, key)
		}
	}
}

// isBack reports, once, that the NRF answers again.
func (c *Cache) isBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	back := c.back
	c.back = false
	return back
}

// nudge wakes Run. It never waits.
func (c *Cache) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
