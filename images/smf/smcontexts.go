package main

// TS 29.502 6.1.3.3: an SM context is /sm-contexts/{smContextRef}, and its creation answers with that
// URI in Location. free5GC's SMF 1.2.4 calls its contexts urn:uuid:<uuid> and puts only this name into
// Location. free5GC's AMF 1.4.5 takes the last segment of Location and sets "urn:uuid:" before it, so
// that together they end up with urn:uuid:urn:uuid:<uuid>, which the SMF does not know. The front gives
// the whole URI with the bare UUID, and finds a context under the UUID with no prefix, one, or two.
//
// It also holds the creation of an SM context back, for a few seconds, while something is missing that the
// SMF cannot do without: an associated UPF (the SMF is in the NRF a second before it first sends an
// Association Setup Request), a UDM, an AMF, a PCF, a CHF (see peers.go). If it is still missing then, the answer is 503,
// and the SMF is not asked.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/front"
)

const (
	smContexts = "/nsmf-pdusession/v1/sm-contexts"
	urnPrefix  = "urn:uuid:"
	// creationPatience is well below T3580, 16 s, after which the UE asks again (TS 24.501 10.3).
	creationPatience = 12 * time.Second
	pollInterval     = 100 * time.Millisecond
)

// handler answers in the place of the SMF at private. missing names what a PDU session still lacks.
func handler(private *url.URL, apiPrefix string, missing func(context.Context) string) http.Handler {
	return patient(front.Proxy(private,
		func(r *httputil.ProxyRequest) {
			r.Out.URL.Path = knownPath(r.In.URL.Path)
			r.Out.URL.RawPath = ""
		},
		func(r *http.Response) error {
			if name := r.Header.Get("Location"); strings.HasPrefix(name, urnPrefix) {
				r.Header.Set("Location", apiPrefix+smContexts+"/"+strings.TrimPrefix(name, urnPrefix))
			}
			return nil
		}), missing)
}

// patient passes requests on to next, the creation of an SM context only when nothing is missing; after
// creationPatience it refuses.
func patient(next http.Handler, missing func(context.Context) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smContexts {
			if lack := await(r.Context(), missing); lack != "" {
				refuse(w, lack)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// await asks until nothing is missing or creationPatience is over, and gives the last answer.
func await(ctx context.Context, missing func(context.Context) string) string {
	ctx, cancel := context.WithTimeout(ctx, creationPatience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	lack := missing(ctx)
	for lack != "" {
		select {
		case <-ctx.Done():
			return lack
		case <-tick.C:
			// A question that the limit cut short is no answer.
			if latest := missing(ctx); ctx.Err() == nil {
				lack = latest
			}
		}
	}
	return lack
}

// refuse answers with problem details (TS 29.500 5.2.7.2).
func refuse(w http.ResponseWriter, lack string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"title": "Service Unavailable", "status": http.StatusServiceUnavailable,
		"cause": "NF_CONGESTION", "detail": "no PDU session can be had: " + lack,
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
