package operate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// incident is something that goes wrong, and who has to hear of it.
type incident struct {
	name string
	// alerts that fire; "A|B" where one of them is enough.
	alerts []string
	// cause makes it go wrong, and go on being wrong until undo.
	cause func(t *testing.T, ctx context.Context) (undo func())
}

// Every incident is told within two minutes of its cause, and no longer once it is over. Those of the
// first group disturb each other not; those of the second come one after the other.
func TestAlertsFireAndClear(t *testing.T) {
	ctx := story(t, 20*time.Minute)
	check(t, quiet(ctx, patience))
	t.Run("together", func(t *testing.T) {
		for _, i := range []incident{
			{"phones with wrong keys", []string{"Core5GAuthenticationFailures", "Core5GRegistrationSuccessLow"}, wrongKeys},
			{"packets for nobody", []string{"Core5GUPFDropsPackets"}, packetsForNobody},
			{"more than a phone can be sent", []string{"Core5GUPFWorkerSaturated"}, saturate},
			{"a flood for a phone that sleeps", []string{"Core5GUPFBuffersFull"}, floodIdlePhone},
		} {
			t.Run(i.name, func(t *testing.T) {
				t.Parallel()
				i.fires(t, ctx)
			})
		}
	})
	for _, i := range []incident{
		{"the UPF is killed", []string{"Core5GUPFRestarted"}, killUPF},
		{"the UPF is killed and cannot come back", []string{"Core5GUPFDown|Core5GUPFUnplaced", "Core5GSMFWithoutUPF"}, banish("upf", "")},
		{"an SMF is killed and cannot come back", []string{"Core5GFunctionDown"}, banish("smf", firstSlice)},
	} {
		t.Run(i.name, func(t *testing.T) { i.fires(t, ctx) })
	}
	t.Run("all clear", func(t *testing.T) {
		over := time.Now()
		check(t, quiet(ctx, alertLimit))
		t.Logf("no alert fires %s after the last incident was over", time.Since(over).Round(time.Second))
		must[cluster.UEStatus](t)(k.WaitAttached(ctx, firstPhone, patience))
	})
}

func (i incident) fires(t *testing.T, ctx context.Context) {
	t.Helper()
	start := time.Now()
	undo := sync.OnceFunc(i.cause(t, ctx))
	t.Cleanup(undo)
	for _, want := range i.alerts {
		check(t, cluster.Eventually(ctx, alertLimit-time.Since(start), func() error {
			all, err := firing(ctx)
			if err != nil {
				return err
			}
			for name := range strings.SplitSeq(want, "|") {
				if annotations, found := all[name]; found {
					t.Logf("%s fires after %s: %s", name, time.Since(start).Round(time.Second), annotations["description"])
					return runbook(t, ctx, name, annotations["runbook_url"])
				}
			}
			return fmt.Errorf("%s does not fire", want)
		}))
	}
	undo()
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// runbook follows the alert's link and runs the commands of its page, as who reads it would.
func runbook(t *testing.T, ctx context.Context, alert, url string) error {
	path := filepath.Join(k.Root, url)
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("runbook_url of %s: %w", alert, err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) == 0 {
		return fmt.Errorf("%s has no command to run", url)
	}
	for _, block := range blocks {
		if out, err := k.Shell(ctx, block[1]); err != nil {
			t.Errorf("%s: %v\n%s%s", url, err, block[1], out)
		}
	}
	return nil
}

// wrongKeys adds phones whose K is not the one that the core knows. They try again and again.
func wrongKeys(t *testing.T, ctx context.Context) (undo func()) {
	const first, phones = 901, 4
	manifest := `apiVersion: v1
kind: Secret
metadata: {name: wrong-keys, namespace: core5g}
type: Opaque
stringData: {k: 8baf473f2f8fd09487cccbd7097c6862, opc: 8e27b6af0e692e750f32667a3b14605d}
`
	var supis []string
	for n := range phones {
		supis = append(supis, fmt.Sprintf("imsi-208930000000%d", first+n))
		manifest += fmt.Sprintf(`---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: wrong-keys-%d, namespace: core5g}
spec:
  supi: %s
  authentication: {secretRef: {name: wrong-keys}}
  slices: [{name: %s}]
`, n, supis[n], firstSlice)
	}
	must[string](t)(k.Input(ctx, manifest, "apply", "-f", "-"))
	must[string](t)(k.Input(ctx, fmt.Sprintf(`{"supi": %q, "count": %d, "k": "00112233445566778899aabbccddeeff",
		"opc": "8e27b6af0e692e750f32667a3b14605d", "autostart": true,
		"sessions": [{"id": 1, "snssai": {"sst": 1, "sd": "010203"}, "dnn": "internet"}]}`, supis[0], phones),
		"exec", "-i", "deploy/ran", "-c", "ran", "--", "/ran", "ctl", "add-ue", "-f", "-"))
	return func() {
		for _, supi := range supis {
			if err := k.RAN(ctx, nil, "remove-ue", "--ue", supi); err != nil {
				t.Errorf("remove-ue: %v", err)
			}
		}
		if _, err := k.Input(ctx, manifest, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			t.Error(err)
		}
	}
}

// repeat calls what until it is told to stop, and waits for the last call. Errors are those of a core in
// trouble, and nobody's.
func repeat(ctx context.Context, what func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = what(ctx)
		}
	}()
	return func() { cancel(); <-done }
}

// packetsForNobody sends from the data network to an address of the slice's pool that no phone has.
func packetsForNobody(_ *testing.T, ctx context.Context) (undo func()) {
	return repeat(ctx, func(ctx context.Context) error {
		_, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", "10.45.200.200", "-count", "2000", "-interval", "2ms")
		return err
	})
}

// saturate keeps the first phone's transfers going.
func saturate(_ *testing.T, ctx context.Context) (undo func()) {
	return repeat(ctx, func(ctx context.Context) error {
		_, err := k.Throughput(ctx, firstPhone, dataNetwork, "down", 5)
		return err
	})
}

// floodIdlePhone sends faster to the second phone, which sleeps, than paging can wake it.
func floodIdlePhone(t *testing.T, ctx context.Context) (undo func()) {
	ue := must[cluster.UEStatus](t)(k.WaitAttached(ctx, secondPhone, patience))
	return repeat(ctx, func(ctx context.Context) error {
		if err := k.RAN(ctx, nil, "idle", "--ue", secondPhone); err != nil {
			return err
		}
		_, err := k.Run(ctx, "exec", "deploy/dn", "--", "/ran", "ping", "-to", ue.Sessions[0].Address, "-count", "4000", "-interval", "100us")
		return err
	})
}

func killUPF(t *testing.T, ctx context.Context) (undo func()) {
	must[string](t)(k.Run(ctx, "delete", "pod", upfInstance+"-0", "--wait=false"))
	return func() {
		check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, "Ready", patience))
	}
}

// banish kills a function while its node takes no pods.
func banish(component, slice string) func(t *testing.T, ctx context.Context) (undo func()) {
	return func(t *testing.T, ctx context.Context) (undo func()) {
		selector := "app.kubernetes.io/component=" + component
		if slice != "" {
			selector += ",core5g.dev/slice=" + slice
		}
		var node string
		check(t, cluster.Eventually(ctx, patience, func() error {
			pods, err := k.Pods(ctx, selector)
			if err == nil && (len(pods) != 1 || !pods[0].Ready()) {
				err = fmt.Errorf("%d pods with %s, want one that is ready", len(pods), selector)
			}
			if err == nil {
				node = pods[0].Spec.NodeName
			}
			return err
		}))
		must[string](t)(k.Run(ctx, "cordon", node))
		undo = func() {
			if _, err := k.Run(ctx, "uncordon", node); err != nil {
				t.Error(err)
			}
			for _, object := range []string{"upfinstance/" + upfInstance, "slice/" + firstSlice} {
				if err := k.WaitCondition(ctx, object, "Ready", patience); err != nil {
					t.Error(err)
				}
			}
		}
		must[string](t)(k.Run(ctx, "delete", "pod", "-l", selector, "--wait=false"))
		return undo
	}
}
