package configuration

import (
	"fmt"
	"net/netip"
	"time"
)

// State of a unit, as its operator wants it.
type State uint8

// The states.
const (
	InService State = iota
	// Draining: sessions stay, new ones go elsewhere.
	Draining
	// Locked: it is away, and so are its sessions.
	Locked
)

func (s State) String() string {
	if s > Locked {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"in service", "draining", "locked"}[s]
}

// Unit is a UPF.
type Unit struct {
	// NodeID on N4: an address or an FQDN, in lower case.
	NodeID string
	// Address of its N4.
	Address netip.AddrPort
	// N3 are the networks that its endpoints on N3 lie in.
	N3 []netip.Prefix
	// UPFInstance that it is a unit of, and Name, its pod's; "" outside of the cluster.
	UPFInstance, Name string
	State             State
	// Ending: when it is Locked, it does not come back.
	Ending bool
	// Drain is how long sessions may stay once it drains; 0: as long as they like.
	Drain time.Duration
	// Capacity is how many sessions it has room for; 0: nobody has said.
	Capacity uint64
}

const portPFCP = 8805 // TS 29.244 4.2.2

func (u *Unit) check() error {
	u.NodeID = fold(u.NodeID)
	if u.NodeID == "" {
		return fmt.Errorf("unit %q of UPFInstance %q has no Node ID: write its address or FQDN", u.Name, u.UPFInstance)
	}
	if !u.Address.IsValid() {
		a, err := netip.ParseAddr(u.NodeID)
		if err != nil {
			return fmt.Errorf("unit %q has no N4 address: write one, for example 10.96.12.7:8805", u.NodeID)
		}
		u.Address = netip.AddrPortFrom(a, portPFCP)
	}
	return nil
}
