package exposition

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(t *testing.T, e *Exposition) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	e.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("status %d: %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

func TestServesItsOwnAndFree5GCsMetrics(t *testing.T) {
	const theirs = `# HELP free5gc_nas_msg_received_total Total number of received NAS message
# TYPE free5gc_nas_msg_received_total counter
free5gc_nas_msg_received_total{cause="MAC failure",name="AuthenticationFailure",nf_type="amf",status="successful"} 7
`
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, theirs) }))
	t.Cleanup(private.Close)
	present := false
	e := New(slog.New(slog.DiscardHandler))
	e.Registered("AMF", func() bool { return present })
	e.private = private.URL

	text := get(t, e)
	for _, want := range []string{theirs, "\ncore5g_nf_registered{nf_type=\"AMF\"} 0\n", "\ngo_goroutines ", "\nprocess_cpu_seconds_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	present = true
	if text := get(t, e); !strings.Contains(text, "\ncore5g_nf_registered{nf_type=\"AMF\"} 1\n") {
		t.Error("the NRF's profile is not told")
	}
	// free5GC's server is gone: the rest stays.
	private.Close()
	if text := get(t, e); strings.Contains(text, "free5gc_") || !strings.Contains(text, "core5g_nf_registered") {
		t.Errorf("without free5GC's server:\n%s", text)
	}
}

func TestFree5GCsServerMovesOnlyWhereThereIsAnother(t *testing.T) {
	scheme, binding, port := "https", "0.0.0.0", 9090
	New(slog.New(slog.DiscardHandler)).Behind(&scheme, &binding, &port)
	if scheme != "https" || binding != "0.0.0.0" || port != 9090 {
		t.Errorf("moved to %s://%s:%d without %s", scheme, binding, port, ListenEnv)
	}
	t.Setenv(ListenEnv, ":9090")
	New(slog.New(slog.DiscardHandler)).Behind(&scheme, &binding, &port)
	if scheme != "http" || binding != "127.0.0.1" || port != 9091 {
		t.Errorf("moved to %s://%s:%d", scheme, binding, port)
	}
}
