package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/operators/api/v1alpha1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

var comparing = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})

// read an object as kubectl would, made a minute after the one before.
var minute = time.Unix(1_700_000_000, 0)

func read[T any](t *testing.T, manifest string) T {
	t.Helper()
	var o T
	if err := yaml.UnmarshalStrict([]byte(manifest), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const core = `
metadata: {namespace: ns, name: core5g}
spec: {plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001", "00000a"], controlPlane: Core5G, sessionManagement: {shards: 8}}
`

func upf(t *testing.T, name, endpoints string, addresses ...string) v1alpha1.UPFInstance {
	u := read[v1alpha1.UPFInstance](t, fmt.Sprintf(`
metadata: {namespace: ns, name: %s}
spec:
  units: %d
  n3: {endpoints: %s, subnet: 172.30.3.0/24}
  n6: {address: 172.30.6.2/24, gateway: 172.30.6.1, unitAddresses: 172.30.6.16/28}
`, name, max(len(addresses), 1), endpoints))
	for i, a := range addresses {
		u.Status.UnitStatuses = append(u.Status.UnitStatuses, v1alpha1.UnitStatus{Name: fmt.Sprintf("%s-%d", name, i), N4Address: a})
	}
	return u
}

func slice(t *testing.T, minutes int, name, sd, network string) v1alpha1.Slice {
	s := read[v1alpha1.Slice](t, fmt.Sprintf("metadata: {namespace: ns, name: %s}\nspec:\n  snssai: {sst: 1, sd: %q}\n  dataNetworks: [{%s}]\n", name, sd, network))
	s.CreationTimestamp = metav1.NewTime(minute.Add(time.Duration(minutes) * time.Minute))
	return s
}

func objects(t *testing.T) Objects {
	c := read[v1alpha1.Core5G](t, core)
	return Objects{
		Core:         &c,
		Slices:       []v1alpha1.Slice{slice(t, 1, "internet", "010203", "dnn: internet, uePools: [10.45.0.0/16]"), slice(t, 2, "iot", "112233", "dnn: internet, uePools: [10.46.0.0/16]")},
		UPFInstances: []v1alpha1.UPFInstance{upf(t, "upf", "172.30.3.16/28", "10.96.1.3")},
	}
}

// Everything that a Slice can say.
func TestBuild(t *testing.T) {
	full := read[v1alpha1.Slice](t, `
metadata: {namespace: ns, name: full}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks:
  - dnn: Internet
    uePools: [10.45.0.0/16, "2001:db8:45::/48"]
    sessionTypes: [IPv4v6, IPv4]
    staticPools: [10.47.0.0/16]
    dns: [1.1.1.1, "2606:4700::1111"]
    pcscf: [192.0.2.5]
    ambr: {uplink: 100 Mbps, downlink: 1500 Mbps}
    fiveQI: 8
    arp: {priorityLevel: 3, preemptionCapability: MayPreempt, preemptionVulnerability: Preemptable}
    mtu: 1450
    alwaysOn: Requested
    policy: PCF
    charging: Offline
    flows:
    - {name: voice, fiveQI: 1, arp: {priorityLevel: 2}, precedence: 10, gbr: {uplink: 64 Kbps, downlink: 65 Kbps}, given: ToSubscribers,
       filters: [{direction: Downlink, remote: 192.0.2.0/24, protocol: UDP, remotePorts: 5060-5061, localPorts: 80}, {protocol: 50}]}
    breakouts: [{name: near, prefixes: [203.0.113.0/24], upfInstance: edge, tacs: ["00000a"]}]
    upfs: [{name: edge, uePools: [10.48.0.0/16], staticPools: [10.49.0.0/16], tacs: ["00000A"]}]
`)
	c := read[v1alpha1.Core5G](t, core)
	edge := upf(t, "edge", "172.30.3.64/28", "10.96.1.9")
	edge.Spec.Drain = &v1alpha1.DrainSpec{Timeout: metav1.Duration{Duration: 7 * time.Second}}
	edge.Status.UnitStatuses[0].Drain = &v1alpha1.UnitDrain{Cause: "test"}
	got, refusals := Build(Objects{
		Core: &c, Slices: []v1alpha1.Slice{full}, UPFInstances: []v1alpha1.UPFInstance{upf(t, "upf", "172.30.3.16/28", "10.96.1.3", "10.96.1.4"), edge},
	}, &Good{})
	if len(refusals) != 0 {
		t.Fatalf("refused: %v", refusals)
	}
	prefix := netip.MustParsePrefix
	sd := &[3]byte{1, 2, 3}
	want := []*configuration.Slice{{Name: "full", SST: 1, SD: sd, DataNetworks: []configuration.DataNetwork{{
		Slice: "full", SST: 1, SD: sd, DNN: "Internet", Types: []n1.SessionType{n1.IPv4v6, n1.IPv4},
		AMBR: record.AMBR{Uplink: 100e6, Downlink: 1500e6}, FiveQI: 8, ARP: configuration.ARP{Priority: 3, MayPreempt: true, Preemptable: true},
		DNS: []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("2606:4700::1111")}, PCSCF: []netip.Addr{netip.MustParseAddr("192.0.2.5")},
		MTU: 1450, Access: "access", Core: "full/internet", AlwaysOn: configuration.AlwaysOnRequested, Policy: true, Charging: configuration.ChargingOffline,
		Flows: []configuration.Flow{{
			Name: "voice", FiveQI: 1, ARP: configuration.ARP{Priority: 2}, Precedence: 10, OnRequest: true,
			GBR: record.AMBR{Uplink: 64e3, Downlink: 65e3}, MBR: record.AMBR{Uplink: 64e3, Downlink: 65e3},
			Filters: []n1.Filter{
				{ID: 0, Direction: n1.Downlink, Remote: prefix("192.0.2.0/24"), Protocol: 17, RemotePorts: n1.PortRange{First: 5060, Last: 5061}, LocalPorts: n1.PortRange{First: 80, Last: 80}},
				{ID: 1, Direction: n1.Bidirectional, Protocol: 50},
			},
		}},
		Breakouts: []configuration.Breakout{{Name: "near", Prefixes: []netip.Prefix{prefix("203.0.113.0/24")}, UPFInstance: "edge", Units: []string{"10.96.1.9"}, TACs: []uint32{10}}},
		Units: []configuration.Serving{
			{NodeID: "10.96.1.3", Pools: []netip.Prefix{prefix("10.45.0.0/17"), prefix("2001:db8:45::/49")}, Static: []netip.Prefix{prefix("10.47.0.0/17")}},
			{NodeID: "10.96.1.4", Pools: []netip.Prefix{prefix("10.45.128.0/17"), prefix("2001:db8:45:8000::/49")}, Static: []netip.Prefix{prefix("10.47.128.0/17")}},
			{NodeID: "10.96.1.9", Pools: []netip.Prefix{prefix("10.48.0.0/16")}, Static: []netip.Prefix{prefix("10.49.0.0/16")}, TACs: []uint32{10}},
		},
	}}}}
	if diff := cmp.Diff(want, got.Slices(), comparing); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	at := netip.MustParseAddrPort
	wantUnits := []*configuration.Unit{
		{NodeID: "10.96.1.3", Address: at("10.96.1.3:8805"), N3: []netip.Prefix{prefix("172.30.3.16/29")}, UPFInstance: "upf", Name: "upf-0", Drain: 300 * time.Second},
		{NodeID: "10.96.1.4", Address: at("10.96.1.4:8805"), N3: []netip.Prefix{prefix("172.30.3.24/29")}, UPFInstance: "upf", Name: "upf-1", Drain: 300 * time.Second},
		{NodeID: "10.96.1.9", Address: at("10.96.1.9:8805"), N3: []netip.Prefix{prefix("172.30.3.64/28")}, UPFInstance: "edge", Name: "edge-0", State: configuration.Draining, Drain: 7 * time.Second},
	}
	if diff := cmp.Diff(wantUnits, got.Units(), comparing); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	wantCore := configuration.Core{Name: "core5g", PLMNs: []configuration.PLMN{{MCC: "208", MNC: "93"}}, TACs: []uint32{1, 10}, Shards: 8}
	if diff := cmp.Diff(wantCore, got.Core()); diff != "" {
		t.Errorf("core (-want +got):\n%s", diff)
	}
}

// An object that no API server has filled in is what the definition makes of it.
func TestBuildFillsIn(t *testing.T) {
	s, refusals := Build(objects(t), &Good{})
	if len(refusals) != 0 {
		t.Fatalf("refused: %v", refusals)
	}
	dn := s.Named("internet", "internet")
	if dn.FiveQI != 9 || dn.ARP != (configuration.ARP{Priority: 8}) || dn.MTU != 1400 || dn.AMBR != (record.AMBR{Uplink: 1e9, Downlink: 2e9}) ||
		!slices.Equal(dn.Types, []n1.SessionType{n1.IPv4}) || dn.Policy || dn.Charging != configuration.ChargingNone || dn.AlwaysOn != configuration.AlwaysOnNever {
		t.Errorf("%+v", dn)
	}
}

const elsewhere = `
metadata: {namespace: ns, name: edge}
spec:
  external:
    n4: {address: 203.0.113.7, port: 8806, nodeID: UPF.edge.example.org, sources: [198.51.100.0/24]}
    n3: {endpoints: [203.0.113.16/28, "2001:db8:3::/64"]}
    networkInstances: {access: n3, core: [{slice: internet, dnn: Internet, name: n6}]}
    pools: [{range: 10.60.0.0/16, name: a}, {range: 10.61.0.0/16}]
  drain: {timeout: 9s}
`

// A UPF that runs elsewhere is a unit by its specification, whether the operator has said anything of it or not.
func TestBuildOfAUPFElsewhere(t *testing.T) {
	o := objects(t)
	o.UPFInstances = append(o.UPFInstances, read[v1alpha1.UPFInstance](t, elsewhere))
	o.Slices[0].Spec.UPFSelector = &v1alpha1.UPFSelector{Name: "edge"}
	o.Slices[0].Spec.DataNetworks[0].UEPools = []v1alpha1.CIDR{"10.60.0.0/16"}
	o.Slices[1].Spec.DataNetworks[0].UPFs = []v1alpha1.DataNetworkUPF{{Name: "edge", UEPools: []v1alpha1.CIDR{"10.61.0.0/16"}, TACs: []v1alpha1.TAC{"000007"}}}
	o.Slices[1].Spec.DataNetworks[0].Breakouts = []v1alpha1.Breakout{{Name: "near", Prefixes: []v1alpha1.CIDR{"192.0.2.0/24"}, UPFInstance: "edge"}}
	s, refusals := Build(o, &Good{})
	if len(refusals) != 0 {
		t.Fatalf("refused: %v", refusals)
	}
	prefix := netip.MustParsePrefix
	const node = "upf.edge.example.org"
	want := &configuration.Unit{
		NodeID: node, Address: netip.MustParseAddrPort("203.0.113.7:8806"), N3: []netip.Prefix{prefix("203.0.113.16/28"), prefix("2001:db8:3::/64")},
		UPFInstance: "edge", Name: "edge-0", Outside: true, Drain: 9 * time.Second, Sources: []netip.Prefix{prefix("198.51.100.0/24")},
		Access: "n3", Core: map[string]string{"internet/internet": "n6"}, Pools: map[netip.Prefix]string{prefix("10.60.0.0/16"): "a", prefix("10.61.0.0/16"): ""},
	}
	if diff := cmp.Diff(want, s.Unit(node), comparing); diff != "" {
		t.Errorf("unit (-want +got):\n%s", diff)
	}
	internet, iot := s.Named("internet", "internet"), s.Named("iot", "internet")
	if diff := cmp.Diff([]configuration.Serving{{NodeID: node, Pools: []netip.Prefix{prefix("10.60.0.0/16")}}}, internet.Units, comparing); diff != "" {
		t.Errorf("units of the first Slice (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(configuration.Serving{NodeID: node, Pools: []netip.Prefix{prefix("10.61.0.0/16")}, TACs: []uint32{7}}, iot.Units[1], comparing); diff != "" {
		t.Errorf("further unit of the second Slice (-want +got):\n%s", diff)
	}
	if len(iot.OwnAreas) != 0 {
		t.Errorf("areas where no other unit serves: %v", iot.OwnAreas)
	}
	o.Slices[1].Spec.DataNetworks[0].UPFs[0].Fallback = v1alpha1.UPFFallbackNone
	digest := s.Digest("iot")
	if s, refusals = Build(o, &Good{}); len(refusals) != 0 || !slices.Equal(s.Named("iot", "internet").OwnAreas, []uint32{7}) || s.Digest("iot") == digest {
		t.Errorf("refused %v, areas of its own %v, want 7, and sessions that hear of it", refusals, s.Named("iot", "internet").OwnAreas)
	}
	if !slices.Equal(iot.Breakouts[0].Units, []string{node}) {
		t.Errorf("units of the breakout: %v", iot.Breakouts[0].Units)
	}
	if names := internet.Settings().Units[node]; names.Access != "n3" || names.Core != "n6" || names.Pools[prefix("10.60.0.0/16")] != "a" {
		t.Errorf("its names in the first Slice: %+v", names)
	}
	if names := iot.Settings().Units[node]; names.Access != "n3" || names.Core != "" {
		t.Errorf("its names in the second Slice: %+v", names)
	}

	o.Slices[0].Spec.DataNetworks[0].UEPools[0] = "10.62.0.0/16"
	if _, refusals = Build(o, &Good{}); len(refusals) != 1 || !strings.Contains(refusals[0].Error(), "pool 10.62.0.0/16 of DNN internet is none of UPFInstance edge") {
		t.Errorf("a pool that it has not: %v", refusals)
	}
	o.UPFInstances[1].Status.UnitStatuses = []v1alpha1.UnitStatus{{Name: "edge-0", N4Address: "203.0.113.7", Drain: &v1alpha1.UnitDrain{}}}
	if s, _ = Build(o, &Good{}); s.Unit(node).State != configuration.Draining {
		t.Errorf("it drains: %s", s.Unit(node).State)
	}
	o.UPFInstances[1].Spec.External.N4.Address = "here"
	if _, refusals = Build(o, &Good{}); len(refusals) == 0 || !strings.Contains(fmt.Sprint(refusals), `spec.external.n4.address "here": write an IP address`) {
		t.Errorf("an address that is none: %v", refusals)
	}
}

// A data network of Ethernet has the network instance of each unit, filters of frames, and no pools.
func TestBuildOfEthernet(t *testing.T) {
	o := objects(t)
	vlan := int32(200)
	o.UPFInstances[0].Spec.NetworkInstances = []v1alpha1.NetworkInstance{{Name: "plant", Type: v1alpha1.NetworkInstanceEthernet, VLAN: &vlan}}
	o.Slices[0].Spec.DataNetworks[0] = read[v1alpha1.DataNetwork](t, `
dnn: lan
sessionTypes: [Ethernet]
networkInstance: plant
mtu: 1500
flows: [{name: goose, fiveQI: 69, precedence: 9, filters: [{ethernet: {remoteMAC: "01:0C:CD:01:00:01", localMAC: "02:00:00:00:00:01", vlan: 7, serviceVLAN: 8, etherType: "0x88b8"}}]}]
`)
	s, refusals := Build(o, &Good{})
	if len(refusals) != 0 {
		t.Fatalf("refused: %v", refusals)
	}
	lan := s.Named(o.Slices[0].Name, "lan")
	frame := n1.Frame{Remote: n1.MAC{1, 0x0c, 0xcd, 1, 0, 1}, Local: n1.MAC{2, 0, 0, 0, 0, 1}, CVLAN: 7, SVLAN: 8, EtherType: 0x88b8}
	if !lan.Ethernet() || lan.Flows[0].Filters[0].Frame != frame || lan.Configuration().EthernetMTU != 1500 || lan.Configuration().MTU != 0 {
		t.Errorf("%+v", lan)
	}
	if at := lan.Units[0].NodeID; lan.Settings().Units[at].Core != "plant" {
		t.Errorf("the network instance at %s: %+v", at, lan.Settings().Units[at])
	}
	o.Slices[0].Spec.DataNetworks[0].Flows[0].Filters[0].Ethernet.VLAN = 4095
	if _, refusals = Build(o, &Good{}); len(refusals) != 1 || !strings.Contains(refusals[0].Error(), "flow goose: filter 0: ethernet: vlan 4095: write 1 to 4094") {
		t.Errorf("a VLAN that is none: %v", refusals)
	}
}

// Two Slices have one pool in two network instances, which each unit is told by its UPFInstance's names.
func TestBuildOfNetworkInstances(t *testing.T) {
	o := objects(t)
	vlan := int32(200)
	o.UPFInstances[0].Spec.NetworkInstances = []v1alpha1.NetworkInstance{{Name: "ims", VLAN: &vlan, Addresses: []v1alpha1.InterfaceAddress{"10.7.0.2/24"}}}
	edge := upf(t, "edge", "172.30.3.64/28", "10.96.1.9")
	near := upf(t, "near", "172.30.3.96/28", "10.96.1.10")
	near.Spec.NetworkInstances = o.UPFInstances[0].Spec.NetworkInstances
	o.UPFInstances = append(o.UPFInstances, edge, near)
	o.Slices[1] = slice(t, 2, "iot", "112233", `dnn: IMS, uePools: [10.45.0.0/16], upfs: [{name: edge, uePools: [10.46.0.0/16]}], breakouts: [{name: a, prefixes: [192.0.2.0/24], upfInstance: near}]`)
	s, refusals := Build(o, &Good{})
	if len(refusals) != 0 {
		t.Fatalf("refused: %v", refusals)
	}
	internet, ims := s.Named("internet", "internet"), s.Named("iot", "ims")
	names := ims.Settings().Units
	if got := names["10.96.1.3"].Core; got != "ims" {
		t.Errorf("by DNN: network instance %q", got)
	}
	if got := names["10.96.1.10"].Core; got != "ims" {
		t.Errorf("at the breakout: network instance %q", got)
	}
	if got := names["10.96.1.9"].Core; got != "" {
		t.Errorf("at a UPFInstance that has none: network instance %q", got)
	}
	if got := internet.Settings().Units["10.96.1.3"].Core; got != "" || internet.Core != "internet/internet" {
		t.Errorf("of n6: network instance %q, else %q", got, internet.Core)
	}
	// One pool twice in one network instance is refused, as ever.
	for name, network := range map[string]string{
		"both on n6":  "dnn: internet, uePools: [10.45.0.0/16]",
		"one at edge": "dnn: ims, uePools: [10.47.0.0/16], upfs: [{name: edge, uePools: [10.45.0.0/16]}]",
	} {
		o.Slices[1] = slice(t, 2, "iot", "112233", network)
		if _, refusals := Build(o, &Good{}); len(refusals) != 1 || !strings.Contains(refusals[0].Error(), "overlaps 10.45.0.0/16 of unit") {
			t.Errorf("%s: %v", name, refusals)
		}
	}
	o.Slices[1] = slice(t, 2, "iot", "112233", "dnn: voice, networkInstance: office, uePools: [10.45.0.0/16]")
	if _, refusals := Build(o, &Good{}); len(refusals) != 1 || !strings.Contains(refusals[0].Error(), "UPFInstance upf has no network instance office for DNN voice") {
		t.Errorf("an unknown name: %v", refusals)
	}
}

func TestStateOf(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		change func(*v1alpha1.UPFInstance)
		want   configuration.State
	}{
		"as it was made":  {func(*v1alpha1.UPFInstance) {}, configuration.InService},
		"locked":          {func(u *v1alpha1.UPFInstance) { u.Spec.AdministrativeState = v1alpha1.StateLocked }, configuration.Locked},
		"shutting down":   {func(u *v1alpha1.UPFInstance) { u.Spec.AdministrativeState = v1alpha1.StateShuttingDown }, configuration.Draining},
		"the unit drains": {func(u *v1alpha1.UPFInstance) { u.Status.UnitStatuses[0].Drain = &v1alpha1.UnitDrain{} }, configuration.Draining},
		"it has drained":  {func(u *v1alpha1.UPFInstance) { u.Status.UnitStatuses[0].Drain = &v1alpha1.UnitDrain{ReleasedAt: &now} }, configuration.Locked},
		"it is deleted":   {func(u *v1alpha1.UPFInstance) { u.DeletionTimestamp = &now }, configuration.Draining},
		"deleted, and away": {func(u *v1alpha1.UPFInstance) {
			u.DeletionTimestamp, u.Spec.AdministrativeState = &now, v1alpha1.StateLocked
		}, configuration.Locked},
	} {
		u := upf(t, "upf", "172.30.3.16/28", "10.96.1.3")
		c.change(&u)
		if got := stateOf(&u, u.Status.UnitStatuses[0]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What cannot be used is named, and touches nothing else; what was last good of it stays.
func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, o *Objects)
		kind   string // of the refusal, "" for none
		words  string
		// earlier: what was good before is in force.
		earlier bool
		// wantPools that the two Slices have afterwards, "" for a Slice that is not there; MTU tells which version it is.
		internet, iot string
	}{
		"nothing":              {func(*testing.T, *Objects) {}, "", "", false, "10.45.0.0/16", "10.46.0.0/16"},
		"a change":             {func(_ *testing.T, o *Objects) { o.Slices[1].Spec.DataNetworks[0].UEPools[0] = "10.48.0.0/16" }, "", "", false, "10.45.0.0/16", "10.48.0.0/16"},
		"a deletion":           {func(_ *testing.T, o *Objects) { o.Slices = o.Slices[1:] }, "", "", false, "", "10.46.0.0/16"},
		"a deletion has begun": {func(_ *testing.T, o *Objects) { now := metav1.Now(); o.Slices[0].DeletionTimestamp = &now }, "", "", false, "", "10.46.0.0/16"},
		"the older one's pool": {func(_ *testing.T, o *Objects) { o.Slices[1].Spec.DataNetworks[0].UEPools[0] = "10.45.8.0/24" },
			"Slice iot", "10.45.8.0/24 of unit 10.96.1.3 in data network iot/internet overlaps 10.45.0.0/16 of unit 10.96.1.3 in data network internet/internet", true, "10.45.0.0/16", "10.46.0.0/16"},
		"the older one's S-NSSAI": {func(_ *testing.T, o *Objects) { o.Slices[1].Spec.SNSSAI.SD = "010203" }, "Slice iot", `both have the S-NSSAI 1-010203`, true, "10.45.0.0/16", "10.46.0.0/16"},
		"a rate that is none":     {func(_ *testing.T, o *Objects) { o.Slices[0].Spec.DataNetworks[0].AMBR.Uplink = "fast" }, "Slice internet", `data network internet: ambr.uplink: "fast" is no bit rate`, true, "10.45.0.0/16", "10.46.0.0/16"},
		"a new one that is wrong": {func(t *testing.T, o *Objects) {
			o.Slices = append(o.Slices, slice(t, 3, "new", "999999", "dnn: x, uePools: [nothing]"))
		},
			"Slice new", `pool "nothing"`, false, "10.45.0.0/16", "10.46.0.0/16"},
		"no UPF": {func(_ *testing.T, o *Objects) { o.Slices[0].Spec.UPFSelector = &v1alpha1.UPFSelector{Name: "nothing"} },
			"Slice internet", "UPFInstance nothing does not exist", true, "10.45.0.0/16", "10.46.0.0/16"},
		"a further UPF that there is not": {func(_ *testing.T, o *Objects) {
			o.Slices[0].Spec.DataNetworks[0].UPFs = []v1alpha1.DataNetworkUPF{{Name: "nothing", UEPools: []v1alpha1.CIDR{"10.61.0.0/16"}}}
			o.Slices[0].Spec.DataNetworks[0].Breakouts = []v1alpha1.Breakout{{Name: "near", Prefixes: []v1alpha1.CIDR{"192.0.2.0/24"}, UPFInstance: "nothing"}}
		}, "", "", false, "10.45.0.0/16", "10.46.0.0/16"}, // the others serve
		"a UPF that cannot be": {func(_ *testing.T, o *Objects) { o.UPFInstances[0].Spec.N3.Endpoints = "here" },
			"UPFInstance upf", `spec.n3.endpoints "here"`, true, "10.45.0.0/16", "10.46.0.0/16"},
		"a core that cannot be": {func(_ *testing.T, o *Objects) { o.Core.Spec.TACs[0] = "x" }, "Core5G core5g", `spec.tacs: tac "x"`, true, "10.45.0.0/16", "10.46.0.0/16"},
		"no core":               {func(_ *testing.T, o *Objects) { o.Core = nil }, "Core5G core5g", "it does not exist", true, "10.45.0.0/16", "10.46.0.0/16"},
	} {
		t.Run(name, func(t *testing.T) {
			good := Good{}
			if _, refusals := Build(objects(t), &good); len(refusals) != 0 {
				t.Fatalf("before: %v", refusals)
			}
			o := objects(t)
			c.change(t, &o)
			s, refusals := Build(o, &good)
			if again, _ := Build(o, &good); !again.Equal(s) {
				t.Error("a second look makes another Snapshot")
			}
			if c.kind == "" && len(refusals) != 0 {
				t.Fatalf("refused: %v", refusals)
			}
			if c.kind != "" && (len(refusals) != 1 || !strings.HasPrefix(refusals[0].Error(), c.kind+": ") || !strings.Contains(refusals[0].Error(), c.words) || refusals[0].Earlier != c.earlier) {
				t.Fatalf("refused: %v, want one of %s with %q, earlier %v", refusals, c.kind, c.words, c.earlier)
			}
			for slice, want := range map[string]string{"internet": c.internet, "iot": c.iot} {
				got := ""
				if dn := s.Named(slice, "internet"); dn != nil {
					got = dn.Units[0].Pools[0].String()
				}
				if got != want {
					t.Errorf("Slice %s has the pool %q, want %q", slice, got, want)
				}
			}
			if s.Core().Shards != 8 || s.Unit("10.96.1.3") == nil {
				t.Errorf("core %+v, units %v", s.Core(), s.Units())
			}
		})
	}
}

// Whatever objects there are, there is a Snapshot, and it is one that can be asked.
func FuzzBuild(f *testing.F) {
	f.Add(`{"snssai": {"sst": 1}, "dataNetworks": [{"dnn": "internet", "uePools": ["10.45.0.0/16"], "flows": [{"name": "a", "fiveQI": 1, "precedence": 1, "filters": [{"remotePorts": "1-2"}]}]}]}`,
		`{"n3": {"endpoints": "172.30.3.16/28"}, "units": 2}`, 2)
	f.Add(`{"snssai": {"sst": -1, "sd": "x"}, "dataNetworks": [{"upfs": [{"name": "upf"}], "breakouts": [{"upfInstance": "upf", "prefixes": ["::/0"]}]}]}`, `{"n3": {"endpoints": "::/0"}, "units": -5}`, -1)
	f.Add(`{"snssai": {"sst": 1}, "dataNetworks": [{"dnn": "internet", "uePools": ["10.45.0.0/16"]}]}`,
		`{"external": {"n4": {"address": "203.0.113.7", "port": -1}, "n3": {"endpoints": ["x"]}, "networkInstances": {"core": [{}]}, "pools": [{"range": "y"}]}}`, 1)
	f.Fuzz(func(t *testing.T, spec, unitSpec string, units int) {
		var o Objects
		o.Slices = make([]v1alpha1.Slice, 2)
		o.UPFInstances = make([]v1alpha1.UPFInstance, 1)
		if yaml.Unmarshal([]byte(spec), &o.Slices[0].Spec) != nil || yaml.Unmarshal([]byte(unitSpec), &o.UPFInstances[0].Spec) != nil {
			return
		}
		o.UPFInstances[0].Name = "upf"
		for i := range min(max(units, 0), 8) {
			o.UPFInstances[0].Status.UnitStatuses = append(o.UPFInstances[0].Status.UnitStatuses, v1alpha1.UnitStatus{Name: fmt.Sprintf("upf-%d", i), N4Address: fmt.Sprintf("10.0.0.%d", i)})
		}
		o.Slices[0].Name, o.Slices[1].Name = "a", "b"
		o.Slices[1].Spec = *o.Slices[0].Spec.DeepCopy()
		var good Good
		for range 2 {
			s, refusals := Build(o, &good)
			if len(s.Slices())+len(refusals) < 2 {
				t.Fatalf("%d Slices, %d refusals", len(s.Slices()), len(refusals))
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	t := &testing.T{}
	o := objects(t)
	o.Slices = nil
	for i := range 64 {
		o.Slices = append(o.Slices, slice(t, i, fmt.Sprintf("s%d", i), fmt.Sprintf("%06x", i), fmt.Sprintf("dnn: internet, uePools: [10.%d.0.0/16]", i)))
	}
	for b.Loop() {
		Build(o, &Good{})
	}
}

// What the operator says of a Slice is what the SMF says, which looks at it with no other Slice beside it.
func TestProblem(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Objects)
		want   string
	}{
		"none": {func(*Objects) {}, ""},
		"the Slice's": {func(o *Objects) {
			o.Slices[0].Spec.DataNetworks[0].Breakouts = []v1alpha1.Breakout{{Name: "a", UPFInstance: "upf"}, {Name: "b", UPFInstance: "edge"}}
		}, `data network "internet": breakouts "a" and "b" hold in one tracking area, and lead to two UPFInstances: name one in both, or divide their tacs`},
		"its UPFInstance's": {func(o *Objects) { o.UPFInstances[0].Spec.N3.Endpoints = "here" }, `UPFInstance upf: spec.n3.endpoints "here"`},
		"the core's":        {func(o *Objects) { o.Core.Spec.TACs[0] = "x" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := objects(t)
			c.change(&o)
			err := Problem(o.Core, &o.Slices[0], o.UPFInstances)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
