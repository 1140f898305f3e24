package subscriberdata

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/subscriber-data/aka"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/operators/api/v1alpha1"
)

// fixedObjects are objects without a cluster.
type fixedObjects struct {
	core        *v1alpha1.Core5G
	slices      []v1alpha1.Slice
	subscribers map[string]*v1alpha1.Subscriber
}

func (o fixedObjects) Core5G(context.Context) (*v1alpha1.Core5G, error) { return o.core, nil }
func (o fixedObjects) Slices(context.Context) ([]v1alpha1.Slice, error) { return o.slices, nil }
func (o fixedObjects) Subscriber(_ context.Context, supi string) (*v1alpha1.Subscriber, error) {
	if s, ok := o.subscribers[supi]; ok {
		return s, nil
	}
	return nil, subscription.ErrUnknownSubscriber
}

func (o fixedObjects) Secret(context.Context, string) (map[string][]byte, error) {
	return map[string][]byte{"k": []byte(testK), "opc": []byte(testOPc)}, nil
}

func fuzzHandler(tb testing.TB) http.Handler {
	tb.Helper()
	o := fixedObjects{subscribers: make(map[string]*v1alpha1.Subscriber)}
	for _, object := range defaultObjects() {
		switch object := object.(type) {
		case *v1alpha1.Core5G:
			o.core = object
		case *v1alpha1.Slice:
			o.slices = append(o.slices, *object)
		case *v1alpha1.Subscriber:
			o.subscribers[object.Spec.SUPI] = object
		}
	}
	return NewHandler(Parts{
		Directory: subscription.NewDirectory(o), NRF: "http://nrf:8000", Now: time.Now, Callbacks: noCallbacks{},
		Sequences: aka.NewSequences(time.Now, 0, func(context.Context, uint64) error { return nil }),
		Log:       slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
}

// noCallbacks answers what the functions send to callback URIs, which are the fuzzer's.
type noCallbacks struct{}

func (noCallbacks) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
}

type fuzzCore struct{ handler http.Handler }

// check sends one request and wants an orderly answer: no failure of ours, and content that is JSON.
func (c *fuzzCore) check(t *testing.T, method, target, body string) {
	path, rawQuery, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	req := httptest.NewRequest(method, "/", strings.NewReader(body))
	req.URL = &url.URL{Path: path, RawQuery: rawQuery}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, req)
	// The path may be redirected to its clean form, and the method refused, by net/http itself.
	if w.Code >= 500 && w.Code != http.StatusNotImplemented {
		t.Errorf("%s %q: status %d: %s", method, target, w.Code, w.Body)
	}
	if w.Body.Len() > 0 && strings.HasSuffix(w.Header().Get("Content-Type"), "json") && !json.Valid(w.Body.Bytes()) {
		t.Errorf("%s %q: %s", method, target, w.Body)
	}
}
