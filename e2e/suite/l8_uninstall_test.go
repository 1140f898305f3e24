package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// Uninstalling leaves nothing but what is kept on purpose: the CRDs, and what sessions could be read with again.
func TestUninstallLeavesNothing(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	check(t, k.Delete(ctx, ranFile, secondFile, sliceFile))
	_, err := k.HelmRun(ctx, "uninstall", cluster.Release, "--wait", "--timeout", "5m")
	check(t, err)

	if ownPlane() {
		_, err := k.Run(ctx, "get", "secret/core5g-session-store-keys", "pvc/core5g-session-store")
		check(t, err)
		forgetStore(t, ctx)
	}
	kinds := "all,configmaps,secrets,serviceaccounts,roles,rolebindings,jobs,leases,persistentvolumeclaims,core5gs,slices,upfinstances,subscribers,network-attachment-definitions"
	check(t, cluster.Eventually(ctx, patience, func() error {
		out, err := k.Run(ctx, "get", kinds, "-o", "name")
		if err != nil {
			return err
		}
		var left []string
		for _, name := range strings.Fields(out) {
			// Kubernetes' own in every namespace.
			if name != "configmap/kube-root-ca.crt" && name != "serviceaccount/default" {
				left = append(left, name)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("left in namespace %s: %s", cluster.Namespace, strings.Join(left, " "))
		}
		return nil
	}))
	// The chart labels everything that it makes.
	out, err := k.Run(ctx, "get", "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/name=core5g", "-o", "name")
	check(t, err)
	if out != "" {
		t.Errorf("left in the cluster: %s", strings.Join(strings.Fields(out), " "))
	}
	crds, err := k.Run(ctx, "get", "crds", "-o", "name")
	check(t, err)
	if !strings.Contains(crds, "slices.core5g.dev") {
		t.Error("the CRDs are gone, and with them every site's slices")
	}
}
