package subscriberdata

import (
	"net/http"
	"sync/atomic"
)

// readiness says that the objects are read and the functions answer. It does not wait for the NRF: who
// already knows the functions can use them, and core5g_nf_registered tells about the NRF.
type readiness struct {
	ready atomic.Bool
}

func (h *readiness) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "the objects are not read yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}
