package node

// Where a CP function is. Its requests say where they come from, which may be a Service's doing; its Node ID may be an
// address, the same for all of its instances; the CP F-SEIDs of its sessions have one, too. Our requests go to the Node
// ID's address and to the CP F-SEIDs' (home), until an instance says with an Association Update that it is the one: from
// then on they go where that came from, so that nobody stands between. It may die without a word. So the last copy of a
// request goes home, where a Service may know who has taken over, and so do all when heartbeats fail.

import (
	"cmp"
	"net/netip"
	"time"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// home is where our own requests to the CP function go unless it has moved: kube-proxy may have rewritten the
// source of its requests, so the port is PFCP's own and the Node ID, if an address, is preferred.
func (as *association) home() netip.AddrPort {
	if as.Peer {
		return as.From
	}
	if a, err := netip.ParseAddr(as.Node); err == nil && a.Is4() == as.From.Addr().Is4() {
		return netip.AddrPortFrom(a, pfcp.Port)
	}
	return netip.AddrPortFrom(as.From.Addr(), pfcp.Port)
}

// address is where a copy of a request to the CP function goes. The caller holds n.mu.
func (as *association) address(last bool) netip.AddrPort {
	if as.Moved.IsValid() && !last {
		return as.Moved
	}
	return as.home()
}

// isFrom says whether an association's requests come from an address. The caller holds n.mu.
func (as *association) isFrom(from netip.Addr) bool {
	return as.From.Addr() == from || as.Source == from || as.Moved.Addr() == from || as.home().Addr() == from
}

// of is where the copies of a request to a CP function go.
func (n *Node) of(as *association) pfcp.Destination {
	return pfcp.Destination{
		At: func(last bool) netip.AddrPort {
			n.mu.Lock()
			defer n.mu.Unlock()
			return as.address(last)
		},
		Moved: func() <-chan struct{} {
			n.mu.Lock()
			defer n.mu.Unlock()
			return as.moved
		},
	}
}

// OfSession is where the copies of a report go: cp is the address of the session's CP F-SEID, node its CP function. A
// session may be another CP function's by now (TS 29.244 5.22), which its CP F-SEID says.
func (n *Node) OfSession(node string, cp netip.Addr) pfcp.Destination {
	return pfcp.Destination{
		At: func(last bool) netip.AddrPort {
			n.mu.Lock()
			defer n.mu.Unlock()
			if as := n.ownerLocked(node, cp); as != nil && as.Moved.IsValid() && !last {
				return as.Moved
			}
			return netip.AddrPortFrom(cp, pfcp.Port)
		},
		Moved: func() <-chan struct{} {
			n.mu.Lock()
			defer n.mu.Unlock()
			if as := n.ownerLocked(node, cp); as != nil {
				return as.moved
			}
			return nil
		},
	}
}

// ownerLocked is the CP function that a session is of by now; nil when there is none.
func (n *Node) ownerLocked(node string, cp netip.Addr) *association {
	as := n.associations[node]
	if as != nil && as.home().Addr() == cp {
		return as
	}
	var owner *association
	for _, other := range n.associations { // of several the first by Node ID, whatever the map's order
		if other.home().Addr() == cp && (owner == nil || other.Node < owner.Node) {
			owner = other
		}
	}
	return cmp.Or(owner, as)
}

// move notes that a CP function's instance at an address has said that it is the one. It counts when the address is a
// CP function's by the configuration.
func (n *Node) move(node string, from netip.AddrPort) {
	if listed, _ := n.listed(from.Addr()); !listed {
		return
	}
	n.mu.Lock()
	as := n.associations[node]
	if as == nil {
		n.mu.Unlock()
		return
	}
	to, before := from, as.Moved
	if to == as.home() {
		to = netip.AddrPort{}
	}
	as.Moved, as.failed = to, time.Time{}
	close(as.moved)
	as.moved = make(chan struct{})
	n.mu.Unlock()
	if to != before {
		n.o.Persist()
		n.o.Log.Info("the CP function has moved", "node", node, "to", from)
	}
}
