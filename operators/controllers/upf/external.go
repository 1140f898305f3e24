package upf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"core5g.dev/core5g/images/associations"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/conditions"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
)

// A UPF that runs elsewhere (spec.external) has no pod to look at: how it is, the SMF knows. Its pods are asked for their
// associations with it, and what they say becomes condition Associated. It ends in the steps of any unit, without a pod at their
// end: no new PDU sessions (Draining), then none any more (the SMF reads drain.releasedAt), then the object.

const (
	// associationPoll is how often the SMF is asked about a UPF that it can use, associationRetry about another.
	associationPoll  = 15 * time.Second
	associationRetry = 3 * time.Second
)

// externalPhases of a UPFInstance whose UPF runs elsewhere.
func (r *Reconciler) externalPhases() []func(context.Context, *scope) error {
	return []func(context.Context, *scope) error{r.findCore, r.checkExternal, r.admitExternal, r.askSMF, r.sumExternal}
}

// checkExternal looks at what it must not share with others.
func (r *Reconciler) checkExternal(ctx context.Context, s *scope) error {
	var upfs api.UPFInstanceList
	if err := r.List(ctx, &upfs, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	if problem := specs.AddressProblem(s.upf, upfs.Items); problem != nil {
		s.conditions.No(api.ConditionEndpointsAllocated, problem.Reason, problem.Message)
		return nil
	}
	s.conditions.Yes(api.ConditionEndpointsAllocated, api.ReasonReady, "no other UPFInstance has its addresses; it gives N3 endpoints out itself")
	return nil
}

// admitExternal lets what the UPF reports through to the SMF's pods.
func (r *Reconciler) admitExternal(ctx context.Context, s *scope) error {
	if s.core == nil {
		return nil
	}
	policy := specs.ExternalPolicy(s.upf, s.core)
	if !s.core.OwnControlPlane() || s.core.Spec.NetworkPolicy.Mode == api.NetworkPolicyDisabled {
		return r.applier.Remove(ctx, s.upf, policy)
	}
	err := r.applier.Apply(ctx, policy)
	if taken := (*cluster.TakenError)(nil); errors.As(err, &taken) {
		s.unguarded = taken.Error()
		s.again(cluster.TakenRetry)
		return nil
	}
	return err
}

// askSMF for its associations with the UPF, and says how the unit is.
func (r *Reconciler) askSMF(ctx context.Context, s *scope) error {
	u := newUnitScope(s.upf, 0)
	u.status.N4Address = string(s.upf.Spec.External.N4.Address)
	s.units = append(s.units, u)
	usable := s.conditions.Is(api.ConditionEndpointsAllocated)
	problem := specs.ExternalProblem(s.upf, s.core)
	switch {
	case s.core == nil:
		s.conditions.No(api.ConditionAssociated, api.ReasonNotFound, fmt.Sprintf("Core5G %s does not exist: create it, or name another in spec.coreRef", s.upf.Spec.CoreRef.NameOrDefault()))
	case problem != nil:
		s.conditions.No(api.ConditionAssociated, problem.Reason, problem.Message)
	case !usable:
		s.conditions.No(api.ConditionAssociated, api.ReasonAddressOverlap, "the SMF leaves the UPF alone while another has its addresses")
	default:
		told, err := r.toldOf(ctx, s, u)
		if err != nil {
			return err
		}
		s.observeAssociations(told)
		if !u.wanted {
			r.drainExternal(s, u, unwanted(s.upf), told)
			return nil
		}
	}
	switch {
	case !u.wanted:
		u.note(api.UnitStopped, unwanted(s.upf))
	case s.conditions.Is(api.ConditionAssociated):
		u.status.Drain = nil
		u.note(api.UnitReady, "")
	default:
		u.status.Drain = nil
		u.note(api.UnitAway, s.conditions.Message(api.ConditionAssociated))
	}
	return nil
}

// toldOfUnit is what the pods of the SMF say of one unit.
type toldOfUnit struct {
	known bool
	err   error
	// shards there should be, and those that have said something, by Node ID.
	shards int
	by     map[string]associations.Unit
	names  map[string]string
	// sessions at the unit; nil: nobody was asked, or can tell.
	sessions *int64
}

// toldOf asks all pods of the core's SMF, those of Slices with pods of their own too.
func (r *Reconciler) toldOf(ctx context.Context, s *scope, u *unitScope) (toldOfUnit, error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.upf.Namespace), client.MatchingLabels{api.LabelInstance: s.core.Name}, client.HasLabels{api.LabelSessionManagement}, client.UnsafeDisableDeepCopy); err != nil {
		return toldOfUnit{}, err
	}
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return toldOfUnit{}, err
	}
	out := toldOfUnit{shards: specs.SMFSet{Core: s.core}.Shards(), by: map[string]associations.Unit{}, names: map[string]string{}}
	for i := range all.Items {
		slice := &all.Items[i]
		if slice.Spec.CoreRef.NameOrDefault() == s.core.Name && slice.Spec.SessionManagement == api.SessionManagementDedicated && slice.DeletionTimestamp.IsZero() {
			out.shards += specs.SMFSetOf(s.core, slice).Shards()
		}
	}
	var asked []corev1.Pod
	about := fmt.Sprint(s.upf.Generation, u.status.Drain != nil)
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.PodIP != "" && p.DeletionTimestamp.IsZero() {
			asked = append(asked, *p.DeepCopy())
			about += fmt.Sprint(" ", p.UID, p.Status.PodIP, workloads.PodReady(p))
		}
	}
	if len(asked) == 0 {
		out.known, out.err = true, errors.New("there is no pod of the SMF")
		s.again(associationPoll)
		return out, nil
	}
	node, counted := specs.ExternalNodeID(s.upf), []string(nil)
	if d := u.status.Drain; !u.wanted && (d == nil || d.ReleasedAt == nil) {
		counted = []string{node}
	}
	answer := asking.Ask(ctx, r.asking, s.upf, "associations", about, associatedWith(node), func(ctx context.Context) ([]associations.Report, error) {
		var reports []associations.Report
		var failures []error
		for i := range asked {
			report, err := r.Associations(ctx, &asked[i], counted)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			reports = append(reports, *report)
		}
		if len(reports) > 0 {
			return reports, nil
		}
		return nil, errors.Join(failures...)
	})
	s.again(answer.Next)
	out.known, out.err = answer.Known, answer.Err
	for _, report := range answer.Value {
		if n, told := report.Sessions[node]; told {
			out.sessions = ptr.To(max(n, ptr.Deref(out.sessions, 0)))
		}
		for _, shard := range report.Shards {
			for _, unit := range shard.Units {
				if unit.NodeID == node && (!out.by[shard.Node].Associated || unit.Associated) { // a pod that has lost a shard may not know it yet
					out.by[shard.Node], out.names[shard.Node] = unit, shard.Name
				}
			}
		}
	}
	return out, nil
}

// associatedWith is the age of an answer: what is well is asked for less often.
func associatedWith(node string) func([]associations.Report, error) time.Duration {
	return func(reports []associations.Report, err error) time.Duration {
		well := err == nil
		for _, report := range reports {
			for _, shard := range report.Shards {
				well = well && slices.ContainsFunc(shard.Units, func(u associations.Unit) bool { return u.NodeID == node && u.Associated })
			}
			well = well && report.Sessions == nil
		}
		if well {
			return associationPoll
		}
		return associationRetry
	}
}

// observeAssociations says how many shards can use the UPF, and what to do where one cannot.
func (s *scope) observeAssociations(told toldOfUnit) {
	at, node := specs.ExternalN4(s.upf).String(), specs.ExternalNodeID(s.upf)
	there := 0
	var lacking, first *associations.Unit
	var failing string
	for _, shard := range slices.Sorted(maps.Keys(told.by)) {
		unit := told.by[shard]
		switch {
		case unit.Associated:
			there++
		case len(unit.Lacks) > 0 && lacking == nil:
			lacking = &unit
		}
		if !unit.Associated && (first == nil || first.Problem == "") {
			first, failing = &unit, told.names[shard]
		}
	}
	count := fmt.Sprintf("%d of %d shards of the SMF have an association with the UPF at %s", there, told.shards, at)
	switch {
	case !told.known:
		if c := s.conditions.Find(api.ConditionAssociated); c == nil || c.ObservedGeneration != s.upf.Generation {
			s.conditions.Unknown(api.ConditionAssociated, api.ReasonProgressing, "the SMF is asked for its association with the UPF at "+at)
		}
	case told.err != nil:
		s.conditions.Unknown(api.ConditionAssociated, api.ReasonNotReported, fmt.Sprintf("no pod of the SMF tells whether it has an association with the UPF at %s: %v", at, told.err))
	case lacking != nil:
		s.conditions.No(api.ConditionAssociated, api.ReasonFeaturesMissing, lacking.Problem)
	case there >= told.shards:
		s.conditions.Yes(api.ConditionAssociated, api.ReasonReady, count)
	case first != nil && first.Problem != "" && there == 0:
		s.conditions.No(api.ConditionAssociated, api.ReasonUnreachable, fmt.Sprintf(
			"no shard of the SMF has an association with the UPF at %s (%s): see that it runs, calls itself %s (Node ID), takes associations from this cluster's addresses (upf-c: pfcp.controlPlaneSubnets), and that UDP gets through both ways",
			at, first.Problem, node))
	case first != nil && first.Problem != "":
		s.conditions.No(api.ConditionAssociated, api.ReasonProgressing, fmt.Sprintf("%s; shard %s: %s", count, failing, first.Problem))
	default:
		s.conditions.No(api.ConditionAssociated, api.ReasonProgressing, count)
	}
}

// drainExternal moves the unit a step towards its end.
func (r *Reconciler) drainExternal(s *scope, u *unitScope, cause string, told toldOfUnit) {
	if u.status.Drain == nil {
		u.status.Drain = &api.UnitDrain{Cause: cause, StartedAt: metav1.NewTime(r.Now())}
		r.Recorder.Eventf(s.upf, corev1.EventTypeNormal, "UnitDraining", "%s: %s", u.status.Name, cause)
	}
	drain := u.status.Drain
	// What was counted before the drain began does not say that nothing came since.
	drain.Sessions = told.sessions
	if drain.ReleasedAt == nil && r.waitsForSessions(s, u, cause, "the SMF", told.err) {
		return
	}
	u.note(api.UnitStopped, cause)
}

// sumExternal of the conditions.
func (r *Reconciler) sumExternal(_ context.Context, s *scope) error {
	status := &s.upf.Status
	status.Units, status.ReadyUnits, status.UnitStatuses = 1, 0, nil
	for _, u := range s.units {
		status.UnitStatuses = append(status.UnitStatuses, u.status)
		if u.status.State == api.UnitReady {
			status.ReadyUnits++
		}
	}
	switch state := s.upf.Spec.AdministrativeState; {
	case s.unguarded != "":
		s.conditions.No(api.ConditionUnitsReady, api.ReasonNameTaken, "what the UPF reports does not get through to the SMF: "+s.unguarded)
	case state == api.StateLocked || state == api.StateShuttingDown:
		s.conditions.No(api.ConditionUnitsReady, api.ReasonLocked, fmt.Sprintf("administrativeState is %s, so the SMF puts no PDU session on the UPF: write Unlocked to use it", state))
	case status.ReadyUnits > 0:
		s.conditions.Yes(api.ConditionUnitsReady, api.ReasonReady, "the SMF can use the UPF")
	default:
		s.conditions.No(api.ConditionUnitsReady, api.ReasonProgressing, s.conditions.Message(api.ConditionAssociated))
	}
	kinds := []string{api.ConditionEndpointsAllocated, api.ConditionAssociated, api.ConditionUnitsReady}
	if s.conditions.Sum(kinds, s.conditions.Message(api.ConditionAssociated)) {
		conditions.Announce(r.Recorder, s.upf, s.upf.Status.Conditions)
	}
	return nil
}

// deleteExternal drains the UPF, where spec.drain gives it time. Then the object goes, and with it, in the SMF, the sessions.
func (r *Reconciler) deleteExternal(ctx context.Context, upf *api.UPFInstance) (ctrl.Result, error) {
	base := upf.DeepCopy()
	s := &scope{upf: upf, conditions: conditions.Of(&upf.Status.Conditions, upf.Generation)}
	if err := r.findCore(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if drainTimeout(upf) > 0 && s.core.OwnControlPlane() {
		u := newUnitScope(upf, 0)
		told, err := r.toldOf(ctx, s, u)
		if err != nil {
			return ctrl.Result{}, err
		}
		r.drainExternal(s, u, "the UPFInstance is deleted", told)
		if u.status.Drain.ReleasedAt == nil {
			s.units = append(s.units, u)
			s.observeEnd()
			return ctrl.Result{RequeueAfter: s.requeue}, conditions.PatchStatus(ctx, r.Client, base, upf, base.Status, upf.Status)
		}
	}
	controllerutil.RemoveFinalizer(upf, api.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, upf))
}

// ScrapeAssociations asks a pod of the SMF for its associations, and how many sessions units have, by Node ID.
func ScrapeAssociations(ctx context.Context, pod *corev1.Pod, units []string) (*associations.Report, error) {
	path := associations.Path
	if len(units) > 0 {
		path += "?" + url.Values{associations.Sessions: units}.Encode()
	}
	report := &associations.Report{}
	err := asking.Scrape(ctx, pod, path, func(r io.Reader) error { return json.NewDecoder(r).Decode(report) })
	return report, err
}
