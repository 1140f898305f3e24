package slice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/asking"
	"core5g.dev/core5g/operators/controllers/workloads"
	"core5g.dev/core5g/operators/specs"
	"core5g.dev/core5g/operators/userplane"
)

// With controlPlane Free5GC a Slice of a UPFInstance with several units has each of them as a UPF in its SMF's user plane, with a
// part of the UE pools. The configuration that the SMF starts with has all units; the running SMF follows
// them through its user-plane API, so that units come and go without restarting it. What the SMF has is
// compared again and again: an SMF that has restarted is brought back to where it was.

const (
	// followPeriod is how often a running SMF is compared with what it should have.
	followPeriod = 30 * time.Second
	// followRetry is how soon an SMF that did not answer is asked again.
	followRetry = 5 * time.Second
)

// UserPlane is the user-plane API of an SMF.
type UserPlane interface {
	// Follow brings the SMF's topology about and returns what it changed.
	Follow(ctx context.Context, want userplane.Topology) (userplane.Changes, error)
}

func (s *scope) several() bool { return s.upf != nil && specs.Parts(s.upf) > 1 }

// findUnits lists the units that have everything that an SMF must know.
func (s *scope) findUnits() {
	if !s.several() {
		return
	}
	limit := specs.PossibleUnits(s.upf)
	for _, u := range s.upf.Status.UnitStatuses {
		number := specs.UnitNumber(s.upf, u.Name)
		endpoint := specs.UnitEndpointOf(s.upf, s.slice.Name, number)
		if number < 0 || number >= limit || endpoint == "" && !s.core.OwnControlPlane() || u.N4Address == "" {
			continue
		}
		s.units = append(s.units, specs.SliceUnit{Name: u.Name, N4Address: u.N4Address, N3Endpoint: endpoint})
	}
}

// cutPools gives each unit its part of the UE pools.
func (s *scope) cutPools() *specs.Problem {
	if !s.several() {
		return nil
	}
	if problem := specs.CutProblem(s.slice, s.upf); problem != nil {
		return problem
	}
	for i := range s.units {
		s.units[i].Pools = map[string][]string{}
		for _, dn := range s.slice.Spec.DataNetworks {
			s.units[i].Pools[string(dn.DNN)], _ = specs.UnitPools(s.upf, dn.UEPools, specs.UnitNumber(s.upf, s.units[i].Name))
		}
	}
	for _, u := range s.units {
		at := slices.IndexFunc(s.upf.Status.UnitStatuses, func(status api.UnitStatus) bool { return status.Name == u.Name })
		if d := s.upf.Status.UnitStatuses[at].Drain; d == nil || d.ReleasedAt == nil {
			s.live = append(s.live, u)
		}
	}
	return nil
}

// userPlane is the user-plane API of the Slice's SMF.
func (r *Reconciler) userPlane(ctx context.Context, s *scope) (UserPlane, error) {
	identity, err := r.Identities.Of(ctx, r.Client, s.core)
	if err != nil {
		return nil, err
	}
	if identity != nil {
		return r.UserPlane(specs.SBIURL(s.core, s.smfService), identity), nil // a certificate speaks of names
	}
	return r.UserPlane(fmt.Sprintf("http://%s:%d", s.smfAddress, specs.PortSBI), nil), nil
}

// followAgain is when to tell an SMF its UPFs again: one that restarts forgets.
func followAgain(_ userplane.Changes, err error) time.Duration {
	if err != nil {
		return followRetry
	}
	return followPeriod
}

// tell has the SMF follow a topology.
func (r *Reconciler) tell(ctx context.Context, s *scope, want userplane.Topology) (asking.Reply[userplane.Changes], error) {
	smf, err := r.userPlane(ctx, s)
	if err != nil {
		return asking.Reply[userplane.Changes]{}, err
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(s.slice.Namespace), client.MatchingLabels{
		api.LabelComponent: string(api.FunctionSMF), api.LabelSlice: s.slice.Name,
	}, client.UnsafeDisableDeepCopy); err != nil {
		return asking.Reply[userplane.Changes]{}, err
	}
	process := ""
	for i := range pods.Items {
		process += fmt.Sprint(pods.Items[i].UID, workloads.Restarts(&pods.Items[i]), workloads.PodReady(&pods.Items[i]), " ")
	}
	about := specs.Hash([]any{process, s.smfAddress, want})
	return asking.Ask(ctx, r.asking, s.slice, "user plane", about, followAgain, func(ctx context.Context) (userplane.Changes, error) {
		return smf.Follow(ctx, want)
	}), nil
}

// followUnits keeps the running SMF at the units that there are.
func (r *Reconciler) followUnits(ctx context.Context, s *scope) error {
	if own := s.core.OwnControlPlane(); own || !s.several() { // its SMF reads UPFInstances itself, or goes by its configuration
		meta.RemoveStatusCondition(&s.slice.Status.Conditions, api.ConditionUserPlaneFollowed)
		if s.slice.Status.UPF != nil {
			s.slice.Status.UPF.Units = nil
			if own {
				s.slice.Status.UPF.Units = s.unitStatuses()
			}
		}
		return nil
	}
	if !s.conditions.Is(api.ConditionSMFReady) || !s.usable {
		// What does not run has nobody in its user plane.
		s.slice.Status.UPF.Units = nil
		s.conditions.No(api.ConditionUserPlaneFollowed, api.ReasonProgressing, "the SMF is not ready")
		return nil
	}
	want := specs.UserPlane(s.slice, specs.SliceUserPlane{UPF: s.upf.Name, Units: s.live, Parts: specs.Parts(s.upf)})
	answer, err := r.tell(ctx, s, want)
	if err != nil {
		return err
	}
	s.again(answer.Next)
	if !answer.Known {
		// What it was known to have stays written until it has answered.
		if meta.FindStatusCondition(s.slice.Status.Conditions, api.ConditionUserPlaneFollowed) == nil {
			s.conditions.No(api.ConditionUserPlaneFollowed, api.ReasonProgressing, "the SMF is told its units")
		}
		return nil
	}
	changes := answer.Value
	if err := answer.Err; err != nil {
		s.conditions.No(api.ConditionUserPlaneFollowed, api.ReasonFailed, fmt.Sprintf("the SMF does not follow the units of UPFInstance %s: %v", s.upf.Name, err))
		return nil
	}
	if !changes.Empty() && answer.First {
		var added []string
		for _, u := range s.live {
			if _, is := changes.Add.UPNodes[u.Name]; is {
				added = append(added, u.Name)
			}
		}
		r.Recorder.Eventf(s.slice, corev1.EventTypeNormal, "UserPlaneChanged", "taken out of the SMF: %s; put in: %s", orNone(changes.Remove), orNone(added))
	}
	s.slice.Status.UPF.Units = s.unitStatuses()
	var names []string
	for _, u := range s.live {
		names = append(names, u.Name)
	}
	s.conditions.Yes(api.ConditionUserPlaneFollowed, api.ReasonReady,
		"the SMF has "+orNone(names)+" in its user plane, of which free5GC's uses the first, until there is no other: a drain only waits")
	return nil
}

// unitStatuses say which unit has which part of the UE pools: data networks have routes for them.
func (s *scope) unitStatuses() []api.SliceUnitStatus {
	var out []api.SliceUnitStatus
	for _, u := range s.live {
		status := api.SliceUnitStatus{Name: u.Name, N3Endpoint: u.N3Endpoint, N4Address: u.N4Address}
		for _, dn := range s.slice.Spec.DataNetworks {
			status.UEPools = append(status.UEPools, u.Pools[string(dn.DNN)]...)
		}
		out = append(out, status)
	}
	return out
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
