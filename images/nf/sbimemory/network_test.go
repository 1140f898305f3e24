package sbimemory

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
)

const limit = time.Minute

// at is a Finder of one place.
type at string

func (a at) Find(context.Context, sbi.Service) ([]sbi.Endpoint, error) {
	return []sbi.Endpoint{{Root: string(a)}}, nil
}
func (at) Failed(sbi.Service, sbi.Endpoint) {}

// place is where a handler is served, and how it is called.
type place struct {
	root      string
	transport http.RoundTripper
	stop      func()
}

// memory serves the handler in a network of its own.
func memory(t *testing.T, h http.Handler) place {
	t.Helper()
	n := New(slog.New(slog.DiscardHandler))
	const root = "http://udm.test:8000"
	door, err := n.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, root, n.Transport(nil), func(ctx context.Context) error { return door.Serve(ctx, h) }, func() bool { return door.enterAndLeave() })
}

// enterAndLeave says whether it is served.
func (d *Door) enterAndLeave() bool {
	if d.enter() == nil {
		return false
	}
	d.leave()
	return true
}

// socket serves it as a pod of its own does.
func socket(t *testing.T, h http.Handler) place {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := sbitls.Unprotected()
	transport.HTTP2 = nil // no pings: a peer that a busy machine holds up has not gone
	p := serving(t, "http://"+l.Addr().String(), transport, func(ctx context.Context) error { return sbi.Serve(ctx, l, h) }, func() bool { return true })
	t.Cleanup(transport.CloseIdleConnections) // which its end would wait for
	return p
}

func serving(t *testing.T, root string, transport http.RoundTripper, serve func(context.Context) error, up func() bool) place {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	for end := time.Now().Add(limit); !up(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("nobody serves")
		}
	}
	return place{root, transport, stop}
}

var places = map[string]func(*testing.T, http.Handler) place{"memory": memory, "a socket": socket}

func (p place) client() *sbi.Client {
	return sbi.NewClient(p.transport, at(p.root), prometheus.NewRegistry())
}

var hello = sbi.Call{Operation: "Hello", Method: http.MethodPost, Service: sbi.Service{Type: "UDM", Name: "nudm-sdm"}, Path: "/nudm-sdm/v2/a%2Fb?x=1", JSON: map[string]int{"a": 1}}

// seen is what a call comes to, at the end that calls and at the one that is called.
type seen struct {
	Method, Path, Query, Content, Type string
	Length                             int64
	Status                             int
	Header                             map[string]string
	Answer, Location                   string
	Refused, NotSent, Unknown          bool
	Cause                              string
}

// look makes a call, and says what is seen of it.
func look(t *testing.T, p place, call sbi.Call) (out seen) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	reply, err := p.client().Do(ctx, call)
	var refused *sbi.Refused
	var notSent *sbi.NotSent
	var unknown *sbi.Unknown
	out.Refused, out.NotSent, out.Unknown = errors.As(err, &refused), errors.As(err, &notSent), errors.As(err, &unknown)
	if refused != nil {
		out.Status, out.Cause = refused.Status, refused.Cause
	}
	if err == nil {
		out.Status, out.Answer = reply.Status, string(reply.Message.JSON)
		out.Location = strings.Replace(reply.Location(), p.root, "http://here", 1)
		out.Header = map[string]string{}
		for name := range reply.Header {
			if name != "Date" && name != "Content-Length" { // which are the protocol's
				out.Header[name] = strings.Replace(reply.Header.Get(name), p.root, "http://here", 1)
			}
		}
	}
	return out
}

// What a call comes to in memory is what it comes to by a socket.
func TestMemoryIsAsASocket(t *testing.T) {
	router := func() http.Handler {
		r := sbi.NewRouter(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		r.Handle("nudm-sdm", "made", "POST /nudm-sdm/v2/made", func(r *http.Request) (sbi.Answer, error) {
			return sbi.Answer{Status: 201, Location: sbi.BaseURI(r) + "/nudm-sdm/v2/made/1", Header: http.Header{"3gpp-sbi-binding": {"bl=nf-set"}}, Body: map[string]int{"b": 2}}, nil
		})
		r.Handle("nudm-sdm", "refused", "POST /nudm-sdm/v2/refused", func(*http.Request) (sbi.Answer, error) {
			return sbi.Answer{}, sbi.NewProblem(http.StatusForbidden, "NO", "not you")
		})
		r.Handle("nudm-sdm", "panics", "POST /nudm-sdm/v2/panics", func(*http.Request) (sbi.Answer, error) { panic("a bug") })
		r.Handle("nudm-sdm", "nothing", "DELETE /nudm-sdm/v2/nothing", func(*http.Request) (sbi.Answer, error) { return sbi.Answer{Status: http.StatusNoContent}, nil })
		return r
	}
	with := func(change func(*sbi.Call)) sbi.Call {
		c := hello
		change(&c)
		return c
	}
	at := func(path string) sbi.Call {
		return with(func(c *sbi.Call) { c.Path = path })
	}
	for name, x := range map[string]struct {
		handler func(*seen) http.Handler
		call    sbi.Call
	}{
		"what the called one has": {func(s *seen) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				s.Method, s.Path, s.Query, s.Content, s.Length, s.Type = r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(b), r.ContentLength, r.Header.Get("Content-Type")
				if r.URL.Host != "" || r.Host == "" || r.ProtoMajor != 2 || r.RequestURI != r.URL.RequestURI() || r.Header.Get("3gpp-Sbi-Max-Rsp-Time") == "" {
					t.Errorf("a server has %+v", r)
				}
			})
		}, hello},
		"no content": {func(s *seen) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				s.Content, s.Length = string(b), r.ContentLength
			})
		}, with(func(c *sbi.Call) { c.Method, c.JSON = http.MethodGet, nil })},
		"a resource that is made":      {func(*seen) http.Handler { return router() }, at("/nudm-sdm/v2/made")},
		"a refusal":                    {func(*seen) http.Handler { return router() }, at("/nudm-sdm/v2/refused")},
		"a path that there is not":     {func(*seen) http.Handler { return router() }, at("/nudm-sdm/v2/none")},
		"an operation that panics":     {func(*seen) http.Handler { return router() }, at("/nudm-sdm/v2/panics")},
		"an answer without content":    {func(*seen) http.Handler { return router() }, with(func(c *sbi.Call) { c.Method, c.Path, c.JSON = http.MethodDelete, "/nudm-sdm/v2/nothing", nil })},
		"more than is taken":           {func(*seen) http.Handler { return router() }, with(func(c *sbi.Call) { c.Path, c.JSON = "/nudm-sdm/v2/made", strings.Repeat("x", 300<<10) })},
		"headers behind the status":    {func(*seen) http.Handler { return late() }, hello},
		"a redirection":                {func(*seen) http.Handler { return redirecting() }, hello},
		"a handler that breaks off":    {func(*seen) http.Handler { return breaking() }, hello},
		"an answer that is no JSON":    {func(*seen) http.Handler { return saying("application/json", "{") }, hello},
		"an answer that is too large":  {func(*seen) http.Handler { return saying("application/json", `"`+strings.Repeat("x", 2<<20)+`"`) }, hello},
		"an answer of no type":         {func(*seen) http.Handler { return saying("", `{"b":2}`) }, hello},
		"what is no http or https URI": {func(*seen) http.Handler { return router() }, with(func(c *sbi.Call) { c.URI = "ftp://x/y" })},
	} {
		t.Run(name, func(t *testing.T) {
			var got [2]seen
			for n, where := range []string{"a socket", "memory"} {
				var called seen
				s := look(t, places[where](t, x.handler(&called)), x.call)
				s.Method, s.Path, s.Query, s.Content, s.Length, s.Type = called.Method, called.Path, called.Query, called.Content, called.Length, called.Type
				got[n] = s
			}
			if diff := cmp.Diff(got[0], got[1]); diff != "" {
				t.Errorf("(-by a socket +by memory):\n%s", diff)
			}
		})
	}
}

func saying(kind, content string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		_, _ = io.WriteString(w, content)
	})
}

func late() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.Header().Set("Too", "late")
		w.WriteHeader(http.StatusTeapot)
	})
}

func redirecting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/there/nudm-sdm/v2/x" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Location", "/there/nudm-sdm/v2/x")
		w.WriteHeader(http.StatusPermanentRedirect)
	})
}

func breaking() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
}

// Whoever gives a call up is told so at once, as of one that nobody knows the end of; its handler is told, too.
func TestACallThatIsGivenUp(t *testing.T) {
	for name, open := range places {
		t.Run(name, func(t *testing.T) {
			began, told := make(chan struct{}), make(chan error, 1)
			p := open(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(began)
				select {
				case <-r.Context().Done():
					told <- r.Context().Err()
				case <-time.After(limit):
					told <- nil
				}
			}))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-began
				cancel()
			}()
			_, err := p.client().Do(ctx, hello)
			var unknown *sbi.Unknown
			if !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
				t.Errorf("the caller hears %v", err)
			}
			if err := <-told; !errors.Is(err, context.Canceled) {
				t.Errorf("the handler hears %v", err)
			}
		})
	}
}

// What did not reach anybody is told so, as by a socket where nobody listens.
func TestWhoDoesNotServeIsNotReached(t *testing.T) {
	n := New(slog.New(slog.DiscardHandler))
	door, err := n.Open("http://UDM.test:8000")
	if err != nil {
		t.Fatal(err)
	}
	outside := httptest.NewServer(saying("application/json", `{"who":"outside"}`))
	defer outside.Close()
	all := n.Transport(http.DefaultTransport)
	for name, x := range map[string]struct {
		root      string
		transport http.RoundTripper
		want      string // of the error; "": it is reached
	}{
		"one that does not serve yet": {"http://udm.test:8000", all, "does not serve"},
		"by https":                    {"https://udm.test:8000", all, "does not serve"},
		"one that there is not":       {"http://udm.test:8001", n.Transport(nil), "no function of this program"},
		"one of another program":      {outside.URL, all, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := place{root: x.root, transport: x.transport}.client().Do(t.Context(), hello)
			var notSent *sbi.NotSent
			if x.want == "" && err != nil || x.want != "" && (!errors.As(err, &notSent) || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("%v, want a call that was not sent, with %q", err, x.want)
			}
		})
	}
	if _, err := n.Open("http://udm.test:8000"); err == nil || !strings.Contains(err.Error(), "served already") {
		t.Errorf("a second one there: %v", err)
	}
	if _, err := n.Open("udm.test:8000"); err == nil || !strings.Contains(err.Error(), "write http://host:port") {
		t.Errorf("no API root: %v", err)
	}
	door.Close()
	if _, err := n.Open("http://udm.test:8000"); err != nil {
		t.Errorf("one behind another: %v", err)
	}
}

// A function that ends answers what it has begun, and nothing else.
func TestAFunctionThatEnds(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	p := memory(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
		w.WriteHeader(http.StatusAccepted)
	}))
	answered := make(chan int, 1)
	go func() {
		reply, err := p.client().Do(t.Context(), hello)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		answered <- reply.Status
	}()
	<-began
	stopped := make(chan struct{})
	go func() { p.stop(); close(stopped) }()
	refused := func() bool {
		var notSent *sbi.NotSent
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := place{root: p.root, transport: p.transport}.client().Do(ctx, hello)
		return errors.As(err, &notSent)
	}
	for !p.transport.(*transport).network.closing(p.root) {
		runtime.Gosched()
	}
	if !refused() {
		t.Error("it takes another request")
	}
	select {
	case <-stopped:
		t.Error("it ends before it has answered")
	default:
	}
	close(goOn)
	if status := <-answered; status != http.StatusAccepted {
		t.Errorf("status %d", status)
	}
	<-stopped
	if !refused() {
		t.Error("it takes another request after its end")
	}
}

// closing says whether the door of a root takes nothing more.
func (n *Network) closing(string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.doors {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.handler == nil
	}
	return true
}

// What a handler calls itself is not its caller's: a connection that it waits for is not one that the caller waits for.
func TestAHandlersCallsAreItsOwn(t *testing.T) {
	n := New(slog.New(slog.DiscardHandler))
	door, err := n.Open("http://a.test:80")
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	p := serving(t, "http://a.test", n.Transport(nil), func(ctx context.Context) error {
		return door.Serve(ctx, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if httptrace.ContextClientTrace(r.Context()) != nil || r.Context().Value(key{}) != nil {
				t.Error("the handler has what is in its caller's context")
			}
		}))
	}, func() bool { return door.enterAndLeave() })
	if _, err := p.client().Do(context.WithValue(t.Context(), key{}, 1), hello); err != nil {
		t.Error(err)
	}
}

// Nothing stays behind of a call.
func TestNothingStaysOfACall(t *testing.T) {
	release := make(chan struct{})
	p := memory(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	client, before := p.client(), runtime.NumGoroutine()
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		_, _ = client.Do(ctx, hello)
		cancel()
	}
	close(release)
	for range 100 {
		if _, err := client.Do(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(limit); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	n := New(slog.New(slog.DiscardHandler))
	door, err := n.Open("http://a.test:80")
	if err != nil {
		b.Fatal(err)
	}
	door.handler = saying("application/json", `{"b":2}`)
	client := place{root: "http://a.test", transport: n.Transport(nil)}.client()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Do(b.Context(), hello); err != nil {
			b.Fatal(err)
		}
	}
}
