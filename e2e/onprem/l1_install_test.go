package onprem

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"core5g.dev/core5g/e2e/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The chart without its default UPF, which is for machines with one socket.
func TestInstall(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	args := []string{"upgrade", "--install", cluster.Release, "charts/core5g", "--create-namespace", "--wait", "--timeout", "5m",
		"--set", "upf.create=false", "--set", "images.registry=" + s.registry, "--set", "images.tag=" + s.tag,
		"--set", "core.spec.n2.transport=" + cluster.N2Transport(), "--set", "nodeAgent.runtimeConfig=" + s.runtimeConfig,
		// The suite reads metrics through the API server, which may be on another node.
		"--set-json", `networkPolicy.metricsFrom=[{"ipBlock":{"cidr":"0.0.0.0/0"}}]`}
	// Restarts no NF that an earlier run has left: the probe and the simulated RAN are applied anew.
	_, err := k.HelmRun(ctx, args...)
	check(t, err)
	check(t, apply(ctx, s.manifests(nil).probe))
	_, err = k.Run(ctx, "rollout", "status", "daemonset/"+probeName, "--timeout=240s")
	check(t, err)
	check(t, k.WaitCondition(ctx, "core5g/core5g", "Ready", 5*time.Minute))
}

// The preflight says Ready of each server, and `kubectl core5g preflight` agrees.
func TestServersAreReady(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	check(t, cluster.Eventually(ctx, patience, func() error {
		all, err := servers(ctx)
		if err != nil {
			return err
		}
		for _, d := range all {
			ready := meta.FindStatusCondition(d.Status.Conditions, api.ConditionReady)
			if ready == nil || ready.Status != "True" {
				return fmt.Errorf("%s is not ready: %v", d.Name, ready)
			}
		}
		return nil
	}))
	all, err := servers(ctx)
	check(t, err)
	cells := 0
	for _, d := range all {
		for _, c := range d.Status.Cells {
			resources := map[string]int32{}
			for _, i := range c.Interfaces {
				resources[i.ResourceName] += i.VFs.Free
			}
			if resources[resourceOf(s.n3Resource, c.ID)] > 0 && resources[resourceOf(s.n6Resource, c.ID)] > 0 {
				cells++
			}
			t.Logf("%s cell %d: CPUs %d/%d free, hugepages %v, VFs %v", d.Name, c.ID, c.ExclusiveCPUs.Free, c.ExclusiveCPUs.Total, c.Hugepages, resources)
		}
	}
	if cells < 2 {
		t.Fatalf("%d sockets have a VF of %s and of %s, want 2 or more", cells, s.n3Resource, s.n6Resource)
	}
	for _, d := range all {
		if said := core5g(ctx, "preflight", d.Name); !strings.Contains(said, d.Name+": ready") {
			t.Errorf("kubectl core5g preflight %s: %s", d.Name, said)
		}
	}
}

// What the agent says of a node is what the node says of itself.
func TestAgentsTellTheTruth(t *testing.T) {
	ctx := story(t, 5*time.Minute)
	all, err := servers(ctx)
	check(t, err)
	for _, d := range all {
		for _, c := range d.Status.Cells {
			out, err := onNode(ctx, d.Name, fmt.Sprintf("cat /sys/devices/system/node/node%d/cpulist", c.ID))
			check(t, err)
			if got := strings.TrimSpace(out); got != c.CPUs {
				t.Errorf("%s cell %d: CPUs %q, the node says %q", d.Name, c.ID, c.CPUs, got)
			}
			for _, i := range c.Interfaces {
				if i.VFs.Total == 0 {
					continue
				}
				out, err := onNode(ctx, d.Name, fmt.Sprintf("cd /sys/bus/pci/devices/%s && echo $(cat numa_node sriov_numvfs) $(basename $(readlink virtfn0/driver))", i.PCIAddress))
				check(t, err)
				if got, want := strings.TrimSpace(out), fmt.Sprintf("%d %d %s", c.ID, i.VFs.Total, i.VFs.Driver); got != want {
					t.Errorf("%s %s: %q, the node says %q", d.Name, i.Name, want, got)
				}
			}
		}
	}
}

// The agent is no more than it must be: uid 0 without a capability, and nothing of the node that it could
// write to.
func TestAgentIsUnprivileged(t *testing.T) {
	ctx := story(t, 3*time.Minute)
	all, err := servers(ctx)
	check(t, err)
	for _, d := range all {
		out, err := onNode(ctx, d.Name, `for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = core5g-node-age ] || continue
	grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' $p/status
	grep ' /host/sys\| /var/lib/kubelet' $p/mountinfo | cut -d ' ' -f 5,6
done`)
		check(t, err)
		for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the agent's process does not have %q:\n%s", d.Name, want, out)
			}
		}
		mounts := 0
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "/") {
				mounts++
				if path, options, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.HasPrefix(options, "ro") {
					t.Errorf("%s: the agent could write to %s (%s)", d.Name, path, options)
				}
			}
		}
		if mounts < 4 {
			t.Errorf("%s: %d mounts of the node are seen, want those of /sys and of the kubelet:\n%s", d.Name, mounts, out)
		}
	}
}
