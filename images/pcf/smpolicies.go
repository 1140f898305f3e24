package main

// free5GC's PCF 1.4.5 refuses the SM policies of a UE, and with them its PDU session, unless it has an AM policy
// association of the UE (TS 29.507 4.2.2), though TS 29.512 4.2.2 asks for none: the two may be with two PCFs. It
// keeps associations in memory, and the AMF asks for one only when the UE registers, once, and lets the UE in
// without (TS 23.502 4.16.1). So an association may be missing for good:
//
//   - of every UE that registered before the PCF restarted;
//   - of a UE that registered while the PCF was away;
//   - of a UE that registered while the PCF was there, but the UDR behind it was not.
//
// The front, which takes the requests in the PCF's place, passes them on. When the PCF refuses SM policies because
// an association is missing, the front creates it from what the SMF has sent, and asks once more. When the UE
// registers again, the AMF creates its own beside it.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"core5g.dev/core5g/images/nf/front"
)

const (
	smPolicies = "/npcf-smpolicycontrol/v1/sm-policies"
	amPolicies = "/npcf-am-policy-control/v1/policies"
	// maxBody is far above what an SmPolicyContextData needs, and a refusal.
	maxBody      = 1 << 20
	requestLimit = 5 * time.Second
)

// Causes (TS 29.512 5.7.3) with which the PCF refuses SM policies when an association is missing: of a UE that it does
// not know, or cannot have the data of, and of one that it knows by an attempt that failed half-way.
const (
	userUnknown         = "USER_UNKNOWN"
	policyContextDenied = "POLICY_CONTEXT_DENIED"
)

// smPolicyContext is what an AM policy association needs of SmPolicyContextData (TS 29.512 5.6.2.3).
type smPolicyContext struct {
	SUPI           string           `json:"supi"`
	AccessType     string           `json:"accessType"`
	ServingNetwork *json.RawMessage `json:"servingNetwork"`
}

// amPolicyRequest is PolicyAssociationRequest (TS 29.507 5.6.2.3).
type amPolicyRequest struct {
	NotificationURI string           `json:"notificationUri"`
	SUPI            string           `json:"supi"`
	AccessType      string           `json:"accessType"`
	ServingPLMN     *json.RawMessage `json:"servingPlmn"`
	SuppFeat        string           `json:"suppFeat"`
}

// associations gives the PCF the AM policy associations that it lacks.
type associations struct {
	// private is where the PCF itself listens.
	private *url.URL
	pcf     http.RoundTripper
	// known tells whether the PCF has a UE, with an association or without.
	known func(supi string) bool
	log   *slog.Logger
}

func newAssociations(private *url.URL, known func(string) bool, log *slog.Logger) *associations {
	return &associations{private: private, pcf: front.Transport(private.Scheme), known: known, log: log}
}

func (a *associations) handler() http.Handler {
	next := front.Proxy(a.private, nil, nil)
	next.Transport = a
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smPolicies {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.ContentLength = int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			r.Body, _ = r.GetBody()
		}
		next.ServeHTTP(w, r)
	})
}

// RoundTrip passes a request on to the PCF, and one for SM policies, which is the one that can be repeated, a second
// time when that may help.
func (a *associations) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.pcf.RoundTrip(r)
	if err != nil || r.GetBody == nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	var policy smPolicyContext
	// What cannot be read is the PCF's to refuse.
	if body, err := r.GetBody(); err != nil || json.NewDecoder(body).Decode(&policy) != nil ||
		policy.SUPI == "" || policy.ServingNetwork == nil {
		return response, nil
	}
	// It makes one association a UE, however often the UE asks for what it cannot have.
	if c := cause(response); c != policyContextDenied && (c != userUnknown || a.known(policy.SUPI)) {
		return response, nil
	}
	if err := a.create(r.Context(), policy); err != nil {
		a.log.Warn("no AM policy association for a UE that has none", "supi", policy.SUPI, "error", err)
		return response, nil
	}
	_ = response.Body.Close()
	again := r.Clone(r.Context())
	if again.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return a.pcf.RoundTrip(again)
}

// cause reads a refusal, and leaves it for the next reader.
func cause(response *http.Response) string {
	head, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
	var problem struct {
		Cause string `json:"cause"`
	}
	if err != nil || json.Unmarshal(head, &problem) != nil {
		return ""
	}
	return problem.Cause
}

// create makes the AM policy association of a UE.
func (a *associations) create(ctx context.Context, policy smPolicyContext) error {
	raw, err := json.Marshal(amPolicyRequest{
		// The AMF's own URI is not known, and free5GC's PCF notifies of AM policies only when asked to
		// by its operator.
		NotificationURI: a.private.String() + "/nowhere",
		SUPI:            policy.SUPI, AccessType: policy.AccessType, ServingPLMN: policy.ServingNetwork,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, a.private.JoinPath(amPolicies).String(), bytes.NewReader(raw))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := a.pcf.RoundTrip(post)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		detail, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("status %d: %s", response.StatusCode, detail)
	}
	a.log.Info("made an AM policy association for a UE that had none", "supi", policy.SUPI)
	return nil
}
