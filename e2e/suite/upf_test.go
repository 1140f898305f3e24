package suite

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// upfMetrics reads the UPF's metrics through the API server: "name{labels}" to value.
func upfMetrics(t *testing.T, ctx context.Context) map[string]float64 {
	t.Helper()
	return must[map[string]float64](t)(readUPFMetrics(ctx))
}

func readUPFMetrics(ctx context.Context) (map[string]float64, error) {
	out, err := k.Run(ctx, "get", "--raw", "/api/v1/namespaces/core5g/pods/"+upfInstance+"-0:9090/proxy/metrics")
	if err != nil {
		return nil, err
	}
	metrics := map[string]float64{}
	scan := bufio.NewScanner(strings.NewReader(out))
	for scan.Scan() {
		line := scan.Text()
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			metrics[line[:i]] = v
		}
	}
	return metrics, scan.Err()
}

func metricForwarded(direction string) string {
	return fmt.Sprintf(`upf_forwarded_packets_total{direction=%q}`, direction)
}

func metricDrops(reason string) string {
	return fmt.Sprintf(`upf_dropped_packets_total{reason=%q}`, reason)
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
