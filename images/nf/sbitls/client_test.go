package sbitls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestInsistentDialsAnewAfterATimeout(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	tests := []struct {
		name  string
		lost  int
		then  error
		dials int
	}{
		{name: "at once", dials: 1},
		{name: "a lost SYN", lost: 1, dials: 2},
		{name: "refused", then: syscall.ECONNREFUSED, dials: 1},
		{name: "nobody", lost: 1000, dials: int(dialLimit / dialAttempt)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dials := 0
			conn, err := insistent(func(ctx context.Context, _, _ string) (net.Conn, error) {
				dials++
				if dials <= tt.lost {
					<-ctx.Done()
					return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
				}
				if tt.then != nil {
					return nil, &net.OpError{Op: "dial", Err: tt.then}
				}
				return near, nil
			})(t.Context(), "tcp", "192.0.2.1:8000")
			if (err == nil) != (conn != nil) || (err == nil) != (tt.then == nil && tt.lost < 1000) {
				t.Errorf("connection %v, error %v", conn, err)
			}
			if dials != tt.dials {
				t.Errorf("dialled %d times, want %d", dials, tt.dials)
			}
		})
	}
}

func TestUnprotectedSpeaksHTTP2InClear(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	transport := Unprotected()
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "HTTP/2.0" {
		t.Errorf("got %q, %v", body, err)
	}
}

// Where many requests begin at once, the first connections serve all of them.
func TestManyRequestsShareConnections(t *testing.T) {
	const requests = 300
	all := make(chan struct{})
	var here, connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if here.Add(1) == requests {
			close(all)
		}
		<-all
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: requests}
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	transport := Unprotected()
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			response, err := (&http.Client{Transport: transport}).Get(server.URL)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
		})
	}
	wg.Wait()
	// A connection takes 100 requests until its server has said how many it may have.
	const want = mostDials * (1 + requests/100)
	if n := connections.Load(); n > want {
		t.Errorf("%d requests made %d connections, want %d at most", requests, n, want)
	}
}

// counted counts the writes to a connection.
type counted struct {
	net.Conn
	writes *atomic.Int32
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// ofSMF is the identity of an SMF, which calls itself.
func ofSMF(t *testing.T) *Identity {
	t.Helper()
	directory := t.TempDir()
	a := makeAuthority(t)
	a.issue(t, directory, []authority{a}, year, "core5g-smf", "core5g-smf.core5g.svc")
	return open(t, directory, false)
}

// Headers and content of a request leave in one system call, as a rule.
func TestRequestsLeaveTogether(t *testing.T) {
	i := ofSMF(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })}
	go func() { _ = server.Serve(Listen(l, i)) }()
	defer func() { _ = server.Close() }()
	var writes atomic.Int32
	client := transport(i.Client(), func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		return counted{c, &writes}, err
	})
	client.Protocols.SetHTTP2(true)
	client.TLSClientConfig.ServerName = "core5g-smf"
	defer client.CloseIdleConnections()
	const exchanges = 300
	for range exchanges {
		response, err := (&http.Client{Transport: client}).Post("https://"+l.Addr().String(), "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); err != nil || string(body) != "{}" || response.ProtoMajor != 2 {
			t.Fatalf("%q by %s, %v", body, response.Proto, err)
		}
		_ = response.Body.Close()
	}
	if n := writes.Load(); n > exchanges*3/2 {
		t.Errorf("%d writes for %d requests", n, exchanges)
	}
}

// What was written before a connection is closed arrives, and TLS's word that this is the end.
func TestAllIsThereAtTheEnd(t *testing.T) {
	i := ofSMF(t)
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(raw, i)
	defer func() { _ = l.Close() }()
	octets := make([]byte, 20_000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(octets)
			_ = c.Close()
		}
	}()
	config := i.Client()
	config.ServerName = "core5g-smf"
	for range 100 {
		c, err := tls.Dial("tcp", raw.Addr().String(), config)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); err != nil || len(got) != len(octets) {
			t.Fatalf("%d octets of %d, %v", len(got), len(octets), err)
		}
		_ = c.Close()
	}
}

// A peer that has taken connections and died before TLS was agreed on holds nobody up for long: the one in its place is called, by who called before, too.
func TestAHandshakeThatNobodyAnswers(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.Listener = &mute{Listener: server.Listener, left: mostDials}
	server.StartTLS()
	defer server.Close()
	transport := Unprotected()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: handshakeLimit + 10*time.Second}
	var wg sync.WaitGroup
	for range mostDials + 1 { // the first end with their connections, or by another's
		wg.Go(func() {
			if response, err := client.Get(server.URL); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	wg.Wait()
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// mute is a listener of which the first connections are never served.
type mute struct {
	net.Listener
	left int
	held []net.Conn
}

func (m *mute) Accept() (net.Conn, error) {
	for m.left > 0 {
		conn, err := m.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m.left, m.held = m.left-1, append(m.held, conn)
	}
	return m.Listener.Accept()
}

func TestIsBeside(t *testing.T) {
	with := func(names ...string) *tls.ConnectionState {
		return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: names}}}
	}
	for sentence, x := range map[string]struct {
		identity *Identity
		shows    *tls.ConnectionState
		want     bool
	}{
		"a pod of the Service":                 {&Identity{}, with("core5g-amf", "core5g-amf.core5g.svc"), true},
		"another function":                     {&Identity{}, with("core5g-udm", "core5g-udm.core5g.svc"), false},
		"nobody, where that is optional":       {&Identity{}, &tls.ConnectionState{}, false},
		"a caller in clear in a core with TLS": {&Identity{}, nil, false},
		"any in a core without TLS":            {nil, nil, true},
	} {
		if got := IsBeside(x.identity, "core5g-amf")(&http.Request{TLS: x.shows}); got != x.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}
