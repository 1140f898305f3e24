package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sbi"
)

// headerPassed marks a request that a pod has passed on: it goes no further, so that two pods that each believe the other to hold a shard do not send it
// around.
const headerPassed = "Core5g-Passed-On"

// What pods ask of each other: to give a UE up, to go on with an event, and whether they live.
const (
	pathGiveUp = "/core5g-amf/v1/give-up"
	pathPass   = "/core5g-amf/v1/pass"
	pathAlive  = "/core5g-amf/v1/alive"

	mostPassed = 1 << 20
	// passTime bounds what pods ask of each other.
	passTime = 3 * time.Second
)

// Passing says how a pod reaches the others.
type Passing struct {
	// Root is the API root of the pod that has the name in leases, such as https://10.1.2.3:8000.
	Root      func(holder string) string
	Transport http.RoundTripper
	// From says whether a request is of another pod; nil: all are that ask for what pods ask of each other.
	From func(*http.Request) bool
}

// ofPods is a handler that serves other pods alone: another function has no business with UEs that are given up.
func (p *Pod) ofPods(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if p.Passing.From != nil && !p.Passing.From(r) {
			http.Error(w, "this is for pods of the AMF", http.StatusForbidden)
			return
		}
		serve(w, r)
	}
}

// ueOf is the SUPI that a path of namf names; "" for none.
func ueOf(path string) string {
	for prefix, ref := range map[string]bool{"/namf-comm/v1/ue-contexts/": false, "/namf-mt/v1/ue-contexts/": false, "/namf-loc/v1/": false, "/namf-callback/v1/ues/": true, pathEvents + "/": true} {
		rest, is := strings.CutPrefix(path, prefix)
		if !is {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if ref {
			name, _ = supiOf(name)
		}
		return name
	}
	return ""
}

// pathEvents is where others subscribe to events: the UE is in the content (TS 29.518 5.3.2.2.2).
const pathEvents = "/namf-evts/v1/subscriptions"

// ueIn a request: that of its path, or of a subscription to events, of which the content is read, and put back.
func ueIn(r *http.Request) string {
	if r.Method != http.MethodPost || r.URL.Path != pathEvents {
		return ueOf(r.URL.Path)
	}
	var body struct {
		Subscription struct {
			SUPI string `json:"supi"`
		} `json:"subscription"`
	}
	if json.Unmarshal(peek(r), &body) != nil { // who answers says what is wrong
		return ""
	}
	return body.Subscription.SUPI
}

// peek reads the content of a request, and puts it back; nil where it cannot be read, which who answers finds, too.
func peek(r *http.Request) []byte {
	text, err := io.ReadAll(io.LimitReader(r.Body, mostPassed))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
	if err != nil {
		return nil
	}
	return text
}

// passing hands requests about a UE, or a subscription to the AMF's status, to the pod that holds its shard.
func (p *Pod) passing(here http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(headerPassed) != "" || p.Passing.Root == nil {
			here.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		n, supi := p.shardIn(ctx, r)
		if n == 0 { // who answers says why
			here.ServeHTTP(w, r)
			return
		}
		root, holder := p.elsewhere(n)
		if root == nil {
			here.ServeHTTP(w, r)
			return
		}
		p.passOn(w, r.WithContext(ctx), supi, holder, root)
	})
}

// shardIn is that of what a request is about, and the UE's SUPI where it is about one; 0: it is about nothing that is there.
func (p *Pod) shardIn(ctx context.Context, r *http.Request) (n uint16, supi string) {
	supi = ueIn(r)
	switch {
	case supi == "":
		return p.statusShardIn(r), ""
	case strings.HasPrefix(supi, namedByGUTI):
		return record.ShardOfTMSI(temporaryOf(supi, p.Settings())), supi
	}
	n, err := p.shardOf(ctx, supi)
	if err != nil {
		return 0, supi
	}
	return n, supi
}

func (p *Pod) passOn(w http.ResponseWriter, r *http.Request, supi, holder string, root *url.URL) {
	proxy := httputil.ReverseProxy{
		Transport: p.Passing.Transport, ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(root)
			out.Out.Host = out.In.Host // Locations are told by what the caller knows us as
			out.Out.Header.Set(headerPassed, "1")
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusNotFound {
				p.hints.drop(supi) // it may be another shard's
			}
			p.measures.passed.WithLabelValues(passedRequest, passedDone).Inc()
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p.Log.Warn("a request was not passed on", "to", holder, "err", err)
			p.measures.passed.WithLabelValues(passedRequest, passedNotReached).Inc()
			p.keeper.Unreached(holder, root.Host, err)
			sbi.Write(w, errMoves.Answer())
		},
	}
	proxy.ServeHTTP(w, r)
}

// elsewhere is the pod that holds a shard; nil where it is this one, or nobody.
func (p *Pod) elsewhere(n uint16) (root *url.URL, holder string) {
	if p.Passing.Root == nil || p.shard(n) != nil {
		return nil, ""
	}
	holder = p.keeper.Holder(p.name(n))
	if holder == "" || holder == p.Holder {
		return nil, ""
	}
	root, err := url.Parse(p.Passing.Root(holder))
	if err != nil {
		return nil, ""
	}
	return root, holder
}

// toHolder asks the pod that holds a shard for something about the UE of a key.
func (p *Pod) toHolder(ctx context.Context, n uint16, path, key string, body []byte) ([]byte, error) {
	root, holder := p.elsewhere(n)
	if root == nil {
		return nil, fmt.Errorf("nobody is known to hold shard %d", n)
	}
	to := root.JoinPath(path)
	to.RawQuery = url.Values{"shard": {strconv.Itoa(int(n))}, "key": {key}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := p.Passing.Transport.RoundTrip(r)
	if err != nil {
		p.measures.passed.WithLabelValues(passedUE, passedNotReached).Inc()
		p.keeper.Unreached(holder, root.Host, err)
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	p.measures.passed.WithLabelValues(passedUE, passedDone).Inc()
	content, err := io.ReadAll(io.LimitReader(answer.Body, mostPassed))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the holder of shard %d answered %s: %.100s", n, answer.Status, content)
	}
	return content, nil
}

// asked reads what another pod asks for; nil: it was answered.
func (p *Pod) asked(w http.ResponseWriter, r *http.Request) (s *Shard, key string) {
	n, err := strconv.ParseUint(r.URL.Query().Get("shard"), 10, 16)
	key = r.URL.Query().Get("key")
	if err != nil || !record.IsKey(key) {
		http.Error(w, "no UE has this key", http.StatusBadRequest)
		return nil, ""
	}
	if s = p.shard(uint16(n)); s == nil {
		http.Error(w, "the shard is not here", http.StatusServiceUnavailable)
	}
	return s, key
}

// GiveUp implements runner.World.
func (s *Shard) GiveUp(shard uint16, key string, done func([]byte, error)) {
	s.pod.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, passTime)
		defer cancel()
		capability, err := s.pod.giveUp(ctx, shard, key)
		s.loop.Post(func() { done(capability, err) })
	})
}

func (p *Pod) giveUp(ctx context.Context, shard uint16, key string) ([]byte, error) {
	if here := p.shard(shard); here != nil {
		return here.giveUp(ctx, key)
	}
	return p.toHolder(ctx, shard, pathGiveUp, key, nil)
}

// giveUp the UE of a key, of this shard.
func (s *Shard) giveUp(ctx context.Context, key string) ([]byte, error) {
	type given struct {
		capability []byte
		err        error
	}
	g, err := inLoop(ctx, s, func(answer func(given)) {
		s.runner.GiveUp(key, func(capability []byte, err error) { answer(given{capability, err}) })
	})
	if err != nil {
		return nil, err
	}
	s.pod.hints.drop(strings.TrimPrefix(key, record.Key("")))
	return g.capability, g.err
}

// serveGiveUp is the other end of GiveUp.
func (p *Pod) serveGiveUp(w http.ResponseWriter, r *http.Request) {
	s, key := p.asked(w, r)
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), passTime)
	defer cancel()
	capability, err := s.giveUp(ctx, key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(capability)
}

// Pass implements runner.World. Who waits for an answer asks again; what nobody waits for goes on.
func (s *Shard) Pass(shard uint16, key string, e procedure.Event) {
	p, supi := s.pod, strings.TrimPrefix(key, record.Key(""))
	p.hints.add(supi, shard)
	if here := p.shard(shard); here != nil && here.loop.Post(func() { here.runner.Deliver(supi, e) }) {
		return
	}
	if from := procedure.From(e); from != 0 {
		p.tokens.Answer(from, procedure.Failed{
			Status: errMoves.Cause.Status(), Cause: string(errMoves.Cause), Detail: errMoves.Detail, RetryAfter: int(errMoves.RetryAfter / time.Second),
		})
		return
	}
	body := passedEvent{}
	switch e := e.(type) {
	case procedure.SessionEnded:
		body.SessionEnded = &e
	case procedure.SubscriptionChanged:
	default:
		return // its own shard sees to it
	}
	octets, err := json.Marshal(body)
	if err != nil {
		return
	}
	p.running.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, passTime)
		defer cancel()
		if _, err := p.toHolder(ctx, shard, pathPass, key, octets); err != nil {
			p.Log.Warn("an event was not passed on", "supi", supi, "err", err)
		}
	})
}

// passedEvent is a SessionEnded, or else a SubscriptionChanged.
type passedEvent struct {
	SessionEnded *procedure.SessionEnded `json:",omitempty"`
}

// servePass is the other end of Pass.
func (p *Pod) servePass(w http.ResponseWriter, r *http.Request) {
	s, key := p.asked(w, r)
	if s == nil {
		return
	}
	var body passedEvent
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostPassed)).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var e procedure.Event = procedure.SubscriptionChanged{}
	if body.SessionEnded != nil {
		e = *body.SessionEnded
	}
	if !s.loop.Post(func() { s.runner.Deliver(strings.TrimPrefix(key, record.Key("")), e) }) {
		http.Error(w, "the shard is not here", http.StatusServiceUnavailable)
	}
}

// hints say which shard a UE was of last.
type hints struct {
	mu     sync.Mutex
	shards map[string]uint16
}

// mostHints are kept; when there are more all are forgotten, and found again.
const mostHints = 1 << 16

func (h *hints) of(supi string) uint16 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shards[supi]
}

func (h *hints) add(supi string, shard uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shards == nil || len(h.shards) >= mostHints {
		h.shards = map[string]uint16{}
	}
	h.shards[supi] = shard
}

func (h *hints) drop(supi string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.shards, supi)
}
