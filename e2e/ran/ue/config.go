package ue

import (
	"net/netip"
	"time"

	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/e2e/ran/usim"
	"core5g.dev/core5g/images/session-management/n1"
)

// Config describes one UE.
type Config struct {
	SUPI      string // "imsi-…"
	MCC, MNC  string
	K, OPc    usim.Key128
	SQN       uint64
	IMEISV    string // 16 digits
	HomeKey   *usim.HomeNetworkKey
	Routing   string // routing indicator
	Requested []uenas.SNSSAI
	Cell      string // name of the gNB where it is switched on; "": the first
	Sessions  []SessionConfig

	// Autostart registers and establishes Sessions as soon as the cell serves.
	Autostart bool
	// Recover re-registers and re-establishes after a loss that the user did not ask for.
	Recover bool

	Device DeviceMaker // nil: no device, user packets stay in the process
	Timers Timers
}

// SessionConfig is one PDU session that the UE may ask for.
type SessionConfig struct {
	PSI   uint8 // PDU session identity, 1 to 15
	Slice uenas.SNSSAI
	DNN   string
	QFI   uint8 // QoS flow of every uplink packet; 0: as the QoS rules say

	Type       n1.SessionType // asked for; 0: IPv4
	AlwaysOn   bool           // asked for
	PCSCF      bool           // addresses of P-CSCFs asked for
	MaxFilters uint16         // packet filters supported: 17 to 1024; 0: 16, and not told
	Emergency  bool           // for emergency services: the network knows slice and DNN
}

// Timers of TS 24.501 10.2 and 10.3, and the pauses between attempts. Zero values mean the defaults.
type Timers struct {
	T3510, T3517, T3521, T3580, T3581, T3582 time.Duration
	// Solicitation is the pause between Router Solicitations (RFC 4861 10).
	Solicitation time.Duration
	// Lost stands in for T3580 and T3582 while a session that the UPF has lost is replaced: the SMF may
	// have lost it too, and free5GC's AMF then does not answer.
	Lost               time.Duration
	MinRetry, MaxRetry time.Duration
}

func (t *Timers) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&t.T3510, 15*time.Second)
	set(&t.T3517, 15*time.Second)
	set(&t.T3521, 15*time.Second)
	set(&t.T3580, 16*time.Second)
	set(&t.T3581, 16*time.Second)
	set(&t.T3582, 16*time.Second)
	set(&t.Solicitation, solicitationInterval)
	set(&t.Lost, 2*time.Second)
	set(&t.MinRetry, 500*time.Millisecond)
	set(&t.MaxRetry, 15*time.Second)
}

// Device is where a session's user packets leave the simulation: a TUN interface. One with AddIPv6(address, mtu) takes
// the second address of an IPv4v6 session while programs use the first.
type Device interface {
	Name() string
	// Read and Write move one IP packet, or one frame of an Ethernet session.
	Read(packet []byte) (int, error)
	Write(packet []byte) (int, error)
	Close() error
}

// DeviceConfig is what a session tells the maker of its device.
type DeviceConfig struct {
	SUPI     string
	PSI      uint8
	Address  netip.Addr // IPv4; invalid without
	Address6 netip.Addr // IPv6; invalid without, or before its Router Advertisement
	Ethernet bool       // frames instead of packets, and no address: a TAP interface
	MTU      int
}

// DeviceMaker makes the device of a session that has just become active.
type DeviceMaker func(DeviceConfig) (Device, error)
