package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"core5g.dev/core5g/images/nf/front"
)

const uuid = "3c327681-ff46-4e2f-bc69-a6c8c9414666"

func TestKnownPathNamesTheContextAsTheSMFDoes(t *testing.T) {
	for in, want := range map[string]string{
		"/nsmf-pdusession/v1/sm-contexts":                                        "/nsmf-pdusession/v1/sm-contexts",
		"/nsmf-pdusession/v1/sm-contexts/" + uuid:                                "/nsmf-pdusession/v1/sm-contexts/urn:uuid:" + uuid,
		"/nsmf-pdusession/v1/sm-contexts/urn:uuid:" + uuid + "/modify":           "/nsmf-pdusession/v1/sm-contexts/urn:uuid:" + uuid + "/modify",
		"/nsmf-pdusession/v1/sm-contexts/urn:uuid:urn:uuid:" + uuid + "/release": "/nsmf-pdusession/v1/sm-contexts/urn:uuid:" + uuid + "/release",
		"/nsmf-callback/sm-policies/urn:uuid:urn:uuid:" + uuid + "/update":       "/nsmf-callback/sm-policies/urn:uuid:urn:uuid:" + uuid + "/update",
		"/upi/v1/upNodesLinks":                                                   "/upi/v1/upNodesLinks",
	} {
		if got := knownPath(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// startFront puts a front before an SMF that answers as SMF 1.2.4 does.
func startFront(t *testing.T, missing func(context.Context) string) string {
	t.Helper()
	smf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == smContexts {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Location", "urn:uuid:"+uuid)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
			return
		}
		if r.URL.Path != smContexts+"/urn:uuid:"+uuid+"/modify" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(smf.Close)
	private, err := url.Parse(smf.URL)
	if err != nil {
		t.Fatal(err)
	}
	f := front.New(front.Place{Private: private}, handler(private, "http://core5g-smf-a:8000", missing))
	server := httptest.NewUnstartedServer(f.Server.Handler)
	server.Config.Protocols = f.Server.Protocols
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func h2c() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

func TestLocationIsAURIThatFindsTheContextAgain(t *testing.T) {
	uri := startFront(t, func(context.Context) string { return "" })
	client := h2c()
	defer client.CloseIdleConnections()
	response, err := client.Post(uri+smContexts, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	want := "http://core5g-smf-a:8000/nsmf-pdusession/v1/sm-contexts/" + uuid
	if got := response.Header.Get("Location"); got != want || response.StatusCode != http.StatusCreated || string(body) != "{}" {
		t.Errorf("got %d, Location %q, body %q; want Location %q", response.StatusCode, got, body, want)
	}
	// As AMF 1.4.5 goes on: the last segment, with "urn:uuid:" before it.
	response, err = client.Post(uri+smContexts+"/urn:uuid:"+uuid+"/modify", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("modify: status %d", response.StatusCode)
	}
}

func TestContextsAreCreatedOnceAUPFIsAssociated(t *testing.T) {
	var ready atomic.Bool
	uri := startFront(t, func(context.Context) string {
		if ready.Load() {
			return ""
		}
		return "UPF: none is associated"
	})
	client := h2c()
	defer client.CloseIdleConnections()
	done := make(chan time.Time, 1)
	go func() {
		response, err := client.Post(uri+smContexts, "application/json", strings.NewReader("{}"))
		if err == nil {
			_ = response.Body.Close()
		}
		done <- time.Now()
	}()
	// Other requests do not wait.
	response, err := client.Post(uri+smContexts+"/"+uuid+"/modify", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	select {
	case <-done:
		t.Fatal("the context was created without a UPF")
	case <-time.After(3 * pollInterval):
	}
	ready.Store(true)
	select {
	case <-done:
	case <-time.After(creationPatience):
		t.Error("the request still waits")
	}
}

func TestCreationIsRefusedWhenPatienceIsOver(t *testing.T) {
	asked := false
	gate := patient(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }),
		func(context.Context) string { return "CHF: none is registered with the NRF" })
	// The caller's own limit stands in for the patience.
	ctx, cancel := context.WithTimeout(t.Context(), 3*pollInterval)
	defer cancel()
	answer := httptest.NewRecorder()
	gate.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, smContexts, nil))
	if asked {
		t.Error("the SMF was asked")
	}
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "CHF: none is registered") {
		t.Errorf("got %d %s", answer.Code, answer.Body)
	}
}

func TestPeersAreThoseOfTheNRF(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		special string
		as      string
		want    string
	}{
		"all of them":             {200, "", "", ""},
		"no CHF":                  {200, "CHF", `null`, "CHF: none is registered with the NRF"},
		"no AMF":                  {200, "AMF", `null`, "AMF: none is registered with the NRF"},
		"a CHF of before https":   {200, "CHF", `[{"nfServices": [{"apiPrefix": "http://core5g-chf:8000"}]}]`, "CHF: its profile in the NRF is of before the change from http to https"},
		"the database is away":    {500, "", "", "the NRF: status 500 for UDM"},
		"an NRF that wants OAuth": {401, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			nrf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				instances := `[{"nfServices": [{"apiPrefix": "https://core5g-peer:8000"}]}]`
				if r.URL.Query().Get("target-nf-type") == tt.special {
					instances = tt.as
				}
				_, _ = io.WriteString(w, `{"nfInstances": `+instances+`}`)
			}))
			defer nrf.Close()
			if got := newPeers(nrf.URL, "https", http.DefaultTransport).missing(t.Context()); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
