package userplane

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// Topology is userplaneInformation of free5GC's SMF, in its configuration and in its API.
type Topology struct {
	UPNodes map[string]Node `json:"upNodes"`
	Links   []Link          `json:"links"`
}

// Node is an access network (type AN) or a UPF.
type Node struct {
	Type        string      `json:"type"`
	NodeID      string      `json:"nodeID,omitempty"`
	Addr        string      `json:"addr,omitempty"`
	SNSSAIInfos []SliceInfo `json:"sNssaiUpfInfos,omitempty"`
	Interfaces  []Interface `json:"interfaces,omitempty"`
}

// SliceInfo is what a UPF serves of one slice.
type SliceInfo struct {
	SNSSAI SNSSAI    `json:"sNssai"`
	DNNs   []DNNInfo `json:"dnnUpfInfoList"`
}

// SNSSAI as the SMF writes it.
type SNSSAI struct {
	SST int32  `json:"sst"`
	SD  string `json:"sd,omitempty"`
}

// DNNInfo is a data network with the UE pools of a UPF.
type DNNInfo struct {
	DNN   string `json:"dnn"`
	Pools []Pool `json:"pools"`
}

// Pool of UE addresses.
type Pool struct {
	CIDR string `json:"cidr"`
}

// Interface of a UPF.
type Interface struct {
	InterfaceType    string   `json:"interfaceType"`
	Endpoints        []string `json:"endpoints"`
	NetworkInstances []string `json:"networkInstances"`
}

// Link between two nodes.
type Link struct {
	A string `json:"A"`
	B string `json:"B"`
}

const typeUPF = "UPF"

// Check says what of a topology would end the SMF, or keep it from using a UPF.
func (t Topology) Check() error {
	type claim struct {
		prefix netip.Prefix
		who    string
	}
	var claims []claim
	ids := map[string]string{}
	linked := map[string]bool{}
	for _, l := range t.Links {
		linked[l.A], linked[l.B] = true, true
		for _, end := range []string{l.A, l.B} {
			if _, is := t.UPNodes[end]; !is {
				return fmt.Errorf("a link names %s, which is no node", end)
			}
		}
	}
	for _, name := range t.upfs() {
		n := t.UPNodes[name]
		if _, err := netip.ParseAddr(n.NodeID); err != nil {
			return fmt.Errorf("UPF %s has no node ID: %w", name, err)
		}
		if other, taken := ids[n.NodeID]; taken {
			return fmt.Errorf("UPFs %s and %s have the same node ID %s", other, name, n.NodeID)
		}
		ids[n.NodeID] = name
		if !linked[name] {
			return fmt.Errorf("no link leads to UPF %s", name)
		}
		for _, info := range n.SNSSAIInfos {
			for _, dnn := range info.DNNs {
				for _, pool := range dnn.Pools {
					p, err := netip.ParsePrefix(pool.CIDR)
					if err != nil {
						return fmt.Errorf("UPF %s: %w", name, err)
					}
					for _, c := range claims {
						if c.prefix.Overlaps(p) {
							return fmt.Errorf("pool %s of UPF %s overlaps %s of UPF %s", p, name, c.prefix, c.who)
						}
					}
					claims = append(claims, claim{p, name})
				}
			}
		}
	}
	return nil
}

func (t Topology) upfs() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.UPNodes)) {
		if t.UPNodes[name].Type == typeUPF {
			out = append(out, name)
		}
	}
	return out
}

// Changes are what turns one topology into another: UPFs to take out, and nodes with links to put in. A
// UPF that differs is both.
type Changes struct {
	Remove []string
	Add    Topology
}

// Empty reports that nothing is to be done.
func (c Changes) Empty() bool { return len(c.Remove) == 0 && len(c.Add.UPNodes) == 0 }

// Compare finds the changes from what an SMF has to what it should have.
func Compare(have, want Topology) Changes {
	var c Changes
	for _, name := range have.upfs() {
		wanted, is := want.UPNodes[name]
		if !is || !same(have.UPNodes[name], wanted) {
			c.Remove = append(c.Remove, name)
		}
	}
	add := map[string]Node{}
	for _, name := range want.upfs() {
		if old, is := have.UPNodes[name]; !is || slices.Contains(c.Remove, name) || old.Type != typeUPF {
			add[name] = want.UPNodes[name]
		}
	}
	if len(add) == 0 {
		return c
	}
	c.Add.UPNodes, c.Add.Links = add, []Link{}
	for _, l := range want.Links {
		if _, new := add[l.B]; new {
			c.Add.Links = append(c.Add.Links, l)
		} else if _, new := add[l.A]; new {
			c.Add.Links = append(c.Add.Links, l)
		}
	}
	return c
}

// same compares what the SMF does not fill in by itself.
func same(a, b Node) bool {
	return a.NodeID == b.NodeID && equal(a.SNSSAIInfos, b.SNSSAIInfos) && equalInterfaces(a.Interfaces, b.Interfaces)
}

func equal(a, b []SliceInfo) bool {
	return slices.EqualFunc(a, b, func(x, y SliceInfo) bool {
		return x.SNSSAI == y.SNSSAI && slices.EqualFunc(x.DNNs, y.DNNs, func(m, n DNNInfo) bool {
			return m.DNN == n.DNN && slices.Equal(m.Pools, n.Pools)
		})
	})
}

func equalInterfaces(a, b []Interface) bool {
	return slices.EqualFunc(a, b, func(x, y Interface) bool {
		return x.InterfaceType == y.InterfaceType && slices.Equal(x.Endpoints, y.Endpoints) && slices.Equal(x.NetworkInstances, y.NetworkInstances)
	})
}
