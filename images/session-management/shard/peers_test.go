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
