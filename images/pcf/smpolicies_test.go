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

	"core5g.dev/core5g/images/registration/front"
)

// fakePCF knows a UE once it has an AM policy association.
type fakePCF struct {
	mu       sync.Mutex
	ues      map[string]bool
	requests []string
	refuse   bool
}

func (p *fakePCF) known(supi string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ues[supi]
}

func (p *fakePCF) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path+" "+string(body))
	var request struct {
		SUPI            string            `json:"supi"`
		AccessType      string            `json:"accessType"`
		NotificationURI string            `json:"notificationUri"`
		ServingPLMN     map[string]string `json:"servingPlmn"`
	}
	_ = json.Unmarshal(body, &request)
	switch {
	case r.URL.Path == amPolicies && p.refuse:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == amPolicies:
		if request.AccessType != "3GPP_ACCESS" || request.ServingPLMN["mcc"] != "208" || request.NotificationURI == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p.ues[request.SUPI] = true
		w.WriteHeader(http.StatusCreated)
	case r.URL.Path == smPolicies && !p.ues[request.SUPI]:
		w.WriteHeader(http.StatusBadRequest)
	case r.URL.Path == smPolicies:
		w.WriteHeader(http.StatusCreated)
	}
}

const smPolicyBody = `{"supi": "imsi-208930000000001", "pduSessionId": 1, "accessType": "3GPP_ACCESS",` +
	` "servingNetwork": {"mcc": "208", "mnc": "93"}}`

func startFront(t *testing.T) (*fakePCF, string) {
	t.Helper()
	pcf := &fakePCF{ues: map[string]bool{}}
	server := httptest.NewServer(pcf)
	t.Cleanup(server.Close)
	private, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := front.New(front.Place{Private: private}, newMemory(private, pcf.known, slog.New(slog.DiscardHandler)).handler())
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

func TestForgottenUEGetsItsAssociationBack(t *testing.T) {
	pcf, uri := startFront(t)
	for range 2 {
		if status := post(t, uri+smPolicies, smPolicyBody); status != http.StatusCreated {
			t.Errorf("status %d", status)
		}
	}
	want := []string{"POST " + amPolicies, "POST " + smPolicies + " " + smPolicyBody, "POST " + smPolicies + " " + smPolicyBody}
	if len(pcf.requests) != len(want) {
		t.Fatalf("the PCF got %q", pcf.requests)
	}
	for i := range want {
		if !strings.HasPrefix(pcf.requests[i], want[i]) {
			t.Errorf("request %d: got %q, want %q", i, pcf.requests[i], want[i])
		}
	}
}

func TestWhatThePCFRefusesStaysRefused(t *testing.T) {
	pcf, uri := startFront(t)
	if status := post(t, uri+smPolicies, "not JSON"); status != http.StatusBadRequest {
		t.Errorf("nonsense: status %d", status)
	}
	pcf.refuse = true
	if status := post(t, uri+smPolicies, smPolicyBody); status != http.StatusBadRequest {
		t.Errorf("without an association: status %d", status)
	}
	if status := post(t, uri+smPolicies, strings.Repeat("x", maxBody+1)); status != http.StatusBadRequest {
		t.Errorf("too much: status %d", status)
	}
}
