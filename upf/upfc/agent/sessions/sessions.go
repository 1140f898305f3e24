package sessions

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"core5g.dev/core5g/upf/upfc/agent/addresses"
	"core5g.dev/core5g/upf/upfc/agent/applications"
	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/link"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/agent/reports"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/compile"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/networks"
	"core5g.dev/core5g/upf/upfc/rules"
)

// Recorder counts what becomes of sessions.
type Recorder interface {
	SessionsDropped(reason string, n int)
	Report(kind string)
}

// Owner is whose sessions they are, and what they are made with.
type Owner struct {
	Config   *config.Config
	Log      *slog.Logger
	Recorder Recorder
	Machine  machine.Machine

	Leases       *leases.Leases
	Link         *link.Link
	Node         *node.Node
	Reports      *reports.Reports
	Chooser      *addresses.Chooser // of F-TEIDs and UE addresses
	Applications *applications.Applications
	Predefined   map[string]*rules.Predefined // of the configuration
}

// Sessions are those of all CP functions.
type Sessions struct {
	o     Owner
	own   compile.Local
	store *store.Store[*leases.Session] // the leases'

	toldDomains atomic.Bool // upf-u has heard of domain names
	pfdChange   sync.Mutex  // held by the one request that changes PFDs
	policies    sync.Pool   // of *policy
	puts        sync.Pool   // of *Put
	traffic     *traffic
	groups      groups
	nat         natBlocks
	records     *slog.Logger // of NAT44 blocks
	underWay    underWay
	known       atomic.Pointer[networks.List] // of the upf-u that was met last
	bridges     atomic.Pointer[networks.Bridges]

	metaChange sync.Mutex // held while META is made and sent: the last one sent is the last one made
	silent     bool       // under metaChange: upf-u was told that sessions are restored

	mu    sync.Mutex
	pairs store.Slots
}

// New has none.
func New(o Owner) *Sessions {
	ss := &Sessions{
		o: o, own: Own(o.Config), store: o.Leases.Store,
		records:  slog.New(always{o.Log.Handler()}),
		traffic:  newTraffic(o.Machine.Now()),
		underWay: underWay{machine: o.Machine, names: map[store.CPName]chan struct{}{}},
	}
	ss.policies.New = func() any { return newPolicy(ss) }
	ss.puts.New = func() any { return newPut(ss) }
	return ss
}
