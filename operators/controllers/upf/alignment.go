package upf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/metrics"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/placement"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

// A place is a plan; what the kubelet made of it, upf-u sees: it reads from its kernel which NUMA cell its
// CPUs, ports and pages are of. That is asked once for each life of upf-u, when the unit is ready, and kept in
// the unit's status. With enforcement Required a unit that is not where it should be is drained and replaced,
// and its cell is left alone for a while, as if the kubelet had refused it. With Preferred it stays, and the
// condition says so.

// reporter is the upf-u that runs in a pod.
func reporter(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == string(api.FunctionUPFU) && c.ContainerID != "" {
			return c.ContainerID
		}
	}
	return string(pod.UID)
}

func aligns(upf *api.UPFInstance) bool {
	p := upf.Spec.Placement
	return p != nil && p.Policy != "" && p.Policy != api.PlacementAny
}

// misaligned reports whether the unit has said that it is.
func (u *unitScope) misaligned() bool {
	return u.status.Topology != nil && u.status.Topology.Alignment == api.UnitMisaligned
}

// askTopology asks a ready unit: where it is once for each life of upf-u, how its links are each time.
func (r *Reconciler) askTopology(ctx context.Context, s *scope, u *unitScope) {
	if !aligns(s.upf) {
		u.status.Topology = nil
	}
	if !workloads.PodReady(u.pod) {
		return
	}
	pod := u.pod.DeepCopy()
	answer := asking.Ask(ctx, r.asking, s.upf, "topology of "+pod.Name, reporter(pod)+" "+pod.Status.PodIP, asking.Every[*topology.Topology](linkPoll), func(ctx context.Context) (*topology.Topology, error) {
		return r.Topology(ctx, pod)
	})
	s.again(answer.Next)
	if !answer.Known {
		u.asked, u.silent = true, "it has not answered yet"
		return
	}
	t, err := answer.Value, answer.Err
	if err != nil {
		u.silent = err.Error()
		if aligns(s.upf) && u.status.Topology == nil {
			s.again(drainPoll)
		}
		return
	}
	u.ports = t.Ports
	if !aligns(s.upf) || u.status.Topology != nil {
		return
	}
	// PerSocket has given each unit a cell of its own; with SingleNUMA any one cell will do.
	planned := placement.AnyCell
	if spot, known := specs.PodSpot(u.pod); known && s.upf.Spec.Placement.Policy == api.PlacementPerSocket {
		planned = spot.Cell
	}
	verdict, message := t.Judge(planned)
	u.status.Topology = &api.UnitTopology{
		ContainerID: reporter(u.pod), Alignment: api.UnitAlignment(verdict), Cell: ptr.To(t.Home()), Message: message[:min(len(message), 2048)],
	}
	if u.misaligned() && !s.replaces(u) {
		r.Recorder.Eventf(s.upf, corev1.EventTypeWarning, api.ReasonMisaligned, "pod %s on node %s: %s", u.pod.Name, u.pod.Spec.NodeName, message)
	}
}

// replaces reports whether the unit must not stay where it is.
func (s *scope) replaces(u *unitScope) bool {
	return aligns(s.upf) && u.misaligned() && s.upf.Spec.Placement.Enforcement != api.EnforcementPreferred &&
		// Who lets NICs be in another cell has asked for it.
		s.upf.Spec.Placement.AllowRemoteNIC != api.RemoteNICAllow &&
		u.pod.Annotations[specs.AnnotationPlacedCell] != ""
}

func (r *Reconciler) replaceMisaligned(ctx context.Context, s *scope, u *unitScope) error {
	if err := r.stop(ctx, s, u, u.status.Topology.Message); err != nil || !u.doomed {
		return err
	}
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(u.pod), live); client.IgnoreNotFound(err) != nil {
		return err
	}
	if live.UID != u.pod.UID || !live.DeletionTimestamp.IsZero() {
		return nil // counted; the cache still shows it
	}
	spot, _ := specs.PodSpot(u.pod)
	r.Rejections.WithLabelValues(s.upf.Namespace, s.upf.Name, spot.Node, metrics.CellLabel(spot.Cell), api.ReasonMisaligned).Inc()
	wait := s.backOff(spot, api.ReasonMisaligned, r.Now())
	u.refused = &refusal{api.ReasonMisaligned, fmt.Sprintf("pod %s is replaced: %s; the place is tried again in %s", u.pod.Name, u.status.Topology.Message, wait)}
	s.again(wait)
	return nil
}

// observeAligned says whether units have all their resources in one cell, by what they report.
func (s *scope) observeAligned() {
	if !aligns(s.upf) {
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionNUMAAligned)
		return
	}
	var elsewhere, unplaced, unknown, silent, aligned []string
	for _, u := range s.units {
		if u.pod == nil || !u.wanted {
			continue
		}
		name, top := u.status.Name, u.status.Topology
		planned := u.pod.Annotations[specs.AnnotationPlacedCell] != ""
		switch {
		case u.misaligned():
			elsewhere = append(elsewhere, name+": "+top.Message)
		case !planned && (top == nil || top.Alignment != api.UnitAligned || s.upf.Spec.Placement.Policy == api.PlacementPerSocket):
			unplaced = append(unplaced, name)
		case top == nil && u.silent != "":
			silent = append(silent, name+": "+u.silent)
		case top == nil:
			silent = append(silent, name+" is not ready")
		case top.Alignment == api.UnitAligned:
			aligned = append(aligned, name+": "+top.Message)
		default:
			unknown = append(unknown, name+": "+top.Message)
		}
	}
	switch {
	case len(elsewhere) > 0:
		s.conditions.No(api.ConditionNUMAAligned, api.ReasonMisaligned, strings.Join(elsewhere, "; "))
	case len(unplaced) > 0:
		s.conditions.No(api.ConditionNUMAAligned, api.ReasonNoNUMAFit, strings.Join(unplaced, ", ")+" had no place in one cell and was left to the scheduler: enforcement is Preferred")
	case len(silent) > 0:
		s.conditions.Unknown(api.ConditionNUMAAligned, api.ReasonNotReported, strings.Join(silent, "; "))
	case len(unknown) > 0:
		s.conditions.Unknown(api.ConditionNUMAAligned, "TopologyUnknown", strings.Join(unknown, "; "))
	case len(aligned) > 0:
		s.conditions.Yes(api.ConditionNUMAAligned, api.ReasonReady, strings.Join(aligned, "; "))
	default:
		s.conditions.Unknown(api.ConditionNUMAAligned, api.ReasonNotReported, "no unit runs")
	}
}

// vfioAccess reports whether virtual functions can be had as root only, and whether they stay with the kernel's driver: where
// the unit goes, or, where the scheduler chooses, on some node that it may choose. Of a node of which no agent tells, root is taken to be
// asked for.
func (r *Reconciler) vfioAccess(ctx context.Context, upf *api.UPFInstance, place *specs.Place) (asRoot, besideKernel bool, err error) {
	if upf.Spec.Driver != api.DriverVFIO {
		return false, false, nil
	}
	var reports api.DataplaneNodeList
	if err := r.List(ctx, &reports, client.UnsafeDisableDeepCopy); err != nil {
		return false, false, err
	}
	besideKernel = specs.KernelDriven(upf, reports.Items, place)
	told := false
	for i := range reports.Items {
		n := &reports.Items[i]
		if place != nil && n.Name != place.Node {
			continue
		}
		if n.Status.VFIOAccess != api.VFIOAccessNonRoot {
			return true, besideKernel, nil
		}
		told = true
	}
	return !told, besideKernel, nil
}

// ScrapeTopology asks a unit where it is.
func ScrapeTopology(ctx context.Context, pod *corev1.Pod) (*topology.Topology, error) {
	t := &topology.Topology{}
	err := asking.Scrape(ctx, pod, "/topology", func(r io.Reader) error {
		if err := json.NewDecoder(r).Decode(t); err != nil {
			return err
		}
		if len(t.Threads) == 0 {
			return errors.New("it names no CPU")
		}
		return nil
	})
	return t, err
}
