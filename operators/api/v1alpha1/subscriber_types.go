package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subscriber is one subscription: a SUPI, where its keys are, and the slices it may use. A change is in
// force at once; keys live in Secrets only.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=subscribers,singular=subscriber,shortName=sub
// +kubebuilder:selectablefield:JSONPath=`.spec.supi`
// +kubebuilder:printcolumn:name="SUPI",type=string,JSONPath=`.spec.supi`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Slices",type=string,JSONPath=`.status.slices`
// +kubebuilder:printcolumn:name="Barred",type=boolean,JSONPath=`.spec.barred`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Subscriber struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SubscriberSpec   `json:"spec,omitempty"`
	Status SubscriberStatus `json:"status,omitempty"`
}

// SubscriberList is a list of Subscriber.
//
// +kubebuilder:object:root=true
type SubscriberList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Subscriber `json:"items"`
}

// SubscriberSpec says what the subscription is.
type SubscriberSpec struct {
	// coreRef names the Core5G that the subscriber belongs to.
	// +kubebuilder:default={}
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="coreRef is immutable: delete the Subscriber and create it for the other core"
	CoreRef CoreReference `json:"coreRef,omitempty"`

	// supi is the subscription permanent identifier, imsi- and 5 to 15 digits; it cannot change.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^imsi-[0-9]{5,15}$')",messageExpression="'\"' + self + '\" is no SUPI: write imsi- and 5 to 15 digits, for example imsi-208930000000001'"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="supi is immutable: create a second Subscriber with the new SUPI and delete this one"
	SUPI string `json:"supi"`

	// gpsi is the public number, for example msisdn-33612345678.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(msisdn-[0-9]{5,15}|extid-[^@]+@[^@]+)$')",messageExpression="'\"' + self + '\" is no GPSI: write msisdn- and 5 to 15 digits, or extid-user@domain'"
	GPSI string `json:"gpsi,omitempty"`

	// barred keeps the subscriber out of the network: PDU sessions end at once where core5g's own SMF has
	// them, and it cannot register until this is false again. The subscription and its keys stay as they are.
	// +optional
	Barred bool `json:"barred,omitempty"`

	// authentication of the subscriber.
	Authentication Authentication `json:"authentication"`

	// slices that the subscriber may use.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	Slices []SubscribedSlice `json:"slices"`

	// ambr over all PDU sessions of the UE (UE AMBR).
	// +kubebuilder:default={}
	AMBR AMBR `json:"ambr,omitempty"`
}

// Keys of the Secret that Authentication names; each value is 32 hexadecimal digits.
const (
	SecretKeyK   = "k"
	SecretKeyOPc = "opc"
	SecretKeyOP  = "op"
)

// Default keys of Secrets that a SecretKeyReference without a key means.
const (
	SecretKeyURI        = "uri"
	SecretKeyPrivateKey = "privateKey"
)

// Authentication says how a subscriber proves who it is: by 5G-AKA with Milenage (TS 35.206).
type Authentication struct {
	// secretRef names the Secret with keys "k" and "opc" (or "op"): 32 hexadecimal digits each.
	SecretRef SecretReference `json:"secretRef"`
	// amf is the authentication management field (TS 33.102 6.3): four hexadecimal digits, in quotes.
	// +kubebuilder:default="8000"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Type=""
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="type(self) == string",message="write authentication.amf in quotes, for example \"8000\": without them YAML reads a number"
	// +kubebuilder:validation:XValidation:rule="type(self) != string || self.matches('^[0-9A-Fa-f]{4}$')",message="authentication.amf must be 4 hexadecimal digits in quotes, for example \"8000\""
	AMF string `json:"amf,omitempty"`
}

// SubscribedSlice is one slice that a subscriber may use.
type SubscribedSlice struct {
	// name of the Slice.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// dnns of the Slice that the subscriber may use; all of them when empty. The first is the default.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.lowerAscii() == b.lowerAscii()))",message="two DNNs that differ only in case are one (TS 23.003 9.1): write it once, as the Slice does"
	// +listType=set
	DNNs []DNN `json:"dnns,omitempty"`
	// addresses of the subscriber's own, instead of ones from the Slice's pools: they lie outside of these, and no other
	// Subscriber has them. They need controlPlane Core5G of the core.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.dnn.lowerAscii() == b.dnn.lowerAscii()))",message="two DNNs that differ only in case are one (TS 23.003 9.1): write the addresses once, with the DNN as the Slice writes it"
	// +listType=map
	// +listMapKey=dnn
	Addresses []StaticAddress `json:"addresses,omitempty"`
	// framedRoutes are the networks behind the UE, such as those of an office behind its router (framed routes, TS 23.501 5.6.14): packets to
	// them go to its PDU sessions, and it may send from them. They lie outside of the Slice's pools, and no other Subscriber has an address or
	// a network in them. A change ends the PDU sessions, and the UE asks for others. They need controlPlane Core5G of the core.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.dnn.lowerAscii() == b.dnn.lowerAscii()))",message="two DNNs that differ only in case are one (TS 23.003 9.1): write the networks once, with the DNN as the Slice writes it"
	// +listType=map
	// +listMapKey=dnn
	FramedRoutes []FramedRoutes `json:"framedRoutes,omitempty"`
	// flows of the Slice's data networks, by name, that are given ToSubscribers. They need controlPlane Core5G of the core.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	Flows []string `json:"flows,omitempty"`
	// default puts the slice into the default configured NSSAI. Where no entry says so, the first is.
	// +optional
	Default bool `json:"default,omitempty"`
}

// StaticAddress is what a subscriber's PDU sessions to a data network have for addresses.
//
// +kubebuilder:validation:XValidation:rule="has(self.ipv4) || has(self.ipv6Prefix)",message="write ipv4, ipv6Prefix or both, or leave the data network out of addresses"
type StaticAddress struct {
	// dnn of the data network, as the Slice writes it.
	DNN DNN `json:"dnn"`
	// ipv4 address, for PDU sessions of type IPv4 and IPv4v6.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!isIP(self) || (ip(self).family() == 4 && ip(self).isGlobalUnicast())",messageExpression="'\"' + self + '\" is no IPv4 address that a UE can have: write for example 10.47.0.9'"
	IPv4 IPAddress `json:"ipv4,omitempty"`
	// ipv6Prefix of 64 bits, for PDU sessions of type IPv6 and IPv4v6.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || (cidr(self).ip().family() == 6 && cidr(self).prefixLength() == 64 && cidr(self).ip().isGlobalUnicast())",messageExpression="'\"' + self + '\" is no IPv6 prefix that a UE can have: write one of 64 bits, for example 2001:db8:47:1::/64'"
	IPv6Prefix CIDR `json:"ipv6Prefix,omitempty"`
}

// FramedRoutes are the networks behind a UE in its PDU sessions to a data network.
type FramedRoutes struct {
	// dnn of the data network, as the Slice writes it.
	DNN DNN `json:"dnn"`
	// prefixes of the networks, IPv4 for PDU sessions of type IPv4 and IPv4v6, IPv6 for those of type IPv6 and IPv4v6.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Prefixes []FramedRoute `json:"prefixes"`
}

// FramedRoute is an IP network behind a UE.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"' + self + '\" is no CIDR: write a network address and a prefix length, for example 192.168.7.0/24'"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"' + self + '\" has host bits set: write the network address of that prefix, for example 192.168.7.0/24'"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || (cidr(self).ip().isGlobalUnicast() && (cidr(self).ip().family() == 4 ? cidr(self).prefixLength() >= 8 : cidr(self).prefixLength() >= 16 && cidr(self).prefixLength() <= 64))",messageExpression="'\"' + self + '\" is no network that can be behind a UE: write one of IPv4 with a prefix length of 8 to 32, for example 192.168.7.0/24, or of IPv6 with 16 to 64, for example 2001:db8:7::/48'"
type FramedRoute string

// SubscriberStatus says what is wrong with the subscription, if anything. Conditions: Ready, CoreFound,
// AuthenticationReady, SlicesReady, GPSIUnique with gpsi, and AddressesUnique with addresses or framedRoutes. It never holds data of the Secret.
type SubscriberStatus struct {
	// observedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// checkedSecret says which Secret AuthenticationReady speaks of: the number of the rules that it was checked by,
	// a slash, and its resource version. It is read again when one of them is another.
	// +optional
	CheckedSecret string `json:"checkedSecret,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// slices of spec.slices by name, for kubectl's column, which shows one value of a list: for example "internet,ims".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Slices string `json:"slices,omitempty"`
}
