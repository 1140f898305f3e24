package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// A bad custom resource is refused at once, with a message that says what to write instead.
func TestBadResourcesAreRefused(t *testing.T) {
	slice := func(spec string) string {
		return "apiVersion: core5g.dev/v1alpha1\nkind: Slice\nmetadata: {name: bad}\nspec: " + spec
	}
	tests := []struct{ name, manifest, want string }{
		{
			"an SD that is not six hexadecimal digits",
			slice(`{snssai: {sst: 1, sd: "12345"}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0/16]}]}`),
			"sd",
		},
		{
			"an SST out of range",
			slice(`{snssai: {sst: 256}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0/16]}]}`),
			"sst",
		},
		{
			"a pool that is no prefix",
			slice(`{snssai: {sst: 1, sd: "010203"}, dataNetworks: [{dnn: internet, uePools: [10.50.0.0]}]}`),
			"uePools",
		},
		{
			"a slice without a data network",
			slice(`{snssai: {sst: 1, sd: "010203"}, dataNetworks: []}`),
			"dataNetworks",
		},
		{
			"a SUPI that is none",
			"apiVersion: core5g.dev/v1alpha1\nkind: Subscriber\nmetadata: {name: bad}\nspec: {supi: \"12345\", authentication: {secretRef: {name: x}}, slices: [{name: internet}]}",
			"supi",
		},
		{
			"UPF endpoints outside their subnet",
			"apiVersion: core5g.dev/v1alpha1\nkind: UPFInstance\nmetadata: {name: bad}\nspec: {n3: {attachment: {type: Bridge, bridge: n3}, subnet: 172.30.3.0/24, endpoints: 172.31.3.16/28}, n6: {attachment: {type: Bridge, bridge: n6}, address: 172.30.6.9/24, gateway: 172.30.6.1}}",
			"endpoints",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := story(t, time.Minute)
			_, err := k.Input(ctx, tt.manifest, "apply", "--dry-run=server", "-f", "-")
			if err == nil {
				t.Fatal("was accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the message does not name %s: %v", tt.want, err)
			}
			t.Log(err)
		})
	}
}

func TestSliceIdentityIsImmutable(t *testing.T) {
	ctx := story(t, time.Minute)
	_, err := k.Run(ctx, "patch", "slice", firstSlice, "--type=merge", "--dry-run=server", "-p", `{"spec":{"snssai":{"sst":2}}}`)
	if err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Fatalf("want a refusal that says immutable, got %v", err)
	}
}

// What another object has is refused at once too, by the operator's webhook, with the sentence that a condition
// would say.
func TestConflictsAreRefused(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	tests := []struct{ name, manifest, want string }{
		{
			"a UE pool", sliceOf("010204", "10.45.64.0/18"),
			"pool 10.45.64.0/18 of DNN internet overlaps pool 10.45.0.0/16 of Slice internet: write a pool that is free",
		},
		{
			"an S-NSSAI", sliceOf("010203", "10.50.0.0/16"),
			"S-NSSAI 1-010203 belongs to Slice internet already: add the data networks there, or write another S-NSSAI",
		},
		{
			"a SUPI",
			"apiVersion: core5g.dev/v1alpha1\nkind: Subscriber\nmetadata: {name: bad}\nspec: {supi: " + firstPhone + ", authentication: {secretRef: {name: phone-1}}, slices: [{name: internet}]}",
			"SUPI " + firstPhone + " belongs to Subscriber phone-1 already",
		},
		{
			"an N3 endpoint",
			"apiVersion: core5g.dev/v1alpha1\nkind: UPFInstance\nmetadata: {name: bad}\nspec: {n3: {attachment: {type: Bridge, bridge: c5g-n3}, subnet: 172.30.3.0/24, endpoints: 172.30.3.24/29}, n6: {attachment: {type: Bridge, bridge: c5g-n6}, address: 172.30.6.9/24, gateway: 172.30.6.1}}",
			"spec.n3.endpoints 172.30.3.24/29 overlaps 172.30.3.16/28 of UPFInstance upf",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, cluster.Eventually(ctx, patience, func() error { return refused(ctx, t, tt.manifest, tt.want) }))
		})
	}
	// A deletion is nobody's to refuse: who misses the Slice is said. kubectl prints warnings on its standard error.
	said, err := k.Shell(ctx, "kubectl -n "+cluster.Namespace+" delete slice "+firstSlice+" --dry-run=server")
	check(t, err)
	if want := "Slice internet still name it in spec.slices"; !strings.Contains(said, "Warning: ") || !strings.Contains(said, want) {
		t.Errorf("the deletion of a Slice says\n%s\nwant a warning with %q", said, want)
	}
}

// An operator that is down keeps nobody from working: the API server goes on without its answer. Of two, one goes on
// where the one that acts dies without a word: what is wrong stays refused, and what is right comes to be.
func TestNoOperatorNoRefusal(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	bad := sliceOf("010204", "10.45.64.0/18")
	scale := func(replicas int) {
		_, err := k.Run(ctx, "scale", "deployment/core5g-operator", fmt.Sprintf("--replicas=%d", replicas))
		check(t, err)
	}
	scale(0)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, _ = k.Run(ctx, "scale", "deployment/core5g-operator", "--replicas=1")
	})
	check(t, cluster.Eventually(ctx, patience, func() error {
		_, err := k.Input(ctx, bad, "apply", "--dry-run=server", "-f", "-")
		return err
	}))
	scale(2)
	stays := func() error { return refused(ctx, t, bad, "overlaps pool 10.45.0.0/16 of Slice internet") }
	check(t, cluster.Eventually(ctx, patience, stays))
	_, err := k.Run(ctx, "rollout", "status", "deployment/core5g-operator", "--timeout=1m")
	check(t, err)

	var leader string
	check(t, cluster.Eventually(ctx, patience, func() (err error) {
		leader, err = actingOperator(ctx)
		return err
	}))
	_, err = k.Run(ctx, "delete", "pod", leader, "--grace-period=0", "--force")
	check(t, err)
	// Its process outlives the pod by a moment, in which it still acts: what comes then says nothing of the other one.
	check(t, cluster.Eventually(ctx, patience, func() error {
		now, err := actingOperator(ctx)
		if err == nil && now == leader {
			err = fmt.Errorf("%s is dead and acts", now)
		}
		return err
	}))
	good := strings.Replace(sliceOf("010205", "10.77.0.0/16"), "name: bad", "name: good", 1)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, _ = k.Run(ctx, "delete", "slice", "good", "--ignore-not-found")
	})
	_, err = k.Input(ctx, good, "apply", "-f", "-")
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, stays))
	check(t, k.WaitCondition(ctx, "slice/good", "SMFReady", patience)) // it is not in the catalogue, and is looked at all the same
	scale(1)
}

// actingOperator is the name of the operator's pod that holds the Lease.
func actingOperator(ctx context.Context) (string, error) {
	holder, err := k.Run(ctx, "get", "lease", "core5g-operator", "-o", "jsonpath={.spec.holderIdentity}")
	if err != nil {
		return "", err
	}
	pod, _, _ := strings.Cut(holder, "_") // behind it, what tells two of one host apart
	if pod == "" {
		return "", errors.New("nobody holds the operator's Lease")
	}
	return pod, nil
}

func sliceOf(sd, pool string) string {
	return fmt.Sprintf("apiVersion: core5g.dev/v1alpha1\nkind: Slice\nmetadata: {name: bad}\nspec: {snssai: {sst: 1, sd: %q}, dataNetworks: [{dnn: internet, uePools: [%s]}]}", sd, pool)
}

// refused asks the API server without changing anything; an error where it admits, or says something else.
func refused(ctx context.Context, t *testing.T, manifest, want string) error {
	_, err := k.Input(ctx, manifest, "apply", "--dry-run=server", "-f", "-")
	if err == nil {
		return errors.New("was accepted")
	}
	if !strings.Contains(err.Error(), want) {
		return fmt.Errorf("want %q: %w", want, err)
	}
	t.Log(err)
	return nil
}
