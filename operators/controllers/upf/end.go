package upf

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/specs"
)

// delete drains the units as any others that are to stop, before the NetworkAttachmentDefinitions go with the
// object: Multus needs them to take the interfaces down. It makes nothing, so that it can be done in a namespace
// that ends, and it ends in any case. Its clocks begin with what is done, not with the deletion: the operator
// may have been away.
func (r *Reconciler) delete(ctx context.Context, upf *api.UPFInstance) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(upf, api.Finalizer) {
		return ctrl.Result{}, nil
	}
	if cluster.NamespaceEnds(ctx, r.Live, upf.Namespace) {
		controllerutil.RemoveFinalizer(upf, api.Finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
	}
	if upf.Spec.External != nil {
		return r.deleteExternal(ctx, upf)
	}
	pods, err := r.pods(ctx, upf)
	if err != nil {
		return ctrl.Result{}, err
	}
	base := upf.DeepCopy()
	s := &scope{upf: upf, conditions: conditions.Of(&upf.Status.Conditions, upf.Generation)}
	stuck := ""
	for i := range pods {
		pod := &pods[i]
		if !cluster.Owns(upf, pod) {
			continue
		}
		number, _, is := specs.UnitOfPod(upf, pod)
		if !is {
			number = -1
		}
		u := newUnitScope(upf, number)
		u.status.Name = pod.Name
		u.see(pod)
		if pod.DeletionTimestamp.IsZero() {
			if err := r.stop(ctx, s, u, "the UPFInstance is deleted"); err != nil {
				return ctrl.Result{}, err
			}
			s.units = append(s.units, u)
			continue
		}
		left := pod.DeletionTimestamp.Add(unitStopTimeout).Sub(r.Now())
		if left <= 0 {
			stuck = pod.Name
			continue
		}
		s.again(min(left, 5*time.Second))
		u.note(api.UnitTerminating, "the pod is stopping")
		s.units = append(s.units, u)
	}
	if len(s.units) > 0 {
		s.observeEnd()
		if err := conditions.PatchStatus(ctx, r.Client, base, upf, base.Status, upf.Status); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: s.requeue}, r.discard(ctx, s)
	}
	if stuck != "" {
		r.Recorder.Eventf(upf, corev1.EventTypeWarning, "UnitNotStopped",
			"pod %s did not stop within %s; the UPFInstance ends without it", stuck, unitStopTimeout)
	}
	if err := r.applier.ForgetAllocations(ctx, specs.UPFAllocations(upf)); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.RemoveFinalizer(upf, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
}

// observeEnd says what the end of the UPFInstance waits for.
func (s *scope) observeEnd() {
	status := &s.upf.Status
	status.Units, status.ReadyUnits, status.UnitStatuses = int32(len(s.units)), 0, nil
	message := "the UPFInstance is deleted"
	for _, u := range s.units {
		status.UnitStatuses = append(status.UnitStatuses, u.status)
		message += "; " + u.status.Name + ": " + u.status.Message
	}
	slices.SortFunc(status.UnitStatuses, func(a, b api.UnitStatus) int { return strings.Compare(a.Name, b.Name) })
	status.Places = places(status.UnitStatuses)
	status.ObservedGeneration = s.upf.Generation
	s.conditions.No(api.ConditionUnitsReady, api.ReasonDeleting, message)
	s.conditions.No(api.ConditionReady, api.ReasonDeleting, message)
}
