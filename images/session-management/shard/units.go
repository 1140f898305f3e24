package shard

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/upf/upfc/extension"
	wire "core5g.dev/core5g/upf/upfc/pfcp"

	"github.com/wmnsk/go-pfcp/ie"
)

// keyUnit is where the shard keeps the Recovery Time Stamp of a unit, by which a unit that has restarted while nobody looked is known.
func (s *Shard) keyUnit(nodeID string) string {
	return "session-management/" + s.Name + "/unit/" + nodeID
}

// units are met that the configuration has, and left that it has no more.
func (s *Shard) units(c *configuration.Snapshot) {
	if c == nil || s.socket == nil {
		return
	}
	wanted := map[string]bool{}
	for _, u := range c.Units() {
		wanted[u.NodeID] = true
		_, known := s.live[u.NodeID]
		at := s.added[u.NodeID]
		switch {
		case u.Outside && s.Waits:
			s.setLive(u.NodeID, configuration.Live{Away: true})
			s.met[u.NodeID] = meeting{err: errUnreachable}
		case !known:
			s.setLive(u.NodeID, configuration.Live{}) // until it is known to be away, requests wait for it
			s.meet(u)
		case at.Address.IsValid() && at.Address != u.Address: // it has moved, its sessions with it or not: it is met again
			s.log.Info("a UPF unit has another address", "unit", u.NodeID, "address", u.Address)
			s.add(s.asked(u))
		case at.Address.IsValid() && !slices.Equal(at.Sources, u.Sources), at.Address.IsValid() && (at.As == nil) != (s.asked(u).As == nil):
			s.add(s.asked(u))
		}
	}
	for node := range s.live {
		if !wanted[node] && !s.runner.Has(node) {
			s.Left(node)
		}
	}
}

// Left implements runner.World: a unit that is configured no more is let go.
func (s *Shard) Left(node string) {
	if c := s.Configuration(); s.socket == nil || c == nil || c.Unit(node) != nil {
		return
	}
	s.socket.RemoveUnit(node, true)
	s.deleteLive(node)
	delete(s.added, node)
	delete(s.met, node)
}

// setLive replaces the map: what a procedure was given is not written to.
func (s *Shard) setLive(node string, l configuration.Live) {
	next := maps.Clone(s.live)
	next[node] = l
	s.live = next
}

func (s *Shard) deleteLive(node string) {
	next := maps.Clone(s.live)
	delete(next, node)
	s.live = next
}

// meet a unit, as the holder before has left it.
func (s *Shard) meet(u *configuration.Unit) {
	key := s.keyUnit(u.NodeID)
	s.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		unit := s.asked(u)
		if err == nil {
			if b, err := s.pod.Sealer.Open(key, found.Value); err == nil && len(b) == 4 {
				unit.Recovery, unit.Associated = pfcp.Stamp(binary.BigEndian.Uint32(b)), true
			}
		}
		return func() {
			if err != nil && !errors.Is(err, sessionstore.ErrNotFound) {
				s.After(retry, func() { s.meet(u) })
				return
			}
			if now := s.Configuration().Unit(u.NodeID); now != nil { // it may have moved meanwhile
				asked := s.asked(now)
				unit.Address, unit.Sources, unit.As = asked.Address, asked.Sources, asked.As
			}
			s.add(unit)
			for _, ask := range s.early[u.NodeID] {
				ask()
			}
			delete(s.early, u.NodeID)
		}
	})
}

// asked for as the configuration has it.
func (s *Shard) asked(u *configuration.Unit) pfcp.Unit {
	out := pfcp.Unit{NodeID: u.NodeID, Address: u.Address, Sources: u.Sources}
	if node := s.Identity.nodeTo(u); node != s.NodeID {
		out.As = &pfcp.Self{Node: node}
		if s.Outside.Is4() {
			out.As.IPv4 = s.Outside
		} else {
			out.As.IPv6 = s.Outside
		}
	}
	return out
}

// nodeTo a unit is the shard's Node ID.
func (i *Identity) nodeTo(u *configuration.Unit) string {
	if u != nil && u.Outside && i.Outside.IsValid() {
		return i.Outside.String()
	}
	return i.NodeID
}

// add a unit to the endpoint, or tell that where it is now.
func (s *Shard) add(unit pfcp.Unit) {
	if err := s.socket.AddUnit(unit); err != nil {
		s.log.Error("a UPF unit cannot be met", "unit", unit.NodeID, "err", err)
	}
	s.added[unit.NodeID] = unit
}

// fromUnit is called by the endpoint, in its goroutine.
func (s *Shard) fromUnit(e pfcp.Event) { s.loop.Post(func() { s.unitEvent(e) }) }

func (s *Shard) unitEvent(e pfcp.Event) {
	s.noteMeeting(e)
	switch e := e.(type) {
	case pfcp.Associated:
		s.log.Info("associated with a UPF unit", "unit", e.Unit, "updated", e.Updated)
		s.setLive(e.Unit, configuration.Live{Framed: e.Features.Has(pfcp.FRRT)})
		s.associated(e)
	case pfcp.FeaturesChanged:
		l := s.live[e.Unit]
		l.Framed = e.Features.Has(pfcp.FRRT)
		s.setLive(e.Unit, l)
	case pfcp.LoadChanged:
		if l, known := s.live[e.Unit]; known {
			l.Load = e.Percent
			s.setLive(e.Unit, l)
		}
	case pfcp.OverloadChanged:
		if l, known := s.live[e.Unit]; known {
			if (l.Reduction == 0) != (e.Percent == 0) {
				s.log.Warn("a UPF unit is overloaded, or is no more", "unit", e.Unit, "reduction", e.Percent)
			}
			l.Reduction, l.Until = e.Percent, e.Until
			s.setLive(e.Unit, l)
		}
	case pfcp.NotAssociated:
		s.log.Warn("a UPF unit cannot be used", "unit", e.Unit, "err", e.Err, "again", e.Again)
		s.setLive(e.Unit, configuration.Live{Away: true})
	case pfcp.PathDown:
		s.log.Warn("a UPF unit does not answer", "unit", e.Unit)
		s.setLive(e.Unit, configuration.Live{Away: true})
	case pfcp.UnitRestarted:
		s.log.Warn("a UPF unit has lost its sessions: they are made again", "unit", e.Unit)
	case pfcp.AssociationLost:
		s.log.Warn("a UPF unit has given up the association", "unit", e.Unit)
	case pfcp.SessionReport:
		s.sessionReport(e)
	case pfcp.NodeReport:
		s.log.Warn("a UPF unit reports GTP-U paths", "unit", e.Unit, "failed", e.Failed, "recovered", e.Recovered)
		s.socket.AnswerNodeReport(e.Token, accepted)
		for _, peer := range e.Failed {
			for _, at := range []netip.Addr{peer.IPv4, peer.IPv6} {
				if at.IsValid() {
					s.runner.PathFailed(e.Unit, at)
				}
			}
		}
	}
}

// associated: what the unit has lost is made again first. Its stamp is kept behind it: who takes the shard over meanwhile begins anew.
func (s *Shard) associated(e pfcp.Associated) {
	s.runner.UnitMet(e.Unit, uint32(e.Recovery), e.Updated || e.Retained)
}

// Restored implements runner.World.
func (s *Shard) Restored(node string, stamp uint32) {
	s.restored(node, pfcp.Stamp(stamp))
	s.keepStamp(node, pfcp.Stamp(stamp))
}

const accepted = 1 // TS 29.244 8.2.1

func (s *Shard) sessionReport(e pfcp.SessionReport) {
	report := procedure.Report{CPSEID: e.CPSEID, Downlink: len(e.DownlinkData) > 0, Usage: MeasuredBy(e.Usage)}
	for _, d := range e.DownlinkData {
		for _, service := range d.Services {
			if service.HasQFI {
				report.QFI = service.QFI
			}
		}
	}
	for _, gone := range e.GoneTunnels {
		report.Lost = append(report.Lost, record.Tunnel{TEID: gone.TEID, IPv4: gone.IPv4, IPv6: gone.IPv6})
	}
	report.From = s.pod.tokens.Add(func(body any) {
		if r, ok := body.(procedure.Reported); ok {
			s.socket.AnswerSessionReport(e.Token, pfcp.SessionReportAnswer{Cause: r.Cause, UPSEID: r.UPSEID})
			return
		}
		s.socket.Silent(e.Token)
	})
	token := report.From
	s.After(storeTime+callTime, func() { // it was left without an answer: the unit repeats it
		if s.pod.tokens.Forget(token) != nil {
			s.socket.Silent(e.Token)
		}
	})
	s.runner.DeliverTo(e.CPSEID, report)
}

// keepStamp of a unit, for the next holder.
func (s *Shard) keepStamp(node string, stamp pfcp.Stamp) {
	key := s.keyUnit(node)
	value := s.pod.Sealer.Seal(key, binary.BigEndian.AppendUint32(nil, uint32(stamp)))
	lease := s.lease
	s.Store(func(ctx context.Context, store sessionstore.Store) func() {
		found, err := store.Read(ctx, key)
		if err == nil || errors.Is(err, sessionstore.ErrNotFound) {
			err = store.Commit(ctx, lease, sessionstore.Change{Key: key, Was: found.Revision, Is: sessionstore.Revision{Writer: random(), Count: 1}, Value: value})
		}
		return func() {
			if err != nil && s.runner != nil && s.May() {
				s.After(retry, func() { s.keepStamp(node, stamp) })
			}
		}
	})
}

// List implements runner.World.
func (s *Shard) List(node string, done func([]runner.Listed, error)) {
	var list []runner.Listed
	var page func(cursor uint64)
	page = func(cursor uint64) {
		s.socket.List(node, cursor, func(p extension.Page, err error) {
			s.loop.Post(func() {
				for _, l := range p.Sessions {
					list = append(list, runner.Listed{CPSEID: l.CP, UPSEID: l.UP})
				}
				switch {
				case errors.Is(err, pfcp.ErrNoList):
					done(nil, runner.ErrNoList)
				case err != nil:
					done(nil, err)
				case p.Next == 0:
					done(list, nil)
				default:
					page(p.Next)
				}
			})
		})
	}
	page(0)
}

// restoring is what a unit that begins anew is told: until all shards have restored, it chooses nothing for new sessions.
func (s *Shard) restoring(node string) []*ie.IE { return s.stateOf(node, extension.State{}) }

// restored: nothing of this shard is missing in that life of the unit.
func (s *Shard) restored(node string, stamp pfcp.Stamp) {
	s.socket.Update(node, s.stateOf(node, extension.State{Done: true, Recovery: uint32(stamp)}), func(_ wire.Elements, err error) {
		if err != nil { // it waits for a while, and then goes on by itself
			s.log.Warn("a UPF unit has not heard that its sessions are restored", "unit", node, "err", err)
		}
	})
}

// stateOf a restoration, in which all shards take part.
func (s *Shard) stateOf(node string, state extension.State) []*ie.IE {
	var unit *configuration.Unit
	if c := s.Configuration(); c != nil {
		unit = c.Unit(node)
	}
	for _, id := range s.pod.Shards {
		state.Nodes = append(state.Nodes, id.nodeTo(unit))
	}
	return []*ie.IE{state.IE()}
}
