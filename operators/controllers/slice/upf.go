package slice

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/specs"
)

// findUPF resolves the selector and takes over what the UPFInstance has allocated.
func (r *Reconciler) findUPF(ctx context.Context, s *scope) error {
	upf, problem, err := selectUPF(ctx, r.Client, s.slice)
	if err != nil {
		return err
	}
	if upf, problem, err = r.holdUPF(ctx, s, upf, problem); err != nil {
		return err
	}
	if problem != "" {
		s.usable = false
		s.slice.Status.UPF = nil
		s.conditions.No(api.ConditionUPFReady, api.ReasonNotFound, problem)
		return nil
	}
	s.upf = upf
	status := &api.SliceUPFStatus{Name: upf.Name, N3Endpoint: specs.EndpointOf(upf, s.slice.Name)}
	if len(upf.Status.UnitStatuses) > 0 {
		status.N4Address = upf.Status.UnitStatuses[0].N4Address
	}
	if old := s.slice.Status.UPF; old != nil && old.Name == upf.Name {
		status.Units = old.Units // followUnits says what the SMF has
	} else if old != nil && s.started {
		s.slice.Status.PreviousUPF = old
		r.Recorder.Eventf(s.slice, corev1.EventTypeNormal, "UserPlaneMoved", "from UPFInstance %s to %s: the SMF is restarted, its PDU sessions end", old.Name, upf.Name)
	}
	s.slice.Status.UPF = status
	s.findUnits()
	ready := conditions.Of(&upf.Status.Conditions, upf.Generation)
	switch {
	case s.held != "":
		s.conditions.No(api.ConditionUPFReady, api.ReasonHeld, s.held)
	case status.N3Endpoint == "" && !s.core.OwnControlPlane(): // whose SMF has the UPF choose F-TEIDs
		s.usable = false
		s.conditions.No(api.ConditionUPFReady, endpointProblem(upf), fmt.Sprintf("UPFInstance %s has given this Slice no N3 endpoint: %s", upf.Name, endpointMessage(upf)))
	case status.N4Address == "":
		s.usable = false
		s.conditions.No(api.ConditionUPFReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s has no N4 address yet", upf.Name))
	case !ready.Is(api.ConditionReady):
		s.conditions.No(api.ConditionUPFReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s: %s", upf.Name, messageOf(upf)))
	case s.core.OwnControlPlane():
		s.conditions.Yes(api.ConditionUPFReady, api.ReasonReady, fmt.Sprintf("UPFInstance %s is ready", upf.Name))
	default:
		s.conditions.Yes(api.ConditionUPFReady, api.ReasonReady, fmt.Sprintf("UPFInstance %s is ready; N3 endpoint %s", upf.Name, status.N3Endpoint))
	}
	return nil
}

// holdUPF keeps a Slice whose SMF is free5GC's, and runs, on its UPFInstance while the selector means none, or one that cannot serve
// it yet, or while it has not left an earlier one: its sessions outlive a mistake.
func (r *Reconciler) holdUPF(ctx context.Context, s *scope, upf *api.UPFInstance, problem string) (*api.UPFInstance, string, error) {
	used := s.slice.Status.UPF
	if s.core.OwnControlPlane() {
		return upf, problem, nil // its SMF leaves sessions where they are
	}
	if used == nil || (upf != nil && upf.Name == used.Name) {
		return upf, problem, nil
	}
	old := &api.UPFInstance{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: used.Name}, old)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", err
	}
	if err != nil || specs.EndpointOf(old, s.slice.Name) == "" {
		return upf, problem, nil
	}
	err = r.Get(ctx, client.ObjectKey{Namespace: s.slice.Namespace, Name: specs.SMFObjectName(s.slice.Spec.CoreRef.NameOrDefault(), s.slice.Name)}, &appsv1.Deployment{})
	if client.IgnoreNotFound(err) != nil {
		return nil, "", err
	}
	if s.started = err == nil || s.slice.Status.SMF != ""; !s.started {
		return upf, problem, nil
	}
	why, advice := problem, ": correct spec.upfSelector, or delete the Slice to give them up"
	if why == "" {
		ready := conditions.Of(&upf.Status.Conditions, upf.Generation)
		switch {
		case s.slice.Status.PreviousUPF != nil:
			why, advice = fmt.Sprintf("the Slice goes to UPFInstance %s when it has left UPFInstance %s", upf.Name, s.slice.Status.PreviousUPF.Name), ""
		case specs.EndpointOf(upf, s.slice.Name) == "":
			why = fmt.Sprintf("UPFInstance %s has given this Slice no N3 endpoint: %s", upf.Name, endpointMessage(upf))
		case !ready.Is(api.ConditionReady):
			why = fmt.Sprintf("UPFInstance %s is not ready: %s", upf.Name, messageOf(upf))
		default:
			return upf, "", nil
		}
	}
	s.held = fmt.Sprintf("%s. The SMF runs on with UPFInstance %s and N3 endpoint %s, which stay its own%s", why, used.Name, specs.EndpointOf(old, s.slice.Name), advice)
	return old, "", nil
}

// leavePrevious releases the sessions on the UPFInstance that the Slice had before, once the SMF that made them is
// gone; then its endpoint there is free.
func (r *Reconciler) leavePrevious(ctx context.Context, s *scope) error {
	previous := s.slice.Status.PreviousUPF
	if previous == nil || !s.conditions.Is(api.ConditionSMFReady) {
		return nil
	}
	problem, err := r.releaseFrom(ctx, s.slice, previous)
	if err != nil {
		return err
	}
	if problem != "" {
		// The Slice does not need it any more.
		s.again(followRetry)
		if c := meta.FindStatusCondition(s.slice.Status.Conditions, api.ConditionUPFReady); c != nil {
			s.conditions.Set(c.Type, c.Status, c.Reason, fmt.Sprintf("%s; %s: its N3 endpoint %s is kept until it does", c.Message, problem, previous.N3Endpoint))
		}
		return nil
	}
	s.slice.Status.PreviousUPF = nil
	return nil
}

func endpointProblem(upf *api.UPFInstance) string {
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionEndpointsAllocated && c.Reason == api.ReasonExhausted {
			return api.ReasonExhausted
		}
	}
	return api.ReasonProgressing
}

func endpointMessage(upf *api.UPFInstance) string {
	if !upf.DeletionTimestamp.IsZero() {
		return "it is being deleted"
	}
	if upf.Spec.AdministrativeState == api.StateShuttingDown {
		return "it is shutting down and takes no new Slice"
	}
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionEndpointsAllocated && c.Reason == api.ReasonExhausted {
			return c.Message
		}
	}
	return "it will in a moment"
}

func messageOf(upf *api.UPFInstance) string {
	for _, c := range upf.Status.Conditions {
		if c.Type == api.ConditionReady {
			return c.Message
		}
	}
	return "its state is not known yet"
}

// selectUPF returns the UPFInstance that a Slice's selector means, or a sentence that says why there is
// none.
func selectUPF(ctx context.Context, c client.Client, slice *api.Slice) (*api.UPFInstance, string, error) {
	var all api.UPFInstanceList
	if err := c.List(ctx, &all, client.InNamespace(slice.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, "", err
	}
	upf, problem := specs.SelectUPF(slice, all.Items)
	return upf.DeepCopy(), problem, nil
}

// upfs are all of the Slice's namespace. They are the cache's: nobody changes them.
func (r *Reconciler) upfs(ctx context.Context, s *scope) ([]api.UPFInstance, error) {
	if s.upfs == nil {
		var all api.UPFInstanceList
		if err := r.List(ctx, &all, client.InNamespace(s.slice.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		s.upfs = all.Items
	}
	return s.upfs, nil
}

// checkFurther says how UPFInstances are that data networks name beside that of the selector.
func (r *Reconciler) checkFurther(ctx context.Context, s *scope) error {
	names := specs.FurtherUPFs(s.slice)
	if len(names) == 0 || s.core != nil && !s.core.OwnControlPlane() { // whose SMF knows none, as SMFReady says
		meta.RemoveStatusCondition(&s.slice.Status.Conditions, api.ConditionFurtherUPFsReady)
		return nil
	}
	upfs, err := r.upfs(ctx, s)
	if err != nil {
		return err
	}
	if problem := specs.FurtherUPFProblem(s.slice, upfs); problem != nil {
		s.conditions.No(api.ConditionFurtherUPFsReady, problem.Reason, problem.Message)
		return nil
	}
	for i := range upfs {
		upf := &upfs[i]
		if !slices.Contains(names, upf.Name) || conditions.Of(&upf.Status.Conditions, upf.Generation).Is(api.ConditionReady) {
			continue
		}
		s.conditions.No(api.ConditionFurtherUPFsReady, api.ReasonProgressing, fmt.Sprintf("UPFInstance %s: %s; meanwhile %s", upf.Name, messageOf(upf), specs.WithoutUPF(s.slice, upf.Name)))
		return nil
	}
	s.conditions.Yes(api.ConditionFurtherUPFsReady, api.ReasonReady, "ready: "+strings.Join(names, ", "))
	return nil
}
