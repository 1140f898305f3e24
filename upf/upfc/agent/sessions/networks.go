package sessions

import (
	"slices"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Networks are those of the upf-u that was met last; nil before there was any.
func (ss *Sessions) Networks() networks.List {
	if l := ss.known.Load(); l != nil {
		return *l
	}
	return nil
}

// isBridge says whether a network of that upf-u is one; nil: none is.
func (ss *Sessions) isBridge() func(network uint16) bool {
	if b := ss.bridges.Load(); b != nil {
		return b.Finder()
	}
	return nil
}

// networkOf is that of the set's UE addresses.
func (ss *Sessions) networkOf(set *rules.Set) uint16 {
	network, _ := set.Network(ss.Networks().Finder())
	return network
}

// homeOf is the bucket of a session's home, where a session of an Ethernet network instance has its bridge's.
func (ss *Sessions) homeOf(index uint32, set *rules.Set) uint32 {
	if bridge := ss.isBridge(); set.Ethernet && bridge != nil {
		if network := ss.networkOf(set); bridge(network) {
			return addresses.HomeOfNetwork(network)
		}
	}
	return addresses.HomeOf(index, set)
}

// Note takes down the network instances, and the NAT44, of the upf-u that is about to be filled. Where they are other ones than before, what is
// known by them is gathered anew from the sessions as they are replayed.
func (ss *Sessions) Note(h *abi.Hello) (others bool) {
	before, list, bridges := ss.Networks(), networks.Of(h), networks.BridgesOf(h)
	ss.known.Store(&list)
	ss.bridges.Store(&bridges)
	ss.nat.note(list, nat.Of(h))
	if before == nil || slices.Equal(before, list) {
		return false
	}
	ss.o.Log.Info("upf-u has other network instances than before", "networkInstances", list)
	ss.o.Chooser.Forget()
	return true
}
