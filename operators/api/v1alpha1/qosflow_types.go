package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// SessionType is a PDU session type (TS 23.501 5.8.2.2).
// +kubebuilder:validation:Enum=IPv4;IPv6;IPv4v6;Ethernet
type SessionType string

// Values of SessionType.
const (
	SessionIPv4     SessionType = "IPv4"
	SessionIPv6     SessionType = "IPv6"
	SessionIPv4v6   SessionType = "IPv4v6"
	SessionEthernet SessionType = "Ethernet"
)

// AlwaysOnPolicy says which PDU sessions are always-on (TS 23.501 5.6.13).
// +kubebuilder:validation:Enum=Never;Requested;Always
type AlwaysOnPolicy string

// Values of AlwaysOnPolicy.
const (
	AlwaysOnNever     AlwaysOnPolicy = "Never"
	AlwaysOnRequested AlwaysOnPolicy = "Requested"
	AlwaysOnAlways    AlwaysOnPolicy = "Always"
)

// PolicySource says where the rules of a PDU session come from.
// +kubebuilder:validation:Enum=PCF;Slice
type PolicySource string

// Values of PolicySource.
const (
	// PolicyPCF asks the PCF, to which flows are predefined rules (TS 29.512 4.2.6.2.1).
	PolicyPCF PolicySource = "PCF"
	// PolicySlice takes the rules of the Slice, and asks nobody.
	PolicySlice PolicySource = "Slice"
)

// ChargingMode says what the CHF hears of a PDU session (TS 32.255 5.1).
// +kubebuilder:validation:Enum=None;Offline;Online
type ChargingMode string

// Values of ChargingMode.
const (
	ChargingNone    ChargingMode = "None"
	ChargingOffline ChargingMode = "Offline"
	ChargingOnline  ChargingMode = "Online"
)

// FlowGiven says which PDU sessions have a QoS flow.
// +kubebuilder:validation:Enum=Always;ToSubscribers
type FlowGiven string

// Values of FlowGiven.
const (
	FlowAlways        FlowGiven = "Always"
	FlowToSubscribers FlowGiven = "ToSubscribers"
)

// QoSFlow is a QoS flow beside the default one (TS 23.501 5.7).
//
// +kubebuilder:validation:XValidation:rule="!(self.fiveQI in [1, 2, 3, 4, 65, 66, 67, 71, 72, 73, 74, 75, 76] || (self.fiveQI >= 82 && self.fiveQI <= 90)) || has(self.gbr)",message="fiveQI is that of a GBR flow (TS 23.501 table 5.7.4-1): write gbr, for example gbr: {uplink: 64 Kbps, downlink: 64 Kbps}, or a fiveQI of 5 to 10, 69, 70, 79, 80"
// +kubebuilder:validation:XValidation:rule="!(self.fiveQI in [5, 6, 7, 8, 9, 10, 69, 70, 79, 80]) || !has(self.gbr)",message="fiveQI is that of a flow without a guaranteed bit rate (TS 23.501 table 5.7.4-1): leave gbr and mbr out, or write a fiveQI of a GBR flow, for example 1 to 4"
// +kubebuilder:validation:XValidation:rule="!has(self.mbr) || has(self.gbr)",message="mbr needs gbr: the session AMBR bounds flows without a guaranteed bit rate (TS 23.501 5.7.2.5)"
type QoSFlow struct {
	// name of the flow, by which a Subscriber asks for it and the PCF may activate it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// fiveQI of the flow: one of TS 23.501 table 5.7.4-1, or 128 to 254, which the operator of the network defines and gNBs
	// are configured with.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=254
	// +kubebuilder:validation:XValidation:rule="!(self in [68, 77, 78, 81]) && !(self >= 11 && self <= 64) && !(self >= 91 && self <= 127)",message="fiveQI is not in TS 23.501 table 5.7.4-1: write one of 1 to 10, 65 to 67, 69 to 76, 79, 80, 82 to 90, or of 128 to 254 that your gNBs are configured with"
	FiveQI int32 `json:"fiveQI"`
	// arp of the flow.
	// +kubebuilder:default={}
	ARP ARP `json:"arp,omitempty"`
	// gbr are the guaranteed bit rates of a GBR flow.
	// +optional
	GBR *FlowBitRates `json:"gbr,omitempty"`
	// mbr are the maximum bit rates of a GBR flow; the guaranteed ones when left out.
	// +optional
	MBR *FlowBitRates `json:"mbr,omitempty"`
	// precedence of the flow's filters, the lowest first (TS 24.501 9.11.4.13).
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=254
	Precedence int32 `json:"precedence"`
	// given Always: every PDU session of the data network has the flow. ToSubscribers: those whose Subscriber names it.
	// +kubebuilder:default=Always
	Given FlowGiven `json:"given,omitempty"`
	// ratingGroup that its packets are charged to; the data network's when left out.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RatingGroup int32 `json:"ratingGroup,omitempty"`
	// filters tell which packets are the flow's; one that matches is enough.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Filters []FlowFilter `json:"filters"`
}

// FlowBitRate is a number, a space and a unit, as a BitRate, of which there are too many here for its sentences.
//
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,4} (Kbps|Mbps|Gbps)$`
type FlowBitRate string

// FlowBitRates are the bit rates of a QoS flow.
type FlowBitRates struct {
	// uplink bit rate.
	Uplink FlowBitRate `json:"uplink"`
	// downlink bit rate.
	Downlink FlowBitRate `json:"downlink"`
}

// FilterDirection says which packets a filter looks at.
// +kubebuilder:validation:Enum=Uplink;Downlink;Bidirectional
type FilterDirection string

// Values of FilterDirection.
const (
	FilterUplink        FilterDirection = "Uplink"
	FilterDownlink      FilterDirection = "Downlink"
	FilterBidirectional FilterDirection = "Bidirectional"
)

// PacketFilter matches packets by what it names; what it leaves out matches everything (TS 23.501 5.7.6.2). The remote
// side is the data network's, the local one the UE's.
type PacketFilter struct {
	// direction of the packets.
	// +kubebuilder:default=Bidirectional
	Direction FilterDirection `json:"direction,omitempty"`
	// remote network.
	// +optional
	Remote CIDR `json:"remote,omitempty"`
	// protocol above IP: TCP, UDP, ICMP, ICMPv6, SCTP, ESP, or a number of IANA's.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? (self >= 0 && self <= 255) : (self in ['TCP', 'UDP', 'ICMP', 'ICMPv6', 'SCTP', 'ESP'])",message="protocol must be one of TCP, UDP, ICMP, ICMPv6, SCTP, ESP, or a number from 0 to 255"
	Protocol *intstr.IntOrString `json:"protocol,omitempty"`
	// remotePorts is one port, or the first and the last of a range, for example 5060-5061.
	// +optional
	RemotePorts *Ports `json:"remotePorts,omitempty"`
	// localPorts of the UE, written alike.
	// +optional
	LocalPorts *Ports `json:"localPorts,omitempty"`
}

// FlowFilter matches the packets of a QoS flow.
type FlowFilter struct {
	PacketFilter `json:",inline"`
	// ethernet is what frames have, in a data network of Ethernet (TS 23.501 5.7.6.3). What is named beside it is looked for in the IP packet of the
	// frame.
	// +optional
	Ethernet *EthernetFilter `json:"ethernet,omitempty"`
}

// EthernetFilter matches frames by what it names.
type EthernetFilter struct {
	// remoteMAC is the address in the data network: the destination of uplink frames, and the source of downlink ones.
	// +optional
	RemoteMAC MACAddress `json:"remoteMAC,omitempty"`
	// localMAC is the address at the UE.
	// +optional
	LocalMAC MACAddress `json:"localMAC,omitempty"`
	// vlan is the ID in the 802.1Q tag (C-TAG).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN int32 `json:"vlan,omitempty"`
	// serviceVLAN is the ID in the tag of 802.1ad (S-TAG).
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	ServiceVLAN int32 `json:"serviceVLAN,omitempty"`
	// etherType behind the tags, hexadecimal and in quotes, for example "0x88b8" for GOOSE.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^0x(0[6-9a-fA-F]|[1-9a-fA-F][0-9a-fA-F])[0-9a-fA-F]{2}$`
	EtherType string `json:"etherType,omitempty"`
}

// MACAddress is one of IEEE 802, six octets in hexadecimal, for example 02:00:00:00:00:01.
//
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$`
type MACAddress string

// Ports is a port, or the first and the last of a range.
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:MaxLength=11
// +kubebuilder:validation:XValidation:rule="type(self) == int ? (self >= 1 && self <= 65535) : self.matches('^[0-9]{1,5}(-[0-9]{1,5})?$')",message="ports must be one from 1 to 65535, for example 80, or a range, for example 5060-5061"
type Ports intstr.IntOrString

// UnmarshalJSON reads a number or text.
func (p *Ports) UnmarshalJSON(raw []byte) error { return (*intstr.IntOrString)(p).UnmarshalJSON(raw) }

// MarshalJSON writes what was read.
func (p Ports) MarshalJSON() ([]byte, error) { return intstr.IntOrString(p).MarshalJSON() }

// String is the text of either.
func (p *Ports) String() string { return (*intstr.IntOrString)(p).String() }

// Breakout has packets to some networks leave at a UPF nearer to the UE (uplink classifier, TS 23.501 5.6.4.2).
type Breakout struct {
	// name of the breakout.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// prefixes of the networks that are reached there.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Prefixes []CIDR `json:"prefixes"`
	// upfInstance is the name of the UPFInstance where they leave.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	UPFInstance string `json:"upfInstance"`
	// tacs where it holds; everywhere when left out.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	TACs []TAC `json:"tacs,omitempty"`
}

// DataNetworkUPF is a further UPFInstance that serves a data network.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fallback) || self.fallback != 'None' || has(self.tacs) && self.tacs.size() > 0",message="fallback None is for PDU sessions in tacs, and there are none: write the tracking areas whose gNBs reach no other UPF, or leave fallback out"
type DataNetworkUPF struct {
	// name of the UPFInstance.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// uePools are the networks that its UEs' addresses come from. No other UPF may use them. A data network of Ethernet has none.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	UEPools []CIDR `json:"uePools,omitempty"`
	// staticPools are the networks of static addresses that are routed to it.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	StaticPools []CIDR `json:"staticPools,omitempty"`
	// tacs that it serves; all when left out. A UPF that names the UE's tracking area comes before one that names none.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	TACs []TAC `json:"tacs,omitempty"`
	// fallback for PDU sessions in its tacs while it cannot serve: Any has other UPFInstances of the data network that name no tacs serve them; None has
	// new ones refused until one that names the tracking area serves again, because gNBs there reach no other. It is between gNB and anchor of a UE that
	// comes from elsewhere, then. Any when left out.
	// +optional
	Fallback UPFFallback `json:"fallback,omitempty"`
}

// UPFFallback says who else serves the tracking areas of a UPFInstance.
// +kubebuilder:validation:Enum=Any;None
type UPFFallback string

// Values of UPFFallback.
const (
	UPFFallbackAny  UPFFallback = "Any"
	UPFFallbackNone UPFFallback = "None"
)
