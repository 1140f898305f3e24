package onprem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"core5g.dev/core5g/e2e/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A third unit for two sockets ends in one condition that says what is in its way, and in no pod at all.
func TestUnitTooManyEndsInACondition(t *testing.T) {
	ctx := story(t, 10*time.Minute)
	before := unitsAreReady(t, ctx, 2)
	known, err := eventsOfUPF(ctx)
	check(t, err)
	counter := countPods(t, ctx)
	all, err := servers(ctx)
	check(t, err)
	sockets := 0
	for _, d := range all {
		sockets += len(d.Status.Cells)
	}
	asked := sockets + 1
	if asked > 4 {
		t.Skipf("%d sockets: the UPFInstance of this suite has addresses for four units", sockets)
	}
	check(t, patch(ctx, "upfinstance/"+upfInstance, fmt.Sprintf(`{"spec":{"units":%d}}`, asked)))
	t.Cleanup(func() { check(t, patch(context.Background(), "upfinstance/"+upfInstance, `{"spec":{"units":2}}`)) })
	message := conditionSays(t, ctx, api.ConditionPlaced, "False", api.ReasonNoNUMAFit, "taken by "+upfInstance+"-0", "(for "+upfInstance)
	t.Logf("Placed=False %s", message)

	// Agents report anew within a minute, and each report asks the planner again: still no pod.
	for range 2 {
		nextReport(t, ctx, all[0].Name)
	}
	if seen := counter.end(); len(seen) != 2 {
		t.Errorf("%d pod objects while a unit had no place, want the two that run: %v", len(seen), seen)
	}
	now, err := upf(ctx)
	check(t, err)
	for _, status := range before.Status.UnitStatuses {
		if got := units(now)[status.Name]; got.State != api.UnitReady || got.Hash != status.Hash {
			t.Errorf("%s is %s while another unit has no place: %s", status.Name, got.State, describe(now))
		}
	}
	if now.Status.Units != 2 {
		t.Errorf("%d pods in the status, want 2", now.Status.Units)
	}
	events, err := eventsOfUPF(ctx)
	check(t, err)
	if added := len(events) - len(known); added > 10 {
		t.Errorf("%d more events of the UPFInstance:\n%s", added, strings.Join(events, "\n"))
	}
}

func eventsOfUPF(ctx context.Context) ([]string, error) {
	out, err := k.Run(ctx, "get", "events", "--field-selector", "involvedObject.name="+upfInstance, "--no-headers")
	return slices.Collect(strings.Lines(out)), err
}

// nextReport waits until the agent of a node has written again.
func nextReport(t *testing.T, ctx context.Context, node string) {
	t.Helper()
	first, err := server(ctx, node)
	check(t, err)
	check(t, cluster.Eventually(ctx, patience, func() error {
		d, err := server(ctx, node)
		if err == nil && !d.Status.ObservedAt.After(first.Status.ObservedAt.Time) {
			err = fmt.Errorf("the DataplaneNode of %s is of %s", node, d.Status.ObservedAt.Time.Format(time.TimeOnly))
		}
		return err
	}))
}

// scaleDown ends the last unit and returns the place that it had.
func scaleDown(t *testing.T, ctx context.Context) (node string, cell int32) {
	t.Helper()
	u := unitsAreReady(t, ctx, 2)
	last := units(u)[upfInstance+"-1"]
	for _, supi := range phones {
		// A UE that is not there is as good as one that has left.
		_ = k.RAN(ctx, nil, "deregister", "--ue", supi)
	}
	check(t, patch(ctx, "upfinstance/"+upfInstance, `{"spec":{"units":1}}`))
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err == nil && len(u.Status.UnitStatuses) != 1 {
			err = fmt.Errorf("the last unit has not ended: %s", describe(u))
		}
		return err
	}))
	return last.Node, *last.Cell
}

func scaleUp(t *testing.T, ctx context.Context) {
	t.Helper()
	check(t, patch(ctx, "upfinstance/"+upfInstance, `{"spec":{"units":2}}`))
}

// pluginAnew lets the device plugin look at its node anew, as it does at its start.
func pluginAnew(t *testing.T, ctx context.Context, node string) {
	t.Helper()
	out, err := k.Run(ctx, "get", "pods", "-n", s.pluginNamespace, "-l", s.pluginSelector, "--field-selector", "spec.nodeName="+node, "-o", "name")
	check(t, err)
	names := strings.Fields(out)
	if len(names) == 0 {
		t.Fatalf("no pod %s of the device plugin in %s on %s: set CORE5G_ONPREM_PLUGIN_SELECTOR", s.pluginSelector, s.pluginNamespace, node)
	}
	_, err = k.Run(ctx, append([]string{"delete", "-n", s.pluginNamespace, "--wait"}, names...)...)
	check(t, err)
}

// The VFs of a socket's N6 PF go to another driver: a unit of that socket has no place, the condition says
// what is short, no pod is made; they come back, and so does the unit, with nobody's help.
func TestVFsTakenAway(t *testing.T) {
	ctx := story(t, 15*time.Minute)
	node, cell := scaleDown(t, ctx)
	t.Cleanup(func() { scaleUp(t, context.Background()) })
	taken := resourceOf(s.n6Resource, cell)
	// What the unit has left is free, and a busy node's device plugin heard, when the agent says so.
	var pfs []string
	err := cluster.Eventually(ctx, 2*time.Minute, func() (err error) {
		pfs, err = freePFs(ctx, node, cell, taken)
		return err
	})
	if errors.Is(err, errVFsInUse) {
		t.Skip(err)
	}
	check(t, err)
	each := "for pf in " + strings.Join(pfs, " ") + "; do for link in /sys/bus/pci/devices/$pf/virtfn*; do vf=$(basename $(readlink $link)); %s; done; done"
	_, err = onNode(ctx, node, fmt.Sprintf(each, "echo $vf >/sys/bus/pci/drivers/vfio-pci/unbind"))
	check(t, err)
	back := func(ctx context.Context) error {
		_, err := onNode(ctx, node, fmt.Sprintf(each, "echo vfio-pci >/sys/bus/pci/devices/$vf/driver_override; echo $vf >/sys/bus/pci/drivers_probe"))
		return err
	}
	restored := false
	t.Cleanup(func() {
		if !restored {
			check(t, back(context.Background()))
			pluginAnew(t, context.Background(), node)
		}
	})
	pluginAnew(t, ctx, node)
	check(t, cluster.Eventually(ctx, patience, func() error {
		d, err := server(ctx, node)
		if err != nil {
			return err
		}
		for _, i := range cellOf(d, cell).Interfaces {
			if i.ResourceName == taken && i.VFs.Free > 0 {
				return fmt.Errorf("%s still shows %d VFs as %s", i.Name, i.VFs.Free, taken)
			}
		}
		return nil
	}))

	counter := countPods(t, ctx)
	scaleUp(t, ctx)
	message := conditionSays(t, ctx, api.ConditionPlaced, "False", api.ReasonNoNUMAFit, taken)
	t.Logf("Placed=False %s", message)
	nextReport(t, ctx, node)
	if seen := counter.end(); slices.ContainsFunc(seen, func(p string) bool { return strings.HasPrefix(p, upfInstance+"-1 ") }) {
		t.Errorf("a pod was made for a unit without VFs: %v", seen)
	}

	check(t, back(ctx))
	pluginAnew(t, ctx, node)
	restored = true
	unitsAreReady(t, ctx, 2)
	alignedByTheKernel(t, ctx, upfInstance+"-1")
}

var errVFsInUse = errors.New("somebody else has VFs of the PF")

// freePFs are the PCI addresses of a cell's PFs that offer the resource, each with all its VFs free.
func freePFs(ctx context.Context, node string, cell int32, offered string) ([]string, error) {
	d, err := server(ctx, node)
	if err != nil {
		return nil, err
	}
	c := cellOf(d, cell)
	if c == nil {
		return nil, fmt.Errorf("%s shows no cell %d", node, cell)
	}
	var pfs []string
	for _, i := range c.Interfaces {
		switch {
		case i.ResourceName != offered:
		case i.VFs.Free != i.VFs.Total:
			return nil, fmt.Errorf("%w: %s of %s has %d of %d free", errVFsInUse, i.Name, node, i.VFs.Free, i.VFs.Total)
		default:
			pfs = append(pfs, i.PCIAddress)
		}
	}
	if len(pfs) == 0 {
		return nil, fmt.Errorf("no PF of %s cell %d offers %s: %+v", node, cell, offered, c.Interfaces)
	}
	return pfs, nil
}

// A kubelet refuses a unit where somebody took what was free: the place goes into a back-off, the status names
// it, the pod is gone and no other is made for it until the back-off is over or the node says something new.
// The agents are away for that: they would have told the planner first.
func TestRejectedPod(t *testing.T) {
	ctx := story(t, 15*time.Minute)
	node, cell := scaleDown(t, ctx)
	t.Cleanup(func() { scaleUp(t, context.Background()) })
	// What the unit has left is free when the agent says so, which takes until its next look.
	var amount string
	err := cluster.Eventually(ctx, 2*time.Minute, func() (err error) {
		if amount, err = occupying(ctx, node, cell); err == nil && amount == "" {
			err = errNoSuchAmount
		}
		return err
	})
	if errors.Is(err, errNoSuchAmount) {
		t.Skipf("%s has no other cell with free hugepages: a scheduler would not send a unit there", node)
	}
	check(t, err)

	agents := `{"spec":{"template":{"spec":{"nodeSelector":{"core5g.dev/no-such-node":%s}}}}}`
	check(t, patch(ctx, "daemonset/"+cluster.Release+"-node-agent", fmt.Sprintf(agents, `"true"`)))
	agentsBack := func(ctx context.Context) error {
		return patch(ctx, "daemonset/"+cluster.Release+"-node-agent", fmt.Sprintf(agents, "null"))
	}
	t.Cleanup(func() { check(t, agentsBack(context.Background())) })
	check(t, cluster.Eventually(ctx, patience, func() error {
		pods, err := k.Component(ctx, "node-agent")
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d agents still run", len(pods))
		}
		return err
	}))
	check(t, apply(ctx, s.occupant(node, cell, amount)))
	gone := func(ctx context.Context) error {
		_, err := k.Run(ctx, "delete", "pod", occupantName, "--ignore-not-found", "--wait", "--timeout=120s")
		return err
	}
	t.Cleanup(func() { check(t, gone(context.Background())) })
	_, err = k.Run(ctx, "wait", "pod/"+occupantName, "--for=condition=Ready", "--timeout=240s")
	check(t, err)

	counter := countPods(t, ctx)
	scaleUp(t, ctx)
	var refusal api.CellBackoff
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err != nil {
			return err
		}
		for _, b := range u.Status.CellBackoffs {
			if b.Node == node && b.Cell == cell {
				refusal = b
				return nil
			}
		}
		return fmt.Errorf("no back-off of %s cell %d: %s", node, cell, describe(u))
	}))
	message := conditionSays(t, ctx, api.ConditionPlaced, "False", api.ReasonNoNUMAFit, "the kubelet refused a unit ("+refusal.Reason+")")
	t.Logf("Placed=False %s", message)
	if refusal.Reason != "TopologyAffinityError" && refusal.Reason != "UnexpectedAdmissionError" {
		t.Errorf("the kubelet's reason is %q, want TopologyAffinityError or UnexpectedAdmissionError", refusal.Reason)
	}
	// Each refusal doubles the time to the next pod: of the first minute, at most 5 + 10 + 20 s and the next.
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err != nil {
			return err
		}
		for _, b := range u.Status.CellBackoffs {
			if b.Node == node && b.Cell == cell && b.Rejections >= 3 {
				refusal = b
				return nil
			}
		}
		return fmt.Errorf("not refused three times yet: %s", describe(u))
	}))
	seen := counter.end()
	made := 0
	for _, p := range seen {
		if strings.HasPrefix(p, upfInstance+"-1 ") {
			made++
		}
	}
	if made == 0 || made > int(refusal.Rejections)+1 {
		t.Errorf("%d pod objects for %d refusals: %v", made, refusal.Rejections, seen)
	}
	t.Logf("%d refusals (%s), %d pod objects", refusal.Rejections, refusal.Reason, made)

	// With the agents back the planner knows better than to ask the kubelet.
	check(t, agentsBack(ctx))
	conditionSays(t, ctx, api.ConditionPlaced, "False", api.ReasonNoNUMAFit, "hugepages needed")
	check(t, gone(ctx))
	unitsAreReady(t, ctx, 2)
	alignedByTheKernel(t, ctx, upfInstance+"-1")
}

const occupantName = "onprem-occupant"

var errNoSuchAmount = errors.New("no number of hugepages keeps a unit from the cell and not from the node")

// occupying is how many hugepages of a cell somebody must take, so that a unit does not fit the cell, and
// does fit the node as the scheduler counts; empty where there is no such number.
func occupying(ctx context.Context, node string, cell int32) (string, error) {
	d, err := server(ctx, node)
	if err != nil {
		return "", err
	}
	demand := resource.MustParse(s.hugepages)
	var own, others int64
	for _, c := range d.Status.Cells {
		for _, pool := range c.Hugepages {
			if pool.Size == "2Mi" && c.ID == cell {
				own += pool.Free.Value()
			} else if pool.Size == "2Mi" {
				others += pool.Free.Value()
			}
		}
	}
	const page = 2 << 20
	if others < page || own < demand.Value() {
		return "", nil
	}
	return fmt.Sprintf("%dMi", (own-demand.Value()+page)>>20), nil
}

// occupant is a pod that holds hugepages of a cell, where a VF of the cell anchors it. Its share of a CPU is what
// it takes to be started at all on an emulated one.
func (s *settings) occupant(node string, cell int32, hugepages string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  tolerations: [{operator: Exists}]
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  containers:
    - name: occupant
      image: %s/ran:%s
      imagePullPolicy: IfNotPresent
      command: [/bin/busybox, sleep, "2147483647"]
      resources:
        limits: {cpu: 300m, memory: 64Mi, hugepages-2Mi: %s, %s: "1"}
        requests: {cpu: 300m, memory: 64Mi, hugepages-2Mi: %s, %s: "1"}
`, occupantName, cluster.Namespace, node, s.registry, s.tag, hugepages, resourceOf(s.n3Resource, cell), hugepages, resourceOf(s.n3Resource, cell))
}
