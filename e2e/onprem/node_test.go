package onprem

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/operators/nodeagent"
)

// onNode runs a script as root of the node, in the node's own files and processes, from the probe's pod.
func onNode(ctx context.Context, node, script string) (string, error) {
	return inProbe(ctx, node, "chroot", "/host", "/bin/sh", "-c", script)
}

// onNodeNetwork runs a script in the node's network, with the probe's own files: those of the node are in /host.
func onNodeNetwork(ctx context.Context, node, script string) (string, error) {
	return inProbe(ctx, node, "nsenter", "-t", "1", "-n", "/bin/sh", "-c", script)
}

// inProbe runs one of busybox' programs in the probe's pod on a node.
func inProbe(ctx context.Context, node string, program ...string) (string, error) {
	pod, err := probeOn(ctx, node)
	if err != nil {
		return "", err
	}
	return k.Run(ctx, append([]string{"exec", pod, "--", "/bin/busybox"}, program...)...)
}

// sendToNode is onNode with something on the script's standard input.
func sendToNode(ctx context.Context, node, input, script string) (string, error) {
	pod, err := probeOn(ctx, node)
	if err != nil {
		return "", err
	}
	return k.Input(ctx, input, "exec", "-i", pod, "--", "/bin/busybox", "chroot", "/host", "/bin/sh", "-c", script)
}

// probeOn is the probe's pod on a node.
func probeOn(ctx context.Context, node string) (string, error) {
	pods, err := k.Pods(ctx, "app="+probeName)
	if err != nil {
		return "", err
	}
	for _, p := range pods {
		if p.Spec.NodeName == node && p.Ready() {
			return p.Metadata.Name, nil
		}
	}
	return "", fmt.Errorf("node %s has no pod of %s that is ready", node, probeName)
}

// holding is what the kernel says of a unit's upf-u, past everything that core5g says itself.
type holding struct {
	cpus []int
	// cells of the CPUs that it may run on, of its hugepages and of its VFs.
	cpuCells, pageCells, vfCells []int
	vfs                          []string
}

// lookAt finds the process by the name of its pod, which is its host name, and asks the kernel.
const lookAt = `for p in /proc/[0-9]*; do
	[ "$(cat $p/comm 2>/dev/null)" = upf-u ] || continue
	tr '\0' '\n' <$p/environ | grep -qx HOSTNAME=%s || continue
	echo cpus $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' $p/status)
	for page in $(grep huge $p/numa_maps | grep -o 'N[0-9]*=[0-9]*'); do echo page ${page%%%%=*}; done
	for vf in $(tr '\0' '\n' <$p/environ | sed -n 's/^PCIDEVICE_[^=]*=//p' | grep -v '{' | tr ',' ' '); do
		echo vf $vf $(cat /sys/bus/pci/devices/$vf/numa_node)
	done
done
for n in /sys/devices/system/node/node[0-9]*; do echo node ${n##*/node} $(cat $n/cpulist); done`

func holdingOf(t *testing.T, ctx context.Context, node, unit string) holding {
	t.Helper()
	var out string
	check(t, cluster.Eventually(ctx, patience, func() (err error) {
		out, err = onNode(ctx, node, fmt.Sprintf(lookAt, unit))
		if err == nil && !strings.Contains(out, "cpus ") {
			err = fmt.Errorf("no process upf-u of pod %s on %s:\n%s", unit, node, out)
		}
		return err
	}))
	h, err := parseHolding(out)
	if err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return h
}

func parseHolding(out string) (holding, error) {
	var h holding
	cells := map[int]int{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "cpus":
			cpus, err := nodeagent.ParseCPUs(words[1])
			if err != nil {
				return h, err
			}
			h.cpus = cpus
		case len(words) == 2 && words[0] == "page":
			cell, err := strconv.Atoi(strings.TrimPrefix(words[1], "N"))
			if err != nil {
				return h, err
			}
			h.pageCells = append(h.pageCells, cell)
		case len(words) == 3 && words[0] == "vf":
			cell, err := strconv.Atoi(words[2])
			if err != nil {
				return h, err
			}
			h.vfs, h.vfCells = append(h.vfs, words[1]), append(h.vfCells, cell)
		case len(words) == 3 && words[0] == "node":
			cell, err := strconv.Atoi(words[1])
			if err != nil {
				return h, err
			}
			cpus, err := nodeagent.ParseCPUs(words[2])
			if err != nil {
				return h, err
			}
			for _, cpu := range cpus {
				cells[cpu] = cell
			}
		}
	}
	for _, cpu := range h.cpus {
		cell, known := cells[cpu]
		if !known {
			return h, fmt.Errorf("CPU %d is in no cell", cpu)
		}
		h.cpuCells = append(h.cpuCells, cell)
	}
	for _, list := range []*[]int{&h.cpuCells, &h.pageCells, &h.vfCells} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(h.vfs)
	return h, nil
}

func TestParseHolding(t *testing.T) {
	h, err := parseHolding("cpus 2-3\npage N1\npage N1\nvf 0000:21:10.0 1\nvf 0000:22:10.0 1\nnode 0 0-1\nnode 1 2-3\n")
	if err != nil {
		t.Fatal(err)
	}
	one := []int{1}
	if !slices.Equal(h.cpus, []int{2, 3}) || !slices.Equal(h.cpuCells, one) || !slices.Equal(h.pageCells, one) ||
		!slices.Equal(h.vfCells, one) || len(h.vfs) != 2 {
		t.Errorf("%+v", h)
	}
	if h, err = parseHolding("cpus 1-2\nnode 0 0-1\nnode 1 2-3\n"); err != nil || !slices.Equal(h.cpuCells, []int{0, 1}) {
		t.Errorf("CPUs of both cells: %+v, %v", h, err)
	}
	if _, err = parseHolding("cpus 8\nnode 0 0-1\n"); err == nil {
		t.Error("a CPU of no cell was accepted")
	}
}
