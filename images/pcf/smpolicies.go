package main

// free5GC's PCF keeps its UEs in memory and makes one only when the AMF creates an AM policy association,
// that is, when the UE registers. After a restart it would refuse the SM policies of every UE that is
// registered already, and with them all new PDU sessions. The front, which takes the requests in its
// place, creates the association that a UE lacks from what the SMF sends, and then passes the SMF's
// request on. When the UE registers again, the AMF creates its own beside it.

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

	"core5g.dev/core5g/images/registration/front"
)

const (
	smPolicies = "/npcf-smpolicycontrol/v1/sm-policies"
	amPolicies = "/npcf-am-policy-control/v1/policies"
	// maxBody is far above what an SmPolicyContextData needs.
	maxBody      = 1 << 20
	requestLimit = 5 * time.Second
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

// memory answers in the place of a PCF that has lost its UEs.
type memory struct {
	// private is where the PCF itself listens.
	private *url.URL
	client  *http.Client
	// known tells whether the PCF has a UE.
	known func(supi string) bool
	log   *slog.Logger
}

func newMemory(private *url.URL, known func(string) bool, log *slog.Logger) *memory {
	return &memory{
		private: private, known: known, log: log,
		client: &http.Client{Transport: front.Transport(private.Scheme), Timeout: requestLimit},
	}
}

func (m *memory) handler() http.Handler {
	next := front.Proxy(m.private, nil, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smPolicies {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			var policy smPolicyContext
			// What cannot be read is the PCF's to refuse.
			if json.Unmarshal(body, &policy) == nil && policy.SUPI != "" && !m.known(policy.SUPI) {
				if err := m.associate(r.Context(), policy); err != nil {
					m.log.Warn("no AM policy association for a UE of an earlier life", "supi", policy.SUPI, "error", err)
				}
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = int64(len(body))
		}
		next.ServeHTTP(w, r)
	})
}

// associate creates the AM policy association of a UE that the PCF has forgotten.
func (m *memory) associate(ctx context.Context, policy smPolicyContext) error {
	request := amPolicyRequest{
		// The AMF's own URI is not known, and free5GC's PCF notifies of AM policies only when asked to
		// by its operator.
		NotificationURI: m.private.String() + "/nowhere",
		SUPI:            policy.SUPI, AccessType: policy.AccessType, ServingPLMN: policy.ServingNetwork,
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, m.private.JoinPath(amPolicies).String(), bytes.NewReader(raw))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := m.client.Do(post)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		detail, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return fmt.Errorf("status %d: %s", response.StatusCode, detail)
	}
	m.log.Info("made an AM policy association for a UE of an earlier life", "supi", policy.SUPI)
	return nil
}
