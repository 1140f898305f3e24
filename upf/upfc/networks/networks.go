// Package networks has the network instances of N6 (TS 29.244 5.4, 8.2.4), as upf-u has them.
package networks

import (
	"bytes"
	"slices"

	"core5g.dev/core5g/upf/abi"
)

// List has their names by the index that the contract with upf-u has for them. One without a name serves every network
// instance that no other one is named for.
type List []string

// Of is what upf-u says; a stand-in of tests says nothing, and has one that serves all.
func Of(h *abi.Hello) List {
	list := List{}
	for i := range min(int(h.Networks), len(h.Network)) {
		name, _, _ := bytes.Cut(h.Network[i].Name[:], []byte{0})
		list = append(list, string(name))
	}
	if len(list) == 0 {
		list = List{""}
	}
	return list
}

// Bridges says of each network whether it is one for the frames of Ethernet PDU sessions.
type Bridges []bool

// BridgesOf is what upf-u says.
func BridgesOf(h *abi.Hello) Bridges {
	out := Bridges{}
	for i := range min(int(h.Networks), len(h.Network)) {
		out = append(out, h.Network[i].Ethernet != 0)
	}
	return out
}

// Has says whether a network is a bridge. One that there is not is none that IP sessions could be in, either.
func (b Bridges) Has(network uint16) bool { return int(network) >= len(b) || b[network] }

// Finder is Has; nil: no network is a bridge.
func (b Bridges) Finder() func(network uint16) bool {
	if !slices.Contains(b, true) {
		return nil
	}
	return b.Has
}

// Find is the index of the network that serves a network instance; false: none does. A nil List is one that serves all.
func (l List) Find(name string) (uint16, bool) {
	if l == nil {
		return 0, true
	}
	i := slices.Index(l, name)
	if i < 0 {
		i = slices.Index(l, "")
	}
	return uint16(max(i, 0)), i >= 0
}

// Finder is Find; nil: there is one network, which serves all.
func (l List) Finder() func(name string) (uint16, bool) {
	if len(l) == 0 || len(l) == 1 && l[0] == "" {
		return nil
	}
	return l.Find
}

// Port is an interface of upf-u.
type Port struct {
	Interface       string // n3, n6, n9
	NetworkInstance string // of N6; empty: of all that have no interface of their own
}

// String is the interface's name, and with a network instance both: n6:ims.
func (p Port) String() string {
	if p.NetworkInstance == "" {
		return p.Interface
	}
	return p.Interface + ":" + p.NetworkInstance
}

// Port is the one with a number of enum upf_port; false: there is none.
func (l List) Port(port int) (Port, bool) {
	switch network := port - abi.PortN6; {
	case port == abi.PortN3:
		return Port{Interface: "n3"}, true
	case port == abi.PortN9:
		return Port{Interface: "n9"}, true
	case network == 0 && len(l) == 0:
		return Port{Interface: "n6"}, true
	case network >= 0 && network < len(l):
		return Port{"n6", l[network]}, true
	}
	return Port{}, false
}
