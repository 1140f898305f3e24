package sbi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"core5g.dev/core5g/images/nf/loopback"
	"core5g.dev/core5g/images/nf/sbitls"
)

// places is a Finder that knows them beforehand.
type places struct {
	mu     sync.Mutex
	list   []Endpoint
	err    error
	asked  []Service
	failed []string
}

func (p *places) Find(_ context.Context, s Service) ([]Endpoint, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, s)
	return p.list, p.err
}

func (p *places) Failed(_ Service, e Endpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, e.Root)
}

// cleartext is a server of HTTP/2 without TLS.
func cleartext(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// protected is a server with TLS.
func protected(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// nowhere is an address where nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("http://127.0.0.1:%d", loopback.Port(t))
}

func client(t *testing.T, roots ...string) (*Client, *places, *prometheus.Registry) {
	t.Helper()
	p := &places{}
	for _, r := range roots {
		p.list = append(p.list, Endpoint{Root: r, Instance: "instance of " + r})
	}
	transport := sbitls.Unprotected()
	transport.HTTP2 = nil // no pings: a peer that a busy machine holds up has not gone
	t.Cleanup(transport.CloseIdleConnections)
	registry := prometheus.NewRegistry()
	return NewClient(transport, p, registry), p, registry
}

var (
	amf   = Service{Type: "AMF", Name: "namf-comm"}
	hello = Call{Operation: "Hello", Method: http.MethodPost, Service: amf, Path: "/namf-comm/v1/hello", JSON: map[string]int{"a": 1}}
)

func answer(status int, header map[string]string, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, content)
	}
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

var asJSON = map[string]string{"Content-Type": "application/json"}

// breaking answers nothing, and ends the connection.
func breaking(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }

func TestCallsOverHTTP2(t *testing.T) {
	for name, serve := range map[string]func(*testing.T, http.HandlerFunc) string{"in clear": cleartext, "with TLS": protected} {
		t.Run(name, func(t *testing.T) {
			var seen *http.Request
			var content []byte
			root := serve(t, func(w http.ResponseWriter, r *http.Request) {
				seen = r
				content, _ = io.ReadAll(r.Body)
				w.Header().Set("Location", "/namf-comm/v1/hello/1")
				answer(201, asJSON, `{"b":2}`)(w, r)
			})
			c, _, registry := client(t, root+"/prefix")
			call := hello
			call.Parts = []Part{{"n1", NAS, []byte{1}}}
			reply, err := c.Do(t.Context(), call)
			if err != nil {
				t.Fatal(err)
			}
			var body struct{ B int }
			if err := reply.Into(&body); err != nil || body.B != 2 || reply.Status != 201 || reply.Location() != root+"/namf-comm/v1/hello/1" ||
				reply.Endpoint.Root != root+"/prefix" {
				t.Errorf("%+v, %v", reply, err)
			}
			message, err := Decode(seen.Header.Get("Content-Type"), content)
			if err != nil || string(message.JSON) != `{"a":1}` || string(message.Binary("n1")) != "\x01" {
				t.Errorf("%q, %v", content, err)
			}
			if seen.ProtoMajor != 2 || seen.URL.Path != "/prefix/namf-comm/v1/hello" || seen.Header.Get("3gpp-Sbi-Max-Rsp-Time") == "" {
				t.Errorf("HTTP/%d %s %v", seen.ProtoMajor, seen.URL, seen.Header)
			}
			if n := counted(t, c.calls.WithLabelValues("namf-comm", "Hello", "201", "")); n != 1 {
				t.Errorf("%v calls counted", n)
			}
			if families, err := registry.Gather(); err != nil || len(families) != 2 {
				t.Errorf("%d metrics, %v", len(families), err)
			}
		})
	}
}

// expiring is a context whose time is over when the function is called, not before a request has arrived.
type expiring struct {
	context.Context
	over   context.Context
	expire func()
}

func newExpiring(ctx context.Context) *expiring {
	over, expire := context.WithCancel(context.Background())
	return &expiring{Context: ctx, over: over, expire: expire}
}

func (e *expiring) Deadline() (time.Time, bool) { return time.Now().Add(time.Minute), true }
func (e *expiring) Done() <-chan struct{}       { return e.over.Done() }
func (e *expiring) Err() error {
	if e.over.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func TestHowCallsFail(t *testing.T) {
	late := newExpiring(t.Context())
	defer late.expire()
	problem := `{"status":409,"cause":"TEMPORARY_REJECT_HANDOVER_ONGOING","detail":"wait"}`
	for sentence, c := range map[string]struct {
		handler http.HandlerFunc // nil: nobody listens
		ctx     context.Context
		want    error
		result  string
	}{
		"refused": {
			handler: answer(409, map[string]string{"Content-Type": "application/problem+json", "Retry-After": "3"}, problem), result: "409",
			want: &Refused{"Hello", 409, "TEMPORARY_REJECT_HANDOVER_ONGOING", "wait", 3 * time.Second, Message{JSON: []byte(problem)}},
		},
		"refused with more than problem details": {
			handler: answer(403, asJSON, `{"error":{"cause":"X"}}`), result: "403",
			want: &Refused{Operation: "Hello", Status: 403, Cause: "X", Message: Message{JSON: []byte(`{"error":{"cause":"X"}}`)}},
		},
		"refused without a word": {handler: answer(500, nil, ""), want: &Refused{Operation: "Hello", Status: 500}, result: "500"},
		"refused in a text":      {handler: answer(404, map[string]string{"Content-Type": "text/plain"}, "no"), want: &Refused{Operation: "Hello", Status: 404}, result: "404"},
		"nobody listens":         {want: &NotSent{}, result: "not_sent"},
		"no answer":              {handler: breaking, want: &Unknown{}, result: "unknown"},
		"no answer in time": {
			handler: func(_ http.ResponseWriter, r *http.Request) { late.expire(); <-r.Context().Done() }, ctx: late, want: &Unknown{}, result: "unknown",
		},
		"an answer that is cut": {
			handler: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "{")
				panic(http.ErrAbortHandler)
			}, want: &Unknown{}, result: "unknown",
		},
		"an answer in a text": {handler: answer(200, map[string]string{"Content-Type": "text/plain"}, "yes"), want: &Unknown{}, result: "unknown"},
		"an answer that is too large": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(make([]byte, maxReply+2))
			}, want: &Unknown{}, result: "unknown",
		},
		"redirected for ever": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/namf-comm/v1/hello", http.StatusTemporaryRedirect)
			},
			want: &Refused{Operation: "Hello", Status: 307, Detail: "redirected too often"}, result: "307",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			root := ""
			if c.handler == nil {
				root = nowhere(t)
			} else {
				root = cleartext(t, c.handler)
			}
			cl, found, _ := client(t, root)
			ctx := t.Context()
			if c.ctx != nil {
				ctx = c.ctx
			}
			_, err := cl.Do(ctx, hello)
			switch want := c.want.(type) {
			case *Refused:
				if diff := cmp.Diff(want, err); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(found.failed) != 0 {
					t.Error("the instance counts as failed")
				}
			case *NotSent:
				var notSent *NotSent
				if !errors.As(err, &notSent) || len(found.failed) != 1 {
					t.Errorf("%v, failed %v", err, found.failed)
				}
			case *Unknown:
				var unknown *Unknown
				if !errors.As(err, &unknown) || len(found.failed) != 1 {
					t.Errorf("%v, failed %v", err, found.failed)
				}
			}
			cause := ""
			var refused *Refused
			if errors.As(err, &refused) {
				cause = refused.Cause
			}
			if n := counted(t, cl.calls.WithLabelValues("namf-comm", "Hello", c.result, cause)); n != 1 {
				t.Errorf("%v calls counted as %s", n, c.result)
			}
		})
	}
	cl, _, _ := client(t)
	var notSent *NotSent
	if _, err := cl.Do(t.Context(), hello); !errors.As(err, &notSent) {
		t.Errorf("nobody serves it: %v", err)
	}
	if _, err := cl.Do(t.Context(), Call{Operation: "x", Method: http.MethodPost, URI: "core5g-amf"}); !errors.As(err, &notSent) {
		t.Errorf("a URI of no host: %v", err)
	}
}

func TestAnotherInstanceIsAsked(t *testing.T) {
	well := answer(200, asJSON, `{}`)
	for sentence, c := range map[string]struct {
		first      http.HandlerFunc // nil: nobody listens
		repeatable bool
		wantError  bool
		wantFailed int

		takesLonger bool
	}{
		"where the first is gone":                                  {nil, false, false, 1, false},
		"where the first has too much to do":                       {answer(503, nil, ""), false, false, 0, false},
		"not where the first says no":                              {answer(403, nil, ""), false, true, 0, false},
		"not where nobody knows":                                   {breaking, false, true, 1, false},
		"where nobody knows, and twice is as good as once":         {breaking, true, false, 1, false},
		"not where the first takes longer than the context allows": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, true, 1, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			first := ""
			if c.first == nil {
				first = nowhere(t)
			} else {
				first = cleartext(t, c.first)
			}
			second := cleartext(t, well)
			cl, found, _ := client(t, first, second)
			call := hello
			call.Repeatable = c.repeatable
			ctx := t.Context()
			if c.takesLonger {
				limited, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = limited
			}
			reply, err := cl.Do(ctx, call)
			if (err != nil) != c.wantError || len(found.failed) != c.wantFailed {
				t.Fatalf("%v, failed %v", err, found.failed)
			}
			if err == nil && reply.Endpoint.Instance != "instance of "+second {
				t.Errorf("answered by %+v", reply.Endpoint)
			}
		})
	}
}

// An address that nobody answers at, as that of a pod that is gone, holds nobody up who has another.
func TestAConnectionThatDoesNotComeAbout(t *testing.T) {
	second := cleartext(t, answer(200, asJSON, `{}`))
	cl, found, _ := client(t, "http://gone.invalid:1", second)
	transport := sbitls.Unprotected()
	t.Cleanup(transport.CloseIdleConnections)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "gone.") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	}
	cl.transport = transport
	ctx, cancel := context.WithTimeout(t.Context(), 60*connectLimit)
	defer cancel()
	reply, err := cl.Do(ctx, hello)
	if err != nil || reply.Endpoint.Root != second || len(found.failed) != 1 {
		t.Errorf("%v, failed %v", err, found.failed)
	}
}

func TestResourceOfADeadInstanceIsAskedForAtItsSet(t *testing.T) {
	var path string
	second := cleartext(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		answer(200, asJSON, `{}`)(w, r)
	})
	cl, found, _ := client(t, second+"/prefix")
	call := hello
	call.URI = nowhere(t) + "/old/namf-comm/v1/things/7"
	if _, err := cl.Do(t.Context(), call); err == nil || len(found.asked) != 0 {
		t.Errorf("without a set: %v, asked for %v", err, found.asked)
	}
	call.Service.Set = "set1"
	reply, err := cl.Do(t.Context(), call)
	if err != nil || path != "/prefix/namf-comm/v1/things/7" || reply.Endpoint.Root != second+"/prefix" {
		t.Errorf("%v, path %s", err, path)
	}
}

func TestRedirectionIsFollowed(t *testing.T) {
	second := cleartext(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		answer(200, asJSON, string(content))(w, r)
	})
	first := cleartext(t, answer(308, map[string]string{"Location": second + "/x/namf-comm/v1/hello"}, ""))
	cl, _, _ := client(t, first)
	reply, err := cl.Do(t.Context(), hello)
	if err != nil || string(reply.Message.JSON) != `{"a":1}` || reply.Endpoint.Root != second+"/x" {
		t.Errorf("%v %+v", err, reply)
	}
}

// A transport without a network may have delivered what it reports an error of.
func TestMemoryIsNotTakenForANetworkThatNeverSent(t *testing.T) {
	cl := NewClient(roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("gone") }), &places{list: []Endpoint{{Root: "http://smf"}}}, prometheus.NewRegistry())
	var unknown *Unknown
	if _, err := cl.Do(t.Context(), hello); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func TestCausesAreALabelOnlySoFar(t *testing.T) {
	cl, _, _ := client(t)
	for _, bad := range []string{"a b", "lower", string(make([]byte, 65))} {
		if got := cl.label(bad); got != "other" {
			t.Errorf("%q: %q", bad, got)
		}
	}
	for n := range 2 * maxCauses {
		cl.label("CAUSE_" + string(rune('A'+n%26)) + string(rune('A'+n/26)))
	}
	if len(cl.causes) != maxCauses || cl.label("CAUSE_AA") != "CAUSE_AA" {
		t.Errorf("%d causes", len(cl.causes))
	}
}

// A peer that takes connections and says nothing is found within a second, by the connection that others use as well.
func TestAWatchfulTransportFindsADeadPeer(t *testing.T) {
	silent := make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer(200, asJSON, `{}`), Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(&muting{Listener: listener, silent: silent}) }()
	t.Cleanup(func() { _ = server.Close() })
	transport := sbitls.Watchful(sbitls.Unprotected())
	t.Cleanup(transport.CloseIdleConnections)
	cl := NewClient(transport, &places{list: []Endpoint{{Root: "http://" + listener.Addr().String()}}}, prometheus.NewRegistry())
	if _, err := cl.Do(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	close(silent)
	start := time.Now()
	var unknown *Unknown
	if _, err := cl.Do(t.Context(), hello); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("found after %v", took)
	}
}

// muting takes connections that read nothing any more once silent is closed.
type muting struct {
	net.Listener
	silent chan struct{}
}

func (m *muting) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return &mutedConn{c, m.silent}, err
}

type mutedConn struct {
	net.Conn
	silent chan struct{}
}

func (c *mutedConn) Write(b []byte) (int, error) {
	select {
	case <-c.silent:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func TestRefusalBringsItsOwnAnswer(t *testing.T) {
	r := NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	r.Handle("s", "o", "POST /x", func(*http.Request) (Answer, error) { return Answer{}, errors.Join(errors.New("why"), teapot{}) })
	r.Handle("s", "o", "POST /y", func(*http.Request) (Answer, error) {
		return Answer{Status: 200, Header: http.Header{"3gpp-Sbi-Binding": {"bl=nf-set"}}, Body: Raw{"a/b", []byte("c")}}, nil
	})
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/x", nil))
	var body map[string]int
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 418 || body["cups"] != 2 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if n := counted(t, r.requests.WithLabelValues("s", "o", "418")); n != 1 {
		t.Errorf("%v counted", n)
	}
	w = httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/y", nil))
	if w.Code != 200 || w.Body.String() != "c" || w.Header().Get("Content-Type") != "a/b" || w.Header().Get("3gpp-Sbi-Binding") != "bl=nf-set" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

type teapot struct{}

func (teapot) Error() string { return "teapot" }

func (teapot) Answer() Answer {
	return Answer{Status: http.StatusTeapot, Header: http.Header{"Retry-After": {"1"}}, Body: map[string]int{"cups": 2}}
}
