package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UPFInstance is a user plane function: pods that the operator owns, one per unit, with an N3 and an N6
// side, or one that runs elsewhere and is named by spec.external. Several Slices share it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.units,statuspath=.status.units,selectorpath=.status.selector
// +kubebuilder:resource:path=upfinstances,singular=upfinstance,shortName=upf,categories=core5g-all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Units",type=string,JSONPath=`.status.readyUnits`
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driver`
// +kubebuilder:printcolumn:name="N3",type=string,JSONPath=`.spec.n3.endpoints`
// +kubebuilder:printcolumn:name="N6",type=string,JSONPath=`.spec.n6.address`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.spec.administrativeState`
// +kubebuilder:printcolumn:name="Update",type=string,JSONPath=`.status.conditions[?(@.type=="UpdatePending")].status`,priority=1
// +kubebuilder:printcolumn:name="External",type=string,JSONPath=`.spec.external.n4.address`,priority=1
// +kubebuilder:printcolumn:name="Places",type=string,JSONPath=`.status.places`,priority=1
// +kubebuilder:printcolumn:name="Aligned",type=string,JSONPath=`.status.conditions[?(@.type=="NUMAAligned")].status`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50",message="the name of a UPFInstance must be at most 50 characters: the names of its units begin with it"
type UPFInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UPFInstanceSpec   `json:"spec,omitempty"`
	Status UPFInstanceStatus `json:"status,omitempty"`
}

// UPFInstanceList is a list of UPFInstance.
//
// +kubebuilder:object:root=true
type UPFInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UPFInstance `json:"items"`
}

// DefaultSessions is how many sessions a unit has room for where nothing else is written: what upf-u has by itself.
const DefaultSessions = 65536

// UPFInstanceSpec says what the UPF should be.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cpus) || self.cpus > self.workers || (self.cpus == 1 && self.workers == 1)",message="cpus must be at least workers + 1: each worker runs alone on a CPU, and several leave none for the control thread"
// +kubebuilder:validation:XValidation:rule="self.driver != 'VFIO' || (self.n3.attachment.type in ['HostDevice', 'SRIOV', 'Existing'] && self.n6.attachment.type in ['HostDevice', 'SRIOV', 'Existing'])",message="driver VFIO needs n3.attachment.type and n6.attachment.type HostDevice, SRIOV or Existing: a virtual function is moved into the pod"
// +kubebuilder:validation:XValidation:rule="self.driver != 'VFIO' || (has(self.n3.attachment.resourceName) && has(self.n6.attachment.resourceName))",message="driver VFIO needs n3.attachment.resourceName and n6.attachment.resourceName: UPF-U finds its virtual functions by the device plugin's resource, for example core5g.dev/n3_socket0"
// +kubebuilder:validation:XValidation:rule="self.driver != 'VFIO' || !has(self.networkInstances) || self.networkInstances.all(i, !has(i.attachment) || (i.attachment.type in ['HostDevice', 'SRIOV', 'Existing'] && has(i.attachment.resourceName)))",message="driver VFIO needs networkInstances[].attachment.type HostDevice, SRIOV or Existing, with resourceName: a virtual function is moved into the pod. Leave attachment out, and the network instance is a vlan of n6's"
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnits) || !has(self.units) || self.units <= self.maxUnits",message="units must be at most maxUnits: addresses are divided for that many"
// +kubebuilder:validation:XValidation:rule="has(self.external) || (has(self.n3) && has(self.n6))",message="n3 and n6 are missing: write the networks of the UPF's pods, or external for a UPF that runs elsewhere"
// +kubebuilder:validation:XValidation:rule="has(self.external) == has(oldSelf.external)",message="external can neither be added nor taken away: delete the UPFInstance and create it anew"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !(has(self.n3) || has(self.n6) || has(self.maxUnits) || has(self.placement) || has(self.updateStrategy) || has(self.redundancy) || has(self.cpus) || has(self.nodeSelector) || has(self.tolerations) || has(self.priorityClassName) || has(self.networkInstances) || has(self.predefinedRules))",message="external is a UPF that runs elsewhere: leave out n3, n6, networkInstances, maxUnits, placement, updateStrategy, redundancy, predefinedRules, cpus, nodeSelector, tolerations and priorityClassName, which are of pods; external.networkInstances has its names for networks"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || (self.units == 1 && self.workers == 1 && self.driver == 'AFPacket' && self.ueToUE == 'Deny' && self.sessions == 65536 && (!has(self.memory) || self.memory == '256Mi') && self.hugepages.size == '2Mi' && (!has(self.hugepages.amount) || self.hugepages.amount == '512Mi'))",message="external is one UPF that runs elsewhere: leave out units, workers, driver, sessions, hugepages, memory and ueToUE, which are of pods, and name each further UPF in a UPFInstance of its own; administrativeState takes it out of service"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.n4.controlPlaneSubnets)",message="external: leave out n4.controlPlaneSubnets, which the operator writes into the configuration of pods, and write it into that of the UPF (upf-c: pfcp.controlPlaneSubnets)"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.n4.serviceType)",message="external: leave out n4.serviceType, which is of pods: external.n4.address says where the UPF is reached"
// +kubebuilder:validation:XValidation:rule="has(self.external) || (has(self.placement) && has(self.placement.policy) && self.placement.policy != 'Any') || ((!has(self.n3.attachment.resourceName) || !self.n3.attachment.resourceName.contains('{cell}')) && (!has(self.n6.attachment.resourceName) || !self.n6.attachment.resourceName.contains('{cell}')) && (!has(self.networkInstances) || self.networkInstances.all(i, !has(i.attachment) || !has(i.attachment.resourceName) || !i.attachment.resourceName.contains('{cell}'))))",message="{cell} in attachment.resourceName needs placement.policy PerSocket or SingleNUMA: with Any there is no cell to put there"
// +kubebuilder:validation:XValidation:rule="!has(self.updateStrategy) || self.updateStrategy.type != 'Switch' || (has(self.redundancy) && self.redundancy.standbys > 0)",message="updateStrategy.type Switch needs redundancy: {standbys: 1}: a unit is handed over to its standby"
type UPFInstanceSpec struct {
	// coreRef names the Core5G whose images and log level the UPF uses.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="coreRef is immutable: delete the UPFInstance and create it for the other core"
	CoreRef CoreReference `json:"coreRef,omitempty"`

	// external names a UPF that runs elsewhere: at another site, in another cluster, on bare metal. The operator makes nothing
	// for it; Slices choose it as any other, and core5g's own SMF (controlPlane Core5G) has an association with it.
	// +optional
	External *ExternalSpec `json:"external,omitempty"`

	// units is the number of pods. Each has an N4 Service, a part of n3.endpoints, an N6 address and a
	// part of the UE pools of its own; n6.unitAddresses is where the further N6 addresses come from.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Units *int32 `json:"units,omitempty"`

	// maxUnits that units will ever be raised to. n3.endpoints and the UE pools are divided for that many,
	// the next power of two, from the beginning: raising units within it restarts nothing. When left out:
	// units, and raising units beyond a power of two divides anew, which restarts all of them.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxUnits *int32 `json:"maxUnits,omitempty"`

	// placement of the units on nodes and NUMA cells. When left out: wherever the scheduler finds room.
	// +optional
	Placement *PlacementSpec `json:"placement,omitempty"`

	// drain says how long a unit that is to stop may wait for its PDU sessions to end. When left out: not
	// at all.
	// +optional
	Drain *DrainSpec `json:"drain,omitempty"`

	// updateStrategy says who decides when a change of this UPFInstance restarts its units.
	// +optional
	UpdateStrategy *UpdateStrategySpec `json:"updateStrategy,omitempty"`

	// redundancy of the units. When left out: none, and sessions of a unit whose pod dies are made again in its next one,
	// after seconds without packets.
	// +optional
	Redundancy *RedundancySpec `json:"redundancy,omitempty"`

	// driver that UPF-U takes packets with.
	// +kubebuilder:default=AFPacket
	Driver UPFDriver `json:"driver,omitempty"`

	// workers that forward packets, one CPU each.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Workers int32 `json:"workers,omitempty"`

	// cpus that UPF-U has to itself. When left out: one for one worker, which shares it with the control
	// thread, else workers + 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	CPUs *int32 `json:"cpus,omitempty"`

	// sessions that a unit has room for. Hugepages and memory of its pods follow, where they are left out. A change replaces the units; a smaller
	// number ends PDU sessions whose places in the tables go.
	// +kubebuilder:default=65536
	// +kubebuilder:validation:XValidation:rule="self >= 1024 && self <= 1048576",message="sessions must be from 1024 to 1048576: for more, raise units"
	Sessions int32 `json:"sessions,omitempty"`

	// hugepages of UPF-U.
	// +kubebuilder:default={}
	Hugepages HugepagesSpec `json:"hugepages,omitempty"`

	// memory of UPF-U beside its hugepages. When left out: 256Mi, and with more than 65,536 sessions what the further ones need.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`

	// n3 is the side of the gNBs. Needed unless external is written.
	// +optional
	N3 N3Spec `json:"n3,omitzero"`

	// n4 is the side of the SMFs.
	// +kubebuilder:default={}
	N4 N4Spec `json:"n4,omitempty"`

	// n6 is the side of the data network. Needed unless external is written.
	// +optional
	N6 N6Spec `json:"n6,omitzero"`

	// networkInstances of N6 beside n6 (TS 29.244 5.4). Each has addresses, routes and UE IP addresses of its own, which may be the same as
	// another one's: a packet of one never reaches another. Data networks of Slices belong to the one that they name
	// (networkInstance), or that is named as they are; all others to n6. A change restarts the units.
	// +optional
	// +kubebuilder:validation:MaxItems=15
	// +listType=map
	// +listMapKey=name
	NetworkInstances []NetworkInstance `json:"networkInstances,omitempty"`

	// predefinedRules that SMFs activate by name in a PDR (TS 29.244 5.19). The PDR says whose packets are looked at, and what
	// becomes of them; the rule, which of them are meant. A change restarts the units.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	PredefinedRules []PredefinedRule `json:"predefinedRules,omitempty"`

	// ueToUE says whether one UE may send packets to another through this UPF, in the same network instance.
	// +kubebuilder:default=Deny
	UEToUE UEToUE `json:"ueToUE,omitempty"`

	// administrativeState (ITU-T X.731): Locked takes the units away; ShuttingDown lets their PDU sessions
	// end first, for the time of drain or 300 s, and takes no new ones and no new Slice.
	// +kubebuilder:default=Unlocked
	AdministrativeState AdministrativeState `json:"administrativeState,omitempty"`

	// nodeSelector restricts the nodes that units run on.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of the units.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// priorityClassName of the units, so that a node that is full ends others first. A change replaces the units.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// PlacementPolicy says what the place of a unit is.
// +kubebuilder:validation:Enum=Any;SingleNUMA;PerSocket
type PlacementPolicy string

// Values of PlacementPolicy.
const (
	// PlacementAny leaves cells to the kubelet and, where nothing else bounds them, nodes to the scheduler.
	PlacementAny PlacementPolicy = "Any"
	// PlacementSingleNUMA takes CPUs, hugepages and devices of a unit from one NUMA cell.
	PlacementSingleNUMA PlacementPolicy = "SingleNUMA"
	// PlacementPerSocket does too, and no two units of the UPFInstance share a cell.
	PlacementPerSocket PlacementPolicy = "PerSocket"
)

// PlacementEnforcement says what happens when a placement cannot be had.
// +kubebuilder:validation:Enum=Required;Preferred
type PlacementEnforcement string

// Values of PlacementEnforcement.
const (
	// EnforcementRequired lets no unit run anywhere else.
	EnforcementRequired PlacementEnforcement = "Required"
	// EnforcementPreferred leaves a unit that has no place to the scheduler, and condition NUMAAligned says so.
	EnforcementPreferred PlacementEnforcement = "Preferred"
)

// RemoteNIC says whether a unit may have devices of another cell.
// +kubebuilder:validation:Enum=Deny;Allow
type RemoteNIC string

// Values of RemoteNIC.
const (
	RemoteNICDeny  RemoteNIC = "Deny"
	RemoteNICAllow RemoteNIC = "Allow"
)

// PlacementSpread says in which order nodes are filled.
// +kubebuilder:validation:Enum=Nodes;None
type PlacementSpread string

// Values of PlacementSpread.
const (
	// SpreadNodes gives the next unit to the node with the fewest.
	SpreadNodes PlacementSpread = "Nodes"
	// SpreadNone fills one node before the next.
	SpreadNone PlacementSpread = "None"
)

// PlacementSpec says where units go. PerSocket and SingleNUMA need node agents: places are planned from
// what their DataplaneNodes report. nodeSelector and tolerations hold too.
type PlacementSpec struct {
	// policy of places.
	// +kubebuilder:default=Any
	Policy PlacementPolicy `json:"policy,omitempty"`
	// enforcement of the policy.
	// +kubebuilder:default=Required
	Enforcement PlacementEnforcement `json:"enforcement,omitempty"`
	// maxPerNode bounds the units of this UPFInstance on one node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	MaxPerNode *int32 `json:"maxPerNode,omitempty"`
	// allowRemoteNIC Allow lets a unit use devices of another cell of its node where its own has none
	// left. The kubelet's topology manager must let such a pod in: single-numa-node does not.
	// +kubebuilder:default=Deny
	AllowRemoteNIC RemoteNIC `json:"allowRemoteNIC,omitempty"`
	// spread of units over nodes.
	// +kubebuilder:default=Nodes
	Spread PlacementSpread `json:"spread,omitempty"`
	// lostNodeAfter is how long a node may be not ready before a pod of a unit there that cannot serve any more is made elsewhere, for
	// example 2m; 10s to 24h. With redundancy that is the pod from which the standby has taken over, by the unit's Lease. Who might serve is never made twice: such a pod waits
	// until its node is back, or has the taint node.kubernetes.io/out-of-service. When left out, every pod waits.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="placement.lostNodeAfter must be a duration from 10s to 24h, for example 2m"
	LostNodeAfter *metav1.Duration `json:"lostNodeAfter,omitempty"`
}

// DrainSpec says how a unit stops.
type DrainSpec struct {
	// timeout of the wait for the PDU sessions of a unit to end, before it stops all the same, for example 5m; 24h at most.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="drain.timeout must be a duration from 0s to 24h, for example 5m"
	Timeout metav1.Duration `json:"timeout"`
}

// UpdateStrategyType says who decides about restarts.
// +kubebuilder:validation:Enum=RollingUpdate;OnApproval;Switch
type UpdateStrategyType string

// Values of UpdateStrategyType.
const (
	// UpdateRolling replaces one unit after the other when the UPFInstance is changed.
	UpdateRolling UpdateStrategyType = "RollingUpdate"
	// UpdateOnApproval waits for the annotation that condition UpdatePending names, as a new operator does.
	UpdateOnApproval UpdateStrategyType = "OnApproval"
	// UpdateSwitch replaces the standby of a unit, hands the unit over to it, which loses no packet, and replaces the other pod: when
	// the UPFInstance is changed, and when a new operator brings another image or configuration, which nobody has to let through. A unit
	// that cannot be handed over waits. It needs redundancy.
	UpdateSwitch UpdateStrategyType = "Switch"
)

// UpdateStrategySpec says how a change reaches the units.
type UpdateStrategySpec struct {
	// type of the strategy. RollingUpdate replaces one unit after the other when the UPFInstance is changed; OnApproval waits for the
	// annotation that condition UpdatePending names, as both do for a new version of the operator; Switch, with redundancy, waits for nobody: it
	// replaces the standby, hands the unit over, which loses no packet, and replaces the other pod.
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`
}

// RedundancySpec says who goes on when the pod of a unit dies.
type RedundancySpec struct {
	// standbys of each unit: pods with the same resources, on other nodes where there are some, that hold all sessions of the unit
	// and take its N3, N4 and N6 addresses over. N3 and N6 must reach all these nodes. They count for placement.maxPerNode, and with
	// attachment.macAddress the addresses behind those of the units are theirs. A change replaces the units.
	// +kubebuilder:validation:XValidation:rule="self >= 0 && self <= 1",message="redundancy.standbys: a unit has one standby at most: write 1, or 0 for none"
	Standbys int32 `json:"standbys"`
}

// UPFDriver is how UPF-U takes packets.
// +kubebuilder:validation:Enum=AFPacket;VFIO
type UPFDriver string

// Values of UPFDriver.
const (
	// DriverAFPacket runs on any interface: labs and tests.
	DriverAFPacket UPFDriver = "AFPacket"
	// DriverVFIO takes virtual functions of SR-IOV NICs: production.
	DriverVFIO UPFDriver = "VFIO"
)

// HugepagesSpec is the hugepage memory of UPF-U.
type HugepagesSpec struct {
	// size of a page.
	// +kubebuilder:default="2Mi"
	// +kubebuilder:validation:Enum="2Mi";"1Gi"
	Size string `json:"size,omitempty"`
	// amount in all, a multiple of size. When left out: 512Mi, and with more than 65,536 sessions what the further ones need.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == string && isQuantity(self) && quantity(self).compareTo(quantity('64Mi')) >= 0",message="hugepages.amount must be at least 64Mi, written with its unit, for example 512Mi"
	Amount *resource.Quantity `json:"amount,omitempty"`
}

// AttachmentType is how a pod gets a second interface.
// +kubebuilder:validation:Enum=Bridge;MACVLAN;HostDevice;SRIOV;Existing
type AttachmentType string

// Values of AttachmentType.
const (
	// AttachmentBridge plugs the pod into a Linux bridge on the node, made when it is missing.
	AttachmentBridge AttachmentType = "Bridge"
	// AttachmentMACVLAN puts a macvlan interface on an interface of the node.
	AttachmentMACVLAN AttachmentType = "MACVLAN"
	// AttachmentHostDevice moves a device of the node, named by a device plugin, into the pod.
	AttachmentHostDevice AttachmentType = "HostDevice"
	// AttachmentSRIOV is HostDevice by the SR-IOV CNI plugin, which also sets VLAN, MAC address and trust of
	// the virtual function in its NIC.
	AttachmentSRIOV AttachmentType = "SRIOV"
	// AttachmentExisting uses a NetworkAttachmentDefinition that somebody else made.
	AttachmentExisting AttachmentType = "Existing"
)

// AttachmentSpec says how a pod gets a second interface.
//
// +kubebuilder:validation:XValidation:rule="self.type != 'Bridge' || has(self.bridge)",message="attachment.type Bridge needs attachment.bridge: the name of the bridge on the node, for example c5g-n3"
// +kubebuilder:validation:XValidation:rule="self.type != 'MACVLAN' || has(self.master)",message="attachment.type MACVLAN needs attachment.master: the name of the node's interface, for example ens1f0"
// +kubebuilder:validation:XValidation:rule="self.type != 'HostDevice' || has(self.resourceName)",message="attachment.type HostDevice needs attachment.resourceName: the device plugin's resource, for example core5g.dev/n3_socket0"
// +kubebuilder:validation:XValidation:rule="self.type != 'SRIOV' || has(self.resourceName)",message="attachment.type SRIOV needs attachment.resourceName: the device plugin's resource, for example core5g.dev/n3_socket0"
// +kubebuilder:validation:XValidation:rule="self.type == 'SRIOV' || (!has(self.trust) && !has(self.macAddress))",message="attachment.trust and attachment.macAddress need attachment.type SRIOV: only the SR-IOV CNI plugin sets them in the NIC"
// +kubebuilder:validation:XValidation:rule="self.type != 'Existing' || has(self.networkAttachmentDefinition)",message="attachment.type Existing needs attachment.networkAttachmentDefinition: its name, or namespace/name"
// +kubebuilder:validation:XValidation:rule="self.type in ['HostDevice', 'SRIOV'] || !has(self.resourceName) || !self.resourceName.contains('{cell}')",message="{cell} in attachment.resourceName needs attachment.type HostDevice or SRIOV: a NetworkAttachmentDefinition that exists names one resource"
type AttachmentSpec struct {
	// type of the attachment.
	// +kubebuilder:default=Bridge
	Type AttachmentType `json:"type,omitempty"`
	// bridge on the node (Bridge). At most 15 characters: Linux interface names end there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge,omitempty"`
	// master is the interface on the node (MACVLAN).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Master string `json:"master,omitempty"`
	// resourceName of the device plugin (HostDevice, SRIOV, or Existing where it needs one). {cell} in it stands
	// for the NUMA cell that the unit is placed on: core5g.dev/n3_socket{cell}.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ResourceName string `json:"resourceName,omitempty"`
	// networkAttachmentDefinition as name or namespace/name (Existing).
	// +optional
	// +kubebuilder:validation:MaxLength=320
	NetworkAttachmentDefinition string `json:"networkAttachmentDefinition,omitempty"`
	// trust of the virtual function: On lets it ask its NIC for frames to all groups (SRIOV). When left
	// out: as the node has it.
	// +optional
	Trust VFTrust `json:"trust,omitempty"`
	// macAddress of unit 0; the number of a further unit is added (SRIOV). When left out: what the virtual
	// function has.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$`
	MACAddress string `json:"macAddress,omitempty"`
}

// VFTrust says what a virtual function may ask of its NIC.
// +kubebuilder:validation:Enum=On;Off
type VFTrust string

// Values of VFTrust.
const (
	VFTrustOn  VFTrust = "On"
	VFTrustOff VFTrust = "Off"
)

// N3Spec is the side of the gNBs.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.subnet) || !isCIDR(self.endpoints) || cidr(self.subnet).containsCIDR(self.endpoints)",messageExpression="'n3.endpoints ' + self.endpoints + ' must lie within n3.subnet ' + self.subnet + ': write a part of that subnet'"
// +kubebuilder:validation:XValidation:rule="!has(self.gateway) || !isCIDR(self.subnet) || !isIP(self.gateway) || cidr(self.subnet).containsIP(self.gateway)",messageExpression="'n3.gateway must lie within n3.subnet ' + self.subnet + ': write the address of the router on that subnet'"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || !isCIDR(self.subnet) || !isIP(self.secondGateway) || cidr(self.subnet).containsIP(self.secondGateway)",messageExpression="'n3.secondGateway must lie within n3.subnet ' + self.subnet + ': write the address of the other router on that subnet'"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || (has(self.gateway) && self.gateway != self.secondGateway)",message="n3.secondGateway goes with n3.gateway, and is another address: write both routers of the subnet, or n3.gateway alone"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || !isCIDR(self.endpoints) || !isIP(self.secondGateway) || !cidr(self.endpoints).containsIP(self.secondGateway)",messageExpression="'n3.secondGateway lies within n3.endpoints ' + self.endpoints + ', which are the UPF itself: write the address of the router on that subnet'"
type N3Spec struct {
	// attachment of the N3 interface.
	Attachment AttachmentSpec `json:"attachment"`
	// subnet of N3.
	Subnet CIDR `json:"subnet"`
	// endpoints is the part of the subnet that belongs to this UPF: each Slice gets one address of it,
	// because two of free5GC's SMFs choose TEIDs independently.
	Endpoints CIDR `json:"endpoints"`
	// gateway towards gNBs outside the subnet.
	// +optional
	Gateway *IPAddress `json:"gateway,omitempty"`
	// secondGateway towards them: packets of PDU sessions are spread over both, and go by one while the other does not answer ARP.
	// +optional
	SecondGateway *IPAddress `json:"secondGateway,omitempty"`
	// mtu of the N3 interface in bytes.
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9600
	MTU int32 `json:"mtu,omitempty"`
	// vlan id of all N3 frames, which UPF-U writes, or the NIC where attachment.type is SRIOV. When left
	// out: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`
}

// N4Spec is the side of the SMFs.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) && !has(self.annotations) || has(self.serviceType) && self.serviceType == 'LoadBalancer'",message="n4.loadBalancerClass and annotations are of Services of type LoadBalancer: write serviceType: LoadBalancer, or leave them out"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.serviceType) && oldSelf.serviceType == 'LoadBalancer' && has(self.serviceType) && self.serviceType == 'LoadBalancer') || has(oldSelf.loadBalancerClass) == has(self.loadBalancerClass) && (!has(self.loadBalancerClass) || oldSelf.loadBalancerClass == self.loadBalancerClass)",message="n4.loadBalancerClass cannot change while serviceType is LoadBalancer: write ClusterIP, and both anew when the Services are gone"
type N4Spec struct {
	// controlPlaneSubnets hold the SMFs' pods and the operator's: nobody else may set an association up, and
	// a successor from another address takes its predecessor's over. Write the network that your cluster
	// gives pods their addresses from. When left out: any address may, and takes an association over only
	// when who has it does not answer any more.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ControlPlaneSubnets []CIDR `json:"controlPlaneSubnets,omitempty"`
	// serviceType is what SMFs reach a unit by: ClusterIP, for SMFs of this cluster, or LoadBalancer, for those of another one: a Service of this
	// type for each unit, UDP 8805, whose address is the unit's Node ID. A unit waits until it has one; a change of it restarts the
	// unit. When left out: ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;LoadBalancer
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
	// loadBalancerClass of these Services.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// annotations for these Services, for example those of a load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// N6Spec is the side of the data network.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.address) || !isIP(self.gateway) || cidr(self.address).containsIP(self.gateway)",messageExpression="'n6.gateway ' + self.gateway + ' must lie within the subnet of n6.address ' + self.address + ': write the address of the router on that subnet'"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.address) || !isIP(self.gateway) || !self.address.startsWith(self.gateway + '/')",message="n6.gateway is the UPF's own address: write the address of the router on that subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || !isCIDR(self.address) || !isIP(self.secondGateway) || cidr(self.address).containsIP(self.secondGateway)",messageExpression="'n6.secondGateway ' + self.secondGateway + ' must lie within the subnet of n6.address ' + self.address + ': write the address of the other router on that subnet'"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || !isCIDR(self.address) || !isIP(self.secondGateway) || !self.address.startsWith(self.secondGateway + '/')",message="n6.secondGateway is the UPF's own address: write the address of the other router on that subnet"
// +kubebuilder:validation:XValidation:rule="!has(self.secondGateway) || self.gateway != self.secondGateway",message="n6.secondGateway is n6.gateway: write the address of the other router, or leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.unitAddresses) || !isCIDR(self.address) || !isCIDR(self.unitAddresses) || cidr(self.address).containsCIDR(self.unitAddresses)",messageExpression="'n6.unitAddresses ' + self.unitAddresses + ' must lie within the subnet of n6.address ' + self.address + ': write a part of that subnet'"
type N6Spec struct {
	// attachment of the N6 interface.
	Attachment AttachmentSpec `json:"attachment"`
	// address of the UPF on N6 with the prefix length of the subnet.
	Address InterfaceAddress `json:"address"`
	// unitAddresses is the part of the subnet that units beyond the first take their addresses from.
	// +optional
	UnitAddresses *CIDR `json:"unitAddresses,omitempty"`
	// gateway that packets of UEs go to when no route says otherwise.
	Gateway IPAddress `json:"gateway"`
	// secondGateway beside gateway: UEs are spread over both, and go by one while the other does not answer ARP.
	// +optional
	SecondGateway *IPAddress `json:"secondGateway,omitempty"`
	// routes beside the default route over gateway.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=destination
	Routes []Route `json:"routes,omitempty"`
	// mtu of the N6 interface in bytes.
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9600
	MTU int32 `json:"mtu,omitempty"`
	// vlan id of all N6 frames, which UPF-U writes, or the NIC where attachment.type is SRIOV. When left
	// out: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`
	// nat44 lets UEs share public IPv4 addresses. When left out, packets leave with the UEs' own addresses.
	// +optional
	NAT44 *NAT44 `json:"nat44,omitempty"`
}

// NAT44 hides the IPv4 addresses of UEs behind public ones: each PDU session has a block of ports of one, as long as it lasts (RFC 6888).
// IPv6 is not touched.
type NAT44 struct {
	// addresses that are shared: each must be routed to the UPF's address in this network, as UE pools are, and lie outside of its subnet. With several
	// units they are cut into equal parts; status.unitStatuses says which unit has which.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || (cidr(self).ip().family() == 4 && cidr(self).prefixLength() >= 16)",messageExpression="'nat44.addresses: \"' + self + '\" is none of a /16 to a /32 of IPv4 addresses: write for example 203.0.113.0/28'"
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3'].all(r, !cidr(r).containsCIDR(self) && !cidr(self).containsCIDR(r))",messageExpression="'nat44.addresses: \"' + self + '\" is this network, loopback, link-local, multicast or reserved (RFC 6890): write addresses that the data network routes, for example 203.0.113.0/28'"
	// +kubebuilder:validation:XValidation:rule="self.all(a, !isCIDR(a) || self.exists_one(b, isCIDR(b) && (cidr(a).containsCIDR(b) || cidr(b).containsCIDR(a))))",message="nat44.addresses overlap each other: write each address once"
	// +listType=atomic
	Addresses []CIDR `json:"addresses"`
	// portsPerUE is how many ports a PDU session has, for each of TCP, UDP and ICMP: a power of two. Ports below 1024 are nobody's, so that 1024 of them
	// let 63 PDU sessions share an address.
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Enum=64;128;256;512;1024;2048;4096;8192;16384;32768
	PortsPerUE int32 `json:"portsPerUE,omitempty"`
	// mappings that a unit has room for, of all its UEs in this network: 56 bytes of hugepages each. Network instances share the sum of theirs.
	// +kubebuilder:default=262144
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=16777216
	Mappings int32 `json:"mappings,omitempty"`
	// timeouts of mappings without packets.
	// +kubebuilder:default={}
	Timeouts NAT44Timeouts `json:"timeouts,omitempty"`
}

// NAT44Timeouts say how long a mapping lives without packets, in whole seconds. The least of each is what its RFC allows.
type NAT44Timeouts struct {
	// tcpEstablished is of a TCP connection in which both sides have sent since the last SYN, FIN or RST (RFC 5382 REQ-5).
	// +kubebuilder:default="2h4m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('2h4m') && duration(self) <= duration('168h')",message="nat44.timeouts.tcpEstablished must be a duration from 2h4m (RFC 5382 REQ-5) to 168h"
	TCPEstablished metav1.Duration `json:"tcpEstablished,omitempty"`
	// tcpTransitory is of one that is being opened or closed (RFC 5382 REQ-5).
	// +kubebuilder:default="4m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('4m') && duration(self) <= duration('24h')",message="nat44.timeouts.tcpTransitory must be a duration from 4m (RFC 5382 REQ-5) to 24h"
	TCPTransitory metav1.Duration `json:"tcpTransitory,omitempty"`
	// udp, from the UE's last packet on (RFC 4787 REQ-5).
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('2m') && duration(self) <= duration('24h')",message="nat44.timeouts.udp must be a duration from 2m (RFC 4787 REQ-5) to 24h"
	UDP metav1.Duration `json:"udp,omitempty"`
	// icmp queries, from the UE's last one on (RFC 5508 REQ-2).
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="nat44.timeouts.icmp must be a duration from 1m (RFC 5508 REQ-2) to 24h"
	ICMP metav1.Duration `json:"icmp,omitempty"`
}

// NetworkInstanceType says of which type the PDU sessions of a network instance are.
// +kubebuilder:validation:Enum=IP;Ethernet
type NetworkInstanceType string

// Values of NetworkInstanceType.
const (
	// NetworkInstanceIP forwards packets of IPv4 and IPv6.
	NetworkInstanceIP NetworkInstanceType = "IP"
	// NetworkInstanceEthernet bridges Ethernet frames.
	NetworkInstanceEthernet NetworkInstanceType = "Ethernet"
)

// NetworkInstance is one network of N6 beside n6: an interface of its own, or a VLAN of n6's.
//
// +kubebuilder:validation:XValidation:rule="has(self.attachment) || has(self.vlan)",messageExpression="'networkInstances[' + self.name + '] has neither attachment nor vlan: write the vlan that tells its frames on the interface of n6, or the attachment of an interface of its own'"
// +kubebuilder:validation:XValidation:rule="!has(self.gateways) || self.gateways.all(g, !isIP(g) || !has(self.addresses) || self.addresses.exists(a, !isCIDR(a) || cidr(a).containsIP(g) || (cidr(a).ip().family() == 6 && ip(g).family() == 6 && ip(g).isLinkLocalUnicast())))",messageExpression="'networkInstances[' + self.name + '].gateways has one that is in no subnet of addresses: write the addresses of the routers there'"
// +kubebuilder:validation:XValidation:rule="!has(self.gateways) || self.gateways.all(g, !isIP(g) || !has(self.addresses) || !self.addresses.exists(a, isCIDR(a) && cidr(a).ip() == ip(g)))",messageExpression="'networkInstances[' + self.name + '].gateways has an address of the UPF itself: write that of the router'"
// +kubebuilder:validation:XValidation:rule="!has(self.nat44) || !has(self.addresses) || self.addresses.exists(a, !isCIDR(a) || cidr(a).ip().family() == 4)",messageExpression="'networkInstances[' + self.name + '].nat44 needs an IPv4 address of the UPF: add one to addresses'"
// +kubebuilder:validation:XValidation:rule="has(self.addresses) || (has(self.type) && self.type == 'Ethernet')",messageExpression="'networkInstances[' + self.name + '] has no addresses: write the UPF\\'s, for example 172.30.7.2/24, or type: Ethernet for a bridge'"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Ethernet' || !(has(self.addresses) || has(self.unitAddresses) || has(self.gateways) || has(self.routes) || has(self.nat44))",messageExpression="'networkInstances[' + self.name + '] is a bridge (type Ethernet), which has no addresses, unitAddresses, gateways, routes or nat44: leave them out'"
type NetworkInstance struct {
	// name of the network instance (TS 29.244 8.2.4), as data networks of Slices name it: that of a DNN, or any other.
	Name DNN `json:"name"`
	// type of its PDU sessions. Ethernet makes it a bridge (TS 23.501 5.6.10.2), which has no addresses and forwards the frames of Ethernet PDU sessions
	// as they are; ueToUE says whether they reach each other. When left out: IP.
	// +optional
	Type NetworkInstanceType `json:"type,omitempty"`
	// attachment of an interface of its own. When left out: the interface of n6, with vlan.
	// +optional
	Attachment *AttachmentSpec `json:"attachment,omitempty"`
	// vlan id of all its frames, which UPF-U writes, or the NIC where attachment.type is SRIOV. Needed without attachment.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	VLAN *int32 `json:"vlan,omitempty"`
	// addresses of the UPF, of unit 0 where there are several, with the prefix length of the subnet: one of each IP version at most. Needed but with
	// type Ethernet.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || !isCIDR(self[0]) || !isCIDR(self[1]) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()",message="addresses has two of one IP version: write one of each at most"
	// +listType=atomic
	Addresses []InterfaceAddress `json:"addresses,omitempty"`
	// unitAddresses are the parts of the subnets that units beyond the first take their addresses from: one for each of addresses.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || !isCIDR(self[0]) || !isCIDR(self[1]) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()",message="unitAddresses has two blocks of one IP version: write one of each at most"
	// +listType=atomic
	UnitAddresses []CIDR `json:"unitAddresses,omitempty"`
	// gateways that packets of UEs go to when no route says otherwise: two of each IP version at most. Over two of one version
	// UEs are spread, and go by one while the other does not answer ARP or Neighbour Discovery.
	// +optional
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.filter(g, isIP(g) && ip(g).family() == 4).size() <= 2 && self.filter(g, isIP(g) && ip(g).family() == 6).size() <= 2",message="gateways has three of one IP version: write two of each at most"
	// +kubebuilder:validation:XValidation:rule="self.all(g, !isIP(g) || self.exists_one(h, isIP(h) && ip(h) == ip(g)))",message="gateways has one address twice: write the other router's, or leave it out"
	// +listType=atomic
	Gateways []IPAddress `json:"gateways,omitempty"`
	// routes beside the default routes over gateways.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=destination
	Routes []Route `json:"routes,omitempty"`
	// mtu in bytes. When left out: n6.mtu on the interface of n6, which it cannot exceed there, else 1500.
	// +optional
	// +kubebuilder:validation:Minimum=1280
	// +kubebuilder:validation:Maximum=9600
	MTU *int32 `json:"mtu,omitempty"`
	// nat44 lets UEs share public IPv4 addresses. When left out, packets leave with the UEs' own addresses.
	// +optional
	NAT44 *NAT44 `json:"nat44,omitempty"`
}

// PredefinedGate says what becomes of the packets of a predefined rule.
// +kubebuilder:validation:Enum=Open;Closed
type PredefinedGate string

// Values of PredefinedGate.
const (
	// PredefinedOpen leaves it to the PDR that names the rule.
	PredefinedOpen PredefinedGate = "Open"
	// PredefinedClosed drops them.
	PredefinedClosed PredefinedGate = "Closed"
)

// PredefinedRule is a rule that an SMF activates by name.
//
// +kubebuilder:validation:XValidation:rule="self.filters.all(f, !has(f.direction) || f.direction == 'Bidirectional')",messageExpression="'predefinedRules[' + self.name + '] has a filter of one direction: leave direction out, the PDR that names the rule has one'"
type PredefinedRule struct {
	// name by which it is activated (TS 29.244 8.2.72).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Name string `json:"name"`
	// filters tell which packets are meant; one that matches is enough. direction is the PDR's.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	Filters []PacketFilter `json:"filters"`
	// gate Closed: they are dropped.
	// +kubebuilder:default=Open
	Gate PredefinedGate `json:"gate,omitempty"`
}

// Route leads a destination over a router of the N6 subnet.
type Route struct {
	// destination network.
	Destination CIDR `json:"destination"`
	// via is the router's address.
	Via IPAddress `json:"via"`
}

// UEToUE says whether UEs reach each other.
// +kubebuilder:validation:Enum=Deny;Allow
type UEToUE string

// Values of UEToUE.
const (
	UEToUEDeny  UEToUE = "Deny"
	UEToUEAllow UEToUE = "Allow"
)

// AdministrativeState of a UPFInstance (ITU-T X.731).
// +kubebuilder:validation:Enum=Unlocked;Locked;ShuttingDown
type AdministrativeState string

// Values of AdministrativeState.
const (
	StateUnlocked     AdministrativeState = "Unlocked"
	StateLocked       AdministrativeState = "Locked"
	StateShuttingDown AdministrativeState = "ShuttingDown"
)

// UPFInstanceStatus says what the UPF is. Conditions: Ready, Placed, N3Attached, N6Attached,
// EndpointsAllocated, UnitsReady, UpdatePending, NUMAAligned, LinksUp, GatewaysAnswer with two gateways, StandbyInSync with redundancy, and SuccessorsKnown with
// controlPlane Core5G of the core. Of one that runs elsewhere: Ready, EndpointsAllocated, UnitsReady and Associated.
type UPFInstanceStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// units is the number of pods that exist, 1 for a UPF that runs elsewhere.
	// +optional
	Units int32 `json:"units"`
	// readyUnits is the number of pods that forward packets, 1 for a UPF that runs elsewhere and that the SMF can use.
	// +optional
	ReadyUnits int32 `json:"readyUnits"`
	// selector of the pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// places of the units in their order, for kubectl's columns: node/cell, the node alone where the kubelet
	// chooses the cell, - where a unit has no place.
	// +optional
	Places string `json:"places,omitempty"`
	// unitStatuses says how each unit is.
	// +optional
	// +listType=map
	// +listMapKey=name
	UnitStatuses []UnitStatus `json:"unitStatuses,omitempty"`
	// cellBackoffs are places that have refused a unit, and when they are tried again.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=node
	// +listMapKey=cell
	CellBackoffs []CellBackoff `json:"cellBackoffs,omitempty"`
	// endpoints says which Slice has which N3 address.
	// +optional
	// +listType=map
	// +listMapKey=slice
	Endpoints []EndpointAllocation `json:"endpoints,omitempty"`
}

// UnitStatus says how one unit is.
type UnitStatus struct {
	// name of the pod; of a UPF that runs elsewhere as if it were one.
	Name string `json:"name"`
	// state of the unit.
	State UnitState `json:"state"`
	// node that it runs on, or is placed on.
	// +optional
	Node string `json:"node,omitempty"`
	// cell is the NUMA cell that it is placed on; missing where the kubelet chooses.
	// +optional
	Cell *int32 `json:"cell,omitempty"`
	// topology is where UPF-U says that its CPUs, ports and memory are; missing where placement asks for
	// nothing, and until it has said so.
	// +optional
	Topology *UnitTopology `json:"topology,omitempty"`
	// n3Endpoints is its part of spec.n3.endpoints.
	// +optional
	N3Endpoints string `json:"n3Endpoints,omitempty"`
	// n6Address is its address on N6: routes to its part of the UE pools lead there.
	// +optional
	N6Address string `json:"n6Address,omitempty"`
	// nat44Addresses is its part of spec.n6.nat44.addresses: routes to them lead to n6Address.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	NAT44Addresses []string `json:"nat44Addresses,omitempty"`
	// networkInstances are its addresses in those of spec.networkInstances: routes to its part of the UE pools of their data
	// networks lead there.
	// +optional
	// +kubebuilder:validation:MaxItems=15
	// +listType=map
	// +listMapKey=name
	NetworkInstances []UnitNetworkInstance `json:"networkInstances,omitempty"`
	// drain says how far a unit that is to stop has come.
	// +optional
	Drain *UnitDrain `json:"drain,omitempty"`
	// n4Address is where SMFs reach it; it stays over restarts.
	// +optional
	N4Address string `json:"n4Address,omitempty"`
	// pod that serves the unit, where it has a standby: either of the two.
	// +optional
	Pod string `json:"pod,omitempty"`
	// standby of the unit, where it has one.
	// +optional
	Standby *UnitStandby `json:"standby,omitempty"`
	// epoch in which the pod serves the unit, where it has a standby: it grows whenever another one begins to serve.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
	// hash of the pod template that the pod was made from.
	// +optional
	Hash string `json:"hash,omitempty"`
	// rejections counts pods in a row that a node refused or that failed.
	// +optional
	Rejections int32 `json:"rejections,omitempty"`
	// retryAfter is when the next pod may be made after a rejection.
	// +optional
	RetryAfter *metav1.Time `json:"retryAfter,omitempty"`
	// message names what the unit waits for or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
}

// UnitNetworkInstance is where a unit is in a network instance of N6.
type UnitNetworkInstance struct {
	// name of the network instance.
	Name string `json:"name"`
	// addresses of the unit.
	// +listType=atomic
	Addresses []string `json:"addresses"`
	// nat44Addresses is its part of nat44.addresses: routes to them lead to its address.
	// +optional
	// +listType=atomic
	NAT44Addresses []string `json:"nat44Addresses,omitempty"`
}

// UnitStandby says how the standby of a unit is.
type UnitStandby struct {
	// pod of the standby.
	Pod string `json:"pod"`
	// state of it: Standby when it has all sessions of the unit and may take it over.
	State UnitState `json:"state"`
	// node that it runs on, or is placed on.
	// +optional
	Node string `json:"node,omitempty"`
	// cell is the NUMA cell that it is placed on; missing where the kubelet chooses.
	// +optional
	Cell *int32 `json:"cell,omitempty"`
	// hash of the pod template that the pod was made from.
	// +optional
	Hash string `json:"hash,omitempty"`
	// rejections counts pods in a row that a node refused or that failed.
	// +optional
	Rejections int32 `json:"rejections,omitempty"`
	// retryAfter is when the next pod may be made after a rejection.
	// +optional
	RetryAfter *metav1.Time `json:"retryAfter,omitempty"`
	// message names what the standby waits for or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
}

// UnitTopology is where a unit really is.
type UnitTopology struct {
	// containerID of the UPF-U that reported it.
	ContainerID string `json:"containerID"`
	// alignment of everything with one NUMA cell.
	Alignment UnitAlignment `json:"alignment"`
	// cell of its first worker.
	// +optional
	Cell *int32 `json:"cell,omitempty"`
	// message names the cell, or what is not in it.
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`
}

// UnitAlignment says whether a unit has everything in one NUMA cell.
// +kubebuilder:validation:Enum=Aligned;Misaligned;Unknown
type UnitAlignment string

// Values of UnitAlignment.
const (
	UnitAligned    UnitAlignment = "Aligned"
	UnitMisaligned UnitAlignment = "Misaligned"
	// UnitAlignmentUnknown: the node's kernel does not tell where some of it is.
	UnitAlignmentUnknown UnitAlignment = "Unknown"
)

// UnitDrain is the way of a unit that is to stop: no new PDU sessions, then out of the SMFs' user planes,
// then its pod.
type UnitDrain struct {
	// cause of the drain.
	Cause string `json:"cause"`
	// startedAt is when it began.
	StartedAt metav1.Time `json:"startedAt"`
	// sessions that were left when last asked; missing where the unit does not tell.
	// +optional
	Sessions *int64 `json:"sessions,omitempty"`
	// releasedAt is when the wait for sessions was over and SMFs were told to forget the unit.
	// +optional
	ReleasedAt *metav1.Time `json:"releasedAt,omitempty"`
}

// CellBackoff is a place that has refused units.
type CellBackoff struct {
	// node of the place.
	Node string `json:"node"`
	// cell of the place; -1 for the node as a whole.
	// +kubebuilder:validation:Minimum=-1
	Cell int32 `json:"cell"`
	// rejections in a row.
	Rejections int32 `json:"rejections"`
	// retryAfter is when it may be tried again.
	RetryAfter metav1.Time `json:"retryAfter"`
	// reason that the kubelet gave.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// UnitState is the state of a unit.
// +kubebuilder:validation:Enum=Pending;Unplaced;Running;Ready;Away;Standby;Draining;Rejected;Terminating;Stopped
type UnitState string

// Values of UnitState.
const (
	UnitPending  UnitState = "Pending"
	UnitUnplaced UnitState = "Unplaced"
	UnitDraining UnitState = "Draining"
	UnitRunning  UnitState = "Running"
	UnitReady    UnitState = "Ready"
	// UnitAway: it runs elsewhere, and the SMF has no association with it.
	UnitAway        UnitState = "Away"
	UnitStandingBy  UnitState = "Standby"
	UnitRejected    UnitState = "Rejected"
	UnitTerminating UnitState = "Terminating"
	UnitStopped     UnitState = "Stopped"
)

// EndpointAllocation gives an N3 address to a Slice.
type EndpointAllocation struct {
	// slice that the address is given to.
	Slice string `json:"slice"`
	// address on N3, of unit 0.
	Address string `json:"address"`
	// unitAddresses on N3, of each unit in turn, where there is more than one.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	UnitAddresses []string `json:"unitAddresses,omitempty"`
}
