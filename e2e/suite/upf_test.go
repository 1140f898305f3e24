package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/scene"
)

// upfMetrics reads the UPF's metrics through the API server: "name{labels}" to value.
func upfMetrics(t *testing.T, ctx context.Context) map[string]float64 {
	t.Helper()
	return scene.Must[map[string]float64](t)(readUPFMetrics(ctx))
}

func readUPFMetrics(ctx context.Context) (map[string]float64, error) {
	return k.UPFMetrics(ctx, upfInstance+"-0")
}

func metricForwarded(direction string) string {
	return fmt.Sprintf(`upf_forwarded_packets_total{direction=%q}`, direction)
}

// dropsOf adds up what was dropped for a reason, on all interfaces.
func dropsOf(metrics map[string]float64, reason string) (sum float64) {
	for name, n := range metrics {
		if strings.HasPrefix(name, "upf_dropped_packets_total{") && strings.Contains(name, fmt.Sprintf("reason=%q", reason)) {
			sum += n
		}
	}
	return sum
}

// upfSessionsAre says how many PFCP sessions the UPF holds when it is another number.
func upfSessionsAre(ctx context.Context, want int) error {
	metrics, err := readUPFMetrics(ctx)
	if err != nil {
		return err
	}
	if got := metrics["upf_sessions"]; got != float64(want) {
		return fmt.Errorf("the UPF holds %.0f sessions, want %d", got, want)
	}
	return nil
}
