package sbi

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// An operation that leaves its request to another one has answered nothing, and is not counted: who called the router answers.
func TestARequestThatIsLeftToAnother(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := NewRouter(slog.New(slog.DiscardHandler), registry)
	r.Handle("namf-comm", "Operation", "GET /here", func(*http.Request) (Answer, error) { return Answer{}, fmt.Errorf("not here: %w", ErrUnserved) })
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/here", nil))
	counted, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Header()) != 0 || w.Body.Len() != 0 || len(counted) != 0 {
		t.Errorf("answered with %v %q, counted %v", w.Header(), w.Body, counted)
	}
	w.WriteHeader(http.StatusTeapot)
	if w.Code != http.StatusTeapot {
		t.Errorf("the answer was %d already", w.Code)
	}
}
