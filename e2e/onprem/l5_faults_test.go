package onprem

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/operators/specs"
)

// upf-u dies: its container starts again in the same pod, on the same CPUs and VFs, upf-c gives it its
// sessions back, and the UE keeps its address.
func TestKilledUPF(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	u := unitsAreReady(t, ctx, 2)
	unit := upfInstance + "-0"
	supi := attachBoth(t, ctx)[unit]
	ue, err := k.WaitAttached(ctx, supi, patience)
	check(t, err)
	before, err := podOf(ctx, unit)
	check(t, err)
	held := alignedByTheKernel(t, ctx, unit)

	_, err = onNode(ctx, units(u)[unit].Node, fmt.Sprintf(`for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = upf-u ] && tr '\0' '\n' <$p/environ | grep -qx HOSTNAME=%s && kill -9 ${p#/proc/}
done; true`, unit))
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error {
		p, err := podOf(ctx, unit)
		if err != nil {
			return err
		}
		if p.Metadata.UID != before.Metadata.UID {
			return fmt.Errorf("the pod was replaced")
		}
		if restarts(p) == restarts(before) {
			return fmt.Errorf("upf-u has not been started again")
		}
		return nil
	}))
	unitsAreReady(t, ctx, 2)
	again := alignedByTheKernel(t, ctx, unit)
	if fmt.Sprint(again) != fmt.Sprint(held) {
		t.Errorf("%s holds %+v, held %+v", unit, again, held)
	}
	check(t, pings(ctx, supi))
	after, err := k.WaitAttached(ctx, supi, patience)
	check(t, err)
	if after.Sessions[0].Address != ue.Sessions[0].Address {
		t.Errorf("%s has address %s, had %s", supi, after.Sessions[0].Address, ue.Sessions[0].Address)
	}
}

func restarts(p *pod) int {
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == "upf-u" {
			return c.RestartCount
		}
	}
	return -1
}

// A pod that is deleted comes back on its socket, and has its session again.
func TestDeletedPodComesBack(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	before := unitsAreReady(t, ctx, 2)
	unit := upfInstance + "-1"
	supi := attachBoth(t, ctx)[unit]
	had, err := k.WaitAttached(ctx, supi, patience)
	check(t, err)
	_, err = k.Run(ctx, "delete", "pod", unit, "--wait")
	check(t, err)
	after := unitsAreReady(t, ctx, 2)
	if was, now := units(before)[unit], units(after)[unit]; was.Node != now.Node || *was.Cell != *now.Cell {
		t.Errorf("%s is on %s cell %d, was on %s cell %d", unit, now.Node, *now.Cell, was.Node, *was.Cell)
	}
	alignedByTheKernel(t, ctx, unit)
	check(t, pings(ctx, supi))
	has, err := k.WaitAttached(ctx, supi, patience)
	check(t, err)
	if had.Sessions[0].Address != has.Sessions[0].Address {
		t.Errorf("%s has address %s, had %s", supi, has.Sessions[0].Address, had.Sessions[0].Address)
	}
	attachBoth(t, ctx)
}

// A node reboots: the operator waits until the node agent has seen the device plugin's VFs again, units come
// back on their sockets, and UEs talk.
func TestRebootedNode(t *testing.T) {
	ctx := story(t, 15*time.Minute)
	if s.reboot == "" {
		t.Skip("CORE5G_ONPREM_REBOOT names no command that reboots a node")
	}
	before := unitsAreReady(t, ctx, 2)
	node := units(before)[upfInstance+"-0"].Node
	boot, err := bootID(ctx, node)
	check(t, err)
	counter := countPods(t, ctx)
	begin := time.Now()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", s.reboot)
	cmd.Env = append(os.Environ(), "NODE="+node)
	cmd.Dir = k.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", s.reboot, err, out)
	}
	check(t, cluster.Eventually(ctx, 2*patience, func() error {
		now, err := bootID(ctx, node)
		if err == nil && now == boot {
			err = fmt.Errorf("%s has not come back", node)
		}
		return err
	}))
	t.Logf("%s is back after %s", node, time.Since(begin).Round(time.Second))
	unitsAreReady(t, ctx, 2)
	t.Logf("two units are ready and aligned after %s", time.Since(begin).Round(time.Second))
	for _, unit := range []string{upfInstance + "-0", upfInstance + "-1"} {
		check(t, cluster.Eventually(ctx, patience, func() error {
			p, err := podOf(ctx, unit)
			if err == nil && p.Metadata.Annotations[specs.AnnotationPlacedCell] == "" {
				err = fmt.Errorf("%s has no cell", unit)
			}
			return err
		}))
		alignedByTheKernel(t, ctx, unit)
	}
	seen := counter.end()
	for _, unit := range []string{upfInstance + "-0 ", upfInstance + "-1 "} {
		made := 0
		for _, p := range seen {
			if strings.HasPrefix(p, unit) {
				made++
			}
		}
		// The one that the reboot ended, at most one that a kubelet refused for want of devices, the next.
		if made > 3 {
			t.Errorf("%d pod objects of %sover one reboot: %v", made, unit, seen)
		}
	}
	t.Logf("pod objects over the reboot: %v", seen)
	attachBoth(t, ctx)
}

func bootID(ctx context.Context, node string) (string, error) {
	out, err := k.Run(ctx, "get", "node", node, "-o", "jsonpath={.status.nodeInfo.bootID}")
	return strings.TrimSpace(out), err
}
