package onlookers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// Socket of a pod's program, in the abstract namespace: there is no file, and only who shares the pod's network reaches it.
func Socket(program, pod string) string { return "@core5g-" + program + "/" + pod }

// The bounds of what people cost.
const (
	// MostAtATime requests of people.
	MostAtATime = 2
	longest     = 5 * time.Second
)

// The errors that Answer tells apart, beside those of the store.
var (
	ErrQuery         = errors.New("the query cannot be understood")
	ErrNotConfigured = errors.New("the configuration was not read yet: ask again in a moment")
)

// NotFoundError: there is no such record. It says what there is not.
type NotFoundError struct{ What string }

func (e *NotFoundError) Error() string { return "there is no such " + e.What }

// UnreadableError: a record that this program cannot read. It says why, and nothing of the content.
type UnreadableError struct{ Why error }

func (e *UnreadableError) Error() string { return e.Why.Error() }

// Unwrap is for package errors.
func (e *UnreadableError) Unwrap() error { return e.Why }

// Serve looks on the pod's socket until ctx ends. Few requests are answered at a time, each for a few seconds.
func Serve(ctx context.Context, program, pod string, handler http.Handler) error {
	listener, err := net.Listen("unix", Socket(program, pod))
	if err != nil {
		return fmt.Errorf("inspection: %w", err)
	}
	return sbi.Serve(ctx, listener, handler)
}

// Bounded answers few requests at a time, each for a few seconds.
func Bounded(handler http.Handler) http.Handler {
	places := make(chan struct{}, MostAtATime)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		default:
			http.Error(w, "others look already: ask again in a moment", http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Answer with a body as JSON, or with why there is none.
func Answer(w http.ResponseWriter, body any, err error) {
	var bad *UnreadableError
	var missing *NotFoundError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // who asked may be gone
	case errors.Is(err, ErrQuery):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.As(err, &missing):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.As(err, &bad):
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// SUPI of what people write: digits alone are those of an IMSI.
func SUPI(text string) string {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		return "imsi-" + text
	}
	return text
}

// CutSession is SUPI and PDU session identity of what people write, SUPI/ID: the SUPI may have a / as well.
func CutSession(name string) (supi, id string, is bool) {
	n := strings.LastIndexByte(name, '/')
	if n < 0 {
		return "", "", false
	}
	return name[:n], name[n+1:], name[:n] != "" && name[n+1:] != ""
}
