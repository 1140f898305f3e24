package admission

import (
	"context"
	"fmt"
	"slices"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/specs"
)

type sliceRules struct{ reader }

func (r sliceRules) asked(s *api.Slice) any { return s.Spec }

func (r sliceRules) judge(ctx context.Context, slice *api.Slice) (verdict, error) {
	var v verdict
	others, upfs, core, err := r.around(ctx, slice)
	if err != nil {
		return v, err
	}
	upf, missing := specs.SelectUPF(slice, upfs)
	networks, err := cluster.Networks(ctx, r.cached, r.live, slice.Namespace)
	if err != nil {
		return v, err
	}
	v.refuse(specs.SNSSAIProblem(slice, others), specs.CheckPools(slice, others, upf, upfs), specs.ClusterProblem(slice, networks),
		specs.ControlPlaneProblem(slice, core), specs.FlowProblem(slice), specs.ExternalPoolProblem(slice, upfs))
	v.warn(specs.AdvertisedProblem(slice, core), specs.FiveQIProblem(slice), specs.NotToldProblem(slice, core), specs.FurtherUPFProblem(slice, upfs))
	if upf == nil {
		v.warnings = append(v.warnings, missing)
		return v, nil
	}
	v.refuse(specs.CutProblem(slice, upf))
	if specs.EndpointOf(upf, slice.Name) == "" && !core.OwnControlPlane() {
		var wanted []api.Slice
		for i := range others {
			if u, _ := specs.SelectUPF(&others[i], upfs); u == upf && others[i].Name != slice.Name {
				wanted = append(wanted, others[i])
			}
		}
		_, left := specs.AllocateEndpoints(upf, append(wanted, *slice))
		if slices.Contains(left, slice.Name) {
			v.warn(specs.EndpointsProblem(upf, []string{slice.Name}))
		}
	}
	return v, nil
}

func (r sliceRules) around(ctx context.Context, slice *api.Slice) (others []api.Slice, upfs []api.UPFInstance, core *api.Core5G, err error) {
	if others, err = r.slices(ctx, slice.Namespace); err != nil {
		return nil, nil, nil, err
	}
	if upfs, err = r.upfs(ctx, slice.Namespace); err != nil {
		return nil, nil, nil, err
	}
	core, err = r.core(ctx, slice.Namespace, slice.Spec.CoreRef.NameOrDefault())
	return others, upfs, core, err
}

func (r sliceRules) changed(ctx context.Context, before, after *api.Slice) ([]string, error) {
	_, upfs, core, err := r.around(ctx, after)
	if err != nil || before.Status.SMF == "" {
		return nil, err
	}
	old, _ := specs.SelectUPF(before, upfs)
	upf, _ := specs.SelectUPF(after, upfs)
	var out []string
	for i := range after.Spec.DataNetworks {
		out = append(out, movedNetwork(before, after.Spec.DataNetworks[i], old, upf)...)
	}
	if specs.SMFRestarts(specs.SMFSource{Core: core, Slice: before, UPF: old}, specs.SMFSource{Core: core, Slice: after, UPF: upf}, r.platform) {
		out = append(out, restartOfSMF(after))
	}
	return out, nil
}

// movedNetwork says that sessions of a data network stay in a network instance that later ones are not of.
func movedNetwork(before *api.Slice, dn api.DataNetwork, old, upf *api.UPFInstance) []string {
	at := slices.IndexFunc(before.Spec.DataNetworks, func(o api.DataNetwork) bool { return o.DNN == dn.DNN })
	if at < 0 || old == nil || upf == nil || old.Name != upf.Name {
		return nil
	}
	was, _ := specs.NetworkInstanceOf(&before.Spec.DataNetworks[at], old)
	is, _ := specs.NetworkInstanceOf(&dn, upf)
	if was == is {
		return nil
	}
	return []string{fmt.Sprintf("PDU sessions of DNN %s that there are stay in %s, and cannot be modified there; new ones are in %s: make the change while there are none",
		dn.DNN, networkWords(was), networkWords(is))}
}

func networkWords(name string) string {
	if name == "" {
		return "n6"
	}
	return "network instance " + name
}

func restartOfSMF(slice *api.Slice) string {
	return fmt.Sprintf("this restarts the SMF of Slice %s, which ends its PDU sessions", slice.Name)
}

func (r sliceRules) deleted(ctx context.Context, slice *api.Slice) ([]string, error) {
	list, err := r.subscribers(ctx, slice.Namespace, subscriber.IndexSlice, slice.Name)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("%s of Slice %s still name it in spec.slices, and lose its PDU sessions: %s", counted(len(names), "Subscriber"), slice.Name, some(names))}, nil
}
