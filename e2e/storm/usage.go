package storm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"core5g.dev/core5g/e2e/cluster"
)

// Usage is what the containers of a component have taken.
type Usage struct {
	// CPU since its containers began.
	CPU time.Duration
	// Memory is the working set in octets, which counts against the limit.
	Memory uint64
	// At is when the oldest of these was taken.
	At time.Time
}

// summary is as much of the kubelet's /stats/summary as is looked at.
type summary struct {
	Pods []struct {
		PodRef     struct{ Name, Namespace string }
		Containers []struct {
			CPU struct {
				Time                 time.Time
				UsageCoreNanoSeconds uint64
			}
			Memory struct {
				WorkingSetBytes uint64
			}
		}
	}
}

// usages by component of what a kubelet has said; components are those of the pods, by name.
func usages(raw []byte, components map[string]string) (map[string]Usage, error) {
	var s summary
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the kubelet's summary: %w", err)
	}
	found := map[string]Usage{}
	for _, pod := range s.Pods {
		component, ok := components[pod.PodRef.Name]
		if !ok || pod.PodRef.Namespace != cluster.Namespace {
			continue
		}
		for _, c := range pod.Containers {
			if c.CPU.Time.IsZero() {
				return nil, fmt.Errorf("the kubelet has no figures of pod %s yet", pod.PodRef.Name)
			}
			u := found[component]
			u.CPU += time.Duration(c.CPU.UsageCoreNanoSeconds)
			u.Memory += c.Memory.WorkingSetBytes
			if u.At.IsZero() || c.CPU.Time.Before(u.At) {
				u.At = c.CPU.Time
			}
			found[component] = u
		}
	}
	return found, nil
}

// measure waits until all kubelets have looked at the core after the moment, and returns what they say.
func measure(ctx context.Context, k *cluster.Cluster, moment time.Time) (map[string]Usage, error) {
	var found map[string]Usage
	return found, cluster.Eventually(ctx, time.Minute, func() error {
		pods, err := k.Pods(ctx, "app.kubernetes.io/name=core5g")
		if err != nil {
			return err
		}
		components, nodes := map[string]string{}, map[string]bool{}
		for _, pod := range pods {
			switch component := pod.Metadata.Labels["app.kubernetes.io/component"]; component {
			case "ran", "dn": // not of a core
			default:
				components[pod.Metadata.Name] = component
				nodes[pod.Spec.NodeName] = true
			}
		}
		found = map[string]Usage{}
		for node := range nodes {
			raw, err := k.Run(ctx, "get", "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")
			if err != nil {
				return err
			}
			here, err := usages([]byte(raw), components)
			if err != nil {
				return err
			}
			for component, u := range here {
				if u.At.Before(moment) {
					return fmt.Errorf("the kubelet's last look at %s is %s old", component, time.Since(u.At).Round(time.Second))
				}
				sum := found[component]
				found[component] = Usage{CPU: sum.CPU + u.CPU, Memory: sum.Memory + u.Memory, At: u.At}
			}
		}
		if len(found) == 0 {
			return errors.New("the kubelets say nothing of the core")
		}
		return nil
	})
}

// tell prints what each component took between two measurements, and answers their CPU. UPFs poll, and take the CPUs that they
// have whatever comes.
func tell(out io.Writer, before, after map[string]Usage) (cpu map[string]time.Duration, err error) {
	cpu = map[string]time.Duration{}
	const mebi = 1 << 20
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "function\tCPU s\tMiB before\tMiB after\t")
	for _, component := range slices.Sorted(maps.Keys(after)) {
		if component == "upf" {
			continue
		}
		a, b := after[component], before[component]
		if a.CPU < b.CPU {
			fmt.Fprintf(table, "%s\trestarted\t%d\t%d\t\n", component, b.Memory/mebi, a.Memory/mebi)
			continue
		}
		cpu[component] = a.CPU - b.CPU
		fmt.Fprintf(table, "%s\t%.1f\t%d\t%d\t\n", component, (a.CPU - b.CPU).Seconds(), b.Memory/mebi, a.Memory/mebi)
	}
	return cpu, table.Flush()
}
