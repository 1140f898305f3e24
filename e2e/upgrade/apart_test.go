package upgrade

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/cluster"
)

// operatorRelease is that of chart core5g-operator, in a namespace of its own.
const (
	operatorRelease   = "core5g-operator"
	operatorNamespace = "core5g-system"
)

// TestApart takes a release apart under traffic, as the chart's README says: its operator is handed to one of all namespaces, in a release of its own, and taken back. The core is the same
// object throughout; functions are replaced once each way, because they get other accounts.
func TestApart(t *testing.T) {
	u, ctx := alone(t, "CORE5G_APART", "e2e-apart")
	before := u.identity(t, ctx)
	chart := []string{"upgrade", cluster.Release, "charts/core5g", "--reset-then-reuse-values", "--wait", "--timeout", "4m"}

	u.withTraffic(t, ctx, func() {
		_, err := u.Run(ctx, "annotate", "--overwrite", "core5g/core5g", "upfinstance/upf", "helm.sh/resource-policy=keep")
		check(t, err)
		u.helm(t, ctx, append(slices.Clone(chart), "--set", "operator.replicas=0")...)
		install := []string{"install", operatorRelease, "charts/core5g-operator", "-n", operatorNamespace, "--create-namespace", "--take-ownership", "--wait", "--timeout", "4m",
			"--set", "operator.watchNamespaces={*}"}
		if registry := os.Getenv("CORE5G_REGISTRY"); registry != "" {
			install = append(install, "--set", "images.registry="+registry)
		}
		u.helm(t, ctx, install...)
		u.runAs(t, ctx, "core5g-session-management-account", "core5g-access-management-account", "core5g-subscriber-data-account")
		u.helm(t, ctx, append(slices.Clone(chart), "--take-ownership", "--set", "operator.create=false,core.keep=true,upf.keep=true")...)
	})
	u.stays(t, ctx, before)
	if _, err := u.Run(ctx, "get", "deploy/core5g-operator"); err == nil {
		t.Error("the release has its operator yet")
	}
	// The other one acts: a change of the core is followed.
	u.helm(t, ctx, append(slices.Clone(chart), "--set-json", `networkPolicy.metricsFrom=[{"podSelector":{"matchLabels":{"app":"apart"}}}]`)...)
	u.followed(t, ctx, "apart")

	u.withTraffic(t, ctx, func() {
		u.helm(t, ctx, "uninstall", operatorRelease, "-n", operatorNamespace, "--wait", "--timeout", "4m")
		u.helm(t, ctx, append(slices.Clone(chart), "--take-ownership", "--set", "operator.create=true,operator.replicas=1", "--set-json", "networkPolicy.metricsFrom=[]")...)
		u.runAs(t, ctx, "core5g-session-management", "core5g-access-management", "core5g-subscriber-data")
	})
	u.stays(t, ctx, before)
	u.followed(t, ctx, "[]")
	_, err := u.Run(ctx, "delete", "namespace", operatorNamespace, "--wait", "--timeout=120s")
	check(t, err)
	_, err = u.Run(ctx, "annotate", "core5g/core5g", "upfinstance/upf", "helm.sh/resource-policy-")
	check(t, err)
}

// identity is what tells the core and its UPF from ones that were made anew.
func (u upgrade) identity(t *testing.T, ctx context.Context) string {
	t.Helper()
	said, err := u.Run(ctx, "get", "core5g/core5g", "upfinstance/upf", "-o", "jsonpath={.items[*].metadata.uid}")
	check(t, err)
	if len(strings.Fields(said)) != 2 {
		t.Fatalf("core and UPF are %q", said)
	}
	return said
}

func (u upgrade) stays(t *testing.T, ctx context.Context, before string) {
	t.Helper()
	if now := u.identity(t, ctx); now != before {
		t.Errorf("core and UPF are %s, and were %s", now, before)
	}
}

// runAs waits until SMF, AMF and subscriber data run as these accounts, and none of their pods as another.
func (u upgrade) runAs(t *testing.T, ctx context.Context, accounts ...string) {
	t.Helper()
	for i, component := range []string{"smf", "amf", "subscriber-data"} {
		check(t, cluster.Eventually(ctx, patience, func() error {
			said, err := u.Run(ctx, "get", "pods", "-l", "app.kubernetes.io/component="+component,
				"-o", `jsonpath={range .items[*]}{.spec.serviceAccountName} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
			if err != nil {
				return err
			}
			lines := strings.Split(strings.TrimSpace(said), "\n")
			if slices.ContainsFunc(lines, func(line string) bool { return line != accounts[i]+" True" }) {
				return fmt.Errorf("%s: %q, want all of account %s and ready", component, lines, accounts[i])
			}
			return nil
		}))
	}
}

// followed waits until the core has these peers for its metrics, which restart nothing, and its operator has seen that.
func (u upgrade) followed(t *testing.T, ctx context.Context, want string) {
	t.Helper()
	check(t, cluster.Eventually(ctx, patience, func() error {
		said, err := u.Run(ctx, "get", "core5g/core5g", "-o", "jsonpath={.metadata.generation} {.status.observedGeneration} {.spec.networkPolicy.metricsFrom}")
		if err != nil {
			return err
		}
		if f := strings.Fields(said); len(f) != 3 || f[0] != f[1] || !strings.Contains(f[2], want) {
			return fmt.Errorf("generation, the one that was seen, and peers are %q, want two that are the same, and %s", said, want)
		}
		return nil
	}))
	u.ready(t, ctx)
}
