package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/grafana"
	"core5g.dev/core5g/e2e/scene"
)

// Every pod of the core with metrics is found by the PodMonitor, and answers.
func TestEverythingIsScraped(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	want := []string{"operator", "node-agent", "amf", "smf", "nrf", "pcf", "chf", "subscriber-data", "upf"}
	check(t, cluster.Eventually(ctx, patience, func() error {
		targets, err := prom.Targets(ctx)
		if err != nil {
			return err
		}
		missing := slices.Clone(want)
		for _, target := range targets {
			if target.Labels["namespace"] != cluster.Namespace {
				continue
			}
			if target.Health != "up" {
				return fmt.Errorf("pod %s is scraped and %s: %s", target.Labels["pod"], target.Health, target.LastError)
			}
			missing = slices.DeleteFunc(missing, func(c string) bool { return c == target.Labels["component"] })
		}
		if len(missing) > 0 {
			return fmt.Errorf("nothing is scraped of %s", strings.Join(missing, ", "))
		}
		return nil
	}))
}

// Prometheus has loaded the chart's rules and can run them.
func TestRulesRun(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	check(t, cluster.Eventually(ctx, patience, func() error {
		rules, err := prom.Rules(ctx)
		if err != nil {
			return err
		}
		count := map[string]int{}
		for _, r := range rules {
			if r.Health != "ok" {
				return fmt.Errorf("rule %s is %s: %s", r.Name, r.Health, r.LastError)
			}
			count[r.Type]++
		}
		if count["alerting"] < 18 || count["recording"] < 15 {
			return fmt.Errorf("%d alerts and %d recording rules are loaded", count["alerting"], count["recording"])
		}
		return nil
	}))
}

// firing lists the alerts of the chart that fire.
func firing(ctx context.Context) ([]grafana.Alert, error) {
	alerts, err := prom.Alerts(ctx)
	return slices.DeleteFunc(alerts, func(a grafana.Alert) bool {
		return a.State != "firing" || !strings.HasPrefix(a.Labels["alertname"], "Core5G")
	}), err
}

// quiet waits until no alert fires.
func quiet(ctx context.Context, limit time.Duration) error {
	return cluster.Eventually(ctx, limit, func() error {
		alerts, err := firing(ctx)
		if err != nil {
			return err
		}
		for _, alert := range alerts {
			return fmt.Errorf("%s still fires: %s", alert.Labels["alertname"], alert.Annotations["description"])
		}
		return nil
	})
}

// Nobody is woken by a core that works.
func TestHealthyCoreAlertsNobody(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	check(t, k.Apply(ctx, "manifests/slice.yaml", "manifests/slice-second.yaml"))
	for _, slice := range []string{firstSlice, secondSlice} {
		check(t, k.WaitCondition(ctx, "slice/"+slice, "Ready", patience))
	}
	scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, firstPhone, patience))
	check(t, register(ctx, secondPhone))
	scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, secondPhone, patience))
	check(t, quiet(ctx, patience))
}

func register(ctx context.Context, supi string) error {
	return cluster.Eventually(ctx, patience, func() error { return k.RAN(ctx, nil, "register", "--ue", supi) })
}
