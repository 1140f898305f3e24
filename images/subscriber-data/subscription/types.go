package subscription

import (
	"errors"

	"core5g.dev/core5g/images/nf/ts29571"
)

var (
	// ErrUnknownSubscriber means that no subscription has the SUPI.
	ErrUnknownSubscriber = errors.New("no subscriber has this SUPI")
	// ErrBarred means that the subscription is there, and nobody is to serve it.
	ErrBarred = errors.New("the subscriber is barred")
	// ErrNotFound means that an object does not exist.
	ErrNotFound = errors.New("not found")
)

// The data types of the service based interface that subscriptions are made of.
type (
	SNSSAI = ts29571.SNSSAI
	PLMN   = ts29571.PLMN
	TAI    = ts29571.TAI
	GUAMI  = ts29571.GUAMI
)

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
	// Addresses of the subscriber's own and networks behind its UE by DNN, as the slice writes it, and names of QoS flows that are given to it.
	// All are empty where the core's SMF does not know them.
	Addresses map[string]Addresses
	Routes    map[string]Routes
	Flows     []string
}

// Addresses are static, as text; "" for one that the UPF chooses.
type Addresses struct{ IPv4, IPv6Prefix string }

// Routes are networks behind a UE, as text.
type Routes struct{ IPv4, IPv6 []string }

// Subscriber is a subscription, resolved against the slices that exist now.
type Subscriber struct {
	SUPI   string
	GPSI   string
	AMBR   AMBR
	Slices []SubscribedSlice
	// Barred: the subscription is as it was, and nobody is to serve it.
	Barred bool
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
