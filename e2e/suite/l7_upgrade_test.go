package suite

import (
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// A new version of the chart and its operator restarts no UPF.
func TestUpgradeDoesNotRestartTheUPF(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	attached(t, ctx, firstPhone)
	upf, operator := incarnation(only(t, ctx, "upf", "")), only(t, ctx, "operator", "")
	tr := startTraffic(ctx, firstPhone)

	_, err := k.HelmRun(ctx, "upgrade", cluster.Release, "charts/core5g", "--reuse-values", "--wait", "--timeout", "4m",
		// Of a value that no operator before had, so that the story can be told again.
		"--set", "operator.podAnnotations.upgraded="+operator.Metadata.UID, "--set", "operator.resources.limits.memory=300Mi")
	check(t, err)
	check(t, k.WaitCondition(ctx, "core5g/core5g", "Ready", 3*time.Minute))
	lossless(t, tr)

	if now := only(t, ctx, "operator", ""); now.Metadata.UID == operator.Metadata.UID {
		t.Error("the operator was not replaced, so nothing was upgraded")
	}
	if now := incarnation(only(t, ctx, "upf", "")); now != upf {
		t.Errorf("the UPF was restarted: %s, was %s", now, upf)
	}
	attached(t, ctx, firstPhone)
}
