package specs

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

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
			KeepRunning(wanted, live)
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
	KeepRunning(wanted, live)
	if got := wanted.Spec.Template.Spec.InitContainers[0].Image; got != "core5g/operator:newer" {
		t.Errorf("wait runs %s", got)
	}
}

// A terminator of release 0.2 is not told of its workers' Service before it has another image.
func TestATerminatorOfAnOlderOperatorStays(t *testing.T) {
	told := func(d *appsv1.Deployment) bool { return hasEnv(d.Spec.Template.Spec.Containers[0], workersService) }
	older := func() *appsv1.Deployment {
		d := N2Terminators(makeOwnCore(), platform).Deployment
		c := &d.Spec.Template.Spec.Containers[0]
		c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == workersService })
		return d
	}
	wanted := N2Terminators(makeOwnCore(), platform).Deployment
	if !told(wanted) {
		t.Fatal("a terminator is not told of its workers' Service")
	}
	KeepRunning(wanted, older())
	if Hash(wanted.Spec.Template) != Hash(older().Spec.Template) {
		t.Error("the terminator is replaced for a new operator alone")
	}
	core := makeOwnCore()
	core.Spec.Images.Tag = "newer"
	wanted = N2Terminators(core, platform).Deployment
	KeepRunning(wanted, older())
	if !told(wanted) {
		t.Error("a new image comes without it")
	}
}

// An operator that knows of metrics takes over functions of one that did not: they stay as they are until their
// image or configuration is another one.
func TestFunctionsOfAnOlderOperatorGetMetricsWithTheirNextPod(t *testing.T) {
	deployments := map[string]func(*api.Core5G) *appsv1.Deployment{
		"amf": func(c *api.Core5G) *appsv1.Deployment { return AMF(c, platform).Deployment },
		"chf": func(c *api.Core5G) *appsv1.Deployment {
			return CHF(c, platform, Database{URI: "mongodb://db"}).Deployment
		},
	}
	for name, deployment := range deployments {
		t.Run(name, func(t *testing.T) {
			older := func() *appsv1.Deployment {
				d := deployment(makeCore())
				c := &d.Spec.Template.Spec.Containers[0]
				c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == metricsListen })
				if name == "chf" {
					c.Ports = slices.DeleteFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == portNameMetrics })
				}
				return d
			}
			wanted := deployment(makeCore())
			KeepRunning(wanted, older())
			if Hash(wanted.Spec.Template) != Hash(older().Spec.Template) {
				t.Error("the function is replaced for its metrics alone")
			}
			core := makeCore()
			core.Spec.Images.Tag = "newer"
			wanted = deployment(core)
			KeepRunning(wanted, older())
			if !slices.ContainsFunc(wanted.Spec.Template.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == metricsListen }) {
				t.Error("a new image comes without metrics")
			}
		})
	}
}

// What pods tolerate of a lost node is new in 0.3: those of 0.2 stay as they are until something else replaces them.
func TestLeavingALostNodeReplacesNoFunction(t *testing.T) {
	older := func() *appsv1.Deployment {
		d := AMF(makeCore(), platform).Deployment
		d.Spec.Template.Spec.Tolerations = nil
		return d
	}
	tolerations := func(d *appsv1.Deployment) []corev1.Toleration { return d.Spec.Template.Spec.Tolerations }
	wanted := AMF(makeCore(), platform).Deployment
	if len(tolerations(wanted)) != len(leaves) {
		t.Fatalf("a function tolerates %+v, want that it leaves after a time", tolerations(wanted))
	}
	KeepRunning(wanted, older())
	if Hash(wanted.Spec.Template) != Hash(older().Spec.Template) {
		t.Error("the function is replaced for a new operator alone")
	}
	core := makeCore()
	core.Spec.Images.Tag = "newer"
	wanted = AMF(core, platform).Deployment
	KeepRunning(wanted, older())
	if len(tolerations(wanted)) != len(leaves) {
		t.Errorf("with a new image it tolerates %+v", tolerations(wanted))
	}
	wanted, live := AMF(core, platform).Deployment, AMF(core, platform).Deployment
	KeepRunning(wanted, live)
	if len(tolerations(wanted)) != len(leaves) {
		t.Errorf("what has it loses it again: %+v", tolerations(wanted))
	}
	// What a core says is given at once.
	core = makeCore()
	core.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionAMF, Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists}}}}
	wanted = AMF(core, platform).Deployment
	KeepRunning(wanted, older())
	if got := tolerations(wanted); len(got) != 1 || got[0].Key != corev1.TaintNodeUnreachable || got[0].TolerationSeconds != nil {
		t.Errorf("the core says that the AMF stays, and it tolerates %+v", got)
	}
}

// Whatever keeps its data in a volume is soonest back where that is.
func TestWhoKeepsDataWaitsForItsNode(t *testing.T) {
	core := makeOwnCore()
	if got := SessionStoreFunction(core, platform, "password").Deployment.Spec.Template.Spec.Tolerations; got != nil {
		t.Errorf("the session store tolerates %+v, want what Kubernetes gives it", got)
	}
	core.Spec.Charging = &api.ChargingSpec{CDRStorage: &api.CDRStorage{PersistentVolumeClaim: "cdrs"}}
	if got := CHF(core, platform, EmbeddedDatabase(core)).Deployment.Spec.Template.Spec.Tolerations; got != nil {
		t.Errorf("the CHF that keeps CDRs tolerates %+v, want what Kubernetes gives it", got)
	}
}
