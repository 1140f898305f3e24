package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// chooseServing has the core served by the wanted AMF and SMF in the wanted layout, as who installed the chart would, and waits until every Slice is.
func chooseServing(t *testing.T, ctx context.Context, wanted serving) {
	t.Helper()
	now, err := k.Run(ctx, "get", "core5g/core5g", "-o", "jsonpath={.spec.controlPlane} {.spec.layout}")
	check(t, err)
	if now != wanted.plane+" "+wanted.layout {
		args := []string{"upgrade", cluster.Release, "charts/core5g", "--reset-values", "--wait", "--timeout", "4m", "--values", servingValues(t, ctx, wanted)}
		if pods := cluster.PodNetwork(); pods != "" {
			args = append(args, "--set", "upf.spec.n4.controlPlaneSubnets={"+pods+"}")
		}
		_, err = k.HelmRun(ctx, args...)
		check(t, err)
	}
	// The Slices' conditions are of the SMF before, until the operator has seen the core: so are pods.
	smf, amf := "core5g.dev/slice", "!core5g.dev/access-management"
	if wanted.plane == cluster.Core5G {
		smf, amf = "core5g.dev/session-management=core", "core5g.dev/access-management"
	}
	aloneAre(t, ctx, wanted, "smf", smf)
	aloneAre(t, ctx, wanted, "amf", amf)
	for _, object := range []string{"core5g/core5g", "upfinstance/" + upfInstance, "slice/" + firstSlice} {
		check(t, k.WaitCondition(ctx, object, "Ready", 3*time.Minute))
	}
}

// aloneAre waits until all pods of the component, in whatever layout, are those of the wanted one with these labels, and ready.
func aloneAre(t *testing.T, ctx context.Context, wanted serving, component, labels string) {
	t.Helper()
	everywhere := fmt.Sprintf("app.kubernetes.io/component in (%s,%s)", component, cluster.ComponentOf(cluster.Fused, component))
	selector := "app.kubernetes.io/component=" + cluster.ComponentOf(wanted.layout, component) + "," + labels
	check(t, cluster.Eventually(ctx, 4*time.Minute, func() error {
		all, err := k.Pods(ctx, everywhere)
		if err != nil {
			return err
		}
		found, err := k.Pods(ctx, selector)
		if err != nil {
			return err
		}
		if len(found) == 0 || len(found) != len(all) {
			return fmt.Errorf("%d pods with %s, %d of them with %s: want all, and one at least", len(all), everywhere, len(found), selector)
		}
		for _, pod := range found {
			if !pod.Ready() {
				return fmt.Errorf("pod %s is not ready", pod.Metadata.Name)
			}
		}
		return nil
	}))
}

// servingValues is a file with the release's values and the wanted AMF and SMF, in the wanted layout.
func servingValues(t *testing.T, ctx context.Context, wanted serving) string {
	t.Helper()
	said, err := k.HelmRun(ctx, "get", "values", cluster.Release, "--output", "json")
	check(t, err)
	values := map[string]any{}
	check(t, json.Unmarshal([]byte(said), &values))
	if values == nil { // the release has none of its own
		values = map[string]any{}
	}
	cluster.ControlPlaneValues(values, wanted.plane, wanted.layout)
	text, err := json.Marshal(values)
	check(t, err)
	file := filepath.Join(t.TempDir(), "values.json")
	check(t, os.WriteFile(file, text, 0o600))
	return file
}

// otherPlane tells the stories of f with the wanted AMF and SMF, and goes back where the others are told without them.
func otherPlane(t *testing.T, ctx context.Context, want string, f func()) {
	t.Helper()
	if core.plane == want {
		f()
		return
	}
	// Whoever changes it is told, before it is done. kubectl prints warnings on its standard error.
	said, err := k.Shell(ctx, fmt.Sprintf(
		`kubectl -n %s patch core5g core5g --type merge --dry-run=server -p '{"spec":{"controlPlane":%q,"layout":null,"amf":{"workers":null}}}'`, cluster.Namespace, want))
	check(t, err)
	if !strings.Contains(said, "Warning: ") || !strings.Contains(said, "this changes whose AMF and SMF serve UEs") {
		t.Errorf("the change says\n%s\nwant a warning that UEs register anew", said)
	}
	before := core
	servedBy(t, ctx, serving{plane: want, layout: cluster.Distributed}, f)
	if before.plane == cluster.Free5GC {
		forgetStore(t, ctx)
	}
}

// servedBy tells the stories of f with the core served so, and goes back.
func servedBy(t *testing.T, ctx context.Context, wanted serving, f func()) {
	t.Helper()
	before := core
	defer func() {
		core = before
		ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute) // also where time was over
		defer cancel()
		chooseServing(t, ctx, before)
	}()
	core = wanted
	chooseServing(t, ctx, wanted)
	f()
}

// forgetStore deletes what stays of a session store on purpose, the keys and the claim, as who wants no session of it again.
func forgetStore(t *testing.T, ctx context.Context) {
	t.Helper()
	_, err := k.Run(ctx, "delete", "secret/core5g-session-store-keys", "pvc/core5g-session-store", "--ignore-not-found", "--timeout=60s")
	check(t, err)
}

// What free5GC's AMF and SMF serve: a phone attaches, its packets come back, and its session is released.
func TestFree5GCServes(t *testing.T) {
	ctx := story(t, 12*time.Minute)
	check(t, k.Delete(ctx, secondFile)) // whose phone has a session, too
	otherPlane(t, ctx, cluster.Free5GC, func() {
		attached(t, ctx, firstPhone)
		check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
		released(t, ctx)
	})
}

// released has the phone give its session up, and ask for it again.
func released(t *testing.T, ctx context.Context) {
	t.Helper()
	check(t, k.RAN(ctx, nil, "release", "--ue", firstPhone, "--session", "1"))
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 0) }))
	check(t, k.RAN(ctx, nil, "session", "--ue", firstPhone, "--id", "1", "--sst", "1", "--sd", "010203", "--dnn", "internet"))
	attached(t, ctx, firstPhone)
}
