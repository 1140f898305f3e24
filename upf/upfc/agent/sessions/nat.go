package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/nat"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// NAT44: a session whose packets leave by a network instance that has it gets a block of ports there with the rules by
// which they leave, and keeps it until it ends, or its UE has another address. The block stands in the session's record, so
// whoever goes on with the session (the next upf-c, the next upf-u, the standby) goes on with the block.
//
// Who had a public address, a port and a time is asked by what is logged: a record when a block is given, before upf-u is
// told of it, and one when upf-u has forgotten it. They are written whatever the level of the log.

// natBlocks are the blocks by network instance, as upf-u names them.
type natBlocks struct {
	mu    sync.Mutex
	pools map[string]*nat.Pool
}

// note takes down what the upf-u has that is about to be filled. What sessions have stays theirs where it is still there.
func (n *natBlocks) note(list networks.List, of []nat.Config) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.pools
	n.pools = nil
	for i, config := range of {
		if config.Ports == 0 || i >= len(list) {
			continue
		}
		p := before[list[i]]
		if p == nil || !p.Config().Equal(config) {
			p = nat.New(config)
			if before[list[i]] != nil {
				p.KeepAll(before[list[i]])
			}
		}
		if n.pools == nil {
			n.pools = map[string]*nat.Pool{}
		}
		n.pools[list[i]] = p
	}
}

// reset forgets what sessions have.
func (n *natBlocks) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, p := range n.pools {
		n.pools[name] = nat.New(p.Config())
	}
}

// tables say how many blocks are given.
func (n *natBlocks) tables() (out []Table) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.pools)) {
		used, size := n.pools[name].Used()
		t := store.Table{Name: "nat_blocks", Used: uint64(used), Limit: uint64(size)}
		if name != "" {
			t.Name += ":" + name
		}
		out = append(out, t)
	}
	return out
}

// poolLocked is that of the network in which the set's UE is; nil: it has no NAT44.
func (n *natBlocks) poolLocked(ss *Sessions, set *rules.Set) (*nat.Pool, string) {
	if len(n.pools) == 0 {
		return nil, ""
	}
	list, network := ss.Networks(), int(ss.networkOf(set))
	if network >= len(list) {
		return nil, ""
	}
	return n.pools[list[network]], list[network]
}

// always has a record whatever the level is.
type always struct{ slog.Handler }

func (always) Enabled(context.Context, slog.Level) bool { return true }

func (h always) WithAttrs(attrs []slog.Attr) slog.Handler { return always{h.Handler.WithAttrs(attrs)} }
func (h always) WithGroup(name string) slog.Handler       { return always{h.Handler.WithGroup(name)} }

// recordBlock is the record of a block that is given or returned. The UPF knows no subscriber identity: the UE's address and the
// session's SEID are what others know it by.
func (ss *Sessions) recordBlock(what string, s *state.Session, b nat.Block, config nat.Config, instance string) {
	ss.records.Info("NAT44 block "+what, "networkInstance", instance, "ue", s.Rules.UEAddress(), "address", b.Addr, "ports", config.Text(b), "seid", pfcp.Hex(s.UPSEID), "node", s.Node)
}

// takeBlock gives next, which the session is to become, its block; undo gives it back.
func (ss *Sessions) takeBlock(s *leases.Session, next *state.Session) (undo func(), err error) {
	n := &ss.nat
	n.mu.Lock()
	defer n.mu.Unlock()
	undo = func() {}
	pool, instance := n.poolLocked(ss, next.Rules)
	ue := next.Rules.UEAddress()
	if next.NAT.IsValid() && pool != nil && pool.Holds(next.NAT, s.Index) && ue == s.Rules.UEAddress() {
		return undo, nil
	}
	next.NAT = nat.Block{}
	if pool == nil || !ue.IsValid() || !next.Rules.LeavesByN6() {
		return undo, nil
	}
	b, ok := pool.Take(ue, s.Index, ss.o.Machine.Now())
	if !ok {
		return undo, &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Detail: fmt.Sprintf("network instance %q has no block of ports left (NAT44)", instance)}
	}
	next.NAT = b
	given := *next
	ss.recordBlock("given", &given, b, pool.Config(), instance)
	return func() { ss.returnBlock(s.Index, &given) }, nil
}

// returnBlock takes the block of a session back that has none in upf-u any more.
func (ss *Sessions) returnBlock(index uint32, of *state.Session) {
	if !of.NAT.IsValid() {
		return
	}
	n := &ss.nat
	n.mu.Lock()
	defer n.mu.Unlock()
	pool, instance := n.poolLocked(ss, of.Rules)
	if pool == nil || !pool.Holds(of.NAT, index) {
		return
	}
	pool.Give(of.NAT, index, of.Rules.UEAddress(), ss.o.Machine.Now())
	ss.recordBlock("returned", of, of.NAT, pool.Config(), instance)
}

// keepBlock notes the block of a session that an earlier upf-c gave.
func (ss *Sessions) keepBlock(index uint32, s *state.Session) {
	if !s.NAT.IsValid() {
		return
	}
	n := &ss.nat
	n.mu.Lock()
	defer n.mu.Unlock()
	if pool, _ := n.poolLocked(ss, s.Rules); pool != nil {
		pool.Keep(s.NAT, index) // else renewBlock finds that it has none
	}
}

// recordLeft is for a session whose upf-c died when upf-u had deleted it.
func (ss *Sessions) recordLeft(s *state.Session) {
	if !s.NAT.IsValid() {
		return
	}
	ss.nat.mu.Lock()
	defer ss.nat.mu.Unlock()
	if pool, instance := ss.nat.poolLocked(ss, s.Rules); pool != nil {
		ss.recordBlock("returned", s, s.NAT, pool.Config(), instance)
	}
}

// blockOf is the session's block as far as upf-u has such.
func (ss *Sessions) blockOf(s *state.Session) nat.Block {
	if !s.NAT.IsValid() {
		return s.NAT
	}
	n := &ss.nat
	n.mu.Lock()
	defer n.mu.Unlock()
	if pool, _ := n.poolLocked(ss, s.Rules); pool == nil || !pool.Has(s.NAT) {
		return nat.Block{}
	}
	return s.NAT
}

// showBlock is for who looks at a session.
func (ss *Sessions) showBlock(s *state.Session) *NAT44 {
	ss.nat.mu.Lock()
	defer ss.nat.mu.Unlock()
	pool, _ := ss.nat.poolLocked(ss, s.Rules)
	if pool == nil || !pool.Has(s.NAT) {
		return nil
	}
	return &NAT44{s.NAT.Addr, pool.Config().Text(s.NAT)}
}

// RenewBlock sees to it, before upf-u is filled, that a session has a block where it needs one, and one that upf-u has: its configuration may be
// another one than before. The caller has locked the session.
func (ss *Sessions) RenewBlock(s *leases.Session) (renewed bool) {
	n := &ss.nat
	n.mu.Lock()
	pool, instance := n.poolLocked(ss, s.Rules)
	holds := pool != nil && pool.Holds(s.NAT, s.Index)
	if s.NAT.IsValid() && !holds {
		ss.recordBlock("returned", &s.Session, s.NAT, nat.Config{Ports: 1}, s.Rules.NetworkInstance()) // how many they were, nobody knows any more
		s.NAT, renewed = nat.Block{}, true
	}
	n.mu.Unlock()
	if pool == nil || holds {
		return renewed
	}
	next := s.Session
	if _, err := ss.takeBlock(s, &next); err != nil {
		ss.o.Log.Error("a session's packets cannot leave", "seid", pfcp.Hex(s.UPSEID), "networkInstance", instance, "err", err)
		return renewed
	}
	renewed = renewed || next.NAT.IsValid()
	s.NAT = next.NAT
	return renewed
}
