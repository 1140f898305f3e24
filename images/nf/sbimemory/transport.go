package sbimemory

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime/debug"

	"core5g.dev/core5g/images/nf/stack"
)

// ErrNotServed: the function is of this program, and does not serve now. Nothing was sent.
var ErrNotServed = errors.New("the function does not serve")

// ErrBroken: the handler ended without an answer, so that nobody knows what it has done.
var ErrBroken = errors.New("the function ended the request without an answer")

// Transport calls the functions of the network, and others by way of outside; nil: there are none.
func (n *Network) Transport(outside http.RoundTripper) http.RoundTripper {
	return &transport{n, outside}
}

type transport struct {
	network *Network
	outside http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The content of the request is handed over as it is; that of the answer is there whole.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	door := t.network.door(r.URL)
	if door == nil && t.outside != nil {
		return t.outside.RoundTrip(r)
	}
	// A client tells by these what was not sent from what nobody knows.
	trace := httptrace.ContextClientTrace(r.Context())
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	if err := context.Cause(r.Context()); err != nil {
		closeBody(r)
		return nil, err
	}
	if door == nil {
		closeBody(r)
		return nil, fmt.Errorf("%s: no function of this program, and there is no way to others", r.URL.Host)
	}
	handler := door.enter()
	if handler == nil {
		closeBody(r)
		return nil, fmt.Errorf("%s: %w", r.URL.Host, ErrNotServed)
	}
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Reused: true})
	}
	ended := make(chan *answer, 1)
	go t.network.handle(door, handler, r, ended)
	select {
	case a := <-ended:
		if a == nil {
			return nil, fmt.Errorf("%s: %w", r.URL.Host, ErrBroken)
		}
		return a.response(r), nil
	case <-r.Context().Done(): // the handler is told, and ends by itself
		return nil, context.Cause(r.Context())
	}
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// handle a request. The answer is nil where the handler panics, as the end of a connection would be.
func (n *Network) handle(door *Door, handler http.Handler, r *http.Request, ended chan<- *answer) {
	stack.Grow()
	// Not the caller's context: what is in it, such as its trace, is not the handler's. Its end is.
	ctx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(r.Context(), cancel)
	var out *answer
	defer func() {
		if v := recover(); v != nil {
			if err, is := v.(error); !is || !errors.Is(err, http.ErrAbortHandler) {
				n.log.Error("a handler panicked", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
			}
			out = nil
		}
		stop()
		cancel()
		closeBody(r)
		door.leave()
		ended <- out
	}()
	a := &answer{header: http.Header{}}
	handler.ServeHTTP(a, received(ctx, r))
	out = a
}

// received is the request as a server has it.
func received(ctx context.Context, r *http.Request) *http.Request {
	in := (&http.Request{
		Method: r.Method, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery},
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: r.Header.Clone(), Body: r.Body, ContentLength: r.ContentLength, Host: r.Host,
		RequestURI: r.URL.RequestURI(), RemoteAddr: "memory",
	}).WithContext(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if in.Header == nil {
		in.Header = http.Header{}
	}
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if r.URL.Scheme == "https" { // so that URIs of what the handler makes are https, too
		in.TLS = &tls.ConnectionState{HandshakeComplete: true, ServerName: r.URL.Hostname()}
	}
	return in
}
