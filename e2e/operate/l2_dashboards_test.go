package operate

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/grafana"
	"core5g.dev/core5g/e2e/scene"
)

// traffic is what phones do in a quarter of a minute: both come anew, talk, fall idle and are called, until the limit.
func traffic(t *testing.T, ctx context.Context, limit time.Duration) {
	t.Helper()
	end := time.Now().Add(limit)
	for time.Now().Before(end) {
		for _, phone := range []string{firstPhone, secondPhone} {
			scene.Must[cluster.Ping](t)(k.Ping(ctx, phone, dataNetwork, 100, 20*time.Millisecond))
			scene.Must[cluster.Throughput](t)(k.Throughput(ctx, phone, dataNetwork, "up", 2))
			scene.Must[cluster.Throughput](t)(k.Throughput(ctx, phone, dataNetwork, "down", 2))
		}
		ue := scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, firstPhone, patience))
		check(t, k.RAN(ctx, nil, "idle", "--ue", firstPhone))
		scene.Must[string](t)(k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", ue.Sessions[0].Address, "-count", "20", "-interval", "50ms"))
		check(t, k.RAN(ctx, nil, "deregister", "--ue", secondPhone))
		check(t, register(ctx, secondPhone))
		scene.Must[cluster.UEStatus](t)(k.WaitAttached(ctx, secondPhone, patience))
	}
}

// pages are the dashboards that the cluster holds: what Grafana's sidecar would find.
func pages(t *testing.T, ctx context.Context) []*grafana.Page {
	t.Helper()
	var list struct {
		Items []struct {
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	check(t, k.JSON(ctx, &list, "get", "configmaps", "-l", "grafana_dashboard=1"))
	shipped := scene.Must[[]string](t)(filepath.Glob(filepath.Join(k.Root, "charts/core5g/files/dashboards/*.json")))
	if len(list.Items) != len(shipped) {
		t.Fatalf("%d ConfigMaps with label grafana_dashboard, %d dashboards are shipped", len(list.Items), len(shipped))
	}
	var all []*grafana.Page
	for _, item := range list.Items {
		for name, content := range item.Data {
			page, err := grafana.Parse(name, []byte(content))
			check(t, err)
			all = append(all, page)
		}
	}
	return all
}

// Every query of every panel runs, and shows something under traffic, but where the panel itself says
// what it means that it does not.
func TestDashboardsUnderTraffic(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	traffic(t, ctx, 30*time.Second) // a panel is asked for all of the time since the suite began, of which rates need some scrapes
	queries, empty := 0, 0
	// What was just counted needs a scrape and a rule's turn until it is a rate.
	deadline := time.Now().Add(45 * time.Second)
	for _, page := range pages(t, ctx) {
		t.Run(page.UID, func(t *testing.T) {
			var answered *grafana.Answered
			err := cluster.Eventually(ctx, time.Until(deadline), func() error {
				var err error
				if answered, err = ask(ctx, page); err != nil {
					return err
				}
				return answered.Missing()
			})
			if err != nil {
				t.Error(err)
			}
			if answered == nil {
				return
			}
			for _, a := range answered.Answers {
				queries += len(a.Panel.Targets)
				if len(a.Series) == 0 && a.Panel.FieldConfig.Defaults.NoValue != "" {
					empty++
					t.Logf("%q is empty: %s", a.Panel.Title, a.Panel.FieldConfig.Defaults.NoValue)
				}
			}
		})
	}
	t.Logf("%d queries answered, %d panels empty as they may be", queries, empty)
}

func ask(ctx context.Context, page *grafana.Page) (*grafana.Answered, error) {
	now := time.Now()
	return page.Ask(ctx, prom, grafana.Span{From: began, To: now}, map[string]string{"namespace": cluster.Namespace})
}

// draw draws all pages, from the suite's begin until now.
func draw(t *testing.T, ctx context.Context) map[string]*grafana.Answered {
	t.Helper()
	drawn := map[string]*grafana.Answered{}
	for _, page := range pages(t, ctx) {
		answered := scene.Must[*grafana.Answered](t)(ask(ctx, page))
		file := artefact(t, strings.TrimSuffix(page.UID, ".json")+".svg")
		check(t, answered.Picture(file))
		check(t, file.Close())
		drawn[page.UID] = answered
	}
	return drawn
}
