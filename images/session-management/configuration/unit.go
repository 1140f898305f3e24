package configuration

import (
	"fmt"
	"net/netip"
	"time"

	"core5g.dev/core5g/images/session-management/n4"
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
	// Outside of the cluster: it reaches shards where they are reached from there.
	Outside bool
	// Sources are further networks that its requests come from, beside its address.
	Sources []netip.Prefix
	// Access and Core are its names for networks, where they are not those that all have: of N3, and of data networks by what
	// NetworkInstance calls them.
	Access string
	Core   map[string]string
	// Pools are its names for blocks of UE addresses, "" for one without. A block that is not there is its own name.
	Pools map[netip.Prefix]string
	// Capacity is how many sessions it has room for; 0: nobody has said.
	Capacity uint64
}

// names of a data network at the unit; false where it has none of its own.
func (u *Unit) names(slice, dnn string) (n4.Names, bool) {
	names := n4.Names{Access: u.Access, Core: u.Core[NetworkInstance(slice, dnn)], Pools: u.Pools}
	return names, names.Access != "" || names.Core != "" || len(names.Pools) > 0
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
