package specs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// makeNetworks is a UPFInstance of two units with IMS on a VLAN of the interface of n6, and a factory on an interface of its own.
func makeNetworks() *api.UPFInstance {
	upf := makeUnits(2, "172.30.6.16/28")
	upf.Spec.NetworkInstances = []api.NetworkInstance{
		{
			Name: "factory", Attachment: &api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "c5g-factory"}, MTU: ptr.To[int32](9000),
			Addresses: []api.InterfaceAddress{"172.30.6.2/24"}, UnitAddresses: []api.CIDR{"172.30.6.16/28"}, Gateways: []api.IPAddress{"172.30.6.1"},
		},
		{
			Name: "ims", VLAN: ptr.To[int32](200),
			Addresses:     []api.InterfaceAddress{"10.7.0.2/24", "fd00:7::2/64"},
			UnitAddresses: []api.CIDR{"10.7.0.0/28", "fd00:7::10/124"},
			Gateways:      []api.IPAddress{"10.7.0.1", "fe80::1"},
			Routes:        []api.Route{{Destination: "10.99.0.0/16", Via: "10.7.0.9"}, {Destination: "2001:db8:99::/48", Via: "fd00:7::9"}},
		},
	}
	return upf
}

// Two routers are a list in upf-u.yaml, one is what it always was; units beyond the first have no router's address.
func TestTwoGateways(t *testing.T) {
	upf := makeNetworks()
	upf.Spec.N3.Gateway, upf.Spec.N3.SecondGateway = ptr.To[api.IPAddress]("172.30.3.1"), ptr.To[api.IPAddress]("172.30.3.2")
	upf.Spec.N6.SecondGateway = ptr.To[api.IPAddress]("172.30.6.16")
	upf.Spec.NetworkInstances[1].Gateways = []api.IPAddress{"10.7.0.1", "fe80::1", "fe80::2", "10.7.0.3"}
	for unit, want := range []string{`
- {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: [172.30.6.1, 172.30.6.16], mtu: 1500}
- {network_instance: ims, vlan: 200, address: 10.7.0.2/24, gateway: [10.7.0.1, 10.7.0.3], address6: "fd00:7::2/64", gateway6: ["fe80::1", "fe80::2"], mtu: 1500}
- {network_instance: factory, driver: af_packet, device: n6-1, address: 172.30.6.2/24, gateway: 172.30.6.1, mtu: 9000}
`, `
- {driver: af_packet, device: n6, address: 172.30.6.17/24, gateway: [172.30.6.1, 172.30.6.16], mtu: 1500}
- {network_instance: ims, vlan: 200, address: 10.7.0.4/24, gateway: [10.7.0.1, 10.7.0.3], address6: "fd00:7::10/64", gateway6: ["fe80::1", "fe80::2"], mtu: 1500}
- {network_instance: factory, driver: af_packet, device: n6-1, address: 172.30.6.16/24, gateway: 172.30.6.1, mtu: 9000}
`} {
		var wanted any
		if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		written, err := yaml.Marshal(upfuConfigOf(upf, unit).Interfaces)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got["n6"]); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", unit, diff)
		}
		if diff := cmp.Diff([]any{"172.30.3.1", "172.30.3.2"}, got["n3"].(map[string]any)["gateway"]); diff != "" {
			t.Errorf("n3 of unit %d (-want +got):\n%s", unit, diff)
		}
	}
}

func TestNetworksOfN6(t *testing.T) {
	for unit, want := range []string{`
- {driver: af_packet, device: n6, address: 172.30.6.2/24, gateway: 172.30.6.1, mtu: 1500}
- {network_instance: ims, vlan: 200, address: 10.7.0.2/24, gateway: 10.7.0.1, address6: "fd00:7::2/64", gateway6: "fe80::1", mtu: 1500}
- {network_instance: factory, driver: af_packet, device: n6-1, address: 172.30.6.2/24, gateway: 172.30.6.1, mtu: 9000}
`, `
- {driver: af_packet, device: n6, address: 172.30.6.16/24, gateway: 172.30.6.1, mtu: 1500}
- {network_instance: ims, vlan: 200, address: 10.7.0.3/24, gateway: 10.7.0.1, address6: "fd00:7::10/64", gateway6: "fe80::1", mtu: 1500}
- {network_instance: factory, driver: af_packet, device: n6-1, address: 172.30.6.16/24, gateway: 172.30.6.1, mtu: 9000}
`} {
		var wanted, got any
		c := upfuConfigOf(makeNetworks(), unit)
		written, err := yaml.Marshal(c.Interfaces["n6"])
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(yaml.Unmarshal([]byte(want), &wanted), yaml.Unmarshal(written, &got)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", unit, diff)
		}
		routes := []upfuRoute{
			{Interface: "n6", Prefix: "192.0.2.0/24", Via: "172.30.6.3"},
			{Interface: "n6", NetworkInstance: "ims", Prefix: "10.99.0.0/16", Via: "10.7.0.9"},
			{Interface: "n6", NetworkInstance: "ims", Prefix: "2001:db8:99::/48", Via: "fd00:7::9"},
		}
		if diff := cmp.Diff(routes, c.Routes); diff != "" {
			t.Errorf("routes of unit %d (-want +got):\n%s", unit, diff)
		}
	}
	if got := UnitNetworks(makeNetworks(), 1); len(got) != 2 || got[1].Name != "ims" || !slices.Equal(got[1].Addresses, []string{"10.7.0.3/24", "fd00:7::10/64"}) {
		t.Errorf("what status says of unit 1: %v", got)
	}
}

// Virtual functions: the devices of one resource go to interfaces in the order that UPF-U takes them in.
func TestDevicesOfNetworkInstances(t *testing.T) {
	upf := makeNetworks()
	upf.Spec.Driver = api.DriverVFIO
	vf := api.AttachmentSpec{Type: api.AttachmentSRIOV, ResourceName: "core5g.dev/vf_socket{cell}"}
	upf.Spec.N3.Attachment, upf.Spec.N6.Attachment, upf.Spec.NetworkInstances[0].Attachment = vf, vf, &vf
	upf.Spec.NetworkInstances[0].VLAN = ptr.To[int32](7)
	in := upfuConfigOf(upf, 0).Interfaces["n6"].([]upfuInterface)
	if in[0].Resource != vf.ResourceName || in[1].Driver+in[1].Resource+in[1].Device != "" || in[2].Resource != vf.ResourceName || in[2].VLAN != 0 || in[2].Driver != "vfio" {
		t.Errorf("%+v: the VLAN has the device of n6, and the NIC tags the other's frames", in)
	}
	if got := UnitDemand(upf).Devices; !slices.Equal(got, []string{vf.ResourceName, vf.ResourceName, vf.ResourceName}) {
		t.Errorf("devices of a place: %v", got)
	}
	unit := UPFUnit(upf, nil, platform, 0, "10.96.1.3")
	devices := unit.Pod.Spec.Containers[0].Resources.Limits["core5g.dev/vf_socket{cell}"]
	if devices.Value() != 3 {
		t.Errorf("devices of the pod: %v", unit.Pod.Spec.Containers[0].Resources.Limits)
	}
	if got := unit.Pod.Annotations[annotationNetworks]; !strings.Contains(got, `"interface":"n6-1"`) || strings.Contains(got, "n6-2") {
		t.Errorf("attachments of the pod: %s", got)
	}
	if got := Attachments(makeNetworks()); len(got) != 3 || got[2].GetName() != "upf-n6-1" {
		t.Errorf("definitions: %v", got)
	}
	if got := InterfacesOfN6(upf); !slices.Equal(got, []string{"n6", "n6-1"}) {
		t.Errorf("interfaces of N6: %v", got)
	}
}

func TestNetworksProblem(t *testing.T) {
	for name, c := range map[string]struct {
		change func(ims *api.NetworkInstance, upf *api.UPFInstance)
		want   string
	}{
		"as they are":            {func(*api.NetworkInstance, *api.UPFInstance) {}, ""},
		"a name in another case": {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Name = "Factory" }, "networkInstances[Factory]: factory is the same name"},
		"the VLAN of n6":         {func(_ *api.NetworkInstance, u *api.UPFInstance) { u.Spec.N6.VLAN = ptr.To[int32](200) }, "vlan 200 is that of n6 on the same interface: write another, or an attachment of its own"},
		"another VLAN than n6":   {func(_ *api.NetworkInstance, u *api.UPFInstance) { u.Spec.N6.VLAN = ptr.To[int32](100) }, ""},
		"a NIC that tags": {func(_ *api.NetworkInstance, u *api.UPFInstance) {
			u.Spec.N6.VLAN, u.Spec.N6.Attachment.Type = ptr.To[int32](100), api.AttachmentSRIOV
		}, "the NIC tags all frames of n6"},
		"more than the interface":  {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.MTU = ptr.To[int32](9000) }, "mtu 9000 is more than n6.mtu 1500 of the interface that it shares"},
		"an address of N3":         {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Addresses[0] = "172.30.3.2/24" }, "address 172.30.3.2/24 is in the N3 subnet 172.30.3.0/24"},
		"an address without room":  {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Addresses[1] = "fd00:7::2/128" }, "address fd00:7::2/128 is none of an interface in a subnet"},
		"a gateway elsewhere":      {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Gateways[0] = "10.8.0.1" }, "gateway 10.8.0.1 is in no subnet of addresses"},
		"itself as gateway":        {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Gateways[0] = "10.7.0.2" }, "gateway 10.7.0.2 is the UPF's own address"},
		"a gateway without subnet": {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Addresses = n.Addresses[:1] }, "gateway fe80::1 is in no subnet of addresses"},
		"a route of two versions":  {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Routes[0].Via = "fd00:7::9" }, "write an address of the same IP version"},
		"a route elsewhere":        {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.Routes[0].Via = "10.8.0.9" }, "via 10.8.0.9, which is in no subnet of addresses"},
		"units elsewhere":          {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.UnitAddresses[0] = "10.8.0.0/28" }, "unitAddresses 10.8.0.0/28 is no part of a subnet of addresses"},
		"units beyond the subnet":  {func(n *api.NetworkInstance, _ *api.UPFInstance) { n.UnitAddresses[0] = "10.7.0.0/23" }, "unitAddresses 10.7.0.0/23 is no part of a subnet of addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			upf := makeNetworks()
			c.change(&upf.Spec.NetworkInstances[1], upf)
			got := NetworksProblem(upf)
			if (got == nil) != (c.want == "") || got != nil && (got.Reason != api.ReasonMalformed || !strings.Contains(got.Message, c.want)) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
	twice := makeNetworks()
	other := twice.Spec.NetworkInstances[1]
	other.Name = "other"
	twice.Spec.NetworkInstances = append(twice.Spec.NetworkInstances, other)
	if got := NetworksProblem(twice); got == nil || !strings.Contains(got.Message, "networkInstances[other]: vlan 200 is that of networkInstances[ims]") {
		t.Errorf("a VLAN twice: %v", got)
	}
	few := makeNetworks()
	few.Spec.NetworkInstances[1].UnitAddresses = few.Spec.NetworkInstances[1].UnitAddresses[:1]
	if got := UnitsProblem(few); got == nil || !strings.Contains(got.Message, "2 units need 1 addresses beside fd00:7::2/64 in network instance ims") {
		t.Errorf("units without addresses: %v", got)
	}
	second := makeNetworks()
	second.Name, second.CreationTimestamp.Time = "second", second.CreationTimestamp.Add(time.Hour)
	second.Spec.N3.Endpoints, second.Spec.N6.Attachment.Bridge = "172.30.3.64/28", "c5g-n6-b"
	if got := AddressProblem(second, []api.UPFInstance{*makeNetworks()}); got == nil || !strings.Contains(got.Message, "spec.networkInstances[factory].addresses 172.30.6.2/32 overlaps 172.30.6.2/32 of UPFInstance upf") {
		t.Errorf("one address in one network of two UPFInstances: %v", got)
	}
}

func TestNetworkInstanceOf(t *testing.T) {
	elsewhere, bridge := makeExternalUPF("edge"), makeNetworks()
	bridge.Spec.NetworkInstances = append(bridge.Spec.NetworkInstances, api.NetworkInstance{Name: "plant", Type: api.NetworkInstanceEthernet, VLAN: ptr.To[int32](7)})
	for name, c := range map[string]struct {
		dn         api.DataNetwork
		upf        *api.UPFInstance
		want, says string
	}{
		"by DNN":                {api.DataNetwork{DNN: "IMS"}, makeNetworks(), "ims", ""},
		"by name":               {api.DataNetwork{DNN: "voice", NetworkInstance: "IMS"}, makeNetworks(), "ims", ""},
		"neither":               {api.DataNetwork{DNN: "internet"}, makeNetworks(), "", ""},
		"a name before the DNN": {api.DataNetwork{DNN: "ims", NetworkInstance: "factory"}, makeNetworks(), "factory", ""},
		"an unknown name":       {api.DataNetwork{DNN: "internet", NetworkInstance: "office"}, makeNetworks(), "", "UPFInstance upf has no network instance office for DNN internet: write one of its own (factory, ims), or add it to spec.networkInstances there"},
		"where there are none":  {api.DataNetwork{DNN: "internet", NetworkInstance: "office"}, makeUPF(), "", "or leave networkInstance out, and the data network is reached through n6"},
		"elsewhere":             {api.DataNetwork{DNN: "internet", NetworkInstance: "office"}, elsewhere, "", "write the UPF's name for the data network in spec.external.networkInstances.core there"},
		"no UPF yet":            {api.DataNetwork{DNN: "internet", NetworkInstance: "office"}, nil, "", ""},
		"Ethernet":              {api.DataNetwork{DNN: "lan", NetworkInstance: "plant", SessionTypes: []api.SessionType{api.SessionEthernet}}, bridge, "plant", ""},
		"Ethernet in one of IP": {api.DataNetwork{DNN: "lan", NetworkInstance: "factory", SessionTypes: []api.SessionType{api.SessionEthernet}}, makeNetworks(), "factory", "network instance factory of UPFInstance upf is for IP: write type: Ethernet there"},
		"IP in one of Ethernet": {api.DataNetwork{DNN: "plant"}, bridge, "plant", "DNN plant is of IP, and network instance plant of UPFInstance upf is for Ethernet: write sessionTypes: [Ethernet]"},
		"Ethernet in n6":        {api.DataNetwork{DNN: "lan", SessionTypes: []api.SessionType{api.SessionEthernet}}, makeNetworks(), "", "UPFInstance upf has no network instance lan for DNN lan, and n6 is for IP: add it to spec.networkInstances there"},
		"Ethernet elsewhere":    {api.DataNetwork{DNN: "lan", SessionTypes: []api.SessionType{api.SessionEthernet}}, elsewhere, "", ""},
	} {
		got, problem := NetworkInstanceOf(&c.dn, c.upf)
		if got != c.want || (problem == nil) != (c.says == "") || problem != nil && !strings.Contains(problem.Message, c.says) {
			t.Errorf("%s: got %q, %v; want %q, %q", name, got, problem, c.want, c.says)
		}
	}
}

func TestPoolsByNetworkInstance(t *testing.T) {
	upf := makeNetworks()
	plain := makeUPF()
	plain.Name = "plain"
	upfs := []api.UPFInstance{*upf, *plain}
	older := makeSlice("older", "000001", "10.45.0.0/16")
	for name, c := range map[string]struct {
		change func(older, s *api.Slice)
		want   string
	}{
		"one network":      {func(_, s *api.Slice) {}, "pool 10.45.0.0/16 of DNN internet overlaps pool 10.45.0.0/16 of Slice older"},
		"another, by DNN":  {func(_, s *api.Slice) { s.Spec.DataNetworks[0].DNN = "ims" }, ""},
		"another, by name": {func(_, s *api.Slice) { s.Spec.DataNetworks[0].NetworkInstance = "factory" }, ""},
		"the same, by name": {func(o, s *api.Slice) {
			o.Spec.DataNetworks[0].NetworkInstance, s.Spec.DataNetworks[0].DNN = "ims", "IMS"
		}, "of Slice older"},
		"the same at two UPFs": {func(o, s *api.Slice) {
			o.Spec.UPFSelector = &api.UPFSelector{Name: "plain"}
		}, "of Slice older"},
		"two UPFs, one with a name": {func(o, s *api.Slice) {
			o.Spec.UPFSelector = &api.UPFSelector{Name: "plain"}
			s.Spec.DataNetworks[0].NetworkInstance = "ims"
		}, ""},
		"a UPF that nobody knows": {func(o, s *api.Slice) {
			o.Spec.UPFSelector = &api.UPFSelector{Name: "gone"}
			s.Spec.DataNetworks[0].NetworkInstance = "ims"
		}, "of Slice older"},
		"static ones": {func(o, s *api.Slice) {
			o.Spec.DataNetworks[0].UEPools[0], o.Spec.DataNetworks[0].StaticPools = "10.99.0.0/16", []api.CIDR{"10.45.0.0/16"}
			s.Spec.DataNetworks[0].DNN = "ims"
		}, ""},
		"two data networks of a Slice": {func(o, s *api.Slice) {
			o.Spec.DataNetworks[0].UEPools[0] = "10.99.0.0/16"
			s.Spec.DataNetworks = append(s.Spec.DataNetworks, api.DataNetwork{DNN: "ims", UEPools: s.Spec.DataNetworks[0].UEPools})
		}, ""},
		"two in one": {func(o, s *api.Slice) {
			o.Spec.DataNetworks[0].UEPools[0] = "10.99.0.0/16"
			s.Spec.DataNetworks = append(s.Spec.DataNetworks, api.DataNetwork{DNN: "office", UEPools: s.Spec.DataNetworks[0].UEPools})
		}, "of the same Slice"},
		"its network's subnet": {func(_, s *api.Slice) {
			s.Spec.DataNetworks[0].DNN, s.Spec.DataNetworks[0].UEPools[0] = "ims", "10.7.0.0/24"
		}, "overlaps the subnet of network instance ims, 10.7.0.0/24 of UPFInstance upf"},
		"another network's subnet": {func(_, s *api.Slice) { s.Spec.DataNetworks[0].UEPools[0] = "10.7.0.0/24" }, ""},
		"the N3 subnet": {func(_, s *api.Slice) {
			s.Spec.DataNetworks[0].DNN, s.Spec.DataNetworks[0].UEPools[0] = "ims", "172.30.3.0/24"
		}, "the N3 subnet"},
		"an unknown name": {func(_, s *api.Slice) { s.Spec.DataNetworks[0].NetworkInstance = "office" }, "UPFInstance upf has no network instance office"},
		"an unknown name at a further UPF": {func(_, s *api.Slice) {
			s.Spec.DataNetworks[0].NetworkInstance = "ims"
			s.Spec.DataNetworks[0].UPFs = []api.DataNetworkUPF{{Name: "plain", UEPools: []api.CIDR{"10.46.0.0/16"}}}
		}, "UPFInstance plain has no network instance ims"},
		"an unknown name at a breakout": {func(_, s *api.Slice) {
			s.Spec.DataNetworks[0].NetworkInstance = "ims"
			s.Spec.DataNetworks[0].Breakouts = []api.Breakout{{Name: "near", UPFInstance: "plain"}}
		}, "UPFInstance plain has no network instance ims"},
	} {
		t.Run(name, func(t *testing.T) {
			o, s := older.DeepCopy(), makeSlice("young", "000002", "10.45.0.0/16")
			s.CreationTimestamp.Time = o.CreationTimestamp.Add(time.Hour)
			c.change(o, s)
			got := CheckPools(s, []api.Slice{*o}, upf, upfs)
			if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Message, c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}

// A static address may be one of another network instance's pool: what is routed to the data network says so.
func TestStaticAddressesByNetworkInstance(t *testing.T) {
	s := makeSlice("internet", "010203", "10.45.0.0/16")
	s.Spec.DataNetworks = append(s.Spec.DataNetworks, api.DataNetwork{DNN: "ims", UEPools: []api.CIDR{"10.46.0.0/16"}, StaticPools: []api.CIDR{"10.45.7.0/24"}})
	of := func(dnn api.DNN) *Problem {
		subscribed := api.SubscribedSlice{Name: "internet", Addresses: []api.StaticAddress{{DNN: dnn, IPv4: "10.45.7.9"}}}
		return StaticAddressProblem(&api.Subscriber{}, subscribed, s, nil)
	}
	if got := of("ims"); got != nil {
		t.Errorf("refused: %v", got)
	}
	if got := of("internet"); got == nil || got.Reason != api.ReasonPoolOverlap {
		t.Errorf("an address of the own pool: %v", got)
	}
	s.Spec.DataNetworks = append(s.Spec.DataNetworks, api.DataNetwork{DNN: "lan", SessionTypes: []api.SessionType{api.SessionEthernet}})
	if got := of("lan"); got == nil || !strings.Contains(got.Message, "DNN lan of Slice internet is of Ethernet, where the core gives no IP addresses: take it out of addresses") {
		t.Errorf("an address of Ethernet: %v", got)
	}
}

// What a unit is made from, and is to be restarted for, is what it was where nothing of this is used.
func TestNetworkInstancesAreAnUpdate(t *testing.T) {
	of := func(change func(*api.UPFInstance)) string {
		upf := makeNetworks()
		change(upf)
		return UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3").SpecHash
	}
	base := of(func(*api.UPFInstance) {})
	for name, c := range map[string]struct {
		change func(*api.UPFInstance)
		want   bool
	}{
		"a route":                    {func(u *api.UPFInstance) { u.Spec.NetworkInstances[1].Routes = nil }, true},
		"an address":                 {func(u *api.UPFInstance) { u.Spec.NetworkInstances[1].Addresses[0] = "10.7.0.4/24" }, true},
		"one away":                   {func(u *api.UPFInstance) { u.Spec.NetworkInstances = u.Spec.NetworkInstances[:1] }, true},
		"addresses of further units": {func(u *api.UPFInstance) { u.Spec.NetworkInstances[1].UnitAddresses[0] = "10.7.0.128/25" }, false},
	} {
		if changed := of(c.change) != base; changed != c.want {
			t.Errorf("%s: specification changed: %v, want %v", name, changed, c.want)
		}
	}
}

// A bridge has nothing of IP, and as many units as there are.
func TestBridgesOfN6(t *testing.T) {
	upf := makeUnits(2, "172.30.6.16/28")
	upf.Spec.NetworkInstances = []api.NetworkInstance{
		{Name: "plant", Type: api.NetworkInstanceEthernet, Attachment: &api.AttachmentSpec{Type: api.AttachmentBridge, Bridge: "c5g-plant"}},
		{Name: "office", Type: api.NetworkInstanceEthernet, VLAN: ptr.To[int32](200)},
	}
	if problem := NetworksProblem(upf); problem != nil {
		t.Errorf("refused: %s", problem.Message)
	}
	if n, problem := UnitLimit(upf); n != 2 || problem != "" {
		t.Errorf("%d units (%s), want 2", n, problem)
	}
	var wanted any
	if err := yaml.Unmarshal([]byte(`
- {network_instance: office, vlan: 200, mtu: 1500, ethernet: {}}
- {network_instance: plant, driver: af_packet, device: n6-1, mtu: 1500, ethernet: {}}
`), &wanted); err != nil {
		t.Fatal(err)
	}
	for unit := range 2 {
		written, err := yaml.Marshal(upfuConfigOf(upf, unit).Interfaces)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := yaml.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		n6, _ := got["n6"].([]any)
		if diff := cmp.Diff(wanted, any(n6[1:])); diff != "" {
			t.Errorf("unit %d (-want +got):\n%s", unit, diff)
		}
		if networks := UnitNetworks(upf, unit); len(networks) != 2 || networks[0].Addresses == nil || len(networks[0].Addresses) != 0 {
			t.Errorf("unit %d is in %+v, want two networks with an empty list of addresses", unit, networks)
		}
	}
}
