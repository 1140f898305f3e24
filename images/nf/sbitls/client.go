package sbitls

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/gather"
)

const (
	// pingAfter and pingTimeout find out that a peer has gone, as free5GC's own client does.
	pingAfter   = time.Second
	pingTimeout = time.Second
	// idleLimit is longer than the servers' own.
	idleLimit = 30 * time.Second
	callLimit = 5 * time.Second

	// mostDials are under way at a time to one peer. Requests that find no connection, or none with room, would each make one: hundreds of TLS handshakes
	// for one connection that all of them share in the end. It is more than one, since one may have come to where nobody is.
	mostDials = 2

	// handshakeLimit is for TLS: without one a peer that has died in the midst of it, and is still connected to, would keep all others from being dialled.
	handshakeLimit = 3 * time.Second

	// dialAttempt is long for a cluster's network, dialLimit shorter than the patience of free5GC's callers.
	dialAttempt = time.Second
	dialLimit   = 5 * time.Second
)

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// insistent begins a connection anew that does not come about. Where a Service's pod has just been replaced, the
// node may have sent the first SYN to where nobody is, and sends its repetitions there too: they are one connection
// to it. Another port is another connection.
func insistent(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialLimit)
		defer cancel()
		for {
			attempt, end := context.WithTimeout(ctx, dialAttempt)
			conn, err := dial(attempt, network, address)
			end()
			var netErr net.Error
			if err == nil || ctx.Err() != nil || !errors.As(err, &netErr) || !netErr.Timeout() {
				return conn, err
			}
		}
	}
}

// HTTP is a client for all of an identity's calls.
func (i *Identity) HTTP() *http.Client {
	i.once.Do(func() { i.client = &http.Client{Transport: i.Transport(), Timeout: callLimit} })
	return i.client
}

// Transport calls https URIs as the identity, over HTTP/2.
func (i *Identity) Transport() *http.Transport {
	t := transport(i.Client(), new(net.Dialer).DialContext)
	t.Protocols.SetHTTP2(true)
	return t
}

// TransportTo calls peers by their addresses, and expects the certificate of the Service of that name: the pods behind
// one Service call each other so.
func (i *Identity) TransportTo(service string) *http.Transport {
	t := i.Transport()
	t.TLSClientConfig.ServerName = service
	return t
}

// Unprotected is the transport of a core without TLS: HTTP/2 in clear with prior knowledge (TS 29.500 5.2.2). It
// verifies nothing of https URIs, as free5GC's own clients do not: the NRF of such a core may sign its certificates
// by itself.
func Unprotected() *http.Transport {
	t := transport(&tls.Config{InsecureSkipVerify: true}, new(net.Dialer).DialContext)
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

func transport(config *tls.Config, dial dialer) *http.Transport {
	return &http.Transport{
		DialContext: gather.Dialer(insistent(dial)),
		Protocols:   new(http.Protocols), TLSClientConfig: config, IdleConnTimeout: idleLimit, MaxConnsPerHost: mostDials, TLSHandshakeTimeout: handshakeLimit,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
}

const (
	// watchAfter and watchTimeout together are a second.
	watchAfter   = 400 * time.Millisecond
	watchTimeout = 600 * time.Millisecond
)

// Watchful has a transport find out within a second that a peer has gone, for callers whose own callers wait. On a
// machine where a program may not run for so long, it takes a slow peer for a dead one.
func Watchful(t *http.Transport) *http.Transport {
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: watchAfter, PingTimeout: watchTimeout}
	return t
}

// ByScheme calls https URIs with one transport and http URIs with the other. A core with TLS has http URIs too, of
// functions that have not restarted yet since it was switched on.
type ByScheme struct{ HTTPS, HTTP http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b ByScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return b.HTTPS.RoundTrip(r)
	}
	return b.HTTP.RoundTrip(r)
}

// Scheme of a function with the identity; nil: there is no TLS.
func Scheme(i *Identity) string {
	if i == nil {
		return "http"
	}
	return "https"
}

// Listen wraps a listener into TLS, where there is an identity. What is written to its connections is gathered.
func Listen(listener net.Listener, i *Identity) net.Listener {
	listener = gather.Listener(listener)
	if i == nil {
		return listener
	}
	return tls.NewListener(listener, i.Server())
}

// ListenBeside wraps a listener into TLS, where there is an identity, for those alone that come from a pod behind the Service of that name, by its
// certificate; "" for all of the namespace.
func ListenBeside(listener net.Listener, i *Identity, service string) net.Listener {
	if i == nil {
		return listener
	}
	config := i.Server()
	if service == "" {
		return tls.NewListener(listener, config)
	}
	verified := config.VerifyConnection
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if err := verified(s); err != nil {
			return err
		}
		if len(s.PeerCertificates) == 0 {
			return errors.New("the peer shows no certificate")
		}
		return s.PeerCertificates[0].VerifyHostname(service)
	}
	return tls.NewListener(listener, config)
}

// Outgoing is how other functions are called by one whose own callers wait; nil: there is no TLS.
func Outgoing(i *Identity) http.RoundTripper {
	cleartext := Watchful(Unprotected())
	if i == nil {
		return cleartext
	}
	return ByScheme{HTTPS: Watchful(i.Transport()), HTTP: cleartext}
}

// Beside is how pods behind one Service call each other by their addresses. All have one certificate, with the name of that Service.
func Beside(i *Identity, service string) http.RoundTripper {
	if i == nil {
		return Watchful(Unprotected())
	}
	return Watchful(i.TransportTo(service))
}

// IsBeside says of requests whether they come from a pod behind the Service of that name, by its certificate. In a core without TLS nobody shows any, and whoever
// reaches a pod is believed.
func IsBeside(i *Identity, service string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return i == nil || r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && r.TLS.PeerCertificates[0].VerifyHostname(service) == nil
	}
}
