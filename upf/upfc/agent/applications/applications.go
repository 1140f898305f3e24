package applications

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"unsafe"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// Catalogue is what one CP function provided, by Application ID. It is replaced, never changed.
type Catalogue map[string]*rules.ApplicationPFDs

// Applications are those that CP functions have described, by Node ID.
type Applications struct {
	log *slog.Logger

	mu sync.Mutex
	by map[string]Catalogue
}

// New knows none yet.
func New(log *slog.Logger) *Applications {
	return &Applications{log: log, by: map[string]Catalogue{}}
}

// Of are a node's.
func (a *Applications) Of(node string) Catalogue {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[node]
}

// Put makes next a node's.
func (a *Applications) Put(node string, next Catalogue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(next) == 0 {
		delete(a.by, node)
	} else {
		a.by[node] = next
	}
}

// Forget takes a node's away.
func (a *Applications) Forget(node string) { a.Put(node, nil) }

// Replace makes all of them those that META has, and says whether that is a change.
func (a *Applications) Replace(list []state.PFD) bool {
	a.mu.Lock()
	before := a.by
	a.by = map[string]Catalogue{}
	a.mu.Unlock()
	a.Adopt(list)
	a.mu.Lock()
	defer a.mu.Unlock()
	return !reflect.DeepEqual(before, a.by)
}

// Get is one of a node's as it is now.
func (a *Applications) Get(node, id string) *rules.ApplicationPFDs {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.by[node][id]
}

// Number is by what upf-u knows an application. It follows from the name, so that upf-u, a new upf-c and a standby agree
// without a word.
func Number(node, id string) uint64 {
	sum := sha256.Sum256([]byte(node + "\x00" + id))
	return binary.BigEndian.Uint64(sum[:])
}

// Named is the Application ID of a node's application that upf-u knows by a number; empty: it is described no more.
func (a *Applications) Named(node string, number uint64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, p := range a.by[node] {
		if p.Number == number {
			return id
		}
	}
	return ""
}

// Show puts the names of applications where upf-u has their numbers.
func (a *Applications) Show(text []byte) []byte {
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

// Domains are those of all applications, as upf-u wants them.
func (a *Applications) Domains() (list []dataplane.Domain) {
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

// Described is what all PFDs take, and how many domain names they have, were next those of a node. The domains travel in one datagram, too.
func (a *Applications) Described(node string, next Catalogue) (octets, domains int) {
	count := func(c Catalogue) {
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

// List are the PFDs as META has them.
func (a *Applications) List() []state.PFD {
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

// Adopt makes those that META has ours.
func (a *Applications) Adopt(list []state.PFD) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range list {
		p := &rules.ApplicationPFDs{ID: k.Application, Number: Number(k.Node, k.Application), Descriptions: k.Flows}
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
			a.by[k.Node] = Catalogue{}
		}
		a.by[k.Node][k.Application] = p
	}
}
