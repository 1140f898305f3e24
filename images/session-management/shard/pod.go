package shard

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/signalling"

	"github.com/prometheus/client_golang/prometheus"
)

// Identity is what a shard is to others, whoever holds it.
type Identity struct {
	// Number from 1: part of every CP SEID. Name of the shard in the session store.
	Number uint16
	Name   string
	// InstanceID of the NF, and URI, its API root.
	InstanceID, URI string
	// NodeID on N4, and Address, of its F-SEIDs: units send reports there.
	NodeID  string
	Address netip.Addr
	// Outside is the address at which units outside of the cluster reach the shard, and its Node ID to them; invalid: they reach Address.
	Outside netip.Addr
	// Waits: it is to have such an address and does not know it, so that units outside are not met.
	Waits bool
	// N4 is where the pod listens for the shard's PFCP.
	N4 netip.AddrPort
}

// Options of a pod.
type Options struct {
	Log *slog.Logger
	// Holder is the pod's name in leases, and Set names the pods that share the shards.
	Holder, Set string
	Shards      []Identity
	Store       sessionstore.Store
	Sealer      runner.Sealer
	// The functions that are called. PCF, UDM and CHF may be nil: then rules are the Slice's, subscriptions nobody's but the Slice's, and usage is
	// kept until there is one.
	AMF *namf.Client
	UDM *nudm.Client
	PCF *npcf.Client
	CHF *nchf.Client
	// Registry of metrics.
	Registry prometheus.Registerer
	// N4 is the endpoint's configuration as far as it is the same for all shards: timers.
	N4 pfcp.Config
	// CommandTime is how long UEs may take to answer a command, T3591 and T3592; 0 for the 16 s of TS 24.501 10.3. Stories have less.
	CommandTime time.Duration
	// Register keeps a shard that is held here known to the NRF until its context ends; nil: there is none.
	Register func(context.Context, Identity)
	// Tracer of signalling that people want to see; nil: nobody can.
	Tracer *signalling.Tracer
	// Passing on to other pods; without a Root there are none.
	Passing Passing
	// TTL of leases, 0 for the usual.
	TTL time.Duration
}

// Pod has the shards that it holds.
type Pod struct {
	Options
	keeper   *shards.Keeper
	peers    shards.Peers
	ctx      context.Context // it ends after the shards were given up
	stop     context.CancelFunc
	config   atomic.Pointer[configuration.Snapshot]
	n4       *pfcp.Metrics
	measures *measures
	tokens   loop.Tokens[procedure.Token]
	writes   chan struct{} // bounds what is asked of the store at a time
	ending   atomic.Bool   // it gives all shards up, and takes none

	mu     sync.Mutex
	held   map[string]*Shard
	relays map[string]*relay
}

// mostAsked is how many requests to the session store are under way at a time.
const mostAsked = 512

// New makes a pod that holds nothing yet; Run begins. A configuration has to be there before: Configure.
func New(o Options) (*Pod, error) {
	p := &Pod{
		Options: o, n4: pfcp.NewMetrics(o.Registry), measures: newMeasures(o.Registry, o.Shards), held: map[string]*Shard{}, relays: map[string]*relay{}, writes: make(chan struct{}, mostAsked),
		peers: shards.Peers{From: o.Passing.From},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	var names []string
	for _, s := range o.Shards {
		names = append(names, s.Name)
	}
	var err error
	p.keeper, err = shards.New(shards.Options{Holder: o.Holder, Set: o.Set, Shards: names, TTL: o.TTL, Gained: p.gained, Leaving: p.leaving, Lost: p.lost, Released: p.peers.Released, Log: o.Log})
	return p, err
}

// Run holds shards until ctx ends, and then gives them up.
func (p *Pod) Run(ctx context.Context) {
	for _, id := range p.Shards {
		p.relayFor(id)
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	if p.Passing.Root != nil {
		watching.Go(func() { p.peers.Watch(p.ctx, p.keeper, p.Passing.Transport, p.others) })
	}
	defer context.AfterFunc(ctx, func() { p.ending.Store(true) })()
	p.keeper.Run(ctx, p.Store)
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.relays {
		r.close()
	}
}

// relayFor a shard that is not held here.
func (p *Pod) relayFor(id Identity) {
	if p.Passing.Root == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[id.Name] == nil {
		p.relays[id.Name] = p.openRelay(id)
	}
}

func (p *Pod) endRelay(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relays[name].close()
	delete(p.relays, name)
}

func (p *Pod) identity(name string) (Identity, bool) {
	for _, id := range p.Shards {
		if id.Name == name {
			return id, true
		}
	}
	return Identity{}, false
}

// Configure puts a configuration into force. No session is touched by what does not concern it.
func (p *Pod) Configure(s *configuration.Snapshot) {
	p.config.Store(s)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, held := range p.held {
		held.configured(s)
	}
}

// Configuration in force; nil: it was not read yet.
func (p *Pod) Configuration() *configuration.Snapshot { return p.config.Load() }

func (p *Pod) gained(l sessionstore.Lease) {
	id, ok := p.identity(l.Shard)
	if !ok {
		return
	}
	p.endRelay(l.Shard)
	s := p.open(id, l)
	p.mu.Lock()
	p.held[l.Shard] = s
	p.mu.Unlock()
	p.Log.Info("holds a shard", "shard", l.Shard, "epoch", l.Epoch)
}

// leaving: the shard is for another pod soon.
func (p *Pod) leaving(name string) {
	s := p.Held(name)
	left := func() { p.keeper.Left(name) }
	if s == nil {
		left()
		return
	}
	if !s.loop.Post(func() { s.runner.Leave(left) }) {
		left()
	}
}

func (p *Pod) lost(name string) {
	p.mu.Lock()
	s := p.held[name]
	delete(p.held, name)
	p.mu.Unlock()
	if s != nil {
		s.close()
		p.relayFor(s.Identity)
		p.Log.Info("holds a shard no more", "shard", name)
	}
}

// Held is the shard of that name, or of that number, where this pod has it.
func (p *Pod) Held(name string) *Shard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[name]
}

// Alive: what is asked of the session store comes back.
func (p *Pod) Alive() error { return p.keeper.Alive() }

// Ready: there is a configuration, and each shard has a holder, as far as is known.
func (p *Pod) Ready() error {
	if p.config.Load() == nil {
		return fmt.Errorf("the configuration was not read yet")
	}
	for _, s := range p.Shards {
		if p.keeper.Holder(s.Name) == "" && p.Held(s.Name) == nil {
			return fmt.Errorf("nobody holds shard %s", s.Name)
		}
	}
	return nil
}
