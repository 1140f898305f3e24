package inspection

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"core5g.dev/core5g/images/onlookers"
)

// program whose pods are looked into.
const program = "session-management"

// Serve looks on the pod's socket until ctx ends.
func (i *Inspection) Serve(ctx context.Context, pod string) error {
	return onlookers.Serve(ctx, program, pod, i.Handler())
}

// Handler answers GET /sessions, GET /sessions/{supi}/{id} and POST /trace.
func (i *Inspection) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		limit, err := onlookers.AskedLimit(v)
		if err != nil {
			onlookers.Answer(w, nil, err)
			return
		}
		q := Query{Limit: limit, Slice: v.Get("slice"), Unit: v.Get("unit"), SUPI: v.Get("supi"), Cursor: v.Get("cursor")}
		page, err := i.List(r.Context(), q)
		onlookers.Answer(w, page, err)
	})
	mux.HandleFunc("GET /sessions/{supi}/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := sessionID(r.PathValue("id"))
		if err != nil {
			onlookers.Answer(w, nil, err)
			return
		}
		story, err := i.One(r.Context(), r.PathValue("supi"), id)
		onlookers.Answer(w, story, err)
	})
	if i.Tracer != nil {
		onlookers.HandleTrace(mux, i.Tracer)
	}
	return onlookers.Bounded(mux)
}

func sessionID(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || n < 1 || n > mostIDs {
		return 0, fmt.Errorf("%w: %.40q is no PDU session identity: write 1 to %d", ErrQuery, text, mostIDs)
	}
	return uint8(n), nil
}
