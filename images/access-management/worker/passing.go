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

// A request about a UE comes to any pod. Where it belongs is found out on the way:
//
//	passing       what this pod remembers of the UE (hints), or the store says, names the shard; another pod's gets it
//	holder        here it goes to that shard. A request that was passed on, to a shard that is not here, was by what another pod remembers: the store says
//	Runner        has the UE, or has found it to be another shard's (Pass): an operation that hears so answers nothing (sbi.ErrUnserved), and the
//	              request, of which nothing was done, goes on to the pod that holds that one. One that names the UE by a 5G-GUTI of this shard names it by its
//	              SUPI from here on, since the 5G-GUTI would lead back here
//
// So who asks has one answer, and need not ask again, unless nobody is known to hold the shard. A request says how many have passed it on, mostPassing at
// most: pods that each believe another to have the UE do not send it around.

// headerPassed is how often a request was passed on; in an answer, that it has come from further away, so that who passed it on remembers the UE wrong.
const headerPassed = "Core5g-Passed-On"

// mostPassing: by what a pod remembers, by what the store says, and once more for a UE, or a lease, that has moved meanwhile.
const mostPassing = 3

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

// ueOf is the UE that a path of namf names, of which its escapes are part; "" for none.
func ueOf(path string) string {
	_, segment, _, ref := cutUE(path)
	name, err := url.PathUnescape(segment)
	if err != nil {
		return ""
	}
	if ref {
		name, _ = supiOf(name)
	}
	return name
}

// cutUE is the segment of a path that names the UE, and what is around it; ref: the name is one of our callbacks.
func cutUE(path string) (before, segment, behind string, ref bool) {
	for prefix, ref := range map[string]bool{"/namf-comm/v1/ue-contexts/": false, "/namf-mt/v1/ue-contexts/": false, "/namf-loc/v1/": false, "/namf-callback/v1/ues/": true, pathEvents + "/": true} {
		if rest, is := strings.CutPrefix(path, prefix); is {
			segment = rest
			if n := strings.IndexByte(rest, '/'); n >= 0 {
				segment = rest[:n]
			}
			return prefix, segment, rest[len(segment):], ref
		}
	}
	return "", "", "", false
}

// pathEvents is where others subscribe to events: the UE is in the content (TS 29.518 5.3.2.2.2).
const pathEvents = "/namf-evts/v1/subscriptions"

// ueIn a request: that of its path, or of a subscription to events, of which the content is read, and put back.
func ueIn(r *http.Request) string {
	if r.Method != http.MethodPost || r.URL.Path != pathEvents {
		return ueOf(r.URL.EscapedPath())
	}
	var body struct {
		Subscription struct {
			SUPI string `json:"supi"`
		} `json:"subscription"`
	}
	if text, _ := sbi.Peek(r, mostPassed); json.Unmarshal(text, &body) != nil { // who answers says what is wrong
		return ""
	}
	return body.Subscription.SUPI
}

// passing hands requests about a UE, or a subscription to the AMF's status, to the pod that holds its shard.
func (p *Pod) passing(here http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passed := passedBy(r)
		if p.Passing.Root == nil || passed >= mostPassing {
			here.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerTime)
		defer cancel()
		r = r.WithContext(ctx)
		content, whole := sbi.Peek(r, mostPassed)
		if passed == 0 {
			if n, supi := p.shardIn(ctx, r); n != 0 && p.toItsHolder(w, r, n, supi, content, whole) {
				return
			}
			if whole {
				r.Body = io.NopCloser(bytes.NewReader(content))
			}
		}
		if !whole { // it is too large, or cannot be read: who answers says so
			here.ServeHTTP(w, r)
			return
		}
		var way journey
		here.ServeHTTP(w, r.WithContext(context.WithValue(ctx, journeyOf{}, &way)))
		if way.root != nil {
			r = way.named(r)
			r.Body = io.NopCloser(bytes.NewReader(content))
			p.passOn(w, r, ueIn(r), way.holder, way.root, false)
		}
	})
}

// toItsHolder passes a request on to the pod that holds its shard. false: it is for this pod.
func (p *Pod) toItsHolder(w http.ResponseWriter, r *http.Request, n uint16, supi string, content []byte, whole bool) bool {
	return p.keeper.ToHolder(r.Context(), p.name(n), func() (*url.URL, string) { return p.elsewhere(n) }, func(to *url.URL, holder string, again bool) bool {
		if whole {
			r.Body = io.NopCloser(bytes.NewReader(content))
		}
		return p.passOn(w, r, supi, holder, to, again && whole)
	})
}

// passedBy is how many pods have passed a request on. Programs before this one write 1, whatever it is.
func passedBy(r *http.Request) int {
	text := r.Header.Get(headerPassed)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return mostPassing
	}
	return n
}

// journey of a request that has come here: where it goes on, once that has been found out.
type journey struct {
	root   *url.URL
	holder string
	// supi is how the request is to name the UE; "" where it does so already.
	supi string
}

// named is a request that names its UE so.
func (w *journey) named(r *http.Request) *http.Request {
	if w.supi == "" {
		return r
	}
	before, _, behind, _ := cutUE(r.URL.EscapedPath())
	out, to := *r, *r.URL
	to.RawPath = before + url.PathEscape(w.supi) + behind
	path, err := url.PathUnescape(to.RawPath)
	if err != nil { // it has been read
		return r
	}
	to.Path, out.URL = path, &to
	return &out
}

// knownAs is the SUPI of a UE that a request has found by another name.
func knownAs(ctx context.Context, supi string) {
	if way, is := ctx.Value(journeyOf{}).(*journey); is {
		way.supi = supi
	}
}

// journeyOf the request of a context; there is none of one that goes no further.
type journeyOf struct{}

// movesTo a shard that is not here: the request goes on to its holder, or where nobody is known, or it has gone far enough, who asks asks again.
func (p *Pod) movesTo(ctx context.Context, n uint16) error {
	way, _ := ctx.Value(journeyOf{}).(*journey)
	root, holder := p.elsewhere(n)
	if way == nil || root == nil {
		return errMoves
	}
	way.root, way.holder = root, holder
	return sbi.ErrUnserved
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

// passOn a request to the pod that holds its shard. false: that was not reached, so that nothing was done of the request, and it is to be passed on again.
func (p *Pod) passOn(w http.ResponseWriter, r *http.Request, supi, holder string, root *url.URL, again bool) (answered bool) {
	var delivery sbi.Delivery
	answered = true
	passed := passedBy(r)
	proxy := httputil.ReverseProxy{
		Transport: p.Passing.Transport, ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(root)
			out.Out.Host = out.In.Host // Locations are told by what the caller knows us as
			out.Out.Header.Set(headerPassed, strconv.Itoa(passed+1))
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusNotFound || answer.Header.Get(headerPassed) != "" {
				p.hints.drop(supi) // it may be another shard's, or is
			}
			if answer.Header.Del(headerPassed); passed > 0 {
				answer.Header.Set(headerPassed, "1")
			}
			p.measures.passed.WithLabelValues(passedRequest, passedDone).Inc()
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			p.keeper.Unreached(holder, root.Host, err)
			if again && delivery.NotSent() {
				answered = false
				return
			}
			p.Log.Warn("a request was not passed on", "to", holder, "err", err)
			p.measures.passed.WithLabelValues(passedRequest, passedNotReached).Inc()
			sbi.Write(w, errMoves.Answer())
		},
	}
	proxy.ServeHTTP(w, r.WithContext(delivery.Watched(r.Context())))
	return answered
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

// others that hold shards, and where each says what it gives up.
func (p *Pod) others() map[string]*url.URL {
	out := map[string]*url.URL{}
	for n := range p.Shards {
		if root, holder := p.elsewhere(n + 1); root != nil {
			out[holder] = root.JoinPath(pathAlive)
		}
	}
	return out
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

// moved is the answer to what was asked of a shard that has found the UE to be another one's.
type moved struct {
	supi  string
	shard uint16
}

// Pass implements runner.World. What somebody waits for goes on by who asked the runner (requests.ask).
func (s *Shard) Pass(shard uint16, key string, e procedure.Event) {
	p, supi := s.pod, strings.TrimPrefix(key, record.Key(""))
	p.hints.add(supi, shard)
	if from := procedure.From(e); from != 0 {
		p.tokens.Answer(from, moved{supi, shard})
		return
	}
	if here := p.shard(shard); here != nil && here.loop.Post(func() { here.runner.Deliver(supi, e) }) {
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

// correct what is remembered of a UE.
func (h *hints) correct(supi string, shard uint16) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.shards[supi]; is {
		h.shards[supi] = shard
	}
}

func (h *hints) drop(supi string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.shards, supi)
}
