package nf

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/sbitls"
)

// The modules of the functions have free5GC's library, this one has not.
func TestAProgramWithoutTheLibraryIsToldSo(t *testing.T) {
	if err := Call(http.DefaultTransport, http.DefaultTransport); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("got %v", err)
	}
	if _, err := Enter(slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a core was entered without a way to call others")
	}
}

func TestLibraryCallsWithTheTransports(t *testing.T) {
	httpsClient, cleartextClient = new(http.Client), new(http.Client)
	t.Cleanup(func() { httpsClient, cleartextClient = nil, nil })
	core, err := Enter(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if core.Transport == nil || core.Transport != core.Cleartext || httpsClient.Transport != core.Transport || cleartextClient.Transport != core.Cleartext {
		t.Error("the clients do not use the core's transport")
	}
	https, cleartext := new(http.Transport), new(http.Transport)
	if err := Call(https, cleartext); err != nil {
		t.Fatal(err)
	}
	if httpsClient.Transport != https || cleartextClient.Transport != cleartext {
		t.Error("https and http URIs are called with each other's transport")
	}
}

func TestWithoutTLSNobodyStandsBeforeTheFunction(t *testing.T) {
	binding := "10.244.0.7"
	f, err := (&Core{}).Terminate(&binding, 8000)
	if f != nil || err != nil || binding != "10.244.0.7" {
		t.Errorf("got %v, %v, and the function at %s", f, err, binding)
	}
}

func TestTLSEndsBeforeTheFunction(t *testing.T) {
	core := &Core{Identity: new(sbitls.Identity)}
	for binding, want := range map[string]string{"10.244.0.7": "127.0.0.1", "0.0.0.0": ""} {
		was := binding
		f, err := core.Terminate(&binding, 8000)
		if want == "" {
			if err == nil || binding != was {
				t.Errorf("%s: got %v, and the function at %s", was, err, binding)
			}
			continue
		}
		if err != nil || binding != want || f.Server.Addr != was+":8000" {
			t.Errorf("%s: got %v, and the function at %s, the front at %s", was, err, binding, f.Server.Addr)
		}
	}
}
