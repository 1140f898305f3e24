package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"core5g.dev/core5g/hack/repository"
)

// Clusters of several names stand side by side below out/, each found by its name; a name that would be a path is none.
func TestNamedClusters(t *testing.T) {
	// A clone in which two are up.
	clone := t.TempDir()
	if out, err := exec.Command("cp", "-r", repository.Path(t, "hack"), clone).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, state := range []string{"cluster", "cluster-edge"} {
		folder := filepath.Join(clone, "out", state)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "kubeconfig"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for what, c := range map[string]struct{ instance, want string }{
		"the usual one":          {"", "/out/cluster/kubeconfig"},
		"another":                {"edge", "/out/cluster-edge/kubeconfig"},
		"one that is not up":     {"centre", "no cluster is up"},
		"a path":                 {"/../..", `CORE5G_INSTANCE is "/../.."; it must be up to 11 lower-case letters and digits`},
		"a name that is no link": {"abcdefghijkl", "it must be up to 11"},
	} {
		t.Run(what, func(t *testing.T) {
			cmd := exec.Command(filepath.Join(clone, "hack/cluster.sh"), "kubeconfig")
			cmd.Env = append(os.Environ(), "CORE5G_CLUSTER=embedded", "CORE5G_INSTANCE="+c.instance)
			out, _ := cmd.CombinedOutput()
			if !strings.Contains(string(out), c.want) {
				t.Errorf("said %q, want %q", out, c.want)
			}
		})
	}
}
