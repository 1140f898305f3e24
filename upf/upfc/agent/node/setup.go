package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/pfcp"
)

// The association procedures that the UP function begins (TS 29.244 6.2.6.3, 6.2.7.3): setting one
// up with each CP function of pfcp.peers, and asking for a release.

// MeetPeers keeps an association with every configured CP function.
func (n *Node) MeetPeers(ctx context.Context) {
	for _, p := range n.o.Config.PFCP.Peers {
		n.o.Machine.Go(func() { n.meet(ctx, p) })
	}
}

func (n *Node) meet(ctx context.Context, p config.Peer) {
	again := max(n.o.Config.Heartbeat.Interval, time.Second)
	reported := false
	for {
		err := n.setUp(ctx, p)
		if err != nil && !reported && ctx.Err() == nil {
			n.o.Log.Warn("no association with a configured CP function yet", "peer", p, "err", err)
		}
		reported = err != nil
		if !n.o.Machine.Wait(again, ctx.Done()) {
			return
		}
	}
}

// setUp sets an association up unless there is one.
func (n *Node) setUp(ctx context.Context, p config.Peer) error {
	to, err := resolve(ctx, p, n.server.Addr().Addr())
	if err != nil {
		return err
	}
	n.mu.Lock()
	there := false
	for _, as := range n.associations {
		there = there || as.home() == to || as.From.Addr() == to.Addr() && !as.Peer
	}
	n.mu.Unlock()
	if there {
		return nil
	}
	answer, err := n.server.Request(ctx, pfcp.To(to), message.MsgTypeAssociationSetupRequest, nil, n.id, n.recoveryIE(), n.features())
	if err != nil {
		return err
	}
	if c := answer.Cause(); c != ie.CauseRequestAccepted {
		return fmt.Errorf("refused: %s", pfcp.CauseName(c))
	}
	node, err := answer.NodeID()
	if err != nil {
		return err
	}
	recovery, err := recoveryOf(answer)
	if err != nil {
		return err
	}
	as := &association{Association: n.associationOf(answer, node, to, recovery)}
	as.Peer = true
	n.associated(as, true)
	return nil
}

func resolve(ctx context.Context, p config.Peer, own netip.Addr) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(p.Host); err == nil {
		return netip.AddrPortFrom(addr, p.Port), nil
	}
	network := "ip4"
	if own.Is6() {
		network = "ip"
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, network, p.Host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if len(list) == 0 {
		return netip.AddrPort{}, fmt.Errorf("%s has no address", p.Host)
	}
	return netip.AddrPortFrom(list[0].Unmap(), p.Port), nil
}

func recoveryOf(m *pfcp.Message) (uint32, error) {
	e := m.Elements.First(ie.RecoveryTimeStamp)
	if e == nil {
		return 0, m.Missing(ie.RecoveryTimeStamp)
	}
	return e.Uint32()
}

// sarr asks for a release (PFCP Association Release Request, TS 29.244 8.2.73).
const sarr = 0x01

// RequestRelease asks a CP function to release the association (TS 29.244 6.2.7.3.1), and ends it
// with all its sessions when the CP function has not done so within the grace period, or does not answer.
func (n *Node) RequestRelease(ctx context.Context, node string, grace time.Duration) error {
	n.mu.Lock()
	as := n.associations[node]
	n.mu.Unlock()
	if as == nil {
		return NoAssociation(node)
	}
	ies := []*ie.IE{n.id, ie.NewPFCPAssociationReleaseRequest(sarr, 0)}
	if grace > 0 {
		ies = append(ies, ie.NewGracefulReleasePeriod(grace))
	}
	answer, err := n.server.Request(ctx, n.of(as), message.MsgTypeAssociationUpdateRequest, nil, ies...)
	if errors.Is(err, pfcp.ErrNoAnswer) {
		// Gone for good, as far as who asks for this knows.
		n.o.Log.Warn("association ended without its CP function", "node", node, "err", err)
		n.release(node, as, "association release")
		return nil
	}
	if err != nil {
		return err
	}
	if c := answer.Cause(); c != ie.CauseRequestAccepted {
		return fmt.Errorf("%s refused: %s", node, pfcp.CauseName(c))
	}
	if n.o.Machine.Wait(grace, as.over, ctx.Done()) {
		n.release(node, as, "association release")
	}
	return ctx.Err()
}
