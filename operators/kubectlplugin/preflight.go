package kubectlplugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// preflight prints what each node lacks, and ends with exit status 1 where one lacks something.
func (p *Plugin) preflight(ctx context.Context, args []string) error {
	reports, err := p.dataplaneNodes(ctx)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		reports = slices.DeleteFunc(reports, func(d api.DataplaneNode) bool { return d.Name != args[0] })
		if len(reports) == 0 {
			return fmt.Errorf("no node agent reports on node %s: `kubectl get dataplanenodes` lists those that do", args[0])
		}
	}
	well := true
	for i := range reports {
		well = p.printPreflight(&reports[i]) && well
	}
	if len(args) == 0 {
		p.printUnreported(ctx, reports)
	}
	if !well {
		return errNotWell
	}
	return nil
}

func (p *Plugin) printPreflight(d *api.DataplaneNode) (well bool) {
	if dead := silent(d, p.Now()); dead != "" {
		fmt.Fprintf(p.Out, "%s: not known: %s\n", d.Name, dead)
		return false
	}
	if meta.IsStatusConditionTrue(d.Status.Conditions, api.ConditionReady) {
		fmt.Fprintf(p.Out, "%s: ready\n", d.Name)
		return true
	}
	fmt.Fprintf(p.Out, "%s: not ready\n", d.Name)
	for _, c := range d.Status.Conditions {
		if c.Type != api.ConditionReady && c.Status != metav1.ConditionTrue {
			fmt.Fprintf(p.Out, "  %s=%s: %s\n", c.Type, c.Status, c.Message)
		}
	}
	return false
}

// printUnreported names nodes without an agent: those may be meant to have none.
func (p *Plugin) printUnreported(ctx context.Context, reports []api.DataplaneNode) {
	var nodes corev1.NodeList
	if err := p.Client.List(ctx, &nodes); err != nil {
		return // who may not list nodes has seen what agents report
	}
	var without []string
	for _, n := range nodes.Items {
		if !slices.ContainsFunc(reports, func(d api.DataplaneNode) bool { return d.Name == n.Name }) {
			without = append(without, n.Name)
		}
	}
	if len(without) > 0 {
		slices.Sort(without)
		fmt.Fprintf(p.Out, "no node agent on: %s\n", strings.Join(without, ", "))
	}
}
