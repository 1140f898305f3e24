package configuration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/record"

	"sigs.k8s.io/yaml"
)

// The file says what Slices and UPFInstances say, in their words, where there is no Kubernetes:
//
//	core: {name: core5g, plmns: [{mcc: "208", mnc: "93"}], tacs: ["000001"]}
//	slices:
//	- name: internet
//	  sst: 1
//	  sd: "010203"
//	  dataNetworks:
//	  - dnn: internet
//	    dns: [1.1.1.1]
//	    units: [{nodeID: 10.96.1.3, pools: [10.45.0.0/16]}]
//	    flows:
//	    - {name: voice, fiveQI: 1, precedence: 10, gbr: {uplink: 64 Kbps, downlink: 64 Kbps},
//	       mbr: {uplink: 128 Kbps, downlink: 128 Kbps}, filters: [{remote: 192.0.2.0/24, protocol: UDP, remotePorts: 5060-5061}]}
//	units:
//	- {nodeID: 10.96.1.3, n3: [172.30.3.16/28]}
type (
	file struct {
		Core   fileCore    `json:"core"`
		Slices []fileSlice `json:"slices"`
		Units  []fileUnit  `json:"units"`
	}
	fileCore struct {
		Name   string   `json:"name"`
		PLMNs  []PLMN   `json:"plmns"`
		TACs   []string `json:"tacs"`
		Shards int      `json:"shards"`
	}
	fileSlice struct {
		Name         string            `json:"name"`
		SST          uint8             `json:"sst"`
		SD           string            `json:"sd"`
		DataNetworks []fileDataNetwork `json:"dataNetworks"`
	}
	fileDataNetwork struct {
		DNN          string         `json:"dnn"`
		SessionTypes []string       `json:"sessionTypes"`
		AMBR         fileRates      `json:"ambr"`
		FiveQI       *uint8         `json:"fiveQI"`
		ARP          fileARP        `json:"arp"`
		DNS          []netip.Addr   `json:"dns"`
		PCSCF        []netip.Addr   `json:"pcscf"`
		MTU          *uint16        `json:"mtu"`
		Access       string         `json:"access"`
		Core         string         `json:"core"`
		AlwaysOn     string         `json:"alwaysOn"`
		Policy       string         `json:"policy"`
		Charging     string         `json:"charging"`
		PoolRouting  string         `json:"poolRouting"`
		RatingGroup  uint32         `json:"ratingGroup"`
		Flows        []fileFlow     `json:"flows"`
		Breakouts    []fileBreakout `json:"breakouts"`
		Units        []fileServing  `json:"units"`
		OwnAreas     []string       `json:"ownAreas"`
	}
	fileRates struct {
		Uplink   string `json:"uplink"`
		Downlink string `json:"downlink"`
	}
	fileARP struct {
		PriorityLevel           *uint8 `json:"priorityLevel"`
		PreemptionCapability    string `json:"preemptionCapability"`
		PreemptionVulnerability string `json:"preemptionVulnerability"`
	}
	fileFlow struct {
		Name        string       `json:"name"`
		FiveQI      uint8        `json:"fiveQI"`
		ARP         fileARP      `json:"arp"`
		GBR         fileRates    `json:"gbr"`
		MBR         fileRates    `json:"mbr"`
		Precedence  uint8        `json:"precedence"`
		Filters     []fileFilter `json:"filters"`
		Given       string       `json:"given"`
		RatingGroup uint32       `json:"ratingGroup"`
	}
	fileFilter struct {
		Direction   string       `json:"direction"`
		Remote      netip.Prefix `json:"remote"`
		Protocol    scalar       `json:"protocol"`
		RemotePorts scalar       `json:"remotePorts"`
		LocalPorts  scalar       `json:"localPorts"`
		Ethernet    fileFrame    `json:"ethernet"`
	}
	fileFrame struct {
		RemoteMAC   string `json:"remoteMAC"`
		LocalMAC    string `json:"localMAC"`
		VLAN        int32  `json:"vlan"`
		ServiceVLAN int32  `json:"serviceVLAN"`
		EtherType   string `json:"etherType"`
	}
	fileBreakout struct {
		Name        string         `json:"name"`
		Prefixes    []netip.Prefix `json:"prefixes"`
		UPFInstance string         `json:"upfInstance"`
		Units       []string       `json:"units"`
		TACs        []string       `json:"tacs"`
	}
	fileServing struct {
		NodeID string         `json:"nodeID"`
		Pools  []netip.Prefix `json:"pools"`
		Static []netip.Prefix `json:"static"`
		TACs   []string       `json:"tacs"`
	}
	fileUnit struct {
		NodeID      string         `json:"nodeID"`
		Address     netip.AddrPort `json:"address"`
		N3          []netip.Prefix `json:"n3"`
		UPFInstance string         `json:"upfInstance"`
		Name        string         `json:"name"`
		State       string         `json:"state"`
		Drain       string         `json:"drain"`
		Capacity    uint64         `json:"capacity"`
		Outside     bool           `json:"outside"`
		Sources     []netip.Prefix `json:"sources"`
		// NetworkInstances are its names for access and, by slice/dnn, for data networks.
		NetworkInstances struct {
			Access string            `json:"access"`
			Core   map[string]string `json:"core"`
		} `json:"networkInstances"`
		// Pools are its names for blocks of UE addresses.
		Pools map[netip.Prefix]string `json:"pools"`
	}
	// scalar is text, or a number as it was written.
	scalar string
)

func (s *scalar) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '"' {
		var n json.Number
		if err := json.Unmarshal(raw, &n); err != nil {
			return errors.New("neither a number nor text: write for example 80 or 5060-5061")
		}
		*s = scalar(n)
		return nil
	}
	return json.Unmarshal(raw, (*string)(s))
}

// Parse reads a Snapshot from YAML; see above for its form. An error says what to write instead, and what is not known
// is one.
func Parse(text []byte) (*Snapshot, error) {
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	list := make([]Slice, 0, len(f.Slices))
	for _, s := range f.Slices {
		slice, err := s.slice()
		if err != nil {
			return nil, fmt.Errorf("slice %q: %w", s.Name, err)
		}
		list = append(list, slice)
	}
	units := make([]Unit, 0, len(f.Units))
	for _, u := range f.Units {
		unit, err := u.unit()
		if err != nil {
			return nil, fmt.Errorf("unit %q: %w", u.NodeID, err)
		}
		units = append(units, unit)
	}
	core := Core{Name: f.Core.Name, PLMNs: f.Core.PLMNs, Shards: f.Core.Shards}
	var err error
	if core.TACs, err = each(f.Core.TACs, ParseTAC); err != nil {
		return nil, err
	}
	s, err := New(list, units)
	if err != nil {
		return nil, err
	}
	return s.WithCore(core), nil
}

func (s fileSlice) slice() (out Slice, err error) {
	out = Slice{Name: s.Name, SST: s.SST}
	if out.SD, err = ParseSD(s.SD); err != nil {
		return out, err
	}
	for _, d := range s.DataNetworks {
		dn, err := d.dataNetwork()
		if err != nil {
			return out, fmt.Errorf("data network %q: %w", d.DNN, err)
		}
		out.DataNetworks = append(out.DataNetworks, dn)
	}
	return out, nil
}

// What a Slice is given where it says nothing: by its definition, or here.
const (
	DefaultFiveQI   = 9
	DefaultPriority = 8 // the priority level of an ARP
	DefaultMTU      = 1400
	DefaultUplink   = "1 Gbps"
	DefaultDownlink = "2 Gbps"
)

func (d fileDataNetwork) dataNetwork() (out DataNetwork, err error) {
	out = DataNetwork{
		DNN: d.DNN, FiveQI: or(d.FiveQI, DefaultFiveQI), MTU: or(d.MTU, DefaultMTU),
		DNS: d.DNS, PCSCF: d.PCSCF, Access: d.Access, Core: d.Core, RatingGroup: d.RatingGroup,
	}
	if out.AMBR, err = (fileRates{word(d.AMBR.Uplink, DefaultUplink), word(d.AMBR.Downlink, DefaultDownlink)}).rates(); err != nil {
		return out, fmt.Errorf("ambr: %w", err)
	}
	if out.ARP, err = d.ARP.arp(); err != nil {
		return out, err
	}
	if out.AlwaysOn, err = ParseAlwaysOn(word(d.AlwaysOn, "Never")); err != nil {
		return out, err
	}
	if out.Policy, err = ParsePolicy(word(d.Policy, "Slice")); err != nil {
		return out, err
	}
	if out.Routed, err = ParsePoolRouting(word(d.PoolRouting, "PerUnit")); err != nil {
		return out, err
	}
	if out.Charging, err = ParseCharging(word(d.Charging, "None")); err != nil {
		return out, err
	}
	if out.Types, err = each(d.SessionTypes, ParseType); err != nil {
		return out, err
	}
	if out.Flows, err = each(d.Flows, fileFlow.flow); err != nil {
		return out, err
	}
	if out.Breakouts, err = each(d.Breakouts, fileBreakout.breakout); err != nil {
		return out, err
	}
	if out.OwnAreas, err = each(d.OwnAreas, ParseTAC); err != nil {
		return out, err
	}
	out.Units, err = each(d.Units, fileServing.serving)
	return out, err
}

func (r fileRates) rates() (out record.AMBR, err error) {
	if out.Uplink, err = ParseRate(r.Uplink); err != nil {
		return out, err
	}
	out.Downlink, err = ParseRate(r.Downlink)
	return out, err
}

func (a fileARP) arp() (out ARP, err error) {
	out.Priority = or(a.PriorityLevel, DefaultPriority)
	if out.MayPreempt, err = MayPreempt(word(a.PreemptionCapability, "NotPreempt")); err != nil {
		return out, err
	}
	out.Preemptable, err = Preemptable(word(a.PreemptionVulnerability, "NotPreemptable"))
	return out, err
}

func (f fileFlow) flow() (out Flow, err error) {
	fail := func(err error) (Flow, error) { return Flow{}, fmt.Errorf("flow %q: %w", f.Name, err) }
	out = Flow{Name: f.Name, FiveQI: f.FiveQI, Precedence: f.Precedence, RatingGroup: f.RatingGroup}
	if out.OnRequest, err = ParseGiven(word(f.Given, "Always")); err != nil {
		return fail(err)
	}
	if out.ARP, err = f.ARP.arp(); err != nil {
		return fail(err)
	}
	if out.GBR, err = f.GBR.rates(); err != nil {
		return fail(fmt.Errorf("gbr: %w", err))
	}
	if out.MBR, err = f.MBR.rates(); err != nil {
		return fail(fmt.Errorf("mbr: %w", err))
	}
	if out.Filters, err = each(f.Filters, fileFilter.filter); err != nil {
		return fail(err)
	}
	return out, nil
}

func (f fileFilter) filter() (out n1.Filter, err error) {
	if out, err = MakeFilter(f.Direction, f.Remote, string(f.Protocol), string(f.RemotePorts), string(f.LocalPorts)); err != nil {
		return out, err
	}
	e := f.Ethernet
	out.Frame, err = MakeFrame(e.RemoteMAC, e.LocalMAC, e.VLAN, e.ServiceVLAN, e.EtherType)
	return out, err
}

// MakeFilter makes a packet filter of what a Slice says of it; "" and the zero prefix are any, and both directions.
func MakeFilter(direction string, remote netip.Prefix, protocol, remotePorts, localPorts string) (out n1.Filter, err error) {
	out.Remote = remote
	if out.Direction, err = ParseDirection(word(direction, "Bidirectional")); err != nil {
		return out, err
	}
	if out.Protocol, err = ParseProtocol(protocol); err != nil {
		return out, err
	}
	if out.RemotePorts, err = ParsePorts(remotePorts); err != nil {
		return out, err
	}
	if out.LocalPorts, err = ParsePorts(localPorts); err != nil {
		return out, err
	}
	return out, nil
}

func (b fileBreakout) breakout() (out Breakout, err error) {
	out = Breakout{Name: b.Name, Prefixes: b.Prefixes, UPFInstance: b.UPFInstance, Units: b.Units}
	out.TACs, err = each(b.TACs, ParseTAC)
	return out, err
}

func (s fileServing) serving() (out Serving, err error) {
	out = Serving{NodeID: s.NodeID, Pools: s.Pools, Static: s.Static}
	out.TACs, err = each(s.TACs, ParseTAC)
	return out, err
}

func (u fileUnit) unit() (out Unit, err error) {
	out = Unit{NodeID: u.NodeID, Address: u.Address, N3: u.N3, UPFInstance: u.UPFInstance, Name: u.Name, Capacity: u.Capacity, Outside: u.Outside, Sources: u.Sources, Pools: u.Pools}
	out.Access, out.Core = u.NetworkInstances.Access, u.NetworkInstances.Core
	if u.Drain != "" {
		if out.Drain, err = time.ParseDuration(u.Drain); err != nil || out.Drain < 0 {
			return out, fmt.Errorf("drain %.40q: write a time, for example 300s", u.Drain)
		}
	}
	out.State, err = ParseState(word(u.State, "InService"))
	return out, err
}

// each of a list, until one cannot be read.
func each[From, To any](list []From, read func(From) (To, error)) ([]To, error) {
	var out []To
	for _, from := range list {
		to, err := read(from)
		if err != nil {
			return nil, err
		}
		out = append(out, to)
	}
	return out, nil
}

func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// word, or the one that nobody needs to write.
func word(written, otherwise string) string {
	if written == "" {
		return otherwise
	}
	return written
}
