package main

// free5GC's PCF keeps its UEs in memory and makes one only when the AMF creates an AM policy association,
// that is, when the UE registers. After a restart it would refuse the SM policies of every UE that is
// registered already, and with them all new PDU sessions. The front, which takes the requests in its
// place, creates the association that a UE lacks from what the SMF sends, and then passes the SMF's
// request on. When the UE registers again, the AMF creates its own beside it.

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

const (
	smPolicies = "/npcf-smpolicycontrol/v1/sm-policies"
	amPolicies = "/npcf-am-policy-control/v1/policies"
	// maxBody is far above what an SmPolicyContextData needs.
	maxBody            = 1 << 20
	requestLimit       = 5 * time.Second
	frontShutdownLimit = 2 * time.Second
	// idleLimit is short, because peers would go on using a connection to a pod that is gone.
	idleLimit    = time.Second
	pollInterval = 50 * time.Millisecond
)

// smPolicyContext is what an AM policy association needs of SmPolicyContextData (TS 29.512 5.6.2.3).
type smPolicyContext struct {
	SUPI           string          `json:"supi"`
	AccessType     string          `json:"accessType"`
	ServingNetwork json.RawMessage `json:"servingNetwork"`
}

// amPolicyRequest is PolicyAssociationRequest (TS 29.507 5.6.2.3).
type amPolicyRequest struct {
	NotificationURI string          `json:"notificationUri"`
	SUPI            string          `json:"supi"`
	AccessType      string          `json:"accessType"`
	ServingPLMN     json.RawMessage `json:"servingPlmn"`
	SuppFeat        string          `json:"suppFeat"`
}

type front struct {
	server *http.Server
	scheme string
	// private is where the PCF itself listens.
	private *url.URL
	client  *http.Client
	// known tells whether the PCF has a UE.
	known func(supi string) bool
	log   *slog.Logger
}

func newFront(public, private, scheme string, known func(string) bool, log *slog.Logger) *front {
	// free5GC's server ends a connection that is idle for a millisecond, also one that is about to get a
	// request: HTTP/1.1, one request to a connection, leaves nothing to race for.
	backward := new(http.Protocols)
	backward.SetHTTP1(true)
	transport := &http.Transport{
		Protocols:         backward,
		DisableKeepAlives: true,
		// The other end is this process, on the loopback interface.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}
	f := &front{
		scheme: scheme, private: &url.URL{Scheme: scheme, Host: private}, known: known, log: log,
		client: &http.Client{Transport: transport, Timeout: requestLimit},
	}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(f.private) },
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	f.server = &http.Server{
		Addr: public, Handler: f.handler(proxy), Protocols: protocols,
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: idleLimit,
	}
	return f
}

func (f *front) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smPolicies {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			var policy smPolicyContext
			// What cannot be read is the PCF's to refuse.
			if json.Unmarshal(body, &policy) == nil && policy.SUPI != "" && !f.known(policy.SUPI) {
				if err := f.associate(r.Context(), policy); err != nil {
					f.log.Warn("no AM policy association for a UE of an earlier life", "supi", policy.SUPI, "error", err)
				}
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = int64(len(body))
		}
		next.ServeHTTP(w, r)
	})
}

// associate creates the AM policy association of a UE that the PCF has forgotten.
func (f *front) associate(ctx context.Context, policy smPolicyContext) error {
	request := amPolicyRequest{
		// The AMF's own URI is not known, and free5GC's PCF notifies of AM policies only when asked to
		// by its operator.
		NotificationURI: f.private.String() + "/nowhere",
		SUPI:            policy.SUPI, AccessType: policy.AccessType, ServingPLMN: policy.ServingNetwork,
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, f.private.JoinPath(amPolicies).String(), bytes.NewReader(raw))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := f.client.Do(post)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		detail, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("status %d: %s", response.StatusCode, detail)
	}
	f.log.Info("made an AM policy association for a UE of an earlier life", "supi", policy.SUPI)
	return nil
}

// run serves until ctx ends. It opens its port only when the PCF's own is open, so that an open port
// means a working PCF.
func (f *front) run(ctx context.Context, certificate, key string) error {
	if err := f.awaitPCF(ctx); err != nil {
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

func (f *front) awaitPCF(ctx context.Context) error {
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
