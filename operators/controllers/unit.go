package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// A unit is one pod. It is made when it is missing, and taken down in four cases only: it is not wanted
// any more, it failed, the user changed the UPFInstance, or the user let a pending update through. A new
// version of the operator changes the template and not the specification, and only says so.
//
// A kubelet that refuses a pod (TopologyAffinityError, UnexpectedAdmissionError, OutOfcpu, …) leaves it
// Failed. That is data: it becomes status and an Event, the pod is deleted, and the next one is made
// after a back-off that doubles from 5 s to 5 min. Nothing makes pods in a storm.
//
// The back-off lives in the status, so the order is: write the status, delete the pod. A write that
// conflicts leaves the pod there to be counted again. And a pod is made on the latest status only: the
// end of a pod may reach the cache before the status that was written ahead of it.

const (
	backoffFirst = 5 * time.Second
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
	// pending is set when the unit runs an older template and is left alone.
	pending bool
	// refused is what is said of a failed pod once the status that counts it is written; then it goes.
	refused *refusal
}

type refusal struct{ reason, message string }

func newUnitScope(upf *api.UPFInstance, number int, n4Address string) *unitScope {
	u := &unitScope{number: number, status: api.UnitStatus{Name: specs.UnitName(upf.Name, number)}}
	for _, old := range upf.Status.UnitStatuses {
		if old.Name == u.status.Name {
			u.status.Rejections, u.status.RetryAfter, u.status.Message = old.Rejections, old.RetryAfter, old.Message
		}
	}
	u.status.N4Address = n4Address
	return u
}

func backoff(rejections int32) time.Duration {
	d := backoffFirst
	for i := int32(1); i < rejections && d < backoffLast; i++ {
		d *= 2
	}
	return min(d, backoffLast)
}

// keepUnit moves one unit a step towards what is wanted, and notes how it is.
func (r *UPFReconciler) keepUnit(ctx context.Context, s *upfScope, u *unitScope) error {
	u.want = specs.UPFUnit(s.upf, s.core, r.Platform, u.number, u.status.N4Address)
	pod := &corev1.Pod{}
	err := r.Get(ctx, client.ObjectKeyFromObject(u.want.Pod), pod)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil {
		u.pod = pod
		u.status.Node = pod.Spec.NodeName
		u.status.Hash = pod.Annotations[specs.AnnotationTemplateHash]
	}
	wanted := u.number < wantedUnits(s.upf)
	switch {
	case u.pod != nil && !owns(s.upf, u.pod):
		u.note(api.UnitPending, fmt.Sprintf("pod %s exists and belongs to somebody else: delete it", u.pod.Name))
		s.again(10 * time.Second)
		return nil
	case u.pod != nil && !u.pod.DeletionTimestamp.IsZero():
		u.note(api.UnitTerminating, "the pod is stopping")
		return nil
	case !wanted && u.pod != nil:
		u.note(api.UnitTerminating, "the pod is stopping")
		return client.IgnoreNotFound(r.Delete(ctx, u.pod))
	case !wanted:
		u.note(api.UnitStopped, "administrativeState is Locked")
		return nil
	case u.pod == nil:
		return r.create(ctx, s, u)
	case u.pod.Status.Phase == corev1.PodFailed || u.pod.Status.Phase == corev1.PodSucceeded:
		return r.reject(ctx, s, u)
	case u.status.Hash != u.want.TemplateHash:
		return r.update(ctx, s, u)
	}
	u.observe()
	return nil
}

func (u *unitScope) note(state api.UnitState, message string) {
	u.status.State, u.status.Message = state, message
}

func (u *unitScope) observe() {
	switch {
	case podReady(u.pod):
		u.note(api.UnitReady, "")
		u.status.Rejections, u.status.RetryAfter = 0, nil
	case u.pod.Status.Phase == corev1.PodRunning:
		u.note(api.UnitRunning, podProblem(u.pod))
	default:
		u.note(api.UnitPending, podProblem(u.pod))
	}
}

func (r *UPFReconciler) create(ctx context.Context, s *upfScope, u *unitScope) error {
	if s.halted {
		u.note(api.UnitPending, "no pod can be made: the other conditions say why")
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
	if err := r.applier.apply(ctx, u.want.Config.DeepCopy()); err != nil {
		return err
	}
	if err := r.Create(ctx, u.want.Pod.DeepCopy()); err != nil {
		if apierrors.IsAlreadyExists(err) {
			// Either the cache is behind, and the pod's own event brings us back, or it is not ours.
			u.note(api.UnitPending, fmt.Sprintf("a pod %s exists already", u.want.Pod.Name))
			s.again(10 * time.Second)
			return nil
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

// reject counts a failed pod; discard takes it away.
func (r *UPFReconciler) reject(ctx context.Context, s *upfScope, u *unitScope) error {
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(u.pod), live); client.IgnoreNotFound(err) != nil {
		return err
	}
	if live.UID != u.pod.UID || !live.DeletionTimestamp.IsZero() {
		u.note(api.UnitRejected, u.status.Message) // counted; the cache still shows it
		return nil
	}
	u.status.Rejections++
	wait := backoff(u.status.Rejections)
	u.status.RetryAfter = ptr.To(metav1.NewTime(r.Now().Add(wait)))
	reason := u.pod.Status.Reason
	if reason == "" {
		reason = "UnitFailed"
	}
	u.note(api.UnitRejected, fmt.Sprintf("%s on node %s: %s", reason, u.pod.Spec.NodeName, u.pod.Status.Message))
	u.refused = &refusal{reason, fmt.Sprintf("pod %s on node %s: %s; the next is made in %s",
		u.pod.Name, u.pod.Spec.NodeName, u.pod.Status.Message, wait)}
	s.again(wait)
	return nil
}

// discard takes away the failed pods that the written status counts.
func (r *UPFReconciler) discard(ctx context.Context, s *upfScope) error {
	for _, u := range s.units {
		if u.refused == nil {
			continue
		}
		r.Recorder.Event(s.upf, corev1.EventTypeWarning, u.refused.reason, u.refused.message)
		if err := client.IgnoreNotFound(r.Delete(ctx, u.pod, client.Preconditions{UID: &u.pod.UID})); err != nil {
			return err
		}
	}
	return nil
}

// update decides about a unit that runs another template than the present one.
func (r *UPFReconciler) update(ctx context.Context, s *upfScope, u *unitScope) error {
	cause := ""
	switch {
	case u.pod.Annotations[specs.AnnotationSpecHash] != u.want.SpecHash:
		cause = "the UPFInstance was changed"
	case s.upf.Annotations[api.AnnotationApplyUpdate] == u.want.TemplateHash:
		cause = "the pending update was let through"
	default:
		u.pending = true
		u.observe()
		return nil
	}
	r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitRestarted", "pod %s is replaced: %s", u.pod.Name, cause)
	u.note(api.UnitTerminating, "the pod is replaced: "+cause)
	return client.IgnoreNotFound(r.Delete(ctx, u.pod))
}

// observeUnits turns what was seen into conditions.
func (r *UPFReconciler) observeUnits(_ context.Context, s *upfScope) error {
	status := &s.upf.Status
	status.Units, status.ReadyUnits, status.UnitStatuses = 0, 0, nil
	for _, u := range s.units {
		status.UnitStatuses = append(status.UnitStatuses, u.status)
		if u.pod != nil {
			status.Units++
		}
		if u.status.State == api.UnitReady {
			status.ReadyUnits++
		}
	}
	s.observePending()
	s.observeReady()
	if s.halted {
		return nil
	}
	s.observePlaced()
	s.observeAttached(api.ConditionN3Attached, specs.InterfaceN3)
	s.observeAttached(api.ConditionN6Attached, specs.InterfaceN6)
	return nil
}

func (s *upfScope) observePending() {
	var pending []string
	hash := ""
	for _, u := range s.units {
		if u.pending {
			pending, hash = append(pending, u.status.Name), u.want.TemplateHash
		}
	}
	if len(pending) == 0 {
		s.conditions.no(api.ConditionUpdatePending, api.ReasonUpToDate, "every unit runs the present configuration")
		return
	}
	s.conditions.yes(api.ConditionUpdatePending, "RestartRequired",
		fmt.Sprintf("image or configuration of %s has changed, and a restart ends its sessions. Choose the moment: kubectl annotate --overwrite upfinstance %s %s=%s",
			strings.Join(pending, ", "), s.upf.Name, api.AnnotationApplyUpdate, hash))
}

func (s *upfScope) observeReady() {
	asked := ptr.Deref(s.upf.Spec.Units, 1)
	ready := s.upf.Status.ReadyUnits
	switch {
	case s.upf.Spec.AdministrativeState == api.StateLocked:
		s.conditions.no(api.ConditionUnitsReady, api.ReasonLocked, "administrativeState is Locked: write Unlocked to start the units")
	case asked > supportedUnits:
		s.conditions.no(api.ConditionUnitsReady, api.ReasonNotSupported,
			fmt.Sprintf("%d units are asked for and %d is run: more units of one UPFInstance are planned; create another UPFInstance instead", asked, supportedUnits))
	case ready >= asked:
		s.conditions.yes(api.ConditionUnitsReady, api.ReasonReady, fmt.Sprintf("%d of %d units are ready", ready, asked))
	default:
		message := fmt.Sprintf("%d of %d units are ready", ready, asked)
		for _, u := range s.units {
			if u.status.Message != "" {
				message += ": " + u.status.Message
			}
		}
		s.conditions.no(api.ConditionUnitsReady, api.ReasonProgressing, message)
	}
}

func (s *upfScope) observePlaced() {
	for _, u := range s.units {
		switch {
		case u.status.State == api.UnitStopped:
			s.conditions.no(api.ConditionPlaced, api.ReasonLocked, "administrativeState is Locked")
			return
		case u.status.State == api.UnitRejected:
			s.conditions.no(api.ConditionPlaced, "Rejected", u.status.Name+": "+u.status.Message)
			return
		case u.pod == nil || u.pod.Spec.NodeName == "":
			message := u.status.Name + " has no node yet"
			if u.pod != nil {
				for _, c := range u.pod.Status.Conditions {
					if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
						message = u.status.Name + ": " + c.Message
					}
				}
			}
			s.conditions.no(api.ConditionPlaced, api.ReasonProgressing, message)
			return
		}
	}
	s.conditions.yes(api.ConditionPlaced, api.ReasonReady, "every unit has a node")
}

// networkStatus is one entry of Multus' annotation on a running pod.
type networkStatus struct {
	Interface string `json:"interface"`
}

const annotationNetworkStatus = "k8s.v1.cni.cncf.io/network-status"

// observeAttached reads from the pod what Multus has really attached.
func (s *upfScope) observeAttached(condition, iface string) {
	for _, u := range s.units {
		if u.pod == nil {
			s.conditions.no(condition, api.ReasonProgressing, u.status.Name+" does not run")
			return
		}
		raw := u.pod.Annotations[annotationNetworkStatus]
		var attached []networkStatus
		found := false
		if err := json.Unmarshal([]byte(raw), &attached); err == nil {
			for _, a := range attached {
				found = found || a.Interface == iface
			}
		}
		if !found {
			s.conditions.no(condition, api.ReasonProgressing, fmt.Sprintf("Multus has not reported interface %s of pod %s", iface, u.pod.Name))
			return
		}
	}
	s.conditions.yes(condition, api.ReasonReady, "every unit has its interface "+iface)
}
