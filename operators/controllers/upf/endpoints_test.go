package upf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/applying"
	"core5g.dev/core5g/operators/specs"
)

// An endpoint of a Slice that is not there waits for it, unless the status knows the Slice: then it has gone.
func TestGivenEndpoints(t *testing.T) {
	a, b, c := api.EndpointAllocation{Slice: "a", Address: "172.30.3.16"}, api.EndpointAllocation{Slice: "b", Address: "172.30.3.17"}, api.EndpointAllocation{Slice: "c", Address: "172.30.3.18"}
	for name, tc := range map[string]struct {
		written, status         []api.EndpointAllocation
		there                   []string
		wantGiven, wantReserved []api.EndpointAllocation
	}{
		"nothing is written yet, as before an upgrade":  {status: []api.EndpointAllocation{a, b}, there: []string{"a", "b"}, wantGiven: []api.EndpointAllocation{a, b}},
		"what is written wins":                          {written: []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.20"}}, status: []api.EndpointAllocation{a}, there: []string{"a"}, wantGiven: []api.EndpointAllocation{{Slice: "a", Address: "172.30.3.20"}}},
		"put back, before its Slices":                   {written: []api.EndpointAllocation{a, b}, wantReserved: []api.EndpointAllocation{a, b}},
		"put back, one Slice before the other":          {written: []api.EndpointAllocation{a, b}, status: []api.EndpointAllocation{b}, there: []string{"b"}, wantGiven: []api.EndpointAllocation{b}, wantReserved: []api.EndpointAllocation{a}},
		"a Slice that has gone":                         {written: []api.EndpointAllocation{a, c}, status: []api.EndpointAllocation{a, c}, there: []string{"a"}, wantGiven: []api.EndpointAllocation{a, c}},
		"a Slice that was given one and is not written": {written: []api.EndpointAllocation{a}, status: []api.EndpointAllocation{a, b}, there: []string{"a", "b"}, wantGiven: []api.EndpointAllocation{a, b}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{upf: &api.UPFInstance{}, kept: &applying.Allocations{Entries: specs.AllocationsOfEndpoints(tc.written)}}
			s.upf.Status.Endpoints = tc.status
			var all []api.Slice
			for _, name := range tc.there {
				all = append(all, api.Slice{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			given, reserved := s.given(all)
			if diff := cmp.Diff(tc.wantGiven, given); diff != "" {
				t.Errorf("given (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantReserved, reserved); diff != "" {
				t.Errorf("reserved (-want +got):\n%s", diff)
			}
		})
	}
}
