package specs

import (
	"slices"
	"testing"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// The pods that gNBs connect to are attached to the network that N2 names, whosever AMF it is, and no others are.
func TestPodsOnANetworkOfN2(t *testing.T) {
	for name, c := range map[string]struct {
		controlPlane api.ControlPlane
		definition   string
		want         map[string]string // by Deployment
	}{
		"terminators":          {api.ControlPlaneCore5G, "ran/n2", map[string]string{"core5g-amf-n2": `[{"name":"n2","namespace":"ran","interface":"n2"}]`}},
		"of the own namespace": {api.ControlPlaneCore5G, "n2-net", map[string]string{"core5g-amf-n2": `[{"name":"n2-net","namespace":"core5g","interface":"n2"}]`}},
		"free5GC's AMF":        {api.ControlPlaneFree5GC, "ran/n2", map[string]string{"core5g-amf": `[{"name":"n2","namespace":"ran","interface":"n2"}]`}},
		"none":                 {api.ControlPlaneCore5G, "", map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			core.Spec.ControlPlane, core.Spec.N2.NetworkAttachmentDefinition = c.controlPlane, c.definition
			got := map[string]string{}
			for _, f := range CoreFunctions(core, platform, EmbeddedDatabase(core)) {
				if lingers := slices.Contains(f.Deployment.Spec.Template.Spec.Containers[0].Args, "--linger"); f.Function == api.FunctionN2Terminator && lingers != (c.definition != "") {
					t.Errorf("a terminator that goes waits for its gNBs: %t", lingers)
				}
				if networks := f.Deployment.Spec.Template.Annotations[annotationNetworks]; networks != "" {
					got[f.Deployment.Name] = networks
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s is attached to %q, want %q", name, got[name], want)
				}
			}
		})
	}
	core := makeCore()
	core.Spec.ControlPlane, core.Spec.Layout, core.Spec.N2.NetworkAttachmentDefinition = api.ControlPlaneCore5G, api.LayoutFused, "ran/n2"
	if got := ControlPlane(core, platform, nil).Deployment.Spec.Template.Annotations[annotationNetworks]; got != `[{"name":"n2","namespace":"ran","interface":"n2"}]` {
		t.Errorf("the layout Fused is attached to %q", got)
	}
}
