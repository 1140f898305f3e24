package inspection

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// Session is a PDU session in a list.
type Session struct {
	SUPI string `json:"supi"`
	ID   uint8  `json:"id"`
	// Problem says why nothing else is known: the record cannot be read.
	Problem string `json:"problem,omitempty"`

	Slice  string `json:"slice,omitempty"`
	SNSSAI string `json:"snssai,omitempty"`
	DNN    string `json:"dnn,omitempty"`
	Type   string `json:"type,omitempty"`
	// Addresses are the UE's IPv4 address and its IPv6 prefix.
	Addresses []string `json:"addresses,omitempty"`
	// MACs are addresses of devices behind the UE of a session of type Ethernet, as its unit has said; MoreMACs: there were others, which the record has no room for.
	MACs     []string `json:"macAddresses,omitempty"`
	MoreMACs bool     `json:"moreMACAddresses,omitempty"`
	// Phase is establishing, active, idle or releasing.
	Phase string `json:"phase,omitempty"`
	Flows []Flow `json:"flows,omitempty"`
	// Unit is the name of the UPF unit, or its Node ID where the configuration does not know it.
	Unit string `json:"unit,omitempty"`
	// OnN3 is the unit between access network and that one, "" for none.
	OnN3  string    `json:"onN3,omitempty"`
	Shard string    `json:"shard,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Flow is a QoS flow; rates in bit/s.
type Flow struct {
	QFI          uint8  `json:"qfi"`
	FiveQI       uint8  `json:"fiveQI"`
	Name         string `json:"name,omitempty"`
	Priority     uint8  `json:"priority"`
	GFBRUplink   uint64 `json:"gfbrUplink,omitempty"`
	GFBRDownlink uint64 `json:"gfbrDownlink,omitempty"`
	MFBRUplink   uint64 `json:"mfbrUplink,omitempty"`
	MFBRDownlink uint64 `json:"mfbrDownlink,omitempty"`
	Refused      bool   `json:"refusedByAccess,omitempty"`
}

// Story is one session in full: all of its record but messages.
type Story struct {
	Session
	// Ref names the SM context towards the AMF; the SEIDs are in hexadecimal.
	Ref    string `json:"ref"`
	CPSEID string `json:"cpSEID"`
	UPSEID string `json:"upSEID,omitempty"`
	NodeID string `json:"nodeID,omitempty"`
	// Holder is the pod that holds the shard, with its address; "" for nobody.
	Holder   string      `json:"holder,omitempty"`
	PLMN     string      `json:"plmn,omitempty"`
	AMF      AMF         `json:"amf"`
	AMBR     record.AMBR `json:"ambr"`
	Uplink   string      `json:"uplink,omitempty"`
	Downlink string      `json:"downlink,omitempty"`
	AlwaysOn bool        `json:"alwaysOn,omitempty"`
	Static   bool        `json:"staticAddresses,omitempty"`
	// FramedRoutes are the networks behind the UE.
	FramedRoutes []string `json:"framedRoutes,omitempty"`
	// Policy and Charging are the URIs of the associations with PCF and CHF.
	Policy     string   `json:"policy,omitempty"`
	Charging   string   `json:"charging,omitempty"`
	Subscribed []string `json:"subscribedFlows,omitempty"`
	// UnitInDoubt: the unit may still have other rules; Behind: UE and access network have not heard all that has changed.
	UnitInDoubt bool `json:"unitInDoubt,omitempty"`
	Behind      bool `json:"behind,omitempty"`

	Procedure *Procedure `json:"procedure,omitempty"`
	Command   *Command   `json:"command,omitempty"`
	Handover  *Handover  `json:"handover,omitempty"`
	Wanted    *Wanted    `json:"wanted,omitempty"`

	// Branch is the unit between access network and anchor, Left one that is not on the way any more and may still have the session.
	Branch *Branch `json:"branch,omitempty"`
	Left   *Left   `json:"left,omitempty"`

	// Rules are what the unit is to have by the record. NoSlice: its Slice is gone, and with it filters and network instances.
	Rules   n4.Rules `json:"rules"`
	NoSlice bool     `json:"noSlice,omitempty"`
	// History are the last procedures, the oldest first.
	History []Past `json:"history,omitempty"`
}

// AMF is who speaks for the UE, and where that was last.
type AMF struct {
	InstanceID string `json:"instanceID,omitempty"`
	Set        string `json:"set,omitempty"`
	TAC        string `json:"tac,omitempty"`
	Cell       string `json:"cell,omitempty"`
}

// Branch is an intermediate UPF (I-UPF), with breakouts an uplink classifier (TS 23.501 5.6.4.2).
type Branch struct {
	// Unit is its name, or its Node ID where the configuration does not know it.
	Unit   string `json:"unit"`
	NodeID string `json:"nodeID"`
	CPSEID string `json:"cpSEID"`
	UPSEID string `json:"upSEID,omitempty"`
	// Access is its endpoint on N3, Core the one on N9.
	Access string `json:"access,omitempty"`
	Core   string `json:"core,omitempty"`
	// Breakouts whose packets leave there.
	Breakouts []string `json:"breakouts,omitempty"`
	Rules     n4.Rules `json:"rules"`
}

// Left is a unit that was on the way.
type Left struct {
	Unit   string `json:"unit"`
	NodeID string `json:"nodeID"`
	CPSEID string `json:"cpSEID"`
	UPSEID string `json:"upSEID,omitempty"`
	// Known: everybody sends another way by now.
	Known bool `json:"known,omitempty"`
}

// Procedure that is under way.
type Procedure struct {
	Kind     string    `json:"kind"`
	Step     uint8     `json:"step"`
	Attempts uint8     `json:"attempts,omitempty"`
	Began    time.Time `json:"began"`
}

// Command to the UE that it has not answered: release or modification.
type Command struct {
	Kind     string    `json:"kind"`
	PTI      uint8     `json:"pti,omitempty"`
	Attempts uint8     `json:"attempts"`
	Began    time.Time `json:"began"`
}

// Handover through the core that has not ended.
type Handover struct {
	Target     string `json:"target,omitempty"`
	Forwarding string `json:"forwarding,omitempty"`
	Relay      string `json:"relay,omitempty"`
	Direct     bool   `json:"direct,omitempty"`
	Buffering  bool   `json:"buffering,omitempty"`
	Prepared   bool   `json:"prepared,omitempty"`
	Arrived    bool   `json:"arrived,omitempty"`
}

// Wanted is a modification that somebody has not answered: UE, access network.
type Wanted struct {
	Flows       []Flow `json:"flows,omitempty"`
	Gone        []int  `json:"gone,omitempty"`
	UEOpen      bool   `json:"ueOpen,omitempty"`
	AccessOpen  bool   `json:"accessOpen,omitempty"`
	AMBRChanges bool   `json:"ambrChanges,omitempty"`
}

// Past is a procedure that has ended; Took in ms.
type Past struct {
	Kind   string    `json:"kind"`
	Failed bool      `json:"failed,omitempty"`
	At     time.Time `json:"at"`
	Took   uint32    `json:"tookMs"`
}

var (
	phases = map[record.Phase]string{
		record.Establishing: "establishing", record.Active: "active", record.Idle: "idle", record.Releasing: "releasing",
	}
	types = map[n1.SessionType]string{
		n1.IPv4: "IPv4", n1.IPv6: "IPv6", n1.IPv4v6: "IPv4v6", n1.Unstructured: "Unstructured", n1.Ethernet: "Ethernet",
	}
)

// sessionOf is what a list has of a record.
func (i *Inspection) sessionOf(s *record.Session) Session {
	out := Session{
		SUPI: s.SUPI, ID: s.ID, Slice: s.Slice, SNSSAI: fmt.Sprint(s.SST), DNN: s.DNN, Type: types[s.Type], Addresses: strings.Fields(n4.AddressesText(s)), MACs: n4.MACsText(s), MoreMACs: s.Ethernet != nil && s.Ethernet.More,
		Phase: phases[s.Phase], Flows: flowsOf(s.Flows), Unit: s.Unit.NodeID, Shard: i.shardName(record.ShardOf(s.CPSEID)), Since: at(s.Since),
	}
	if s.SD != nil {
		out.SNSSAI += "-" + hex.EncodeToString(s.SD[:])
	}
	out.Unit = i.unitName(s.Unit.NodeID)
	if s.Branch != nil {
		out.OnN3 = i.unitName(s.Branch.NodeID)
	}
	return out
}

// unitName is a unit's, or its Node ID where the configuration does not know it.
func (i *Inspection) unitName(nodeID string) string {
	if u := i.Configuration().Unit(nodeID); u != nil {
		return cmp.Or(u.Name, u.NodeID)
	}
	return nodeID
}

func (i *Inspection) shardName(number uint16) string {
	for _, s := range i.Shards {
		if s.Number == number {
			return s.Name
		}
	}
	return fmt.Sprint(number)
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func flowsOf(list []record.Flow) (out []Flow) {
	for _, f := range list {
		out = append(out, Flow{
			QFI: f.QFI, FiveQI: f.FiveQI, Name: f.Name, Priority: f.Priority, Refused: f.Refused,
			GFBRUplink: f.GFBRUplink, GFBRDownlink: f.GFBRDownlink, MFBRUplink: f.MFBRUplink, MFBRDownlink: f.MFBRDownlink,
		})
	}
	return out
}

// storyOf is all of a record that is no message.
func (i *Inspection) storyOf(s *record.Session) Story {
	out := Story{
		Session: i.sessionOf(s), Ref: s.Ref(), CPSEID: fmt.Sprintf("%#x", s.CPSEID), NodeID: s.Unit.NodeID, PLMN: s.PLMN,
		AMF: AMF{InstanceID: s.AMF.InstanceID, Set: s.AMF.Set}, AMBR: s.AMBR, Uplink: n4.TunnelText(s.Uplink), Downlink: n4.TunnelText(s.Downlink),
		AlwaysOn: s.AlwaysOn, Static: s.Static, FramedRoutes: n4.RoutesText(s), Policy: s.Policy, Charging: s.Charging, Subscribed: s.Subscribed, UnitInDoubt: s.Told != nil, Behind: s.Behind,
	}
	out.UPSEID = seid(s.UPSEID)
	if s.AMF.TAC != 0 {
		out.AMF.TAC = fmt.Sprintf("%06x", s.AMF.TAC)
	}
	if s.AMF.Cell != 0 {
		out.AMF.Cell = fmt.Sprintf("%09x", s.AMF.Cell)
	}
	underWay(s, &out)
	set := n4.Settings{}
	if network := procedure.NetworkOf(s, i.Configuration()); network != nil {
		set = network.Settings()
	} else {
		out.NoSlice = true
	}
	out.Rules = n4.Readable(s, set)
	i.way(s, set, &out)
	for _, p := range s.History {
		out.History = append(out.History, Past{Kind: procedure.Kind(p.Kind).String(), Failed: p.Result != 0, At: at(p.At), Took: p.Took})
	}
	return out
}

// seid in hexadecimal, "" for none.
func seid(n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", n)
}

// way of the session's packets beside its anchor.
func (i *Inspection) way(s *record.Session, set n4.Settings, out *Story) {
	if b := s.Branch; b != nil {
		out.Branch = &Branch{
			Unit: i.unitName(b.NodeID), NodeID: b.NodeID, CPSEID: seid(b.CPSEID), UPSEID: seid(b.UPSEID), Access: n4.TunnelText(b.Access), Core: n4.TunnelText(b.Core),
			Breakouts: b.Breakouts, Rules: n4.ReadableBranch(s, set),
		}
	}
	if l := s.Left; l != nil && l.NodeID != "" {
		out.Left = &Left{Unit: i.unitName(l.NodeID), NodeID: l.NodeID, CPSEID: seid(l.CPSEID), UPSEID: seid(l.UPSEID), Known: l.Known}
	}
}

// underWay is what has not ended.
func underWay(s *record.Session, out *Story) {
	if p := s.Procedure; p != nil {
		out.Procedure = &Procedure{Kind: procedure.Kind(p.Kind).String(), Step: p.Step, Attempts: p.Attempts, Began: at(p.Began)}
	}
	if c := s.Command; c != nil {
		out.Command = &Command{Kind: "modification", PTI: c.PTI, Attempts: c.Attempts, Began: at(c.Began)}
		if c.Release {
			out.Command.Kind = "release"
		}
	}
	if h := s.Handover; h != nil {
		out.Handover = &Handover{
			Target: n4.TunnelText(h.Target), Forwarding: n4.TunnelText(h.Forwarding), Relay: n4.TunnelText(h.Relay),
			Direct: h.Direct, Buffering: h.Buffering, Prepared: h.Prepared, Arrived: h.Arrived,
		}
	}
	if w := s.Wanted; w != nil {
		out.Wanted = &Wanted{Flows: flowsOf(w.Flows), Gone: numbers(w.Gone), UEOpen: w.UE, AccessOpen: w.Access, AMBRChanges: w.AMBR != record.AMBR{}}
	}
}

// numbers, because JSON has octets as base64.
func numbers(octets []byte) (out []int) {
	for _, b := range octets {
		out = append(out, int(b))
	}
	return out
}
