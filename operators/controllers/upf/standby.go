package upf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/upf/upfc/fencing"
)

// A unit with redundancy has two pods, members a and b. Who of them serves, they settle between themselves by the unit's Lease; the
// operator reads it there. What serves is the unit in all that is done with units: it is asked, drained, updated and moved. The other
// one is its standby, which is made anew whenever that is due, for no session ends with it. So an update goes to the standby first, and
// to the unit when the standby is in sync: it takes over when the unit's pod ends.
//
// Two things only the operator can do. It puts the label on the pod that serves by which the unit's N4 Service leads there (serving.go). And it frees
// a unit whose pods are gone: their names in the Lease would keep their successors standing by for ever. That a pod's processes are gone
// is the word of the API server, which has no object of it any more.
//
// A pod of the time before, or after, redundancy heeds no Lease. So nothing is made beside it: it goes first.

const (
	// takeoverPatience is how long a unit whose pod is gone is left to a standby that is there: several times what a takeover lasts.
	takeoverPatience = 15 * time.Second
	// schedulingPatience is how long an update waits for a standby that no node has room for: its unit's own pod may have the room. It
	// is longer than a pod that makes room takes to end.
	schedulingPatience = time.Minute
)

// members are the units, and then their standbys: units have the better places.
func (s *scope) members() []*unitScope {
	out := slices.Clone(s.units)
	for _, u := range s.units {
		if u.standby != nil {
			out = append(out, u.standby)
		}
	}
	return out
}

// unitMoved passes what a Lease says of who serves a unit and who stands by, and leaves out renewals.
func unitMoved() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*coordinationv1.Lease)
		after, is := e.ObjectNew.(*coordinationv1.Lease)
		if !ok || !is {
			return true
		}
		was, errWas := specs.UnitRecord(before)
		now, errNow := specs.UnitRecord(after)
		was.Renewed, now.Renewed = 0, 0
		return errWas != nil || errNow != nil || was != now
	}}
}

// linkMembers makes what members need to be in touch with each other and with their Leases.
func (r *Reconciler) linkMembers(ctx context.Context, s *scope) error {
	policy := specs.StandbyPolicy(s.upf)
	redundant := specs.Redundant(s.upf) || s.halted != nil // what runs may be of the time with redundancy
	if !redundant || s.core == nil || s.core.Spec.NetworkPolicy.Mode == api.NetworkPolicyDisabled {
		if err := r.applier.Remove(ctx, s.upf, policy); err != nil {
			return err
		}
	}
	if !specs.Redundant(s.upf) {
		return nil
	}
	account, role, binding := specs.StandbyAccess(s.upf, max(specs.PossibleUnits(s.upf), int(s.upf.Status.Units)))
	var objects []client.Object
	for _, o := range []client.Object{account, role, binding} { // few of them, and in no cache
		o, err := applying.Uncached(r.Scheme(), o)
		if err != nil {
			return err
		}
		objects = append(objects, o)
	}
	if s.core != nil && s.core.Spec.NetworkPolicy.Mode != api.NetworkPolicyDisabled {
		// Without policies of the core this one would shut out everybody else.
		objects = append(objects, policy)
	}
	for unit := range specs.PossibleUnits(s.upf) {
		for _, m := range specs.Members {
			objects = append(objects, specs.StandbyService(s.upf, unit, m))
		}
	}
	for _, o := range objects {
		if err := s.unlinkedBy(r.applier.Apply(ctx, o)); err != nil {
			return err
		}
	}
	state, err := r.certifier.KeepStandby(ctx, s.upf)
	if err != nil {
		return err
	}
	if !state.Next.IsZero() {
		s.again(state.Next.Sub(r.Now()))
	}
	if state.Problem != "" && s.unlinked == "" {
		s.unlinked = state.Problem
	}
	return nil
}

// unlinkedBy notes that somebody else has a name that all members need; other errors stay errors.
func (s *scope) unlinkedBy(err error) error {
	taken, is := cluster.AsTaken(err)
	if !is {
		return err
	}
	s.again(cluster.TakenRetry)
	if s.unlinked == "" {
		s.unlinked = taken.Error()
	}
	return nil
}

// findMembers finds out who serves a unit, and who stands by.
func (r *Reconciler) findMembers(ctx context.Context, s *scope, u *unitScope, there map[specs.Member]*corev1.Pod) error {
	if !specs.Redundant(s.upf) {
		first, second := there[specs.MemberA], there[specs.MemberB]
		if s.halted != nil && second != nil && second.Labels[api.LabelServing] != "" && cluster.Owns(s.upf, second) {
			first, second = second, first // the unit is who serves it, until there can be another pod
		}
		if first != nil {
			u.see(first)
		}
		if second != nil && cluster.Owns(s.upf, second) {
			u.leftover = second
		}
		return nil
	}
	record, err := r.record(ctx, s, u, there)
	if err != nil {
		return err
	}
	u.member = specs.MemberA
	if u.status.Pod == specs.MemberName(s.upf.Name, u.number, specs.MemberB) {
		u.member = specs.MemberB // as long as nobody else serves
	}
	for m, pod := range there {
		if cluster.Owns(s.upf, pod) && (isLife(pod, record.Holder) || !specs.IsMember(pod)) {
			u.member, u.served = m, true
		}
	}
	u.status.Epoch = int64(record.Epoch)
	u.standby = newStandbyScope(s.upf, u)
	if pod := there[u.member]; pod != nil {
		u.see(pod)
	}
	if pod := there[u.standby.member]; pod != nil {
		u.standby.see(pod)
		u.standby.inSync = u.served && pod.DeletionTimestamp.IsZero() && isLife(pod, record.Standby)
	}
	if !u.served {
		return nil
	}
	return leadTo(ctx, r.Client, u.pod, u.standby.pod)
}

// newStandbyScope begins with what was said of a unit's standby last.
func newStandbyScope(upf *api.UPFInstance, u *unitScope) *unitScope {
	b := &unitScope{
		number: u.number, member: u.member.Other(), of: u, wanted: u.wanted, taken: u.taken,
		status: api.UnitStatus{Name: u.status.Name + " standby"},
	}
	if old := u.status.Standby; old != nil && old.Pod == specs.MemberName(upf.Name, u.number, b.member) {
		b.status.Rejections, b.status.RetryAfter, b.status.Message = old.Rejections, old.RetryAfter, old.Message
	}
	return b
}

// record is that of the unit's Lease, which is made where there is none, and freed where those that it names are gone.
func (r *Reconciler) record(ctx context.Context, s *scope, u *unitScope, there map[specs.Member]*corev1.Pod) (fencing.Record, error) {
	lease := &coordinationv1.Lease{}
	epoch := u.status.Epoch
	if epoch > 0 { // it was deleted; what runs takes no earlier one, and one change may not have been seen
		epoch++
	}
	fresh := specs.UnitLease(s.upf, u.number, epoch)
	err := r.Get(ctx, client.ObjectKeyFromObject(fresh), lease)
	if apierrors.IsNotFound(err) {
		return fencing.Record{}, r.makeLease(ctx, s, u, fresh)
	}
	if err != nil {
		return fencing.Record{}, err
	}
	if err := cluster.Belongs("Lease", lease, metav1.GetControllerOf(fresh)); err != nil {
		return fencing.Record{}, s.takenFrom(u, err)
	}
	if cluster.Orphan(lease) { // put back from a backup
		owned := lease.DeepCopy()
		owned.OwnerReferences = fresh.OwnerReferences
		if err := r.Patch(ctx, owned, client.MergeFromWithOptions(lease, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner)); err != nil {
			return fencing.Record{}, err
		}
		return fencing.Record{}, errStale
	}
	record, err := specs.UnitRecord(lease)
	if err != nil {
		u.taken = err.Error()
		return fencing.Record{}, nil
	}
	if record.Holder == "" || isThere(there, record.Holder) {
		return record, nil
	}
	return record, r.free(ctx, s, u, lease, record)
}

func (r *Reconciler) makeLease(ctx context.Context, s *scope, u *unitScope, lease *coordinationv1.Lease) error {
	err := r.Create(ctx, lease, client.FieldOwner(specs.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live := &coordinationv1.Lease{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(lease), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := cluster.Belongs("Lease", live, metav1.GetControllerOf(lease)); err != nil {
		return s.takenFrom(u, err)
	}
	return errStale
}

// isLife reports whether the life is one of the pod's upf-c.
func isLife(pod *corev1.Pod, life string) bool {
	return life != "" && string(pod.UID) == fencing.Member(life)
}

func isThere(pods map[specs.Member]*corev1.Pod, life string) bool {
	for _, pod := range pods {
		if isLife(pod, life) {
			return true
		}
	}
	return false
}

// free writes that nobody serves the unit, when the pod that did is gone, and its standby is gone as well or does not come.
func (r *Reconciler) free(ctx context.Context, s *scope, u *unitScope, lease *coordinationv1.Lease, record fencing.Record) error {
	live := map[specs.Member]*corev1.Pod{}
	for _, m := range specs.Members {
		pod := &corev1.Pod{}
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.upf.Namespace, Name: specs.MemberName(s.upf.Name, u.number, m)}, pod)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			live[m] = pod
		}
	}
	if isThere(live, record.Holder) {
		return errStale
	}
	if isThere(live, record.Standby) && lease.Spec.RenewTime != nil {
		if left := lease.Spec.RenewTime.Add(takeoverPatience).Sub(r.Now()); left > 0 {
			s.again(left)
			return nil
		}
	}
	changed := lease.DeepCopy()
	specs.SetUnitRecord(changed, fencing.Record{Epoch: record.Epoch, Renewed: record.Renewed + 1})
	err := r.Patch(ctx, changed, client.MergeFromWithOptions(lease, client.MergeFromWithOptimisticLock{}), client.FieldOwner(specs.FieldOwner))
	if apierrors.IsConflict(err) {
		return errStale // somebody has taken it over
	}
	if err == nil {
		r.Recorder.Eventf(s.upf, corev1.EventTypeWarning, "UnitFreed", "%s: the pod that served it is gone, and no standby has taken over: the next pod begins without sessions", u.status.Name)
	}
	return client.IgnoreNotFound(err)
}

// mayMake says why no pod of the unit may be made now: what is there heeds the Lease only if it was made for redundancy.
func (r *Reconciler) mayMake(ctx context.Context, s *scope, u *unitScope) (problem string, err error) {
	redundant := specs.Redundant(s.upf)
	if redundant && s.unlinked != "" {
		return s.unlinked, nil
	}
	if !redundant && !slices.ContainsFunc(s.upf.Status.UnitStatuses, func(old api.UnitStatus) bool { return old.Standby != nil }) {
		return "", nil
	}
	member := u.member
	if member == "" {
		member = specs.MemberA
	}
	other := &corev1.Pod{}
	err = r.Live.Get(ctx, client.ObjectKey{Namespace: s.upf.Namespace, Name: specs.MemberName(s.upf.Name, u.number, member.Other())}, other)
	if err != nil || !cluster.Owns(s.upf, other) || specs.IsMember(other) == redundant {
		return "", client.IgnoreNotFound(err)
	}
	return fmt.Sprintf("is made when pod %s is gone, which is of the time before redundancy was changed", other.Name), nil
}

// endLeftover takes away a pod of the time with redundancy.
func (r *Reconciler) endLeftover(ctx context.Context, s *scope, u *unitScope) error {
	if u.leftover == nil || s.halted != nil || !u.leftover.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, u.leftover, client.Preconditions{UID: &u.leftover.UID}))
}

// keepStandby moves the standby of a unit a step towards what is wanted, and notes how it is.
func (r *Reconciler) keepStandby(ctx context.Context, s *scope, u *unitScope) error {
	b := u.standby
	switch {
	case b == nil:
		return nil
	case b.pod != nil && !cluster.Owns(s.upf, b.pod):
		return s.takenFrom(b, &cluster.TakenError{Kind: "Pod", Name: b.pod.Name, Holder: metav1.GetControllerOf(b.pod)})
	case b.abandon():
		return nil
	case b.pod != nil && !b.pod.DeletionTimestamp.IsZero():
		b.note(api.UnitTerminating, "the pod is stopping")
		return nil
	case !u.wanted && b.pod != nil:
		b.doom(api.UnitTerminating, "the pod is stopping: "+unwanted(s.upf))
		return nil
	case !u.wanted:
		b.note(api.UnitStopped, unwanted(s.upf))
		return nil
	case b.pod == nil:
		return r.create(ctx, s, b)
	case finished(b.pod):
		return r.reject(ctx, s, b)
	case s.halted != nil:
		b.pending = b.status.Hash != b.want.TemplateHash
		b.observeStandby()
		return nil
	case specs.Gated(b.pod) && b.status.Hash == b.want.TemplateHash:
		return r.open(ctx, s, b)
	case specs.Gated(b.pod):
		b.doom(api.UnitPending, "the pod is made anew: the UPFInstance was changed before it started")
		return nil
	}
	b.observeStandby()
	if b.status.Hash == b.want.TemplateHash {
		return nil
	}
	cause := s.updateCause(b)
	b.pending, b.replacing = true, cause
	if cause != "" && u.served && u.pod != nil && workloads.PodReady(u.pod) {
		b.doom(api.UnitTerminating, "the pod is stopping: "+cause)
	}
	return nil
}

func (u *unitScope) observeStandby() {
	switch {
	case u.inSync:
		u.note(api.UnitStandingBy, "")
		u.status.Rejections, u.status.RetryAfter = 0, nil
	case u.pod.Status.Phase == corev1.PodRunning:
		u.note(api.UnitRunning, runningProblem(u.pod))
	default:
		u.note(api.UnitPending, workloads.PodProblem(u.pod))
	}
}

// runningProblem says what keeps a standby from its unit's sessions: it is never ready.
func runningProblem(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if problem := workloads.ContainerProblem(pod.Name, c); problem != "" {
			return problem
		}
	}
	return fmt.Sprintf("pod %s has not all sessions of the unit yet", pod.Name)
}

// mayHandOver reports whether the unit's pod may end at once, because its standby goes on.
func (u *unitScope) mayHandOver() bool {
	return u.standby != nil && u.standby.inSync && !u.standby.doomed
}

// awaitsStandby reports whether a unit that is to be replaced waits until its standby has been, and has its sessions. For one that cannot
// be had nobody waits, unless the strategy is Switch.
func (r *Reconciler) awaitsStandby(s *scope, u *unitScope) bool {
	b := u.standby
	if b == nil || !specs.IsMember(u.pod) {
		return false
	}
	if switches(s.upf) {
		return !u.mayHandOver() || b.status.Hash != b.want.TemplateHash
	}
	if b.status.State == api.UnitUnplaced || b.status.State == api.UnitRejected {
		return false
	}
	if since, is := unschedulable(b.pod); is && b.status.Hash == b.want.TemplateHash {
		left := since.Add(schedulingPatience).Sub(r.Now())
		if left <= 0 {
			return false
		}
		s.again(left)
	}
	return !u.mayHandOver() || b.status.Hash != b.want.TemplateHash
}

// unschedulable reports since when the scheduler has found no node for the pod.
func unschedulable(pod *corev1.Pod) (since time.Time, is bool) {
	if pod == nil {
		return time.Time{}, false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// leave ends the unit's pod: at once where its standby takes over.
func (r *Reconciler) leave(ctx context.Context, s *scope, u *unitScope, cause string) error {
	if !u.mayHandOver() {
		return r.stop(ctx, s, u, cause)
	}
	u.status.Drain = nil
	u.doom(api.UnitTerminating, fmt.Sprintf("the pod is stopping: %s; %s takes over", cause, u.standby.pod.Name))
	return nil
}

// sayMembers writes into the unit's status which pod serves, and how the other one is.
func (u *unitScope) sayMembers() {
	if u.standby == nil {
		return
	}
	u.status.Pod = ""
	if u.pod != nil {
		u.status.Pod = u.pod.Name
	}
	b := u.standby
	u.status.Standby = &api.UnitStandby{
		Pod: b.want.Pod.Name, State: b.status.State, Node: b.status.Node, Cell: b.status.Cell, Hash: b.status.Hash,
		Rejections: b.status.Rejections, RetryAfter: b.status.RetryAfter, Message: b.status.Message,
	}
}

// observeStandbys says whether each unit could be taken over now.
func (s *scope) observeStandbys() {
	var lacking, ready []string
	for _, u := range s.units {
		switch b := u.standby; {
		case b == nil || !u.wanted:
		case u.mayHandOver():
			ready = append(ready, fmt.Sprintf("%s in %s, by %s", u.status.Name, u.pod.Name, b.pod.Name))
		default:
			lacking = append(lacking, fmt.Sprintf("%s: %s", u.status.Name, u.lacksStandby()))
		}
	}
	switch {
	case len(lacking) > 0:
		s.conditions.No(api.ConditionStandbyInSync, api.ReasonStandbyNotInSync, "no standby has all sessions of "+strings.Join(lacking, "; "))
	case len(ready) > 0:
		s.conditions.Yes(api.ConditionStandbyInSync, api.ReasonReady, "may be taken over: "+strings.Join(ready, "; "))
	default:
		meta.RemoveStatusCondition(&s.upf.Status.Conditions, api.ConditionStandbyInSync)
	}
}

// lacksStandby says why, and what to do.
func (u *unitScope) lacksStandby() string {
	b := u.standby
	switch {
	case u.status.State != api.UnitReady:
		return fmt.Sprintf("it is %s itself (%s)", u.status.State, u.status.Message)
	case b.status.State == api.UnitUnplaced:
		return fmt.Sprintf("the standby has no place (%s): make room for one more unit, or write redundancy.standbys: 0", b.status.Message)
	case b.status.State == api.UnitRunning:
		return fmt.Sprintf("%s; if that lasts: kubectl logs -c upf-c %s, and %s", b.status.Message, b.pod.Name, u.pod.Name)
	default:
		return fmt.Sprintf("the standby is %s (%s)", b.status.State, b.status.Message)
	}
}
