package agent

import (
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/rules"
)

// note takes down the network instances, and the NAT44, of the upf-u that is about to be filled. Where they are other ones than before, what is
// known by them is gathered anew from the sessions as they are replayed.
func (a *Agent) note(h *abi.Hello) {
	before, list, bridges := a.networks(), networks.Of(h), networks.BridgesOf(h)
	a.known.Store(&list)
	a.bridges.Store(&bridges)
	a.nat.note(list, nat.Of(h))
	a.otherNetworks = before != nil && !slices.Equal(before, list)
	if !a.otherNetworks {
		return
	}
	a.log.Info("upf-u has other network instances than before", "networkInstances", list)
	a.chooser.Forget()
}

// networks are those of the upf-u that was met last; nil before there was any.
func (a *Agent) networks() networks.List {
	if l := a.known.Load(); l != nil {
		return *l
	}
	return nil
}

// isBridge says whether a network of that upf-u is one; nil: none is.
func (a *Agent) isBridge() func(network uint16) bool {
	if b := a.bridges.Load(); b != nil {
		return b.Finder()
	}
	return nil
}

// networkOf is that of the set's UE addresses.
func (a *Agent) networkOf(set *rules.Set) uint16 {
	network, _ := set.Network(a.networks().Finder())
	return network
}

// homeOf is the bucket of a session's home, where a session of an Ethernet network instance has its bridge's.
func (a *Agent) homeOf(index uint32, set *rules.Set) uint32 {
	if bridge := a.isBridge(); set.Ethernet && bridge != nil {
		if network := a.networkOf(set); bridge(network) {
			return addresses.HomeOfNetwork(network)
		}
	}
	return addresses.HomeOf(index, set)
}
