package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nausf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/complaints"
	"core5g.dev/core5g/images/nf/loop"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/shards"
	"core5g.dev/core5g/images/signalling"

	"github.com/prometheus/client_golang/prometheus"
)

// Options of a pod.
type Options struct {
	Log *slog.Logger
	// Holder is the pod's name in leases, and Set names the pods that share the shards, which are called by it: amf/1.
	Holder, Set string
	// Shards are so many, numbered from 1, the same for all pods and terminators.
	Shards uint16
	Store  sessionstore.Store
	Sealer runner.Sealer
	// InstanceID of the AMF, one NF instance for all pods, and URI, the API root by which others reach any of them.
	InstanceID, URI string
	// The functions that are asked. PCF may be nil: then there are no policy associations.
	AUSF *nausf.Client
	UDM  *nudm.Client
	PCF  *npcf.Client
	SMF  *nsmf.Client
	// Callbacks tells others what they wanted to hear.
	Callbacks *namf.Client
	// Registry of metrics.
	Registry prometheus.Registerer
	// Terminators are where N2 terminators listen for workers, host:port; it is asked again and again.
	Terminators func(context.Context) ([]string, error)
	// Dial one; nil: TCP without TLS.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Tracer of signalling that people want to see; nil: nobody can.
	Tracer *signalling.Tracer
	// Passing on to other pods; without a Root there are none.
	Passing Passing
}

// Pod has the shards that it holds.
type Pod struct {
	Options
	keeper   *shards.Keeper
	settings atomic.Pointer[procedure.Settings]
	links    *links
	measures *measures
	tokens   loop.Tokens[procedure.Token]
	hints    hints
	peers    shards.Peers
	writes   chan struct{} // bounds what is asked of the store at a time
	calls    chan struct{} // bounds what is asked of other functions at a time

	mu       sync.Mutex
	held     map[uint16]*Shard
	settling sync.Mutex // settings are put into force one after the other
	running  sync.WaitGroup
	ctx      context.Context // of the pod; it ends after the shards were given up
	stop     context.CancelFunc

	complaints complaints.Complaints
}

// Bounds of what is under way at a time, to the session store and to other functions.
const (
	mostWrites = 512
	mostCalls  = 1024
)

// New makes a pod that holds nothing yet; Run begins. Settings have to be there before: Configure.
func New(o Options) (*Pod, error) {
	switch {
	case o.Shards == 0 || o.Shards > record.MostShards:
		return nil, fmt.Errorf("%d shards: write 1 to %d", o.Shards, record.MostShards)
	case o.AUSF == nil || o.UDM == nil || o.SMF == nil || o.Callbacks == nil:
		return nil, errors.New("an AMF needs AUSF, UDM and SMF, and tells others: set the clients")
	case o.Terminators == nil:
		return nil, errors.New("an AMF worker needs N2 terminators: say where they are")
	}
	p := &Pod{
		Options: o, measures: newMeasures(o.Registry), held: map[uint16]*Shard{}, peers: shards.Peers{From: o.Passing.From},
		writes: make(chan struct{}, mostWrites), calls: make(chan struct{}, mostCalls),
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.links = newLinks(p)
	if err := o.Registry.Register(gauges{p}); err != nil {
		return nil, err
	}
	var names []string
	for n := range o.Shards {
		names = append(names, p.name(n+1))
	}
	var err error
	p.keeper, err = shards.New(shards.Options{Holder: o.Holder, Set: o.Set, Shards: names, Gained: p.gained, Leaving: p.leaving, Lost: p.lost, Released: p.peers.Released, Log: o.Log})
	return p, err
}

// name of a shard in leases and in the session store.
func (p *Pod) name(shard uint16) string { return fmt.Sprintf("%s/%d", p.Set, shard) }

// ShardName is what a shard is called in leases and in the session store.
func (p *Pod) ShardName(shard uint16) string { return p.name(shard) }

// GNB of an association, as far as this pod is connected to its terminator; nil: it is not known.
func (p *Pod) GNB(terminator string, association uint64) *record.GNB {
	return p.links.node(terminator, association)
}

// number of the shard of that name; 0: none of this set.
func (p *Pod) number(name string) uint16 {
	for n := range p.Shards {
		if p.name(n+1) == name {
			return n + 1
		}
	}
	return 0
}

// Run holds shards until ctx ends, and then gives them up. It is called once.
func (p *Pod) Run(ctx context.Context) {
	defer p.running.Wait()
	defer p.stop()
	p.running.Go(p.links.run)
	if p.Passing.Root != nil {
		p.running.Go(func() { p.peers.Watch(p.ctx, p.keeper, p.Passing.Transport, p.others) })
	}
	p.keeper.Run(ctx, p.Store)
}

// Configure puts settings into force: UEs and gNBs hear what concerns them. Nobody may write to them any more.
func (p *Pod) Configure(s *procedure.Settings) {
	p.settling.Lock()
	defer p.settling.Unlock()
	p.settings.Store(s)
	for _, held := range p.all() {
		held.loop.Post(held.runner.Configured)
	}
}

// Settings in force; nil: there are none yet.
func (p *Pod) Settings() *procedure.Settings { return p.settings.Load() }

func (p *Pod) gained(l sessionstore.Lease) {
	n := p.number(l.Shard)
	if n == 0 {
		return
	}
	s := p.open(n, l)
	p.mu.Lock()
	p.held[n] = s
	p.mu.Unlock()
	p.links.holds(link.Holds{Shard: n, Epoch: l.Epoch})
	s.start()
	p.Log.Info("holds a shard", "shard", l.Shard, "epoch", l.Epoch)
}

// leaving: the shard is for another pod soon. UEs that nobody knows go to other shards from now on, and those that are here may show who they are before: the next
// holder would not know them. What is written is said before, too, since the next holder would not know whether it was.
func (p *Pod) leaving(name string) {
	n := p.number(name)
	s := p.shard(n)
	if s == nil {
		p.keeper.Left(name)
		return
	}
	p.links.holds(link.Holds{Shard: n, Epoch: s.lease.Epoch, Leaving: true})
	s.loop.Post(func() { s.runner.Leave(shards.Farewell, func() { p.keeper.Left(name) }) })
	p.Log.Info("gives a shard up soon", "shard", name)
}

func (p *Pod) lost(name string) {
	n := p.number(name)
	p.mu.Lock()
	s := p.held[n]
	delete(p.held, n)
	p.mu.Unlock()
	if s != nil {
		s.close()
		p.links.letsGo(n, s.lease.Epoch)
		p.Log.Info("holds a shard no more", "shard", name)
	}
}

// Holds says whether this pod has the shard of that number.
func (p *Pod) Holds(shard uint16) bool { return p.shard(shard) != nil }

// shard of that number, where this pod has it.
func (p *Pod) shard(n uint16) *Shard {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[n]
}

// all shards that are held here.
func (p *Pod) all() []*Shard {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*Shard, 0, len(p.held))
	for _, s := range p.held {
		out = append(out, s)
	}
	return out
}

// aliveTime is how long the loop of a shard may be busy with one thing.
const aliveTime = 3 * time.Second

// Alive says which shard is stuck: its loop does not come to what is posted, or what is asked of the session store does not come back.
func (p *Pod) Alive() error {
	if err := p.keeper.Alive(); err != nil {
		return err
	}
	over := time.After(aliveTime)
	for _, s := range p.all() {
		came := make(chan struct{})
		if !s.loop.Post(func() { close(came) }) {
			continue // it was given up
		}
		select {
		case <-came:
		case <-s.loop.Done():
		case <-over:
			return fmt.Errorf("shard %s is stuck", s.lease.Shard)
		}
	}
	return nil
}

// Ready says what is missing: there are settings, each shard has a holder, as far as is known, and a terminator has been heard since the pod began.
func (p *Pod) Ready() error {
	if p.settings.Load() == nil {
		return errors.New("the configuration was not read yet")
	}
	for n := range p.Shards {
		if p.keeper.Holder(p.name(n+1)) == "" && p.shard(n+1) == nil {
			return fmt.Errorf("nobody holds shard %s", p.name(n+1))
		}
	}
	if !p.links.heardAny() {
		return errors.New("no N2 terminator was heard yet")
	}
	return nil
}
