package onprem

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// `kubectl core5g drain` ends one unit: the session that it has goes on until it ends by itself, a new one
// goes to the other unit, then the SMF forgets the unit and its pod goes. Its VFs are free again.
func TestDrainedUnit(t *testing.T) {
	ctx := story(t, 12*time.Minute)
	u := unitsAreReady(t, ctx, 2)
	last := units(u)[upfInstance+"-1"]
	byUnit := attachBoth(t, ctx)
	leaving := byUnit[upfInstance+"-1"]
	t.Cleanup(func() { scaleUp(t, context.Background()) })

	cmd := exec.CommandContext(ctx, plugin, "drain", upfInstance, upfInstance+"-1", "-wait=false", "-n", cluster.Namespace, "-kubeconfig", k.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl core5g drain: %v\n%s", err, out)
	}
	t.Logf("kubectl core5g drain %s %s-1\n%s", upfInstance, upfInstance, out)
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err != nil {
			return err
		}
		status := units(u)[upfInstance+"-1"]
		if status.State != api.UnitDraining || status.Drain == nil || status.Drain.Sessions == nil || *status.Drain.Sessions != 1 {
			return fmt.Errorf("%s does not wait for its one session: %s", status.Name, describe(u))
		}
		return nil
	}))
	check(t, pings(ctx, leaving))

	// A session that begins now is the other unit's.
	other := byUnit[upfInstance+"-0"]
	check(t, k.RAN(ctx, nil, "deregister", "--ue", other))
	unit, err := attach(ctx, other)
	check(t, err)
	if unit != upfInstance+"-0" {
		t.Errorf("a new session of %s went to %s, which is draining", other, unit)
	}

	check(t, k.RAN(ctx, nil, "deregister", "--ue", leaving))
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err == nil && len(u.Status.UnitStatuses) != 1 {
			err = fmt.Errorf("the drain has not ended: %s", describe(u))
		}
		return err
	}))
	check(t, pings(ctx, other))
	check(t, cluster.Eventually(ctx, patience, func() error {
		d, err := server(ctx, last.Node)
		if err != nil {
			return err
		}
		for _, i := range cellOf(d, *last.Cell).Interfaces {
			if i.ResourceName == resourceOf(s.n3Resource, *last.Cell) && i.VFs.Free == i.VFs.Total {
				return nil
			}
		}
		return fmt.Errorf("the VFs of %s are not free yet", last.Name)
	}))
	events, err := k.Run(ctx, "get", "events", "--field-selector", "reason=UnitDraining", "-o", "jsonpath={.items[*].message}")
	check(t, err)
	if !strings.Contains(events, upfInstance+"-1") {
		t.Errorf("no Event of the drain: %q", events)
	}
	scaleUp(t, ctx)
	unitsAreReady(t, ctx, 2)
	attachBoth(t, ctx)
}
