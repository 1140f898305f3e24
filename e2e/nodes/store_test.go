package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
)

// storeName begins the names of the session store's pods.
const storeName = "core5g-session-store"

// bring the pods of functions to a node, softly: nothing else moves.
func bring(t *testing.T, ctx context.Context, node string, components ...string) {
	t.Helper()
	var nodes struct{ Items []cluster.Object }
	check(t, k.JSON(ctx, &nodes, "get", "nodes"))
	const lastChoice = "core5g.dev/last-choice"
	for _, n := range nodes.Items {
		if n.Metadata.Name != node {
			_, err := k.Run(ctx, "taint", "nodes", n.Metadata.Name, lastChoice+"=:PreferNoSchedule", "--overwrite")
			check(t, err)
		}
	}
	for _, component := range components {
		selector := "app.kubernetes.io/component=" + component
		pods := scene.Must[[]cluster.Object](t)(k.Pods(ctx, selector))
		if len(pods) == 1 && pods[0].Spec.NodeName == node {
			continue
		}
		_, err := k.Run(ctx, "delete", "pods", "-l", selector)
		check(t, err)
		check(t, cluster.Eventually(ctx, patience, func() error {
			pods, err := k.Pods(ctx, selector)
			if err == nil && (len(pods) != 1 || pods[0].Spec.NodeName != node) {
				err = fmt.Errorf("%d pods of %s, want one on %s", len(pods), component, node)
			}
			return err
		}))
	}
	for _, n := range nodes.Items {
		if n.Metadata.Name != node {
			_, err := k.Run(ctx, "taint", "nodes", n.Metadata.Name, lastChoice+"-")
			check(t, err)
		}
	}
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
}

// sentinel asks the Sentinel in a pod of the store.
func sentinel(ctx context.Context, pod string, args ...string) (string, error) {
	password, err := k.Run(ctx, "get", "secret", storeName, "-o", `go-template={{.data.password | base64decode}}`)
	if err != nil {
		return "", err
	}
	return k.Run(ctx, append([]string{"exec", pod, "-c", "sentinel", "--", "/usr/bin/redis-cli", "-e", "--no-auth-warning", "-p", "26379", "-a", strings.TrimSpace(password), "sentinel"}, args...)...)
}

// leader is the pod of the store's primary, of those on nodes that live.
func leader(ctx context.Context) (cluster.Object, error) {
	pods, err := k.Pods(ctx, "app.kubernetes.io/component=session-store")
	if err != nil {
		return cluster.Object{}, err
	}
	var services struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ ClusterIP string }
		}
	}
	if err := k.JSON(ctx, &services, "get", "services", "-l", "app.kubernetes.io/component=session-store"); err != nil {
		return cluster.Object{}, err
	}
	var said error
	for _, asked := range pods {
		out, err := sentinel(ctx, asked.Metadata.Name, "get-master-addr-by-name", "core5g")
		if err != nil {
			said = errors.Join(said, err)
			continue
		}
		address, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		for _, s := range services.Items {
			for _, pod := range pods {
				if s.Spec.ClusterIP == strings.TrimSpace(address) && memberOf(pod.Metadata.Name) == s.Metadata.Name {
					return pod, nil
				}
			}
		}
		said = errors.Join(said, fmt.Errorf("%s says that the primary is at %q, where there is no pod", asked.Metadata.Name, address))
	}
	return cluster.Object{}, fmt.Errorf("no pod of the session store says who the primary is: %w", said)
}

// members says whether so many pods of the session store are ready.
func members(ctx context.Context, want int) error {
	pods, err := k.Pods(ctx, "app.kubernetes.io/component=session-store")
	if err == nil && (len(pods) != want || slices.ContainsFunc(pods, func(p cluster.Object) bool { return !p.Ready() })) {
		err = fmt.Errorf("of %d pods of the session store, which should be %d, not all are ready", len(pods), want)
	}
	return err
}

// memberOf a pod's name: that of its Deployment.
func memberOf(pod string) string {
	parts := strings.Split(pod, "-")
	return strings.Join(parts[:max(len(parts)-2, 0)], "-")
}

func TestMemberOf(t *testing.T) {
	for pod, want := range map[string]string{"core5g-session-store-7d9c5b6f4-abcde": storeName, "core5g-session-store-2-7d9c5b6f4-abcde": storeName + "-2", "x": ""} {
		if got := memberOf(pod); got != want {
			t.Errorf("%s: %q, want %q", pod, got, want)
		}
	}
}

// leadStore has the session store's primary be on a node.
func leadStore(t *testing.T, ctx context.Context, node string) {
	t.Helper()
	primary := scene.Must[cluster.Object](t)(leader(ctx))
	if primary.Spec.NodeName == node {
		return
	}
	// The Sentinels choose: so the other one is away while they do.
	for _, pod := range scene.Must[[]cluster.Object](t)(k.Pods(ctx, "app.kubernetes.io/component=session-store")) {
		if pod.Spec.NodeName != node && pod.Metadata.UID != primary.Metadata.UID {
			_, err := k.Run(ctx, "delete", "pod", pod.Metadata.Name, "--grace-period=1")
			check(t, err)
		}
	}
	check(t, cluster.Eventually(ctx, patience, func() error {
		now, err := leader(ctx)
		if err == nil && now.Spec.NodeName != node {
			_, errAsked := sentinel(ctx, now.Metadata.Name, "failover", "core5g")
			err = errors.Join(fmt.Errorf("the primary is %s on node %s, want it on %s", now.Metadata.Name, now.Spec.NodeName, node), errAsked)
		}
		return err
	}))
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
	t.Logf("the session store's primary is on node %s", node)
}

// wellBut is allWell for everything but the member of the session store that waits for its node: it has a volume there.
func wellBut(ctx context.Context, victim string) error {
	if err := allWell(ctx); err != nil {
		return err
	}
	return noted(ctx, "core5g/core5g", "SessionStoreReady", "True", "is on node "+victim)
}

func noted(ctx context.Context, object, condition, status string, words ...string) error {
	var o cluster.Object
	if err := k.JSON(ctx, &o, "get", object); err != nil {
		return err
	}
	c, _ := o.Condition(condition)
	for _, w := range words {
		if c.Status != status || !strings.Contains(c.Message, w) {
			return fmt.Errorf("%s: %s=%s says %q, want %s and %q", object, condition, c.Status, c.Message, status, w)
		}
	}
	return nil
}

// notes waits until a condition says all these words.
func notes(ctx context.Context, object, condition, status string, words ...string) error {
	return cluster.Eventually(ctx, patience, func() error { return noted(ctx, object, condition, status, words...) })
}
