package shard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/prometheus/client_golang/prometheus"
)

// A pod that is drained, or dies, is not missed by looking: others would, after a sixth of a lease's life.
func TestAPodTakesAtOnceWhatAnotherHasGivenUp(t *testing.T) {
	const hour = time.Hour
	for name, ends := range map[string]func(t *testing.T, drain func(), server *httptest.Server, store *guarded){
		"it is drained": func(_ *testing.T, drain func(), _ *httptest.Server, _ *guarded) { drain() },
		"it dies": func(t *testing.T, _ func(), server *httptest.Server, store *guarded) {
			store.mu.Lock() // it takes nothing any more
			t.Cleanup(store.mu.Unlock)
			_ = server.Listener.Close()
			server.CloseClientConnections()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			store := &guarded{Store: r.store}
			first, drain := r.start("pod-1", func(o *Options) { o.TTL, o.Store = hour, store })
			within(t, first.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
			server := httptest.NewServer(first.Handler(first.Shards[0], logTo(t), prometheus.NewRegistry(), nsmf.Options{}))
			t.Cleanup(server.Close)
			watched := make(chan struct{}, 100)
			second, _ := r.start("pod-2", func(o *Options) {
				o.TTL = hour
				o.Passing = Passing{Root: func(string, Identity) string { return server.URL }, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
					answer, err := http.DefaultTransport.RoundTrip(r)
					if err == nil && r.URL.Path == pathAlive && answer.StatusCode == http.StatusOK {
						watched <- struct{}{}
					}
					return answer, err
				})}
			})
			select {
			case <-watched:
			case <-time.After(patience):
				t.Fatal("pod-2 does not watch pod-1")
			}
			began := time.Now()
			ends(t, drain, server, store)
			within(t, second.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
			t.Logf("pod-2 had the shard after %s", time.Since(began))
		})
	}
}

// What a pod has begun when it ends it answers itself: who has asked need not ask again.
func TestAPodThatEndsAnswers(t *testing.T) {
	r := newRig(t)
	gives := make(chan struct{})
	store := pending{r.store, new(atomic.Bool), make(chan struct{}, 100), make(chan struct{}), sync.OnceFunc(func() { close(gives) })}
	pod, end := r.start("pod-1", func(o *Options) { o.Store = store })
	within(t, pod.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
	r.create(pod, "imsi-208930000000002", n1.IPv4) // it has numbers for more
	store.holds.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-store.asked
		go func() {
			<-gives
			close(store.goOn)
		}()
		end()
	}()
	if _, err := pod.Requests("smf-1").Create(context.Background(), r.wanted("imsi-208930000000001", n1.IPv4)); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the pod does not end")
	}
}

// pending is a store that writes sessions when it is to go on.
type pending struct {
	sessionstore.Store
	holds       *atomic.Bool // from now on
	asked, goOn chan struct{}
	// gives is called when the pod gives something back: its seat, before all that it waits for.
	gives func()
}

func (s pending) Release(ctx context.Context, l sessionstore.Lease) error {
	s.gives()
	return s.Store.Release(ctx, l)
}

func (s pending) Commit(ctx context.Context, l sessionstore.Lease, c sessionstore.Change) error {
	if s.holds.Load() && record.IsKey(c.Key) {
		s.asked <- struct{}{}
		<-s.goOn
	}
	return s.Store.Commit(ctx, l, c)
}

// A request that comes while nobody holds its shard waits until somebody does, for a moment.
func TestARequestWhileTheShardMoves(t *testing.T) {
	r := newRig(t)
	before, err := r.store.Acquire(context.Background(), "smf-1", "pod-0", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	store := slow{r.store, make(chan struct{}, 100), make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(store.goOn) })
	pod, _ := r.start("pod-1", func(o *Options) {
		o.Store = store
		o.Passing = Passing{Root: func(string, Identity) string { return "http://127.0.0.1:1" }, Transport: http.DefaultTransport}
	})
	t.Cleanup(goOn)
	if err := r.store.Release(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	select {
	case <-store.asked:
	case <-time.After(patience):
		t.Fatal("nobody asks for the shard")
	}
	request := httptest.NewRequest(http.MethodPost, "/nsmf-pdusession/v1/sm-contexts/"+record.Ref(record.SEID(1, 5))+"/release", strings.NewReader("{}"))
	request.Header.Set("Content-Type", "application/json")
	looks, w := 0, httptest.NewRecorder()
	waits := func() {
		if looks++; looks == 10 { // more than who does not wait
			goOn()
		}
	}
	pod.Handler(pod.Shards[0], logTo(t), prometheus.NewRegistry(), nsmf.Options{}).ServeHTTP(w, request.WithContext(watched{context.Background(), waits}))
	if w.Code != http.StatusNotFound {
		t.Errorf("the request is answered %d %s, want as who has the shard does: there is no such SM context", w.Code, w.Body)
	}
}

// A request that is to be passed on to a pod that has died waits for who has the shard next: nothing was done of it.
func TestARequestWhoseHolderHasDied(t *testing.T) {
	r := newRig(t)
	if _, err := r.store.Acquire(context.Background(), "smf-1", "pod-0", time.Hour); err != nil {
		t.Fatal(err)
	}
	pod, _ := r.start("pod-1", func(o *Options) {
		o.Passing = Passing{Root: func(string, Identity) string { return "http://127.0.0.1:1" }, Transport: unwatched(http.DefaultTransport.RoundTrip)}
	})
	knows(t, pod, "pod-0")
	request := httptest.NewRequest(http.MethodPost, "/nsmf-pdusession/v1/sm-contexts/"+record.Ref(record.SEID(1, 5))+"/release", strings.NewReader("{}"))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	pod.Handler(pod.Shards[0], logTo(t), prometheus.NewRegistry(), nsmf.Options{}).ServeHTTP(w, request)
	if w.Code != http.StatusNotFound {
		t.Errorf("the request is answered %d %s, want as who has the shard next does: there is no such SM context", w.Code, w.Body)
	}
}

// slow is a store that gives a shard when it is to go on.
type slow struct {
	sessionstore.Store
	asked, goOn chan struct{}
}

func (s slow) Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (sessionstore.Lease, error) {
	if shard == "smf-1" {
		s.asked <- struct{}{}
		<-s.goOn
	}
	return s.Store.Acquire(ctx, shard, holder, ttl)
}

// watched tells when somebody waits for its end.
type watched struct {
	context.Context
	waits func()
}

func (w watched) Done() <-chan struct{} {
	w.waits()
	return w.Context.Done()
}

// A datagram that no unit has sent, a session that is said to be asked for elsewhere: what pods tell each other is taken from pods alone.
func TestOnlyPodsAskWhatPodsAskOfEachOther(t *testing.T) {
	const fromPod = "Test-From-Pod"
	r := newRig(t)
	pod, end := r.start("pod-1", func(o *Options) {
		o.Passing.From = func(r *http.Request) bool { return r.Header.Get(fromPod) != "" }
	})
	end() // which is the answer to those who ask whether it lives
	handler := pod.Handler(pod.Shards[0], logTo(t), prometheus.NewRegistry(), nsmf.Options{})
	for _, x := range []struct {
		method, path string
		want         int // of a pod
	}{
		{http.MethodPost, pathReplaced, http.StatusBadRequest},
		{http.MethodPost, pathN4, http.StatusBadRequest},
		{http.MethodGet, pathAlive, http.StatusOK},
	} {
		for from, want := range map[string]int{"": http.StatusForbidden, "pod-2": x.want} {
			for _, passed := range []string{"", "1"} {
				r, w := httptest.NewRequest(x.method, x.path, nil), httptest.NewRecorder()
				r.Header.Set(fromPod, from)
				r.Header.Set(headerPassed, passed)
				handler.ServeHTTP(w, r)
				if w.Code != want {
					t.Errorf("%s of %q: %d %s, want %d", x.path, from, w.Code, w.Body, want)
				}
			}
		}
	}
}
