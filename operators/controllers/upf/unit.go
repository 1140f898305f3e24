package upf

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/metrics"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/placement"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/topology"
)

// A unit is one pod. It is made when it is missing, and taken down in five cases only: it is not wanted
// any more, it failed, its node is lost for good (lostnode.go), the user changed the UPFInstance, or the user let a pending update through. A new
// version of the operator changes the template and not the specification, and only says so.
//
// While no pod can be made, because of a mistake in the UPFInstance or because something is missing, none that runs is taken down to be made anew:
// it goes on as what it was made of, and UpdatePending says why.
//
// A kubelet that refuses a pod (TopologyAffinityError, UnexpectedAdmissionError, OutOfcpu, …) leaves it
// Failed. That is data: it becomes status and an Event, the pod is deleted, and the next one is made
// after a back-off that doubles from 5 s to 5 min. Nothing makes pods in a storm.
//
// The back-off lives in the status, so the order is: write the status, delete the pod. A write that
// conflicts leaves the pod there to be counted again. And a pod is made on the latest status only: the
// end of a pod may reach the cache before the status that was written ahead of it.

const (
	BackoffFirst = 5 * time.Second
	backoffLast  = 5 * time.Minute
)

// errStale ends a pass that would have made a pod on an old copy; the next has a newer one.
var errStale = errors.New("the cache is behind the UPFInstance")

// unitScope is one unit in one pass.
type unitScope struct {
	number int
	want   specs.Unit
	pod    *corev1.Pod
	status api.UnitStatus
	wanted bool
	// problem is why the specification gives the unit no addresses, taken who else has the name of its N4
	// Service.
	problem, taken string
	// unreached is why SMFs could not reach it.
	unreached string
	// pending is set when the unit runs an older template and is left alone, replacing when it is taken
	// down because of that.
	pending   bool
	replacing string
	// place is what the planner has found, unplaced why it has found none; unbound lets the scheduler choose.
	place    *specs.Place
	unplaced string
	unbound  bool
	// cordoned is set when the unit's node is, with another node for it, or why there is none.
	cordoned            bool
	elsewhere, shortage string
	// refused is what is said of a failed pod once the status that counts it is written; then it goes.
	// doomed is a pod that goes then for another reason.
	refused *refusal
	doomed  bool
	// silent is why a ready unit has not said where it is, ports what it has said of its interfaces. asked is set while
	// there is no answer yet.
	silent string
	asked  bool
	ports  []topology.Port

	// member that serves the unit, or would; "" without redundancy. served is set where it does.
	member specs.Member
	served bool
	// standby of the unit, of the unit that this is the standby of; inSync is set for a standby that may take over.
	standby, of *unitScope
	inSync      bool
	// lost is set where the pod's node is.
	lost *unitLoss
	// leftover is a pod of the time with redundancy, which goes before anything else.
	leftover *corev1.Pod
}

type refusal struct{ reason, message string }

// newUnitScope begins with what was said of the unit last.
func newUnitScope(upf *api.UPFInstance, number int) *unitScope {
	u := &unitScope{number: number, status: api.UnitStatus{Name: specs.UnitName(upf.Name, number)}}
	for _, old := range upf.Status.UnitStatuses {
		if old.Name == u.status.Name {
			u.status.Rejections, u.status.RetryAfter, u.status.Message = old.Rejections, old.RetryAfter, old.Message
			u.status.Drain, u.status.Topology = old.Drain.DeepCopy(), old.Topology.DeepCopy()
			u.status.N4Address = old.N4Address
			if specs.Redundant(upf) {
				u.status.Pod, u.status.Epoch, u.status.Standby = old.Pod, old.Epoch, old.Standby.DeepCopy()
			}
		}
	}
	u.wanted = number < wantedUnits(upf)
	if specs.Parts(upf) > 1 {
		u.status.N3Endpoints, u.status.N6Address = specs.UnitN3Endpoints(upf, number), specs.UnitN6Address(upf, number)
		u.status.NetworkInstances = specs.UnitNetworks(upf, number)
		u.status.NAT44Addresses = specs.UnitNAT44Addresses(upf, upf.Spec.N6.NAT44, number)
	}
	return u
}

// keepAddresses that were the unit's, as its pod does.
func (u *unitScope) keepAddresses(upf *api.UPFInstance) {
	for _, old := range upf.Status.UnitStatuses {
		if old.Name == u.status.Name {
			u.status.N3Endpoints, u.status.N6Address = old.N3Endpoints, old.N6Address
			u.status.NetworkInstances, u.status.NAT44Addresses = old.NetworkInstances, old.NAT44Addresses
		}
	}
}

// doom lets the pod go once the status that says why is written.
func (u *unitScope) doom(state api.UnitState, message string) {
	u.doomed = true
	u.note(state, message)
}

func backoff(rejections int32) time.Duration {
	d := BackoffFirst
	for i := int32(1); i < rejections && d < backoffLast; i++ {
		d *= 2
	}
	return min(d, backoffLast)
}

// see notes what there is of the unit.
func (u *unitScope) see(pod *corev1.Pod) {
	u.pod = pod
	if u.status.Topology != nil && u.status.Topology.ContainerID != reporter(pod) {
		u.status.Topology = nil
	}
	u.status.Hash = pod.Annotations[specs.AnnotationTemplateHash]
	u.status.Node = pod.Spec.NodeName
	if spot, known := specs.PodSpot(pod); known {
		u.status.Node = spot.Node
		if spot.Cell != placement.AnyCell {
			u.status.Cell = ptr.To(spot.Cell)
		}
	}
}

// keepUnit moves one unit a step towards what is wanted, and notes how it is.
func (r *Reconciler) keepUnit(ctx context.Context, s *scope, u *unitScope) error {
	switch {
	case u.leftover != nil && s.halted == nil:
		u.note(api.UnitPending, fmt.Sprintf("waits for the end of pod %s, of the time with redundancy", u.leftover.Name))
		return nil
	case u.pod != nil && !cluster.Owns(s.upf, u.pod):
		return s.takenFrom(u, &cluster.TakenError{Kind: "Pod", Name: u.pod.Name, Holder: metav1.GetControllerOf(u.pod)})
	case u.abandon():
		return nil
	case u.pod != nil && !u.pod.DeletionTimestamp.IsZero():
		u.note(api.UnitTerminating, "the pod is stopping")
		return nil
	case !u.wanted && u.pod != nil:
		return r.stop(ctx, s, u, unwanted(s.upf))
	case !u.wanted:
		u.status.Drain, u.status.Topology = nil, nil
		u.note(api.UnitStopped, unwanted(s.upf))
		return nil
	case u.pod == nil:
		u.status.Drain, u.status.Topology = nil, nil
		return r.create(ctx, s, u)
	case finished(u.pod):
		return r.reject(ctx, s, u)
	case s.halted != nil:
		u.pending = u.status.Hash != u.want.TemplateHash
	case specs.Gated(u.pod):
		if u.status.Hash != u.want.TemplateHash {
			u.doom(api.UnitPending, "the pod is made anew: the UPFInstance was changed before it started")
			return nil
		}
		return r.open(ctx, s, u)
	case u.status.Hash != u.want.TemplateHash:
		return r.update(ctx, s, u)
	case u.cordoned && u.elsewhere != "" && (u.status.Drain != nil || s.mayDisturb(u)):
		return r.leave(ctx, s, u, fmt.Sprintf("node %s is cordoned", u.pod.Spec.NodeName))
	}
	if r.askTopology(ctx, s, u); s.halted == nil && s.replaces(u) && (u.status.Drain != nil || s.mayDisturb(u)) {
		return r.replaceMisaligned(ctx, s, u)
	}
	u.status.Drain = nil
	u.observe()
	return nil
}

func unwanted(upf *api.UPFInstance) string {
	if state := upf.Spec.AdministrativeState; state == api.StateLocked || state == api.StateShuttingDown {
		return "administrativeState is " + string(state)
	}
	return fmt.Sprintf("%d units are asked for", specs.AskedUnits(upf))
}

func (u *unitScope) note(state api.UnitState, message string) {
	u.status.State, u.status.Message = state, message
}

func (u *unitScope) observe() {
	switch {
	case workloads.PodReady(u.pod):
		u.note(api.UnitReady, "")
		if t := u.status.Topology; t != nil && t.Alignment == api.UnitAligned {
			u.status.Cell = t.Cell // with SingleNUMA the kubelet may have chosen another than was planned
		}
		u.status.Rejections, u.status.RetryAfter = 0, nil
	case u.pod.Status.Phase == corev1.PodRunning:
		u.note(api.UnitRunning, workloads.PodProblem(u.pod))
	default:
		u.note(api.UnitPending, workloads.PodProblem(u.pod))
	}
}

func (r *Reconciler) create(ctx context.Context, s *scope, u *unitScope) error {
	if s.halted != nil {
		u.note(api.UnitPending, "no pod can be made: "+s.halted.Message)
		return nil
	}
	if u.taken != "" {
		u.note(api.UnitPending, u.taken)
		return nil
	}
	if u.unreached != "" {
		u.note(api.UnitPending, u.unreached)
		return nil
	}
	if why, err := r.mayMake(ctx, s, u); err != nil || why != "" {
		u.note(api.UnitPending, why)
		return err
	}
	if specs.Planned(s.upf) && u.place == nil && !u.unbound {
		u.note(api.UnitUnplaced, u.unplaced)
		return nil
	}
	if u.status.RetryAfter != nil {
		if wait := u.status.RetryAfter.Sub(r.Now()); wait > 0 {
			u.status.State = api.UnitRejected
			s.again(wait)
			return nil
		}
	}
	latest := &api.UPFInstance{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.upf), latest); err != nil {
		return client.IgnoreNotFound(err)
	}
	if latest.ResourceVersion != s.upf.ResourceVersion {
		return errStale
	}
	if err := r.applier.Apply(ctx, u.want.Config.DeepCopy()); err != nil {
		return s.takenFrom(u, err)
	}
	pod := u.want.Pod.DeepCopy()
	if u.place != nil {
		pod = u.want.Placed(s.upf, u.place)
		for _, a := range specs.PlaceAttachments(s.upf, u.place) {
			if err := r.applier.Apply(ctx, a); err != nil {
				return s.takenFrom(u, err)
			}
		}
		u.status.Node = u.place.Node
		if u.place.Cell != placement.AnyCell {
			u.status.Cell = ptr.To(u.place.Cell)
		}
	}
	asRoot, beside, err := r.vfioAccess(ctx, s.upf, u.place)
	if err != nil {
		return err
	}
	if asRoot {
		pod = specs.VFIOAsRoot(pod)
	}
	if beside {
		pod = specs.BesideKernel(pod)
	}
	if err := r.Create(ctx, pod); err != nil {
		if apierrors.IsAlreadyExists(err) {
			// Either the cache is behind, and the pod's own event brings us back, or it is not ours.
			u.note(api.UnitPending, fmt.Sprintf("a pod %s exists already", u.want.Pod.Name))
			s.again(cluster.TakenRetry)
			there := &corev1.Pod{}
			if err := r.Live.Get(ctx, client.ObjectKeyFromObject(pod), there); err != nil {
				return client.IgnoreNotFound(err)
			}
			return s.takenFrom(u, cluster.Belongs("Pod", there, metav1.GetControllerOf(pod)))
		}
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			// Pod Security, a quota, a webhook: waiting for somebody, not for a retry.
			u.status.Rejections++
			wait := backoff(u.status.Rejections)
			u.status.RetryAfter = ptr.To(metav1.NewTime(r.Now().Add(wait)))
			u.note(api.UnitRejected, err.Error())
			r.Recorder.Event(s.upf, corev1.EventTypeWarning, "UnitRefused", err.Error())
			s.again(wait)
			return nil
		}
		return err
	}
	u.status.Hash = u.want.TemplateHash
	u.note(api.UnitPending, "the pod was made")
	r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitCreated", "pod %s", u.want.Pod.Name)
	return nil
}

// takenFrom notes that somebody else has a name that the unit needs; other errors stay errors.
func (s *scope) takenFrom(u *unitScope, err error) error {
	var taken *cluster.TakenError
	if err == nil || !errors.As(err, &taken) {
		return err
	}
	u.taken = taken.Error()
	u.note(api.UnitPending, u.taken)
	s.again(cluster.TakenRetry)
	return nil
}

// reject counts a failed pod; discard takes it away.
func (r *Reconciler) reject(ctx context.Context, s *scope, u *unitScope) error {
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(u.pod), live); client.IgnoreNotFound(err) != nil {
		return err
	}
	if live.UID != u.pod.UID || !live.DeletionTimestamp.IsZero() {
		u.note(api.UnitRejected, u.status.Message) // counted; the cache still shows it
		return nil
	}
	u.status.Rejections++
	u.status.Drain = nil
	reason := u.pod.Status.Reason
	if reason == "" {
		reason = "UnitFailed"
	}
	spot, _ := specs.PodSpot(u.pod)
	r.Rejections.WithLabelValues(s.upf.Namespace, s.upf.Name, spot.Node, metrics.CellLabel(spot.Cell), reason).Inc()
	u.note(api.UnitRejected, fmt.Sprintf("%s on node %s: %s", reason, u.pod.Spec.NodeName, u.pod.Status.Message))
	if u.pod.Annotations[specs.AnnotationPlacedNode] != "" && refusesPlace(reason) {
		// Not the unit waits, but the place.
		u.status.RetryAfter = nil
		wait := s.backOff(spot, reason, r.Now())
		u.refused = &refusal{reason, fmt.Sprintf("pod %s on %s: %s; the place is tried again in %s", u.pod.Name, spot, u.pod.Status.Message, wait)}
		return nil
	}
	wait := backoff(u.status.Rejections)
	u.status.RetryAfter = ptr.To(metav1.NewTime(r.Now().Add(wait)))
	u.refused = &refusal{reason, fmt.Sprintf("pod %s on node %s: %s; the next is made in %s",
		u.pod.Name, u.pod.Spec.NodeName, u.pod.Status.Message, wait)}
	s.again(wait)
	return nil
}

// discard takes away the pods that the written status counts or gives up.
func (r *Reconciler) discard(ctx context.Context, s *scope) error {
	for _, u := range s.members() {
		if err := r.endLeftover(ctx, s, u); err != nil {
			return err
		}
		options := []client.DeleteOption{}
		switch {
		case u.doomed && u.lost != nil && u.lost.abandoned:
			r.Recorder.Eventf(s.upf, corev1.EventTypeWarning, api.ReasonNodeLost, "pod %s on node %s: %s", u.pod.Name, u.lost.Name, u.lost.outlook)
			options = append(options, client.GracePeriodSeconds(0)) // no kubelet says that it has ended
		case u.refused != nil:
			r.Recorder.Event(s.upf, corev1.EventTypeWarning, u.refused.reason, u.refused.message)
		case u.replacing != "" && u.doomed:
			r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitRestarted", "pod %s is replaced: %s", u.pod.Name, u.replacing)
		case !u.doomed:
			continue
		}
		if err := client.IgnoreNotFound(r.Delete(ctx, u.pod, append(options, client.Preconditions{UID: &u.pod.UID})...)); err != nil {
			return err
		}
	}
	return nil
}

// update decides about a unit that runs another template than the present one.
func (r *Reconciler) update(ctx context.Context, s *scope, u *unitScope) error {
	cause := s.updateCause(u)
	if cause == "" || (u.status.Drain == nil && workloads.PodReady(u.pod) && (!s.mayDisturb(u) || r.awaitsStandby(s, u))) {
		u.pending, u.replacing = true, cause
		u.status.Drain = nil
		u.observe()
		return nil
	}
	u.replacing = cause
	return r.leave(ctx, s, u, cause)
}

// updateCause says why a unit may be replaced by one of the present template; "" where it may not.
func (s *scope) updateCause(u *unitScope) string {
	approved := s.upf.Annotations[api.AnnotationApplyUpdate]
	switch {
	case approved == u.want.TemplateHash || approved == s.updateHash():
		return "the pending update was let through"
	case u.pod.Annotations[specs.AnnotationSpecHash] != u.want.SpecHash && !onApproval(s.upf):
		return "the UPFInstance was changed"
	case switches(s.upf):
		return "its image or configuration has changed"
	}
	return ""
}

func onApproval(upf *api.UPFInstance) bool {
	return upf.Spec.UpdateStrategy != nil && upf.Spec.UpdateStrategy.Type == api.UpdateOnApproval
}

// switches reports whether units are replaced by hand-overs alone.
func switches(upf *api.UPFInstance) bool {
	return specs.Redundant(upf) && upf.Spec.UpdateStrategy != nil && upf.Spec.UpdateStrategy.Type == api.UpdateSwitch
}

// updateHash stands for the present template of all units.
func (s *scope) updateHash() string {
	if len(s.units) == 0 {
		return ""
	}
	first := s.units[0]
	if first.member == specs.MemberB { // it stands for the update, whoever serves
		return first.standby.want.TemplateHash
	}
	return first.want.TemplateHash
}
