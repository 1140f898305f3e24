package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestLooksAreCounted(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	looked := observe(reg)
	looked(20*time.Millisecond, nil)
	looked(20*time.Millisecond, nil)
	looked(3*time.Second, errors.New("the API server is away"))
	if err := testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP core5g_node_agent_looks_total Looks at the node by result; after an error the DataplaneNode is not up to date.
# TYPE core5g_node_agent_looks_total counter
core5g_node_agent_looks_total{result="error"} 1
core5g_node_agent_looks_total{result="ok"} 2
`), "core5g_node_agent_looks_total"); err != nil {
		t.Error(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch f.GetName() {
		case "core5g_node_agent_look_duration_seconds":
			if got := f.GetMetric()[0].GetHistogram().GetSampleCount(); got != 3 {
				t.Errorf("%d durations", got)
			}
		case "core5g_node_agent_last_look_timestamp_seconds":
			if got := f.GetMetric()[0].GetGauge().GetValue(); time.Since(time.Unix(int64(got), 0)) > time.Minute {
				t.Errorf("last look at %v", got)
			}
		}
	}
}
