package specs

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// A new operator has a new image, which its wait containers run; no function may be replaced for that.
func TestANewOperatorAloneReplacesNoFunction(t *testing.T) {
	newer := platform
	newer.OperatorImage = "core5g/operator:newer"
	deployment := func(core *api.Core5G, p Platform) *appsv1.Deployment { return AMF(core, p).Deployment }
	for name, c := range map[string]struct {
		change func(*api.Core5G)
		want   string
	}{
		"nothing else changes":       {func(*api.Core5G) {}, platform.OperatorImage},
		"the configuration changes":  {func(c *api.Core5G) { c.Spec.TACs = append(c.Spec.TACs, "000002") }, newer.OperatorImage},
		"the function's image does":  {func(c *api.Core5G) { c.Spec.Images.Tag = "newer" }, newer.OperatorImage},
		"the image of another one":   {func(c *api.Core5G) { c.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionPCF, Image: "x/pcf:1"}} }, platform.OperatorImage},
		"the Service in front of it": {func(c *api.Core5G) { c.Spec.N2.Annotations = map[string]string{"a": "b"} }, platform.OperatorImage},
	} {
		t.Run(name, func(t *testing.T) {
			live := deployment(makeCore(), platform)
			core := makeCore()
			c.change(core)
			wanted := deployment(core, newer)
			KeepWait(wanted, live)
			if got := wanted.Spec.Template.Spec.InitContainers[0].Image; got != c.want {
				t.Errorf("wait runs %s, want %s", got, c.want)
			}
			if c.want == platform.OperatorImage && Hash(wanted.Spec.Template) != Hash(live.Spec.Template) {
				t.Error("the template changes all the same, so that the function is replaced")
			}
		})
	}
}

// A waiting list that has become another one needs the program that knows it.
func TestANewWaitRunsTheNewOperator(t *testing.T) {
	live, wanted := AMF(makeCore(), platform).Deployment, AMF(makeCore(), platform).Deployment
	live.Spec.Template.Spec.InitContainers[0].Command = []string{"/core5g-operator", "wait", "elsewhere:1"}
	wanted.Spec.Template.Spec.InitContainers[0].Image = "core5g/operator:newer"
	KeepWait(wanted, live)
	if got := wanted.Spec.Template.Spec.InitContainers[0].Image; got != "core5g/operator:newer" {
		t.Errorf("wait runs %s", got)
	}
}
