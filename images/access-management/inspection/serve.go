package inspection

import (
	"context"
	"net/http"

	"core5g.dev/core5g/images/onlookers"
)

// program whose pods are looked into.
const program = "access-management"

// Serve looks on the pod's socket until ctx ends.
func (i *Inspection) Serve(ctx context.Context, pod string) error {
	return onlookers.Serve(ctx, program, pod, i.Handler())
}

// Handler answers GET /ues, GET /ues/{supi} and POST /trace.
func (i *Inspection) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ues", func(w http.ResponseWriter, r *http.Request) {
		v := r.URL.Query()
		limit, err := onlookers.AskedLimit(v)
		if err != nil {
			onlookers.Answer(w, nil, err)
			return
		}
		q := Query{Limit: limit, Slice: v.Get("slice"), GNB: v.Get("gnb"), TAC: v.Get("tac"), State: v.Get("state"), SUPI: v.Get("supi"), Cursor: v.Get("cursor")}
		page, err := i.List(r.Context(), q)
		onlookers.Answer(w, page, err)
	})
	mux.HandleFunc("GET /ues/{supi}", func(w http.ResponseWriter, r *http.Request) {
		story, err := i.One(r.Context(), r.PathValue("supi"))
		onlookers.Answer(w, story, err)
	})
	if i.Tracer != nil {
		onlookers.HandleTrace(mux, i.Tracer)
	}
	return onlookers.Bounded(mux)
}
