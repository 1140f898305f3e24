package suite

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
)

// Addresses of N2's own network, of which IPAM gives each pod the next one: a gNB is told all of them.
const (
	n2First, n2Last = 16, 19
	n2OfRAN         = "172.30.2.100/24"
)

func n2Address(n int) string { return fmt.Sprintf("172.30.2.%d:38412", n) }

// n2Networks are where the terminators are, and where the gNB is: one bridge.
func n2Networks() string {
	const network = `---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: %s, namespace: %s}
spec:
  config: '{"cniVersion": "1.0.0", "name": "%[1]s", "type": "bridge", "bridge": "c5g-n2"%[3]s}'
`
	ipam := fmt.Sprintf(`, "ipam": {"type": "host-local", "ranges": [[{"subnet": "172.30.2.0/24", "rangeStart": "172.30.2.%d", "rangeEnd": "172.30.2.%d"}]]}`, n2First, n2Last)
	return fmt.Sprintf(network, "c5g-n2", cluster.Namespace, ipam) +
		fmt.Sprintf(network, "c5g-n2-ran", cluster.Namespace, `, "capabilities": {"ips": true}, "ipam": {"type": "static"}`)
}

// gNBs reach the N2 terminators on a network of N2's own, by addresses that status.n2 names, without a Service or the pod network in between; also the next pod,
// which has another address.
func TestN2OnANetworkOfItsOwn(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	check(t, k.Delete(ctx, secondFile)) // whose phone has a session, too
	_, err := k.Input(ctx, n2Networks(), "apply", "--server-side", "-f", "-")
	check(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		were := scene.Must[[]cluster.Object](t)(k.Component(ctx, componentOf(withN2)))
		check(t, errors.Join(attachN2(ctx, "null"), k.Apply(ctx, ranFile)))
		check(t, cluster.Eventually(ctx, patience, func() error { return n2IsAt(ctx, 0) }))
		_, err := k.Input(ctx, n2Networks(), "delete", "--ignore-not-found", "-f", "-")
		check(t, err)
		// The gNB may have come by the Service to a terminator of before, and loses its association with it.
		check(t, cluster.Eventually(ctx, patience, func() error { return k.Ended(ctx, componentOf(withN2), were) }))
		attached(t, ctx, firstPhone)
	})
	check(t, attachN2(ctx, `"c5g-n2"`))
	check(t, cluster.Eventually(ctx, patience, func() error { return n2IsAt(ctx, 1) }))

	var addresses []string
	for n := n2First; n <= n2Last; n++ {
		addresses = append(addresses, fmt.Sprintf("%q", n2Address(n)))
	}
	ran, err := os.ReadFile(filepath.Join(k.Root, ranFile))
	check(t, err)
	there := strings.NewReplacer(
		`amf: ["core5g-amf-n2:38412"]`, "amf: ["+strings.Join(addresses, ", ")+"]",
		`[{"name": "c5g-n3-ran"`, `[{"name": "c5g-n2-ran", "interface": "n2", "ips": ["`+n2OfRAN+`"]}, {"name": "c5g-n3-ran"`,
	).Replace(string(ran))
	if strings.Contains(there, "core5g-amf-n2:") || !strings.Contains(there, n2OfRAN) {
		t.Fatalf("%s has no N2 that could be changed", ranFile)
	}
	_, err = k.Input(ctx, there, "apply", "--server-side", "--field-manager=kubectl-client-side-apply", "-f", "-")
	check(t, err)
	_, err = k.Run(ctx, "rollout", "restart", "deploy/ran")
	check(t, err)
	_, err = k.Run(ctx, "rollout", "status", "deploy/ran", "--timeout=120s")
	check(t, err)
	attached(t, ctx, firstPhone)
	check(t, pingsAgain(ctx, firstPhone, patience))
	check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
	if ownPlane() {
		killed(t, ctx, componentOf(withN2), 1)
		check(t, cluster.Eventually(ctx, patience, func() error { return n2IsAt(ctx, 1) }))
	}
}

// attachN2 to the definition that the JSON value names, or to none.
func attachN2(ctx context.Context, definition string) error {
	_, err := k.Run(ctx, "patch", "core5g", "core5g", "--type=merge", "-p", `{"spec":{"n2":{"networkAttachmentDefinition":`+definition+`}}}`)
	return err
}

// n2IsAt says whether the core has so many addresses on N2's network, all of those that IPAM gives, and is Ready.
func n2IsAt(ctx context.Context, want int) error {
	var of struct {
		Status struct {
			N2         struct{ Addresses []string }
			Conditions []cluster.Condition
		}
	}
	if err := k.JSON(ctx, &of, "get", "core5g", "core5g"); err != nil {
		return err
	}
	said := of.Status.N2.Addresses
	if len(said) != want {
		return fmt.Errorf("status.n2.addresses is %q, want %d", said, want)
	}
	for _, address := range said {
		among := false
		for n := n2First; n <= n2Last; n++ {
			among = among || address == n2Address(n)
		}
		if !among {
			return fmt.Errorf("%s is none of the addresses that IPAM gives", address)
		}
	}
	for _, c := range of.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return fmt.Errorf("the core is not Ready: %s", c.Message)
		}
	}
	return nil
}
