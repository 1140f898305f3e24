package sessions

import (
	"net/netip"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/images/session-management/configuration/cluster"
	"core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/specs"
)

// written are what a user writes, a UPFInstance and a Slice in manifests, beside a core.
func written(s *story, upf, slice string) cluster.Objects {
	s.t.Helper()
	o := cluster.Objects{Core: &v1alpha1.Core5G{}, UPFInstances: make([]v1alpha1.UPFInstance, 1), Slices: make([]v1alpha1.Slice, 1)}
	for _, each := range []struct {
		into     any
		manifest string
	}{
		{o.Core, `
metadata: {namespace: ns, name: core5g}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"]}
`},
		{&o.UPFInstances[0], upf},
		{&o.Slices[0], slice},
	} {
		if err := yaml.UnmarshalStrict([]byte(each.manifest), each.into); err != nil {
			s.t.Fatal(err)
		}
	}
	if problem := specs.NetworksProblem(&o.UPFInstances[0]); problem != nil {
		s.t.Fatal(problem.Message)
	}
	return o
}

// asOperated has upf-u do with the interfaces, and between UEs, what the operator writes for the UPFInstance of the objects, which the SMF has, too.
func (p *forwarding) asOperated(s *story, o cluster.Objects, n4 netip.AddrPort) {
	s.t.Helper()
	s.objects = func() cluster.Objects { return o }
	var file struct {
		Interfaces map[string]any `json:"interfaces"`
		UEToUE     string         `json:"ue_to_ue"`
	}
	unit := specs.UPFUnit(&o.UPFInstances[0], nil, specs.Platform{}, 0, n4.Addr().String())
	if err := yaml.Unmarshal([]byte(unit.Config.Data["upf-u.yaml"]), &file); err != nil {
		s.t.Fatal(err)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		s.t.Fatal(err)
	}
	p.interfaces = string(text)
}
