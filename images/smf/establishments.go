package main

// Establishments of PDU sessions as the front sees them go by (TS 23.502 4.3.2.2.1). The creation of an SM
// context (TS 29.502 5.2.2.2) names S-NSSAI and DNN; a refusal ends the matter. After an acceptance the SMF
// asks the UPF and then, through the AMF, the access network: the PDU session is there when the AMF brings
// the access network's PDU Session Resource Setup Response in an update of the context. What comes to
// nothing in between leaves no trace at the front: it counts as failed after setupLimit.

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// setupLimit is longer than T3580 (TS 24.501 10.3), after which the UE asks anew.
	setupLimit = 20 * time.Second
	// maxContent bounds what is read of a request or a response to understand it.
	maxContent = 1 << 16
)

// Results and causes beside those of problem details.
const (
	resultSuccess     = "success"
	resultFailure     = "failure"
	causeRAN          = "an_resource_setup_failed"
	causeReleased     = "released"
	causeNotCompleted = "not_completed"
)

// session is what the labels say.
type session struct{ snssai, dnn string }

type establishments struct {
	now func() time.Time

	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec

	mu      sync.Mutex
	pending map[string]pendingSession // by the SM context's UUID
}

type pendingSession struct {
	session
	since time.Time
}

func newEstablishments(reg prometheus.Registerer) *establishments {
	e := &establishments{
		now: time.Now, pending: map[string]pendingSession{},
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "core5g_pdu_session_establishments_total",
			Help: "PDU sessions that UEs asked for, by what became of them; cause as in the problem details, or what the access network said.",
		}, []string{"snssai", "dnn", "result", "cause"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "core5g_pdu_session_establishment_seconds",
			Help:    "From the AMF's request for an SM context to the access network's answer that the PDU session's resources are set up.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"snssai", "dnn"}),
	}
	reg.MustRegister(e.total, e.duration)
	return e
}

// expect lets the counters of a data network begin at 0, so that a rate sees the first session.
func (e *establishments) expect(s session) {
	e.total.WithLabelValues(s.snssai, s.dnn, resultSuccess, "")
	e.duration.WithLabelValues(s.snssai, s.dnn)
}

func (e *establishments) count(s session, result, cause string) {
	e.total.WithLabelValues(s.snssai, s.dnn, result, cause).Inc()
}

// handler sees requests on their way to next, and the answers.
func (e *establishments) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == smContexts {
			e.create(w, r, next)
			return
		}
		rest, found := strings.CutPrefix(r.URL.Path, smContexts+"/")
		ref, operation, _ := strings.Cut(rest, "/")
		ref = bare(ref)
		if !found || !e.isPending(ref) {
			next.ServeHTTP(w, r)
			return
		}
		switch operation {
		case "modify":
			e.update(w, r, next, ref)
		case "release":
			next.ServeHTTP(w, r)
			e.end(ref, resultFailure, causeReleased)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (e *establishments) create(w http.ResponseWriter, r *http.Request, next http.Handler) {
	e.expire()
	var request struct {
		DNN    string `json:"dnn"`
		SNSSAI struct {
			SST int    `json:"sst"`
			SD  string `json:"sd"`
		} `json:"sNssai"`
	}
	read(r, &request)
	s := session{snssaiLabel(request.SNSSAI.SST, request.SNSSAI.SD), request.DNN}
	since := e.now()
	answer := &answerRecorder{ResponseWriter: w}
	next.ServeHTTP(answer, r)
	if answer.status >= http.StatusMultipleChoices {
		e.count(s, resultFailure, answer.cause())
		return
	}
	e.mu.Lock()
	e.pending[bare(path.Base(answer.Header().Get("Location")))] = pendingSession{s, since}
	e.mu.Unlock()
}

func (e *establishments) update(w http.ResponseWriter, r *http.Request, next http.Handler, ref string) {
	var request struct {
		N2SMInfoType string `json:"n2SmInfoType"`
		Release      bool   `json:"release"`
	}
	read(r, &request)
	answer := &answerRecorder{ResponseWriter: w}
	next.ServeHTTP(answer, r)
	switch {
	case request.N2SMInfoType == "PDU_RES_SETUP_RSP" && answer.status < http.StatusMultipleChoices:
		e.end(ref, resultSuccess, "")
	case request.N2SMInfoType == "PDU_RES_SETUP_RSP":
		e.end(ref, resultFailure, answer.cause())
	case request.N2SMInfoType == "PDU_RES_SETUP_FAIL":
		e.end(ref, resultFailure, causeRAN)
	case request.Release:
		e.end(ref, resultFailure, causeReleased)
	}
}

func (e *establishments) isPending(ref string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.pending[ref]
	return ok
}

func (e *establishments) end(ref, result, cause string) {
	e.mu.Lock()
	p, ok := e.pending[ref]
	delete(e.pending, ref)
	e.mu.Unlock()
	if !ok {
		return
	}
	e.count(p.session, result, cause)
	if result == resultSuccess {
		e.duration.WithLabelValues(p.snssai, p.dnn).Observe(e.now().Sub(p.since).Seconds())
	}
}

// expire counts what has waited for too long.
func (e *establishments) expire() {
	e.mu.Lock()
	var late []session
	for ref, p := range e.pending {
		if e.now().Sub(p.since) > setupLimit {
			late = append(late, p.session)
			delete(e.pending, ref)
		}
	}
	e.mu.Unlock()
	for _, s := range late {
		e.count(s, resultFailure, causeNotCompleted)
	}
}

// bare is the UUID of an SM context however it is named.
func bare(ref string) string {
	for strings.HasPrefix(ref, urnPrefix) {
		ref = strings.TrimPrefix(ref, urnPrefix)
	}
	return ref
}

// snssaiLabel writes an S-NSSAI as TS 29.571 5.4.4.2 does in map keys: 1-010203.
func snssaiLabel(sst int, sd string) string {
	if sd == "" {
		return strconv.Itoa(sst)
	}
	return strconv.Itoa(sst) + "-" + strings.ToLower(sd)
}

// read understands the JSON part of a request's content (TS 29.502 6.1.2.4) as far as it can, and leaves the
// content for the next reader.
func read(r *http.Request, into any) {
	head, err := io.ReadAll(io.LimitReader(r.Body, maxContent))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
	if err == nil {
		understand(r.Header, head, into)
	}
}

func understand(header http.Header, content []byte, into any) {
	kind, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return
	}
	if strings.HasPrefix(kind, "multipart/") {
		// The JSON part is the first.
		part, err := multipart.NewReader(bytes.NewReader(content), parameters["boundary"]).NextPart()
		if err != nil {
			return
		}
		if content, err = io.ReadAll(part); err != nil {
			return
		}
	}
	_ = json.Unmarshal(content, into) // what cannot be read stays empty
}

// answerRecorder keeps what an answer says about a refusal.
type answerRecorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answerRecorder) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answerRecorder) Write(content []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.status >= http.StatusMultipleChoices && a.body.Len() < maxContent {
		a.body.Write(content)
	}
	return a.ResponseWriter.Write(content)
}

// Unwrap is for http.ResponseController, with which the front flushes.
func (a *answerRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// cause of a refusal: SmContextCreateError and SmContextUpdateError hold the problem details, others are them.
func (a *answerRecorder) cause() string {
	var refusal struct {
		Cause string `json:"cause"`
		Error struct {
			Cause string `json:"cause"`
		} `json:"error"`
	}
	understand(a.Header(), a.body.Bytes(), &refusal)
	switch {
	case refusal.Error.Cause != "":
		return strings.ToLower(refusal.Error.Cause)
	case refusal.Cause != "":
		return strings.ToLower(refusal.Cause)
	}
	return "http_" + strconv.Itoa(a.status)
}
