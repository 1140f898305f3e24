package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
)

// PLMN is a public land mobile network (TS 23.003 2.2).
//
// +kubebuilder:validation:XValidation:rule="type(self.mcc) == string && type(self.mnc) == string",message="write mcc and mnc in quotes, for example {mcc: \"208\", mnc: \"93\"}: without them YAML reads numbers, and loses zeros"
// +kubebuilder:validation:XValidation:rule="type(self.mcc) != string || (self.mcc.size() == 3 && [0, 1, 2].all(i, self.mcc.charAt(i) in '0123456789'.split(\"\")))",message="mcc must be 3 decimal digits in quotes, for example \"208\""
// +kubebuilder:validation:XValidation:rule="type(self.mnc) != string || (self.mnc.size() in [2, 3] && [0, 1, 2].all(i, i >= self.mnc.size() || self.mnc.charAt(i) in '0123456789'.split(\"\")))",message="mnc must be 2 or 3 decimal digits in quotes, for example \"93\""
type PLMN struct {
	// mcc is the mobile country code: three decimal digits, in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Type=""
	// +kubebuilder:validation:MaxLength=16
	MCC string `json:"mcc"`
	// mnc is the mobile network code: two or three decimal digits, in quotes.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Type=""
	// +kubebuilder:validation:MaxLength=16
	MNC string `json:"mnc"`
	// tacs are the tracking areas of the core in this PLMN; those of spec.tacs when left out.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	TACs []TAC `json:"tacs,omitempty"`
	// sliceCatalogue is what the AMF advertises in this PLMN; spec.sliceCatalogue when left out.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=sst
	// +listMapKey=sd
	SliceCatalogue []SNSSAI `json:"sliceCatalogue,omitempty"`
}

// TACsOf are the tracking areas of one of the PLMNs.
func (s *Core5GSpec) TACsOf(p PLMN) []TAC {
	if len(p.TACs) > 0 {
		return p.TACs
	}
	return s.TACs
}

// CatalogueOf is the catalogue of one of the PLMNs.
func (s *Core5GSpec) CatalogueOf(p PLMN) []SNSSAI {
	if len(p.SliceCatalogue) > 0 {
		return p.SliceCatalogue
	}
	return s.SliceCatalogue
}

// AllTACs are the tracking areas of any of the PLMNs, each once.
func (s *Core5GSpec) AllTACs() (all []TAC) {
	for _, p := range s.PLMNs {
		for _, tac := range s.TACsOf(p) {
			if !slices.ContainsFunc(all, func(t TAC) bool { return strings.EqualFold(string(t), string(tac)) }) {
				all = append(all, tac)
			}
		}
	}
	return all
}

// Catalogue is that of any of the PLMNs, each S-NSSAI once.
func (s *Core5GSpec) Catalogue() (all []SNSSAI) {
	for _, p := range s.PLMNs {
		for _, snssai := range s.CatalogueOf(p) {
			if !slices.ContainsFunc(all, snssai.Equal) {
				all = append(all, snssai)
			}
		}
	}
	return all
}

// String returns the PLMN as MCC followed by MNC.
func (p PLMN) String() string { return p.MCC + p.MNC }

// HasSUPI says whether a SUPI that is an IMSI is of this PLMN (TS 23.003 2.2).
func (p PLMN) HasSUPI(supi string) bool {
	return strings.HasPrefix(supi, "imsi-"+p.String())
}

// SNSSAI names a network slice (TS 23.003 28.4.2).
//
// +kubebuilder:validation:XValidation:rule="!has(self.sd) || type(self.sd) == string",message="write sd in quotes, for example \"010203\": without them YAML reads a number, and loses zeros",fieldPath=".sd"
// +kubebuilder:validation:XValidation:rule="!has(self.sd) || type(self.sd) != string || self.sd == \"\" || (self.sd.size() == 6 && [0, 1, 2, 3, 4, 5].all(i, self.sd.charAt(i) in '0123456789ABCDEFabcdef'.split(\"\")))",message="sd must be 6 hexadecimal digits in quotes, for example \"010203\", or be left out",fieldPath=".sd"
// +kubebuilder:validation:XValidation:rule="!has(self.sd) || type(self.sd) != string || self.sd.size() != 6 || ![0, 1, 2, 3, 4, 5].all(i, self.sd.charAt(i) in ['F', 'f'])",message="sd ffffff says that there is none (TS 23.003 28.4.2): write another, or leave sd out",fieldPath=".sd"
type SNSSAI struct {
	// sst is the slice/service type, 1 (eMBB) to 255.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=255
	SST int32 `json:"sst"`
	// sd is the slice differentiator: six hexadecimal digits in quotes, or empty for an S-NSSAI without one.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Type=""
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=16
	SD string `json:"sd"`
}

// String returns the S-NSSAI as TS 29.571 writes it as a map key, "1-010203", or "1" without an SD.
func (s SNSSAI) String() string {
	if s.SD == "" {
		return fmt.Sprintf("%d", s.SST)
	}
	return fmt.Sprintf("%d-%s", s.SST, strings.ToLower(s.SD))
}

// Equal reports whether both name the same slice; hexadecimal digits compare without case.
func (s SNSSAI) Equal(o SNSSAI) bool {
	return s.SST == o.SST && strings.EqualFold(s.SD, o.SD)
}

// TAC is a tracking area code of 5GS: six hexadecimal digits. 000000 and FFFFFE say that there is none (TS 23.003 19.4.2.3).
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:XValidation:rule="type(self) == string",message="write a tac in quotes, for example \"000001\": without them YAML reads a number, and loses zeros"
// +kubebuilder:validation:XValidation:rule="type(self) != string || (self.size() == 6 && [0, 1, 2, 3, 4, 5].all(i, self.charAt(i) in '0123456789ABCDEFabcdef'.split(\"\")))",message="a tac must be 6 hexadecimal digits in quotes, for example \"000001\""
// +kubebuilder:validation:XValidation:rule="type(self) != string || !(self.lowerAscii() in ['000000', 'fffffe'])",message="tac 000000 and FFFFFE are reserved, and say that there is no tracking area (TS 23.003): write another, for example \"000001\", and the same in your gNBs"
type TAC string

// CIDR is an IP network: its network address and prefix length.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"' + self + '\" is no CIDR: write a network address and a prefix length, for example 10.45.0.0/16'"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"' + self + '\" has host bits set: write the network address of that prefix, for example 10.45.0.0/16'"
type CIDR string

// InterfaceAddress is the IP address of an interface with the prefix length of its network.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"' + self + '\" is no interface address: write an IP address and the prefix length of its network, for example 172.30.6.2/24'"
type InterfaceAddress string

// IPAddress is an IPv4 or IPv6 address without a prefix length.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="isIP(self)",messageExpression="'\"' + self + '\" is no IP address: write for example 172.30.3.1, without a prefix length'"
type IPAddress string

// BitRate is a number, a space and a unit (TS 29.571 5.5.2): what the messages to UEs and gNBs have room for. The
// session AMBR of NAS (TS 24.501 9.11.4.14) counts in 1 Kbps and more, and the SMF reads 15 bits and no fraction;
// NGAP ends at 4 Tbps (TS 38.413 9.3.1.4). An SMF makes 0 of what it cannot read.
//
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,4} (Kbps|Mbps|Gbps|Tbps)$') && int(self.split(' ')[0]) <= 32767",messageExpression="'\"' + self + '\" is no bit rate: write a whole number from 1 to 32767, a space and one of Kbps, Mbps, Gbps, Tbps, for example \"100 Mbps\" or \"1500 Mbps\"'"
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]{1,5} (Gbps|Tbps)$') || int(self.split(' ')[0]) <= (self.endsWith(' Tbps') ? 4 : 4000)",messageExpression="'\"' + self + '\" is more than a gNB can be told (TS 38.413 9.3.1.4): write at most \"4 Tbps\"'"
type BitRate string

// What the definitions give Slices and Subscribers that say nothing, for whoever reads what no API server has completed: of an AMBR, an ARP, a data network, and credentials.
const (
	DefaultUplink        BitRate = "1 Gbps"
	DefaultDownlink      BitRate = "2 Gbps"
	DefaultPriorityLevel         = 8
	DefaultFiveQI                = 9
	DefaultMTU                   = 1400
	// DefaultAMF is the authentication management field.
	DefaultAMF = "8000"
)

// AMBR is an aggregate maximum bit rate (TS 23.501 5.7.2.6).
type AMBR struct {
	// uplink bit rate.
	// +kubebuilder:default="1 Gbps"
	Uplink BitRate `json:"uplink,omitempty"`
	// downlink bit rate.
	// +kubebuilder:default="2 Gbps"
	Downlink BitRate `json:"downlink,omitempty"`
}

// PreemptionCapability says whether a QoS flow may take resources from others (TS 29.571 5.5.3.1).
// +kubebuilder:validation:Enum=NotPreempt;MayPreempt
type PreemptionCapability string

// PreemptionVulnerability says whether others may take resources from a QoS flow (TS 29.571 5.5.3.2).
// +kubebuilder:validation:Enum=NotPreemptable;Preemptable
type PreemptionVulnerability string

// Values of PreemptionCapability and PreemptionVulnerability.
const (
	NotPreempt     PreemptionCapability    = "NotPreempt"
	MayPreempt     PreemptionCapability    = "MayPreempt"
	NotPreemptable PreemptionVulnerability = "NotPreemptable"
	Preemptable    PreemptionVulnerability = "Preemptable"
)

// ARP is the allocation and retention priority of a QoS flow (TS 23.501 5.7.2.2).
type ARP struct {
	// priorityLevel is 1 (highest) to 15.
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=15
	PriorityLevel int32 `json:"priorityLevel,omitempty"`
	// +kubebuilder:default=NotPreempt
	PreemptionCapability PreemptionCapability `json:"preemptionCapability,omitempty"`
	// +kubebuilder:default=NotPreemptable
	PreemptionVulnerability PreemptionVulnerability `json:"preemptionVulnerability,omitempty"`
}

// DNN is a data network name (TS 23.003 9A): labels of letters, digits and hyphens, joined by dots.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=100
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$')",messageExpression="'\"' + self + '\" is no data network name: write labels of letters, digits and hyphens joined by dots, for example internet or ims.operator'"
type DNN string
