package sbi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/stack"
)

// mostStreams are requests under way at a time on one connection. A pod whose UEs all come at once has more than the 250 of net/http, and would make
// another connection for them.
const mostStreams = 2000

// Serve answers HTTP/2 and HTTP/1.1 until ctx ends; then it lets open requests finish. Without TLS it takes
// HTTP/2 with prior knowledge; a listener of package tls brings TLS.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Handler:           grown(handler),
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       10 * time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// grown is a handler whose goroutines, one for each request, have the stack that JSON and what is behind it need (package stack).
func grown(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stack.Grow()
		handler.ServeHTTP(w, r)
	})
}

// ServeBeside opens an address for metrics or health, and has run do the serving until ctx ends. Without an address there is none.
func ServeBeside(ctx context.Context, run func(func() error), address string, handler http.Handler) error {
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	run(func() error { return Serve(ctx, listener, handler) })
	return nil
}
