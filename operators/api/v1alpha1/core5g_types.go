package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Core5G is one 5G core network: AMF, SMF, NRF, PCF, CHF, the subscriber data functions, the database and
// the session store, and what all slices of it share.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=core5gs,singular=core5g,shortName=c5g,categories=core5g-all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Slices",type=integer,JSONPath=`.status.slices`
// +kubebuilder:printcolumn:name="N2",type=string,JSONPath=`.status.n2.address`
// +kubebuilder:printcolumn:name="Transport",type=string,JSONPath=`.spec.n2.transport`,priority=1
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 30",message="the name of a Core5G must be at most 30 characters: the names of its Services begin with it"
type Core5G struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Core5GSpec   `json:"spec,omitempty"`
	Status Core5GStatus `json:"status,omitempty"`
}

// Core5GList is a list of Core5G.
//
// +kubebuilder:object:root=true
type Core5GList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Core5G `json:"items"`
}

// Core5GSpec says what the core should be.
//
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlane) || self.controlPlane != 'Free5GC' || !has(self.sessionManagement)",message="sessionManagement is the size of core5g's own SMF, and free5GC's is one pod for each Slice: leave it out, or write controlPlane: Core5G"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlane) || self.controlPlane != 'Free5GC' || !has(self.amf) || !has(self.amf.workers) && !has(self.amf.terminators) && !has(self.amf.shards) && !has(self.amf.capacity) && !has(self.amf.integrity) && !has(self.amf.ciphering) && !has(self.amf.periodicRegistration) && !has(self.amf.backoff) && !has(self.amf.imsVoice) && !has(self.amf.networkName) && !has(self.amf.emergency)",message="amf.workers, terminators, shards, capacity, integrity, ciphering, periodicRegistration, backoff, imsVoice, networkName and emergency are of core5g's own AMF, and free5GC's does not know them: leave them out, or write controlPlane: Core5G"
// +kubebuilder:validation:XValidation:rule="!has(self.controlPlane) || !has(oldSelf.controlPlane) || self.controlPlane == 'Free5GC' || oldSelf.controlPlane == 'Free5GC' || (has(self.amf) && has(self.amf.shards) ? self.amf.shards : 16) == (has(oldSelf.amf) && has(oldSelf.amf.shards) ? oldSelf.amf.shards : 16)",message="amf.shards cannot change while core5g's own AMF serves, because each UE's AMF UE NGAP ID and 5G-TMSI have the number of its shard (16 unless set): leave it as it is, or write controlPlane: Free5GC without it first and both again after, which has all UEs register anew"
// +kubebuilder:validation:XValidation:rule="!has(self.layout) || self.layout != 'Fused' || !has(self.controlPlane) || self.controlPlane == 'Core5G'",message="layout Fused is of core5g's own functions, and free5GC's are programs of their own: write controlPlane: Core5G, or layout: Distributed"
// +kubebuilder:validation:XValidation:rule="!has(self.subscriberData) || self.subscriberData != 'PostgreSQL' || has(self.subscriberDatabase)",message="subscriberData PostgreSQL needs subscriberDatabase.secretRef: name the Secret whose key \"uri\" holds the postgresql:// URI (docs/subscriber-data.md)"
// +kubebuilder:validation:XValidation:rule="!has(self.subscriberDatabase) || has(self.subscriberData) && self.subscriberData == 'PostgreSQL'",message="subscriberDatabase is only read with subscriberData PostgreSQL: write that, or leave subscriberDatabase out"
// +kubebuilder:validation:XValidation:rule="!has(self.subscriberDataReplicas) || self.subscriberDataReplicas == 1 || has(self.sessionStore) || !has(self.controlPlane) || self.controlPlane == 'Core5G'",message="subscriberDataReplicas above 1 share what they remember in a session store, and there is none: write sessionStore: {}, or controlPlane: Core5G, or leave it at 1"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.sessionStore) || !has(oldSelf.sessionStore.replicas) || oldSelf.sessionStore.replicas == 1 || has(self.sessionStore) && (has(self.sessionStore.type) && self.sessionStore.type == 'External' || has(self.sessionStore.replicas) && self.sessionStore.replicas == oldSelf.sessionStore.replicas)",message="sessionStore.replicas is not lowered, since the one that is left may not have everything: write 3, or type External"
type Core5GSpec struct {
	// plmns served by the AMF, each with tracking areas and slices of its own where it has some.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
	// +listType=map
	// +listMapKey=mcc
	// +listMapKey=mnc
	PLMNs []PLMN `json:"plmns"`

	// tacs are the tracking areas of the core, in every PLMN that does not have its own.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	TACs []TAC `json:"tacs"`

	// sliceCatalogue is what the AMF advertises to gNBs and UEs ahead of time, in every PLMN that does not have its own: a Slice within it needs
	// no restart of the AMF. Changing the catalogue itself has the AMF tell gNBs and UEs of it; free5GC's restarts.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=sst
	// +listMapKey=sd
	SliceCatalogue []SNSSAI `json:"sliceCatalogue"`

	// amf identifies the AMF (GUAMI, TS 23.003 2.10.1), and says how many pods it is.
	// +kubebuilder:default={}
	AMF AMFSpec `json:"amf,omitempty"`

	// n2 is the reference point between gNBs and the AMF.
	// +kubebuilder:default={}
	N2 N2Spec `json:"n2,omitempty"`

	// database of NRF, PCF and CHF.
	// +kubebuilder:default={}
	Database DatabaseSpec `json:"database,omitempty"`

	// sessionStore is where SMF and AMF of controlPlane Core5G keep PDU sessions and UEs, so that they outlive their pods. One is
	// made in the cluster where this is left out; with Free5GC, which needs none, where it is written.
	// +optional
	SessionStore *SessionStoreSpec `json:"sessionStore,omitempty"`

	// subscriberData says where subscribers are: Kubernetes, in Subscriber objects; PostgreSQL, beside these in a database of the
	// site's own, for more than some ten thousand. Where both name a SUPI, the object counts.
	// +kubebuilder:default=Kubernetes
	SubscriberData SubscriberDataMode `json:"subscriberData,omitempty"`

	// subscriberDatabase is that of subscriberData PostgreSQL.
	// +optional
	SubscriberDatabase *SubscriberDatabaseSpec `json:"subscriberDatabase,omitempty"`

	// subscriberDataReplicas are the pods of AUSF, UDM, UDR and NSSF; 1 when left out. More than one share what they remember
	// in the session store, which there is with controlPlane Core5G or where sessionStore is written. Raising and lowering the number
	// loses nothing.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	SubscriberDataReplicas *int32 `json:"subscriberDataReplicas,omitempty"`

	// controlPlane says whose AMF and SMF serve UEs and PDU sessions: Core5G, core5g's own, which keep them in the session store,
	// or Free5GC, free5GC's, an AMF of one pod and an SMF for each Slice. Changing it ends all PDU sessions, and has every UE
	// register anew.
	// +kubebuilder:default=Core5G
	ControlPlane ControlPlane `json:"controlPlane,omitempty"`

	// layout of the control plane: Distributed, pods of its own for each function, or Fused, one pod that is all of them, for an
	// edge box or a laptop: AMF, SMF and subscriber data in one program, without NRF, PCF, CHF and database, with the policy of
	// Slices. Changing it keeps UEs registered and PDU sessions; gNBs connect anew, and CDRs of the CHF end with it.
	// +kubebuilder:default=Distributed
	Layout Layout `json:"layout,omitempty"`

	// sessionManagement is the SMF of controlPlane Core5G.
	// +optional
	SessionManagement *SessionManagementSpec `json:"sessionManagement,omitempty"`

	// charging says where CDRs are kept.
	// +optional
	Charging *ChargingSpec `json:"charging,omitempty"`

	// homeNetworkKeys de-conceal SUCIs of protection schemes A and B (TS 33.501 Annex C.3.4).
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=id
	HomeNetworkKeys []HomeNetworkKey `json:"homeNetworkKeys,omitempty"`

	// images says where container images come from.
	// +kubebuilder:default={}
	Images ImagesSpec `json:"images,omitempty"`

	// functions says what single network functions run with, and where, in place of what follows from the rest.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Functions []FunctionSpec `json:"functions,omitempty"`

	// tls says how the service based interface is protected. Changing its mode restarts every function of the
	// core but the UPF.
	// +optional
	TLS TLSSpec `json:"tls,omitzero"`

	// networkPolicy says who may open connections to the core's pods.
	// +kubebuilder:default={}
	NetworkPolicy NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// logLevel of every network function.
	// +kubebuilder:default=Info
	LogLevel LogLevel `json:"logLevel,omitempty"`
}

// ControlPlane says whose functions serve UEs.
// +kubebuilder:validation:Enum=Core5G;Free5GC
type ControlPlane string

// Values of ControlPlane.
const (
	ControlPlaneCore5G  ControlPlane = "Core5G"
	ControlPlaneFree5GC ControlPlane = "Free5GC"
)

// Layout says how many programs the control plane is.
// +kubebuilder:validation:Enum=Distributed;Fused
type Layout string

// Values of Layout.
const (
	LayoutDistributed Layout = "Distributed"
	LayoutFused       Layout = "Fused"
)

// Fused says whether the control plane is one pod.
func (c *Core5G) Fused() bool { return c.OwnControlPlane() && c.Spec.Layout == LayoutFused }

// SessionManagementSpec is the size of the SMF.
type SessionManagementSpec struct {
	// replicas are the SMF's pods; 2 when left out. Raising and lowering them ends no PDU session.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Replicas *int32 `json:"replicas,omitempty"`
	// shards into which PDU sessions are divided, each an SMF to AMF and UPFs; 4 when left out. Pods hold them: more pods
	// than shards are in reserve.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Shards *int32 `json:"shards,omitempty"`
	// n4 says how UPFs that run elsewhere (UPFInstance.spec.external) reach the SMF. When left out: by ClusterIP.
	// +optional
	N4 *SessionManagementN4Spec `json:"n4,omitempty"`
}

// SessionManagementN4Spec is how UPFs that run elsewhere reach the SMF. Each shard has an address of its own, because PFCP has one port.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) && !has(self.annotations) || has(self.serviceType) && self.serviceType == 'LoadBalancer'",message="sessionManagement.n4.loadBalancerClass and annotations are of Services of type LoadBalancer: write serviceType: LoadBalancer, or leave them out"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.serviceType) && oldSelf.serviceType == 'LoadBalancer' && has(self.serviceType) && self.serviceType == 'LoadBalancer') || has(oldSelf.loadBalancerClass) == has(self.loadBalancerClass) && (!has(self.loadBalancerClass) || oldSelf.loadBalancerClass == self.loadBalancerClass)",message="sessionManagement.n4.loadBalancerClass cannot change while serviceType is LoadBalancer: write ClusterIP, and both anew when the Services are gone"
type SessionManagementN4Spec struct {
	// serviceType is what UPFs elsewhere reach a shard by: ClusterIP, the Service that it has anyway, whose ClusterIP has to be routed to where they
	// are, or LoadBalancer, one of this type beside it, UDP 8805, whose address is its Node ID to them. A change of that address ends PDU sessions there.
	// +kubebuilder:default=ClusterIP
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

// OwnControlPlane says whether UEs and PDU sessions are served by core5g's own AMF and SMF, which is the default.
func (c *Core5G) OwnControlPlane() bool {
	return c != nil && c.Spec.ControlPlane != ControlPlaneFree5GC
}

// TLSMode says how the service based interface is protected.
// +kubebuilder:validation:Enum=Disabled;Server;Mutual
type TLSMode string

// Values of TLSMode.
const (
	// TLSDisabled is HTTP/2 in clear text; NetworkPolicies are the only guard.
	TLSDisabled TLSMode = "Disabled"
	// TLSServer is https where callers need not show a certificate: for free5GC's own images, whose clients
	// have none and verify none.
	TLSServer TLSMode = "Server"
	// TLSMutual is https where both sides show a certificate of the core and check the other's.
	TLSMutual TLSMode = "Mutual"
)

// TLSAuthority says who signs the certificates of the service based interface.
// +kubebuilder:validation:Enum=Operator;CertManager
type TLSAuthority string

// Values of TLSAuthority.
const (
	// TLSAuthorityOperator is a certification authority that the operator makes, in the Secret <core>-ca.
	TLSAuthorityOperator TLSAuthority = "Operator"
	// TLSAuthorityCertManager is a self-signed one of cert-manager: the operator makes its Issuer, <core>-sbi.
	TLSAuthorityCertManager TLSAuthority = "CertManager"
)

// TLSSpec says how the service based interface is protected (TS 33.501 13.1).
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || duration(self.duration) >= duration('1h')",message="tls.duration must be at least 1h"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || duration(self.renewBefore) < (has(self.duration) ? duration(self.duration) : duration('2160h'))",message="tls.renewBefore must be shorter than tls.duration (2160h unless set)"
type TLSSpec struct {
	// mode of the SBI. When left out: what the core began with, as annotation core5g.dev/tls-began-with has it, which is Mutual, or Server where functions
	// names an image of amf, smf, nrf, pcf or chf, or what its spec has said first. A core that 0.2 has made without a mode has no annotation, and Disabled.
	// +optional
	Mode TLSMode `json:"mode,omitempty"`
	// authority signs the certificates. When left out: what the core began with, as for mode, which is CertManager where the cluster had cert-manager, else
	// Operator. Operator is a certification authority that the
	// operator makes for this core, in the Secret <core>-ca. CertManager is one that cert-manager makes and signs
	// itself: the operator asks for it, and for its Issuer <core>-sbi. Not read with issuerRef.
	// +optional
	Authority TLSAuthority `json:"authority,omitempty"`
	// issuerRef names an issuer of cert-manager that is there already and signs the certificates.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`
	// duration of a certificate; 2160h unless set.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// renewBefore is how long before its end a certificate is renewed; a third of the duration unless set.
	// +optional
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// name of the issuer.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// kind of the issuer; Issuer unless set, which is one of the core's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// group of the issuer; cert-manager.io unless set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
}

// NetworkPolicyMode says whether the operator makes NetworkPolicies.
// +kubebuilder:validation:Enum=Enabled;Disabled
type NetworkPolicyMode string

// Values of NetworkPolicyMode.
const (
	// NetworkPolicyEnabled admits to SBI, N4, database and metrics only who needs them.
	NetworkPolicyEnabled NetworkPolicyMode = "Enabled"
	// NetworkPolicyDisabled leaves it to the site.
	NetworkPolicyDisabled NetworkPolicyMode = "Disabled"
)

// NetworkPolicySpec says who may open connections to the core's pods. N2 stays open: gNBs live outside the
// cluster. N3 and N6 are not on the pod network.
type NetworkPolicySpec struct {
	// mode Enabled makes a NetworkPolicy for each function, which the cluster's network must enforce.
	// +kubebuilder:default=Enabled
	Mode NetworkPolicyMode `json:"mode,omitempty"`
	// metricsFrom are the peers that may read metrics; empty means the pods of any namespace that carry the
	// label app.kubernetes.io/name=prometheus.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`
}

// AMFSpec is the AMF: a set of pods of core5g's own, or, with controlPlane Free5GC, one pod of free5GC's.
//
// +kubebuilder:validation:XValidation:rule="!has(self.periodicRegistration) || duration(self.periodicRegistration) >= duration('2s') && duration(self.periodicRegistration) <= duration('310h')",message="amf.periodicRegistration (T3512) must be from 2s to 310h, for example 1h"
// +kubebuilder:validation:XValidation:rule="!has(self.backoff) || duration(self.backoff) >= duration('2s') && duration(self.backoff) <= duration('186m')",message="amf.backoff (T3346) must be from 2s to 186m, for example 30s"
type AMFSpec struct {
	// name is the AMF name that gNBs see (TS 38.413 9.3.3.21). A change restarts free5GC's AMF; core5g's own tells gNBs
	// and goes on.
	// +kubebuilder:default=AMF
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=150
	Name string `json:"name,omitempty"`
	// region is the AMF region identifier, 8 bits.
	// +kubebuilder:default=202
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Region *int32 `json:"region,omitempty"`
	// set is the AMF set identifier, 10 bits. A change restarts the AMF, and of core5g's own the N2 terminators.
	// +kubebuilder:default=1016
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1023
	Set *int32 `json:"set,omitempty"`
	// pointer is the AMF pointer, 6 bits.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=63
	Pointer *int32 `json:"pointer,omitempty"`
	// defaultDNN is what a UE gets that asks for no data network and has none in its subscription.
	// +kubebuilder:default=internet
	DefaultDNN DNN `json:"defaultDNN,omitempty"`
	// workers are the pods of core5g's own AMF that share the UEs; 1 when left out. Raising and lowering the number loses no UE.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Workers *int32 `json:"workers,omitempty"`
	// terminators are the pods that gNBs have their N2 associations with, of core5g's own AMF; 1 when left out. One that ends
	// costs its gNBs the association, and no UE its registration.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Terminators *int32 `json:"terminators,omitempty"`
	// shards into which UEs are divided, of core5g's own AMF; 16 when left out. Workers hold them: more workers than shards are
	// in reserve. Fixed while it serves: each UE's AMF UE NGAP ID and 5G-TMSI have the number of its shard, so that whoever gets
	// a message finds the worker without a look-up.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	Shards *int32 `json:"shards,omitempty"`
	// capacity of the AMF beside others of its set (TS 38.413 9.3.1.32), of core5g's own AMF; 255 when left out.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	Capacity *int32 `json:"capacity,omitempty"`
	// integrity are the algorithms that protect NAS messages (TS 33.501 5.11), the preferred one first, of core5g's own AMF;
	// NIA2, NIA1, NIA3 when left out.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Integrity []IntegrityAlgorithm `json:"integrity,omitempty"`
	// ciphering are the algorithms that cipher NAS messages (TS 33.501 5.11), the preferred one first, of core5g's own AMF;
	// NEA2, NEA1, NEA3 when left out. NEA0, which ciphers nothing, is used only where it is written.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Ciphering []CipheringAlgorithm `json:"ciphering,omitempty"`
	// periodicRegistration is how often a UE that is idle says that it is there (T3512, TS 24.501 5.3.7), of core5g's own AMF;
	// 1h when left out.
	// +optional
	PeriodicRegistration *metav1.Duration `json:"periodicRegistration,omitempty"`
	// backoff is when a UE that is turned away in a storm may come again (T3346, TS 24.501 5.3.9), of core5g's own AMF; 30s when
	// left out.
	// +optional
	Backoff *metav1.Duration `json:"backoff,omitempty"`
	// imsVoice tells UEs that voice over IMS is there (TS 24.501 9.11.3.5), with core5g's own AMF.
	// +optional
	IMSVoice bool `json:"imsVoice,omitempty"`
	// networkName and time zone that UEs show (TS 24.501 5.4.4), with core5g's own AMF; they are told nothing when it is left out.
	// +optional
	NetworkName *NetworkName `json:"networkName,omitempty"`
	// emergency services, with core5g's own AMF: a UE may register for them alone, and gets a PDU session for them whatever it has
	// subscribed to. UEs hear that there are none when it is left out.
	// +optional
	Emergency *EmergencyServices `json:"emergency,omitempty"`
}

// EmergencyServices are where emergency calls go (TS 23.501 5.16.4).
type EmergencyServices struct {
	// snssai of the Slice that serves them, one of sliceCatalogue. Nobody need have subscribed to it.
	SNSSAI SNSSAI `json:"snssai"`
	// dnn of the Slice's data network that leads to them, for example sos. Its arp says whom a call may take resources from, its
	// ambr what a call may have.
	DNN DNN `json:"dnn"`
	// unauthenticated UEs are served, too: those without a SIM, and those whose SIM is not known here (TS 33.501 10.2.2). What they
	// say is neither ciphered nor protected, on the air as in NAS. Whether they have to be served, or must not be, is the law of the land.
	// +optional
	Unauthenticated bool `json:"unauthenticated,omitempty"`
}

// IntegrityAlgorithm of NAS (TS 33.501 Annex D.3).
// +kubebuilder:validation:Enum=NIA1;NIA2;NIA3
type IntegrityAlgorithm string

// CipheringAlgorithm of NAS (TS 33.501 Annex D.2).
// +kubebuilder:validation:Enum=NEA0;NEA1;NEA2;NEA3
type CipheringAlgorithm string

// NetworkName is what UEs show of the network.
type NetworkName struct {
	// full name.
	// +optional
	// +kubebuilder:validation:MaxLength=60
	Full string `json:"full,omitempty"`
	// short name.
	// +optional
	// +kubebuilder:validation:MaxLength=60
	Short string `json:"short,omitempty"`
	// timeZone as its difference from UTC, in quarters of an hour, from -14:00 to +14:00.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+-](0[0-9]|1[0-3]):(00|15|30|45)$') || self.matches('^[+-]14:00$')",message="timeZone must be the difference from UTC in quarters of an hour, from -14:00 to +14:00, for example \"+02:00\""
	// +kubebuilder:validation:MaxLength=6
	TimeZone string `json:"timeZone,omitempty"`
}

// N2Transport is how NGAP travels.
// +kubebuilder:validation:Enum=SCTP;SCTPOverUDP
type N2Transport string

// Values of N2Transport.
const (
	// TransportSCTP is the kernel's SCTP: production.
	TransportSCTP N2Transport = "SCTP"
	// TransportSCTPOverUDP carries SCTP over UDP (RFC 6951), for nodes whose kernel has no SCTP.
	TransportSCTPOverUDP N2Transport = "SCTPOverUDP"
)

// N2Spec says how gNBs reach the AMF.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || !has(self.serviceType) || self.serviceType != 'ClusterIP'",message="n2.nodePort needs n2.serviceType NodePort or LoadBalancer: write one of them, or leave nodePort out"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || has(self.serviceType) && self.serviceType != 'ClusterIP'",message="n2.externalTrafficPolicy needs n2.serviceType NodePort or LoadBalancer: write one of them, or leave externalTrafficPolicy out"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || has(self.serviceType) && self.serviceType == 'LoadBalancer'",message="n2.loadBalancerClass needs n2.serviceType LoadBalancer: write that, or leave loadBalancerClass out"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.serviceType) && oldSelf.serviceType == 'LoadBalancer' && has(self.serviceType) && self.serviceType == 'LoadBalancer') || has(oldSelf.loadBalancerClass) == has(self.loadBalancerClass) && (!has(self.loadBalancerClass) || oldSelf.loadBalancerClass == self.loadBalancerClass)",message="n2.loadBalancerClass cannot change while n2.serviceType is LoadBalancer: change the type first, or leave it as it was"
type N2Spec struct {
	// transport of NGAP.
	// +kubebuilder:default=SCTP
	Transport N2Transport `json:"transport,omitempty"`
	// port of the AMF; with SCTPOverUDP also the UDP encapsulation port.
	// +kubebuilder:default=38412
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// serviceType of the Service in front of N2.
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	ServiceType corev1.ServiceType `json:"serviceType,omitempty"`
	// nodePort asks for a certain port on every node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	NodePort *int32 `json:"nodePort,omitempty"`
	// externalTrafficPolicy of the Service: with Local only nodes that run the AMF (its N2 terminators) take gNBs in, and it sees their
	// addresses; with Cluster every node does. The default is the cluster's: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// loadBalancerClass names who gives the Service its address, where that is not the cluster's default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// annotations for the Service, for example those of a load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// networkAttachmentDefinition of Multus, as name or namespace/name, that somebody else made: the pods that gNBs connect to have an interface of
	// it, n2, beside that of the pod network, and gNBs reach them at the addresses that it gives, status.n2.addresses, without a Service in between. Its
	// addresses and routes are the definition's: an address for each pod, and one more while pods are replaced. A change replaces them.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]*[a-z0-9])?/)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	NetworkAttachmentDefinition string `json:"networkAttachmentDefinition,omitempty"`
}

// DatabaseType says who runs the database.
// +kubebuilder:validation:Enum=Embedded;External
type DatabaseType string

// Values of DatabaseType.
const (
	// DatabaseEmbedded is a small in-memory database beside the core: labs and tests.
	DatabaseEmbedded DatabaseType = "Embedded"
	// DatabaseExternal is a MongoDB that a site runs: production.
	DatabaseExternal DatabaseType = "External"
)

// DatabaseSpec is the database of NRF, PCF and CHF.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'External' || has(self.uriSecretRef)",message="database.type External needs database.uriSecretRef: name the Secret whose key \"uri\" holds the mongodb:// URI"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'Embedded' || !has(self.uriSecretRef)",message="database.uriSecretRef is only read with database.type External: write type External, or leave uriSecretRef out"
type DatabaseSpec struct {
	// type of the database.
	// +kubebuilder:default=Embedded
	Type DatabaseType `json:"type,omitempty"`
	// uriSecretRef names the Secret and key (default "uri") that hold the mongodb:// URI.
	// +optional
	URISecretRef *SecretKeyReference `json:"uriSecretRef,omitempty"`
}

// SubscriberDatabaseSpec is a database of subscribers, of one core.
type SubscriberDatabaseSpec struct {
	// secretRef names the Secret that says where the PostgreSQL is: key "uri", a postgresql:// URI; "ca.crt", who signs its
	// certificate, and "tls.crt" with "tls.key" where it asks for one; and the keys that seal K and OPc, named by numbers from "1" on.
	SecretRef SecretReference `json:"secretRef"`
}

// SubscriberDataMode says where subscribers are.
// +kubebuilder:validation:Enum=Kubernetes;PostgreSQL
type SubscriberDataMode string

// Values of SubscriberDataMode.
const (
	SubscriberDataKubernetes SubscriberDataMode = "Kubernetes"
	SubscriberDataPostgreSQL SubscriberDataMode = "PostgreSQL"
)

// SUCIProfile is an ECIES profile of TS 33.501 Annex C.3.4.
// +kubebuilder:validation:Enum=A;B
type SUCIProfile string

// Values of SUCIProfile.
const (
	// SUCIProfileA is Curve25519.
	SUCIProfileA SUCIProfile = "A"
	// SUCIProfileB is secp256r1.
	SUCIProfileB SUCIProfile = "B"
)

// HomeNetworkKey is one home network private key.
type HomeNetworkKey struct {
	// id is the home network public key identifier that SUCIs carry.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=255
	ID int32 `json:"id"`
	// profile of the key.
	Profile SUCIProfile `json:"profile"`
	// secretRef names the Secret and key (default "privateKey") that hold the private key: 64
	// hexadecimal digits.
	SecretRef SecretKeyReference `json:"secretRef"`
}

// ImagesSpec says where container images come from.
type ImagesSpec struct {
	// registry and path in front of every image name; empty means the operator's own.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Registry string `json:"registry,omitempty"`
	// tag of every image; empty means the operator's own.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Tag string `json:"tag,omitempty"`
	// pullPolicy of every image; empty means the operator's own.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// pullSecrets are the Secrets that pods pull images with.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	PullSecrets []SecretReference `json:"pullSecrets,omitempty"`
}

// FunctionName is a network function, or another part of the core that runs in a container of its own.
// +kubebuilder:validation:Enum=amf;access-management;n2-terminator;smf;session-management;control-plane;nrf;pcf;chf;database;session-store;subscriber-data;upf-u;upf-c
type FunctionName string

// Values of FunctionName; each is also the name of its image, but for FunctionN2Terminator.
const (
	// FunctionAMF is free5GC's; FunctionAccessManagement are the workers of core5g's own, and FunctionN2Terminator where its
	// gNBs end, of the same image.
	FunctionAMF              FunctionName = "amf"
	FunctionAccessManagement FunctionName = "access-management"
	FunctionN2Terminator     FunctionName = "n2-terminator"
	// FunctionSMF is free5GC's, FunctionSessionManagement core5g's own.
	FunctionSMF               FunctionName = "smf"
	FunctionSessionManagement FunctionName = "session-management"
	// FunctionControlPlane is all of the control plane, in the layout Fused.
	FunctionControlPlane   FunctionName = "control-plane"
	FunctionNRF            FunctionName = "nrf"
	FunctionPCF            FunctionName = "pcf"
	FunctionCHF            FunctionName = "chf"
	FunctionDatabase       FunctionName = "database"
	FunctionSessionStore   FunctionName = "session-store"
	FunctionSubscriberData FunctionName = "subscriber-data"
	FunctionUPFU           FunctionName = "upf-u"
	FunctionUPFC           FunctionName = "upf-c"
)

// FunctionSpec overrides what one network function runs with, and says which nodes it may have.
//
// +kubebuilder:validation:XValidation:rule="!(self.name in ['upf-u', 'upf-c']) || !(has(self.nodeSelector) || has(self.tolerations) || has(self.affinity) || has(self.topologySpreadConstraints) || has(self.priorityClassName))",message="where units run is said in their UPFInstance: write nodeSelector, tolerations and priorityClassName there"
// +kubebuilder:validation:XValidation:rule="!has(self.configuration) || self.name in ['amf', 'smf', 'nrf', 'pcf', 'chf']",message="configuration is of free5GC's functions (amf, smf, nrf, pcf, chf): those of core5g's own are configured by the fields of this API"
type FunctionSpec struct {
	// name of the function.
	Name FunctionName `json:"name"`
	// image replaces registry, name and tag, for example with the free5GC project's own image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// resources replaces the function's requests and limits. Those of upf-u follow from the UPFInstance; here, cpu and
	// memory replace them: with a request of less than its CPUs, and no limit, upf-u shares CPUs with other pods, as on a
	// machine that has not enough for every unit. Units with a placement policy have CPUs of their own in any case.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// configuration goes over what the operator writes into the file of a function of free5GC (amf, smf, nrf, pcf, chf): objects are merged, any other value
	// replaces what is there. Only the function looks at it: what it does not know it passes over, and what it cannot use ends it. It is no part of this API, and
	// free5GC may change it with a version. A change restarts the function. For example {configuration: {t3512Value: 1800}} of amf.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Configuration *runtime.RawExtension `json:"configuration,omitempty"`
	// nodeSelector restricts the nodes that the function's pods run on. What keeps its records on a node runs there.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the function's pods.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// affinity of the function's pods. Without a podAntiAffinity, several of one function prefer different nodes.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// topologySpreadConstraints of the function's pods. One without a labelSelector counts the pods of the function.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the function's pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// LogLevel of the network functions.
// +kubebuilder:validation:Enum=Debug;Info;Warn;Error
type LogLevel string

// Values of LogLevel.
const (
	LogDebug LogLevel = "Debug"
	LogInfo  LogLevel = "Info"
	LogWarn  LogLevel = "Warn"
	LogError LogLevel = "Error"
)

// Core5GStatus says what the core is. Conditions: Ready, ConfigurationValid, DatabaseReady, NRFReady,
// AMFReady, PCFReady, CHFReady, SubscriberDataReady, Registered, SMFReady with controlPlane Core5G, SessionStoreReady with
// sessionStore or that, CertificatesReady with tls, and SubscriberDatabaseReady with subscriberData PostgreSQL.
type Core5GStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// functions of the core, one entry each.
	// +optional
	// +listType=map
	// +listMapKey=name
	Functions []FunctionStatus `json:"functions,omitempty"`
	// slices is the number of Slices that name this core.
	// +optional
	Slices int32 `json:"slices"`
	// n2 is where gNBs reach the AMF.
	// +optional
	N2 *N2Status `json:"n2,omitempty"`
}

// FunctionStatus sums up one network function.
type FunctionStatus struct {
	// name of the function.
	Name FunctionName `json:"name"`
	// ready is True when its pod is ready.
	Ready metav1.ConditionStatus `json:"ready"`
	// image that it runs.
	// +optional
	Image string `json:"image,omitempty"`
	// message says what it waits for when it is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// N2Status is where gNBs reach the AMF.
type N2Status struct {
	// address and port, as address:port.
	Address string `json:"address"`
	// addresses of pods by n2.networkAttachmentDefinition, each as address:port.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Addresses []string `json:"addresses,omitempty"`
	// pods that gNBs may connect to by n2.networkAttachmentDefinition, each with its own of addresses: core5g's own AMF tells gNBs of all of them. One is
	// here from when it is Ready until it is being deleted.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	Pods []N2Pod `json:"pods,omitempty"`
	// transport of NGAP.
	Transport N2Transport `json:"transport"`
}

// N2Pod is a pod that gNBs connect to.
type N2Pod struct {
	// name of the pod.
	Name string `json:"name"`
	// addresses of its interface n2, each as address:port.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	Addresses []string `json:"addresses"`
}
