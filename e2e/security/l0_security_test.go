package security

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

const (
	// Of manifests/ and of the chart's defaults.
	core, slice = "core5g", "internet"
	phone       = "imsi-208930000000001"
	phoneSecret = "phone-1"
	dataNetwork = cluster.DataNetwork
	unit        = "upf-0"

	// patience is for what the core does on a machine where two polling cores may be all that there is.
	patience = 3 * time.Minute
)

var (
	k *cluster.Cluster
	// revision is the release's when the suite began, certified what certificates are made of and into that there
	// was then; restored is true once both are back.
	revision  string
	certified []string
	restored  bool
)

func TestMain(m *testing.M) { scene.Main(m, "CORE5G_E2E", run) }

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var err error
	if k, err = cluster.Open(ctx); err != nil {
		return 0, err
	}
	if revision, err = k.Revision(ctx); err != nil {
		return 0, err
	}
	if certified, err = certificateObjects(ctx); err != nil {
		return 0, err
	}
	if err := invite(ctx); err != nil {
		return 0, errors.Join(err, dismiss(context.Background()))
	}
	code := m.Run()
	if os.Getenv("CORE5G_KEEP") != "" {
		return code, nil
	}
	after, done := context.WithTimeout(context.Background(), 6*time.Minute)
	defer done()
	return code, errors.Join(restore(after), dismiss(after))
}

// certificateObjects are the names of the operator's Secrets, and of what it has asked cert-manager for.
func certificateObjects(ctx context.Context) ([]string, error) {
	out, err := k.Run(ctx, "get", "certificates.cert-manager.io,issuers.cert-manager.io,secrets",
		"-l", "app.kubernetes.io/managed-by=core5g-operator", "-o", "name")
	names := strings.Fields(out)
	slices.Sort(names)
	return names, err
}

// restore takes back what the suite has set.
func restore(ctx context.Context) error {
	if restored {
		return nil
	}
	if _, err := k.HelmRun(ctx, "rollback", cluster.Release, revision, "--wait", "--timeout", "2m"); err != nil {
		return err
	}
	// The operator takes away what it has asked cert-manager for, and what came of it.
	err := cluster.Eventually(ctx, patience, func() error {
		now, err := certificateObjects(ctx)
		if err == nil && !slices.Equal(now, certified) {
			err = fmt.Errorf("there are %s; before there were %s", strings.Join(now, " "), strings.Join(certified, " "))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := ready(ctx); err != nil {
		return err
	}
	restored = true
	return attached(ctx)
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs a cluster with cert-manager and enforced NetworkPolicies: CORE5G_E2E=1 (make e2e-security)")
	}
	return scene.Begin(t, limit, explain)
}

// explain prints what a person would look at first.
func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	scene.Show(t, ctx, k, 30,
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "core5gs,slices,upfinstances,certificates.cert-manager.io,issuers.cert-manager.io"},
		[]string{"get", "core5g", core, "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}`},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
		[]string{"exec", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "status"},
	)
}

var check = scene.Check

func ready(ctx context.Context) error {
	for _, object := range []string{"upfinstance/upf", "core5g/" + core, "slice/" + slice} {
		if err := k.WaitCondition(ctx, object, "Ready", patience); err != nil {
			return err
		}
	}
	return nil
}

// attached waits until the phone has a PDU session through which packets come back.
func attached(ctx context.Context) error {
	return cluster.Eventually(ctx, patience, func() error {
		if _, err := k.WaitAttached(ctx, phone, time.Second); err != nil {
			return err
		}
		p, err := k.Ping(ctx, phone, dataNetwork, 5, 100*time.Millisecond)
		if err == nil && p.Received != p.Sent {
			err = fmt.Errorf("%d of %d packets came back", p.Received, p.Sent)
		}
		return err
	})
}

// comesAnew has the phone leave and register again: every function of the core has a part in that.
func comesAnew(ctx context.Context) error {
	err := cluster.Eventually(ctx, patience, func() error {
		if err := k.RAN(ctx, nil, "deregister", "--ue", phone); err != nil {
			return err
		}
		return k.RAN(ctx, nil, "register", "--ue", phone)
	})
	return errors.Join(err, attached(ctx))
}

// running tells which pods of the core there are, and the run of each of their containers.
func running(ctx context.Context, selector string) (map[string]string, error) {
	return runs(ctx, "app.kubernetes.io/managed-by=core5g-operator"+selector)
}

func runs(ctx context.Context, selector string) (map[string]string, error) {
	pods, err := k.Pods(ctx, selector)
	found := map[string]string{}
	for _, pod := range pods {
		words := []string{pod.Metadata.UID}
		for _, c := range pod.Status.ContainerStatuses {
			words = append(words, c.Name+"="+c.ContainerID)
		}
		found[pod.Metadata.Name] = strings.Join(words, " ")
	}
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no pod with %s", selector)
	}
	return found, err
}
