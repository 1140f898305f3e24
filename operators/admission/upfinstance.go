package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

type upfRules struct{ reader }

func (r upfRules) asked(u *api.UPFInstance) any {
	return []any{u.Spec, u.Labels} // Slices select by labels
}

func (r upfRules) judge(ctx context.Context, upf *api.UPFInstance) (verdict, error) {
	var v verdict
	others, err := r.upfs(ctx, upf.Namespace)
	if err != nil {
		return v, err
	}
	all, err := r.slices(ctx, upf.Namespace)
	if err != nil {
		return v, err
	}
	core, err := r.core(ctx, upf.Namespace, upf.Spec.CoreRef.NameOrDefault())
	if err != nil {
		return v, err
	}
	v.refuse(specs.AddressProblem(upf, others), specs.NetworksProblem(upf), specs.UnitsProblem(upf), specs.ExternalProblem(upf, core), specs.MemoryProblem(upf, core))
	users, with := usersOf(upf, all, others), withUPF(upf, others)
	for i := range users {
		s := &users[i]
		for _, problem := range []*specs.Problem{specs.CheckPools(s, nil, upf, with), brought(s, all, others, with), specs.CutProblem(s, upf)} {
			if problem != nil {
				v.refusals = append(v.refusals, "Slice "+s.Name+": "+problem.Message)
			}
		}
	}
	for i := range all {
		if problem := specs.ExternalPoolProblem(&all[i], with); problem != nil {
			v.refusals = append(v.refusals, "Slice "+all[i].Name+": "+problem.Message)
		}
		if problem := specs.FurtherNetworkProblem(&all[i], upf); problem != nil {
			v.refusals = append(v.refusals, "Slice "+all[i].Name+": "+problem.Message)
		}
	}
	_, left := specs.AllocateEndpoints(upf, users)
	if !core.OwnControlPlane() { // whose SMF needs no endpoint for each Slice
		v.warn(specs.EndpointsProblem(upf, left))
	}
	v.warn(specs.ControlPlaneSubnetsProblem(upf, core, nil))
	return v, nil
}

// brought says which pools of a Slice lie in one network instance with those of another, and have not before.
func brought(s *api.Slice, all []api.Slice, before, after []api.UPFInstance) *specs.Problem {
	was, _ := specs.SelectUPF(s, before)
	is, _ := specs.SelectUPF(s, after)
	if was == nil || is == nil || specs.CheckPools(s, all, was, before) != nil || specs.CheckPools(s, nil, is, after) != nil {
		return nil
	}
	return specs.CheckPools(s, all, is, after)
}

// withUPF are all UPFInstances, this one as it is to be.
func withUPF(upf *api.UPFInstance, upfs []api.UPFInstance) []api.UPFInstance {
	with := []api.UPFInstance{*upf}
	for i := range upfs {
		if upfs[i].Name != upf.Name {
			with = append(with, upfs[i])
		}
	}
	return with
}

// usersOf are the Slices that select the UPFInstance as it is to be.
func usersOf(upf *api.UPFInstance, all []api.Slice, upfs []api.UPFInstance) []api.Slice {
	with := withUPF(upf, upfs)
	var out []api.Slice
	for i := range all {
		if chosen, _ := specs.SelectUPF(&all[i], with); chosen != nil && chosen.Name == upf.Name {
			out = append(out, all[i])
		}
	}
	return out
}

func (r upfRules) changed(ctx context.Context, before, after *api.UPFInstance) ([]string, error) {
	core, err := r.core(ctx, after.Namespace, after.Spec.CoreRef.NameOrDefault())
	if err != nil {
		return nil, err
	}
	var out []string
	if units := specs.UnitsEnd(before, after); len(units) > 0 {
		out = append(out, fmt.Sprintf("this stops %s, which ends their PDU sessions", strings.Join(units, ", ")))
	}
	if after.Spec.External != nil {
		return append(out, changedExternal(before, after)...), nil
	}
	if units := specs.UnitRestarts(before, after, core, r.platform); len(units) > 0 {
		how := "one after the other, which ends their PDU sessions"
		if specs.Redundant(before) && specs.Redundant(after) {
			how = "each after its standby, to which it is handed over"
		}
		if s := after.Spec.UpdateStrategy; s != nil && s.Type == api.UpdateOnApproval {
			how = "once you let it through: condition UpdatePending names the annotation"
		}
		out = append(out, fmt.Sprintf("this replaces %s, %s", strings.Join(units, ", "), how))
		if was, is := specs.Sessions(before), specs.Sessions(after); is < was && specs.Redundant(before) {
			out = append(out, fmt.Sprintf("sessions %d are fewer than %d: PDU sessions whose places in the tables go, end", is, was))
		}
	}
	upfs, err := r.upfs(ctx, after.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := r.slices(ctx, after.Namespace)
	if err != nil {
		return nil, err
	}
	for _, s := range usersOf(after, all, upfs) {
		was, now := specs.SMFSource{Core: core, Slice: &s, UPF: before}, specs.SMFSource{Core: core, Slice: &s, UPF: after}
		if s.Status.SMF != "" && specs.SMFRestarts(was, now, r.platform) {
			out = append(out, restartOfSMF(&s))
		}
	}
	return out, nil
}

// changedExternal says what a change of a UPF that runs elsewhere ends.
func changedExternal(before, after *api.UPFInstance) []string {
	if before.Spec.External == nil {
		return nil
	}
	away := func(u *api.UPFInstance) bool {
		return u.Spec.AdministrativeState == api.StateLocked || u.Spec.AdministrativeState == api.StateShuttingDown
	}
	var out []string
	if specs.ExternalNodeID(before) != specs.ExternalNodeID(after) {
		out = append(out, fmt.Sprintf("this makes another UPF of it to the SMF (Node ID %s, was %s), which ends its PDU sessions: where the same UPF has moved, leave its Node ID as it was (external.n4.nodeID)",
			specs.ExternalNodeID(after), specs.ExternalNodeID(before)))
	}
	if away(after) && !away(before) {
		out = append(out, fmt.Sprintf("this takes UPFInstance %s out of service, which ends its PDU sessions", after.Name))
	}
	return out
}

func (r upfRules) deleted(ctx context.Context, upf *api.UPFInstance) ([]string, error) {
	upfs, err := r.upfs(ctx, upf.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := r.slices(ctx, upf.Namespace)
	if err != nil {
		return nil, err
	}
	var out, names, further []string
	for _, s := range usersOf(upf, all, upfs) {
		names = append(names, s.Name)
	}
	for i := range all {
		if slices.Contains(specs.FurtherUPFs(&all[i]), upf.Name) && !slices.Contains(names, all[i].Name) {
			further = append(further, all[i].Name)
		}
	}
	if len(names) > 0 {
		out = append(out, fmt.Sprintf("%s have no user plane without UPFInstance %s: %s", counted(len(names), "Slice"), upf.Name, some(names)))
	}
	if len(further) > 0 {
		out = append(out, fmt.Sprintf("%s still name UPFInstance %s in upfs or breakouts, and go without it: %s", counted(len(further), "Slice"), upf.Name, some(further)))
	}
	return out, nil
}
