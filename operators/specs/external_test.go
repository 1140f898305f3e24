package specs

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func makeExternalUPF(name string) *api.UPFInstance {
	return &api.UPFInstance{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "core5g", UID: types.UID(name + "-uid")},
		Spec: api.UPFInstanceSpec{CoreRef: api.CoreReference{Name: "core5g"}, External: &api.ExternalSpec{
			N4: api.ExternalN4Spec{Address: "203.0.113.7", NodeID: "UPF.Edge.example.org", Sources: []api.CIDR{"198.51.100.0/24"}},
			N3: api.ExternalN3Spec{Endpoints: []api.CIDR{"203.0.113.16/28"}},
		}},
	}
}

func TestAddressesOfAUPFElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		want   string
	}{
		"all its own":                  {func(*api.UPFInstance) {}, ""},
		"N3 of pods":                   {func(u *api.UPFInstance) { u.Spec.External.N3.Endpoints = []api.CIDR{"172.30.3.24/29"} }, "spec.external.n3.endpoints 172.30.3.24/29 overlaps 172.30.3.16/28 of UPFInstance upf"},
		"another's N3":                 {func(u *api.UPFInstance) { u.Spec.External.N3.Endpoints = []api.CIDR{"203.0.113.20/32"} }, "overlaps 203.0.113.16/28 of UPFInstance first"},
		"another's N4":                 {func(u *api.UPFInstance) { u.Spec.External.N4.Address = "203.0.113.7" }, "UPFInstance first has the N4 address 203.0.113.7:8805 already: name each UPF once"},
		"another port of it":           {func(u *api.UPFInstance) { u.Spec.External.N4.Address, u.Spec.External.N4.Port = "203.0.113.7", 8806 }, ""},
		"an address written otherwise": {func(u *api.UPFInstance) { u.Spec.External.N4.Address = "::ffff:203.0.113.7" }, "UPFInstance first has the N4 address 203.0.113.7:8805 already"},
		"another's Node ID":            {func(u *api.UPFInstance) { u.Spec.External.N4.NodeID = "upf.edge.EXAMPLE.org" }, "UPFInstance first has the Node ID upf.edge.example.org already"},
	} {
		t.Run(name, func(t *testing.T) {
			mine := makeExternalUPF("second")
			mine.CreationTimestamp = metav1.Unix(1, 0) // the others say nothing, and are older
			mine.Spec.External.N4 = api.ExternalN4Spec{Address: "203.0.113.8"}
			mine.Spec.External.N3.Endpoints = []api.CIDR{"203.0.113.32/28"}
			c.change(mine)
			got := AddressProblem(mine, []api.UPFInstance{*makeUPF(), *makeExternalUPF("first"), *mine})
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Message, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}

func TestPoolsOfAUPFElsewhere(t *testing.T) {
	slice := makeSlice("internet", "010203", "10.60.0.0/16")
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		want   string
	}{
		"free":              {func(*api.UPFInstance) {}, ""},
		"its N3":            {func(u *api.UPFInstance) { u.Spec.External.N3.Endpoints = []api.CIDR{"10.60.3.0/24"} }, "overlaps spec.external.n3.endpoints 10.60.3.0/24 of UPFInstance edge"},
		"its N4":            {func(u *api.UPFInstance) { u.Spec.External.N4.Address = "10.60.3.1" }, "overlaps the N4 address 10.60.3.1 of UPFInstance edge"},
		"one that it has":   {func(u *api.UPFInstance) { u.Spec.External.Pools = []api.ExternalPool{{Range: "10.60.0.0/16"}} }, ""},
		"a part of its own": {func(u *api.UPFInstance) { u.Spec.External.Pools = []api.ExternalPool{{Range: "10.0.0.0/8"}} }, "pool 10.60.0.0/16 of DNN internet is none of UPFInstance edge, which has 10.0.0.0/8: write one of these"},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeExternalUPF("edge")
			c.change(upf)
			for _, as := range []string{"chosen", "further"} {
				s := slice.DeepCopy()
				s.Spec.UPFSelector = &api.UPFSelector{Name: "edge"}
				if as == "further" {
					s.Spec.UPFSelector = &api.UPFSelector{Name: "other"}
					s.Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "edge", UEPools: s.Spec.DataNetworks[0].UEPools}}
					s.Spec.DataNetworks[0].UEPools = []api.CIDR{"10.61.0.0/16"}
				}
				got := ExternalPoolProblem(s, []api.UPFInstance{*upf})
				if got == nil && as == "chosen" {
					got = CheckPools(s, nil, upf, nil)
				}
				if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Message, c.want) {
					t.Errorf("%s: got %v, want %q", as, got, c.want)
				}
			}
		})
	}
}

func TestPolicyOfAUPFElsewhere(t *testing.T) {
	core := makeOwnCore()
	policy := ExternalPolicy(makeExternalUPF("edge"), core)
	rule := policy.Spec.Ingress[0]
	if policy.Name != "edge-n4" || policy.Spec.PodSelector.MatchLabels[api.LabelComponent] != "smf" || len(rule.From) != 2 ||
		rule.From[0].IPBlock.CIDR != "203.0.113.7/32" || rule.From[1].IPBlock.CIDR != "198.51.100.0/24" || *rule.Ports[0].EndPort != 8809 {
		t.Errorf("%+v", policy.Spec)
	}
	core.Spec.Layout = api.LayoutFused
	if got := ExternalPolicy(makeExternalUPF("edge"), core).Spec.PodSelector.MatchLabels[api.LabelComponent]; got != "control-plane" {
		t.Errorf("in the layout Fused it is of %s", got)
	}
}

// Whoever compares Node IDs has to find the same one, however it was written.
func TestNodeIDOfAUPFElsewhere(t *testing.T) {
	for written, want := range map[string]string{"UPF.Edge": "upf.edge", "2001:0DB8::01": "2001:db8::1", "::ffff:192.0.2.1": "192.0.2.1", "": "203.0.113.7"} {
		upf := makeExternalUPF("edge")
		upf.Spec.External.N4.NodeID = written
		if got := ExternalNodeID(upf); got != want {
			t.Errorf("%q is %q, want %q", written, got, want)
		}
	}
}

// What UPFs elsewhere reach the SMF by, for each type that may be written.
func TestServicesForUPFsElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		n4   *api.SessionManagementN4Spec
		want int
	}{
		"nothing is said":  {nil, 0},
		"by ClusterIP":     {&api.SessionManagementN4Spec{ServiceType: corev1.ServiceTypeClusterIP}, 0},
		"by load balancer": {&api.SessionManagementN4Spec{ServiceType: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a/b"), Annotations: map[string]string{"a": "b"}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			core := makeCore()
			core.Spec.ControlPlane = api.ControlPlaneCore5G
			core.Spec.SessionManagement = &api.SessionManagementSpec{Shards: ptr.To[int32](3), N4: c.n4}
			got := SMFSet{Core: core}.OutsideServices()
			if len(got) != c.want {
				t.Fatalf("%d Services, want %d", len(got), c.want)
			}
			for i, s := range got {
				if s.Name != fmt.Sprintf("core5g-smf-shard-%d-n4", i+1) || s.Spec.Type != corev1.ServiceTypeLoadBalancer || *s.Spec.LoadBalancerClass != "a/b" ||
					s.Annotations["a"] != "b" || s.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
					t.Errorf("Service %+v", s)
				}
			}
		})
	}
}

// A unit without a core is that of an SMF in another cluster, which is core5g's; when a core of this cluster comes with one, nothing restarts.
func TestUnitsWithoutACore(t *testing.T) {
	own, foreign := makeCore(), makeCore()
	own.Spec.ControlPlane, foreign.Spec.ControlPlane = api.ControlPlaneCore5G, api.ControlPlaneFree5GC
	of := func(core *api.Core5G, change func(*api.UPFInstance)) Unit {
		upf := makeUPF()
		if change != nil {
			change(upf)
		}
		return UPFUnit(upf, core, platform, 0, "198.51.100.7")
	}
	without := of(nil, nil)
	if !strings.Contains(without.Config.Data["upf-c.yaml"], "namedPools: true") {
		t.Errorf("an SMF of another cluster cannot name pools: %s", without.Config.Data["upf-c.yaml"])
	}
	if came := of(own, nil); came.SpecHash != without.SpecHash {
		t.Error("a core that comes restarts the unit")
	}
	if came := of(foreign, nil); came.SpecHash == without.SpecHash {
		t.Error("a core with free5GC's SMF leaves the unit as it is for core5g's")
	}
	for what, n4 := range map[string]api.N4Spec{
		"by ClusterIP, as is said": {ServiceType: corev1.ServiceTypeClusterIP},
		"by the same address":      {ServiceType: corev1.ServiceTypeLoadBalancer},
		"with other annotations":   {ServiceType: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"a": "b"}},
		"by another load balancer": {ServiceType: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a/b")},
	} {
		if got := of(nil, func(upf *api.UPFInstance) { upf.Spec.N4 = n4 }); got.SpecHash != without.SpecHash || got.TemplateHash != without.TemplateHash {
			t.Errorf("reached %s, the unit restarts", what)
		}
	}
}
