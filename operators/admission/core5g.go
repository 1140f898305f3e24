package admission

import (
	"context"
	"fmt"
	"strings"

	accessmanagement "core5g.dev/core5g/images/access-management/configuration/cluster"
	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

type coreRules struct{ reader }

func (r coreRules) asked(c *api.Core5G) any { return c.Spec }

// judge warns of the Slices that the core as it is to be does not tell UEs of.
func (r coreRules) judge(ctx context.Context, core *api.Core5G) (verdict, error) {
	var v verdict
	all, err := r.slicesOf(ctx, core)
	if err != nil {
		return v, err
	}
	for i := range all {
		s := &all[i]
		if problem := specs.AdvertisedProblem(s, core); problem != nil {
			v.warnings = append(v.warnings, "Slice "+s.Name+": "+problem.Message)
		}
		if problem := specs.ControlPlaneProblem(s, core); problem != nil {
			v.warnings = append(v.warnings, "Slice "+s.Name+": "+problem.Message)
		}
	}
	upfs, err := r.upfs(ctx, core.Namespace)
	if err != nil {
		return v, err
	}
	for i := range upfs {
		if problem := specs.ExternalProblem(&upfs[i], core); problem != nil && upfs[i].Spec.CoreRef.NameOrDefault() == core.Name {
			v.warnings = append(v.warnings, "UPFInstance "+upfs[i].Name+": "+problem.Message)
		}
	}
	v.refuse(specs.EmergencyProblem(core))
	if core.OwnControlPlane() {
		if err := accessmanagement.Problem(core); err != nil {
			v.refusals = append(v.refusals, fmt.Sprintf("the AMF cannot use this: %v", err))
		}
	}
	return v, nil
}

func (r coreRules) changed(ctx context.Context, before, after *api.Core5G) ([]string, error) {
	var out, quiet []string
	if before.OwnControlPlane() != after.OwnControlPlane() {
		out = append(out, "this changes whose AMF and SMF serve UEs: gNBs set up N2 anew, every UE registers anew, and all PDU sessions end")
	}
	for _, name := range specs.CoreRestarts(before, after, r.platform) {
		switch {
		case name == specs.N2ServiceName(after.Name):
			out = append(out, "this restarts the N2 terminators, one after the other: gNBs set up N2 anew, and UEs stay registered")
		case name != specs.FunctionObjectName(after.Name, api.FunctionAMF):
			quiet = append(quiet, name)
		case before.OwnControlPlane() != after.OwnControlPlane(): // said already
		case after.OwnControlPlane():
			out = append(out, "this restarts the AMF's workers, one after the other: UEs stay registered")
		default:
			out = append(out, "this restarts the AMF, and every UE registers anew")
		}
	}
	out = append(out, fewerTerminators(before, after)...)
	if len(quiet) > 0 {
		out = append(out, "this restarts "+strings.Join(quiet, ", "))
	}
	if specs.SessionStorePlace(before) != "" && specs.SessionStorePlace(before) != specs.SessionStorePlace(after) {
		out = append(out, "this leaves the session store with all sessions in it: docs/session-store.md says how to take them along")
	}
	upfs, err := r.upfs(ctx, after.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := r.slicesOf(ctx, after)
	if err != nil {
		return nil, err
	}
	for i := range all {
		s := &all[i]
		if s.Status.SMF == "" {
			continue
		}
		upf, _ := specs.SelectUPF(s, upfs)
		if specs.SMFRestarts(specs.SMFSource{Core: before, Slice: s, UPF: upf}, specs.SMFSource{Core: after, Slice: s, UPF: upf}, r.platform) {
			out = append(out, restartOfSMF(s))
		}
	}
	return out, nil
}

// fewerTerminators end the associations of their gNBs. Fewer workers end nothing.
func fewerTerminators(before, after *api.Core5G) []string {
	if !before.OwnControlPlane() || !after.OwnControlPlane() {
		return nil
	}
	if n := specs.AMFTerminators(before) - specs.AMFTerminators(after); n > 0 {
		return []string{fmt.Sprintf("this ends %s: their gNBs set up N2 anew, and UEs stay registered", counted(int(n), "N2 terminator"))}
	}
	return nil
}

func (r coreRules) deleted(ctx context.Context, core *api.Core5G) ([]string, error) {
	all, err := r.slicesOf(ctx, core)
	if err != nil {
		return nil, err
	}
	var out []string
	if specs.NeedsSessionStore(core) {
		out = append(out, "Secret "+specs.SessionStoreKeysName(core.Name)+" stays, and what it seals: delete it, and the store's PersistentVolumeClaim or directory, where the sessions are not wanted again")
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	if len(names) == 0 {
		return out, nil
	}
	return append(out, fmt.Sprintf("%s stay without Core5G %s: %s", counted(len(names), "Slice"), core.Name, some(names))), nil
}
