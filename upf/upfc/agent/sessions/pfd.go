package sessions

import (
	"context"
	"errors"
	"slices"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/agent/applications"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
)

// PFD management (TS 29.244 6.2.5): a CP function describes applications, and its sessions' PDRs
// name them. When a description changes, the sessions that use it are compiled anew. PFDs are kept
// in META, so they survive upf-c; a CP function sees and changes only its own.

// TellDomains gives upf-u the domains of all applications, where there are some, or were.
func (ss *Sessions) TellDomains(conn *dataplane.Conn) error {
	list := ss.o.Applications.Domains()
	if len(list) == 0 && !ss.toldDomains.Load() {
		return nil
	}
	t := dataplane.NewBatch()
	t.Domains(list)
	if err := conn.Transact(t); err != nil {
		return ss.refusal(err)
	}
	ss.toldDomains.Store(true)
	return nil
}

// DescribeApplications executes a PFD Management Request (TS 29.244 7.4.3): whole, or not at all.
func (ss *Sessions) DescribeApplications(ctx context.Context, m *pfcp.Message) error {
	node, err := ss.o.Node.Sender(m)
	if err != nil {
		return err
	}
	conn, err := ss.dataplane(ctx)
	if err != nil {
		return err
	}
	ss.pfdChange.Lock()
	defer ss.pfdChange.Unlock()
	before := ss.o.Applications.Of(node)
	// Without any Application ID's PFDs, all are taken away.
	next, changed := applications.Catalogue{}, []string{}
	if m.Elements.First(ie.ApplicationIDsPFDs) != nil {
		for id, p := range before {
			next[id] = p
		}
	} else {
		for id := range before {
			changed = append(changed, id)
		}
	}
	for i := range m.Elements {
		e := &m.Elements[i]
		if e.Type != ie.ApplicationIDsPFDs {
			continue
		}
		p, err := rules.ParseApplicationPFDs(e)
		if err != nil {
			return err
		}
		p.Number = applications.Number(node, p.ID)
		if changed = append(changed, p.ID); !p.Empty() {
			next[p.ID] = p
		} else {
			delete(next, p.ID)
		}
	}
	if octets, domains := ss.o.Applications.Described(node, next); octets > maxDescribed || domains > abi.DomainsMax {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.ApplicationIDsPFDs, Detail: "more PFDs than upf-u can keep for us"}
	}
	if err := ss.describe(conn, node, next, changed); err != nil {
		if again := ss.describe(conn, node, before, changed); again != nil && !errors.Is(again, dataplane.ErrLost) {
			conn.Abandon() // it is filled anew, with what we know
		}
		return err
	}
	ss.PersistMeta()
	ss.o.Log.Info("applications described", "node", node, "applications", len(next), "changed", len(changed))
	return nil
}

// maxDescribed bounds what META is to hold of all PFDs: it travels in one datagram.
const maxDescribed = abi.MsgMax / 2

// describe puts a catalogue into force: from now on sessions are compiled with it, and those that
// use an application that changed are compiled anew.
func (ss *Sessions) describe(conn *dataplane.Conn, node string, next applications.Catalogue, changed []string) error {
	ss.o.Applications.Put(node, next)
	// Before the sessions: of an application that they name its domains are known.
	if err := ss.TellDomains(conn); err != nil {
		return err
	}
	for index := range ss.store.All(node) {
		if err := ss.recompile(conn, index, node, changed); err != nil {
			return err
		}
	}
	return nil
}

func (ss *Sessions) recompile(conn *dataplane.Conn, index uint32, node string, changed []string) error {
	s := ss.o.Leases.Lock(index)
	if s == nil {
		return nil
	}
	defer s.Unlock()
	if s.Node != node {
		return nil
	}
	uses := false
	for _, r := range s.Rules.PDRs.All() {
		uses = uses || slices.Contains(changed, r.PDI.Application)
	}
	if !uses {
		return nil
	}
	p, err := ss.Encode(s)
	if err != nil {
		return err
	}
	t := dataplane.NewBatch()
	p.Add(t)
	if err := conn.Transact(t); err != nil {
		return ss.refusal(err)
	}
	return nil
}
