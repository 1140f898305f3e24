package node

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"core5g.dev/core5g/upf/abi"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

// Recorder counts what a node does.
type Recorder interface {
	Restart(peer string) // "cp"
	Report(kind string)
}

// Owner is who has the sessions of the CP functions, and upf-u.
type Owner struct {
	Config   *config.Config
	Log      *slog.Logger
	Recorder Recorder
	Machine  machine.Machine

	// Features that depend on the configuration.
	Predefined, ChoosesUEs bool

	// Drop deletes all sessions of a CP function without telling it.
	Drop func(node, reason string)
	// Persist stores META.
	Persist func()
	// Forget forgets what a CP function has described. It is called under the node's lock, so that META never has the one without the other.
	Forget func(node string)
	// Page is the page of a list of sessions that an Association Update Request asks for; nil when it asks for none. others are the other IEs
	// of the answer.
	Page func(m *pfcp.Message, node string, others ...*ie.IE) (*ie.IE, error)
	// SendsTo says whether sessions of a CP function send to one of the peers.
	SendsTo func(node string, peers []netip.Addr) bool
	// Workers are upf-u's, none while it is away, and Full is how full the fullest of the tables is.
	Workers func() []abi.WorkerStats
	Full    func() float64
}

// Node is this UPF as CP functions know it, and what it knows of them.
type Node struct {
	o   Owner
	id  *ie.IE   // our Node ID, which nobody changes
	ies pfcp.IEs // the same as it stands in a message

	server   *pfcp.Server // given with Serve
	stopping context.Context

	load        load
	restoration restoration

	mu           sync.Mutex
	recovery     time.Time // our Recovery Time Stamp; zero until upf-u was met
	associations map[string]*association
	eras         uint64 // of associations, the last one
}

// New makes one that has met nobody.
func New(o Owner) *Node {
	n := &Node{
		o: o, id: ie.NewNodeIDHeuristic(o.Config.NodeID),
		restoration:  restoration{nodes: map[string]bool{}},
		associations: map[string]*association{},
	}
	_ = n.ies.Add(n.id) // Parse has refused what is none
	n.load.begin(o.Machine.Now())
	return n
}

// Adopt goes on with what META has of the node.
func (n *Node) Adopt(meta *state.Meta) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recovery = time.Unix(meta.Recovery, 0)
	for _, as := range meta.Associations {
		n.associations[as.Node] = &association{Association: as, over: make(chan struct{}), moved: make(chan struct{})}
	}
	n.countListenersLocked()
	n.restoration.begin(n.recovery.Add(n.o.Config.PFCP.RestorationWait), meta.Restorers, len(meta.Associations) > 0)
}

// Meta is what META has of the node now. more adds what there is beside it, while nothing of this changes.
func (n *Node) Meta(more func(m *state.Meta)) state.Meta {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := state.Meta{Recovery: n.recovery.Unix(), Restorers: n.restoration.list()}
	for _, as := range n.associationsLocked() {
		m.Associations = append(m.Associations, as.Association)
	}
	more(&m)
	return m
}

// Serve gives the node PFCP, before anybody is served, until ctx ends.
func (n *Node) Serve(ctx context.Context, server *pfcp.Server) { n.stopping, n.server = ctx, server }

// Resume takes up the heartbeats to those with whom an earlier upf-c was associated.
func (n *Node) Resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, as := range n.associationsLocked() {
		n.watch(as)
	}
}

// ID is our Node ID.
func (n *Node) ID() *ie.IE { return n.id }

// SayID appends it to an answer.
func (n *Node) SayID(answer *pfcp.Answer) { answer.IEs = append(answer.IEs, n.ies...) }

// Recovery is our Recovery Time Stamp; zero until upf-u was met.
func (n *Node) Recovery() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.recovery
}

func (n *Node) recoveryIE() *ie.IE { return ie.NewRecoveryTimeStamp(n.Recovery()) }

// Each calls f for each association, by Node ID: since when it has failed is zero while it has not.
func (n *Node) Each(f func(as *state.Association, failed time.Time)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, as := range n.associationsLocked() {
		f(&as.Association, as.failed)
	}
}
