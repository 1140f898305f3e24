package specs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func slicesNamed(names ...string) []api.Slice {
	var out []api.Slice
	for i, n := range names {
		s := makeSlice(n, fmt.Sprintf("%06x", i+1), fmt.Sprintf("10.%d.0.0/16", 100+i))
		s.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000+i), 0))
		out = append(out, *s)
	}
	return out
}

func TestAllocateEndpoints(t *testing.T) {
	type row struct {
		block, gateway string
		had            []api.EndpointAllocation
		slices         []api.Slice
		want           map[string]string
		wantLeft       []string
	}
	for name, c := range map[string]row{
		"the older Slice gets the lower address": {
			slices: slicesNamed("b", "a"), want: map[string]string{"b": "172.30.3.16", "a": "172.30.3.17"},
		},
		"what was given stays": {
			had:    []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.20"}},
			slices: slicesNamed("b", "a"), want: map[string]string{"b": "172.30.3.16", "a": "172.30.3.20"},
		},
		"what a deleted Slice had is free": {
			had:    []api.EndpointAllocation{{Slice: "gone", Address: "172.30.3.16"}, {Slice: "a", Address: "172.30.3.17"}},
			slices: slicesNamed("a", "new"), want: map[string]string{"a": "172.30.3.17", "new": "172.30.3.16"},
		},
		"an address outside a new block is given up": {
			block: "172.30.3.32/28", had: []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.16"}},
			slices: slicesNamed("a"), want: map[string]string{"a": "172.30.3.32"},
		},
		"two Slices never share an address": {
			had:    []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.16"}, {Slice: "b", Address: "172.30.3.16"}},
			slices: slicesNamed("a", "b"), want: map[string]string{"a": "172.30.3.16", "b": "172.30.3.17"},
		},
		"network address and gateway are left out": {
			block: "172.30.3.0/30", gateway: "172.30.3.1",
			slices: slicesNamed("a", "b", "c"), want: map[string]string{"a": "172.30.3.2", "b": "172.30.3.3"}, wantLeft: []string{"c"},
		},
		"the broadcast address is left out": {
			block: "172.30.3.254/31", slices: slicesNamed("a", "b"), want: map[string]string{"a": "172.30.3.254"}, wantLeft: []string{"b"},
		},
		"no Slice, no address": {want: map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeUPF()
			if c.block != "" {
				upf.Spec.N3.Endpoints = api.CIDR(c.block)
			}
			if c.gateway != "" {
				upf.Spec.N3.Gateway = ptr.To(api.IPAddress(c.gateway))
			}
			upf.Status.Endpoints = c.had
			allocated, left := AllocateEndpoints(upf, c.slices)
			got := map[string]string{}
			for _, e := range allocated {
				got[e.Slice] = e.Address
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("allocated (-want +got): %s", diff)
			}
			if diff := cmp.Diff(c.wantLeft, left); diff != "" {
				t.Errorf("left (-want +got): %s", diff)
			}
			upf.Status.Endpoints = allocated
			again, _ := AllocateEndpoints(upf, c.slices)
			if diff := cmp.Diff(allocated, again); diff != "" {
				t.Errorf("a second pass moves addresses: %s", diff)
			}
		})
	}
}

func TestCheckPools(t *testing.T) {
	older := slicesNamed("old", "new")
	for name, c := range map[string]struct {
		change     func(s *api.Slice)
		wantReason string
		want       string
	}{
		"a pool of its own":     {func(*api.Slice) {}, "", ""},
		"an older Slice's pool": {func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools = []api.CIDR{"10.100.128.0/24"} }, api.ReasonPoolOverlap, "pool 10.100.0.0/16 of Slice old"},
		"another core's Slice": {func(s *api.Slice) {
			s.Spec.CoreRef.Name = "b"
			s.Spec.DataNetworks[0].UEPools = []api.CIDR{"10.100.0.0/16"}
		}, "", ""},
		"the N3 subnet":               {func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools = []api.CIDR{"172.30.0.0/16"} }, api.ReasonPoolOverlap, "the N3 subnet 172.30.3.0/24"},
		"the N6 subnet":               {func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools = []api.CIDR{"172.30.6.0/25"} }, api.ReasonPoolOverlap, "the N6 subnet 172.30.6.0/24"},
		"IPv6":                        {func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools = []api.CIDR{"2001:db8::/48"} }, "", ""},
		"static ones in its own pool": {func(s *api.Slice) { s.Spec.DataNetworks[0].StaticPools = []api.CIDR{"10.101.4.0/24"} }, api.ReasonPoolOverlap, "pool 10.101.4.0/24 of DNN internet overlaps pool 10.101.0.0/16 of DNN internet of the same Slice"},
		"static ones in another's":    {func(s *api.Slice) { s.Spec.DataNetworks[0].StaticPools = []api.CIDR{"10.100.4.0/24"} }, api.ReasonPoolOverlap, "pool 10.100.0.0/16 of Slice old"},
		"a further UPF's in another's": {func(s *api.Slice) {
			s.Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "edge", UEPools: []api.CIDR{"10.100.4.0/24"}}}
		}, api.ReasonPoolOverlap, "pool 10.100.0.0/16 of Slice old"},
		"two of its data networks":  {func(s *api.Slice) { s.Spec.DataNetworks = append(s.Spec.DataNetworks, s.Spec.DataNetworks[0]) }, api.ReasonPoolOverlap, "of the same Slice"},
		"what only looks like CIDR": {func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools = []api.CIDR{"10.0.0/8"} }, api.ReasonMalformed, "10.0.0/8"},
	} {
		t.Run(name, func(t *testing.T) {
			slice := older[1].DeepCopy()
			c.change(slice)
			got := CheckPools(slice, older, makeUPF(), nil)
			if c.wantReason == "" {
				if got != nil {
					t.Fatalf("refused: %v", got)
				}
				return
			}
			if got == nil || got.Reason != c.wantReason || !strings.Contains(got.Message, c.want) {
				t.Errorf("got %v, want %s: …%s…", got, c.wantReason, c.want)
			}
		})
	}
	young := makeSlice("young", "000009", "10.100.0.0/16")
	young.CreationTimestamp = metav1.NewTime(time.Unix(5000, 0))
	if got := CheckPools(&older[0], []api.Slice{older[0], *young}, nil, nil); got != nil {
		t.Errorf("a younger Slice takes the pool of an older one: %v", got)
	}
}

func TestSNSSAIOfTwoSlices(t *testing.T) {
	list := slicesNamed("old", "new")
	list[1].Spec.SNSSAI = api.SNSSAI{SST: 1, SD: strings.ToUpper(list[0].Spec.SNSSAI.SD)}
	if got := SNSSAIProblem(&list[1], list); got == nil || got.Reason != api.ReasonDuplicate || !strings.Contains(got.Message, "belongs to Slice old") {
		t.Errorf("got %v, want a duplicate of old", got)
	}
	if got := SNSSAIProblem(&list[0], list); got != nil {
		t.Errorf("the older Slice loses its S-NSSAI: %s", got.Message)
	}
}

func FuzzAllocateEndpoints(f *testing.F) {
	f.Add("172.30.3.16/28", "172.30.3.16", uint8(3))
	f.Add("::/0", "x", uint8(1))
	f.Fuzz(func(t *testing.T, block, had string, n uint8) {
		upf := makeUPF()
		upf.Spec.N3.Endpoints = api.CIDR(block)
		upf.Status.Endpoints = []api.EndpointAllocation{{Slice: "s0", Address: had}}
		var wanted []api.Slice
		for i := range int(n % 40) {
			wanted = append(wanted, *makeSlice(fmt.Sprintf("s%d", i), "000001", "10.0.0.0/8"))
		}
		allocated, left := AllocateEndpoints(upf, wanted)
		if len(allocated)+len(left) != len(wanted) {
			t.Fatalf("%d allocated and %d left of %d", len(allocated), len(left), len(wanted))
		}
		seen := map[string]bool{}
		for _, e := range allocated {
			if seen[e.Address] {
				t.Fatalf("%s is given twice", e.Address)
			}
			seen[e.Address] = true
		}
	})
}
