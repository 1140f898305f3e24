package upgrade

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/e2e/cluster"
)

// TestRestore backs the core up as docs/upgrade.md says, empties the namespace, and puts everything back: the phone registers, and whoever knew an address finds
// the same there. The gNB is not part of a core, and is switched off meanwhile.
func TestRestore(t *testing.T) {
	u, ctx := alone(t, "CORE5G_RESTORE", "e2e-restore")
	values := filepath.Join(t.TempDir(), "values.yaml")
	said, err := u.HelmRun(ctx, "get", "values", cluster.Release, "-o", "yaml")
	check(t, err)
	check(t, os.WriteFile(values, []byte(said), 0o600))
	before := u.givenOut(t, ctx)
	for what, said := range before {
		if said == "" {
			t.Fatalf("nothing is said of %s, so nothing could be missed: %v", what, before)
		}
	}
	backup := u.backup(t, ctx)

	check(t, u.Delete(ctx, "manifests/samples/ran.yaml"))
	check(t, u.Delete(ctx, "manifests/slice.yaml"))
	u.helm(t, ctx, "uninstall", cluster.Release, "--wait", "--timeout", "5m")
	_, err = u.Run(ctx, "delete", "subscribers,slices,secrets,configmaps,persistentvolumeclaims", "--all", "--wait", "--timeout=120s")
	check(t, err)

	// As docs/upgrade.md#backup-and-restore says.
	install := []string{"charts/core5g", "-f", values, "--wait", "--timeout", "5m"}
	u.helm(t, ctx, append([]string{"install", cluster.Release, "--set", "core.create=false", "--set", "upf.create=false"}, install...)...)
	_, err = u.Input(ctx, backup, "apply", "--server-side", "--force-conflicts", "-f", "-")
	check(t, err)
	u.helm(t, ctx, append([]string{"upgrade", cluster.Release}, install...)...)
	u.ready(t, ctx)
	if diff := cmp.Diff(before, u.givenOut(t, ctx)); diff != "" {
		t.Errorf("what the core is known by (-before +after):\n%s", diff)
	}
	check(t, u.Apply(ctx, "manifests/samples/ran.yaml"))
	u.attached(t, ctx)
}

// backup is what docs/upgrade.md takes along.
func (u upgrade) backup(t *testing.T, ctx context.Context) string {
	t.Helper()
	d, err := readDocumented(u.Root)
	check(t, err)
	list, err := u.Run(ctx, "get", d.resources, "-o", "json")
	check(t, err)
	backup, err := d.of(list)
	check(t, err)
	return backup
}

// givenOut is what others know the core by: ClusterIPs of its Services, where gNBs go, N3 endpoints, and the sealing keys.
func (u upgrade) givenOut(t *testing.T, ctx context.Context) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, args := range map[string][]string{
		"N2":           {"get", "core5g/core5g", "-o", "jsonpath={.status.n2.address}"},
		"endpoints":    {"get", "upfinstance/upf", "-o", "jsonpath={.status.endpoints}"},
		"units":        {"get", "upfinstance/upf", "-o", "jsonpath={.status.unitStatuses[*].n4Address}"},
		"sealing keys": {"get", "secrets", "-l", "app.kubernetes.io/component=session-store", "-o", `jsonpath={range .items[?(@.metadata.name=="core5g-session-store-keys")]}{.data}{end}`},
		"Services":     {"get", "services", "-l", "app.kubernetes.io/managed-by=core5g-operator", "-o", `jsonpath={range .items[*]}{.metadata.name}={.spec.clusterIP} {end}`},
	} {
		said, err := u.Run(ctx, args...)
		check(t, err)
		out[name] = strings.TrimSpace(said)
	}
	return out
}
