package shard

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/nsmf"

	"github.com/prometheus/client_golang/prometheus"
)

// A pod that is drained, or dies, is not missed by looking: others would, after a sixth of a lease's life.
func TestAPodTakesAtOnceWhatAnotherHasGivenUp(t *testing.T) {
	const hour = time.Hour
	for name, ends := range map[string]func(drain func(), server *httptest.Server){
		"it is drained": func(drain func(), _ *httptest.Server) { drain() },
		"it dies": func(_ func(), server *httptest.Server) {
			_ = server.Listener.Close()
			server.CloseClientConnections()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			first, drain := r.start("pod-1", func(o *Options) { o.TTL = hour })
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
			ends(drain, server)
			within(t, second.Registry, "core5g_smf_shard_held", map[string]float64{"smf-1": 1})
			t.Logf("pod-2 had the shard after %s", time.Since(began))
		})
	}
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
