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

// Usages by component.
type Usages map[string]Usage

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
func usages(raw []byte, components map[string]string) (Usages, error) {
	var s summary
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the kubelet's summary: %w", err)
	}
	found := Usages{}
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
func measure(ctx context.Context, k *cluster.Cluster, moment time.Time) (Usages, error) {
	var found Usages
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
		found = Usages{}
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

// idle is what components take of a CPU while nothing is asked of them, and what they have taken until then.
type idle struct {
	from Usages
	// share of a CPU by component.
	share map[string]float64
}

// rest looks twice at a core of which nothing is asked: kubelets look every ten seconds or so, and what is between
// two looks of theirs is more than what is measured.
func rest(ctx context.Context, k *cluster.Cluster) (idle, error) {
	first, err := measure(ctx, k, time.Now())
	if err != nil {
		return idle{}, err
	}
	second, err := measure(ctx, k, time.Now())
	if err != nil {
		return idle{}, err
	}
	return idleOf(first, second), nil
}

func idleOf(first, second Usages) idle {
	i := idle{from: second, share: map[string]float64{}}
	for component, u := range second {
		if b, ok := first[component]; ok && u.CPU >= b.CPU && u.At.After(b.At) {
			i.share[component] = float64(u.CPU-b.CPU) / float64(u.At.Sub(b.At))
		}
	}
	return i
}

// beyond is the CPU by component of what was asked: what it takes idle is not in it. Components that have begun
// anew since are left out.
func (i idle) beyond(after Usages) map[string]time.Duration {
	cpu := map[string]time.Duration{}
	for component, a := range after {
		if b := i.from[component]; a.CPU >= b.CPU {
			alone := time.Duration(i.share[component] * float64(a.At.Sub(b.At)))
			cpu[component] = max(0, a.CPU-b.CPU-alone)
		}
	}
	return cpu
}

// tell prints what each component took of a CPU while idle, and beyond that for what was asked, and answers the latter. UPFs poll, and
// take the CPUs that they have whatever comes.
func tell(out io.Writer, before idle, after Usages) (cpu map[string]time.Duration, err error) {
	cpu = before.beyond(after)
	delete(cpu, "upf")
	const mebi = 1 << 20
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "function\tidle\tCPU s\tMiB before\tMiB after\t")
	for _, component := range slices.Sorted(maps.Keys(after)) {
		if component == "upf" {
			continue
		}
		took, was := "restarted", before.from[component].Memory/mebi
		if c, ok := cpu[component]; ok {
			took = fmt.Sprintf("%.1f", c.Seconds())
		}
		fmt.Fprintf(table, "%s\t%.1f %%\t%s\t%d\t%d\t\n", component, before.share[component]*100, took, was, after[component].Memory/mebi)
	}
	return cpu, table.Flush()
}
