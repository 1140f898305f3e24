package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// SessionStoreType says who runs the session store.
// +kubebuilder:validation:Enum=Embedded;External
type SessionStoreType string

// Values of SessionStoreType.
const (
	// SessionStoreEmbedded is one Redis server beside the core, or three.
	SessionStoreEmbedded SessionStoreType = "Embedded"
	// SessionStoreExternal is a Redis or Valkey that a site runs, with replicas and Sentinel: production.
	SessionStoreExternal SessionStoreType = "External"
)

// SessionStoreSpec is the session store. Changing type or secretRef ends all sessions: the other store has none of
// them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'External' || has(self.secretRef)",message="sessionStore.type External needs sessionStore.secretRef: name the Secret with the keys addresses, username and password"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || has(self.type) && self.type == 'External'",message="sessionStore.secretRef is only read with sessionStore.type External: write type External, or leave secretRef out"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.type) || self.type != 'External'",message="sessionStore.storage is of the embedded store: leave it out, or write type Embedded"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.type) || self.type != 'External'",message="sessionStore.replicas is of the embedded store: leave it out, or write type Embedded; how many replicas of an external one must have a write its Secret says"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas == 1 || !has(self.storage) || !has(self.storage.type) || self.storage.type != 'HostPath'",message="sessionStore.replicas 3 needs a PersistentVolumeClaim for each: write storage.type PersistentVolumeClaim, or leave storage out"
type SessionStoreSpec struct {
	// type of the session store. Embedded is a Redis server beside the core, whose sessions are lost with
	// its disk, or three of them; External is a Redis or Valkey that a site runs.
	// +kubebuilder:default=Embedded
	Type SessionStoreType `json:"type,omitempty"`
	// secretRef names the Secret that says where an external store is: keys addresses and password, and where they
	// are needed username, primary, sentinelUsername, sentinelPassword, ca.crt, tls.crt, tls.key, serverName, replicas.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// replicas of the embedded store: 1, or 3, of which one is the primary, each with a claim of its own, on different nodes where there are some. Of
	// three one may be lost with its node and its disk, and no session is. 1 when left out. It may be raised, and no session ends; it is not lowered.
	// +optional
	// +kubebuilder:validation:Enum=1;3
	Replicas *int32 `json:"replicas,omitempty"`
	// storage of the embedded store, of each replica; a PersistentVolumeClaim of 4Gi of the cluster's default class unless set.
	// +optional
	Storage *SessionStoreStorage `json:"storage,omitempty"`
}

// SessionStoreStorageType says where the embedded session store keeps its file.
// +kubebuilder:validation:Enum=PersistentVolumeClaim;HostPath
type SessionStoreStorageType string

// Values of SessionStoreStorageType.
const (
	SessionStorePersistentVolumeClaim SessionStoreStorageType = "PersistentVolumeClaim"
	SessionStoreHostPath              SessionStoreStorageType = "HostPath"
)

// SessionStoreStorage is where the embedded store keeps its append-only file.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'HostPath' || has(self.hostPath) && has(self.node)",message="storage.type HostPath needs storage.hostPath and storage.node: a directory, and the node that has it"
// +kubebuilder:validation:XValidation:rule="has(self.type) && self.type == 'HostPath' || !has(self.hostPath) && !has(self.node)",message="storage.hostPath and storage.node are only read with storage.type HostPath: write type HostPath, or leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'HostPath' || !has(self.size) && !has(self.storageClassName)",message="storage.size and storage.storageClassName are of a PersistentVolumeClaim: leave them out with storage.type HostPath"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || quantity(self.size).isGreaterThan(quantity('0'))",message="storage.size must be above 0: write as 4Gi"
type SessionStoreStorage struct {
	// type of the storage.
	// +kubebuilder:default=PersistentVolumeClaim
	Type SessionStoreStorageType `json:"type,omitempty"`
	// size of the claim; 4Gi unless set. It may grow where the class allows it.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// storageClassName of the claim; the cluster's default class unless set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
	// hostPath is a directory of the node that user 1000 may write.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[^:]+$`
	HostPath string `json:"hostPath,omitempty"`
	// node that has it: the store runs nowhere else.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node,omitempty"`
}
