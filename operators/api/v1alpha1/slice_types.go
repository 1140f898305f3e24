package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Slice is one network slice of a core: an S-NSSAI with its data networks, and a share of a UPF.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=slices,singular=slice,shortName=sl,categories=core5g-all
// +kubebuilder:printcolumn:name="S-NSSAI",type=string,JSONPath=`.status.snssai`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="DNN",type=string,JSONPath=`.status.summary.dnns`
// +kubebuilder:printcolumn:name="Pools",type=string,JSONPath=`.status.summary.uePools`
// +kubebuilder:printcolumn:name="UPF",type=string,JSONPath=`.status.upf.name`
// +kubebuilder:printcolumn:name="N3",type=string,JSONPath=`.status.upf.n3Endpoint`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 28",message="the name of a Slice must be at most 28 characters: the name of its SMF's Service contains it"
type Slice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SliceSpec   `json:"spec,omitempty"`
	Status SliceStatus `json:"status,omitempty"`
}

// SliceList is a list of Slice.
//
// +kubebuilder:object:root=true
type SliceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Slice `json:"items"`
}

// SliceSpec says what the slice should be.
type SliceSpec struct {
	// coreRef names the Core5G that the slice belongs to.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="coreRef is immutable: delete the Slice and create it for the other core"
	CoreRef CoreReference `json:"coreRef,omitempty"`

	// snssai names the slice towards UEs and gNBs; it cannot change.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="snssai is immutable: create a second Slice with the new S-NSSAI and delete this one"
	SNSSAI SNSSAI `json:"snssai"`

	// dataNetworks that UEs reach in this slice.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.dnn.lowerAscii() == b.dnn.lowerAscii()))",message="two DNNs that differ only in case are one (TS 23.003 9.1): write one data network with the pools of both, or another name"
	// +listType=map
	// +listMapKey=dnn
	DataNetworks []DataNetwork `json:"dataNetworks"`

	// upfSelector chooses the UPFInstance: by name, or by labels that match exactly one.
	// +kubebuilder:default={name: "upf"}
	UPFSelector *UPFSelector `json:"upfSelector,omitempty"`

	// sessionManagement with controlPlane Core5G of the core: Shared has the PDU sessions served by the SMF of the core,
	// Dedicated by pods of this Slice's own. With Free5GC a Slice has an SMF of its own.
	// +kubebuilder:default=Shared
	SessionManagement SessionManagementMode `json:"sessionManagement,omitempty"`
}

// SessionManagementMode says whether a Slice has an SMF of its own.
// +kubebuilder:validation:Enum=Shared;Dedicated
type SessionManagementMode string

// Values of SessionManagementMode.
const (
	SessionManagementShared    SessionManagementMode = "Shared"
	SessionManagementDedicated SessionManagementMode = "Dedicated"
)

// DataNetwork is one data network of a slice. sessionTypes, pcscf, alwaysOn, policy, charging, flows, breakouts,
// staticPools, upfs, networkInstance, IPv6 pools and IPv6 DNS servers need controlPlane Core5G of the core: with Free5GC condition SMFReady
// says which of them the SMF does not know, and it is not started.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sessionTypes) || !has(self.uePools) || !self.sessionTypes.exists(t, t != 'IPv6') || self.uePools.exists(p, !isCIDR(p) || cidr(p).ip().family() == 4)",message="sessionTypes has IPv4, and uePools has no IPv4 network: write one, for example 10.45.0.0/16"
// +kubebuilder:validation:XValidation:rule="!has(self.sessionTypes) || !has(self.uePools) || !self.sessionTypes.exists(t, t in ['IPv6', 'IPv4v6']) || self.uePools.exists(p, !isCIDR(p) || cidr(p).ip().family() == 6)",message="sessionTypes has IPv6, and uePools has no IPv6 network: write one, for example 2001:db8:45::/48"
// +kubebuilder:validation:XValidation:rule="!has(self.dns) || !has(self.uePools) || self.uePools.exists(p, !isCIDR(p) || cidr(p).ip().family() == 6) || self.dns.all(d, !isIP(d) || ip(d).family() == 4)",message="dns has an IPv6 server, and UEs have IPv4 addresses only: write an IPv4 DNS server, for example 1.1.1.1, or add an IPv6 network to uePools"
// +kubebuilder:validation:XValidation:rule="!has(self.pcscf) || !has(self.uePools) || self.uePools.exists(p, !isCIDR(p) || cidr(p).ip().family() == 6) || self.pcscf.all(d, !isIP(d) || ip(d).family() == 4)",message="pcscf has an IPv6 server, and UEs have IPv4 addresses only: write an IPv4 address, or add an IPv6 network to uePools"
// +kubebuilder:validation:XValidation:rule="has(self.uePools) || (has(self.sessionTypes) && 'Ethernet' in self.sessionTypes)",message="uePools is missing: write the networks that UE addresses come from, for example [10.45.0.0/16]; only a data network of sessionTypes [Ethernet] has none"
// +kubebuilder:validation:XValidation:rule="!has(self.sessionTypes) || !('Ethernet' in self.sessionTypes) || self.sessionTypes.size() == 1",message="sessionTypes has Ethernet beside IP, and packets of one are nothing to the network of the other: write a data network of its own for Ethernet"
// +kubebuilder:validation:XValidation:rule="!has(self.sessionTypes) || !('Ethernet' in self.sessionTypes) || !(has(self.uePools) || has(self.staticPools) || has(self.dns) || has(self.pcscf) || has(self.breakouts) || has(self.poolRouting) || (has(self.upfs) && self.upfs.exists(u, has(u.uePools) || has(u.staticPools))))",message="the core gives UEs no IP addresses in a data network of Ethernet: leave uePools, staticPools, dns, pcscf, breakouts and poolRouting out, also of upfs"
// +kubebuilder:validation:XValidation:rule="(has(self.sessionTypes) && 'Ethernet' in self.sessionTypes) || !has(self.upfs) || self.upfs.all(u, has(u.uePools))",message="upfs has a UPFInstance without uePools: write the networks that addresses of its UEs come from, for example [10.46.0.0/16]"
type DataNetwork struct {
	// dnn is the data network name.
	DNN DNN `json:"dnn"`
	// networkInstance of N6 that the data network belongs to: one of the UPFInstance's spec.networkInstances, of its upfs and breakouts as well. When left
	// out: the one that is named as the DNN is, where there is one, else n6. PDU sessions that there are stay where they are.
	// +optional
	NetworkInstance DNN `json:"networkInstance,omitempty"`
	// uePools are the networks that UE addresses come from. No other data network of the core may use them in the same network instance. A data
	// network of Ethernet has none.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '::/8', 'fe80::/10', 'ff00::/8'].all(r, !cidr(r).containsCIDR(self) && !cidr(self).containsCIDR(r))",messageExpression="'\"' + self + '\" has addresses that no UE can have (RFC 6890: this network, loopback, link-local, multicast, reserved): write a private network, for example 10.45.0.0/16'"
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() == 4 || cidr(self).prefixLength() <= 64",messageExpression="'\"' + self + '\" has no room for UEs, which get a /64 each: write a network of prefix length 64 or less, for example 2001:db8:45::/48'"
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || cidr(self).ip().family() == 6 || cidr(self).prefixLength() <= 30",messageExpression="'\"' + self + '\" has no room for UEs: write a network of prefix length 30 or less, for example 10.45.0.0/16'"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.all(b, a == b || !isCIDR(a) || !isCIDR(b) || !cidr(a).containsCIDR(b)))",message="uePools of one data network must not overlap: write the larger one only"
	UEPools []CIDR `json:"uePools,omitempty"`
	// sessionTypes that UEs may ask for; the first is given to those that ask for none. When left out: those that uePools
	// has addresses for, IPv4 first. Ethernet stands alone: PDU sessions are ports of a bridge, in a network instance of type Ethernet.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="sessionTypes names one twice: write it once"
	// +listType=atomic
	SessionTypes []SessionType `json:"sessionTypes,omitempty"`
	// staticPools are the networks that static addresses of Subscribers lie in, and that are routed to the UPF: with
	// several units each has a part, as of uePools. One unit alone has whatever is routed to it.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	StaticPools []CIDR `json:"staticPools,omitempty"`
	// dns servers told to UEs, the first first, of the IP versions that UEs' addresses are: two of each. An image of
	// free5GC itself tells the first only.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="[4, 6].all(v, self.filter(d, isIP(d) && ip(d).family() == v).size() <= 2)",message="dns has more than two servers of one IP version: write two of each at most"
	// +kubebuilder:validation:items:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",messageExpression="'\"' + self + '\" is no address of a server: write one that UEs reach through N6, for example 1.1.1.1'"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="dns names one server twice: write it once"
	// +listType=atomic
	DNS []IPAddress `json:"dns,omitempty"`
	// ambr of a PDU session (session AMBR).
	// +kubebuilder:default={}
	AMBR AMBR `json:"ambr,omitempty"`
	// fiveQI of the default QoS flow, which is non-GBR (TS 23.501 5.7.2.7): 5 to 10, 69, 70, 79 or 80 of table 5.7.4-1, or
	// 128 to 254, which the operator of the network defines and gNBs are configured with.
	// +kubebuilder:default=9
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=254
	// +kubebuilder:validation:XValidation:rule="!(self in [1, 2, 3, 4, 65, 66, 67, 71, 72, 73, 74, 75, 76]) && !(self >= 82 && self <= 90)",message="fiveQI is that of a GBR flow, and the default QoS flow has no guaranteed bit rate: write 9, another of 5 to 10, 69, 70, 79, 80, or one of 128 to 254 that your gNBs are configured with"
	// +kubebuilder:validation:XValidation:rule="!(self in [68, 77, 78, 81]) && !(self >= 11 && self <= 64) && !(self >= 91 && self <= 127)",message="fiveQI is not in TS 23.501 table 5.7.4-1: write 9, another of 5 to 10, 69, 70, 79, 80, or one of 128 to 254 that your gNBs are configured with"
	FiveQI int32 `json:"fiveQI,omitempty"`
	// arp of the default QoS flow.
	// +kubebuilder:default={}
	ARP ARP `json:"arp,omitempty"`
	// mtu of the PDU session in bytes, as told to UEs that ask; N3 needs 44 more. Of Ethernet it is that of a frame's payload, and N3 needs 66
	// more, for two VLAN tags. free5GC's SMF tells 1400 in any case.
	// +kubebuilder:default=1400
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9000
	MTU int32 `json:"mtu,omitempty"`
	// pcscf are the P-CSCF servers told to UEs that ask (TS 23.228 5.1.1), the first first.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:XValidation:rule="!isIP(self) || ip(self).isGlobalUnicast()",messageExpression="'\"' + self + '\" is no address of a server: write one that UEs reach through N6, for example 192.0.2.5'"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a == b))",message="pcscf names one server twice: write it once"
	// +listType=atomic
	PCSCF []IPAddress `json:"pcscf,omitempty"`
	// alwaysOn says which PDU sessions are always-on: Never, those whose UE asks for it (Requested), or all (Always). Never
	// when left out.
	// +optional
	AlwaysOn AlwaysOnPolicy `json:"alwaysOn,omitempty"`
	// policy PCF asks the PCF for the rules of each PDU session, Slice takes what is written here. When left out: Slice with
	// controlPlane Core5G of the core, PCF with Free5GC.
	// +optional
	Policy PolicySource `json:"policy,omitempty"`
	// charging Offline tells the CHF what was used, Online asks it for quotas, and packets stop where they end. When left
	// out: None with controlPlane Core5G of the core; with Free5GC what the CHF says.
	// +optional
	Charging ChargingMode `json:"charging,omitempty"`
	// ratingGroup that packets of the default QoS flow are charged to (TS 32.290), and those of flows without one of their own;
	// 1 when left out. Only controlPlane Core5G of the core reads it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	RatingGroup int32 `json:"ratingGroup,omitempty"`
	// flows beside the default QoS flow.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.precedence == b.precedence))",message="two flows have one precedence: write another for one of them"
	// +listType=map
	// +listMapKey=name
	Flows []QoSFlow `json:"flows,omitempty"`
	// breakouts to networks near the UE.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	Breakouts []Breakout `json:"breakouts,omitempty"`
	// upfs that serve the data network beside the one that spec.upfSelector chooses.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	UPFs []DataNetworkUPF `json:"upfs,omitempty"`
	// poolRouting says where packets to UEs' addresses arrive: each at the unit whose pool it is of (PerUnit), or at every unit, because
	// routers take any of them (AllUnits). With AllUnits PDU sessions move with their addresses from a unit that drains or is taken away
	// to another; otherwise their UEs ask for others. PerUnit when left out.
	// +optional
	PoolRouting PoolRouting `json:"poolRouting,omitempty"`
}

// IsEthernet says whether PDU sessions of the data network are of type Ethernet.
func (d *DataNetwork) IsEthernet() bool { return slices.Contains(d.SessionTypes, SessionEthernet) }

// PoolRouting says where packets to UEs' addresses arrive.
// +kubebuilder:validation:Enum=PerUnit;AllUnits
type PoolRouting string

// Values of PoolRouting.
const (
	// PoolRoutingPerUnit leads each address to the unit whose pool it is of.
	PoolRoutingPerUnit PoolRouting = "PerUnit"
	// PoolRoutingAllUnits leads any address to every unit.
	PoolRoutingAllUnits PoolRouting = "AllUnits"
)

// UPFSelector chooses one UPFInstance.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.matchLabels)",message="upfSelector takes either name or matchLabels: write exactly one of them"
type UPFSelector struct {
	// name of the UPFInstance.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// matchLabels that exactly one UPFInstance carries.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// SliceStatus says what the slice is. Conditions: Ready, Advertised, PoolsValid, UPFReady, SMFReady; FurtherUPFsReady where
// upfs or breakouts name UPFInstances; with controlPlane Free5GC and several units UserPlaneFollowed; Released while it is being deleted.
type SliceStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// snssai as 3GPP writes it, for example 1-010203.
	// +optional
	SNSSAI string `json:"snssai,omitempty"`
	// smf is the name of the SMF's Deployment and Service.
	// +optional
	SMF string `json:"smf,omitempty"`
	// upf is the user plane that the slice has. A spec.upfSelector that chooses none, or one that is not ready, leaves a
	// slice whose SMF runs where it is.
	// +optional
	UPF *SliceUPFStatus `json:"upf,omitempty"`
	// previousUPF is the user plane that the slice had before. It keeps its N3 endpoint until the SMF has left it and
	// its sessions are released.
	// +optional
	PreviousUPF *SliceUPFStatus `json:"previousUPF,omitempty"`
	// summary of the data networks, for kubectl's columns, which show one value of a list.
	// +optional
	Summary SliceSummary `json:"summary,omitempty"`
	// uePools in force, over all data networks.
	// +optional
	// +listType=atomic
	UEPools []string `json:"uePools,omitempty"`
}

// SliceSummary says what the data networks of a slice are, joined by commas in the order of spec.dataNetworks.
type SliceSummary struct {
	// dnns, for example "internet,ims".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DNNs string `json:"dnns,omitempty"`
	// uePools that are asked for, for example "10.45.0.0/16,10.46.0.0/16".
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	UEPools string `json:"uePools,omitempty"`
}

// SliceUPFStatus is the user plane that a slice was given.
type SliceUPFStatus struct {
	// name of the UPFInstance.
	Name string `json:"name"`
	// n3Endpoint is the UPF's N3 address that is this slice's alone.
	// +optional
	N3Endpoint string `json:"n3Endpoint,omitempty"`
	// n4Address is where the SMF reaches the UPF.
	// +optional
	N4Address string `json:"n4Address,omitempty"`
	// units of the UPFInstance that serve the slice, where there can be more than one.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Units []SliceUnitStatus `json:"units,omitempty"`
}

// SliceUnitStatus is one unit in the user plane of a slice.
type SliceUnitStatus struct {
	// name of the unit.
	Name string `json:"name"`
	// n3Endpoint is the unit's N3 address that is this slice's alone.
	N3Endpoint string `json:"n3Endpoint"`
	// n4Address is where the SMF reaches the unit.
	N4Address string `json:"n4Address"`
	// uePools is the unit's part of the UE pools: routes to it lead to the unit's N6 address.
	// +optional
	// +listType=atomic
	UEPools []string `json:"uePools,omitempty"`
}
