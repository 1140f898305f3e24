package worker

import (
	"log/slog"
	"testing"

	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// What was declined is counted once, under the name of its reason.
func TestDeclinedEvents(t *testing.T) {
	s := &Shard{
		pod: &Pod{measures: newMeasures(prometheus.NewRegistry())}, lease: sessionstore.Lease{Shard: "amf-1"}, loop: loop.New(),
		runner: runner.New(runner.Config{World: &Shard{}, Log: slog.New(slog.DiscardHandler)}),
	}
	defer s.loop.End()
	s.observe(runner.Counts{Declined: ^uint64(9) + 1, Full: ^uint64(4) + 1, Away: ^uint64(3) + 1}) // 9, 4 and 3 less than there are
	for event, want := range map[string]float64{"full": 4, "away": 3, "declined": 2} {
		if got := testutil.ToFloat64(s.pod.measures.events.WithLabelValues(event)); got != want {
			t.Errorf("%s: %g, want %g", event, got, want)
		}
	}
}
