package upf

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/specs"
)

// allocateEndpoints gives out and takes back N3 addresses. A Slice that is being deleted keeps its
// address until it is gone, and one whose selector means another UPFInstance until its status names this one no
// more: its SMF may still use it. What is written down as given is, even if the Slice has yet to come.
func (r *Reconciler) allocateEndpoints(ctx context.Context, s *scope) (err error) {
	if s.kept, err = r.applier.AllocationsOf(ctx, s.upf, r.Recorder, specs.UPFAllocations(s.upf)); err != nil {
		return err
	}
	var all api.SliceList
	if err := r.List(ctx, &all, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	var upfs api.UPFInstanceList
	if err := r.List(ctx, &upfs, client.InNamespace(s.upf.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	before := s.upf.Status.Endpoints
	given, absent := s.given(all.Items)
	s.upf.Status.Endpoints = given
	var wanted []api.Slice
	for i := range all.Items {
		selects := specs.Selects(&all.Items[i], s.upf, upfs.Items)
		if !selects && !specs.Uses(&all.Items[i], s.upf.Name) {
			continue
		}
		fresh := specs.EndpointOf(s.upf, all.Items[i].Name) == ""
		if fresh && (!selects || !all.Items[i].DeletionTimestamp.IsZero() || s.upf.Spec.AdministrativeState == api.StateShuttingDown) {
			continue
		}
		wanted = append(wanted, all.Items[i])
	}
	mistake := specs.AddressProblem(s.upf, upfs.Items)
	if mistake == nil {
		mistake = specs.NetworksProblem(s.upf)
	}
	if mistake == nil {
		mistake = specs.MemoryProblem(s.upf, s.core)
	}
	var stay []api.EndpointAllocation
	if mistake != nil {
		s.halt(mistake)
		stay, wanted = staying(before, wanted)
		if !s.conditions.Is(api.ConditionPlaced) {
			s.conditions.No(api.ConditionPlaced, mistake.Reason, mistake.Message)
		}
	}
	allocated, left := specs.AllocateEndpoints(s.upf, wanted, slices.Concat(absent, stay)...)
	allocated = slices.SortedFunc(slices.Values(slices.Concat(allocated, stay)), func(a, b api.EndpointAllocation) int { return strings.Compare(a.Slice, b.Slice) })
	s.upf.Status.Endpoints = allocated
	s.keepEndpoints(slices.Concat(allocated, absent))
	if err := r.keepAllocations(ctx, s); err != nil { // before anybody is told
		return err
	}
	for _, problem := range []*specs.Problem{mistake, specs.EndpointsProblem(s.upf, left), specs.UnitsProblem(s.upf)} {
		if problem != nil {
			s.conditions.No(api.ConditionEndpointsAllocated, problem.Reason, problem.Message)
			return nil
		}
	}
	message := fmt.Sprintf("%d N3 endpoints of %s are given out", len(allocated), s.upf.Spec.N3.Endpoints)
	if len(absent) > 0 {
		message += fmt.Sprintf(", and %d kept for Slices that are not there (%s, in ConfigMap %s)", len(absent), absent[0].Slice, s.kept.Record.Name)
	}
	s.conditions.Yes(api.ConditionEndpointsAllocated, api.ReasonReady, message)
	return nil
}

// staying are endpoints that Slices keep, because the pods that have them do; the other Slices are left.
func staying(had []api.EndpointAllocation, wanted []api.Slice) (stay []api.EndpointAllocation, others []api.Slice) {
	for i := range wanted {
		at := slices.IndexFunc(had, func(e api.EndpointAllocation) bool { return e.Slice == wanted[i].Name })
		if at < 0 {
			others = append(others, wanted[i])
			continue
		}
		stay = append(stay, had[at])
	}
	return stay, others
}

// given are the N3 endpoints of Slices, by what is written down and else by the status; absent those of Slices that have not come yet.
func (s *scope) given(all []api.Slice) (given, absent []api.EndpointAllocation) {
	of := func(slice string) func(api.EndpointAllocation) bool {
		return func(e api.EndpointAllocation) bool { return e.Slice == slice }
	}
	for _, e := range specs.AllocatedEndpoints(s.kept.Entries) {
		switch {
		case slices.ContainsFunc(all, func(slice api.Slice) bool { return slice.Name == e.Slice }):
			given = append(given, e)
		case !slices.ContainsFunc(s.upf.Status.Endpoints, of(e.Slice)):
			absent = append(absent, e)
		}
	}
	for _, e := range s.upf.Status.Endpoints {
		if !slices.ContainsFunc(given, of(e.Slice)) {
			given = append(given, e)
		}
	}
	return given, absent
}

// keepEndpoints has these written down, and no others.
func (s *scope) keepEndpoints(endpoints []api.EndpointAllocation) {
	for key := range specs.AllocationsOfEndpoints(specs.AllocatedEndpoints(s.kept.Entries)) {
		delete(s.kept.Entries, key)
	}
	maps.Copy(s.kept.Entries, specs.AllocationsOfEndpoints(endpoints))
}

func (r *Reconciler) keepAllocations(ctx context.Context, s *scope) error {
	return s.taken(r.applier.Keep(ctx, s.kept))
}

// taken turns the name of the ConfigMap that somebody else has into a condition; other errors stay errors.
func (s *scope) taken(err error) error {
	taken, is := cluster.AsTaken(err)
	if !is {
		return err
	}
	s.halt(&specs.Problem{Reason: api.ReasonNameTaken, Message: taken.Error()})
	s.again(cluster.TakenRetry)
	s.conditions.No(api.ConditionPlaced, api.ReasonNameTaken, taken.Error())
	return nil
}
