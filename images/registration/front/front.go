// Package front stands before the SBI of one of free5GC's functions, in the same process, and repairs
// what passes. The function itself listens on the loopback interface; all that it tells others keeps the
// address and port of its configuration.
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"time"
)

const (
	// shutdownLimit is the time for requests under way when the function stops.
	shutdownLimit = 2 * time.Second
	// idleLimit is short, because peers would go on using a connection to a pod that is gone.
	idleLimit    = time.Second
	pollInterval = 50 * time.Millisecond
)

// Place says where the front and the function listen.
type Place struct {
	// Public is the address of the configuration, host:port.
	Public string
	// Private is the function's own base URI.
	Private *url.URL
	// PrivateHost and PrivatePort are for the function's configuration.
	PrivateHost string
	PrivatePort int
}

// NewPlace takes the binding address (which may name an environment variable, as free5GC allows), port
// and scheme of a configuration. The function goes to the next port of the loopback interface: of the
// binding address where that is one, so that several functions fit on one machine.
func NewPlace(scheme, binding string, port int) Place {
	if address := os.Getenv(binding); address != "" {
		binding = address
	}
	host := "127.0.0.1"
	if ip := net.ParseIP(binding); ip != nil && ip.IsLoopback() {
		host = binding
	}
	return Place{
		Public:      net.JoinHostPort(binding, strconv.Itoa(port)),
		Private:     &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(port+1))},
		PrivateHost: host, PrivatePort: port + 1,
	}
}

// Transport is for requests to free5GC's servers. They end a connection that is idle for a millisecond,
// also one that is about to get a request: HTTP/1.1, one request to a connection, leaves nothing to race
// for. Certificates are not verified, as free5GC's own clients do not: the other end is this process, or
// has a certificate that the core's NRF signed by itself.
func Transport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols: protocols, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
}

// Proxy passes requests on to the function. rewrite and modify may be nil.
func Proxy(private *url.URL, rewrite func(*httputil.ProxyRequest), modify func(*http.Response) error) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     Transport(),
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(private)
			if rewrite != nil {
				rewrite(r)
			}
		},
		ModifyResponse: modify,
	}
}

// Front serves the public address.
type Front struct {
	Server  *http.Server
	private *url.URL
}

// New makes a front that answers with handler, over HTTP/1.1 and HTTP/2, in clear or not.
func New(place Place, handler http.Handler) *Front {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &Front{
		Server: &http.Server{
			Addr: place.Public, Handler: handler, Protocols: protocols,
			ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleLimit,
		},
		private: place.Private,
	}
}

// Run serves until ctx ends. It opens its port only when the function's own is open, so that an open
// port means a working function.
func (f *Front) Run(ctx context.Context, certificate, key string) error {
	if err := f.awaitPrivate(ctx); err != nil {
		return nil
	}
	context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.Background(), shutdownLimit)
		defer cancel()
		_ = f.Server.Shutdown(limited)
	})
	var err error
	if f.private.Scheme == "https" {
		err = f.Server.ListenAndServeTLS(certificate, key)
	} else {
		err = f.Server.ListenAndServe()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (f *Front) awaitPrivate(ctx context.Context) error {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", f.private.Host)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}
