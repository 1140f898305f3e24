package v1alpha1

// ExternalSpec is a UPF that runs elsewhere, whoever made it. It has to choose F-TEIDs and UE IP addresses itself (features FTUP
// and UEIP of TS 29.244 8.2.25); an association with one that does not is given up, and condition Associated says so.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pools) || self.pools.all(a, self.pools.all(b, a == b || !isCIDR(a.range) || !isCIDR(b.range) || (!cidr(a.range).containsCIDR(b.range) && !cidr(b.range).containsCIDR(a.range))))",message="two of external.pools overlap: write each address once"
type ExternalSpec struct {
	// n4 is where SMFs reach the UPF. PFCP neither encrypts nor authenticates: between sites it goes through a tunnel.
	N4 ExternalN4Spec `json:"n4"`
	// n3 is the side of the gNBs.
	N3 ExternalN3Spec `json:"n3"`
	// networkInstances are the UPF's names for its networks (TS 29.244 8.2.4), where they are not those that the SMF gives them.
	// +optional
	NetworkInstances *ExternalNetworkInstances `json:"networkInstances,omitempty"`
	// pools that the UPF has configured for UE IP addresses. The uePools that Slices have at this UPF must be among them. When left
	// out: the SMF names the network that an address is to be of, and the UPF takes it from there (upf-c: namedPools).
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=range
	Pools []ExternalPool `json:"pools,omitempty"`
}

// ExternalN4Spec is the N4 side of a UPF that runs elsewhere.
//
// +kubebuilder:validation:XValidation:rule="!isIP(self.address) || ip(self.address).isGlobalUnicast()",messageExpression="'external.n4.address ' + self.address + ' is no address of a host: write the one that the UPF listens at, for example 203.0.113.7'"
type ExternalN4Spec struct {
	// address that the UPF listens at.
	Address IPAddress `json:"address"`
	// port that it listens at (UDP).
	// +kubebuilder:default=8805
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// nodeID that the UPF calls itself by: an FQDN or an address (TS 29.244 8.2.38). When left out: address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || self.matches('^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$')",messageExpression="'\"' + self + '\" is no Node ID: write an FQDN or an IP address, as the UPF is configured with (upf-c: nodeID), for example upf.edge.example.org'"
	NodeID string `json:"nodeID,omitempty"`
	// sources are further networks that requests of the UPF come from: of a NAT, or of another interface. Those of its address are
	// always taken.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Sources []CIDR `json:"sources,omitempty"`
}

// ExternalN3Spec is the N3 side of a UPF that runs elsewhere.
type ExternalN3Spec struct {
	// endpoints are the networks that the UPF's GTP-U addresses lie in: no other UPFInstance may have one of them, and no UE pool.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Endpoints []CIDR `json:"endpoints"`
}

// ExternalNetworkInstances are names of networks in a UPF that runs elsewhere.
type ExternalNetworkInstances struct {
	// access is the side of the gNBs; "access" when left out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Access string `json:"access,omitempty"`
	// core are the data networks. One that is left out is <name of the Slice>/<DNN>.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=slice
	// +listMapKey=dnn
	Core []ExternalDataNetwork `json:"core,omitempty"`
}

// ExternalDataNetwork is the name of one data network in a UPF that runs elsewhere.
type ExternalDataNetwork struct {
	// slice is the name of the Slice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Slice string `json:"slice"`
	// dnn of its data network.
	DNN DNN `json:"dnn"`
	// name of the network instance.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
}

// ExternalPool is a pool of UE IP addresses of a UPF that runs elsewhere.
type ExternalPool struct {
	// range of the pool.
	Range CIDR `json:"range"`
	// name that the UPF knows it by (UE IP Address Pool Identity, TS 29.244 8.2.128). When left out: the UPF finds it by the network
	// instance alone.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name,omitempty"`
}
