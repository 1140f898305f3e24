// Package sbitest has what tests of service based interfaces need at both ends.
package sbitest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/discovery"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbitls"
)

// Serve a handler as Server does. It gives the API root.
func Serve(t testing.TB, h http.Handler) (root string) {
	t.Helper()
	return Server(t, h).URL
}

// Server of HTTP/2 without TLS, as in a core without it, until the test ends.
func Server(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// Transport is that of a core without TLS. Its connections end with the test, before those servers do that were there before.
func Transport(t testing.TB) *http.Transport {
	t.Helper()
	transport := sbitls.Unprotected()
	transport.DialContext, transport.HTTP2 = nil, nil // no limits and no pings: a peer that a busy machine holds up has not gone
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// Client finds network functions of one type, such as "UDM", at an API root, and no others.
func Client(t testing.TB, function, root string) *sbi.Client {
	t.Helper()
	finder := discovery.New(discovery.Options{
		Fixed: map[string]string{function: root}, Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	return sbi.NewClient(Transport(t), finder, prometheus.NewRegistry())
}
