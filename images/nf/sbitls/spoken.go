package sbitls

import (
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

// Spoken calls functions of the core by the scheme that they speak now: what one has written down of another (an SM context, where a subscription calls back)
// outlives a change of the core's TLS, which starts all of them anew. One that was not started anew yet is called as it is written.
type Spoken struct {
	// Scheme of the core, as its functions are started.
	Scheme string
	// By does what is to be done.
	By http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s Spoken) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == s.Scheme || !ours(r.URL) {
		return s.By.RoundTrip(r)
	}
	now, err := s.as(r)
	if err != nil || now == nil {
		return s.By.RoundTrip(r)
	}
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	response, err := s.By.RoundTrip(now.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil || connected.Load() || r.Context().Err() != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return response, err
	}
	return s.By.RoundTrip(r)
}

// as is the request by the core's scheme; nil: its content can be sent only once.
func (s Spoken) as(r *http.Request) (*http.Request, error) {
	now := r.Clone(r.Context())
	now.URL.Scheme = s.Scheme
	if r.Body == nil || r.Body == http.NoBody {
		return now, nil
	}
	if r.GetBody == nil {
		return nil, nil
	}
	var err error
	now.Body, err = r.GetBody()
	return now, err
}

// ours are Services of the core's namespace, which go by their names alone.
func ours(u *url.URL) bool {
	host := u.Hostname()
	return host != "" && host != "localhost" && !strings.ContainsAny(host, ".:")
}
