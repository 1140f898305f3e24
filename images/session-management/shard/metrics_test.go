package shard

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// counted are the values of a metric by its labels' values, in the order of their names.
func counted(t *testing.T, reg prometheus.Registerer, name string) map[string]float64 {
	t.Helper()
	families, err := reg.(prometheus.Gatherer).Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() // it is one of them
			if m.Histogram != nil {
				value = float64(m.Histogram.GetSampleCount())
			}
			out[strings.Join(labels, " ")] = value
		}
	}
	return out
}

// within awaits what a metric says of the labels that are wanted: a request that came before the unit was met may have been refused. None are wanted:
// it says nothing at all.
func within(t *testing.T, reg prometheus.Registerer, name string, want map[string]float64) {
	t.Helper()
	diff, deadline := "", time.Now().Add(patience)
	for time.Now().Before(deadline) {
		got := counted(t, reg, name)
		maps.DeleteFunc(got, func(labels string, _ float64) bool { _, wanted := want[labels]; return len(want) > 0 && !wanted })
		if diff = cmp.Diff(want, got); diff == "" {
			return
		}
		time.Sleep(20 * time.Millisecond) // as who scrapes
	}
	t.Errorf("%s (-want +got):\n%s", name, diff)
}

func TestWhatAPodCounts(t *testing.T) {
	r := newRig(t)
	p, end := r.start("pod-1")
	within(t, p.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
	r.create(p, "imsi-208930000000001", n1.IPv4)
	r.amf.next(t)
	within(t, p.Registry, "core5g_smf_procedures_total", map[string]float64{" establishment done": 1})
	within(t, p.Registry, "core5g_smf_procedure_seconds", map[string]float64{"establishment done": 1})
	within(t, p.Registry, "core5g_smf_sessions_in_memory", map[string]float64{"smf-1": 1})
	within(t, p.Registry, "core5g_pdu_session_establishments_total", map[string]float64{" internet success internet 1-010203": 1})
	within(t, p.Registry, "core5g_pdu_session_establishment_seconds", map[string]float64{"internet internet 1-010203": 1})
	within(t, p.Registry, "core5g_smf_pdu_sessions", map[string]float64{"smf-1 internet 1-010203": 1})
	within(t, p.Registry, "core5g_smf_upf_associated", map[string]float64{"smf-1 internet upf.test": 1})
	end()
	within(t, p.Registry, "core5g_smf_pdu_sessions", map[string]float64{})
	within(t, p.Registry, "core5g_smf_upf_associated", map[string]float64{})
	within(t, p.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 0})
	within(t, p.Registry, "core5g_smf_sessions_in_memory", map[string]float64{})
}

// knows waits until a pod knows who holds the shard.
func knows(t *testing.T, p *Pod, holder string) {
	t.Helper()
	for deadline := time.Now().Add(patience); p.keeper.Holder(p.Shards[0].Name) != holder; {
		if time.Now().After(deadline) {
			t.Fatalf("%s takes %q for the holder", p.Holder, p.keeper.Holder(p.Shards[0].Name))
		}
		time.Sleep(20 * time.Millisecond) // leases are looked at in their own time
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// guarded is a store whose shards nobody takes while mu is locked.
type guarded struct {
	sessionstore.Store
	mu sync.Mutex
}

func (g *guarded) Acquire(ctx context.Context, shard, holder string, ttl time.Duration) (sessionstore.Lease, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Store.Acquire(ctx, shard, holder, ttl)
}

// unwatched: pods do not watch each other, so that a call is the first to find one dead.
func unwatched(next roundTripper) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == pathAlive {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return next(r)
	}
}

// That a pod has died is no reason to end the lease of the one that has taken its shard meanwhile.
func TestTheNextHolderIsNotTakenForDead(t *testing.T) {
	r := newRig(t)
	ctx, store := t.Context(), r.store
	lease, err := store.Acquire(ctx, "smf-1", "pod-1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	var pod *Pod
	seen := &guarded{Store: store}
	pod, _ = r.start("pod-2", func(o *Options) {
		o.Store = seen
		o.Passing = Passing{Root: func(string, Identity) string { return "http://pod-1:8001" }, Transport: unwatched(func(*http.Request) (*http.Response, error) {
			seen.mu.Lock() // it is pod-3's at once
			if err := store.Release(ctx, lease); err != nil {
				t.Error(err)
			}
			if _, err := store.Acquire(ctx, "smf-1", "pod-3", time.Hour); err != nil {
				t.Error(err)
			}
			seen.mu.Unlock()
			pod.keeper.Gone("pod-1") // so that it looks at once
			knows(t, pod, "pod-3")
			return nil, syscall.ECONNREFUSED
		})}
	})
	knows(t, pod, "pod-1")
	h := pod.Handler(pod.Shards[0], logTo(t), prometheus.NewRegistry(), nsmf.Options{})
	req := httptest.NewRequest("POST", "/nsmf-pdusession/v1/sm-contexts/x/release", strings.NewReader("{}"))
	req.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), req)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if holder, _, err := store.Holder(ctx, "smf-1"); holder != "pod-3" || err != nil {
			t.Fatalf("the shard is held by %q, %v", holder, err)
		}
	}
}

func TestWhatIsPassedOnIsCounted(t *testing.T) {
	r := newRig(t)
	first, _ := r.start("pod-1")
	within(t, first.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
	log := logTo(t)
	holder := httptest.NewServer(first.Handler(first.Shards[0], log, prometheus.NewRegistry(), nsmf.Options{}))
	defer holder.Close()
	var breaks atomic.Bool
	second, _ := r.start("pod-2", func(o *Options) {
		o.Passing = Passing{Root: func(string, Identity) string { return holder.URL }, Transport: unwatched(func(req *http.Request) (*http.Response, error) {
			if breaks.Load() {
				return nil, syscall.ECONNRESET // what was sent may have come
			}
			return http.DefaultTransport.RoundTrip(req)
		})}
	})
	knows(t, second, "pod-1")
	h := second.Handler(second.Shards[0], log, prometheus.NewRegistry(), nsmf.Options{})
	ask := func() int {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("POST", "/nsmf-pdusession/v1/sm-contexts/x/release", strings.NewReader("{}"))
		req.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(w, req)
		return w.Code
	}
	if code := ask(); code != 404 {
		t.Errorf("status %d of a context that there is not", code)
	}
	within(t, second.Registry, "core5g_smf_passed_on_total", map[string]float64{"done request": 1})
	breaks.Store(true)
	if code := ask(); code != 503 {
		t.Errorf("status %d where nobody knows whether the holder was reached", code)
	}
	within(t, second.Registry, "core5g_smf_passed_on_total", map[string]float64{"done request": 1, "not_reached request": 1})
}

func TestARunnersCountsAreTakenOver(t *testing.T) {
	r := newRig(t)
	p, _ := r.start("pod-1")
	within(t, p.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
	s := p.Held("smf-1")
	ended := make(chan struct{})
	s.loop.Post(func() {
		defer close(ended)
		const key = "pdu-session/imsi-208930000000009/1"
		for range 20 { // the first is loaded by the store, and the others wait: no more than fit
			s.runner.Deliver(key, procedure.Release{})
		}
		s.observe(runner.Counts{})
	})
	<-ended
	within(t, p.Registry, "core5g_smf_refused_total", map[string]float64{"smf-1 other": 0, "smf-1 queue_full": 4, "smf-1 store_away": 0})
}

// What procedures end with has a label value of its own, or is a constant.
func TestCausesAreBounded(t *testing.T) {
	files, err := filepath.Glob("../procedure/*.go")
	if err != nil {
		t.Fatal(err)
	}
	ends := regexp.MustCompile(`\.(?:over|gone|forget|back|rejectEstablishment|refuseFor|ended)\((?:\w+, )?"([^"]*)"`)
	constants := regexp.MustCompile(`refused\(http\.\w+, "(\w+)"|Cause: "([A-Z0-9_]+)"`)
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range append(ends.FindAllStringSubmatch(string(text), -1), constants.FindAllStringSubmatch(string(text), -1)...) {
			cause := m[1]
			if len(m) > 2 {
				cause += m[2]
			}
			seen++
			if causeOf(cause) == otherCause {
				t.Errorf("%s: %q has no label value", filepath.Base(file), cause)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d causes are in the code", seen)
	}
	for cause, want := range map[string]string{
		"": "", "SNSSAI_DENIED": "snssai_denied", "the UPF refused": "upf_refused", "the AMF did not take it: whatever it says": "amf_refused",
		"an error with imsi-208930000000001 in it": "other", strings.Repeat("A", 41): "other",
	} {
		if got := causeOf(cause); got != want {
			t.Errorf("%q is %q, want %q", cause, got, want)
		}
	}
}
