package subscriberdata

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "from-the-pod")
	t.Setenv("POD_NAME", "")
	defaults := Config{
		Core: "core5g", Namespace: "from-the-pod", Listen: ":8000", MetricsListen: ":9090", HealthListen: ":8081",
		NRF: "http://core5g-nrf:8000", AUSF: "http://core5g-ausf:8000", UDM: "http://core5g-udm:8000",
		UDR: "http://core5g-udr:8000", NSSF: "http://core5g-nssf:8000", Cached: 100_000,
	}
	other := defaults
	other.Core, other.Namespace, other.LogLevel = "lab", "ns", slog.LevelDebug
	other.NRF, other.AUSF, other.UDM, other.UDR, other.NSSF = "http://10.0.0.1:80", "http://lab-ausf:8000", "http://lab-udm:8000", "http://lab-udr:8000", "http://lab-nssf:8000"
	alone := defaults
	alone.NRF = ""
	replica := defaults
	replica.Pod = "a"
	tests := map[string]struct {
		args string
		want Config
		err  string
		// store is where the session store's Secret is mounted.
		store string
	}{
		"defaults":                 {"", defaults, "", ""},
		"another core":             {"-core lab -namespace ns -nrf http://10.0.0.1:80/ -log-level debug", other, "", ""},
		"no NRF":                   {"-nrf none", alone, "", ""},
		"a URI without a scheme":   {"-udm core5g-udm:8000", Config{}, "write http://host:port", ""},
		"a URI with a path":        {"-nrf http://nrf:8000/nnrf-nfm", Config{}, "write http://host:port", ""},
		"a log level that is none": {"-log-level loud", Config{}, "write debug, info, warn or error", ""},
		"an argument too many":     {"serve", Config{}, `unexpected argument "serve"`, ""},
		"no namespace":             {"-namespace=", Config{}, "-namespace is empty", ""},
		"a replica":                {"-pod a", replica, "", "/etc/core5g/session-store"},
		"a replica without a name": {"-pod=", Config{}, "-pod is empty", "/etc/core5g/session-store"},
		"a cache of nothing":       {"-cached-subscribers 0", Config{}, "-cached-subscribers 0: write 1 or more", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SESSION_STORE_DIR", test.store)
			got, err := ParseConfig(strings.Fields(test.args), io.Discard)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q in it", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
