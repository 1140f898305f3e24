package node

// Who may ask for what. PFCP authenticates nobody (TS 29.244 has no security of its own): all that is
// known of a message is the address that it came from.
//
//	Association Setup     of a Node ID that has no association: who may be a CP function (pfcp.controlPlaneSubnets;
//	                      where it is empty, everybody)
//	Association Setup,    of a Node ID that has one: where its requests come from; from another address, a CP
//	Release               function by the configuration, or else who comes when the one that there was is gone
//	other node messages   where the association's requests come from, or a CP function by the configuration; its
//	                      Association Update also moves our own requests (address.go)
//	session messages      the same, of the session's association
//
// Everybody else is told No established PFCP Association.

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/pfcp"
)

// listed says whether pfcp.controlPlaneSubnets names an address, and whether it names any.
func (n *Node) listed(from netip.Addr) (is, limited bool) {
	list := n.o.Config.PFCP.ControlPlaneSubnets
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(from) }), len(list) > 0
}

// NoAssociation refuses what is asked for in the name of a node that has none.
func NoAssociation(node string) error {
	return &pfcp.Reject{Cause: ie.CauseNoEstablishedPFCPAssociation, Detail: "no association with " + node}
}

func stranger(format string, args ...any) error {
	return &pfcp.Reject{Cause: ie.CauseNoEstablishedPFCPAssociation, Detail: fmt.Sprintf(format, args...)}
}

// mayReplace says whether a request to set up or release the association with a node may come from an
// address. recovery is what a setup claims, 0 for a release.
func (n *Node) mayReplace(ctx context.Context, node string, from netip.Addr, recovery uint32) error {
	listed, limited := n.listed(from)
	if limited && !listed {
		return stranger("%s is no CP function's address: pfcp.controlPlaneSubnets names those", from)
	}
	n.mu.Lock()
	as := n.associations[node]
	free := as == nil || as.isFrom(from) || listed || !as.failed.IsZero()
	var to netip.AddrPort
	var known uint32
	if as != nil {
		to, known = as.address(false), as.Recovery
	}
	n.mu.Unlock()
	if free {
		return nil
	}
	// Whoever has the association is asked. The address of a Node ID may be a Service's: then a successor
	// that has taken its place answers, with the Recovery Time Stamp that it claims.
	ctx, cancel := context.WithTimeout(ctx, holderAnswers*n.o.Config.PFCP.Retransmit.Interval)
	defer cancel()
	answer, err := n.server.Request(ctx, pfcp.To(to), message.MsgTypeHeartbeatRequest, nil, n.recoveryIE())
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, pfcp.ErrNoAnswer) {
			return nil // it is gone
		}
		return err
	}
	now, err := recoveryOf(answer)
	if err == nil && recovery != 0 && now == recovery && now != known {
		return nil
	}
	return stranger("the association with %s is %s's, who answers; %s is another", node, to.Addr(), from)
}

// holderAnswers is for how many T1 the holder of an association may take to say that it is alive.
const holderAnswers = 2

// SpeaksFor says whether a request in the name of a node that has an association may come from an address.
func (n *Node) SpeaksFor(node string, from netip.Addr) error {
	listed, limited := n.listed(from)
	n.mu.Lock()
	as := n.associations[node]
	if as == nil {
		n.mu.Unlock()
		return NoAssociation(node)
	}
	is := as.isFrom(from)
	// Who sits behind a Service's address has another one of its own; so has one of pfcp.peers, whose requests
	// have come from nowhere yet.
	learn := !is && (listed || !limited && as.Peer && !as.Source.IsValid())
	if learn {
		as.Source = from
	}
	n.mu.Unlock()
	if learn {
		n.o.Persist()
		n.o.Log.Info("the CP function's requests come from another address than its association", "node", node, "from", from)
		return nil
	}
	if !is {
		return stranger("the association with %s is not %s's", node, from)
	}
	return nil
}

// SpeaksForSession says whether a request for a session may come from an address; node and cp are its CP
// function and the address of its CP F-SEID, empty for a session that is not known.
func (n *Node) SpeaksForSession(node string, cp, from netip.Addr) error {
	listed, _ := n.listed(from)
	n.mu.Lock()
	defer n.mu.Unlock()
	known := false
	for _, as := range n.associations {
		if as.isFrom(from) {
			if as.Node == node {
				return nil
			}
			known = true
		}
	}
	if !known {
		return stranger("no association is %s's", from)
	}
	// TS 29.244 5.22: sessions that SMFs of one set control in turn.
	if node != "" && (cp == from || listed) {
		return nil
	}
	return &pfcp.Reject{Cause: ie.CauseSessionContextNotFound, Detail: fmt.Sprintf("no session of %s's has this SEID", from)}
}

// Sender is the CP function that a node-related message comes from: by its Node ID where it has one,
// else by its address.
func (n *Node) Sender(m *pfcp.Message) (string, error) {
	if m.Elements.First(ie.NodeID) != nil {
		node, err := m.NodeID()
		if err != nil {
			return "", err
		}
		return node, n.SpeaksFor(node, m.From.Addr())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if as := n.senderLocked(m.From); as != nil {
		return as.Node, nil
	}
	return "", NoAssociation(m.From.String())
}
