package specs

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// office is a Subscriber with networks behind its UE, the n-th that was made.
func office(name string, n int, slice string, dnn api.DNN, prefixes ...api.FramedRoute) *api.Subscriber {
	s := &api.Subscriber{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(n), 0))}}
	s.Spec.CoreRef.Name = "core5g"
	s.Spec.Slices = []api.SubscribedSlice{{Name: slice, FramedRoutes: []api.FramedRoutes{{DNN: dnn, Prefixes: prefixes}}}}
	return s
}

// What overlaps is found by the keys, whatever the lengths.
func TestKeysLeadToWhatOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	prefix := func() api.FramedRoute {
		if r.IntN(2) == 0 {
			return api.FramedRoute(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(r.IntN(3)), byte(r.IntN(3)), byte(r.IntN(3))}), 8+r.IntN(25)).Masked().String())
		}
		return api.FramedRoute(netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, byte(r.IntN(3)), 0, byte(r.IntN(3)), 0, byte(r.IntN(3))}), 16+r.IntN(49)).Masked().String())
	}
	met := 0
	for range 20000 {
		a, b := office("a", 1, "internet", "internet", prefix()), office("b", 2, "internet", "internet", prefix())
		if r.IntN(4) == 0 {
			b.Spec.Slices[0].FramedRoutes = nil
			b.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: "10.1.1.1", IPv6Prefix: "2001:100:100:100::/64"}}
		}
		overlap := slices.ContainsFunc(subscribed(a), func(x own) bool {
			return slices.ContainsFunc(subscribed(b), func(y own) bool { return x.prefix.Overlaps(y.prefix) })
		})
		if !overlap {
			continue
		}
		met++
		for _, pair := range [][2]*api.Subscriber{{a, b}, {b, a}} {
			keys := NetworkKeys(pair[1])
			if !slices.ContainsFunc(OverlappingKeys(pair[0]), func(k string) bool { return slices.Contains(keys, k) }) {
				t.Fatalf("%v does not lead to %v", subscribed(pair[0]), subscribed(pair[1]))
			}
		}
	}
	if met < 1000 {
		t.Errorf("only %d overlap", met)
	}
}

// In another network instance networks are other ones, and so are pools; a Subscriber of its own is told, too.
func TestFramedRoutesByNetworkInstance(t *testing.T) {
	internet := makeSlice("internet", "010203", "10.45.0.0/16")
	internet.Spec.DataNetworks = append(internet.Spec.DataNetworks, api.DataNetwork{DNN: "ims", UEPools: []api.CIDR{"10.46.0.0/16"}})
	iot := makeSlice("iot", "010204", "10.48.0.0/16")
	iot.Spec.DataNetworks[0].DNN = "meters"
	elsewhere := makeSlice("elsewhere", "010205", "10.0.0.0/8")
	elsewhere.Spec.CoreRef.Name = "another"
	plant := makeSlice("plant", "010206", "10.49.0.0/16")
	plant.Spec.DataNetworks = []api.DataNetwork{{DNN: "lan", SessionTypes: []api.SessionType{api.SessionEthernet}}}
	all, upfs := []api.Slice{*internet, *iot, *elsewhere, *plant}, []api.UPFInstance{*makeNetworks()}
	both := office("b", 2, "internet", "internet", "192.168.7.0/24")
	both.Spec.Slices = append(both.Spec.Slices, api.SubscribedSlice{Name: "iot", FramedRoutes: []api.FramedRoutes{{DNN: "meters", Prefixes: []api.FramedRoute{"192.168.0.0/16"}}}})
	apart := office("b", 2, "internet", "internet", "192.168.7.0/24")
	apart.Spec.Slices[0].FramedRoutes = append(apart.Spec.Slices[0].FramedRoutes, api.FramedRoutes{DNN: "ims", Prefixes: []api.FramedRoute{"192.168.7.0/24"}})
	address := func(dnn api.DNN) *api.Subscriber {
		s := office("b", 2, "internet", dnn)
		s.Spec.Slices[0].FramedRoutes, s.Spec.Slices[0].Addresses = nil, []api.StaticAddress{{DNN: dnn, IPv4: "192.168.7.9"}}
		return s
	}
	older := []api.Subscriber{*office("a", 1, "internet", "internet", "192.168.7.0/24")}
	for name, c := range map[string]struct {
		s      *api.Subscriber
		others []api.Subscriber
		reason string
		words  string
	}{
		"nobody else has it":   {s: office("b", 2, "internet", "internet", "192.168.7.0/24", "192.168.0.0/16")},
		"an older one has it":  {office("b", 2, "internet", "Internet", "192.168.7.0/24"), older, api.ReasonDuplicate, "network 192.168.7.0/24 overlaps network 192.168.7.0/24 of Subscriber a: write another one"},
		"a younger one has it": {s: office("b", 0, "internet", "internet", "192.168.7.0/24"), others: older},
		"one of another core has it": {s: func() *api.Subscriber {
			s := office("b", 2, "internet", "internet", "192.168.7.0/24")
			s.Spec.CoreRef.Name = "x"
			return s
		}(), others: older},
		"in another network instance":                      {s: office("b", 2, "internet", "ims", "192.168.7.0/24"), others: older},
		"of another Slice, in the same one":                {office("b", 2, "iot", "meters", "192.168.7.0/25"), older, api.ReasonDuplicate, "network 192.168.7.0/25 overlaps"},
		"an address in it":                                 {address("internet"), older, api.ReasonDuplicate, "address 192.168.7.9 overlaps network 192.168.7.0/24 of Subscriber a"},
		"an address in another network instance":           {s: address("ims"), others: older},
		"a pool":                                           {s: office("b", 2, "internet", "internet", "10.45.7.0/24"), reason: api.ReasonPoolOverlap, words: "overlaps pool 10.45.0.0/16 of Slice internet"},
		"the pool of another Slice in the same one":        {s: office("b", 2, "internet", "internet", "10.48.7.0/24"), reason: api.ReasonPoolOverlap, words: "overlaps pool 10.48.0.0/16 of Slice iot"},
		"the pool of another network instance":             {s: office("b", 2, "internet", "internet", "10.46.7.0/24")},
		"twice, in one network instance":                   {s: both, reason: api.ReasonDuplicate, words: "network 192.168.0.0/16 of DNN meters overlaps network 192.168.7.0/24 of DNN internet of the same Subscriber"},
		"twice, in two":                                    {s: apart},
		"a data network that there is not":                 {s: office("b", 2, "internet", "video", "192.168.7.0/24"), reason: api.ReasonNotFound, words: "Slice internet has no data network video: write one of its own (internet, ims) in framedRoutes"},
		"a Slice that there is not, of which nobody knows": {s: office("b", 2, "new", "internet", "192.168.7.0/24"), others: older},
		"a data network of Ethernet":                       {s: office("b", 2, "plant", "lan", "192.168.7.0/24"), reason: api.ReasonMalformed, words: "DNN lan of Slice plant is of Ethernet, where the core routes nothing: take it out of framedRoutes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := FramedRoutesProblem(c.s, c.others, all, upfs)
			if c.reason == "" {
				if got != nil {
					t.Errorf("refused: %v", got)
				}
				return
			}
			if got == nil || got.Reason != c.reason || !strings.Contains(got.Message, c.words) {
				t.Errorf("%v, want %s: %s", got, c.reason, c.words)
			}
		})
	}
}
