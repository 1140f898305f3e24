package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// PFD management (TS 29.244 6.2.5): a CP function describes applications, and its sessions' PDRs
// name them. When a description changes, the sessions that use it are compiled anew. PFDs are kept
// in META, so they survive upf-c; a CP function sees and changes only its own.

// catalogue is what one CP function provided, by Application ID. It is replaced, never changed.
type catalogue map[string]*rules.ApplicationPFDs

// application is one of a node's as it is now.
func (a *Agent) application(node, id string) *rules.ApplicationPFDs {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pfds[node][id]
}

// applicationNumber is by what upf-u knows an application. It follows from the name, so that upf-u, a new upf-c and a standby agree
// without a word.
func applicationNumber(node, id string) uint64 {
	sum := sha256.Sum256([]byte(node + "\x00" + id))
	return binary.BigEndian.Uint64(sum[:])
}

// applicationOf is the Application ID of a node's application that upf-u knows by a number; empty: it is described no more.
func (a *Agent) applicationOf(node string, number uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, p := range a.pfds[node] {
		if p.Number == number {
			return id
		}
	}
	return ""
}

// nameApplications puts the names of applications where upf-u has their numbers.
func (a *Agent) nameApplications(text []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.pfds {
		for id, p := range c {
			if name, err := json.Marshal(id); err == nil && len(p.Domains) > 0 {
				text = bytes.ReplaceAll(text, fmt.Appendf(nil, `"%016x"`, p.Number), name)
			}
		}
	}
	return text
}

// domains are those of all applications, as upf-u wants them.
func (a *Agent) domains() (list []dataplane.Domain) {
	a.mu.Lock()
	defer a.mu.Unlock()
	flag := func(set bool, flag uint8) uint8 {
		if set {
			return flag
		}
		return 0
	}
	for _, c := range a.pfds {
		for _, p := range c {
			for _, d := range p.Domains {
				list = append(list, dataplane.Domain{
					Application: p.Number, Name: d.Name,
					Flags: flag(d.DNS, abi.DomainDns) | flag(d.TLS, abi.DomainTls) | flag(d.Itself, abi.DomainItself) | flag(d.Below, abi.DomainBelow),
				})
			}
		}
	}
	return list
}

// tellDomains gives upf-u the domains of all applications, where there are some, or were.
func (a *Agent) tellDomains(conn *dataplane.Conn) error {
	list := a.domains()
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
	node, err := a.sender(m)
	if err != nil {
		return err
	}
	conn, err := a.dataplane(ctx)
	if err != nil {
		return err
	}
	a.pfdChange.Lock()
	defer a.pfdChange.Unlock()
	a.mu.Lock()
	before := a.pfds[node]
	a.mu.Unlock()
	// Without any Application ID's PFDs, all are taken away.
	next, changed := catalogue{}, []string{}
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
		p.Number = applicationNumber(node, p.ID)
		if changed = append(changed, p.ID); !p.Empty() {
			next[p.ID] = p
		} else {
			delete(next, p.ID)
		}
	}
	if octets, domains := a.described(node, next); octets > maxDescribed || domains > abi.DomainsMax {
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

// described is what all PFDs take, and how many domain names they have, were next those of a node. The domains travel in one datagram, too.
func (a *Agent) described(node string, next catalogue) (octets, domains int) {
	count := func(c catalogue) {
		for id, p := range c {
			octets += len(id) + 16
			for _, d := range p.Descriptions {
				octets += len(d) + 4
			}
			for _, d := range p.Domains {
				octets += len(d.Text) + len(d.Protocol) + int(unsafe.Sizeof(abi.Domain{}))
			}
			domains += len(p.Domains)
		}
	}
	count(next)
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, c := range a.pfds {
		if other != node {
			count(c)
		}
	}
	return octets, domains
}

// sender is the CP function that a node-related message comes from: by its Node ID where it has one,
// else by its address.
func (a *Agent) sender(m *pfcp.Message) (string, error) {
	if m.Elements.First(ie.NodeID) != nil {
		node, err := nodeOf(m)
		if err != nil {
			return "", err
		}
		return node, a.speaksFor(node, m.From.Addr())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if as := a.senderLocked(m.From); as != nil {
		return as.Node, nil
	}
	return "", noAssociation(m.From.String())
}

// describe puts a catalogue into force: from now on sessions are compiled with it, and those that
// use an application that changed are compiled anew.
func (a *Agent) describe(conn *dataplane.Conn, node string, next catalogue, changed []string) error {
	a.mu.Lock()
	if len(next) == 0 {
		delete(a.pfds, node)
	} else {
		a.pfds[node] = next
	}
	a.mu.Unlock()
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
	s := a.lock(index)
	if s == nil {
		return nil
	}
	defer s.unlock()
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
	p, err := s.encode(a)
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

// pfdsToKeep are the PFDs as META has them. The caller holds a.mu.
func (a *Agent) pfdsToKeep() []state.PFD {
	var out []state.PFD
	for node, c := range a.pfds {
		for id, p := range c {
			kept := state.PFD{Node: node, Application: id, Flows: p.Descriptions}
			for _, d := range p.Domains {
				kept.Domains = append(kept.Domains, state.Domain{Name: d.Text, Protocol: d.Protocol})
			}
			out = append(out, kept)
		}
	}
	return out
}

// adoptPFDs makes those that META has ours. The caller holds a.mu.
func (a *Agent) adoptPFDs(list []state.PFD) {
	for _, k := range list {
		p := &rules.ApplicationPFDs{ID: k.Application, Number: applicationNumber(k.Node, k.Application), Descriptions: k.Flows}
		for _, text := range k.Flows {
			f, err := rules.ParseFlow(text)
			if err != nil {
				a.log.Error("a flow description that upf-u kept cannot be read", "application", k.Application, "description", text, "err", err)
				continue
			}
			p.Flows = append(p.Flows, *f)
		}
		for _, name := range k.Domains {
			d, err := rules.ParseDomain(name.Name, name.Protocol)
			if err != nil {
				a.log.Error("a domain name that upf-u kept cannot be read", "application", k.Application, "domain", name.Name, "err", err)
				continue
			}
			p.Domains = append(p.Domains, *d)
		}
		if a.pfds[k.Node] == nil {
			a.pfds[k.Node] = catalogue{}
		}
		a.pfds[k.Node][k.Application] = p
	}
}
