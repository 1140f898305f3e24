package inspection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// Socket of a pod, in the abstract namespace: there is no file, and only who shares the pod's network reaches it.
func Socket(pod string) string { return "@core5g-session-management/" + pod }

// The bounds of what people cost.
const (
	mostAtATime = 2
	longest     = 5 * time.Second
)

// Serve looks on the pod's socket until ctx ends.
func (i *Inspection) Serve(ctx context.Context, pod string) error {
	listener, err := net.Listen("unix", Socket(pod))
	if err != nil {
		return fmt.Errorf("inspection: %w", err)
	}
	return sbi.Serve(ctx, listener, i.Handler())
}

// Handler answers GET /sessions and GET /sessions/{supi}/{id}.
func (i *Inspection) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		q := Query{Slice: v.Get("slice"), Unit: v.Get("unit"), SUPI: v.Get("supi"), Cursor: v.Get("cursor")}
		if text := v.Get("limit"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				answer(w, nil, fmt.Errorf("%w: limit %.40q is no number", ErrQuery, text))
				return
			}
			q.Limit = n
		}
		page, err := i.List(r.Context(), q)
		answer(w, page, err)
	})
	mux.HandleFunc("GET /sessions/{supi}/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := sessionID(r.PathValue("id"))
		if err != nil {
			answer(w, nil, err)
			return
		}
		story, err := i.One(r.Context(), r.PathValue("supi"), id)
		answer(w, story, err)
	})
	places := make(chan struct{}, mostAtATime)
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
		mux.ServeHTTP(w, r.WithContext(ctx))
	})
}

func sessionID(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n < 1 || n > mostIDs {
		return 0, fmt.Errorf("%w: %.40q is no PDU session identity: write 1 to %d", ErrQuery, text, mostIDs)
	}
	return uint8(n), nil
}

func answer(w http.ResponseWriter, body any, err error) {
	var bad *unreadableError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // who asked may be gone
	case errors.Is(err, ErrQuery):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.As(err, &bad):
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
