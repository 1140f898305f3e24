package worker

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyPodsAskWhatPodsAskOfEachOther(t *testing.T) {
	p := podAt(t, func() []string { return nil })
	p.stop() // its end is the answer to those who ask whether it lives
	const fromPod = "Test-From-Pod"
	p.Passing.From = func(r *http.Request) bool { return r.Header.Get(fromPod) != "" }
	handler := p.Handler()
	for _, x := range []struct {
		method, path string
		pod, another int
	}{
		{http.MethodPost, pathGiveUp, http.StatusBadRequest, http.StatusForbidden},
		{http.MethodPost, pathPass, http.StatusBadRequest, http.StatusForbidden},
		{http.MethodGet, pathAlive, http.StatusOK, http.StatusForbidden},
	} {
		for pod, want := range map[string]int{"": x.another, "amf-1": x.pod} {
			r, w := httptest.NewRequest(x.method, x.path, nil), httptest.NewRecorder()
			r.Header.Set(fromPod, pod)
			handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s of %q: %d, want %d", x.path, pod, w.Code, want)
			}
		}
	}
}
