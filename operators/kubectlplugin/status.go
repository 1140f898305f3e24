package kubectlplugin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// reasonWidth is how much of a condition's message status prints.
const reasonWidth = 90

func (p *Plugin) status(ctx context.Context, _ []string) error { return p.printStatus(ctx, p.Out) }

func (p *Plugin) printStatus(ctx context.Context, out io.Writer) error {
	var cores api.Core5GList
	var slicesOf api.SliceList
	var upfs api.UPFInstanceList
	var subscribers api.SubscriberList
	for _, list := range []client.ObjectList{&cores, &slicesOf, &upfs, &subscribers} {
		if err := p.Client.List(ctx, list, client.InNamespace(p.Namespace)); err != nil {
			return explain(err)
		}
	}
	if len(cores.Items)+len(slicesOf.Items)+len(upfs.Items)+len(subscribers.Items) == 0 {
		fmt.Fprintf(out, "There is no core in namespace %s: write -n, or helm install core5g.\n", p.Namespace)
		return nil
	}
	p.printOperator(ctx, out)
	s := &screen{out: out, rows: p.rows}
	for i := range cores.Items {
		s.core(&cores.Items[i])
	}
	s.print([]string{"CORE", "READY", "FUNCTIONS", "N2", "REASON"})
	for i := range slicesOf.Items {
		s.slice(&slicesOf.Items[i])
	}
	s.print([]string{"SLICE", "READY", "S-NSSAI", "UPF", "POOLS", "REASON"})
	for i := range upfs.Items {
		s.upf(&upfs.Items[i])
	}
	s.print([]string{"UPF", "READY", "UNIT", "STATE", "NODE", "CELL", "N4", "REASON"})
	for i := range subscribers.Items {
		s.subscriber(&subscribers.Items[i])
	}
	s.onlyTrouble, s.what = true, "subscribers"
	s.print([]string{"SUBSCRIBER", "READY", "SUPI", "REASON"})
	s.onlyTrouble = false

	nodes, err := p.dataplaneNodes(ctx)
	if err != nil {
		fmt.Fprintln(out, "\nNodes:", err)
		return nil
	}
	for i := range nodes {
		s.node(&nodes[i], p.Now())
	}
	s.print([]string{"NODE", "READY", "CELL", "CPUS FREE", "HUGEPAGES FREE", "VFS FREE", "REASON"})
	return nil
}

// printOperator says so where nobody keeps the conditions below up to date: they then stay as the operator left them.
func (p *Plugin) printOperator(ctx context.Context, out io.Writer) {
	const stale = "what follows is what it saw last"
	var operators appsv1.DeploymentList
	err := p.Client.List(ctx, &operators, client.InNamespace(p.Namespace),
		client.MatchingLabels{api.LabelName: "core5g", api.LabelComponent: "operator"})
	switch {
	case err != nil:
		fmt.Fprintf(out, "Operator: nobody knows whether it runs: %v\n\n", err)
	case len(operators.Items) == 0:
		fmt.Fprintf(out, "Operator: there is none in namespace %s: helm install core5g; %s.\n\n", p.Namespace, stale)
	case !slices.ContainsFunc(operators.Items, func(d appsv1.Deployment) bool { return d.Status.ReadyReplicas > 0 }):
		fmt.Fprintf(out, "Operator: not ready: kubectl -n %s describe pod -l %s=operator; %s.\n\n", p.Namespace, api.LabelComponent, stale)
	}
}

// explain says what to do about kinds that are not there.
func explain(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not know core5g: helm install core5g: %w", err)
	}
	return err
}

// dataplaneNodes are sorted by name. Where there are none, the error says why.
func (p *Plugin) dataplaneNodes(ctx context.Context) ([]api.DataplaneNode, error) {
	var list api.DataplaneNodeList
	err := p.Client.List(ctx, &list)
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list dataplanenodes.core5g.dev, which are cluster-scoped: %w", err)
	case err != nil:
		return nil, explain(err)
	case len(list.Items) == 0:
		return nil, errNoAgent
	}
	slices.SortFunc(list.Items, func(a, b api.DataplaneNode) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

var errNoAgent = fmt.Errorf("no node agent reports (only placement Any works without one)")

// screen collects the rows of one kind after the other.
type screen struct {
	out         io.Writer
	rows        int
	groups      []group
	printed     bool
	onlyTrouble bool
	what        string
}

// group is the rows of one object.
type group struct {
	well bool
	rows [][]string
}

func (s *screen) add(well bool, rows ...[]string) { s.groups = append(s.groups, group{well, rows}) }

// print puts the objects of a kind on the screen; those with trouble come first where not all have room.
func (s *screen) print(head []string) {
	groups := s.groups
	s.groups = nil
	if len(groups) == 0 {
		return
	}
	if s.printed {
		fmt.Fprintln(s.out)
	}
	s.printed = true
	total, well := len(groups), 0
	for _, g := range groups {
		if g.well {
			well++
		}
	}
	if s.onlyTrouble {
		fmt.Fprintf(s.out, "%d of %d %s ready\n", well, total, s.what)
		groups = slices.DeleteFunc(groups, func(g group) bool { return g.well })
		if len(groups) == 0 {
			return
		}
	}
	if len(groups) > s.rows {
		slices.SortStableFunc(groups, func(a, b group) int {
			switch {
			case a.well == b.well:
				return 0
			case b.well:
				return -1
			}
			return 1
		})
	}
	shown := min(len(groups), max(1, s.rows))
	rows := [][]string{head}
	for _, g := range groups[:shown] {
		rows = append(rows, g.rows...)
	}
	table(s.out, rows)
	if left := len(groups) - shown; left > 0 {
		fmt.Fprintf(s.out, "… and %d more (-rows)\n", left)
	}
}

// readyOf is the state of an object's condition Ready, which speaks of one generation of the object, and the reason
// where it is not True.
func readyOf(o client.Object, conditions []metav1.Condition) (state, reason string) {
	c := meta.FindStatusCondition(conditions, api.ConditionReady)
	if c != nil && c.ObservedGeneration < o.GetGeneration() {
		return "Unknown", fmt.Sprintf("the operator has not looked at the last change yet; before it: %s, %s", c.Status, c.Message)
	}
	return ready(conditions)
}

// ready is the state of a condition Ready, and the reason where it is not True.
func ready(conditions []metav1.Condition) (state, reason string) {
	c := meta.FindStatusCondition(conditions, api.ConditionReady)
	if c == nil {
		return "-", "nobody has looked at it yet: is the operator running?"
	}
	if c.Status == metav1.ConditionTrue {
		return "True", ""
	}
	return string(c.Status), c.Message
}

func (s *screen) core(c *api.Core5G) {
	state, reason := readyOf(c, c.Status.Conditions)
	up := 0
	var down []string
	for _, f := range c.Status.Functions {
		if f.Ready == metav1.ConditionTrue {
			up++
		} else {
			down = append(down, string(f.Name))
		}
	}
	functions := fmt.Sprintf("%d/%d", up, len(c.Status.Functions))
	if len(down) > 0 {
		functions += " (not " + strings.Join(down, ", ") + ")"
	}
	n2 := "-"
	if c.Status.N2 != nil {
		n2 = fmt.Sprintf("%s %s", c.Status.N2.Address, c.Status.N2.Transport)
	}
	s.add(state == "True", []string{c.Name, state, functions, n2, short(reason, reasonWidth)})
}

func (s *screen) slice(x *api.Slice) {
	state, reason := readyOf(x, x.Status.Conditions)
	upf := "-"
	if x.Status.UPF != nil {
		upf = x.Status.UPF.Name
	}
	s.add(state == "True", []string{x.Name, state, or(x.Status.SNSSAI, "-"), upf, or(short(strings.Join(x.Status.UEPools, ","), 40), "-"), short(reason, reasonWidth)})
}

func (s *screen) upf(u *api.UPFInstance) {
	state, reason := readyOf(u, u.Status.Conditions)
	if u.Spec.AdministrativeState != "" && u.Spec.AdministrativeState != api.StateUnlocked {
		reason = strings.TrimSuffix(string(u.Spec.AdministrativeState)+": "+reason, ": ")
	}
	rows := [][]string{{u.Name, state, fmt.Sprintf("%d/%d", u.Status.ReadyUnits, u.Status.Units), "", "", "", "", short(reason, reasonWidth)}}
	nowhere := "-"
	if u.Spec.External != nil {
		nowhere = "elsewhere"
	}
	for _, unit := range u.Status.UnitStatuses {
		rows = append(rows, []string{"", "", unit.Name, string(unit.State), or(unit.Node, nowhere), cellOf(unit.Cell), or(unit.N4Address, "-"), short(unit.Message, reasonWidth)})
		if b := unit.Standby; b != nil {
			rows = append(rows, []string{"", "", b.Pod, string(b.State), or(b.Node, "-"), cellOf(b.Cell), "-", short(strings.TrimSuffix("standby; "+or(unit.Pod, "nobody")+" serves: "+b.Message, ": "), reasonWidth)})
		}
	}
	s.add(state == "True", rows...)
}

func cellOf(cell *int32) string {
	if cell == nil {
		return "-"
	}
	return fmt.Sprint(*cell)
}

func (s *screen) subscriber(x *api.Subscriber) {
	state, reason := readyOf(x, x.Status.Conditions)
	s.add(state == "True", []string{x.Name, state, x.Spec.SUPI, short(reason, reasonWidth)})
}

// silence is the age from which an agent is taken for dead: it writes at least every minute.
const silence = 3 * time.Minute

// silent says since when an agent has not written.
func silent(d *api.DataplaneNode, now time.Time) string {
	if d.Status.ObservedAt == nil {
		return "the node agent has not looked at it yet"
	}
	if age := now.Sub(d.Status.ObservedAt.Time); age > silence {
		return fmt.Sprintf("the node agent is silent for %s: look at its pod on the node", age.Round(time.Second))
	}
	return ""
}

func (s *screen) node(d *api.DataplaneNode, now time.Time) {
	state, reason := ready(d.Status.Conditions)
	if dead := silent(d, now); dead != "" {
		state, reason = "Unknown", dead
	}
	rows := [][]string{}
	for _, c := range d.Status.Cells {
		rows = append(rows, []string{"", "", fmt.Sprint(c.ID), fmt.Sprintf("%d/%d", c.ExclusiveCPUs.Free, c.ExclusiveCPUs.Total), hugepages(&c), vfs(&c), ""})
	}
	if len(rows) == 0 {
		rows = [][]string{{"", "", "-", "-", "-", "-", ""}}
	}
	rows[0][0], rows[0][1], rows[0][6] = d.Name, state, short(reason, reasonWidth)
	s.add(state == "True", rows...)
}

func hugepages(c *api.NUMACell) string {
	var out []string
	for _, h := range c.Hugepages {
		out = append(out, fmt.Sprintf("%s/%s (%s)", h.Free.String(), h.Total.String(), h.Size))
	}
	return or(strings.Join(out, " "), "-")
}

func vfs(c *api.NUMACell) string {
	var out []string
	for _, i := range c.Interfaces {
		if i.VFs.Total > 0 {
			out = append(out, fmt.Sprintf("%s %d/%d", i.Name, i.VFs.Free, i.VFs.Total))
		}
	}
	return or(strings.Join(out, ", "), "-")
}
