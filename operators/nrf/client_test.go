package nrf

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// server speaks HTTP/2 in clear text only, as an NRF without TLS.
func server(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s %s came as %s", r.Method, r.URL, r.Proto)
		}
		handle(w, r)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return &Client{BaseURL: s.URL, HTTP: NewHTTP()}
}

func TestDiscover(t *testing.T) {
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/nnrf-disc/v1/nf-instances" || r.URL.Query().Get("target-nf-type") != "SMF" || r.URL.Query().Get("requester-nf-type") == "" {
			t.Errorf("asked %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"validityPeriod":100,"nfInstances":[{"nfInstanceId":"i","nfType":"SMF","ipv4Addresses":["core5g-smf-a"],
			"nfServices":[{"apiPrefix":"http://b:8000","ipEndPoints":[{"ipv4Address":"c","port":8000}]}]}]}`)
	})
	got, err := c.Discover(t.Context(), "SMF")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].NfInstanceID != "i" {
		t.Fatalf("got %+v", got)
	}
	if diff := cmp.Diff(map[string]bool{"core5g-smf-a": true, "b": true, "c": true}, got[0].Hosts()); diff != "" {
		t.Errorf("hosts (-want +got): %s", diff)
	}
}

func TestProfileGoesBackWithoutTheDatabaseKey(t *testing.T) {
	var put string
	c := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			_, _ = io.WriteString(w, `{"_id":"65","nfInstanceId":"i","nfType":"AMF","amfInfo":{"amfSetId":"3f8"}}`)
		case http.MethodPut:
			body, _ := io.ReadAll(r.Body)
			put = string(body)
			if r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", r.Header.Get("Content-Type"))
			}
			w.WriteHeader(http.StatusCreated)
		}
	})
	profile, err := c.Profile(t.Context(), "i")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Register(t.Context(), "i", profile); err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(put), &fields); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"nfInstanceId": "i", "nfType": "AMF", "amfInfo": map[string]any{"amfSetId": "3f8"}}, fields); diff != "" {
		t.Errorf("put back (-want +got): %s", diff)
	}
}

func TestRefusalsAreErrors(t *testing.T) {
	status := http.StatusInternalServerError
	c := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	ctx := t.Context()
	if _, err := c.Discover(ctx, "AMF"); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("discover: %v", err)
	}
	if _, err := c.Profile(ctx, "i"); err == nil {
		t.Error("profile: no error")
	}
	if err := c.Register(ctx, "i", json.RawMessage(`{}`)); err == nil {
		t.Error("register: no error")
	}
	if err := c.Deregister(ctx, "i"); err == nil {
		t.Error("deregister: no error")
	}
	status = http.StatusNotFound
	if err := c.Deregister(ctx, "i"); err != nil {
		t.Errorf("deregister of one that is gone: %v", err)
	}
}
