package specs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestAServiceHasItsAddressesAgain(t *testing.T) {
	service := func(kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
		s := &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, Ports: ports}}
		s.Name = "core5g-amf-n2"
		return s
	}
	has := func(s *corev1.Service, ips ...string) *corev1.Service {
		s.Spec.ClusterIPs = ips
		if len(ips) > 0 {
			s.Spec.ClusterIP = ips[0]
		}
		return s
	}
	n2 := func(node int32) corev1.ServicePort { return corev1.ServicePort{Name: "n2", NodePort: node} }
	for name, c := range map[string]struct {
		had, built *corev1.Service
		want       *corev1.Service
	}{
		"an address":                          {had: has(service(""), "10.0.0.7"), built: service(""), want: has(service(""), "10.0.0.7")},
		"two addresses":                       {had: has(service(""), "10.0.0.7", "fd00::7"), built: service(""), want: has(service(""), "10.0.0.7", "fd00::7")},
		"a port of the nodes":                 {had: has(service("NodePort", n2(30123)), "10.0.0.7"), built: service("NodePort", n2(0)), want: has(service("NodePort", n2(30123)), "10.0.0.7")},
		"a port of the nodes that is written": {had: has(service("NodePort", n2(30123)), "10.0.0.7"), built: service("NodePort", n2(30412)), want: has(service("NodePort", n2(30412)), "10.0.0.7")},
		"a port of the nodes that is not wanted any more": {had: has(service("NodePort", n2(30123)), "10.0.0.7"), built: service("ClusterIP", n2(0)), want: has(service("ClusterIP", n2(0)), "10.0.0.7")},
		"no address":         {had: has(service(""), "None"), built: service(""), want: service("")},
		"nothing is written": {had: service(""), built: service(""), want: service("")},
	} {
		t.Run(name, func(t *testing.T) {
			entries := AllocationsOfService(c.had)
			if diff := cmp.Diff(c.want, WithAllocations(c.built, entries)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !HasAllocatedAddress(c.want, entries) || entries[c.built.Name] != "" && HasAllocatedAddress(has(service(""), "10.0.0.8"), entries) {
				t.Errorf("who has the addresses of %v, and who has not, is mistaken", entries)
			}
			for key := range entries {
				if !IsAllocationOfService(key, c.had.Name) || IsAllocationOfService(key, "core5g-amf") {
					t.Errorf("whose entry %s is, is mistaken", key)
				}
			}
		})
	}
}

// What is kept for a Slice that has yet to come, nobody else gets.
func TestReservedEndpoints(t *testing.T) {
	upf := &api.UPFInstance{}
	upf.Spec.N3.Subnet, upf.Spec.N3.Endpoints = "172.30.3.0/24", "172.30.3.16/30"
	reserved := []api.EndpointAllocation{{Slice: "later", Address: "172.30.3.16"}, {Slice: "odd", Address: "?"}}
	allocated, left := AllocateEndpoints(upf, slicesNamed("a", "b", "c", "d"), reserved...)
	want := map[string]string{"n3.a": "172.30.3.17", "n3.b": "172.30.3.18", "n3.c": "172.30.3.19"}
	if diff := cmp.Diff(want, AllocationsOfEndpoints(allocated)); diff != "" || len(left) != 1 || left[0] != "d" {
		t.Errorf("left %v, allocated (-want +got):\n%s", left, diff)
	}
	if diff := cmp.Diff(allocated, AllocatedEndpoints(AllocationsOfEndpoints(allocated))); diff != "" {
		t.Errorf("written and read again (-want +got):\n%s", diff)
	}
}
