package sbi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxBody bounds a request's content; the largest that is expected has 2 kB.
const maxBody = 256 << 10

// Answer is what an operation answers with.
type Answer struct {
	Status   int
	Location string
	// Header is sent beside what the router sets.
	Header http.Header
	// Body is marshalled to JSON, unless it is Raw; there is none where it is nil.
	Body any
}

// Raw is a body that is sent as it is.
type Raw struct {
	ContentType string
	Content     []byte
}

// Refusal is an error that brings its own answer, where the specification wants more than problem details.
type Refusal interface {
	error
	Answer() Answer
}

// ErrUnserved is an error of an operation that leaves its request to who called the router: nothing was answered, and nothing is counted.
var ErrUnserved = errors.New("another one answers the request")

// Operation answers one request. An error that is a *Problem is sent as such.
type Operation func(r *http.Request) (Answer, error)

// Router maps methods and paths to operations.
type Router struct {
	mux      *http.ServeMux
	log      *slog.Logger
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewRouter returns an empty router that counts into the registry.
func NewRouter(log *slog.Logger, reg prometheus.Registerer) *Router {
	r := &Router{
		mux: http.NewServeMux(),
		log: log,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_sbi_requests_total",
			Help: "Requests to the service based interface, by service, operation and HTTP status.",
		}, []string{"service", "operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "core5g_sbi_request_duration_seconds",
			Help:    "Time to answer a request to the service based interface.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .1, 1},
		}, []string{"service"}),
	}
	reg.MustRegister(r.requests, r.duration)
	r.mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		r.serve(w, req, "none", "none", func(*http.Request) (Answer, error) {
			// TS 29.500 5.2.7.2.
			return Answer{}, NewProblem(http.StatusNotFound, "RESOURCE_URI_STRUCTURE_NOT_FOUND", "no service has this path")
		})
	})
	return r
}

// Handle adds an operation. The pattern is one of http.ServeMux.
func (r *Router) Handle(service, operation, pattern string, op Operation) {
	r.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		r.serve(w, req, service, operation, op)
	})
}

// ServeHTTP implements http.Handler.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

func (r *Router) serve(w http.ResponseWriter, req *http.Request, service, operation string, op Operation) {
	start := time.Now()
	req.Body = http.MaxBytesReader(w, req.Body, maxBody)
	answer, err := r.run(req, op)
	if errors.Is(err, ErrUnserved) {
		return
	}
	status := answer.Status
	var body Raw
	if err == nil {
		body, err = content(answer.Body)
	}
	var refusal Refusal
	if errors.As(err, &refusal) {
		answer = refusal.Answer()
		var failed error
		if body, failed = content(answer.Body); failed != nil {
			err, refusal = failed, nil
		}
	}
	if err != nil {
		p := asProblem(err)
		if status = p.Status; refusal != nil {
			status = answer.Status
		}
		level := slog.LevelInfo
		if status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		r.log.Log(req.Context(), level, "request refused", append([]any{"service", service, "operation", operation,
			"method", req.Method, "path", req.URL.Path, "status", status, "error", err}, p.about...)...)
		if refusal == nil {
			writeProblem(w, p)
		} else {
			writeAnswer(w, answer, body)
		}
	} else {
		r.log.Debug("request answered", "service", service, "operation", operation,
			"method", req.Method, "path", req.URL.Path, "status", status)
		writeAnswer(w, answer, body)
	}
	r.requests.WithLabelValues(service, operation, strconv.Itoa(status)).Inc()
	r.duration.WithLabelValues(service).Observe(time.Since(start).Seconds())
}

func content(body any) (Raw, error) {
	if raw, ok := body.(Raw); ok || body == nil {
		return raw, nil
	}
	text, err := json.Marshal(body)
	return Raw{ContentType: "application/json", Content: text}, err
}

// Write sends an answer that no router has asked for. It counts nothing.
func Write(w http.ResponseWriter, answer Answer) {
	body, err := content(answer.Body)
	if err != nil {
		writeProblem(w, asProblem(err))
		return
	}
	writeAnswer(w, answer, body)
}

func writeAnswer(w http.ResponseWriter, answer Answer, body Raw) {
	for name, values := range answer.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if answer.Location != "" {
		w.Header().Set("Location", answer.Location)
	}
	if body.ContentType != "" {
		w.Header().Set("Content-Type", body.ContentType)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(body.Content)
}

// run keeps a bug in one operation from ending the connection that other requests share.
func (r *Router) run(req *http.Request, op Operation) (answer Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("operation panicked", "path", req.URL.Path, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	// What cannot be taken apart would otherwise count as absent.
	if _, err := url.ParseQuery(req.URL.RawQuery); err != nil {
		return Answer{}, BadRequest("INVALID_QUERY_PARAM", "the query is not name=value pairs joined by &, in the encoding of URIs")
	}
	return op(req)
}

// Peek reads the content of a request, and puts it back. Of one that is too large, or cannot be read, which who answers finds, too, it is not the whole.
func Peek(req *http.Request, most int64) (content []byte, whole bool) {
	content, err := io.ReadAll(io.LimitReader(req.Body, most))
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(content), req.Body), req.Body}
	return content, err == nil && int64(len(content)) < most
}

// BaseURI is where the client reached us, for Location headers and links.
func BaseURI(req *http.Request) string {
	if req.TLS != nil {
		return "https://" + req.Host
	}
	return "http://" + req.Host
}

// Within is the context of a request that ends when nobody waits for the answer any more: after the limit, or what the
// caller says (3gpp-Sbi-Max-Rsp-Time, TS 29.500 5.2.3.3.8), whichever is shorter.
func Within(req *http.Request, limit time.Duration) (context.Context, context.CancelFunc) {
	if ms, err := strconv.ParseInt(req.Header.Get("3gpp-Sbi-Max-Rsp-Time"), 10, 32); err == nil && ms > 0 {
		limit = min(limit, time.Duration(ms)*time.Millisecond)
	}
	return context.WithTimeout(req.Context(), limit)
}
