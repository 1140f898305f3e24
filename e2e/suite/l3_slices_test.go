package suite

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// A slice that is added while the core runs is usable at once, and nobody else notices.
func TestSecondSliceAtRunTime(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	attached(t, ctx, firstPhone)
	others := func() map[string]string {
		return map[string]string{
			"amf":             amfOf(t, ctx),
			"first SMF":       smfOf(t, ctx, firstSlice),
			"upf":             incarnation(only(t, ctx, "upf", "")),
			"subscriber-data": incarnation(only(t, ctx, "subscriber-data", "")),
		}
	}
	before := others()
	tr := startTraffic(ctx, firstPhone)

	check(t, k.Apply(ctx, secondFile))
	check(t, k.WaitCondition(ctx, "slice/"+secondSlice, "Ready", 3*time.Minute))
	check(t, k.RAN(ctx, nil, "register", "--ue", secondPhone))
	ue := attached(t, ctx, secondPhone)
	lossless(t, tr)

	if pool := netip.MustParsePrefix("10.46.0.0/16"); !pool.Contains(netip.MustParseAddr(ue.Sessions[0].Address)) {
		t.Errorf("%s got %s, which is not of the second slice's pool %s", secondPhone, ue.Sessions[0].Address, pool)
	}
	after := others()
	for name, was := range before {
		if now := after[name]; now != was {
			t.Errorf("%s was restarted by the second slice:\n%s\n%s", name, was, now)
		}
	}
}

// Deleting a slice takes its sessions and its pool with it and nothing else, while the other's packets
// flow. First the one, then the other way round.
func TestSliceDeletedAndAddedAgain(t *testing.T) {
	tests := []struct{ name, file, slice, phone, otherSlice, otherPhone string }{
		{"the second, beside the first", secondFile, secondSlice, secondPhone, firstSlice, firstPhone},
		{"the first, beside the second", sliceFile, firstSlice, firstPhone, secondSlice, secondPhone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := story(t, 8*time.Minute)
			attached(t, ctx, tt.otherPhone)
			amf, upf := amfOf(t, ctx), incarnation(only(t, ctx, "upf", ""))
			smf := smfOf(t, ctx, tt.otherSlice)
			tr := startTraffic(ctx, tt.otherPhone)

			check(t, k.Delete(ctx, tt.file))
			check(t, cluster.Eventually(ctx, patience, func() error {
				pods, err := k.Pods(ctx, "core5g.dev/slice="+tt.slice)
				if err == nil && len(pods) > 0 {
					err = fmt.Errorf("%s still runs", pods[0].Metadata.Name)
				}
				return err
			}))
			check(t, cluster.Eventually(ctx, patience, func() error { return upfSessionsAre(ctx, 1) }))
			lossless(t, tr)

			tr = startTraffic(ctx, tt.otherPhone)
			check(t, k.Apply(ctx, tt.file))
			check(t, k.WaitCondition(ctx, "slice/"+tt.slice, "Ready", 3*time.Minute))
			check(t, k.RAN(ctx, nil, "register", "--ue", tt.phone))
			attached(t, ctx, tt.phone)
			lossless(t, tr)

			if now := amfOf(t, ctx); now != amf {
				t.Errorf("the AMF was restarted: %s, was %s", now, amf)
			}
			if now := incarnation(only(t, ctx, "upf", "")); now != upf {
				t.Errorf("the UPF was restarted: %s, was %s", now, upf)
			}
			if now := smfOf(t, ctx, tt.otherSlice); now != smf {
				t.Errorf("the other slice's SMF was restarted: %s, was %s", now, smf)
			}
		})
	}
}

// The AMF advertises the catalogue; a slice beyond it says so instead of pretending.
func TestSliceOutsideTheCatalogue(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	const manifest = `
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: outside}
spec:
  snssai: {sst: 3, sd: "abcdef"}
  dataNetworks: [{dnn: internet, uePools: [10.77.0.0/16]}]
`
	_, err := k.Input(ctx, manifest, "apply", "-f", "-")
	check(t, err)
	t.Cleanup(func() { _, _ = k.Input(ctx, manifest, "delete", "--ignore-not-found", "-f", "-") })
	reason := "RestartRequired"
	if ownPlane() { // which takes a larger catalogue as it runs
		reason = "NotInCatalogue"
	}
	check(t, cluster.Eventually(ctx, patience, func() error {
		var o cluster.Object
		if err := k.JSON(ctx, &o, "get", "slice/outside"); err != nil {
			return err
		}
		for _, c := range o.Status.Conditions {
			if c.Reason == reason && c.Message != "" {
				t.Logf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				return nil
			}
		}
		return fmt.Errorf("no condition says %s: %+v", reason, o.Status.Conditions)
	}))
}
