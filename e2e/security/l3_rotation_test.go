package security

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// All certificates at once are made anew while the phone is attached: no packet is lost, nothing restarts,
// and the phone can come anew.
func TestRenewalUnderTraffic(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	check(t, attached(ctx))
	pods := scene.Must[map[string]string](t)(running(ctx, ""))
	before := scene.Must[map[string]string](t)(serials(ctx))
	requests := strings.Fields(scene.Must[string](t)(k.Run(ctx, "get", "certificates.cert-manager.io",
		"-l", "app.kubernetes.io/managed-by=core5g-operator,app.kubernetes.io/component!=ca", "-o", `jsonpath={range .items[*]}{.spec.secretName}{"\n"}{end}`)))
	if len(requests) < len(sbi)+1 {
		t.Fatalf("cert-manager keeps %d certificates, want one of each function and the operator's: %v", len(requests), requests)
	}
	tr := k.StartTraffic(ctx, phone, dataNetwork, unit)
	stop := func() { tr.Stop() }
	defer func() { stop() }()
	began := time.Now()

	_, err := k.Run(ctx, append([]string{"delete", "secret"}, requests...)...)
	check(t, err)
	var after map[string]string
	check(t, cluster.Eventually(ctx, patience, func() error {
		if after, err = serials(ctx); err != nil {
			return err
		}
		for component, serial := range after {
			if serial == before[component] {
				return fmt.Errorf("the certificate of %s is the old one", component)
			}
		}
		return nil
	}))
	made := time.Since(began)
	// The kubelet looks for a changed Secret once a minute or so, and whenever the pod itself has changed.
	_, err = k.Run(ctx, "annotate", "pods", "--overwrite",
		"-l", "app.kubernetes.io/managed-by=core5g-operator,app.kubernetes.io/component notin (upf, database)", "core5g.dev/look="+began.Format("150405"))
	check(t, err)
	check(t, inUse(ctx, after, patience))
	used := time.Since(began)
	check(t, k.WaitCondition(ctx, "core5g/"+core, "CertificatesReady", patience))

	stop = func() {}
	check(t, tr.Lossless())
	t.Logf("%d certificates made anew after %.1f s, in use after %.1f s; %d packets sent, all came back", len(requests), made.Seconds(), used.Seconds(), tr.Sent)
	sameRuns(t, ctx, pods)
	check(t, comesAnew(ctx))
	check(t, ready(ctx))
	sameRuns(t, ctx, pods)
}

func sameRuns(t *testing.T, ctx context.Context, before map[string]string) {
	t.Helper()
	now := scene.Must[map[string]string](t)(running(ctx, ""))
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			t.Errorf("pod %s was restarted: %q, was %q", name, now[name], before[name])
		}
	}
}
