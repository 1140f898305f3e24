package agent

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/applications"
	"core5g.dev/core5g/upf/upfc/agent/filling"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/link"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/agent/peers"
	"core5g.dev/core5g/upf/upfc/agent/reports"
	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/rules"
	"core5g.dev/core5g/upf/upfc/state"
)

// Recorder counts what the agent does.
type Recorder interface {
	pfcp.Recorder
	Restart(peer string) // "upf-u", "cp", "upf-c"
	SessionsDropped(reason string, n int)
	Report(kind string)
	UsageReport(trigger uint32) // by every bit of the Usage Report Trigger
}

// Agent serves any number of CP functions with one upf-u.
type Agent struct {
	cfg   *config.Config
	log   *slog.Logger
	rec   Recorder
	world World

	serving chan struct{}           // closed when PFCP is bound
	server  *pfcp.Server            // valid once serving is closed
	tracing atomic.Pointer[tracing] // whom upf-u's trace events are for

	node         *node.Node                 // as CP functions know it
	link         *link.Link                 // to upf-u
	applications *applications.Applications // that CP functions have described
	leases       *leases.Leases
	store        *store.Store[*leases.Session] // theirs
	peers        *peers.Peers                  // of GTP-U
	reports      *reports.Reports              // to CP functions
	sessions     *sessions.Sessions
	redundancy   Redundancy      // nil: there is no standby
	filler       *filling.Filler // of upf-u

	mu sync.Mutex // of redundancy, for who looks at the agent before it runs
}

// World is where an agent lives.
type World struct {
	machine.Machine
	// Dial connects to upf-u.
	Dial func(ctx context.Context, events dataplane.Events) (*dataplane.Conn, error)
	// Serve begins with PFCP. What it returns with ends when PFCP does.
	Serve func(ctx context.Context, o pfcp.Options, h pfcp.Handler) (*pfcp.Server, func() error, error)
}

// New makes an agent; Run starts it.
func New(cfg *config.Config, log *slog.Logger, rec Recorder) *Agent {
	return NewIn(World{
		Machine: machine.Real(),
		Dial: func(ctx context.Context, events dataplane.Events) (*dataplane.Conn, error) {
			return dataplane.Dial(ctx, cfg.Dataplane.Socket, events, log)
		},
		Serve: func(ctx context.Context, o pfcp.Options, h pfcp.Handler) (*pfcp.Server, func() error, error) {
			s, err := pfcp.Listen(cfg.PFCP.Listen, o)
			return s, func() error { return s.Serve(ctx, h) }, err
		},
	}, cfg, log, rec)
}

// NewIn makes an agent that lives somewhere else than on this machine.
func NewIn(w World, cfg *config.Config, log *slog.Logger, rec Recorder) *Agent {
	a := &Agent{cfg: cfg, log: log, rec: rec, world: w, serving: make(chan struct{})}
	a.applications = applications.New(log)
	a.leases = leases.New(leases.Owner{Log: log, Machine: w.Machine, Application: a.applications.Get})
	a.store = a.leases.Store
	predefined, _ := cfg.Predefined() // Parse has refused what cannot be read
	chooser := addresses.New(cfg, sessions.Own(cfg), w.Random)
	a.joinNode(len(predefined) > 0, chooser.ChoosesUEs())
	a.joinSessions(predefined, chooser)
	return a
}

// joinNode makes what is below sessions: the connection to upf-u, the node, and GTP-U peers. What they call above them, comes to be with joinSessions.
func (a *Agent) joinNode(predefined, choosesUEs bool) {
	a.link = link.New(link.Owner{
		Config: a.cfg, Log: a.log, Machine: a.world.Machine,
		Dial: func(ctx context.Context) (*dataplane.Conn, error) { return a.world.Dial(ctx, (*events)(a)) },
		Fill: func(conn *dataplane.Conn) error { return a.filler.TakeUp(conn) },
		Over: func(conn *dataplane.Conn) { a.filler.LetGo(conn) },
		Back: func() { a.reports.CatchUp() },
	})
	a.node = node.New(node.Owner{
		Config: a.cfg, Log: a.log, Recorder: a.rec, Machine: a.world.Machine,
		Predefined: predefined, ChoosesUEs: choosesUEs,
		Forget: a.applications.Forget, SendsTo: a.store.SendsTo, Workers: a.workers,
		Drop:    func(node, reason string) { a.sessions.DropOf(node, reason) },
		Persist: func() { a.sessions.PersistMeta() },
		Page: func(m *pfcp.Message, node string, others ...*ie.IE) (*ie.IE, error) {
			return a.sessions.Page(m, node, others...)
		},
		Full: func() float64 { return a.sessions.Full() },
	})
	a.peers = peers.New(peers.Owner{
		Echo: a.cfg.GTPU.Echo, Own: sessions.Own(a.cfg), Log: a.log, Machine: a.world.Machine,
		Conn: a.link.Current, Tunnels: a.store.PeerTunnels, CorePeers: a.store.CorePeers, Report: a.node.ReportPaths,
	})
}

// joinSessions makes reports, what is done with sessions, and who fills a upf-u with them, one above the other.
func (a *Agent) joinSessions(predefined map[string]*rules.Predefined, chooser *addresses.Chooser) {
	a.reports = reports.New(reports.Owner{
		Config: a.cfg, Log: a.log, Recorder: a.rec, Machine: a.world.Machine, Leases: a.leases, Link: a.link, Node: a.node,
		Application: a.applications.Named, Settled: a.settled,
		Compile: func(t *dataplane.Batch, index uint32, next *state.Session) ([]byte, error) {
			return a.sessions.CompileInto(t, index, next)
		},
		Drop: func(seid uint64, reason string) { a.sessions.Drop(seid, reason) },
	})
	a.sessions = sessions.New(sessions.Owner{
		Config: a.cfg, Log: a.log, Recorder: a.rec, Machine: a.world.Machine, Leases: a.leases, Link: a.link, Node: a.node, Reports: a.reports,
		Chooser: chooser, Applications: a.applications, Predefined: predefined,
	})
	a.filler = filling.New(filling.Owner{
		Config: a.cfg, Log: a.log, Recorder: a.rec, Machine: a.world.Machine, Leases: a.leases, Link: a.link, Node: a.node, Reports: a.reports,
		Sessions: a.sessions, Dial: a.world.Dial,
		Apart: func() *sessions.Sessions { return NewIn(a.world, a.cfg, a.log, a.rec).sessions },
	})
}

// Run keeps the connection to upf-u and serves PFCP until ctx ends. PFCP is bound only after the
// first meeting with upf-u: before it nobody can say which Recovery Time Stamp is ours.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.reports.Begin(ctx)
	var link sync.WaitGroup
	begin := func(f func()) {
		link.Add(1)
		a.world.Go(func() { defer link.Done(); f() })
	}
	err := a.run(ctx, begin)
	cancel()
	link.Wait()
	return err
}

func (a *Agent) run(ctx context.Context, begin func(f func())) error {
	begin(func() { a.link.Keep(ctx) })
	begin(func() { a.sessions.KeepAlive(ctx) })
	if a.link.IsRedundant() {
		begin(func() { a.link.KeepGrants(ctx) })
	}
	if _, err := a.link.Wait(ctx, -1); err != nil {
		return nil // ended before upf-u was there
	}
	server, serve, err := a.world.Serve(ctx, pfcp.Options{
		Interval: a.cfg.PFCP.Retransmit.Interval,
		Attempts: a.cfg.PFCP.Retransmit.Attempts,
		Requests: a.cfg.Limits.Requests,
		Answers:  a.cfg.Limits.Answers << 20,
		Log:      a.log,
		Recorder: a.rec,
		Machine:  a.world.Machine,
	}, a)
	if err != nil {
		return err
	}
	a.server = server
	a.node.Serve(ctx, server)
	a.reports.Serve(server)
	close(a.serving)
	a.log.Info("PFCP is served", "listen", server.Addr(), "nodeID", a.cfg.NodeID, "advertise", a.cfg.PFCP.Advertise, "recovery", a.node.Recovery())
	begin(func() { a.reports.Keep(ctx) })
	begin(func() { a.peers.Keep(ctx) })
	begin(func() { a.sessions.KeepTraffic(ctx) })
	a.world.Go(a.resume)
	a.node.MeetPeers(ctx)
	return serve()
}

// resume takes up what a previous upf-c left: heartbeats, timers, reports without acknowledgement.
func (a *Agent) resume() {
	a.node.Resume()
	a.reports.CatchUp()
}

// Ready says whether PFCP is served and upf-u connected, and if not, what is missing.
func (a *Agent) Ready() error {
	if err := a.link.Ready(); err != nil {
		return err
	}
	select {
	case <-a.serving:
		return nil
	default:
		return errors.New("PFCP is not bound yet")
	}
}

// Link is the connection to upf-u, for who grants it something.
func (a *Agent) Link() *link.Link { return a.link }

// RequestRelease asks a CP function to release the association (node.RequestRelease).
func (a *Agent) RequestRelease(ctx context.Context, node string, grace time.Duration) error {
	return a.node.RequestRelease(ctx, node, grace)
}

// Addr is where PFCP is served. It waits for that.
func (a *Agent) Addr() netip.AddrPort {
	<-a.serving
	return a.server.Addr()
}
