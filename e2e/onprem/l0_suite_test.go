package onprem

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	api "core5g.dev/core5g/operators/api/v1alpha1"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/e2e/scene"
	"core5g.dev/core5g/upf/upfc/topology"
)

// patience is generous: an emulated server takes 20 s for a change of a pod, 45 s beside polling ones.
const patience = 4 * time.Minute

var (
	k *cluster.Cluster
	s settings
	// plugin is the path of kubectl-core5g.
	plugin string
)

func TestMain(m *testing.M) {
	if os.Getenv("CORE5G_E2E_ONPREM") == "" {
		os.Exit(m.Run()) // every story skips itself by name
	}
	if err := open(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func open() (err error) {
	if s, err = environment(); err != nil {
		return fmt.Errorf("%w; the suite knows\n%s", err, usage())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if k, err = cluster.Open(ctx); err != nil {
		return err
	}
	plugin, err = k.Built("kubectl-core5g", "kubectl-plugin")
	return err
}

// story begins a test: a context with a limit, and a clear skip without a cluster.
func story(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	if k == nil {
		t.Skip("needs servers with SR-IOV: CORE5G_E2E_ONPREM=1 (make e2e-onprem emulates one)")
	}
	return scene.Begin(t, limit, explain)
}

// explain prints what a person would look at first, not by t.Log: what the test itself has said stays
// recognisable.
func explain(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Fprintln(t.Output(), core5g(ctx, "status"))
	scene.Show(t, ctx, k, 30,
		[]string{"get", "pods", "-o", "wide"},
		[]string{"get", "upfinstances,dataplanenodes", "-o", "wide"},
		[]string{"get", "upfinstance", upfInstance, "-o", "jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{\"\\n\"}{end}{.status.unitStatuses}{\"\\n\"}{.status.cellBackoffs}"},
		[]string{"get", "events", "--sort-by", ".lastTimestamp"},
	)
}

// core5g runs the kubectl plug-in, and returns what it says in any case.
func core5g(ctx context.Context, args ...string) string {
	out, err := exec.CommandContext(ctx, plugin, append(args, "-n", cluster.Namespace, "-kubeconfig", k.Kubeconfig)...).CombinedOutput()
	if err != nil {
		return string(out) + err.Error() + "\n"
	}
	return string(out)
}

var check = scene.Check

func apply(ctx context.Context, manifest string) error {
	_, err := k.Input(ctx, manifest, "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

func patch(ctx context.Context, object, body string) error {
	_, err := k.Run(ctx, "patch", object, "--type=merge", "-p", body)
	return err
}

func upf(ctx context.Context) (*api.UPFInstance, error) {
	u := &api.UPFInstance{}
	return u, k.JSON(ctx, u, "get", "upfinstance", upfInstance)
}

// units of the UPFInstance by name.
func units(u *api.UPFInstance) map[string]api.UnitStatus {
	out := map[string]api.UnitStatus{}
	for _, status := range u.Status.UnitStatuses {
		out[status.Name] = status
	}
	return out
}

// servers are the nodes for units, as their agents see them.
func servers(ctx context.Context) ([]api.DataplaneNode, error) {
	out, err := k.Run(ctx, "get", "nodes", "-l", s.nodes, "-o", "jsonpath={.items[*].metadata.name}")
	if err != nil {
		return nil, err
	}
	var nodes []api.DataplaneNode
	for _, name := range strings.Fields(out) {
		var d api.DataplaneNode
		if err := k.JSON(ctx, &d, "get", "dataplanenode", name); err != nil {
			return nil, err
		}
		nodes = append(nodes, d)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("no node has the label %s", s.nodes)
	}
	return nodes, nil
}

func server(ctx context.Context, name string) (*api.DataplaneNode, error) {
	d := &api.DataplaneNode{}
	return d, k.JSON(ctx, d, "get", "dataplanenode", name)
}

// cellOf finds a cell of a node.
func cellOf(d *api.DataplaneNode, id int32) *api.NUMACell {
	for i := range d.Status.Cells {
		if d.Status.Cells[i].ID == id {
			return &d.Status.Cells[i]
		}
	}
	return nil
}

// resourceOf a cell's N3 or N6 VFs.
func resourceOf(name string, cell int32) string {
	return strings.ReplaceAll(name, "{cell}", fmt.Sprint(cell))
}

// unitsAreReady waits until so many units are ready, each placed, and the condition NUMAAligned says True.
func unitsAreReady(t *testing.T, ctx context.Context, count int) *api.UPFInstance {
	t.Helper()
	var last *api.UPFInstance
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err != nil {
			return err
		}
		last = u
		if int(u.Status.ReadyUnits) != count || len(u.Status.UnitStatuses) != count {
			return fmt.Errorf("%d of %d units are ready: %s", u.Status.ReadyUnits, count, describe(u))
		}
		return nil
	}))
	check(t, k.WaitCondition(ctx, "upfinstance/"+upfInstance, api.ConditionNUMAAligned, patience))
	return last
}

// describe says in one line how the units are.
func describe(u *api.UPFInstance) string {
	var parts []string
	for _, status := range u.Status.UnitStatuses {
		cell := "-"
		if status.Cell != nil {
			cell = fmt.Sprint(*status.Cell)
		}
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s on %s cell %s %s", status.Name, status.State, status.Node, cell, status.Message)))
	}
	for _, c := range u.Status.Conditions {
		if c.Type == api.ConditionPlaced && c.Status != "True" {
			parts = append(parts, fmt.Sprintf("Placed=%s %s: %s", c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(parts, "; ")
}

// eventually the condition of the UPFInstance has the status, and the message what it should say.
func conditionSays(t *testing.T, ctx context.Context, kind, status string, says ...string) string {
	t.Helper()
	message := ""
	check(t, cluster.Eventually(ctx, patience, func() error {
		u, err := upf(ctx)
		if err != nil {
			return err
		}
		for _, c := range u.Status.Conditions {
			if c.Type != kind {
				continue
			}
			message = c.Reason + ": " + c.Message
			if string(c.Status) != status {
				return fmt.Errorf("%s=%s %s, want %s", kind, c.Status, message, status)
			}
			for _, want := range says {
				if !strings.Contains(message, want) {
					return fmt.Errorf("%s=%s %q, want it to contain %q", kind, c.Status, message, want)
				}
			}
			return nil
		}
		return fmt.Errorf("no condition %s yet", kind)
	}))
	return message
}

// pod of a unit.
type pod struct {
	Metadata struct {
		Name, UID   string
		Annotations map[string]string
	}
	Spec struct {
		NodeName string
	}
	Status struct {
		Phase             string
		ContainerStatuses []cluster.ContainerStatus
	}
}

func podOf(ctx context.Context, unit string) (*pod, error) {
	p := &pod{}
	return p, k.JSON(ctx, p, "get", "pod", unit)
}

// objects counts pod objects of the UPFInstance, however short they live.
type objects struct {
	cmd  *exec.Cmd
	out  strings.Builder
	seen map[string]bool
}

// countPods begins to watch.
func countPods(t *testing.T, ctx context.Context) *objects {
	t.Helper()
	o := &objects{seen: map[string]bool{}}
	o.cmd = exec.CommandContext(ctx, k.Kubectl, "--kubeconfig", k.Kubeconfig, "-n", cluster.Namespace, "get", "pods",
		"-l", api.LabelUPF+"="+upfInstance, "--watch", "--no-headers", "-o", "custom-columns=NAME:.metadata.name,UID:.metadata.uid")
	o.cmd.Stdout = &o.out
	check(t, o.cmd.Start())
	t.Cleanup(func() { _ = o.cmd.Process.Kill() })
	return o
}

// end returns the pod objects that were there, each once, as name and uid.
func (o *objects) end() []string {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	var all []string
	for line := range strings.Lines(o.out.String()) {
		name := strings.Join(strings.Fields(line), " ")
		if name != "" && !o.seen[name] {
			o.seen[name] = true
			all = append(all, name)
		}
	}
	return all
}

// ping of a UE to the data network, until an answer comes.
func pings(ctx context.Context, supi string) error {
	return cluster.Eventually(ctx, patience, func() error {
		p, err := k.Ping(ctx, supi, s.n6Gateway, 3, 300*time.Millisecond)
		if err == nil && p.Received == 0 {
			err = fmt.Errorf("%s: no answer from %s", supi, s.n6Gateway)
		}
		return err
	})
}

// n3Of is what a unit's upf-u says of its interface. Through the API server, as its metrics are: a program that is
// started in a unit's pod on an emulated CPU takes 20 s.
func n3Of(ctx context.Context, unit string) (topology.Port, error) {
	var all topology.Topology
	out, err := k.Run(ctx, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:9090/proxy/topology", cluster.Namespace, unit))
	if err != nil {
		return topology.Port{}, err
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return topology.Port{}, fmt.Errorf("topology of %s: %w: %s", unit, err, out)
	}
	for _, p := range all.Ports {
		if p.Interface == "n3" {
			return p, nil
		}
	}
	return topology.Port{}, fmt.Errorf("%s shows no port n3: %s", unit, out)
}
