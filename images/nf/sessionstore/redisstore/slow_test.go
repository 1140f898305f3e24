package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// slowlyEncrypted is a server's address where each connection is encrypted only after a delay.
func slowlyEncrypted(t *testing.T, to string, delay time.Duration) (address string, config func() *tls.Config) {
	t.Helper()
	identity := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(identity.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(identity.Certificate())
	server := &tls.Config{Certificates: identity.TLS.Certificates}
	clear := newRelay(t, to)
	l := serveEach(t, func(c net.Conn) {
		time.Sleep(delay) // it is what is slow, and nothing waits for it
		clear.pass(tls.Server(c, server))
	})
	return l.Addr().String(), func() *tls.Config { return &tls.Config{RootCAs: trusted, ServerName: "example.com"} }
}

// Whoever asks while connections take longer than they may wait is answered in time, and finds the store well afterwards: a pool of connections that
// miscounts those who have stopped waiting lets nobody in again.
func TestConnectionsThatComeTooLate(t *testing.T) {
	redisServer(t)
	srv := start(t)
	const connections, askers, asked, patience = 4, 32, 40, 40 * time.Millisecond
	address, config := slowlyEncrypted(t, srv.address(), patience/2)
	s := open(t, Options{Addresses: []string{address}, TLS: config, Connections: connections})
	var all sync.WaitGroup
	for n := range askers {
		all.Go(func() {
			for i := range asked {
				ctx, cancel := context.WithTimeout(context.Background(), patience*time.Duration(1+(n+i)%8)/4)
				_, _, _ = s.Holder(ctx, "0") // in time or not
				cancel()
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("some that asked were never answered, though none wanted to wait as long")
	}
	await(t, "the store answers", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _, err := s.Holder(ctx, "0")
		return err
	})
}
