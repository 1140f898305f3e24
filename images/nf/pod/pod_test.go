package pod

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"core5g.dev/core5g/images/nf/loopback"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func member(args ...string) (*Member, error) {
	m := &Member{}
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	m.Flags(f, "things")
	m.Peer(f, "UDM", "")
	m.Peer(f, "PCF", "policy is nobody's")
	m.Peer(f, "CHF", "nothing is charged")
	if err := Parse(f, args); err != nil {
		return nil, err
	}
	return m, m.Check()
}

func TestAMember(t *testing.T) {
	m, err := member("-namespace", "n", "-pod", "p", "-address", "10.1.2.3", "-log-level", "warn", "-pcf", "http://pcf:8000/", "-chf", "none")
	if err != nil {
		t.Fatal(err)
	}
	if m.Core != "core5g" || m.NRF != "http://core5g-nrf:8000" || m.LogLevel != slog.LevelWarn || m.Holder() != "p/10.1.2.3" || m.Listen().String() != "0.0.0.0" {
		t.Errorf("%+v, holder %s, listens on %s", m, m.Holder(), m.Listen())
	}
	if diff := cmp.Diff(map[string]string{"PCF": "http://pcf:8000"}, m.Fixed()); diff != "" || !m.Has("UDM") || !m.Has("PCF") || m.Has("CHF") {
		t.Errorf("fixed (-want +got):\n%s", diff)
	}
	if root := RootAt("https", m.Holder(), 8002); root != "https://10.1.2.3:8002" {
		t.Errorf("others reach it at %s", root)
	}
	for address, want := range map[string]string{"127.0.0.7": "127.0.0.7", "::1": "::1", "2001:db8::1": "::"} {
		m, err := member("-namespace", "n", "-pod", "p", "-address", address, "-nrf", "none")
		if err != nil || m.Listen().String() != want || m.NRF != "" {
			t.Errorf("%s: listens on %v, NRF %q, %v", address, m.Listen(), m.NRF, err)
		}
	}
}

func TestWhatIsWrongOnTheCommandLine(t *testing.T) {
	good := map[string]string{"-namespace": "n", "-pod": "p", "-address": "10.1.2.3"}
	for name, x := range map[string]struct{ flag, value, want string }{
		"no address":            {"-address", "", "write the pod's address"},
		"no pod":                {"-pod", "", "POD_NAME"},
		"a pod with a slash":    {"-pod", "a/b", "slash"},
		"an NRF without scheme": {"-nrf", "nrf:8000", "-nrf \"nrf:8000\": write http://"},
		"a PCF without host":    {"-pcf", "http://", "-pcf \"http:/\": write http://"},
		"no UDM":                {"-udm", "none", "nothing works without the UDM"},
		"no namespace":          {"-namespace", "", "POD_NAMESPACE"},
		"a level that is none":  {"-log-level", "loud", "debug, info"},
		"something more":        {"-core", "c more", `unexpected argument "more"`},
	} {
		var args []string
		for flag, value := range good {
			if flag != x.flag {
				args = append(args, flag, value)
			}
		}
		first, more, _ := strings.Cut(x.value, " ")
		if args = append(args, x.flag, first); more != "" {
			args = append(args, more)
		}
		if _, err := member(args...); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want something with %q", name, err, x.want)
		}
	}
	if _, err := member("-pod", "p", "-address", "10.1.2.3", "-configuration", "f"); err != nil {
		t.Errorf("a file needs no namespace: %v", err)
	}
}

func TestNumber(t *testing.T) {
	var n uint16
	for text, want := range map[string]uint16{"1": 1, "8000": 8000, "65535": 65535} {
		if err := Number(&n, "port", 1, 65535)(text); err != nil || n != want {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "65536", "-1", "x"} {
		if err := Number(&n, "port", 1, 65535)(text); err == nil || !strings.Contains(err.Error(), "write one from 1 to 65535") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHealth(t *testing.T) {
	var h Health
	ask := func(path string) string {
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return strings.TrimSpace(w.Body.String())
	}
	if a, r := ask("/healthz"), ask("/readyz"); a != "ok" || r != "the program is not up yet" {
		t.Errorf("at first: %q, %q", a, r)
	}
	h.Answers(nil, func() error { return errors.New("the store is away") })
	if a, r := ask("/healthz"), ask("/readyz"); a != "ok" || r != "the store is away" {
		t.Errorf("not ready: %q, %q", a, r)
	}
	h.Answers(func() error { return errors.New("stuck") }, func() error { return nil })
	if a, r := ask("/healthz"), ask("/readyz"); a != "stuck" || r != "ok" {
		t.Errorf("stuck: %q, %q", a, r)
	}
}

func TestHealthOfParts(t *testing.T) {
	var h Health
	parts := h.Parts("amf", "smf")
	ask := func(path string) string {
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return strings.TrimSpace(w.Body.String())
	}
	well := func() error { return nil }
	if a, r := ask("/healthz"), ask("/readyz"); a != "ok" || r != "amf: the program is not up yet" {
		t.Errorf("at first: %q, %q", a, r)
	}
	parts[0](nil, well)
	if r := ask("/readyz"); r != "smf: the program is not up yet" {
		t.Errorf("one of two: %q", r)
	}
	parts[1](func() error { return errors.New("stuck") }, well)
	if a, r := ask("/healthz"), ask("/readyz"); a != "smf: stuck" || r != "ok" {
		t.Errorf("both: %q, %q", a, r)
	}
}

// Parts count by the same names, with labels of their own.
func TestMetricsOfParts(t *testing.T) {
	listen := freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	health, registries, err := (&Config{MetricsListen: listen}).ObservedParts(ctx, func(serve func() error) { go func() { ended <- serve() }() }, "amf", "smf")
	if err != nil {
		t.Fatal(err)
	}
	for n, labels := range []prometheus.Labels{{"a": "1"}, {"b": "2"}} {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "core5g_calls_total", Help: "Calls.", ConstLabels: labels})
		registries[n].MustRegister(c)
		c.Inc()
	}
	health.Shows("GET /beside", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("shown")) })
	if beside, err := http.Get("http://" + listen + "/beside"); err != nil || beside.StatusCode != http.StatusOK {
		t.Errorf("what stands beside the metrics: %v, %v", beside, err)
	} else {
		_ = beside.Body.Close()
	}
	answer, err := http.Get("http://" + listen + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	for _, want := range []string{`core5g_calls_total{a="1",part="amf"} 1`, `core5g_calls_total{b="2",part="smf"} 1`, "go_goroutines"} {
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%v, %s: no %s in\n%s", err, answer.Status, want, text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", loopback.Port(t))
}
