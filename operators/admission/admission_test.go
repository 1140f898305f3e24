package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/operators/controllers/cluster"
	"core5g.dev/core5g/operators/controllers/subscriber"
	"core5g.dev/core5g/operators/specs"
)

// made is later with every object, as in a cluster.
func made(name string, minute int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0).Add(time.Duration(minute) * time.Minute))}
}

func core() *api.Core5G {
	return &api.Core5G{ObjectMeta: made("core5g", 0), Spec: api.Core5GSpec{
		PLMNs: []api.PLMN{{MCC: "208", MNC: "93"}}, TACs: []api.TAC{"000001"},
		SliceCatalogue: []api.SNSSAI{{SST: 1, SD: "010203"}, {SST: 1, SD: "112233"}},
		ControlPlane:   api.ControlPlaneFree5GC,
		AMF:            api.AMFSpec{Name: "AMF", DefaultDNN: "internet"}, N2: api.N2Spec{Transport: api.TransportSCTP, Port: 38412},
	}}
}

func upf(name string, minute int, endpoints, address string) *api.UPFInstance {
	u := &api.UPFInstance{ObjectMeta: made(name, minute), Spec: api.UPFInstanceSpec{
		Driver: api.DriverAFPacket, Workers: 1,
		N3: api.N3Spec{Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "n3"}, Subnet: "172.30.3.0/24", Endpoints: api.CIDR(endpoints), MTU: 1500},
		N6: api.N6Spec{Attachment: api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "n6"}, Address: api.InterfaceAddress(address), Gateway: "172.30.6.1", MTU: 1500},
	}}
	u.Status.UnitStatuses = []api.UnitStatus{{Name: name + "-0", N4Address: "10.0.0.1", Hash: "made"}}
	return u
}

func slice(name string, minute int, sd, pool string) *api.Slice {
	return &api.Slice{ObjectMeta: made(name, minute), Spec: api.SliceSpec{
		SNSSAI: api.SNSSAI{SST: 1, SD: sd}, DataNetworks: []api.DataNetwork{{DNN: "internet", UEPools: []api.CIDR{api.CIDR(pool)}}},
	}}
}

func newSubscriber(name string, minute int, supi, gpsi string, slices ...string) *api.Subscriber {
	s := &api.Subscriber{ObjectMeta: made(name, minute), Spec: api.SubscriberSpec{SUPI: supi, GPSI: gpsi}}
	for _, n := range slices {
		s.Spec.Slices = append(s.Spec.Slices, api.SubscribedSlice{Name: n})
	}
	return s
}

// holding the objects that are there.
func holding(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	if err := subscriber.Index(indexer{b}); err != nil {
		t.Fatal(err)
	}
	return b.Build()
}

// indexer makes the indexes of a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, of client.IndexerFunc) error {
	i.WithIndex(o, field, of)
	return nil
}

func validatorOf(c client.Reader, o runtime.Object) webhook.CustomValidator {
	r := reader{cached: c, live: c, platform: specs.Platform{Registry: "core5g", Tag: "dev"}}
	switch o.(type) {
	case *api.Slice:
		return validator[*api.Slice]{sliceRules{r}}
	case *api.UPFInstance:
		return validator[*api.UPFInstance]{upfRules{r}}
	case *api.Subscriber:
		return validator[*api.Subscriber]{subscriberRules{r}}
	default:
		return validator[*api.Core5G]{coreRules{r}}
	}
}

// wants are parts of what is to be said; empty for nothing.
type wants struct{ refusal, warning string }

func (w wants) check(t *testing.T, warnings []string, err error) {
	t.Helper()
	if said := strings.Join(warnings, "\n"); (w.warning == "") != (said == "") || !strings.Contains(said, w.warning) {
		t.Errorf("warnings %q, want %q", said, w.warning)
	}
	if (w.refusal == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), w.refusal)) {
		t.Errorf("refused with %v, want %q", err, w.refusal)
	}
}

func TestCreate(t *testing.T) {
	there := []client.Object{
		core(), upf("upf", 1, "172.30.3.16/31", "172.30.6.2/24"),
		slice("first", 2, "010203", "10.45.0.0/16"),
		newSubscriber("a", 3, "imsi-208930000000001", "msisdn-33600000001", "first"),
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.0.0/24"}}},
	}
	second := func(change func(*api.Slice)) *api.Slice {
		s := slice("second", 0, "112233", "10.46.0.0/16") // the clock of a request says nothing
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		object client.Object
		wants
	}{
		"a Slice of its own":  {second(func(*api.Slice) {}), wants{}},
		"a pool twice":        {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "10.45.4.0/24" }), wants{refusal: "pool 10.45.4.0/24 of DNN internet overlaps pool 10.45.0.0/16 of Slice first"}},
		"the UPF's network":   {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "172.30.6.0/25" }), wants{refusal: "overlaps the N6 subnet 172.30.6.0/24 of UPFInstance upf"}},
		"the Service network": {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "10.96.128.0/17" }), wants{refusal: "overlaps the cluster's Service network 10.96.0.0/16: write a pool that is free"}},
		"the pod network":     {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "10.244.0.0/16" }), wants{refusal: "overlaps the pod network of node w1 10.244.0.0/24"}},
		"a 5QI of the operator's own": {second(func(s *api.Slice) { s.Spec.DataNetworks[0].FiveQI = 200 }),
			wants{warning: "5QI 200 of DNN internet is not standardized: configure every gNB with what it means"}},
		"an S-NSSAI twice":      {second(func(s *api.Slice) { s.Spec.SNSSAI.SD = "010203" }), wants{refusal: "S-NSSAI 1-010203 belongs to Slice first already"}},
		"two things at once":    {second(func(s *api.Slice) { s.Spec.SNSSAI.SD = "010203"; s.Spec.DataNetworks[0].UEPools[0] = "10.45.4.0/24" }), wants{refusal: "data networks there, or write another S-NSSAI; pool 10.45.4.0/24"}},
		"an S-NSSAI without SD": {second(func(s *api.Slice) { s.Spec.SNSSAI.SD = "" }), wants{refusal: "an S-NSSAI without sd needs core5g's own SMF: write an sd, or controlPlane: Core5G in Core5G core5g", warning: "Adding {sst: 1} there restarts the AMF"}},
		"QoS flows of free5GC's SMF": {second(func(s *api.Slice) { s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "voice"}} }),
			wants{refusal: "flows of DNN internet needs core5g's own SMF: leave it out, or write controlPlane: Core5G in Core5G core5g"}},
		"IPv6 of free5GC's SMF": {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "2001:db8::/48" }),
			wants{refusal: "an IPv6 network in uePools of DNN internet needs core5g's own SMF"}},
		"ports the wrong way round": {second(func(s *api.Slice) {
			s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "voice", Filters: []api.FlowFilter{{PacketFilter: api.PacketFilter{RemotePorts: ptr.To(api.Ports(intstr.FromString("9-8")))}}}}}
		}), wants{refusal: "flow voice of DNN internet: ports 9-8: write one from 1 to 65535, or a range with the lower one first"}},
		"frames of IP": {second(func(s *api.Slice) {
			s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "goose", Filters: []api.FlowFilter{{Ethernet: &api.EthernetFilter{VLAN: 7}}}}}
		}), wants{refusal: "flow goose of DNN internet: a filter has ethernet, and UEs send IP packets without frames: leave it out, or write sessionTypes: [Ethernet]"}},
		"a filter of nothing": {second(func(s *api.Slice) {
			s.Spec.DataNetworks[0] = lan(api.FlowFilter{Ethernet: &api.EthernetFilter{}})
		}), wants{refusal: "ethernet of a filter is empty: write one of remoteMAC, localMAC, vlan, serviceVLAN, etherType"}},
		"ports of what is no IP packet": {second(func(s *api.Slice) {
			s.Spec.DataNetworks[0] = lan(api.FlowFilter{PacketFilter: api.PacketFilter{Remote: "192.0.2.0/24"}, Ethernet: &api.EthernetFilter{EtherType: "0x88B8"}})
		}), wants{refusal: "a filter has etherType 0x88B8, which is none of IP"}},
		"Ethernet in n6": {second(func(s *api.Slice) { s.Spec.DataNetworks[0] = lan() }),
			wants{refusal: "UPFInstance upf has no network instance lan for DNN lan, and n6 is for IP"}},
		"Ethernet of free5GC's SMF": {second(func(s *api.Slice) { s.Spec.DataNetworks[0] = lan() }), wants{refusal: "sessionTypes of DNN lan needs core5g's own SMF"}},
		"beyond the catalogue":      {second(func(s *api.Slice) { s.Spec.SNSSAI.SD = "abcdef" }), wants{warning: "Adding {sst: 1, sd: \"abcdef\"} there restarts the AMF"}},
		"a UPF that is not there":   {second(func(s *api.Slice) { s.Spec.UPFSelector = &api.UPFSelector{Name: "later"} }), wants{warning: "UPFInstance later does not exist"}},
		"a core that is not there": {second(func(s *api.Slice) { s.Spec.CoreRef.Name = "later" }),
			wants{warning: "Core5G later does not exist: create it, or name another in spec.coreRef\nUPFInstance upf belongs to Core5G core5g"}},

		"a UPF of its own":    {upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), wants{}},
		"N3 endpoints twice":  {upf("b", 0, "172.30.3.0/24", "172.30.6.3/24"), wants{refusal: "spec.n3.endpoints 172.30.3.0/24 overlaps 172.30.3.16/31 of UPFInstance upf"}},
		"an N6 address twice": {upf("b", 0, "172.30.3.32/28", "172.30.6.2/24"), wants{refusal: "spec.n6.address 172.30.6.2/32 overlaps 172.30.6.2/32 of UPFInstance upf"}},
		"another N6":          {with(upf("b", 0, "172.30.3.32/28", "172.30.6.2/24"), func(u *api.UPFInstance) { u.Spec.N6.VLAN = ptr.To[int32](7) }), wants{}},
		"hugepages that hold no such sessions": {with(upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), func(u *api.UPFInstance) {
			u.Spec.Sessions, u.Spec.Hugepages.Amount = 400000, ptr.To(resource.MustParse("256Mi"))
		}), wants{refusal: "spec.hugepages.amount 256Mi is too little for spec.sessions 400000 of UPFInstance b: write 464Mi at least, or leave it out (null takes out what is there), and it is 1008Mi"}},
		"as many sessions by themselves": {with(upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), func(u *api.UPFInstance) { u.Spec.Sessions = 400000 }), wants{}},
		"a VLAN twice": {with(upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), func(u *api.UPFInstance) {
			u.Spec.NetworkInstances = []api.NetworkInstance{inVLAN("ims", 7, "10.7.0.2/24"), inVLAN("office", 7, "10.8.0.2/24")}
		}), wants{refusal: "networkInstances[office]: vlan 7 is that of networkInstances[ims] on the same interface"}},
		"units without address": {with(upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), func(u *api.UPFInstance) { u.Spec.Units = ptr.To[int32](3) }), wants{refusal: "3 units need 2 N6 addresses"}},

		"a UPF elsewhere": {elsewhere("b", 0, "203.0.113.16/28"), wants{refusal: "external needs core5g's own SMF: write controlPlane: Core5G in Core5G core5g, which ends all PDU sessions of the core once"}},

		"a Subscriber of its own": {newSubscriber("b", 0, "imsi-208930000000002", "msisdn-33600000002", "first"), wants{}},
		"a SUPI twice":            {newSubscriber("b", 0, "imsi-208930000000001", "", "first"), wants{refusal: "SUPI imsi-208930000000001 belongs to Subscriber a already"}},
		"a GPSI twice":            {newSubscriber("b", 0, "imsi-208930000000002", "msisdn-33600000001", "first"), wants{refusal: "GPSI msisdn-33600000001 belongs to Subscriber a already"}},
		"of another network":      {newSubscriber("b", 0, "imsi-001010000000001", "", "first"), wants{refusal: "begins with no PLMN of Core5G core5g (20893), so it is not a subscriber of this network: write a SUPI of one of them, or add its PLMN to spec.plmns"}},
		"before its core": {with(newSubscriber("b", 0, "imsi-001010000000001", "", "first"), func(s *api.Subscriber) { s.Spec.CoreRef.Name = "later" }),
			wants{warning: "Slice first belongs to Core5G core5g and the Subscriber to later"}},
		"an address of its own from free5GC's SMF": {with(newSubscriber("b", 0, "imsi-208930000000002", "", "first"), func(s *api.Subscriber) {
			s.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: "10.47.0.9"}}
		}), wants{refusal: "addresses, framedRoutes and flows of Slice first need core5g's own SMF"}},
		"before its Slice": {newSubscriber("b", 0, "imsi-208930000000002", "", "first", "later"), wants{warning: "Slice later does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := validatorOf(holding(t, there...), c.object).ValidateCreate(t.Context(), c.object)
			c.check(t, warnings, err)
		})
	}
	own := with(core(), func(c *api.Core5G) {
		c.Spec.ControlPlane = api.ControlPlaneCore5G
		c.Spec.SliceCatalogue = append(c.Spec.SliceCatalogue, api.SNSSAI{SST: 2})
	})
	for name, c := range map[string]struct {
		object client.Object
		wants
	}{
		"QoS flows":                {second(func(s *api.Slice) { s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "voice"}} }), wants{}},
		"IPv6":                     {second(func(s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "2001:db8::/48" }), wants{}},
		"an S-NSSAI without SD":    {second(func(s *api.Slice) { s.Spec.SNSSAI = api.SNSSAI{SST: 2} }), wants{}},
		"one beyond the catalogue": {second(func(s *api.Slice) { s.Spec.SNSSAI = api.SNSSAI{SST: 1} }), wants{warning: "S-NSSAI 1 is not in spec.sliceCatalogue of Core5G core5g, so no UE can ask for it"}},
		"a maximum below what is guaranteed": {second(func(s *api.Slice) {
			s.Spec.DataNetworks[0].Flows = []api.QoSFlow{{Name: "voice",
				GBR: &api.FlowBitRates{Uplink: "2 Mbps", Downlink: "1 Mbps"}, MBR: &api.FlowBitRates{Uplink: "2000 Kbps", Downlink: "999 Kbps"}}}
		}), wants{refusal: "flow voice of DNN internet: mbr.downlink 999 Kbps is below gbr.downlink 1 Mbps: write as much at least"}},
		"a network instance that the UPF has not": {second(func(s *api.Slice) { s.Spec.DataNetworks[0].NetworkInstance = "ims" }),
			wants{refusal: "UPFInstance upf has no network instance ims for DNN internet: add it to spec.networkInstances there, or leave networkInstance out"}},
		"a UPF elsewhere":               {elsewhere("b", 0, "203.0.113.16/28"), wants{}},
		"with an N3 address of pods":    {elsewhere("b", 0, "172.30.3.16/32"), wants{refusal: "spec.external.n3.endpoints 172.30.3.16/32 overlaps 172.30.3.16/31 of UPFInstance upf"}},
		"with an N3 address of another": {elsewhere("b", 0, "198.51.100.0/24"), wants{refusal: "overlaps 198.51.100.16/28 of UPFInstance edge"}},
		"with another's Node ID":        {with(elsewhere("b", 0, "203.0.113.16/28"), func(u *api.UPFInstance) { u.Spec.External.N4.NodeID = "198.51.100.7" }), wants{refusal: "UPFInstance edge has the Node ID 198.51.100.7 already"}},
		"a pool that the UPF has":       {second(func(s *api.Slice) { atEdge(s, "10.60.0.0/16") }), wants{}},
		"a pool that the UPF has not":   {second(func(s *api.Slice) { atEdge(s, "10.61.0.0/16") }), wants{refusal: "pool 10.61.0.0/16 of DNN internet is none of UPFInstance edge, which has 10.60.0.0/16"}},
		"a pool with the UPF's address": {second(func(s *api.Slice) {
			s.Spec.UPFSelector = &api.UPFSelector{Name: "edge"}
			s.Spec.DataNetworks[0].UEPools[0] = "198.51.0.0/16"
		}), wants{refusal: "pool 198.51.0.0/16 of DNN internet"}},
		"a UPF that cannot tell a new holder": {upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), wants{warning: "spec.n4.controlPlaneSubnets is empty, so a shard of the SMF that moves to another pod waits"}},
		"a UPF that can":                      {with(upf("b", 0, "172.30.3.32/28", "172.30.6.3/24"), func(u *api.UPFInstance) { u.Spec.N4.ControlPlaneSubnets = []api.CIDR{"10.244.0.0/16"} }), wants{}},
		"an address":                          {static("b", 2, "10.47.0.9", ""), wants{}},
		"an address twice":                    {static("b", 2, "10.47.0.1", ""), wants{refusal: "address 10.47.0.1 belongs to Subscriber c already"}},
		"a prefix twice":                      {static("b", 2, "", "2001:db8:47:0::/64"), wants{refusal: "address 2001:db8:47::/64 belongs to Subscriber c already"}},
		"an address of the pool":              {static("b", 2, "10.45.3.4", ""), wants{refusal: "address 10.45.3.4 lies in pool 10.45.0.0/16 of Slice first, which the UPF gives to any UE"}},
		"of another data network": {with(static("b", 2, "10.47.0.9", ""), func(s *api.Subscriber) { s.Spec.Slices[0].Addresses[0].DNN = "ims" }),
			wants{refusal: "Slice first has no data network ims"}},
		"a network behind a UE":                    {behind("b", 2, "192.168.8.0/24", "2001:db8:9::/48"), wants{}},
		"one that another has":                     {behind("b", 2, "192.168.7.0/24"), wants{refusal: "network 192.168.7.0/24 overlaps network 192.168.7.0/24 of Subscriber d: write another one, or have it in another network instance"}},
		"a part of one":                            {behind("b", 2, "192.168.7.128/25"), wants{refusal: "network 192.168.7.128/25 overlaps network 192.168.7.0/24 of Subscriber d"}},
		"one that holds another's":                 {behind("b", 2, "192.168.0.0/17"), wants{refusal: "network 192.168.0.0/17 overlaps network 192.168.7.0/24 of Subscriber d"}},
		"one that holds another's, of IPv6":        {behind("b", 2, "2001:db8::/33"), wants{refusal: "overlaps"}},
		"one that holds another's address":         {behind("b", 2, "10.47.0.0/23"), wants{refusal: "network 10.47.0.0/23 overlaps address 10.47.0.1 of Subscriber c"}},
		"one that holds a pool":                    {behind("b", 2, "10.0.0.0/8"), wants{refusal: "network 10.0.0.0/8 overlaps pool 10.45.0.0/16 of Slice first, of which the UPF gives addresses to any UE: write a network outside of it"}},
		"an address in the network behind another": {static("b", 2, "192.168.7.9", ""), wants{refusal: "address 192.168.7.9 overlaps network 192.168.7.0/24 of Subscriber d"}},
		"behind a UE in no data network": {with(behind("b", 2, "192.168.8.0/24"), func(s *api.Subscriber) { s.Spec.Slices[0].FramedRoutes[0].DNN = "ims" }),
			wants{refusal: "Slice first has no data network ims: write one of its own"}},
		"a flow that there is not": {with(static("b", 2, "10.47.0.9", ""), func(s *api.Subscriber) { s.Spec.Slices[0].Flows = []string{"voice"} }),
			wants{warning: "Slice first has no flow voice that is given ToSubscribers: it has none"}},
	} {
		t.Run("with core5g's SMF: "+name, func(t *testing.T) {
			edge := elsewhere("edge", 4, "198.51.100.16/28")
			edge.Spec.External.N4.Address, edge.Spec.External.Pools = "198.51.100.7", []api.ExternalPool{{Range: "10.60.0.0/16"}}
			there := append([]client.Object{own, static("c", 3, "10.47.0.1", "2001:db8:47::/64"), behind("d", 5, "192.168.7.0/24", "2001:db8:7::/48"), edge}, there[1:]...)
			warnings, err := validatorOf(holding(t, there...), c.object).ValidateCreate(t.Context(), c.object)
			c.check(t, warnings, err)
		})
	}
	t.Run("no endpoint left", func(t *testing.T) {
		full := append([]client.Object{slice("third", 3, "000003", "10.48.0.0/16")}, there...)
		s := second(func(*api.Slice) {})
		warnings, err := validatorOf(holding(t, full...), s).ValidateCreate(t.Context(), s)
		wants{warning: "spec.n3.endpoints 172.30.3.16/31 has no address left for Slice second"}.check(t, warnings, err)
	})
}

// inVLAN is a network instance on the interface of n6.
func inVLAN(name api.DNN, vlan int32, address api.InterfaceAddress) api.NetworkInstance {
	return api.NetworkInstance{Name: name, VLAN: &vlan, Addresses: []api.InterfaceAddress{address}}
}

// Pools may overlap between network instances: what brings two together is refused, whichever object it is in.
func TestNetworkInstances(t *testing.T) {
	own := with(core(), func(c *api.Core5G) { c.Spec.ControlPlane = api.ControlPlaneCore5G })
	two := with(upf("upf", 1, "172.30.3.16/28", "172.30.6.2/24"), func(u *api.UPFInstance) {
		u.Spec.NetworkInstances = []api.NetworkInstance{inVLAN("ims", 7, "10.7.0.2/24"), inVLAN("office", 8, "10.8.0.2/24")}
	})
	two.Spec.N4.ControlPlaneSubnets = []api.CIDR{"10.244.0.0/16"}
	first, ims := slice("first", 2, "010203", "10.45.0.0/16"), slice("second", 3, "112233", "10.45.0.0/16")
	ims.Spec.DataNetworks[0].DNN, ims.Status.SMF = "ims", "core5g-smf"
	other := with(upf("other", 1, "172.30.3.64/28", "172.30.6.3/24"), func(u *api.UPFInstance) {
		u.Spec.NetworkInstances, u.Spec.N4 = []api.NetworkInstance{inVLAN("office", 8, "10.8.0.3/24")}, two.Spec.N4
	})
	fourth := with(slice("fourth", 4, "000004", "10.48.0.0/16"), func(s *api.Slice) {
		s.Spec.DataNetworks[0].NetworkInstance, s.Spec.DataNetworks[0].UPFs = "office", []api.DataNetworkUPF{{Name: "other", UEPools: []api.CIDR{"10.49.0.0/16"}}}
	})
	there := []client.Object{own, two, other, first, ims, fourth}
	create := with(slice("third", 0, "010203", "10.45.0.0/16"), func(s *api.Slice) {
		s.Spec.SNSSAI.SST, s.Spec.DataNetworks[0].NetworkInstance = 2, "office"
	})
	own.Spec.SliceCatalogue = append(own.Spec.SliceCatalogue, create.Spec.SNSSAI)
	v := validatorOf(holding(t, there...), create)
	warnings, err := v.ValidateCreate(t.Context(), create)
	wants{}.check(t, warnings, err)
	create.Spec.DataNetworks[0].NetworkInstance = "ims"
	warnings, err = v.ValidateCreate(t.Context(), create)
	wants{refusal: "pool 10.45.0.0/16 of DNN internet overlaps pool 10.45.0.0/16 of Slice second"}.check(t, warnings, err)
	create.Spec.DataNetworks[0].NetworkInstance = "factory"
	warnings, err = v.ValidateCreate(t.Context(), create)
	wants{refusal: "UPFInstance upf has no network instance factory for DNN internet: write one of its own (ims, office), or add it to spec.networkInstances there"}.check(t, warnings, err)

	for name, c := range map[string]struct {
		before client.Object
		change func(client.Object)
		wants
	}{
		"the Slice moves into the other's": {ims, func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].DNN = "internet" },
			wants{refusal: "overlaps pool 10.45.0.0/16 of Slice first"}},
		"the Slice moves": {ims, func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].NetworkInstance = "office" },
			wants{warning: "PDU sessions of DNN ims that there are stay in network instance ims, and cannot be modified there; new ones are in network instance office"}},
		"the network instance goes": {two, func(o client.Object) {
			u := o.(*api.UPFInstance)
			u.Spec.NetworkInstances = u.Spec.NetworkInstances[1:]
		},
			wants{refusal: "Slice second: pool 10.45.0.0/16 of DNN ims overlaps pool 10.45.0.0/16 of Slice first"}},
		"another one comes": {two, func(o client.Object) {
			u := o.(*api.UPFInstance)
			u.Spec.NetworkInstances = append(u.Spec.NetworkInstances, inVLAN("lab", 9, "10.9.0.2/24"))
		}, wants{warning: "this replaces upf-0"}},
		"NAT44 with the addresses of a pool": {two, func(o client.Object) {
			o.(*api.UPFInstance).Spec.NetworkInstances[0].NAT44 = &api.NAT44{Addresses: []api.CIDR{"10.45.7.0/24"}, PortsPerUE: 1024}
		}, wants{refusal: "Slice second: pool 10.45.0.0/16 of DNN ims overlaps networkInstances[ims].nat44.addresses 10.45.7.0/24 of UPFInstance upf"}},
		"NAT44 with those of its own link": {two, func(o client.Object) {
			o.(*api.UPFInstance).Spec.NetworkInstances[0].NAT44 = &api.NAT44{Addresses: []api.CIDR{"10.7.0.16/28"}, PortsPerUE: 1024}
		}, wants{refusal: "networkInstances[ims].nat44: 10.7.0.16/28 is in the UPF's own subnet 10.7.0.0/24"}},
		"NAT44 comes": {two, func(o client.Object) {
			o.(*api.UPFInstance).Spec.NetworkInstances[0].NAT44 = &api.NAT44{Addresses: []api.CIDR{"203.0.113.0/28"}, PortsPerUE: 1024}
		}, wants{warning: "this replaces upf-0"}},
		"one at another UPFInstance goes": {other, func(o client.Object) { o.(*api.UPFInstance).Spec.NetworkInstances = nil },
			wants{refusal: "Slice fourth: UPFInstance other has no network instance office for DNN internet: add it to spec.networkInstances there"}},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.before.DeepCopyObject().(client.Object)
			c.change(after)
			warnings, err := validatorOf(holding(t, there...), after).ValidateUpdate(t.Context(), c.before, after)
			c.check(t, warnings, err)
		})
	}
}

// elsewhere is a UPF that runs elsewhere.
func elsewhere(name string, minute int, endpoints api.CIDR) *api.UPFInstance {
	return &api.UPFInstance{ObjectMeta: made(name, minute), Spec: api.UPFInstanceSpec{External: &api.ExternalSpec{
		N4: api.ExternalN4Spec{Address: "203.0.113.7"}, N3: api.ExternalN3Spec{Endpoints: []api.CIDR{endpoints}},
	}}}
}

// atEdge has UPFInstance edge serve a Slice beside its own.
func atEdge(s *api.Slice, pool api.CIDR) {
	s.Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "edge", UEPools: []api.CIDR{pool}}}
}

// static is a Subscriber of Slice first with addresses of its own.
func static(name string, n int, ipv4 api.IPAddress, ipv6 api.CIDR) *api.Subscriber {
	return with(newSubscriber(name, n, fmt.Sprintf("imsi-20893000000000%d", n), "", "first"), func(s *api.Subscriber) {
		s.Spec.Slices[0].Addresses = []api.StaticAddress{{DNN: "internet", IPv4: ipv4, IPv6Prefix: ipv6}}
	})
}

// behind is a Subscriber of Slice first with networks behind its UE.
func behind(name string, n int, prefixes ...api.FramedRoute) *api.Subscriber {
	return with(newSubscriber(name, n, fmt.Sprintf("imsi-20893000000000%d", n), "", "first"), func(s *api.Subscriber) {
		s.Spec.Slices[0].FramedRoutes = []api.FramedRoutes{{DNN: "internet", Prefixes: prefixes}}
	})
}

func with[T any](object *T, change func(*T)) *T {
	change(object)
	return object
}

func coreWithStore() *api.Core5G {
	return with(core(), func(c *api.Core5G) { c.Spec.SessionStore = &api.SessionStoreSpec{} })
}

func TestUpdate(t *testing.T) {
	withStore := coreWithStore()
	own := with(core(), func(c *api.Core5G) {
		c.Spec.ControlPlane, c.Spec.AMF.Workers = api.ControlPlaneCore5G, ptr.To[int32](2)
	})
	runs := func(name string, minute int, sd, pool string) *api.Slice {
		return with(slice(name, minute, sd, pool), func(s *api.Slice) { s.Status.SMF = "core5g-smf-" + name })
	}
	there := []client.Object{
		core(), upf("upf", 1, "172.30.3.16/28", "172.30.6.2/24"), upf("other", 1, "172.30.3.64/28", "172.30.6.3/24"),
		runs("first", 2, "010203", "10.45.0.0/16"), runs("second", 3, "112233", "10.46.0.0/16"),
		// Came while the webhook was off.
		runs("wrong", 4, "445566", "10.46.0.0/24"),
		newSubscriber("a", 3, "imsi-208930000000001", "msisdn-33600000001", "first"), newSubscriber("b", 4, "imsi-208930000000002", "", "first"),
	}
	for name, c := range map[string]struct {
		before client.Object
		change func(client.Object)
		wants
	}{
		"labels of a Slice": {there[5], func(o client.Object) { o.SetLabels(map[string]string{"a": "b"}) }, wants{}},
		"the older's pool into the younger's": {there[3], func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].UEPools[0] = "10.46.128.0/17" },
			wants{refusal: "overlaps pool 10.46.0.0/16 of Slice second"}},
		"another pool restarts the SMF": {there[4], func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].UEPools[0] = "10.47.0.0/16" },
			wants{warning: "this restarts the SMF of Slice second, which ends its PDU sessions"}},
		"what was wrong may change": {there[5], func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].DNS = []api.IPAddress{"9.9.9.9"} },
			wants{warning: "pool 10.46.0.0/24 of DNN internet overlaps pool 10.46.0.0/16 of Slice second"}},
		"what was wrong may not become wrong otherwise": {there[5], func(o client.Object) { o.(*api.Slice).Spec.DataNetworks[0].UEPools[0] = "10.45.0.0/24" },
			wants{refusal: "overlaps pool 10.45.0.0/16 of Slice first", warning: "1-445566 is not in"}},
		"what is being deleted": {there[3], func(o client.Object) {
			o.SetDeletionTimestamp(ptr.To(metav1.Now()))
			o.(*api.Slice).Spec.DataNetworks[0].UEPools[0] = "10.46.0.0/24"
		}, wants{}},

		"an older UPF's endpoints into another's": {there[1], func(o client.Object) { o.(*api.UPFInstance).Spec.N3.Endpoints = "172.30.3.64/29" },
			wants{refusal: "overlaps 172.30.3.64/28 of UPFInstance other"}},
		"an N6 subnet over a pool": {there[1], func(o client.Object) { o.(*api.UPFInstance).Spec.N6.Address = "10.45.0.2/24" },
			wants{refusal: "Slice first: pool 10.45.0.0/16 of DNN internet overlaps the N6 subnet 10.45.0.0/24"}},
		"another MTU replaces the unit": {there[1], func(o client.Object) { o.(*api.UPFInstance).Spec.N3.MTU = 9000 },
			wants{warning: "this replaces upf-0, one after the other, which ends their PDU sessions"}},
		"more sessions replace the unit": {there[1], func(o client.Object) { o.(*api.UPFInstance).Spec.Sessions = 400000 },
			wants{warning: "this replaces upf-0, one after the other, which ends their PDU sessions"}},
		"more sessions in hugepages that were written": {there[1], func(o client.Object) {
			o.(*api.UPFInstance).Spec.Sessions, o.(*api.UPFInstance).Spec.Hugepages.Amount = 600000, ptr.To(resource.MustParse("512Mi"))
		}, wants{refusal: "spec.hugepages.amount 512Mi is too little for spec.sessions 600000 of UPFInstance upf: write 656Mi at least, or leave it out (null takes out what is there), and it is 1296Mi"}},
		"fewer sessions of a unit with a standby": {with(upf("upf", 1, "172.30.3.16/28", "172.30.6.2/24"), func(u *api.UPFInstance) {
			u.Spec.Sessions, u.Spec.Redundancy = 100000, &api.RedundancySpec{Standbys: 1}
		}), func(o client.Object) { o.(*api.UPFInstance).Spec.Sessions = 65536 },
			wants{warning: "this replaces upf-0, each after its standby, to which it is handed over\nsessions 65536 are fewer than 100000: PDU sessions whose places in the tables go, end"}},
		"another MTU waits": {there[1], func(o client.Object) {
			o.(*api.UPFInstance).Spec.N3.MTU = 9000
			o.(*api.UPFInstance).Spec.UpdateStrategy = &api.UpdateStrategySpec{Type: api.UpdateOnApproval}
		}, wants{warning: "condition UpdatePending names the annotation"}},
		"a lock": {there[1], func(o client.Object) { o.(*api.UPFInstance).Spec.AdministrativeState = api.StateLocked }, wants{warning: "this stops upf-0"}},
		"a wait that lasts": {there[1], func(o client.Object) {
			o.(*api.UPFInstance).Spec.Drain = &api.DrainSpec{Timeout: metav1.Duration{Duration: 9 * time.Second}}
		}, wants{}},
		"a GPSI that is another": {there[7], func(o client.Object) { o.(*api.Subscriber).Spec.GPSI = "msisdn-33600000001" }, wants{refusal: "GPSI msisdn-33600000001 belongs to Subscriber a"}},

		"a tracking area": {there[0], func(o client.Object) { o.(*api.Core5G).Spec.TACs = append(o.(*api.Core5G).Spec.TACs, "000002") },
			wants{warning: "this restarts the AMF, and every UE registers anew"}},
		"a Slice out of the catalogue": {there[0], func(o client.Object) { c := o.(*api.Core5G); c.Spec.SliceCatalogue = c.Spec.SliceCatalogue[:1] },
			wants{warning: "Slice second: S-NSSAI 1-112233 is not in spec.sliceCatalogue"}},
		"another control plane": {there[0], func(o client.Object) { o.(*api.Core5G).Spec.ControlPlane = api.ControlPlaneCore5G },
			wants{warning: "this changes whose AMF and SMF serve UEs: gNBs set up N2 anew, every UE registers anew, and all PDU sessions end\nthis restarts core5g-subscriber-data"}},
		"free5GC's again": {own, func(o client.Object) {
			c := o.(*api.Core5G)
			c.Spec.ControlPlane, c.Spec.AMF.Workers = api.ControlPlaneFree5GC, nil
		}, wants{warning: "this changes whose AMF and SMF serve UEs"}},
		"a tracking area of the own AMF": {own, func(o client.Object) {
			c := o.(*api.Core5G)
			c.Spec.TACs, c.Spec.AMF.Name, c.Spec.AMF.Workers = append(c.Spec.TACs, "000002"), "other", ptr.To[int32](1)
		}, wants{}},
		"another set of the own AMF": {own, func(o client.Object) { o.(*api.Core5G).Spec.AMF.Set = ptr.To[int32](1) },
			wants{warning: "this restarts the N2 terminators, one after the other: gNBs set up N2 anew, and UEs stay registered"}},
		"resources of the own AMF": {own, func(o client.Object) {
			o.(*api.Core5G).Spec.Functions = []api.FunctionSpec{{Name: api.FunctionAccessManagement, Resources: &corev1.ResourceRequirements{}}}
		}, wants{warning: "this restarts the AMF's workers, one after the other: UEs stay registered"}},
		"emergency services": {own, func(o client.Object) {
			o.(*api.Core5G).Spec.AMF.Emergency = &api.EmergencyServices{SNSSAI: api.SNSSAI{SST: 1, SD: "010203"}, DNN: "sos"}
		}, wants{}},
		"emergency services of a slice that is not advertised": {own, func(o client.Object) {
			o.(*api.Core5G).Spec.AMF.Emergency = &api.EmergencyServices{SNSSAI: api.SNSSAI{SST: 2}, DNN: "sos"}
		}, wants{refusal: "S-NSSAI 2 of spec.amf.emergency is not in spec.sliceCatalogue: add {sst: 2} there, or write one of it"}},
		"fewer terminators": {with(own.DeepCopy(), func(c *api.Core5G) { c.Spec.AMF.Terminators = ptr.To[int32](3) }), func(o client.Object) { o.(*api.Core5G).Spec.AMF.Terminators = nil },
			wants{warning: "this ends 2 N2 terminators: their gNBs set up N2 anew, and UEs stay registered"}},
		"a first session store": {there[0], func(o client.Object) { o.(*api.Core5G).Spec.SessionStore = &api.SessionStoreSpec{} },
			wants{warning: "this restarts core5g-subscriber-data"}},
		"no session store any more": {withStore, func(o client.Object) { o.(*api.Core5G).Spec.SessionStore = nil },
			wants{warning: "this leaves the session store with all sessions in it"}},
		"a site's session store": {withStore, func(o client.Object) {
			o.(*api.Core5G).Spec.SessionStore = &api.SessionStoreSpec{Type: api.SessionStoreExternal, SecretRef: &api.SecretReference{Name: "site"}}
		}, wants{warning: "this leaves the session store with all sessions in it"}},
		"TLS": {there[0], func(o client.Object) { o.(*api.Core5G).Spec.TLS.Mode = api.TLSMutual },
			wants{warning: "this restarts the SMF of Slice first"}},
	} {
		t.Run(name, func(t *testing.T) {
			after := c.before.DeepCopyObject().(client.Object)
			c.change(after)
			warnings, err := validatorOf(holding(t, there...), after).ValidateUpdate(t.Context(), c.before, after)
			if _, is := c.before.(*api.Core5G); is {
				warnings = without(warnings, "Slice wrong:")
			}
			if c.before == there[5] && c.refusal == "" {
				warnings = without(warnings, "1-445566")
			}
			c.check(t, warnings, err)
		})
	}
}

// without the warnings that every change of the object brings here.
func without(all []string, text string) (out []string) {
	for _, w := range all {
		if !strings.Contains(w, text) {
			out = append(out, w)
		}
	}
	return out
}

func TestDelete(t *testing.T) {
	there := []client.Object{core(), upf("upf", 1, "172.30.3.16/28", "172.30.6.2/24"), slice("first", 2, "010203", "10.45.0.0/16"), slice("lone", 2, "112233", "10.46.0.0/16")}
	for _, name := range []string{"g", "f", "e", "d", "c", "b", "a"} {
		there = append(there, newSubscriber(name, 3, "imsi-20893"+name, "", "first"))
	}
	there[3].(*api.Slice).Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "edge", UEPools: []api.CIDR{"10.47.0.0/16"}}}
	for name, c := range map[string]struct {
		object  client.Object
		warning string
	}{
		"a Slice that Subscribers name":      {there[2], "7 Subscribers of Slice first still name it in spec.slices, and lose its PDU sessions: a, b, c, d, e and 2 more"},
		"a Slice that nobody names":          {there[3], ""},
		"a UPFInstance that Slices select":   {there[1], "2 Slices have no user plane without UPFInstance upf: first, lone"},
		"a UPFInstance beside these":         {upf("edge", 1, "172.30.3.32/28", "172.30.6.3/24"), "1 Slice still name UPFInstance edge in upfs or breakouts, and go without it: lone"},
		"a Core5G with Slices":               {there[0], "2 Slices stay without Core5G core5g: first, lone"},
		"a Core5G with a session store":      {coreWithStore(), "Secret core5g-session-store-keys stays, and what it seals"},
		"a Slice whose deletion has begun":   {with(slice("first", 2, "010203", "10.45.0.0/16"), func(s *api.Slice) { s.DeletionTimestamp = ptr.To(metav1.Now()) }), ""},
		"a Subscriber that is named by none": {there[4], ""},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := validatorOf(holding(t, there...), c.object).ValidateDelete(t.Context(), c.object)
			wants{warning: c.warning}.check(t, warnings, err)
		})
	}
}

// A question that cannot be answered is no refusal.
func TestNoAnswerIsNoRefusal(t *testing.T) {
	broken := interceptor.NewClient(holding(t), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not there")
		},
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the cache is not there")
		},
	})
	for _, o := range []client.Object{slice("s", 0, "010203", "10.45.0.0/16"), upf("upf", 0, "172.30.3.16/28", "172.30.6.2/24"), newSubscriber("a", 0, "imsi-208930000000001", "")} {
		warnings, err := validatorOf(broken, o).ValidateCreate(t.Context(), o)
		wants{warning: "conditions will say what is wrong: the cache is not there"}.check(t, warnings, err)
	}
}

// What a change of a UPF that runs elsewhere ends, is said.
func TestUpdateOfAUPFElsewhere(t *testing.T) {
	own := with(core(), func(c *api.Core5G) { c.Spec.ControlPlane = api.ControlPlaneCore5G })
	edge := elsewhere("edge", 1, "203.0.113.16/28")
	served := with(slice("first", 2, "010203", "10.60.0.0/16"), func(s *api.Slice) { s.Spec.UPFSelector = &api.UPFSelector{Name: "edge"} })
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		wants
	}{
		"the port":    {func(u *api.UPFInstance) { u.Spec.External.N4.Port = 8806 }, wants{}},
		"the address": {func(u *api.UPFInstance) { u.Spec.External.N4.Address = "203.0.113.8" }, wants{warning: "this makes another UPF of it to the SMF (Node ID 203.0.113.8, was 203.0.113.7), which ends its PDU sessions: where the same UPF has moved, leave its Node ID as it was"}},
		"the address and no more": {func(u *api.UPFInstance) {
			u.Spec.External.N4 = api.ExternalN4Spec{Address: "203.0.113.8", NodeID: "203.0.113.7"}
		}, wants{}},
		"out of service":            {func(u *api.UPFInstance) { u.Spec.AdministrativeState = api.StateLocked }, wants{warning: "this takes UPFInstance edge out of service, which ends its PDU sessions"}},
		"pools without the Slice's": {func(u *api.UPFInstance) { u.Spec.External.Pools = []api.ExternalPool{{Range: "10.61.0.0/16"}} }, wants{refusal: "Slice first: pool 10.60.0.0/16 of DNN internet is none of UPFInstance edge, which has 10.61.0.0/16"}},
		"N3 in the Slice's pool":    {func(u *api.UPFInstance) { u.Spec.External.N3.Endpoints = []api.CIDR{"10.60.0.0/24"} }, wants{refusal: "Slice first: pool 10.60.0.0/16 of DNN internet overlaps spec.external.n3.endpoints 10.60.0.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			after := edge.DeepCopy()
			c.change(after)
			warnings, err := validatorOf(holding(t, own, edge, served), after).ValidateUpdate(t.Context(), edge, after)
			c.check(t, warnings, err)
		})
	}
	after := with(own.DeepCopy(), func(c *api.Core5G) { c.Spec.ControlPlane = api.ControlPlaneFree5GC })
	warnings, err := validatorOf(holding(t, own, edge), after).ValidateUpdate(t.Context(), own, after)
	if err != nil || !strings.Contains(strings.Join(warnings, "\n"), "UPFInstance edge: external needs core5g's own SMF") {
		t.Errorf("free5GC's SMF: %q, %v", warnings, err)
	}
}

// lan is a data network of Ethernet with a flow.
func lan(filters ...api.FlowFilter) api.DataNetwork {
	dn := api.DataNetwork{DNN: "lan", SessionTypes: []api.SessionType{api.SessionEthernet}}
	if len(filters) > 0 {
		dn.Flows = []api.QoSFlow{{Name: "goose", Filters: filters}}
	}
	return dn
}
