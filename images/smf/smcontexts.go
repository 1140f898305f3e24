package main

// TS 29.502 6.1.3.3: an SM context is /sm-contexts/{smContextRef}, and its creation answers with that
// URI in Location. free5GC's SMF 1.2.4 calls its contexts urn:uuid:<uuid> and puts only this name into
// Location. free5GC's AMF 1.4.5 takes the last segment of Location and sets "urn:uuid:" before it, so
// that together they end up with urn:uuid:urn:uuid:<uuid>, which the SMF does not know. The front gives
// the whole URI with the bare UUID, and finds a context under the UUID with no prefix, one, or two.
//
// It also holds the creation of an SM context back while no UPF is associated, for a few seconds: the SMF
// is in the NRF a second before it first sends an Association Setup Request, and rejects what comes then
// with an error that the AMF does not pass on to the UE.

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

const (
	smContexts = "/nsmf-pdusession/v1/sm-contexts"
	urnPrefix  = "urn:uuid:"
	// frontShutdownLimit is the time for requests under way when the SMF stops.
	frontShutdownLimit = 2 * time.Second
	// idleLimit is short, because the AMF would go on using a connection to a pod that is gone.
	idleLimit = time.Second
	// associationPatience is well below T3580, 16 s, after which the UE asks again (TS 24.501 10.3).
	associationPatience = 6 * time.Second
	pollInterval        = 50 * time.Millisecond
)

type front struct {
	server *http.Server
	scheme string
	// private is where the SMF itself listens.
	private string
}

// newFront makes a front at public for the SMF at private. associated tells whether any UPF is.
func newFront(public, private, scheme, apiPrefix string, associated func() bool) (*front, error) {
	target, err := url.Parse(scheme + "://" + private)
	if err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	// free5GC's server ends a connection that is idle for a millisecond, also one that is about to get a
	// request: HTTP/1.1, one request to a connection, leaves nothing to race for.
	backward := new(http.Protocols)
	backward.SetHTTP1(true)
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{
			Protocols:         backward,
			DisableKeepAlives: true,
			// The other end is this process, on the loopback interface.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.Path = knownPath(r.In.URL.Path)
			r.Out.URL.RawPath = ""
		},
		ModifyResponse: func(r *http.Response) error {
			if name := r.Header.Get("Location"); strings.HasPrefix(name, urnPrefix) {
				r.Header.Set("Location", apiPrefix+smContexts+"/"+strings.TrimPrefix(name, urnPrefix))
			}
			return nil
		},
	}
	return &front{
		server: &http.Server{
			Addr: public, Handler: patient(proxy, associated), Protocols: protocols,
			ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleLimit,
		},
		scheme: scheme, private: private,
	}, nil
}

// patient passes requests on to next, the creation of an SM context only when a UPF is associated or
// associationPatience is over.
func patient(next http.Handler, associated func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smContexts && !associated() {
			ctx, cancel := context.WithTimeout(r.Context(), associationPatience)
			defer cancel()
			tick := time.NewTicker(pollInterval)
			defer tick.Stop()
			for ctx.Err() == nil && !associated() {
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// knownPath names the SM context in a path as the SMF does.
func knownPath(path string) string {
	rest, found := strings.CutPrefix(path, smContexts+"/")
	if !found {
		return path
	}
	ref, operation, _ := strings.Cut(rest, "/")
	for strings.HasPrefix(ref, urnPrefix) {
		ref = strings.TrimPrefix(ref, urnPrefix)
	}
	if operation != "" {
		operation = "/" + operation
	}
	return smContexts + "/" + urnPrefix + ref + operation
}

// run serves until ctx ends. It opens its port only when the SMF's own is open, so that an open port
// means a working SMF.
func (f *front) run(ctx context.Context, certificate, key string) error {
	if err := f.awaitSMF(ctx); err != nil {
		return nil
	}
	context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.Background(), frontShutdownLimit)
		defer cancel()
		_ = f.server.Shutdown(limited)
	})
	var err error
	if f.scheme == "https" {
		err = f.server.ListenAndServeTLS(certificate, key)
	} else {
		err = f.server.ListenAndServe()
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (f *front) awaitSMF(ctx context.Context) error {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", f.private)
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
