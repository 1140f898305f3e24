package agent

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

// tellDomains gives upf-u the domains of all applications, where there are some, or were.
func (a *Agent) tellDomains(conn *dataplane.Conn) error {
	list := a.applications.Domains()
	if len(list) == 0 && !a.toldDomains.Load() {
		return nil
	}
	t := dataplane.NewBatch()
	t.Domains(list)
	if err := conn.Transact(t); err != nil {
		return a.refusal(err)
	}
	a.toldDomains.Store(true)
	return nil
}

// pfdManagement executes a PFD Management Request (TS 29.244 7.4.3): whole, or not at all.
func (a *Agent) pfdManagement(ctx context.Context, m *pfcp.Message) error {
	node, err := a.node.Sender(m)
	if err != nil {
		return err
	}
	conn, err := a.dataplane(ctx)
	if err != nil {
		return err
	}
	a.pfdChange.Lock()
	defer a.pfdChange.Unlock()
	before := a.applications.Of(node)
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
	if octets, domains := a.applications.Described(node, next); octets > maxDescribed || domains > abi.DomainsMax {
		return &pfcp.Reject{Cause: ie.CauseNoResourcesAvailable, Offending: ie.ApplicationIDsPFDs, Detail: "more PFDs than upf-u can keep for us"}
	}
	if err := a.describe(conn, node, next, changed); err != nil {
		if again := a.describe(conn, node, before, changed); again != nil && !errors.Is(again, dataplane.ErrLost) {
			conn.Abandon() // it is filled anew, with what we know
		}
		return err
	}
	a.persistMeta()
	a.log.Info("applications described", "node", node, "applications", len(next), "changed", len(changed))
	return nil
}

// maxDescribed bounds what META is to hold of all PFDs: it travels in one datagram.
const maxDescribed = abi.MsgMax / 2

// describe puts a catalogue into force: from now on sessions are compiled with it, and those that
// use an application that changed are compiled anew.
func (a *Agent) describe(conn *dataplane.Conn, node string, next applications.Catalogue, changed []string) error {
	a.applications.Put(node, next)
	// Before the sessions: of an application that they name its domains are known.
	if err := a.tellDomains(conn); err != nil {
		return err
	}
	for index := range a.store.All(node) {
		if err := a.recompile(conn, index, node, changed); err != nil {
			return err
		}
	}
	return nil
}

func (a *Agent) recompile(conn *dataplane.Conn, index uint32, node string, changed []string) error {
	s := a.leases.Lock(index)
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
	p, err := encodeOf(a, s)
	if err != nil {
		return err
	}
	t := dataplane.NewBatch()
	p.add(t)
	if err := conn.Transact(t); err != nil {
		return a.refusal(err)
	}
	return nil
}
