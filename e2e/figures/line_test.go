package figures

import (
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	cpu := map[string]time.Duration{"smf": 300 * time.Millisecond, "n2-terminator": 50 * time.Millisecond, "upf-c": 0}
	for sentence, x := range map[string]struct {
		line Line
		want string
	}{
		"UEs that waited": {
			Line{Layout: Distributed, Case: "session", UEs: 100, P50: 9100 * time.Microsecond, P99: 46500 * time.Microsecond, Took: 2 * time.Second, CPU: cpu},
			"layout=Distributed case=session ues=100 p50_ms=9.1 p99_ms=46.5 per_second=50.0 cpu_ms=3.50 n2_terminator_ms=0.50 smf_ms=3.00",
		},
		"UEs that nobody looked at one by one": {
			Line{Layout: "Free5GC", Case: "storm", UEs: 10, Took: time.Second, CPU: cpu},
			"layout=Free5GC case=storm ues=10 per_second=10.0 cpu_ms=35.00 n2_terminator_ms=5.00 smf_ms=30.00",
		},
	} {
		if got := x.line.String(); got != x.want {
			t.Errorf("%s:\n got %s\nwant %s", sentence, got, x.want)
		}
	}
}
