package agent

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

func (a *Agent) associationSetup(ctx context.Context, m *pfcp.Message) ([]*ie.IE, error) {
	node, err := nodeOf(m)
	if err != nil {
		return nil, err
	}
	recovery, err := recoveryOf(m)
	if err != nil {
		return nil, err
	}
	if err := a.mayReplace(ctx, node, m.From.Addr(), recovery); err != nil {
		return nil, err
	}
	a.mu.Lock()
	full := a.associations[node] == nil && len(a.associations) >= a.cfg.Limits.Associations
	a.mu.Unlock()
	if full {
		return nil, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: "there are as many associations as there can be"}
	}
	as := &association{Association: a.associationOf(m, node, m.From, recovery)}
	if err := a.sawRestoration(m, node); err != nil {
		return nil, err
	}
	ies := []*ie.IE{a.recoveryIE(), a.features()}
	if a.associated(ctx, as, m.Elements.First(ie.PFCPSessionRetentionInformation) != nil) {
		ies = append(ies, ie.NewPFCPASRspFlags(psrei))
	}
	return ies, nil
}

// psrei is a bit of PFCPASRsp-Flags (TS 29.244 8.2.142): PFCP Session Retained Indication.
const psrei = 0x01

// associated puts an association into force. One that there was with the same CP function ends;
// retain says whether its sessions stay, unless it has restarted. It returns whether there was one and they did.
func (a *Agent) associated(ctx context.Context, as *association, retain bool) (retained bool) {
	node, recovery := as.Node, as.Recovery
	as.over, as.moved = make(chan struct{}), make(chan struct{})
	a.mu.Lock()
	old := a.associations[node]
	if old != nil && old.stop != nil {
		old.stop()
	}
	// TS 29.244 6.2.6.2.2: a setup overwrites the association that there was, and its sessions go
	// unless the CP function asks for them to be retained.
	restarted := old != nil && newer(recovery, old.Recovery)
	if retained = old != nil && retain && !restarted; retained {
		as.era = old.era
	} else {
		a.eras++
		as.era = a.eras
	}
	a.associations[node] = as
	a.countListenersLocked()
	a.watch(as)
	a.mu.Unlock()

	if restarted {
		a.rec.Restart("cp")
		a.applications.forget(node)
	}
	if old != nil && !retained {
		a.dropSessionsOf(ctx, node, "association setup")
	}
	a.persistMeta()
	a.log.Info("association set up", "node", node, "from", as.From, "byUs", as.Peer, "again", old != nil, "restarted", restarted)
	return retained
}

func (a *Agent) associationUpdate(m *pfcp.Message) ([]*ie.IE, error) {
	node, err := nodeOf(m)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	as := a.associations[node]
	a.mu.Unlock()
	if as == nil {
		return nil, noAssociation(node)
	}
	if err := a.speaksFor(node, m.From.Addr()); err != nil {
		return nil, err
	}
	if err := a.sawRestoration(m, node); err != nil {
		return nil, err
	}
	a.move(node, m.From)
	a.updated(m, as)
	ies := []*ie.IE{a.features()}
	page, err := a.list(m, node, ies...)
	if err != nil {
		return nil, err
	}
	if page != nil {
		ies = append(ies, page)
	}
	return ies, nil
}

func (a *Agent) associationRelease(ctx context.Context, m *pfcp.Message) error {
	node, err := nodeOf(m)
	if err != nil {
		return err
	}
	if err := a.mayReplace(ctx, node, m.From.Addr(), 0); err != nil {
		return err
	}
	if !a.release(ctx, node, nil, "association release") {
		return noAssociation(node)
	}
	return nil
}

// associationsLocked are all, by Node ID.
func (a *Agent) associationsLocked() []*association {
	all := slices.Collect(maps.Values(a.associations))
	slices.SortFunc(all, func(x, y *association) int { return cmp.Compare(x.Node, y.Node) })
	return all
}

// era is that of a CP function's association; false when there is none. Whatever was begun in an era is
// of no use in the next: its sessions have been swept.
func (a *Agent) era(node string) (uint64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	as := a.associations[node]
	if as == nil {
		return 0, false
	}
	return as.era, true
}

func noAssociation(node string) error {
	return &pfcp.Reject{Cause: ie.CauseNoEstablishedPFCPAssociation, Detail: "no association with " + node}
}

// release ends an association and its sessions; false when there is none, or not the one that is
// meant (nil: whichever).
func (a *Agent) release(ctx context.Context, node string, meant *association, reason string) bool {
	a.mu.Lock()
	as := a.associations[node]
	if meant != nil && as != meant {
		as = nil
	}
	if as != nil {
		delete(a.associations, node)
		a.countListenersLocked()
		a.applications.forget(node)
		if as.stop != nil {
			as.stop()
		}
		if as.over != nil {
			close(as.over)
		}
	}
	a.mu.Unlock()
	if as == nil {
		return false
	}
	a.dropSessionsOf(ctx, node, reason)
	a.restoration.done(node)
	a.persistMeta()
	a.log.Info("association released", "node", node, "reason", reason)
	return true
}

// persistMeta stores META, in upf-u if it is there; a replay stores it otherwise.
func (a *Agent) persistMeta() {
	if conn := a.link.Current(); conn != nil {
		if err := a.writeMeta(conn); err != nil {
			a.log.Warn("META not stored", "err", err)
		}
	} else {
		a.keepMeta()
	}
}

// dropSessionsOf deletes all sessions of a CP function without telling it.
func (a *Agent) dropSessionsOf(ctx context.Context, node, reason string) {
	a.dropSessions(reason, node, func(*session) bool { return true })
}

// dropSessions deletes those for which which, called under the session's lock, says so; node, unless
// empty, is the CP function whose they are.
func (a *Agent) dropSessions(reason, node string, which func(*session) bool) {
	dropped := 0
	var gone []*session
	flush := func() {
		indexes := make([]uint32, len(gone))
		for i, s := range gone {
			indexes[i] = s.Index
		}
		// While upf-u is away this is enough: a replay leaves out, or deletes, what we do not know.
		if conn := a.link.Current(); conn != nil {
			if err := a.deleteIndexes(conn, indexes); err != nil {
				a.log.Error("sessions not deleted in upf-u, it is filled anew", "err", err)
				conn.Abandon()
			}
		}
		for _, s := range gone {
			a.freeSlots(s)
		}
		dropped += len(gone)
		gone = gone[:0]
	}
	for index := range a.store.All(node) {
		s := a.lock(index)
		if s == nil {
			continue
		}
		if (node == "" || s.Node == node) && which(s) {
			a.forget(s)
			gone = append(gone, s)
		}
		s.unlock()
		if len(gone) == deletesPerTransaction {
			flush()
		}
	}
	flush()
	if dropped > 0 {
		a.rec.SessionsDropped(reason, dropped)
		a.log.Info("sessions dropped", "node", node, "sessions", dropped, "reason", reason)
	}
}

// newer compares Recovery Time Stamps (RFC 5905 seconds, which wrap in 2036).
func newer(a, b uint32) bool { return int32(a-b) > 0 }

// Heartbeat answers a CP function's heartbeat and looks at its Recovery Time Stamp (TS 29.244
// 6.2.2.2). A heartbeat carries no Node ID; the sender is known by its address.
func (a *Agent) Heartbeat(m *pfcp.Message) *pfcp.Answer {
	if e := m.Elements.First(ie.RecoveryTimeStamp); e != nil {
		if v, err := e.Uint32(); err == nil {
			a.mu.Lock()
			as := a.senderLocked(m.From)
			a.mu.Unlock()
			if as != nil {
				a.sawRecovery(as, v)
			}
		}
	}
	answer := m.Answer()
	answer.Add(a.recoveryIE())
	return answer
}

// senderLocked finds the association whose requests come from an address: by address and port where it has moved to, then by those where it
// was set up from, for several CP functions can be behind one address.
func (a *Agent) senderLocked(from netip.AddrPort) *association {
	var there, byAddr *association
	n := 0
	for _, as := range a.associations {
		switch {
		case as.Moved == from:
			return as
		case as.From == from && !as.Moved.IsValid():
			there = as
		}
		if as.isFrom(from.Addr()) {
			byAddr = as
			n++
		}
	}
	if there == nil && n == 1 {
		return byAddr
	}
	return there
}

func (a *Agent) sawRecovery(as *association, recovery uint32) {
	a.mu.Lock()
	restarted := newer(recovery, as.Recovery) && a.associations[as.Node] == as
	a.mu.Unlock()
	if !restarted {
		return
	}
	a.rec.Restart("cp")
	a.log.Warn("CP function restarted", "node", as.Node)
	a.world.Go(func() { a.release(a.stopping, as.Node, as, "cp restarted") })
}

// watch starts the heartbeats to a CP function. The caller holds a.mu.
func (a *Agent) watch(as *association) {
	if a.cfg.Heartbeat.Interval == 0 || as.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(a.stopping)
	as.stop = cancel
	a.world.Go(func() { a.heartbeats(ctx, as) })
}

func (a *Agent) heartbeats(ctx context.Context, as *association) {
	misses := 0
	for a.world.Wait(a.cfg.Heartbeat.Interval, ctx.Done()) {
		answer, err := a.server.Request(ctx, a.of(as), message.MsgTypeHeartbeatRequest, nil, a.recoveryIE())
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			misses++
			if misses >= a.cfg.Heartbeat.Retries && a.pathFailed(as) {
				a.release(a.stopping, as.Node, as, "path failure")
				return
			}
			continue
		}
		misses = 0
		a.mu.Lock()
		was := as.failed
		as.failed = time.Time{}
		a.mu.Unlock()
		if !was.IsZero() {
			a.log.Info("path to the CP function works again", "node", as.Node, "failedFor", a.world.Now().Sub(was))
		}
		if e := answer.Elements.First(ie.RecoveryTimeStamp); e != nil {
			if v, err := e.Uint32(); err == nil {
				a.sawRecovery(as, v)
			}
		}
	}
}

// pathFailed notes that a CP function does not answer; true when its sessions' time is over.
func (a *Agent) pathFailed(as *association) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if as.failed.IsZero() {
		as.failed = a.world.Now()
		a.log.Warn("path to the CP function failed, its sessions are kept", "node", as.Node, "address", as.address(false), "releaseAfter", a.cfg.Heartbeat.ReleaseAfter)
		as.Moved = netip.AddrPort{} // whoever takes over says where it is
	}
	return a.cfg.Heartbeat.ReleaseAfter > 0 && a.world.Now().Sub(as.failed) >= a.cfg.Heartbeat.ReleaseAfter
}
