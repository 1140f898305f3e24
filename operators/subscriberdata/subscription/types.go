package subscription

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrUnknownSubscriber means that no subscription has the SUPI.
	ErrUnknownSubscriber = errors.New("no subscriber has this SUPI")
	// ErrNotFound means that an object does not exist.
	ErrNotFound = errors.New("not found")
)

// SNSSAI names a network slice. SD is six lower-case hexadecimal digits, or empty.
type SNSSAI struct {
	SST int32  `json:"sst"`
	SD  string `json:"sd,omitempty"`
}

// MakeSNSSAI returns an S-NSSAI that compares with ==, whatever the case of its SD was. The SD ffffff
// means "no SD" (TS 23.003 28.4.2).
func MakeSNSSAI(sst int32, sd string) SNSSAI {
	sd = strings.ToLower(sd)
	if sd == "ffffff" {
		sd = ""
	}
	return SNSSAI{SST: sst, SD: sd}
}

// String returns the form of TS 29.571 5.4.4.2 for map keys: 1-010203.
func (s SNSSAI) String() string {
	if s.SD == "" {
		return fmt.Sprintf("%d", s.SST)
	}
	return fmt.Sprintf("%d-%s", s.SST, s.SD)
}

// Hex returns the form that free5GC's functions look up: two hexadecimal digits of SST and the SD, in
// lower case, 01010203.
func (s SNSSAI) Hex() string { return fmt.Sprintf("%02x%s", s.SST, s.SD) }

// PLMN is a public land mobile network.
type PLMN struct {
	MCC string `json:"mcc"`
	MNC string `json:"mnc"`
}

// ServingNetworkName is the name of TS 33.501 6.1.1.4: the MNC has three digits (TS 24.501 9.12.1).
func (p PLMN) ServingNetworkName() string {
	mnc := p.MNC
	if len(mnc) == 2 {
		mnc = "0" + mnc
	}
	return "5G:mnc" + mnc + ".mcc" + p.MCC + ".3gppnetwork.org"
}

// AMBR is an aggregate maximum bit rate; both are a number, a space and a unit (TS 29.571 5.5.2).
type AMBR struct {
	Uplink   string `json:"uplink"`
	Downlink string `json:"downlink"`
}

// ARP is an allocation and retention priority in the words of TS 29.571 5.5.4.1.
type ARP struct {
	PriorityLevel int32  `json:"priorityLevel"`
	PreemptCap    string `json:"preemptCap"`
	PreemptVuln   string `json:"preemptVuln"`
}

// DataNetwork is what a PDU session to one DNN of a slice is given.
type DataNetwork struct {
	DNN          string
	AMBR         AMBR
	FiveQI       int32
	ARP          ARP
	SessionTypes []string // IPV4, IPV6; the first is the default
}

// Slice is a slice that exists.
type Slice struct {
	Name         string
	SNSSAI       SNSSAI
	DataNetworks []DataNetwork
}

// SubscribedSlice is a slice that a subscriber may use: only the DNNs of it that the subscription
// allows, the first of them the default.
type SubscribedSlice struct {
	Slice
	Default bool
}

// Subscriber is a subscription, resolved against the slices that exist now.
type Subscriber struct {
	SUPI   string
	GPSI   string
	AMBR   AMBR
	Slices []SubscribedSlice
}

// Slice returns the subscribed slice with the S-NSSAI.
func (s Subscriber) Slice(n SNSSAI) (SubscribedSlice, bool) {
	for _, sl := range s.Slices {
		if sl.SNSSAI == n {
			return sl, true
		}
	}
	return SubscribedSlice{}, false
}

// Core is what the subscriber data functions need to know about their core.
type Core struct {
	PLMNs     []PLMN
	Catalogue []SNSSAI
}

// Advertises reports whether the S-NSSAI is in the catalogue that the AMF advertises. A core without a
// catalogue, which only a file can describe, advertises everything.
func (c Core) Advertises(n SNSSAI) bool {
	if len(c.Catalogue) == 0 {
		return true
	}
	for _, s := range c.Catalogue {
		if s == n {
			return true
		}
	}
	return false
}
