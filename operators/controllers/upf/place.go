package upf

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/placement"
	"core5g.dev/core5g/operators/specs"
)

// Where a UPFInstance asks for places, a unit without one gets it from the planner, and its pod is made
// for that place behind a scheduling gate. The gate is opened in a later pass, on a cache that has the pod,
// if the place still fits next to everybody else's: of two instances that chose the same, the younger pod
// gives way before a kubelet has seen it.
//
// A kubelet that refuses such a pod puts the place into a back-off of its own (5 s, 10 s, … 5 min), and the
// unit goes to the next place at once. When the planner finds none, no pod is made, no timer runs but those
// back-offs, and a change of a DataplaneNode, Node, UPFInstance or pod asks again.

// backoffMemory is how long a place that may be tried again is remembered: its next rejection doubles the
// back-off.
const backoffMemory = 10 * time.Minute

// placeUnits plans for the units that have no place, and looks for another one for those whose node is
// cordoned.
func (r *Reconciler) placeUnits(ctx context.Context, s *scope) error {
	s.forgetBackoffs(r.Now())
	var moving []*unitScope
	open := false
	for _, u := range s.members() {
		if !u.wanted {
			continue
		}
		open = open || u.pod == nil || specs.Gated(u.pod)
		if u.of != nil {
			continue // a standby on a cordoned node may be evicted at any time
		}
		cordoned, err := r.onCordoned(ctx, s, u)
		if err != nil {
			return err
		}
		if !cordoned {
			continue
		}
		// Where the standby is, there is a place already.
		if elsewhere, err := r.onCordoned(ctx, s, u.standby); err != nil {
			return err
		} else if u.mayHandOver() && !elsewhere {
			u.moveTo(u.standby.pod.Spec.NodeName, "")
			continue
		}
		moving = append(moving, u)
	}
	if len(moving) == 0 && (!open || !specs.Planned(s.upf)) {
		return nil
	}
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	if !specs.Planned(s.upf) {
		inventory, err := r.allocatable(ctx, s.upf, nodes.Items)
		if err != nil {
			return err
		}
		for _, u := range moving {
			elsewhere := placement.Plan(inventory, placement.Request{Units: []string{u.status.Name}, Demand: specs.UnitDemand(s.upf)})
			u.moveTo(elsewhere.Assigned[u.status.Name].Node, elsewhere.Message())
		}
		return nil
	}
	inventory, err := r.inventory(ctx, s, nodes.Items)
	if err != nil {
		return err
	}
	request := s.request(r.Now())
	result := placement.Plan(inventory, request)
	for _, u := range s.members() {
		if !u.wanted || (u.pod != nil && !specs.Gated(u.pod)) {
			continue
		}
		if a, placed := result.Assigned[u.status.Name]; placed {
			u.place = &a
			continue
		}
		if s.mayGoAnywhere() {
			u.unbound = true
			continue
		}
		u.unplaced = result.Message()
		s.waitForBackoff(r.Now())
	}
	for _, u := range moving {
		alone := request
		alone.Units = []string{u.status.Name}
		alone.Running = map[string]placement.Spot{}
		for name, spot := range request.Running {
			if name != u.status.Name {
				alone.Running[name] = spot
			}
		}
		elsewhere := placement.Plan(inventory, alone)
		if a, found := elsewhere.Assigned[u.status.Name]; found {
			u.moveTo(a.Node, "")
		} else {
			u.moveTo("", elsewhere.Message())
		}
	}
	return nil
}

// onCordoned reports whether the unit runs on a node that is cordoned.
func (r *Reconciler) onCordoned(ctx context.Context, s *scope, u *unitScope) (bool, error) {
	if u == nil || u.pod == nil || u.pod.Spec.NodeName == "" {
		return false, nil
	}
	node := &corev1.Node{}
	if err := r.Get(ctx, client.ObjectKey{Name: u.pod.Spec.NodeName}, node); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return placement.Cordoned(node, s.upf.Spec.Tolerations), nil
}

// moveTo notes that the unit's node is cordoned, and whether there is another place for it.
func (u *unitScope) moveTo(node, shortage string) {
	u.cordoned, u.elsewhere, u.shortage = true, node, shortage
}

// allocatable is what nodes have for an instance without a plan, whose units the scheduler places.
func (r *Reconciler) allocatable(ctx context.Context, upf *api.UPFInstance, nodes []corev1.Node) (placement.Inventory, error) {
	var reports api.DataplaneNodeList
	if err := r.List(ctx, &reports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.HasLabels{api.LabelUPF}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out := placement.Allocatable(nodes, placement.Terms{Selector: upf.Spec.NodeSelector, Tolerations: upf.Spec.Tolerations})
	for i := range pods.Items {
		if spot, known := specs.PodSpot(&pods.Items[i]); known && !finished(&pods.Items[i]) {
			demand := specs.PodDemand(&pods.Items[i])
			out.Take(spot, demand, demand.Devices)
		}
	}
	out.Bound(reports.Items)
	return out, nil
}

// mayGoAnywhere reports whether a unit without a place is left to the scheduler.
func (s *scope) mayGoAnywhere() bool {
	if s.upf.Spec.Placement.Enforcement != api.EnforcementPreferred {
		return false
	}
	for _, device := range specs.UnitDemand(s.upf).Devices {
		if strings.Contains(device, placement.CellWord) {
			return false // without a cell the device has no name
		}
	}
	return true
}

func (s *scope) request(now time.Time) placement.Request {
	p := s.upf.Spec.Placement
	request := placement.Request{
		Demand:     specs.UnitDemand(s.upf),
		Policy:     map[api.PlacementPolicy]placement.Policy{api.PlacementSingleNUMA: placement.SingleNUMA, api.PlacementPerSocket: placement.PerSocket}[p.Policy],
		RemoteNIC:  p.AllowRemoteNIC == api.RemoteNICAllow,
		Pack:       p.Spread == api.SpreadNone,
		MaxPerNode: int(ptr.Deref(p.MaxPerNode, 0)),
		Running:    map[string]placement.Spot{},
		Wished:     map[string]placement.Spot{},
		Avoid:      map[placement.Spot]string{},
		Apart:      map[string]string{},
	}
	for _, u := range s.members() {
		if u.wanted {
			request.Units = append(request.Units, u.status.Name)
		}
		if u.of != nil {
			request.Apart[u.status.Name], request.Apart[u.of.status.Name] = u.of.status.Name, u.status.Name
		}
		if u.pod == nil || finished(u.pod) {
			continue
		}
		if spot, known := specs.PodSpot(u.pod); known && specs.Gated(u.pod) {
			request.Wished[u.status.Name] = spot
		} else if known {
			request.Running[u.status.Name] = spot
		}
	}
	for _, b := range s.upf.Status.CellBackoffs {
		if b.RetryAfter.After(now) {
			request.Avoid[placement.Spot{Node: b.Node, Cell: b.Cell}] = fmt.Sprintf("the kubelet refused a unit (%s), tried again at %s",
				b.Reason, b.RetryAfter.UTC().Format(time.TimeOnly))
		}
	}
	return request
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// inventory is what node agents report, less what pods have been given since.
func (r *Reconciler) inventory(ctx context.Context, s *scope, nodes []corev1.Node) (placement.Inventory, error) {
	var reports api.DataplaneNodeList
	if err := r.List(ctx, &reports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	out := placement.Observe(reports.Items, nodes, placement.Terms{
		Selector: s.upf.Spec.NodeSelector, Tolerations: s.upf.Spec.Tolerations,
		Devices: len(specs.UnitDemand(s.upf).Devices) > 0, VFIO: s.upf.Spec.Driver == api.DriverVFIO,
	})
	observed := map[string]*metav1.Time{}
	for i := range reports.Items {
		observed[reports.Items[i].Name] = reports.Items[i].Status.ObservedAt
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.HasLabels{api.LabelUPF}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	oldest := s.oldestGated()
	for i := range pods.Items {
		pod := &pods.Items[i]
		spot, known := specs.PodSpot(pod)
		if !known || finished(pod) || counted(pod, observed[spot.Node]) {
			continue
		}
		if specs.Gated(pod) && (cluster.Owns(s.upf, pod) || (oldest != nil && older(oldest, pod))) {
			continue
		}
		demand := specs.PodDemand(pod)
		out.Take(spot, demand, demand.Devices)
	}
	return out, nil
}

// counted reports whether what the pod holds is missing from the free amounts of the report already.
func counted(pod *corev1.Pod, observed *metav1.Time) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == string(api.FunctionUPFU) && observed != nil {
			if c.State.Running != nil {
				return c.State.Running.StartedAt.Time.Before(observed.Time)
			}
			if t := c.LastTerminationState.Terminated; t != nil {
				return t.StartedAt.Time.Before(observed.Time)
			}
		}
	}
	return false
}

// oldestGated is the oldest pod of the instance that waits for its place.
func (s *scope) oldestGated() *corev1.Pod {
	var oldest *corev1.Pod
	for _, u := range s.members() {
		if u.pod != nil && specs.Gated(u.pod) && (oldest == nil || older(u.pod, oldest)) {
			oldest = u.pod
		}
	}
	return oldest
}

func older(a, b *corev1.Pod) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return cmp.Or(strings.Compare(string(a.UID), string(b.UID)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name)) < 0
}

// open lets a pod go to its place, or takes it away when it has lost that.
func (r *Reconciler) open(ctx context.Context, s *scope, u *unitScope) error {
	spot, _ := specs.PodSpot(u.pod)
	devices := slices.Sorted(slices.Values(specs.PodDemand(u.pod).Devices))
	if u.place == nil || u.place.Spot != spot || !slices.Equal(devices, slices.Sorted(slices.Values(u.place.Devices))) {
		u.doom(api.UnitPending, "its place was taken before it started")
		return nil
	}
	u.note(api.UnitPending, "the pod goes to "+spot.String())
	return client.IgnoreNotFound(r.Patch(ctx, u.pod.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedulingGates":null}}`))))
}

// refusesPlace knows the reasons that kubelets give for a pod that does not fit where it was sent.
func refusesPlace(reason string) bool {
	return slices.Contains([]string{"TopologyAffinityError", "SMTAlignmentError", "UnexpectedAdmissionError"}, reason) || strings.HasPrefix(reason, "OutOf")
}

// backOff keeps units from a place for a while, and returns for how long.
func (s *scope) backOff(spot placement.Spot, reason string, now time.Time) time.Duration {
	list := &s.upf.Status.CellBackoffs
	at := slices.IndexFunc(*list, func(b api.CellBackoff) bool { return b.Node == spot.Node && b.Cell == spot.Cell })
	if at < 0 {
		*list = append(*list, api.CellBackoff{Node: spot.Node, Cell: spot.Cell})
		at = len(*list) - 1
	}
	b := &(*list)[at]
	b.Rejections++
	wait := backoff(b.Rejections)
	b.Reason, b.RetryAfter = reason, metav1.NewTime(now.Add(wait))
	return wait
}

// forgetBackoffs drops places that a unit is ready on, and where it should be, and those whose last rejection is long ago.
func (s *scope) forgetBackoffs(now time.Time) {
	kept := slices.DeleteFunc(slices.Clone(s.upf.Status.CellBackoffs), func(b api.CellBackoff) bool {
		if now.After(b.RetryAfter.Add(backoffMemory)) || !specs.Planned(s.upf) {
			return true
		}
		return slices.ContainsFunc(s.units, func(u *unitScope) bool {
			if u.pod == nil || !workloads.PodReady(u.pod) || !u.pod.DeletionTimestamp.IsZero() || u.misaligned() || (aligns(s.upf) && u.status.Topology == nil) {
				return false
			}
			spot, known := specs.PodSpot(u.pod)
			return known && spot == placement.Spot{Node: b.Node, Cell: b.Cell}
		})
	})
	if len(kept) == 0 {
		kept = nil
	}
	s.upf.Status.CellBackoffs = kept
}

// waitForBackoff comes back when the first place may be tried again.
func (s *scope) waitForBackoff(now time.Time) {
	for _, b := range s.upf.Status.CellBackoffs {
		if wait := b.RetryAfter.Sub(now); wait > 0 {
			s.again(wait)
		}
	}
}

// makeRoom is what to do about a unit that no node has room for.
const makeRoom = "make room on a node, or ask for less in spec.workers, hugepages or units; `kubectl core5g preflight` says what nodes have"

// observePlaced says whether every unit has a place.
func (s *scope) observePlaced() {
	var unplaced []string
	why := ""
	for _, u := range s.units {
		if u.status.State == api.UnitUnplaced {
			unplaced, why = append(unplaced, u.status.Name), u.unplaced
		}
	}
	if len(unplaced) > 0 {
		s.conditions.No(api.ConditionPlaced, api.ReasonNoNUMAFit, fmt.Sprintf("%s (for %s): %s", why, strings.Join(unplaced, ", "), makeRoom))
		return
	}
	for _, u := range s.units {
		switch {
		case u.status.State == api.UnitStopped:
			s.conditions.No(api.ConditionPlaced, api.ReasonLocked, u.status.Message)
			return
		case u.taken != "":
			s.conditions.No(api.ConditionPlaced, api.ReasonNameTaken, u.taken)
			return
		case u.unreached != "":
			s.conditions.No(api.ConditionPlaced, api.ReasonProgressing, u.unreached)
			return
		case u.status.State == api.UnitRejected:
			s.conditions.No(api.ConditionPlaced, "Rejected", u.status.Name+": "+u.status.Message)
			return
		case u.pod == nil || u.pod.Spec.NodeName == "":
			message := u.status.Name + " has no node yet"
			if u.pod != nil {
				for _, c := range u.pod.Status.Conditions {
					if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
						message = fmt.Sprintf("%s: %s: %s", u.status.Name, strings.TrimRight(c.Message, ". "), makeRoom)
					}
				}
			}
			s.conditions.No(api.ConditionPlaced, api.ReasonProgressing, message)
			return
		}
	}
	for _, u := range s.units {
		if u.cordoned && u.elsewhere == "" {
			s.conditions.Yes(api.ConditionPlaced, "NodeCordoned", fmt.Sprintf("%s stays on cordoned node %s: there is no other place: %s",
				u.status.Name, u.pod.Spec.NodeName, u.shortage))
			return
		}
	}
	s.conditions.Yes(api.ConditionPlaced, api.ReasonReady, "every unit has a node")
}
