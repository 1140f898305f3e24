package specs

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func makeUnits(units int32, unitAddresses string) *api.UPFInstance {
	upf := makeUPF()
	upf.Spec.Units = ptr.To(units)
	if unitAddresses != "" {
		upf.Spec.N6.UnitAddresses = ptr.To(api.CIDR(unitAddresses))
	}
	return upf
}

func TestUnitAddresses(t *testing.T) {
	type unit struct{ N3, N6, Pool string }
	tests := map[string]struct {
		upf         *api.UPFInstance
		change      func(*api.UPFInstance)
		want        []unit
		wantProblem string
	}{
		"one unit has everything": {
			upf:  makeUnits(1, ""),
			want: []unit{{"172.30.3.16/28", "172.30.6.2/24", "10.45.0.0/16"}},
		},
		"two units have halves": {
			upf: makeUnits(2, "172.30.6.16/28"),
			want: []unit{
				{"172.30.3.16/29", "172.30.6.2/24", "10.45.0.0/17"},
				{"172.30.3.24/29", "172.30.6.16/24", "10.45.128.0/17"},
			},
		},
		"three units have quarters": {
			upf: makeUnits(3, "172.30.6.16/28"),
			want: []unit{
				{"172.30.3.16/30", "172.30.6.2/24", "10.45.0.0/18"},
				{"172.30.3.20/30", "172.30.6.16/24", "10.45.64.0/18"},
				{"172.30.3.24/30", "172.30.6.17/24", "10.45.128.0/18"},
			},
		},
		"one unit that may become two has a half": {
			upf:    makeUnits(1, "172.30.6.16/28"),
			change: func(u *api.UPFInstance) { u.Spec.MaxUnits = ptr.To[int32](2) },
			want: []unit{
				{"172.30.3.16/29", "172.30.6.2/24", "10.45.0.0/17"},
				{"172.30.3.24/29", "172.30.6.16/24", "10.45.128.0/17"},
			},
		},
		"addresses of others in the block are left out": {
			upf: makeUnits(3, "172.30.6.0/29"),
			want: []unit{
				{"172.30.3.16/30", "172.30.6.2/24", "10.45.0.0/18"},
				{"172.30.3.20/30", "172.30.6.3/24", "10.45.64.0/18"},
				{"172.30.3.24/30", "172.30.6.4/24", "10.45.128.0/18"},
			},
		},
		"no further N6 address": {
			upf:         makeUnits(2, ""),
			want:        []unit{{"172.30.3.16/28", "172.30.6.2/24", "10.45.0.0/16"}},
			wantProblem: "2 units need 1 N6 addresses beside 172.30.6.2/24: write a block with that many free addresses of the N6 subnet in spec.n6.unitAddresses",
		},
		"one N3 address cannot be shared": {
			upf:         makeUnits(2, "172.30.6.16/28"),
			change:      func(u *api.UPFInstance) { u.Spec.N3.Endpoints = "172.30.3.16/32" },
			want:        []unit{{"172.30.3.16/32", "172.30.6.2/24", "10.45.0.0/16"}},
			wantProblem: "spec.n3.endpoints 172.30.3.16/32 has no address for each of 2 units: write a larger block",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.upf)
			}
			limit, problem := UnitLimit(test.upf)
			if problem != test.wantProblem {
				t.Errorf("problem %q, want %q", problem, test.wantProblem)
			}
			var got []unit
			for i := range limit {
				pools, problem := UnitPools(test.upf, []api.CIDR{"10.45.0.0/16"}, i)
				if problem != "" {
					t.Error(problem)
				}
				got = append(got, unit{UnitN3Endpoints(test.upf, i), UnitN6Address(test.upf, i), strings.Join(pools, " ")})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSmallPoolIsNotCut(t *testing.T) {
	if _, problem := UnitPools(makeUnits(4, "172.30.6.16/28"), []api.CIDR{"10.45.0.0/29"}, 0); !strings.Contains(problem, "too small to be cut into 4 parts") {
		t.Errorf("problem %q", problem)
	}
}

// No address of one unit is another's, whatever the blocks and the number of units are.
func TestUnitAddressesAreDisjoint(t *testing.T) {
	for units := range int32(65) {
		for _, block := range []api.CIDR{"172.30.3.0/24", "172.30.2.0/23", "172.30.3.16/28", "10.0.255.128/25"} {
			upf := makeUnits(max(1, units), "172.30.6.0/24")
			upf.Spec.N3.Subnet, upf.Spec.N3.Endpoints = block, block
			upf.Status.Endpoints, _ = AllocateEndpoints(upf, slicesNamed("a", "b"))
			limit, _ := UnitLimit(upf)
			owner := map[string]string{}
			claim := func(unit int, address string) {
				who := fmt.Sprint(unit)
				if other, taken := owner[address]; taken {
					t.Fatalf("%d units on %s: %s is unit %s's and unit %s's", units, block, address, other, who)
				}
				owner[address] = who
			}
			var blocks []netip.Prefix
			for unit := range limit {
				own := netip.MustParsePrefix(UnitN3Endpoints(upf, unit))
				for _, other := range blocks {
					if other.Overlaps(own) {
						t.Fatalf("%d units on %s: %s overlaps %s", units, block, own, other)
					}
				}
				blocks = append(blocks, own)
				claim(unit, UnitN6Address(upf, unit))
				for _, e := range upf.Status.Endpoints {
					address := UnitEndpointOf(upf, e.Slice, unit)
					claim(unit, address)
					if !own.Contains(netip.MustParseAddr(address)) {
						t.Fatalf("%d units on %s: endpoint %s of unit %d is not in %s", units, block, address, unit, own)
					}
				}
			}
		}
	}
}

// CPU and memory of upf-u can be had otherwise than by the UPFInstance; hugepages and devices are those of its file.
func TestResourcesOfUPFU(t *testing.T) {
	shared := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}}
	for name, test := range map[string]struct {
		placement *api.PlacementSpec
		resources *corev1.ResourceRequirements
		want      string
	}{
		"nothing is written":                 {nil, nil, "cpu 1/1, memory 256Mi/256Mi, hugepages-2Mi 512Mi/512Mi"},
		"a part of a CPU, and no limit":      {nil, &shared, "cpu 250m/, memory 256Mi/256Mi, hugepages-2Mi 512Mi/512Mi"},
		"plans are made of whole CPUs":       {&api.PlacementSpec{Policy: api.PlacementSingleNUMA}, &shared, "cpu 1/1, memory 256Mi/256Mi, hugepages-2Mi 512Mi/512Mi"},
		"hugepages are the UPFInstance's":    {nil, &corev1.ResourceRequirements{Limits: corev1.ResourceList{"hugepages-2Mi": resource.MustParse("2Mi")}}, "cpu 1/1, memory 256Mi/256Mi, hugepages-2Mi 512Mi/512Mi"},
		"memory is written as a limit alone": {nil, &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}, "cpu 1/1, memory /1Gi, hugepages-2Mi 512Mi/512Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			upf, core := makeUPF(), makeCore()
			upf.Spec.Placement = test.placement
			if test.resources != nil {
				core.Spec.Functions = []api.FunctionSpec{{Name: api.FunctionUPFU, Resources: test.resources}}
			}
			got := upfuResources(upf, core)
			var all []string
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "hugepages-2Mi"} {
				said := string(name) + " "
				if q, is := got.Requests[name]; is {
					said += q.String()
				}
				said += "/"
				if q, is := got.Limits[name]; is {
					said += q.String()
				}
				all = append(all, said)
			}
			if diff := cmp.Diff(test.want, strings.Join(all, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The priority is that of both pods of a unit, and a change of it one that the user has asked for.
func TestPriorityOfUnits(t *testing.T) {
	upf, core := makeUPF(), makeCore()
	before := UPFUnit(upf, core, platform, 0, "10.96.0.9")
	upf.Spec.PriorityClassName = "user-plane"
	after := UPFUnit(upf, core, platform, 0, "10.96.0.9")
	if before.Pod.Spec.PriorityClassName != "" || after.Pod.Spec.PriorityClassName != "user-plane" || before.SpecHash == after.SpecHash {
		t.Errorf("priorities %q and %q, hashes %s and %s", before.Pod.Spec.PriorityClassName, after.Pod.Spec.PriorityClassName, before.SpecHash, after.SpecHash)
	}
	upf.Spec.Redundancy = &api.RedundancySpec{Standbys: 1}
	for _, member := range []Member{MemberA, MemberB} {
		if got := UPFMember(upf, core, platform, 0, member, "10.96.0.9").Pod.Spec.PriorityClassName; got != "user-plane" {
			t.Errorf("member %s: %q", member, got)
		}
	}
}
