package v1alpha1

// ChargingSpec is what charging leaves behind.
type ChargingSpec struct {
	// cdrStorage is where the CHF keeps its CDR files (TS 32.298): one a UE, named after its SUPI, which its next PDU session writes anew.
	// When left out they go with the CHF's pod.
	// +optional
	CDRStorage *CDRStorage `json:"cdrStorage,omitempty"`
}

// CDRStorage is where CDR files are kept.
//
// +kubebuilder:validation:XValidation:rule="has(self.persistentVolumeClaim) != has(self.hostPath)",message="charging.cdrStorage takes either persistentVolumeClaim or hostPath: write exactly one of them"
// +kubebuilder:validation:XValidation:rule="has(self.hostPath) == has(self.node)",message="charging.cdrStorage.hostPath and node belong together: write a directory, and the node that has it"
type CDRStorage struct {
	// persistentVolumeClaim is the name of one in the core's namespace, that whoever runs the core has made and collects CDRs from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`
	// hostPath is a directory of the node that user 1000 may write.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[^:]+$`
	HostPath string `json:"hostPath,omitempty"`
	// node that has it: the CHF runs nowhere else.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
}
