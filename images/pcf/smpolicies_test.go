package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"core5g.dev/core5g/images/nf/front"
)

// fakePCF answers as PCF 1.4.5 does: it has SM policies for UEs with an AM policy association only, and remembers
// the UE, but no association, when the UDR fails while it makes one.
type fakePCF struct {
	mu sync.Mutex
	// associations of each UE that it knows.
	associations map[string]int
	requests     []string
	udrAway      bool
}

func (p *fakePCF) known(supi string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.associations[supi]
	return ok
}

func (p *fakePCF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path+" "+string(body))
	var request struct {
		SUPI            string            `json:"supi"`
		DNN             string            `json:"dnn"`
		AccessType      string            `json:"accessType"`
		NotificationURI string            `json:"notificationUri"`
		ServingPLMN     map[string]string `json:"servingPlmn"`
	}
	_ = json.Unmarshal(body, &request)
	refuse := func(status int, cause string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": status, "cause": cause})
	}
	n, known := p.associations[request.SUPI]
	switch {
	case r.URL.Path == amPolicies && (request.AccessType != "3GPP_ACCESS" || request.ServingPLMN["mcc"] != "208" || request.NotificationURI == ""):
		refuse(http.StatusBadRequest, "ERROR_REQUEST_PARAMETERS")
	case r.URL.Path == amPolicies && p.udrAway:
		p.associations[request.SUPI] = n
		refuse(http.StatusInternalServerError, "SYSTEM_FAILURE")
	case r.URL.Path == amPolicies:
		p.associations[request.SUPI] = n + 1
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == smPolicies && (!known || request.DNN == "nowhere" || p.udrAway):
		refuse(http.StatusBadRequest, userUnknown)
	case r.URL.Path == smPolicies && n == 0:
		refuse(http.StatusForbidden, policyContextDenied)
	case r.URL.Path == smPolicies:
		w.WriteHeader(http.StatusCreated)
	}
}

const (
	testSUPI     = "imsi-208930000000001"
	smPolicyBody = `{"supi": "` + testSUPI + `", "dnn": "internet", "pduSessionId": 1, "accessType": "3GPP_ACCESS",` +
		` "servingNetwork": {"mcc": "208", "mnc": "93"}}`
	amPolicyBody = `{"supi": "` + testSUPI + `", "accessType": "3GPP_ACCESS", "notificationUri": "http://amf",` +
		` "servingPlmn": {"mcc": "208", "mnc": "93"}}`
)

func startFront(t *testing.T) (*fakePCF, string) {
	t.Helper()
	pcf := &fakePCF{associations: map[string]int{}}
	server := httptest.NewServer(pcf)
	t.Cleanup(server.Close)
	private, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := front.New(front.Place{Private: private}, newAssociations(private, pcf.known, slog.New(slog.DiscardHandler)).handler())
	public := httptest.NewUnstartedServer(f.Server.Handler)
	public.Config.Protocols = f.Server.Protocols
	public.Start()
	t.Cleanup(public.Close)
	return pcf, public.URL
}

func post(t *testing.T, uri, body string) int {
	t.Helper()
	response, err := http.Post(uri, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestMissingAssociationIsMade(t *testing.T) {
	tests := []struct {
		name string
		// before is what happened when the UE registered.
		before func(t *testing.T, pcf *fakePCF, uri string)
		want   []string
	}{
		{
			name:   "the PCF has restarted since, or was away",
			before: func(*testing.T, *fakePCF, string) {},
			want:   []string{smPolicies, amPolicies, smPolicies, smPolicies},
		},
		{
			name: "the UDR was away",
			before: func(t *testing.T, pcf *fakePCF, uri string) {
				pcf.udrAway = true
				if status := post(t, uri+amPolicies, amPolicyBody); status != http.StatusInternalServerError {
					t.Errorf("the AMF got status %d", status)
				}
				pcf.udrAway = false
			},
			want: []string{amPolicies, smPolicies, amPolicies, smPolicies, smPolicies},
		},
		{
			name: "nothing",
			before: func(t *testing.T, _ *fakePCF, uri string) {
				if status := post(t, uri+amPolicies, amPolicyBody); status != http.StatusCreated {
					t.Errorf("the AMF got status %d", status)
				}
			},
			want: []string{amPolicies, smPolicies, smPolicies},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pcf, uri := startFront(t)
			tt.before(t, pcf, uri)
			for range 2 {
				if status := post(t, uri+smPolicies, smPolicyBody); status != http.StatusCreated {
					t.Errorf("the SMF got status %d", status)
				}
			}
			if len(pcf.requests) != len(tt.want) {
				t.Fatalf("the PCF got %q, want %q", pcf.requests, tt.want)
			}
			for i, path := range tt.want {
				want := "POST " + path + " "
				if path == smPolicies {
					want += smPolicyBody
				}
				if !strings.HasPrefix(pcf.requests[i], want) {
					t.Errorf("request %d: got %q, want %q", i, pcf.requests[i], want)
				}
			}
		})
	}
}

func TestWhatThePCFRefusesStaysRefused(t *testing.T) {
	pcf, uri := startFront(t)
	if status := post(t, uri+smPolicies, "not JSON"); status != http.StatusBadRequest {
		t.Errorf("nonsense: status %d", status)
	}
	if status := post(t, uri+smPolicies, strings.Repeat("x", maxBody+1)); status != http.StatusBadRequest {
		t.Errorf("too much: status %d", status)
	}
	pcf.udrAway = true
	if status := post(t, uri+smPolicies, smPolicyBody); status != http.StatusBadRequest {
		t.Errorf("without an association: status %d", status)
	}
	pcf.udrAway = false
	for range 3 {
		if status := post(t, uri+smPolicies, strings.ReplaceAll(smPolicyBody, "internet", "nowhere")); status != http.StatusBadRequest {
			t.Errorf("a DNN without data: status %d", status)
		}
	}
	if got := pcf.associations[testSUPI]; got != 0 {
		t.Errorf("made %d associations for refusals that have other reasons", got)
	}
}
