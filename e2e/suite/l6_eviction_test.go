package suite

import (
	"strings"
	"testing"
	"time"
)

// `kubectl drain` does not take the only UPF from its sessions: the budget refuses the eviction. (A dry run: the API
// server decides as it would, and nothing happens.)
func TestUnitIsNotEvicted(t *testing.T) {
	ctx := story(t, time.Minute)
	check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, "Ready", patience))
	unit := only(t, ctx, "upf", "")
	out, err := k.Run(ctx, "drain", unit.Spec.NodeName, "--dry-run=server", "--pod-selector=app.kubernetes.io/component=upf",
		"--delete-emptydir-data", "--ignore-daemonsets", "--timeout=3s")
	if err == nil {
		t.Fatalf("%s would be evicted:\n%s", unit.Metadata.Name, out)
	}
	if !strings.Contains(err.Error(), `"`+unit.Metadata.Name+`"`) || !strings.Contains(err.Error(), "violate the pod's disruption budget") {
		t.Errorf("kubectl drain says of %s: %v", unit.Metadata.Name, err)
	}
}
