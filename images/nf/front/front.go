// Package front stands before the SBI of one of free5GC's functions, in the same process, and repairs
// what passes. The function itself listens on the loopback interface; all that it tells others keeps the
// address and port of its configuration.
package front

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
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
	// idleConnections to the function that are kept, where any are.
	idleConnections = 64
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

// Beside is the place of a function that keeps its port and goes to the loopback interface, so that all that
// it tells others stays as it is. binding, which may name an environment variable, must be one address.
func Beside(scheme, binding string, port int) (Place, error) {
	if address := os.Getenv(binding); address != "" {
		binding = address
	}
	ip := net.ParseIP(binding)
	if ip == nil || ip.IsUnspecified() || ip.IsLoopback() {
		return Place{}, fmt.Errorf("bindingIPv4 %q: behind a front write the pod's own address, or a variable that holds it", binding)
	}
	return Place{
		Public:      net.JoinHostPort(binding, strconv.Itoa(port)),
		Private:     &url.URL{Scheme: scheme, Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))},
		PrivateHost: "127.0.0.1", PrivatePort: port,
	}, nil
}

// Transport is for requests to free5GC's servers. In clear they end a connection that is idle for a
// millisecond, also one that is about to get a request: HTTP/1.1, one request to a connection, leaves nothing
// to race for. With TLS they end none, and a handshake for each request would cost more than the request.
// Certificates are not verified, as free5GC's own clients do not: the other end is this process, or has a
// certificate that the core's NRF signed by itself.
func Transport(scheme string) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Protocols: protocols, DisableKeepAlives: scheme != "https",
		MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: time.Minute,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
}

// Proxy passes requests on to the function. rewrite and modify may be nil.
func Proxy(private *url.URL, rewrite func(*httputil.ProxyRequest), modify func(*http.Response) error) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     Transport(private.Scheme),
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
	Server *http.Server
	// TLS of the public side; nil has Run read certificate and key once.
	TLS     *tls.Config
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
	if f.TLS != nil {
		f.Server.TLSConfig, f.Server.ErrorLog = f.TLS, quiet()
		err = f.Server.ListenAndServeTLS("", "")
	} else if f.private.Scheme == "https" {
		err = f.Server.ListenAndServeTLS(certificate, key)
	} else {
		err = f.Server.ListenAndServe()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// quiet leaves out what the kubelet's probes make a TLS server say: they open a connection and close it.
func quiet() *log.Logger {
	return log.New(probeFilter{os.Stderr}, "", log.LstdFlags)
}

type probeFilter struct{ next io.Writer }

func (f probeFilter) Write(line []byte) (int, error) {
	if bytes.HasSuffix(line, []byte(": EOF\n")) || bytes.HasSuffix(line, []byte("connection reset by peer\n")) {
		return len(line), nil
	}
	return f.next.Write(line)
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
