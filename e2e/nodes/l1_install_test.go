package nodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/e2e/takeover"
)

// values of the chart: two pods of whatever may have two, and upf-u shares CPUs, so that two members find room.
const values = `
operator: {replicas: 2}
core:
  spec:
    n2: {transport: %s}
    controlPlane: Core5G
    amf: {workers: 2, terminators: 2}
    sessionManagement: {replicas: 2}
    subscriberDataReplicas: 2
    functions:
      - {name: upf-u, resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {memory: 256Mi}}}
      - {name: upf-c, resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {memory: 256Mi}}}
upf:
  spec:
    n4: {controlPlaneSubnets: ["%s"]}
    redundancy: {standbys: 1}
    placement: {lostNodeAfter: %s}
`

const (
	// settledUEs have a PDU session before a node dies, and keep it; movingUEs come and go all the time.
	settledUEs, movingUEs = 8, 4
	settledFrom           = 101
	movingFrom            = 201
	// probed are sessions of the probe.
	probed = 1000
)

func supi(n int) string { return fmt.Sprintf("imsi-208930000000%03d", n) }

func TestL1ACoreOfThreeNodes(t *testing.T) {
	ctx := story(t, 15*time.Minute)
	var nodes struct{ Items []cluster.Object }
	check(t, k.JSON(ctx, &nodes, "get", "nodes"))
	if len(nodes.Items) < 3 {
		t.Fatalf("the cluster has %d nodes, want 3: `make e2e-nodes`, or CORE5G_NODES=3 hack/cluster.sh up", len(nodes.Items))
	}
	for _, n := range nodes.Items {
		check(t, cluster.Eventually(ctx, patience, func() error { return nodeReady(ctx, n.Metadata.Name) }))
	}
	install(t, ctx)
	addUEs(t, ctx)

	t.Run("no two pods of a function are on one node", func(t *testing.T) {
		for _, selector := range []string{
			"component=amf", "component=amf-n2", "component=smf", "component=subscriber-data", "component=operator", "component=upf",
		} {
			check(t, cluster.Eventually(ctx, patience, func() error { return apart(ctx, "app.kubernetes.io/"+selector) }))
		}
	})
	t.Run("they have budgets", func(t *testing.T) {
		for _, name := range []string{"core5g-amf", "core5g-amf-n2", "core5g-smf", "core5g-subscriber-data", upfInstance} {
			if _, err := k.Run(ctx, "get", "poddisruptionbudget", name); err != nil {
				t.Error(err)
			}
		}
	})
}

// One session store becomes three while UEs are served: those that come begin with nothing, and are given what the first one has.
func TestL1BTheSessionStoreGrows(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	before := scene.Must[map[string]cluster.UEStatus](t)(settled(ctx))
	tr := k.StartTraffic(ctx, supi(settledFrom), cluster.DataNetwork, unitName)
	_, err := k.Run(ctx, "patch", "core5g", "core5g", "--type=merge", "-p", `{"spec":{"sessionStore":{"replicas":3}}}`)
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error { return members(ctx, 3) }))
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
	check(t, tr.Lossless())
	check(t, apart(ctx, "app.kubernetes.io/component=session-store"))
	_, err = k.Run(ctx, "get", "poddisruptionbudget", storeName)
	check(t, err)
	for _, anew := range changed(before, scene.Must[map[string]cluster.UEStatus](t)(settled(ctx))) {
		t.Error(anew)
	}
	for supi := range before { // what the store has of a UE is asked for, too
		check(t, errors.Join(k.RAN(ctx, nil, "idle", "--ue", supi), k.RAN(ctx, nil, "service-request", "--ue", supi)))
	}
}

// install has everything that may die on the other nodes: the first one is the last choice while pods are placed for the first time.
func install(t *testing.T, ctx context.Context) {
	t.Helper()
	const lastChoice = "core5g.dev/last-choice"
	_, err := k.Run(ctx, "taint", "nodes", firstNode, lastChoice+"=:PreferNoSchedule", "--overwrite")
	check(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	check(t, os.WriteFile(file, fmt.Appendf(nil, values, cluster.N2Transport(), cluster.PodNetwork(), lostNodeAfter), 0o600))
	_, err = k.HelmRun(ctx, "upgrade", "--install", cluster.Release, "charts/core5g", "--create-namespace", "--wait", "--timeout", "4m", "--values", file)
	check(t, err)
	check(t, k.Apply(ctx, "manifests/slice.yaml"))
	// The gNB and the data network are no part of what dies.
	ran, err := os.ReadFile(filepath.Join(k.Root, "manifests/samples/ran.yaml"))
	check(t, err)
	pinned := strings.ReplaceAll(string(ran), "\n      terminationGracePeriodSeconds: 5\n",
		"\n      terminationGracePeriodSeconds: 5\n      nodeSelector: {kubernetes.io/hostname: "+firstNode+"}\n")
	if pinned == string(ran) {
		t.Fatal("manifests/samples/ran.yaml has no pod to be placed")
	}
	_, err = k.Input(ctx, pinned, "apply", "--server-side", "--force-conflicts", "-f", "-")
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error { return allWell(ctx) }))
	for _, deploy := range []string{"deploy/dn", "deploy/ran"} {
		_, err := k.Run(ctx, "rollout", "status", deploy, "--timeout=120s")
		check(t, err)
	}
	_, err = k.Run(ctx, "taint", "nodes", firstNode, lastChoice+"-")
	check(t, err)
}

// addUEs gives the gNB UEs whose Subscribers there are, and switches the settled ones on.
func addUEs(t *testing.T, ctx context.Context) {
	t.Helper()
	var subscribers strings.Builder
	for _, of := range []struct{ from, count int }{{settledFrom, settledUEs}, {movingFrom, movingUEs}} {
		for n := of.from; n < of.from+of.count; n++ {
			fmt.Fprintf(&subscribers, `---
apiVersion: core5g.dev/v1beta1
kind: Subscriber
metadata: {name: ue-%d, namespace: core5g}
spec:
  supi: %s
  authentication: {secretRef: {name: phone-1}}
  slices: [{name: %s}]
`, n, supi(n), slice)
		}
		ues := fmt.Sprintf(`supi: %s
count: %d
k: 8baf473f2f8fd09487cccbd7097c6862
opc: 8e27b6af0e692e750f32667a3b14605d
sessions:
  - {id: 1, snssai: {sst: 1, sd: "010203"}, dnn: internet}
`, supi(of.from), of.count)
		var known cluster.RANStatus
		check(t, k.RAN(ctx, &known, "status"))
		if strings.Contains(fmt.Sprint(known), supi(of.from)) {
			continue // the suite runs once more
		}
		_, err := k.Input(ctx, ues, "exec", "-i", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "add-ue", "-f", "-")
		check(t, err)
	}
	_, err := k.Input(ctx, subscribers.String(), "apply", "--server-side", "--force-conflicts", "-f", "-")
	check(t, err)
	for n := settledFrom; n < settledFrom+settledUEs; n++ {
		check(t, cluster.Eventually(ctx, patience, func() error { return k.RAN(ctx, nil, "register", "--ue", supi(n)) }))
		_, err := k.WaitAttached(ctx, supi(n), time.Minute)
		check(t, err)
	}
}

// apart says which pods of a function are on one node.
func apart(ctx context.Context, selector string) error {
	pods, err := k.Pods(ctx, selector)
	if err != nil {
		return err
	}
	at := map[string]string{}
	for _, p := range pods {
		if p.Metadata.Name == takeover.PodName {
			continue
		}
		if other := at[p.Spec.NodeName]; other != "" || p.Spec.NodeName == "" {
			return fmt.Errorf("pods %q and %s are both on node %q", other, p.Metadata.Name, p.Spec.NodeName)
		}
		at[p.Spec.NodeName] = p.Metadata.Name
	}
	if len(at) < 2 {
		return fmt.Errorf("%d pods with %s, want two", len(at), selector)
	}
	return nil
}
