package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DataplaneNode is what a node has for UPF units, NUMA cell by NUMA cell, as its node agent sees it. It
// has the name of its Node, nobody writes it but the agent, and it doubles as the preflight: Ready says
// whether units can be placed on the node, the other conditions which setting is missing and how to set it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dataplanenodes,singular=dataplanenode,scope=Cluster,shortName=dpn
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Cells",type=integer,JSONPath=`.status.summary.cells`
// +kubebuilder:printcolumn:name="CPUs free",type=string,JSONPath=`.status.summary.cpus`
// +kubebuilder:printcolumn:name="Hugepages free",type=string,JSONPath=`.status.summary.hugepages`
// +kubebuilder:printcolumn:name="VFs free",type=string,JSONPath=`.status.summary.vfs`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DataplaneNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status DataplaneNodeStatus `json:"status,omitempty"`
}

// DataplaneNodeList is a list of DataplaneNode.
//
// +kubebuilder:object:root=true
type DataplaneNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DataplaneNode `json:"items"`
}

// DataplaneNodeStatus says what the node has. Conditions: Ready, CPUManagerStatic, TopologyAligned,
// MemoryManagerStatic, HugepagesPresent, IOMMUEnabled, VFIOLoaded, DevicePlugin.
type DataplaneNodeStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedAt is when the agent last looked.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// kubelet is what of the kubelet's configuration decides where a pod's resources come from.
	// +optional
	Kubelet KubeletStatus `json:"kubelet,omitempty"`
	// iommu says whether the kernel isolates devices, which vfio needs.
	// +optional
	IOMMU IOMMUState `json:"iommu,omitempty"`
	// vfio says whether the kernel's vfio-pci driver is there.
	// +optional
	VFIO VFIOState `json:"vfio,omitempty"`
	// vfioAccess says as whom a pod may use virtual functions: NonRoot where the container runtime gives
	// devices to the pod's user and does not limit locked memory, else Root; missing where the agent cannot
	// tell.
	// +optional
	VFIOAccess VFIOAccess `json:"vfioAccess,omitempty"`
	// isolatedCPUs that the kernel schedules nothing on by itself, as a list such as 2-9,12-19.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	IsolatedCPUs string `json:"isolatedCPUs,omitempty"`
	// summary of the cells, for kubectl's columns.
	// +optional
	Summary NodeSummary `json:"summary,omitempty"`
	// cells are the NUMA cells of the node.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=id
	Cells []NUMACell `json:"cells,omitempty"`
}

// NodeSummary says what is free of what there is, with one word for each cell in the order of cells.
type NodeSummary struct {
	// cells is their number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Cells int32 `json:"cells,omitempty"`
	// cpus that one container may have alone, for example "4/4 2/4".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// hugepages in bytes, for example "2Gi/4Gi 4Gi/4Gi", with a + between sizes.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Hugepages string `json:"hugepages,omitempty"`
	// vfs are the virtual functions of all interfaces, for example "15/16 16/16".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	VFs string `json:"vfs,omitempty"`
}

// KubeletStatus is what the kubelet does about NUMA, in the kubelet's own words.
type KubeletStatus struct {
	// cpuManagerPolicy: static gives a Guaranteed container CPUs of its own.
	// +optional
	CPUManagerPolicy string `json:"cpuManagerPolicy,omitempty"`
	// cpuManagerOptions that are set, for example full-pcpus-only.
	// +optional
	CPUManagerOptions map[string]string `json:"cpuManagerOptions,omitempty"`
	// topologyManagerPolicy: single-numa-node refuses what does not fit one cell.
	// +optional
	TopologyManagerPolicy string `json:"topologyManagerPolicy,omitempty"`
	// topologyManagerScope is container or pod.
	// +optional
	TopologyManagerScope string `json:"topologyManagerScope,omitempty"`
	// memoryManagerPolicy: Static takes memory and hugepages from the container's cell.
	// +optional
	MemoryManagerPolicy string `json:"memoryManagerPolicy,omitempty"`
}

// IOMMUState of a node.
// +kubebuilder:validation:Enum=Enabled;Disabled;Unknown
type IOMMUState string

// Values of IOMMUState.
const (
	IOMMUEnabled  IOMMUState = "Enabled"
	IOMMUDisabled IOMMUState = "Disabled"
	IOMMUUnknown  IOMMUState = "Unknown"
)

// VFIOState of a node.
// +kubebuilder:validation:Enum=Loaded;Missing;Unknown
type VFIOState string

// Values of VFIOState.
const (
	VFIOLoaded  VFIOState = "Loaded"
	VFIOMissing VFIOState = "Missing"
	VFIOUnknown VFIOState = "Unknown"
)

// VFIOAccess of a node.
// +kubebuilder:validation:Enum=NonRoot;Root
type VFIOAccess string

// Values of VFIOAccess.
const (
	// VFIOAccessNonRoot needs no capability and no root.
	VFIOAccessNonRoot VFIOAccess = "NonRoot"
	// VFIOAccessRoot needs user 0 with IPC_LOCK and nothing else.
	VFIOAccessRoot VFIOAccess = "Root"
)

// NUMACell is a socket, or a part of one, with memory of its own.
type NUMACell struct {
	// id of the cell, as the kernel numbers it.
	// +kubebuilder:validation:Minimum=0
	ID int32 `json:"id"`
	// cpus of the cell, as a list such as 0-9,20-29.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	CPUs string `json:"cpus,omitempty"`
	// threadsPerCore is 2 where the cell's CPUs are SMT siblings in pairs.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ThreadsPerCore int32 `json:"threadsPerCore,omitempty"`
	// exclusiveCPUs are those that the kubelet may give to one container alone.
	// +optional
	ExclusiveCPUs CPUCount `json:"exclusiveCPUs"`
	// hugepages of the cell, by size.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=size
	Hugepages []HugepagePool `json:"hugepages,omitempty"`
	// interfaces whose PCI device belongs to the cell.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Interfaces []NodeInterface `json:"interfaces,omitempty"`
}

// CPUCount counts CPUs.
type CPUCount struct {
	// total that could be given out.
	// +kubebuilder:validation:Minimum=0
	Total int32 `json:"total"`
	// free of them.
	// +kubebuilder:validation:Minimum=0
	Free int32 `json:"free"`
}

// HugepagePool is the hugepages of one size in one cell.
type HugepagePool struct {
	// size of a page as Kubernetes writes it in hugepages-<size>: 2Mi or 1Gi.
	// +kubebuilder:validation:MaxLength=16
	Size string `json:"size"`
	// total bytes.
	Total resource.Quantity `json:"total"`
	// free bytes that no pod holds.
	Free resource.Quantity `json:"free"`
}

// LinkState of an interface.
// +kubebuilder:validation:Enum=Up;Down
type LinkState string

// Values of LinkState.
const (
	LinkUp   LinkState = "Up"
	LinkDown LinkState = "Down"
)

// NodeInterface is a physical function (PF) of the node.
type NodeInterface struct {
	// name that the kernel gives it, or its PCI address where a driver without a network interface has it.
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// pciAddress such as 0000:3b:00.0.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	PCIAddress string `json:"pciAddress,omitempty"`
	// driver of the PF.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
	// link to the switch.
	// +optional
	Link LinkState `json:"link,omitempty"`
	// speedMbps of the link in Mbit/s; 0 where it is down or not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SpeedMbps int32 `json:"speedMbps,omitempty"`
	// vfs are the virtual functions of the PF.
	// +optional
	VFs VFCount `json:"vfs"`
	// resourceName under which the device plugin gives them out; empty where it does not.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ResourceName string `json:"resourceName,omitempty"`
}

// VFDriverMLX5 is the kernel's driver of virtual functions that stay with it: units with driver VFIO drive them beside it.
const VFDriverMLX5 = "mlx5_core"

// VFCount counts the virtual functions of a PF.
type VFCount struct {
	// total that exist.
	// +kubebuilder:validation:Minimum=0
	Total int32 `json:"total"`
	// free that no pod holds.
	// +kubebuilder:validation:Minimum=0
	Free int32 `json:"free"`
	// driver of the VFs, for example vfio-pci.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Driver string `json:"driver,omitempty"`
}
