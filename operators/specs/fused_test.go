package specs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// makeFusedCore is one pod, with two shards of sessions, in a core with TLS.
func makeFusedCore() *api.Core5G {
	core := makeCore()
	core.Spec.ControlPlane, core.Spec.Layout = api.ControlPlaneCore5G, api.LayoutFused
	core.Spec.SessionManagement = &api.SessionManagementSpec{Shards: ptr.To[int32](2)}
	core.Spec.TLS.Mode = api.TLSMutual
	return core
}

func fusedObjects() []client.Object {
	core := makeFusedCore()
	services := SMFSet{Core: core}.Services()
	var out []client.Object
	for i, s := range services {
		s.Spec.ClusterIP = fmt.Sprintf("10.96.1.%d", 20+i)
		out = append(out, s)
	}
	return append(append(out, ControlPlane(core, platform, services).all()...), ControlPlanePolicy(core), networkPolicy(core, componentUPF))
}

// A core that changes its layout keeps what gNBs, units and records know it by, and leaves everything else of the layout before.
func TestWhatAChangeOfTheLayoutLeaves(t *testing.T) {
	fused := makeFusedCore()
	names := func(core *api.Core5G) (deployments, policies []string, rest map[string]bool) {
		other := OtherLayout(core, platform)
		for _, d := range other.Deployments {
			deployments = append(deployments, strings.TrimPrefix(d.Name, "core5g-"))
		}
		for _, p := range other.Policies {
			policies = append(policies, strings.TrimPrefix(p.Name, "core5g-"))
		}
		rest = map[string]bool{}
		for _, o := range other.Rest {
			rest[fmt.Sprintf("%T %s", o, o.GetName())] = true
		}
		slices.Sort(deployments)
		slices.Sort(policies)
		return deployments, policies, rest
	}
	deployments, policies, rest := names(fused)
	functions := []string{"amf", "amf-n2", "chf", "database", "nrf", "pcf", "smf", "subscriber-data"}
	if diff := cmp.Diff(functions, deployments); diff != "" {
		t.Errorf("Deployments of the layout Distributed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(functions, policies); diff != "" {
		t.Errorf("NetworkPolicies of the layout Distributed (-want +got):\n%s", diff)
	}
	for _, p := range NetworkPolicies(fused) {
		if slices.Contains(policies, strings.TrimPrefix(p.Name, "core5g-")) {
			t.Errorf("NetworkPolicy %s is taken away, and made", p.Name)
		}
	}
	kept := ControlPlane(fused, platform, SMFSet{Core: fused}.Services())
	for _, s := range append(kept.Services, SMFSet{Core: fused}.Services()...) {
		if rest[fmt.Sprintf("%T %s", s, s.Name)] {
			t.Errorf("Service %s is taken away, and made", s.Name)
		}
	}
	for _, name := range []string{"*v1.Service core5g-nrf", "*v1.Service core5g-amf", "*v1.Service core5g-amf-n2-workers", "*v1.ConfigMap core5g-pcf-config"} {
		if !rest[name] && !rest[strings.Replace(name, "ConfigMap", "Secret", 1)] {
			t.Errorf("%s stays: %v", name, rest)
		}
	}
	distributed := makeFusedCore()
	distributed.Spec.Layout = api.LayoutDistributed
	if deployments, policies, _ := names(distributed); !slices.Equal(deployments, []string{"control-plane"}) || !slices.Equal(policies, deployments) {
		t.Errorf("Deployments of the layout Fused: %q, NetworkPolicies %q", deployments, policies)
	}
	for i, s := range (SMFSet{Core: fused}).Services() {
		if other := (SMFSet{Core: distributed}).Services()[i]; other.Name != s.Name || cmp.Equal(other.Spec.Selector, s.Spec.Selector) {
			t.Errorf("shard %d: Service %s to %v, and %s to %v", i+1, s.Name, s.Spec.Selector, other.Name, other.Spec.Selector)
		}
	}
}

func TestLayoutProblem(t *testing.T) {
	slice := makeSlice("internet", "010203", "10.45.0.0/16")
	if p := LayoutProblem(slice, makeFusedCore()); p != nil {
		t.Errorf("a shared Slice: %v", p)
	}
	slice.Spec.SessionManagement = api.SessionManagementDedicated
	if p := LayoutProblem(slice, makeOwnCore()); p != nil {
		t.Errorf("a Slice of its own pods: %v", p)
	}
	if p := LayoutProblem(slice, makeFusedCore()); p == nil || !strings.Contains(p.Message, "layout: Distributed") {
		t.Errorf("in one pod: %v", p)
	}
}
