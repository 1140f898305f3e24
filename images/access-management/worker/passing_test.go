package worker

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
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

// A UE that has come to a shard of this pod is found here, whatever the pod remembers of it: others pass on to it what concerns the UE, and only this pod can
// forget where it was.
func TestAUEIsFoundInTheShardThatItHasComeTo(t *testing.T) {
	const supi = "imsi-208930000000001"
	p := podAt(t, func() []string { return nil })
	octets, err := (&record.UE{SUPI: supi, Shard: 1, Phase: record.Registered}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	lease, err := p.Store.Acquire(t.Context(), p.name(1), p.Holder, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	key := record.Key(supi)
	if err := p.Store.Commit(t.Context(), lease, sessionstore.Change{Key: key, Is: sessionstore.Revision{Writer: 1, Count: 1}, Value: p.Sealer.Seal(key, octets)}); err != nil {
		t.Fatal(err)
	}
	here := &Shard{pod: p}
	p.held[1] = here
	p.hints.add(supi, 2)
	if s, err := p.holder(t.Context(), supi); s != here {
		t.Errorf("found in %v: %v", s, err)
	}
	delete(p.held, 1)
	if s, err := p.holder(t.Context(), supi); s != nil || !errors.Is(err, errMoves) {
		t.Errorf("held elsewhere: found in %v: %v", s, err)
	}
}
