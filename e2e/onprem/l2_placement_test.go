package onprem

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/e2e/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/placement"
)

// PerSocket and two units give one UPF on each of two sockets, and the condition NUMAAligned says so from
// what the UPFs report.
func TestOneUPFOnEachSocket(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	begin := time.Now()
	check(t, apply(ctx, s.manifests(nil).upf))
	u := unitsAreReady(t, ctx, 2)
	t.Logf("two units are ready and aligned after %s", time.Since(begin).Round(time.Second))
	places := map[placement.Spot]string{}
	for _, status := range u.Status.UnitStatuses {
		if status.Cell == nil {
			t.Fatalf("%s has no cell: %s", status.Name, describe(u))
		}
		spot := placement.Spot{Node: status.Node, Cell: *status.Cell}
		if other, taken := places[spot]; taken {
			t.Errorf("%s and %s are both on %s", other, status.Name, spot)
		}
		places[spot] = status.Name
	}
}

// The kernel's word for it: CPUs, hugepages and VFs of each unit are of the socket that it was placed on.
func TestUnitsHoldWhatIsTheirSockets(t *testing.T) {
	ctx := story(t, 8*time.Minute)
	seen := map[string]string{}
	u, err := upf(ctx)
	check(t, err)
	for _, status := range u.Status.UnitStatuses {
		h := alignedByTheKernel(t, ctx, status.Name)
		t.Logf("%s on %s cell %d: CPUs %v, VFs %v", status.Name, status.Node, *status.Cell, h.cpus, h.vfs)
		for _, vf := range h.vfs {
			if other, taken := seen[status.Node+vf]; taken {
				t.Errorf("%s and %s both have %s", other, status.Name, vf)
			}
			seen[status.Node+vf] = status.Name
		}
	}
}

// alignedByTheKernel fails where something of the unit is of another cell than its own.
func alignedByTheKernel(t *testing.T, ctx context.Context, unit string) holding {
	t.Helper()
	u, err := upf(ctx)
	check(t, err)
	status, found := units(u)[unit]
	if !found || status.Cell == nil {
		t.Fatalf("%s has no place: %s", unit, describe(u))
	}
	h := holdingOf(t, ctx, status.Node, unit)
	own := []int{int(*status.Cell)}
	for what, cells := range map[string][]int{"CPUs": h.cpuCells, "hugepages": h.pageCells, "VFs": h.vfCells} {
		if !slices.Equal(cells, own) {
			t.Errorf("%s of %s are of cells %v, want %v only", what, unit, cells, own)
		}
	}
	if len(h.vfs) != 2 {
		t.Errorf("%s has the VFs %v, want one for N3 and one for N6", unit, h.vfs)
	}
	if want := u.Spec.Workers; len(h.cpus) < int(want) {
		t.Errorf("%s has the CPUs %v, want %d or more", unit, h.cpus, want)
	}
	return h
}

// A unit of driver VFIO is user 1000 without a capability where the node allows that, and root with IPC_LOCK,
// which IOMMU mappings of locked memory take, elsewhere: by the node's report, the pod, and the kernel.
func TestUnitsHaveNoCapability(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	want := api.VFIOAccess("")
	if s.runtimeConfig != "" {
		want = api.VFIOAccessNonRoot
	}
	all, err := servers(ctx)
	check(t, err)
	for _, d := range all {
		if d.Status.VFIOAccess != want {
			t.Errorf("%s: vfioAccess is %q, want %q", d.Name, d.Status.VFIOAccess, want)
		}
	}
	u, err := upf(ctx)
	check(t, err)
	for _, unit := range []string{upfInstance + "-0", upfInstance + "-1"} {
		var p struct {
			Spec struct {
				SecurityContext struct{ RunAsUser *int64 }
				Containers      []struct {
					Name            string
					SecurityContext struct {
						RunAsUser    *int64
						Privileged   *bool
						Capabilities struct{ Add, Drop []string }
					}
				}
			}
		}
		check(t, k.JSON(ctx, &p, "get", "pod", unit))
		for _, c := range p.Spec.Containers {
			raw, err := json.Marshal(c.SecurityContext)
			check(t, err)
			t.Logf("%s/%s: %s", unit, c.Name, raw)
			extra := c.SecurityContext.Capabilities.Add
			if want != api.VFIOAccessNonRoot {
				extra = slices.DeleteFunc(slices.Clone(extra), func(name string) bool { return name == "IPC_LOCK" })
			}
			if len(extra) > 0 || !slices.Contains(c.SecurityContext.Capabilities.Drop, "ALL") ||
				(c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged) {
				t.Errorf("%s/%s may do too much: %s", unit, c.Name, raw)
			}
		}
		says := []string{"Uid:\t1000\t1000\t1000\t1000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"}
		if want != api.VFIOAccessNonRoot {
			const ipcLock = "0000000000004000"
			says = []string{"Uid:\t0\t0\t0\t0", "CapEff:\t" + ipcLock, "CapBnd:\t" + ipcLock, "NoNewPrivs:\t1", "Seccomp:\t2"}
		}
		out, err := onNode(ctx, units(u)[unit].Node, fmt.Sprintf(credentialsOf, unit))
		check(t, err)
		t.Logf("%s/upf-u: %s", unit, strings.Join(strings.Fields(out), " "))
		for _, line := range says {
			if !strings.Contains(out, line+"\n") {
				t.Errorf("the process upf-u of %s does not have %q:\n%s", unit, line, out)
			}
		}
	}
}

// credentialsOf a unit's upf-u, which is found by the name of its pod.
const credentialsOf = `for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = upf-u ] || continue
	tr '\0' '\n' <$p/environ | grep -qx HOSTNAME=%s || continue
	grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' $p/status
done`

// The DataplaneNodes show what the units took.
func TestNodesShowWhatIsTaken(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	u, err := upf(ctx)
	check(t, err)
	for _, status := range u.Status.UnitStatuses {
		check(t, cluster.Eventually(ctx, patience, func() error {
			d, err := server(ctx, status.Node)
			if err != nil {
				return err
			}
			c := cellOf(d, *status.Cell)
			if c == nil || c.ExclusiveCPUs.Free >= c.ExclusiveCPUs.Total {
				return fmt.Errorf("%s cell %d shows no CPU of %s as taken", status.Node, *status.Cell, status.Name)
			}
			for _, i := range c.Interfaces {
				if i.ResourceName == resourceOf(s.n3Resource, c.ID) && i.VFs.Free >= i.VFs.Total {
					return fmt.Errorf("%s shows no VF of %s as taken", i.Name, status.Name)
				}
			}
			return nil
		}))
	}
	out, err := k.Run(ctx, "get", "upfinstances,dataplanenodes", "-o", "wide")
	check(t, err)
	t.Logf("kubectl get upfinstances,dataplanenodes -o wide\n%s", out)
	t.Logf("kubectl core5g status\n%s", core5g(ctx, "status"))
}
