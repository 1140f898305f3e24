package onlookers

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"core5g.dev/core5g/images/signalling"
)

// TraceCommand is the subcommand that has signalling of a UE kept, and shows what was.
const TraceCommand = "trace"

// TraceUsage of the subcommand, behind the program's name.
const TraceUsage = ` trace SUPI   keep what is said for a UE, and show what was kept, as JSON
    -for 30s                            keep it for so long after this (10m at most)
    -after NUMBER                       show what came behind an entry
    -nas                                keep NAS messages too, as they are without protection
    -pod NAME                           the pod to ask, of those whose network this is [$POD_NAME]`

// traceRequest is what the subcommand asks.
type traceRequest struct {
	SUPI  string        `json:"supi"`
	For   time.Duration `json:"for"`
	After uint64        `json:"after,omitempty"`
	NAS   bool          `json:"nas,omitempty"`
}

// mostRequest bounds one, in octets.
const mostRequest = 4096

// HandleTrace answers POST /trace.
func HandleTrace(mux *http.ServeMux, t *signalling.Tracer) {
	mux.HandleFunc("POST /trace", func(w http.ResponseWriter, r *http.Request) {
		var q traceRequest
		if err := json.NewDecoder(io.LimitReader(r.Body, mostRequest)).Decode(&q); err != nil || q.SUPI == "" {
			Answer(w, nil, fmt.Errorf("%w: write {\"supi\": …, \"for\": …}", ErrQuery))
			return
		}
		page, err := t.Trace(SUPI(q.SUPI), q.For, q.NAS, q.After)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrQuery, err)
		}
		Answer(w, page, err)
	})
}

// RunTrace carries out the subcommand of a program. Its error says what to write instead where the arguments cannot be understood.
func RunTrace(ctx context.Context, program string, args []string, out io.Writer) error {
	q := traceRequest{}
	var pod string
	f := flag.NewFlagSet(TraceCommand, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&pod, "pod", os.Getenv("POD_NAME"), "")
	f.DurationVar(&q.For, "for", 30*time.Second, "")
	f.Uint64Var(&q.After, "after", 0, "")
	f.BoolVar(&q.NAS, "nas", false, "")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		_, err := fmt.Fprintln(out, program+TraceUsage)
		return err
	} else if err != nil {
		return fmt.Errorf("%w\n%s", err, program+TraceUsage)
	}
	if q.SUPI = f.Arg(0); f.NArg() != 1 || q.SUPI == "" {
		return fmt.Errorf("write a SUPI behind the flags, for example imsi-208930000000001\n%s", program+TraceUsage)
	}
	var page signalling.Page
	if err := NewClient(program, pod).Post(ctx, "/trace", q, &page); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(page)
}
