package storm

import (
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/figures"
	"core5g.dev/core5g/e2e/ran/control"
)

func TestStartsAreTold(t *testing.T) {
	var out strings.Builder
	started := []control.Started{{Registered: 5, Ready: 9, Answered: 12.5}, {Registered: 6, Ready: 10, Answered: 11}, {Registered: 7, Ready: 11, Answered: 30}}
	if err := startLines(&out, figures.Fused, started, 3*time.Second, map[string]time.Duration{"smf": 3 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	want := "layout=Fused case=start_registered ues=3 p50_ms=6.0 p99_ms=7.0 per_second=1.0 cpu_ms=1.00 smf_ms=1.00\n" +
		"layout=Fused case=start_ready ues=3 p50_ms=10.0 p99_ms=11.0 per_second=1.0 cpu_ms=1.00 smf_ms=1.00\n" +
		"layout=Fused case=start_answered ues=3 p50_ms=12.5 p99_ms=30.0 per_second=1.0 cpu_ms=1.00 smf_ms=1.00\n"
	if out.String() != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
	if err := startLines(&out, figures.Fused, nil, time.Second, nil); err == nil {
		t.Error("nothing is told, and nobody says so")
	}
}
