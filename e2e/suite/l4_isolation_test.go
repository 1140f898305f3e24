package suite

import (
	"fmt"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// A phone cannot use another's tunnel, nor send from another's address, nor reach another phone
// through the UPF. Each attempt is dropped under its own name.
func TestPhonesAreIsolated(t *testing.T) {
	ctx := story(t, 6*time.Minute)
	attached(t, ctx, firstPhone)
	check(t, k.RAN(ctx, nil, "register", "--ue", secondPhone))
	second := attached(t, ctx, secondPhone)

	tests := []struct {
		name, reason string
		args         []string
	}{
		{
			"sends from an address that is not its own", "spoofed_source",
			[]string{"raw-gtpu", "--ue", firstPhone, "--source", "10.45.200.200", "--to", dataNetwork, "--count", "5"},
		},
		{
			"sends into the other phone's tunnel", "spoofed_source",
			[]string{"raw-gtpu", "--ue", firstPhone, "--tunnel-of", secondPhone, "--to", dataNetwork, "--count", "5"},
		},
		{
			"sends to the other phone", "ue_to_ue",
			[]string{"raw-gtpu", "--ue", firstPhone, "--to", second.Sessions[0].Address, "--count", "5"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := dropsOf(upfMetrics(t, ctx), tt.reason)
			check(t, k.RAN(ctx, nil, tt.args...))
			check(t, cluster.Eventually(ctx, 20*time.Second, func() error {
				metrics, err := readUPFMetrics(ctx)
				if got := dropsOf(metrics, tt.reason) - before; err == nil && got < 5 {
					err = fmt.Errorf("drops for reason %s grew by %.0f, want 5", tt.reason, got)
				}
				return err
			}))
		})
	}

	// The attempts harmed nobody.
	check(t, pingsAgain(ctx, firstPhone, patience))
	check(t, pingsAgain(ctx, secondPhone, patience))
}

// The first phone is not subscribed to the second slice.
func TestPhoneIsRefusedAnotherSlice(t *testing.T) {
	ctx := story(t, 2*time.Minute)
	attached(t, ctx, firstPhone)
	err := k.RAN(ctx, nil, "session", "--ue", firstPhone, "--sst", "1", "--sd", "112233", "--dnn", "internet", "--id", "5")
	if err == nil {
		t.Fatalf("%s got a PDU session in a slice that it is not subscribed to", firstPhone)
	}
	t.Log(err)
	check(t, pingsAgain(ctx, firstPhone, patience))
}
