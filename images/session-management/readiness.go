package sessionmanagement

import (
	"net/http"
	"sync/atomic"

	"core5g.dev/core5g/images/session-management/shard"
)

// readiness: the configuration is read, and every shard has a holder, here or elsewhere: then whatever comes can be passed on.
type readiness struct{ pod atomic.Pointer[shard.Pod] }

func (r *readiness) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		pod := r.pod.Load()
		if pod == nil {
			http.Error(w, "the program is not up yet", http.StatusServiceUnavailable)
			return
		}
		if err := pod.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
