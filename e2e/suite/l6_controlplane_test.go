package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// chooseServing has the core served by the wanted AMF and SMF in the wanted layout, as who installed the chart would, and waits until every Slice is.
func chooseServing(t *testing.T, ctx context.Context, wanted cluster.Serving) {
	t.Helper()
	check(t, k.Serve(ctx, wanted, "upfinstance/"+upfInstance, "slice/"+firstSlice))
}

// otherPlane tells the stories of f with the wanted AMF and SMF, and goes back where the others are told without them.
func otherPlane(t *testing.T, ctx context.Context, want string, f func()) {
	t.Helper()
	if core.Plane == want {
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
	servedBy(t, ctx, cluster.Serving{Plane: want, Layout: cluster.Distributed}, f)
	if before.Plane == cluster.Free5GC {
		forgetStore(t, ctx)
	}
}

// servedBy tells the stories of f with the core served so, and goes back.
func servedBy(t *testing.T, ctx context.Context, wanted cluster.Serving, f func()) {
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
