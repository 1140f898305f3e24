package node

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

// association is one CP function's (TS 29.244 6.2.6). Its fields are under the agent's lock.
type association struct {
	state.Association
	stop   context.CancelFunc // of its heartbeats
	over   chan struct{}      // closed when it is released
	failed time.Time          // since when it does not answer; zero while it does
	moved  chan struct{}      // closed when it moves
	era    uint64             // a number of its own each time that the CP function's sessions are dropped
	heard  heard
}

// Setup executes an Association Setup Request (TS 29.244 6.2.6.2.2). It returns the IEs of the answer beside Node ID and cause.
func (n *Node) Setup(ctx context.Context, m *pfcp.Message) ([]*ie.IE, error) {
	node, err := m.NodeID()
	if err != nil {
		return nil, err
	}
	recovery, err := recoveryOf(m)
	if err != nil {
		return nil, err
	}
	if err := n.mayReplace(ctx, node, m.From.Addr(), recovery); err != nil {
		return nil, err
	}
	n.mu.Lock()
	full := n.associations[node] == nil && len(n.associations) >= n.o.Config.Limits.Associations
	n.mu.Unlock()
	if full {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "there are as many associations as there can be"}
	}
	as := &association{Association: n.associationOf(m, node, m.From, recovery)}
	if err := n.sawRestoration(m, node); err != nil {
		return nil, err
	}
	ies := []*ie.IE{n.recoveryIE(), n.features()}
	if n.associated(as, m.Elements.First(ie.PFCPSessionRetentionInformation) != nil) {
		ies = append(ies, ie.NewPFCPASRspFlags(psrei))
	}
	return ies, nil
}

// psrei is a bit of PFCPASRsp-Flags (TS 29.244 8.2.142): PFCP Session Retained Indication.
const psrei = 0x01

// associated puts an association into force. One that there was with the same CP function ends;
// retain says whether its sessions stay, unless it has restarted. It returns whether there was one and they did.
func (n *Node) associated(as *association, retain bool) (retained bool) {
	node, recovery := as.Node, as.Recovery
	as.over, as.moved = make(chan struct{}), make(chan struct{})
	n.mu.Lock()
	old := n.associations[node]
	if old != nil && old.stop != nil {
		old.stop()
	}
	// TS 29.244 6.2.6.2.2: a setup overwrites the association that there was, and its sessions go
	// unless the CP function asks for them to be retained.
	restarted := old != nil && newer(recovery, old.Recovery)
	if retained = old != nil && retain && !restarted; retained {
		as.era = old.era
	} else {
		n.eras++
		as.era = n.eras
	}
	n.associations[node] = as
	n.countListenersLocked()
	n.watch(as)
	n.mu.Unlock()

	if restarted {
		n.o.Recorder.Restart("cp")
		n.o.Forget(node)
	}
	if old != nil && !retained {
		n.o.Drop(node, "association setup")
	}
	n.o.Persist()
	n.o.Log.Info("association set up", "node", node, "from", as.From, "byUs", as.Peer, "again", old != nil, "restarted", restarted)
	return retained
}

// Update executes an Association Update Request.
func (n *Node) Update(m *pfcp.Message) ([]*ie.IE, error) {
	node, err := m.NodeID()
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	as := n.associations[node]
	n.mu.Unlock()
	if as == nil {
		return nil, NoAssociation(node)
	}
	if err := n.SpeaksFor(node, m.From.Addr()); err != nil {
		return nil, err
	}
	if err := n.sawRestoration(m, node); err != nil {
		return nil, err
	}
	n.move(node, m.From)
	n.updated(m, as)
	ies := []*ie.IE{n.features()}
	page, err := n.o.Page(m, node, ies...)
	if err != nil {
		return nil, err
	}
	if page != nil {
		ies = append(ies, page)
	}
	return ies, nil
}

// Release executes an Association Release Request.
func (n *Node) Release(ctx context.Context, m *pfcp.Message) error {
	node, err := m.NodeID()
	if err != nil {
		return err
	}
	if err := n.mayReplace(ctx, node, m.From.Addr(), 0); err != nil {
		return err
	}
	if !n.release(node, nil, "association release") {
		return NoAssociation(node)
	}
	return nil
}

// associationsLocked are all, by Node ID.
func (n *Node) associationsLocked() []*association {
	all := slices.Collect(maps.Values(n.associations))
	slices.SortFunc(all, func(x, y *association) int { return cmp.Compare(x.Node, y.Node) })
	return all
}

// Era is that of a CP function's association; false when there is none. Whatever was begun in an era is
// of no use in the next: its sessions have been swept.
func (n *Node) Era(node string) (uint64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	as := n.associations[node]
	if as == nil {
		return 0, false
	}
	return as.era, true
}

// release ends an association and its sessions; false when there is none, or not the one that is
// meant (nil: whichever).
func (n *Node) release(node string, meant *association, reason string) bool {
	n.mu.Lock()
	as := n.associations[node]
	if meant != nil && as != meant {
		as = nil
	}
	if as != nil {
		delete(n.associations, node)
		n.countListenersLocked()
		n.o.Forget(node)
		if as.stop != nil {
			as.stop()
		}
		if as.over != nil {
			close(as.over)
		}
	}
	n.mu.Unlock()
	if as == nil {
		return false
	}
	n.o.Drop(node, reason)
	n.restoration.done(node)
	n.o.Persist()
	n.o.Log.Info("association released", "node", node, "reason", reason)
	return true
}

// newer compares Recovery Time Stamps (RFC 5905 seconds, which wrap in 2036).
func newer(a, b uint32) bool { return int32(a-b) > 0 }

// Heartbeat answers a CP function's heartbeat and looks at its Recovery Time Stamp (TS 29.244
// 6.2.2.2). A heartbeat carries no Node ID; the sender is known by its address.
func (n *Node) Heartbeat(m *pfcp.Message) *pfcp.Answer {
	if e := m.Elements.First(ie.RecoveryTimeStamp); e != nil {
		if v, err := e.Uint32(); err == nil {
			n.mu.Lock()
			as := n.senderLocked(m.From)
			n.mu.Unlock()
			if as != nil {
				n.sawRecovery(as, v)
			}
		}
	}
	answer := m.Answer()
	answer.Add(n.recoveryIE())
	return answer
}

// senderLocked finds the association whose requests come from an address: by address and port where it has moved to, then by those where it
// was set up from, for several CP functions can be behind one address.
func (n *Node) senderLocked(from netip.AddrPort) *association {
	var there, byAddr *association
	several := 0
	for _, as := range n.associations {
		switch {
		case as.Moved == from:
			return as
		case as.From == from && !as.Moved.IsValid():
			there = as
		}
		if as.isFrom(from.Addr()) {
			byAddr = as
			several++
		}
	}
	if there == nil && several == 1 {
		return byAddr
	}
	return there
}

func (n *Node) sawRecovery(as *association, recovery uint32) {
	n.mu.Lock()
	restarted := newer(recovery, as.Recovery) && n.associations[as.Node] == as
	n.mu.Unlock()
	if !restarted {
		return
	}
	n.o.Recorder.Restart("cp")
	n.o.Log.Warn("CP function restarted", "node", as.Node)
	n.o.Machine.Go(func() { n.release(as.Node, as, "cp restarted") })
}

// watch starts the heartbeats to a CP function. The caller holds n.mu.
func (n *Node) watch(as *association) {
	if n.o.Config.Heartbeat.Interval == 0 || as.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(n.stopping)
	as.stop = cancel
	n.o.Machine.Go(func() { n.heartbeats(ctx, as) })
}

func (n *Node) heartbeats(ctx context.Context, as *association) {
	misses := 0
	for n.o.Machine.Wait(n.o.Config.Heartbeat.Interval, ctx.Done()) {
		answer, err := n.server.Request(ctx, n.of(as), message.MsgTypeHeartbeatRequest, nil, n.recoveryIE())
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			misses++
			if misses >= n.o.Config.Heartbeat.Retries && n.pathFailed(as) {
				n.release(as.Node, as, "path failure")
				return
			}
			continue
		}
		misses = 0
		n.mu.Lock()
		was := as.failed
		as.failed = time.Time{}
		n.mu.Unlock()
		if !was.IsZero() {
			n.o.Log.Info("path to the CP function works again", "node", as.Node, "failedFor", n.o.Machine.Now().Sub(was))
		}
		if e := answer.Elements.First(ie.RecoveryTimeStamp); e != nil {
			if v, err := e.Uint32(); err == nil {
				n.sawRecovery(as, v)
			}
		}
	}
}

// pathFailed notes that a CP function does not answer; true when its sessions' time is over.
func (n *Node) pathFailed(as *association) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if as.failed.IsZero() {
		as.failed = n.o.Machine.Now()
		n.o.Log.Warn("path to the CP function failed, its sessions are kept", "node", as.Node, "address", as.address(false), "releaseAfter", n.o.Config.Heartbeat.ReleaseAfter)
		as.Moved = netip.AddrPort{} // whoever takes over says where it is
	}
	return n.o.Config.Heartbeat.ReleaseAfter > 0 && n.o.Machine.Now().Sub(as.failed) >= n.o.Config.Heartbeat.ReleaseAfter
}

// PathDown says whether the heartbeats to a CP function have failed. Reports of all its sessions would
// be repeated in vain.
func (n *Node) PathDown(node string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	as := n.associations[node]
	return as != nil && !as.failed.IsZero()
}
