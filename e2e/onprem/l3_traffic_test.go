package onprem

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Two UEs attach, each gets the other UPF, and their packets cross the VFs of both.
func TestTrafficThroughBothSockets(t *testing.T) {
	ctx := story(t, 12*time.Minute)
	check(t, apply(ctx, s.manifests(nil).slice))
	check(t, k.WaitCondition(ctx, "slice/"+slice, "Ready", patience))
	applyRAN(t, ctx)
	byUnit := attachBoth(t, ctx)
	for _, unit := range slices.Sorted(maps.Keys(byUnit)) {
		before, err := k.UPFMetrics(ctx, unit)
		check(t, err)
		const packets = 20
		p, err := k.Ping(ctx, byUnit[unit], s.n6Gateway, packets, 100*time.Millisecond)
		check(t, err)
		if p.Received != p.Sent {
			t.Errorf("%d of %d packets of %s came back through %s", p.Received, p.Sent, byUnit[unit], unit)
		}
		after, err := k.UPFMetrics(ctx, unit)
		check(t, err)
		for _, direction := range []string{"ul", "dl"} {
			name := fmt.Sprintf("upf_forwarded_packets_total{direction=%q}", direction)
			if got := after[name] - before[name]; got < packets {
				t.Errorf("%s forwarded %.0f packets %s over %d answered pings", unit, got, direction, p.Received)
			}
		}
		t.Logf("%s through %s: %d of %d, rtt %.1f/%.1f/%.1f ms", byUnit[unit], unit, p.Received, p.Sent, p.RTT.Min, p.RTT.Avg, p.RTT.Max)
	}
}

// applyRAN starts the simulated gNB and the data network, which has a route to each unit.
func applyRAN(t *testing.T, ctx context.Context) {
	t.Helper()
	var routes map[string]string
	check(t, cluster.Eventually(ctx, patience, func() (err error) {
		routes, err = routesToUnits(ctx)
		return err
	}))
	m := s.manifests(routes)
	for _, manifest := range []string{m.dataNetwork, m.ran} {
		check(t, apply(ctx, manifest))
	}
	for _, deployment := range []string{"dn", "ran"} {
		_, err := k.Run(ctx, "rollout", "status", "deployment/"+deployment, "--timeout=240s")
		check(t, err)
	}
}

// routesToUnits leads each unit's part of the pool to its N6 address.
func routesToUnits(ctx context.Context) (map[string]string, error) {
	u, err := upf(ctx)
	if err != nil {
		return nil, err
	}
	var sl api.Slice
	if err := k.JSON(ctx, &sl, "get", "slice", slice); err != nil {
		return nil, err
	}
	if sl.Status.UPF == nil || len(sl.Status.UPF.Units) != 2 {
		return nil, fmt.Errorf("the SMF of slice %s does not have both units: %+v", slice, sl.Status.UPF)
	}
	routes := map[string]string{}
	for _, unit := range sl.Status.UPF.Units {
		address, _, _ := strings.Cut(units(u)[unit.Name].N6Address, "/")
		for _, pool := range unit.UEPools {
			routes[pool] = address
		}
	}
	return routes, nil
}

// attachBoth registers the UEs until each unit has the session of one, and returns whose it is.
func attachBoth(t *testing.T, ctx context.Context) map[string]string {
	t.Helper()
	var byUnit map[string]string
	check(t, cluster.Eventually(ctx, 2*patience, func() error {
		byUnit = map[string]string{}
		for _, supi := range slices.Sorted(maps.Values(phones)) {
			unit, err := attach(ctx, supi)
			if err != nil {
				return err
			}
			if other, taken := byUnit[unit]; taken {
				// The next session is of the unit that has fewer.
				if err := k.RAN(ctx, nil, "deregister", "--ue", supi); err != nil {
					return err
				}
				return fmt.Errorf("%s and %s are both on %s", other, supi, unit)
			}
			byUnit[unit] = supi
		}
		return nil
	}))
	for _, supi := range byUnit {
		check(t, pings(ctx, supi))
	}
	return byUnit
}

// attach makes sure that a UE has a PDU session, and says which unit has it.
func attach(ctx context.Context, supi string) (string, error) {
	ue, err := k.WaitAttached(ctx, supi, 2*time.Second)
	if err != nil {
		if err := k.RAN(ctx, nil, "register", "--ue", supi); err != nil {
			return "", err
		}
		if ue, err = k.WaitAttached(ctx, supi, time.Minute); err != nil {
			return "", err
		}
	}
	address, err := netip.ParseAddr(ue.Sessions[0].Address)
	if err != nil {
		return "", err
	}
	var sl api.Slice
	if err := k.JSON(ctx, &sl, "get", "slice", slice); err != nil {
		return "", err
	}
	for _, unit := range sl.Status.UPF.Units {
		for _, pool := range unit.UEPools {
			if prefix, err := netip.ParsePrefix(pool); err == nil && prefix.Contains(address) {
				return unit.Name, nil
			}
		}
	}
	return "", fmt.Errorf("%s has address %s, which is of no unit's part of the pool", supi, address)
}
