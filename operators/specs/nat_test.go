package specs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// makeNAT44 is one as the API server completes it.
func makeNAT44(addresses ...api.CIDR) *api.NAT44 {
	d := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	return &api.NAT44{Addresses: addresses, PortsPerUE: 1024, Mappings: 262144,
		Timeouts: api.NAT44Timeouts{TCPEstablished: d(124 * time.Minute), TCPTransitory: d(4 * time.Minute), UDP: d(5 * time.Minute), ICMP: d(time.Minute)}}
}

// makeNATs is makeNetworks with NAT44 of n6 and of ims.
func makeNATs() *api.UPFInstance {
	upf := makeNetworks()
	upf.Spec.N6.NAT44 = makeNAT44("203.0.113.0/28", "198.51.100.8/31")
	upf.Spec.NetworkInstances[1].NAT44 = makeNAT44("192.0.2.0/24")
	upf.Spec.NetworkInstances[1].NAT44.PortsPerUE = 256
	return upf
}

func TestNAT44OfUnits(t *testing.T) {
	const times = "mappings: 262144, tcp_established_s: 7440, tcp_transitory_s: 240, udp_s: 300, icmp_s: 60"
	for unit, want := range []string{`
- {addresses: [203.0.113.0/29, 198.51.100.8/32], ports: 1024, ` + times + `}
- {addresses: [192.0.2.0/25], ports: 256, ` + times + `}
-
`, `
- {addresses: [203.0.113.8/29, 198.51.100.9/32], ports: 1024, ` + times + `}
- {addresses: [192.0.2.128/25], ports: 256, ` + times + `}
-
`} {
		var wanted []any
		var got []map[string]any
		written, err := yaml.Marshal(upfuConfigOf(makeNATs(), unit).Interfaces["n6"])
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(yaml.Unmarshal([]byte(want), &wanted), yaml.Unmarshal(written, &got)); err != nil {
			t.Fatal(err)
		}
		var nats []any
		for _, n := range got {
			nats = append(nats, n["nat44"])
		}
		if diff := cmp.Diff(wanted, nats); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", unit, diff)
		}
	}
	upf := makeNATs()
	if got, want := UnitNetworks(upf, 1)[1].NAT44Addresses, []string{"192.0.2.128/25"}; !cmp.Equal(got, want) {
		t.Errorf("what status says of unit 1: %v, want %v", got, want)
	}
	one := makeUPF()
	one.Spec.N6.NAT44 = makeNAT44("203.0.113.7/32")
	if got := upfuConfigOf(one, 0).Interfaces["n6"].(upfuInterface).NAT44; got == nil || !cmp.Equal(got.Addresses, []string{"203.0.113.7/32"}) {
		t.Errorf("one unit and one network: %+v", got)
	}
}

// A unit is made anew when its part of the addresses is another one, and not for what is another's.
func TestNAT44IsAnUpdate(t *testing.T) {
	hash := func(upf *api.UPFInstance, unit int) string {
		return UPFUnit(upf, nil, platform, unit, "10.96.1.3").SpecHash
	}
	other := makeNATs()
	other.Spec.NetworkInstances[1].NAT44.Timeouts.UDP.Duration = 6 * time.Minute
	if hash(makeNATs(), 0) == hash(other, 0) {
		t.Error("another timeout is no update")
	}
	none := makeNetworks()
	if hash(makeNATs(), 0) == hash(none, 0) {
		t.Error("NAT44 is no update")
	}
}

func TestNAT44Problem(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n6 *api.NAT44, ims *api.NetworkInstance, upf *api.UPFInstance)
		want   string
	}{
		"nothing":                 {func(*api.NAT44, *api.NetworkInstance, *api.UPFInstance) {}, ""},
		"IPv6":                    {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[0] = "2001:db8::/64" }, "n6.nat44: 2001:db8::/64 is none of a /16 to a /32 of IPv4 addresses: write for example 203.0.113.0/28"},
		"too much":                {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[0] = "11.0.0.0/8" }, "n6.nat44: 11.0.0.0/8 is none of a /16 to a /32"},
		"too small for two units": {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[1] = "198.51.100.8/32" }, "n6.nat44: 198.51.100.8/32 is too small to be cut into 2 parts for units: write a larger block"},
		"on the link":             {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[0] = "172.30.6.64/28" }, "n6.nat44: 172.30.6.64/28 is in the UPF's own subnet 172.30.6.0/24: write addresses that the gateway routes to the UPF, as it does UE pools"},
		"on the link of its network": {func(_ *api.NAT44, ims *api.NetworkInstance, _ *api.UPFInstance) {
			ims.NAT44.Addresses[0] = "10.7.0.64/28"
		}, "networkInstances[ims].nat44: 10.7.0.64/28 is in the UPF's own subnet 10.7.0.0/24"},
		"on another network's link": {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[0] = "10.7.0.64/28" }, ""},
		"in N3":                     {func(n6 *api.NAT44, _ *api.NetworkInstance, _ *api.UPFInstance) { n6.Addresses[0] = "172.30.3.64/28" }, "n6.nat44: 172.30.3.64/28 overlaps the N3 subnet"},
		"those of another network": {func(_ *api.NAT44, ims *api.NetworkInstance, _ *api.UPFInstance) {
			ims.NAT44.Addresses[0] = "203.0.113.0/24"
		},
			"networkInstances[ims].nat44: 203.0.113.0/24 overlaps 203.0.113.0/28 of n6.nat44: a public address is one network instance's, or nobody could tell whose UE it was"},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeNATs()
			c.change(upf.Spec.N6.NAT44, &upf.Spec.NetworkInstances[1], upf)
			got := NetworksProblem(upf)
			if (got == nil) != (c.want == "") || got != nil && !strings.HasPrefix(got.Message, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
	second := makeNATs()
	second.Name, second.CreationTimestamp.Time = "second", second.CreationTimestamp.Add(time.Hour)
	second.Spec.N3.Endpoints, second.Spec.N6.Attachment.Bridge = "172.30.3.64/28", "c5g-n6-b"
	second.Spec.NetworkInstances = nil
	second.Spec.N6.NAT44 = makeNAT44("192.0.2.64/28")
	if got := AddressProblem(second, []api.UPFInstance{*makeNATs()}); got == nil || got.Reason != api.ReasonAddressOverlap ||
		!strings.Contains(got.Message, "spec.n6.nat44.addresses 192.0.2.64/28 overlaps 192.0.2.0/24 of UPFInstance upf: a public address is routed to one UPF") {
		t.Errorf("one public address at two UPFInstances: %v", got)
	}
}

func TestPoolsAndNAT44(t *testing.T) {
	upf := makeNATs()
	for name, c := range map[string]struct{ dnn, pool, want string }{
		"beside":                   {"internet", "10.45.0.0/16", ""},
		"a pool of public ones":    {"internet", "203.0.113.0/24", "pool 203.0.113.0/24 of DNN internet overlaps n6.nat44.addresses 203.0.113.0/28 of UPFInstance upf"},
		"of another network":       {"ims", "203.0.113.0/24", ""},
		"a pool of that one's":     {"ims", "192.0.2.0/26", "pool 192.0.2.0/26 of DNN ims overlaps networkInstances[ims].nat44.addresses 192.0.2.0/24 of UPFInstance upf"},
		"of one that has no NAT44": {"factory", "192.0.2.0/26", ""},
	} {
		s := makeSlice("s", "000001", c.pool)
		s.Spec.DataNetworks[0].DNN = api.DNN(c.dnn)
		got := CheckPools(s, nil, upf, []api.UPFInstance{*upf})
		if (got == nil) != (c.want == "") || got != nil && !strings.HasPrefix(got.Message, c.want) {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
}
