package configuration

import (
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"core5g.dev/core5g/images/session-management/digesttest"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var comparing = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})

// example has every field of the file's form.
func example(t *testing.T) *Snapshot {
	t.Helper()
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParse(t *testing.T) {
	s := example(t)
	sd := &[3]byte{1, 2, 3}
	prefix := netip.MustParsePrefix
	want := []*Slice{
		{Name: "bare", SST: 2, DataNetworks: []DataNetwork{{
			Slice: "bare", SST: 2, DNN: "internet", Types: []n1.SessionType{n1.IPv6}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 2e9},
			FiveQI: 9, ARP: ARP{Priority: 8}, MTU: 1400, Access: "access", Core: "bare/internet",
			Units: []Serving{{NodeID: "10.96.1.3", Pools: []netip.Prefix{prefix("2001:db8:46::/56")}}},
		}}},
		{Name: "internet", SST: 1, SD: sd, DataNetworks: []DataNetwork{
			{
				Slice: "internet", SST: 1, SD: sd, DNN: "Internet",
				Types: []n1.SessionType{n1.IPv4v6, n1.IPv4, n1.IPv6}, AMBR: record.AMBR{Uplink: 100e6, Downlink: 1_500_000_000},
				FiveQI: 8, ARP: ARP{Priority: 3, MayPreempt: true, Preemptable: true},
				DNS: []netip.Addr{netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("2606:4700::1111")}, PCSCF: []netip.Addr{netip.MustParseAddr("192.0.2.5")},
				MTU: 1450, Access: "gnbs", Core: "inet", AlwaysOn: AlwaysOnRequested, Policy: true, Charging: ChargingOnline,
				Flows: []Flow{
					{
						Name: "voice", FiveQI: 1, ARP: ARP{Priority: 2}, Precedence: 10,
						GBR: record.AMBR{Uplink: 64_000, Downlink: 64_000}, MBR: record.AMBR{Uplink: 128_000, Downlink: 128_000},
						Filters: []n1.Filter{
							{ID: 0, Direction: n1.Bidirectional, Remote: prefix("192.0.2.0/24"), Protocol: 17, RemotePorts: n1.PortRange{First: 5060, Last: 5061}},
							{ID: 1, Direction: n1.Downlink, Remote: prefix("2001:db8::/32"), Protocol: 50, LocalPorts: n1.PortRange{First: 7, Last: 7}},
						},
					},
					{Name: "bulk", FiveQI: 8, ARP: ARP{Priority: 8}, Precedence: 20, OnRequest: true,
						Filters: []n1.Filter{{Direction: n1.Uplink, Remote: prefix("2001:db8:1::/48"), Protocol: -1}}},
				},
				Breakouts: []Breakout{{Name: "edge", Prefixes: []netip.Prefix{prefix("203.0.113.0/24")}, UPFInstance: "edge", Units: []string{"edge.example"}, TACs: []uint32{2}}},
				Units: []Serving{
					{NodeID: "10.96.1.3", Pools: []netip.Prefix{prefix("10.45.0.0/17"), prefix("2001:db8:45::/57")}, Static: []netip.Prefix{prefix("10.47.0.0/17")}},
					{NodeID: "edge.example", Pools: []netip.Prefix{prefix("10.45.128.0/17"), prefix("2001:db8:45:80::/57")}, Static: []netip.Prefix{prefix("10.47.128.0/17")}, TACs: []uint32{2, 0xabcdef}},
				},
			},
			{
				Slice: "internet", SST: 1, SD: sd, DNN: "ims", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 2e9},
				FiveQI: 9, ARP: ARP{Priority: 8}, MTU: 1400, Access: "access", Core: "internet/ims",
				Units: []Serving{{NodeID: "10.96.1.3", Pools: []netip.Prefix{prefix("10.48.0.0/16")}}},
			},
		}},
	}
	if diff := cmp.Diff(want, s.Slices(), comparing); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	wantCore := Core{Name: "core5g", PLMNs: []PLMN{{"208", "93"}}, TACs: []uint32{1, 10}, Shards: 4}
	if diff := cmp.Diff(wantCore, s.Core()); diff != "" {
		t.Errorf("core (-want +got):\n%s", diff)
	}
	wantUnits := []*Unit{
		{NodeID: "10.96.1.3", Address: netip.MustParseAddrPort("10.96.1.3:8805"), N3: []netip.Prefix{prefix("172.30.3.16/28")}, UPFInstance: "upf", Name: "upf-0", Capacity: 1000},
		{NodeID: "edge.example", Address: netip.MustParseAddrPort("192.0.2.9:8806"), UPFInstance: "edge", State: Draining, Drain: 300e9},
	}
	if diff := cmp.Diff(wantUnits, s.Units(), comparing); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}

// Whoever reads a Snapshot does not see that another is made of its slices.
func TestASnapshotOfAnothersSlices(t *testing.T) {
	begin := func() (list []Slice, units []Unit) {
		s := example(t)
		for _, unit := range s.Units() {
			another := *unit
			another.NodeID, another.Address = strings.ToUpper(another.NodeID), netip.AddrPort{}
			if strings.HasPrefix(another.NodeID, "EDGE") {
				another.Address = unit.Address
			}
			units = append(units, another)
		}
		for _, slice := range s.Slices() {
			another := *slice
			another.Name += "-2"
			for i := range another.DataNetworks {
				d := &another.DataNetworks[i]
				d.Networks = map[string]string{"EDGE.example": "inet"}
				for n := range d.Units {
					d.Units[n].NodeID = strings.ToUpper(d.Units[n].NodeID)
				}
				for n := range d.Breakouts {
					d.Breakouts[n].Units = []string{"EDGE.example"}
				}
				for n := range d.Flows {
					for k := range d.Flows[n].Filters {
						d.Flows[n].Filters[k].ID = 15
					}
				}
			}
			list = append(list, another)
		}
		return list, units
	}
	list, units := begin()
	if _, err := New(list, units); err != nil {
		t.Fatal(err)
	}
	wantList, wantUnits := begin()
	if diff := cmp.Diff(wantList, list, comparing); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantUnits, units, comparing); diff != "" {
		t.Error(diff)
	}
}

func TestDataNetwork(t *testing.T) {
	s := example(t)
	sd := func(b ...byte) *[3]byte { return (*[3]byte)(b) }
	for name, c := range map[string]struct {
		sst   uint8
		sd    *[3]byte
		dnn   string
		want  string // network instance
		error error
	}{
		"as it is written":                   {1, sd(1, 2, 3), "Internet", "inet", nil},
		"in another case":                    {1, sd(1, 2, 3), "iNTERNET", "inet", nil},
		"with an operator identifier":        {1, sd(1, 2, 3), "ims.mnc093.mcc208.gprs", "internet/ims", nil},
		"that in another case":               {1, sd(1, 2, 3), "IMS.MNC093.MCC208.GPRS", "internet/ims", nil},
		"none: the slice's default":          {1, sd(1, 2, 3), "", "inet", nil},
		"without an SD":                      {2, nil, "internet", "bare/internet", nil},
		"an SD that stands for none":         {2, sd(0xff, 0xff, 0xff), "internet", "bare/internet", nil},
		"an SD where the slice has none":     {2, sd(0, 0, 0), "internet", "", ErrUnknownSlice},
		"no SD where the slice has one":      {1, nil, "internet", "", ErrUnknownSlice},
		"an SST that there is not":           {3, nil, "internet", "", ErrUnknownSlice},
		"a DNN of another slice":             {2, nil, "ims", "", ErrUnknownDNN},
		"half of an operator identifier":     {1, sd(1, 2, 3), "ims.mcc208.gprs", "", ErrUnknownDNN},
		"an operator identifier and no more": {1, sd(1, 2, 3), ".mnc093.mcc208.gprs", "", ErrUnknownDNN},
	} {
		t.Run(name, func(t *testing.T) {
			dn, err := s.DataNetwork(c.sst, c.sd, c.dnn)
			if !errors.Is(err, c.error) {
				t.Fatalf("error %v, want %v", err, c.error)
			}
			if err == nil && (dn.Core != c.want || dn != s.Named(dn.Slice, strings.ToUpper(dn.DNN))) {
				t.Errorf("network instance %q, want %q, and the same by name", dn.Core, c.want)
			}
		})
	}
	if got := s.DefaultDNN(1, sd(1, 2, 3)); got != "Internet" {
		t.Errorf("default DNN %q", got)
	}
	if s.DefaultDNN(9, nil) != "" || s.Named("nothing", "internet") != nil || s.Named("internet", "nothing") != nil || s.Unit("nothing") != nil {
		t.Error("something is found that is not there")
	}
	if u := s.Unit("EDGE.example"); u == nil || u.State != Draining {
		t.Errorf("unit %+v", u)
	}
}

func TestEqual(t *testing.T) {
	a, b := example(t), example(t)
	if !a.Equal(b) {
		t.Error("two readings of one file differ")
	}
	if a.Equal(b.WithCore(Core{Name: "another"})) || a.Equal(nil) {
		t.Error("another core makes no difference")
	}
	b.Slices()[0].DataNetworks[0].MTU++
	if a.Equal(b) {
		t.Error("another MTU makes no difference")
	}
}

func TestNetworkIdentifier(t *testing.T) {
	for dnn, want := range map[string]string{
		"internet":                      "internet",
		"A.b":                           "a.b",
		"internet.mnc01.mcc001.gprs":    "internet.mnc01.mcc001.gprs", // TS 23.003 9.1.2: three digits
		"internet.mnc001.mcc001.gprs":   "internet",
		"internet.mnc001.mcc00a.gprs":   "internet.mnc001.mcc00a.gprs",
		"internet.mnc001.mcc001.gprs.x": "internet.mnc001.mcc001.gprs.x",
		"mnc001.mcc001.gprs":            "mnc001.mcc001.gprs",
		".gprs":                         ".gprs",
		"":                              "",
	} {
		if got := NetworkIdentifier(dnn); got != want {
			t.Errorf("NetworkIdentifier(%q) = %q, want %q", dnn, got, want)
		}
	}
}

// What n4, n1 and the record are told of a data network hangs together: n4 makes rules of it.
func TestWhatOthersAreTold(t *testing.T) {
	dn := example(t).Named("internet", "internet")
	voice := dn.Flow("voice")
	session := &record.Session{
		SUPI: "imsi-208930000000001", ID: 1, Type: n1.IPv4, Phase: record.Establishing, CPSEID: 7, AMBR: dn.AMBR,
		Flows: []record.Flow{dn.DefaultFlow(1), dn.Record(voice, 2)},
	}
	if _, err := n4.Establishment(session, dn.Settings()); err != nil {
		t.Error(err)
	}
	online := record.Charge{RatingGroup: 1, Online: true}
	want := []record.Flow{
		{QFI: 1, FiveQI: 8, Priority: 3, MayPreempt: true, Preemptable: true, Charge: online},
		{QFI: 2, FiveQI: 1, Name: "voice", Priority: 2, GFBRUplink: 64_000, GFBRDownlink: 64_000, MFBRUplink: 128_000, MFBRDownlink: 128_000, Charge: online},
	}
	if diff := cmp.Diff(want, session.Flows); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	wantRule := n1.Rule{ID: 2, Operation: n1.CreateRule, Filters: voice.Filters[:1], Precedence: 10, QFI: 2}
	if diff := cmp.Diff(wantRule, voice.Rule(2, 2, n1.IPv4), comparing); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	wantFlow := n1.Flow{QFI: 2, Operation: n1.CreateFlow, FiveQI: 1, GFBRUplink: 64_000, GFBRDownlink: 64_000, MFBRUplink: 128_000, MFBRDownlink: 128_000}
	if diff := cmp.Diff(wantFlow, voice.Description(2)); diff != "" {
		t.Errorf("flow description (-want +got):\n%s", diff)
	}
	if c := dn.Configuration(); len(c.DNS) != 2 || len(c.PCSCF) != 1 || c.MTU != 1450 {
		t.Errorf("configuration %+v", c)
	}
	if dn.Flow("nothing") != nil {
		t.Error("a flow that is not there")
	}
}

func TestFlowsOf(t *testing.T) {
	dn := example(t).Named("internet", "internet")
	for name, c := range map[string]struct {
		kind       n1.SessionType
		subscribed []string
		want       []string
	}{
		"those that all have":                      {n1.IPv4v6, nil, []string{"voice"}},
		"and those of the subscription":            {n1.IPv4v6, []string{"bulk", "nothing"}, []string{"voice", "bulk"}},
		"none whose packets the session cannot be": {n1.IPv4, []string{"bulk"}, []string{"voice"}},
	} {
		var got []string
		for _, f := range dn.FlowsOf(c.kind, c.subscribed) {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAddressesOfADataNetwork(t *testing.T) {
	dn := example(t).Named("internet", "internet")
	for address, want := range map[string]bool{
		"10.45.0.9/32": true, "10.45.128.9/32": true, "10.47.0.9/32": false, "2001:db8:45:1::/64": true, "2001:db8:45::/48": false, "10.46.0.1/32": false,
	} {
		if got := dn.Has(netip.MustParsePrefix(address)); got != want {
			t.Errorf("%s lies in a pool: %v, want %v", address, got, want)
		}
	}
	if at := dn.At("EDGE.example"); at == nil || at.Static[0] != netip.MustParsePrefix("10.47.128.0/17") || dn.At("10.96.1.4") != nil {
		t.Errorf("at edge.example: %+v", at)
	}
	if got := dn.SettingsAt("edge.example"); len(got.Pools) != 2 || got.Pools[0] != netip.MustParsePrefix("10.45.128.0/17") || got.Core != "inet" {
		t.Errorf("settings at edge.example: %+v", got)
	}
}

func TestBreakoutsAt(t *testing.T) {
	dn := example(t).Named("internet", "internet")
	if got := dn.BreakoutsAt(2); len(got) != 1 || got[0].Name != "edge" {
		t.Errorf("at 2: %v", got)
	}
	if got := dn.BreakoutsAt(1); got != nil {
		t.Errorf("at 1: %v", got)
	}
}

func TestAlwaysOn(t *testing.T) {
	for policy, want := range map[AlwaysOn][2]bool{AlwaysOnNever: {false, false}, AlwaysOnRequested: {false, true}, AlwaysOnAlways: {true, true}} {
		if got := [2]bool{policy.Grants(false), policy.Grants(true)}; got != want {
			t.Errorf("%d grants %v, want %v", policy, got, want)
		}
	}
}

// Whatever contradicts itself is refused, with words that say what to write.
func TestParseRefuses(t *testing.T) {
	network := func(rest string) string {
		return "slices: [{name: a, sst: 1, dataNetworks: [{dnn: internet, sessionTypes: [IPv4], " + rest + "}]}]"
	}
	flow := func(rest string) string {
		return network("flows: [{name: f, fiveQI: 8, precedence: 1, filters: [{remote: 192.0.2.0/24}], " + rest + "}]")
	}
	filter := func(rest string) string {
		return network("flows: [{name: f, fiveQI: 8, precedence: 1, filters: [{" + rest + "}]}]")
	}
	ethernet := func(rest string) string {
		return "slices: [{name: a, sst: 1, dataNetworks: [{dnn: lan, " + rest + map[bool]string{true: "", false: ", sessionTypes: [Ethernet]"}[strings.Contains(rest, "sessionTypes")] + "}]}]"
	}
	unit := func(pools string) string {
		return network("units: [{nodeID: 10.0.0.1, pools: [" + pools + "]}]")
	}
	for text, want := range map[string]string{
		"slices: {":                                               "cannot be read",
		"slice: []":                                               `unknown field "slice"`,
		"slices: [{sst: 1}]":                                      "a slice has a name",
		"slices: [{name: a, sst: 300}]":                           "cannot be read",
		"slices: [{name: a, sst: 1}]":                             "at least one data network",
		"slices: [{name: a, sst: 1, sd: x}]":                      `sd "x": write six hexadecimal digits`,
		network("") + "\nunits: [{}]":                             "has no Node ID",
		"units: [{nodeID: a.example}]":                            "has no N4 address",
		"units: [{nodeID: 10.0.0.1}, {nodeID: 10.0.0.1}]":         "two units have the Node ID",
		"units: [{nodeID: 10.0.0.1, state: Away}]":                `state "Away": write one of Draining, InService, Locked`,
		"units: [{nodeID: 10.0.0.1, drain: soon}]":                `drain "soon": write a time`,
		"slices: [{name: a, sst: 1, dataNetworks: [{}]}]":         "a DNN has 1 to 100 characters",
		"slices: [{name: a, sst: 1, dataNetworks: [{dnn: x}]}]":   "it allows no type of PDU session",
		network("ambr: {uplink: fast}"):                           `ambr: "fast" is no bit rate`,
		network("fiveQI: 0"):                                      "a 5QI or a direction of the AMBR is missing",
		network("arp: {priorityLevel: 16}"):                       "priority level is 16: write 1 to 15",
		network("arp: {preemptionCapability: Yes}"):               "write one of MayPreempt, NotPreempt",
		network("alwaysOn: Yes"):                                  "write one of Always, Never, Requested",
		network("policy: Mine"):                                   "write one of PCF, Slice",
		network("charging: All"):                                  "write one of None, Offline, Online",
		network("dns: [one]"):                                     "cannot be read",
		flow("gbr: {uplink: 2 Mbps}, mbr: {uplink: 1 Mbps}"):      "the guaranteed bit rate is above the maximum",
		flow("arp: {priorityLevel: 0}"):                           "priority level is 0",
		flow("given: Sometimes"):                                  "write one of Always, ToSubscribers",
		network("flows: [{fiveQI: 8}]"):                           "it has no name",
		network("flows: [{name: f}]"):                             "it has no 5QI",
		network("flows: [{name: f, fiveQI: 8, precedence: 255}]"): "precedence 255: write 1 to 254",
		network("flows: [{name: f, fiveQI: 8, precedence: 9}]"):   "0 filters: write 1 to 15",
		network("flows: [{name: f, fiveQI: 8, precedence: 1, filters: [{}]}, {name: f, fiveQI: 8, precedence: 2, filters: [{}]}]"): "two flows are named",
		network("flows: [{name: f, fiveQI: 8, precedence: 1, filters: [{}]}, {name: g, fiveQI: 8, precedence: 1, filters: [{}]}]"): "both have the precedence 1",
		filter("direction: Sideways"):                    "write one of Bidirectional, Downlink, Uplink",
		filter("protocol: 256"):                          `protocol "256": write TCP`,
		filter("protocol: [6]"):                          "cannot be read",
		filter("remotePorts: 9-8"):                       `ports "9-8": write one`,
		filter("localPorts: 65536"):                      `ports "65536": write one`,
		unit("10.45.0.1/16"):                             "no network of UE addresses",
		unit("'2001:db8::/65'"):                          "no network of UE addresses",
		unit("10.45.0.0/16, 10.45.8.0/24"):               "overlaps",
		unit("10.45.0.0/16], static: [10.0.0.0/8"):       "overlaps",
		network("units: [{nodeID: a.b}, {nodeID: A.B}]"): "serves it twice",
		"slices: [{name: a, sst: 1, dataNetworks: [{dnn: x, sessionTypes: [IPv4]}, {dnn: X, sessionTypes: [IPv4]}]}]": `DNN "X" is there twice`,
		"slices: [{name: a, sst: 1, dataNetworks: [{dnn: x, sessionTypes: [IPv4, IPv4]}]}]":                           "or is there twice",
		"slices: [{name: a, sst: 1, dataNetworks: [{dnn: x, sessionTypes: [Unstructured]}]}]":                         "write one of Ethernet, IPv4, IPv4v6, IPv6",
		ethernet("sessionTypes: [Ethernet, IPv4]"):                                                                    "and of others: write a data network of its own for Ethernet",
		ethernet("dns: [1.1.1.1]"):                                      "UEs are told DNS or P-CSCF servers: leave these out",
		ethernet("pcscf: [192.0.2.5]"):                                  "UEs are told DNS or P-CSCF servers: leave these out",
		ethernet("breakouts: [{name: a, prefixes: [192.0.2.0/24]}]"):    "it has breakouts, which go by IP addresses",
		ethernet("poolRouting: AllUnits"):                               "leave them and poolRouting out",
		ethernet("units: [{nodeID: 10.0.0.1, pools: [10.45.0.0/16]}]"):  "it has pools of IP addresses: leave them",
		ethernet("units: [{nodeID: 10.0.0.1, static: [10.45.0.0/16]}]"): "it has pools of IP addresses: leave them",
		filter("ethernet: {vlan: 7}"):                                   `flow "f": a filter looks at frames, and sessions are of IP: leave ethernet out`,
		filter("ethernet: {vlan: 4095}"):                                "vlan 4095: write 1 to 4094",
		filter("ethernet: {serviceVLAN: -1}"):                           "serviceVLAN -1: write 1 to 4094",
		filter("ethernet: {remoteMAC: 02-00-00-00-00-01}"):              `MAC address "02-00-00-00-00-01": write six octets`,
		filter("ethernet: {localMAC: '00:00:00:00:00:00'}"):             "write six octets in hexadecimal, for example 02:00:00:00:00:01",
		filter("ethernet: {etherType: '0x05ff'}"):                       `etherType "0x05ff": write 0x and four hexadecimal digits`,
		filter("ethernet: {etherType: 88b8}"):                           `etherType "88b8": write 0x`,
		network("")[:len(network(""))-1] + ", {name: b, sst: 1, sd: ffffff, dataNetworks: [{dnn: x, sessionTypes: [IPv4]}]}]": "both have the S-NSSAI 1",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror: %v\nwant:  %s", text, err, want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]uint64{
		"": 0, "1 bps": 1, "64 Kbps": 64_000, "1.5 Mbps": 1_500_000, "0.125 Gbps": 125_000_000, "4 Tbps": 4e12, "1.0005 Kbps": 1000,
	} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"1", "1Mbps", "Mbps", " Mbps", "-1 Mbps", "+1 Mbps", "1. Mbps", ".5 Mbps", "1.x Mbps", "1 mbps", "99999999999999999999 bps", "18446744073709551615 Tbps"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %d, want an error", text, got)
		}
	}
}

// No text makes it panic, and what is read can be asked.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("slices: [{name: a, sst: 1, dataNetworks: [{dnn: x, sessionTypes: [IPv4]}]}]\nunits: [{nodeID: 10.0.0.1}]")
	f.Add("slices: [{name: a, sst: 1, dataNetworks: [{dnn: x, sessionTypes: [Ethernet], flows: [{name: f, fiveQI: 8, precedence: 1, filters: [{ethernet: {remoteMAC: '02:00:00:00:00:01', vlan: 7, etherType: '0x88b8'}}]}], units: [{nodeID: 10.0.0.1}]}]}]\nunits: [{nodeID: 10.0.0.1}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse([]byte(text))
		if err != nil {
			return
		}
		for _, slice := range s.Slices() {
			for i := range slice.DataNetworks {
				dn := &slice.DataNetworks[i]
				if found, err := s.DataNetwork(slice.SST, slice.SD, dn.DNN); err != nil || found != dn {
					t.Fatalf("%q of %q is not found: %v", dn.DNN, slice.Name, err)
				}
				for _, kind := range dn.Types {
					if u, err := s.Select(dn, Want{Type: kind}, nil); (u == nil) == (err == nil) {
						t.Fatalf("selected %v, %v", u, err)
					}
				}
			}
		}
	})
}

func FuzzNetworkIdentifier(f *testing.F) {
	f.Add("ims.mnc093.mcc208.gprs")
	f.Fuzz(func(t *testing.T, dnn string) {
		if got := NetworkIdentifier(dnn); !strings.HasPrefix(strings.ToLower(dnn), got) {
			t.Errorf("NetworkIdentifier(%q) = %q", dnn, got)
		}
	})
}

// Pools may overlap between network instances that are written, not between data networks whose names the SMF makes up: units serve those by one N6.
func TestPoolsByNetworkInstance(t *testing.T) {
	const text = `
core: {name: core5g, plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"]}
slices:
- name: a
  sst: 1
  dataNetworks:
  - {dnn: internet, units: [{nodeID: 10.96.1.3, pools: [10.45.0.0/16]}]FIRST}
  - {dnn: ims, units: [{nodeID: 10.96.1.3, pools: [10.45.8.0/24], static: [10.45.9.0/24]}]SECOND}
units: [{nodeID: 10.96.1.3}]
`
	for name, c := range map[string]struct {
		first, second string
		refused       bool
	}{
		"neither is written": {"", "", true},
		"one is":             {"", ", core: ims", false},
		"both are":           {", core: internet", ", core: ims", false},
		"both are the same":  {", core: ims", ", core: ims", true},
	} {
		s, err := Parse([]byte(strings.NewReplacer("FIRST", c.first, "SECOND", c.second).Replace(text)))
		if refused := err != nil && strings.Contains(err.Error(), "overlaps 10.45.0.0/16 of unit 10.96.1.3"); refused != c.refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && s.Named("a", "ims").Settings().Core != "ims" {
			t.Errorf("%s: network instance %q", name, s.Named("a", "ims").Settings().Core)
		}
	}
}

// The digest of a Slice is in shards' records: whoever has another one looks at all sessions of the Slice.
func TestSliceDigest(t *testing.T) {
	of := func(d DataNetwork) uint64 {
		return (&Snapshot{byName: map[string]*Slice{"a": {DataNetworks: []DataNetwork{d}}}}).Digest("a")
	}
	flow := Flow{
		Name: "voice", FiveQI: 1, ARP: ARP{Priority: 2, MayPreempt: true}, GBR: record.AMBR{Uplink: 1, Downlink: 2}, MBR: record.AMBR{Uplink: 3, Downlink: 4}, Precedence: 5,
		Filters: []n1.Filter{n1.Any(1), {ID: 2, Direction: n1.Uplink, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17}}, OnRequest: true, RatingGroup: 6,
	}
	for want, d := range map[uint64]DataNetwork{
		0x834474d4fa6c2d8a: {DNN: "internet", AMBR: record.AMBR{Uplink: 1, Downlink: 2}, FiveQI: 9, ARP: ARP{Priority: 8, Preemptable: true}, Units: []Serving{{NodeID: "west"}}},
		0x868f7e454b7fa3b0: {
			DNN: "ims", Flows: []Flow{flow, {Name: "plain"}},
			Breakouts: []Breakout{{Name: "edge", Prefixes: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")}, UPFInstance: "upf", Units: []string{"a", "b"}, TACs: []uint32{1, 2}}, {Name: "other"}},
			Units:     []Serving{{NodeID: "west", TACs: []uint32{1, 4}}, {NodeID: "east"}},
		},
	} {
		if got := of(d); got != want {
			t.Errorf("%s: %#x, want %#x", d.DNN, got, want)
		}
	}
	digesttest.Fields(t, func(f Flow) uint64 { return of(DataNetwork{Flows: []Flow{f}}) }, "Default", "Closed", "Charge") // no Slice has them
	digesttest.Fields(t, func(b Breakout) uint64 { return of(DataNetwork{Breakouts: []Breakout{b}}) })
	digesttest.Fields(t, func(s Serving) uint64 { return of(DataNetwork{Units: []Serving{s}}) }, "Pools", "Static") // sessions stay where they are
	if (&Snapshot{}).Digest("a") != 0 {
		t.Error("a Slice that is not there has a digest")
	}
}
