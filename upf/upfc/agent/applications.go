package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// catalogue is what one CP function provided, by Application ID. It is replaced, never changed.
type catalogue map[string]*rules.ApplicationPFDs

// applications are those that CP functions have described, by Node ID.
type applications struct {
	log  *slog.Logger
	told atomic.Bool // upf-u has heard of domain names

	mu sync.Mutex
	by map[string]catalogue
}

// of are a node's.
func (a *applications) of(node string) catalogue {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[node]
}

// put makes next a node's.
func (a *applications) put(node string, next catalogue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(next) == 0 {
		delete(a.by, node)
	} else {
		a.by[node] = next
	}
}

// forget takes a node's away.
func (a *applications) forget(node string) { a.put(node, nil) }

// replace makes all of them those that META has, and says whether that is a change.
func (a *applications) replace(list []state.PFD) bool {
	a.mu.Lock()
	before := a.by
	a.by = map[string]catalogue{}
	a.mu.Unlock()
	a.adopt(list)
	a.mu.Lock()
	defer a.mu.Unlock()
	return !reflect.DeepEqual(before, a.by)
}

// get is one of a node's as it is now.
func (a *applications) get(node, id string) *rules.ApplicationPFDs {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[node][id]
}

// applicationNumber is by what upf-u knows an application. It follows from the name, so that upf-u, a new upf-c and a standby agree
// without a word.
func applicationNumber(node, id string) uint64 {
	sum := sha256.Sum256([]byte(node + "\x00" + id))
	return binary.BigEndian.Uint64(sum[:])
}

// named is the Application ID of a node's application that upf-u knows by a number; empty: it is described no more.
func (a *applications) named(node string, number uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, p := range a.by[node] {
		if p.Number == number {
			return id
		}
	}
	return ""
}

// show puts the names of applications where upf-u has their numbers.
func (a *applications) show(text []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.by {
		for id, p := range c {
			if name, err := json.Marshal(id); err == nil && len(p.Domains) > 0 {
				text = bytes.ReplaceAll(text, fmt.Appendf(nil, `"%016x"`, p.Number), name)
			}
		}
	}
	return text
}

// domains are those of all applications, as upf-u wants them.
func (a *applications) domains() (list []dataplane.Domain) {
	a.mu.Lock()
	defer a.mu.Unlock()
	flag := func(set bool, flag uint8) uint8 {
		if set {
			return flag
		}
		return 0
	}
	for _, c := range a.by {
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

// described is what all PFDs take, and how many domain names they have, were next those of a node. The domains travel in one datagram, too.
func (a *applications) described(node string, next catalogue) (octets, domains int) {
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
	for other, c := range a.by {
		if other != node {
			count(c)
		}
	}
	return octets, domains
}

// list are the PFDs as META has them.
func (a *applications) list() []state.PFD {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []state.PFD
	for node, c := range a.by {
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

// adopt makes those that META has ours.
func (a *applications) adopt(list []state.PFD) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
		if a.by[k.Node] == nil {
			a.by[k.Node] = catalogue{}
		}
		a.by[k.Node][k.Application] = p
	}
}
