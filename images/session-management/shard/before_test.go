package shard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/procedure"
)

// late is a store that tells the Recovery Time Stamp when it is let.
type late struct {
	sessionstore.Store
	asked, let chan struct{}
}

func (s *late) Read(ctx context.Context, key string) (sessionstore.Record, error) {
	if key == keyRecovery {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		select {
		case <-s.let:
		case <-ctx.Done():
			return sessionstore.Record{}, ctx.Err()
		}
	}
	return s.Store.Read(ctx, key)
}

// A shard is held from its lease on, and serves a little later. What is asked of it in between waits.
func TestRequestsWaitUntilTheShardServes(t *testing.T) {
	r := newRig(t)
	first, end := r.start("pod-1")
	ref := r.create(first, "imsi-208930000000001", n1.IPv4)
	r.amf.next(t)
	r.tunnel(first, ref, 0x100)
	end()

	store := &late{Store: r.store, asked: make(chan struct{}, 1), let: make(chan struct{})}
	second, _ := r.start("pod-2", func(o *Options) { o.Store = store })
	<-store.asked
	for second.Held("smf-1") == nil {
		select {
		case <-t.Context().Done():
			t.Fatal("nobody holds the shard")
		default:
		}
	}
	answered := make(chan error, 1)
	go func() {
		u, err := second.Requests("smf-1").Update(t.Context(), ref, &nsmf.Update{UpCnxState: nsmf.Deactivated})
		if err == nil && u.UpCnxState != nsmf.Deactivated {
			t.Errorf("the connection is %q", u.UpCnxState)
		}
		answered <- err
	}()
	s := second.Held("smf-1")
	passedOn := func(want int) { // by a pod that a unit has reached
		t.Helper()
		w := httptest.NewRecorder()
		second.receive(s.Identity, w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?from=127.0.0.1:8805", strings.NewReader("x")))
		if w.Code != want {
			t.Errorf("a datagram is answered with %d, want %d", w.Code, want)
		}
	}
	passedOn(http.StatusServiceUnavailable)
	s.configured(second.config.Load())
	waits := make(chan bool)
	for waiting := false; !waiting; {
		s.loop.Post(func() { waits <- len(s.before) > 0 })
		waiting = <-waits
	}
	s.loop.Post(func() { // as many as there may be
		for len(s.before) < mostBefore {
			s.before = append(s.before, func() {})
		}
	})
	refused := make(chan struct{})
	s.ask(func() { t.Error("one too many is done") }, func() { close(refused) })
	<-refused
	if err := second.Requests("smf-1").tell(ref, procedure.Unreachable{}); err != nil {
		t.Error(err)
	}
	close(store.let)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	passedOn(http.StatusNoContent)
}
