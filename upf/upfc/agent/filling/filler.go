package filling

import (
	"context"
	"log/slog"
	"sync"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/link"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/agent/reports"
	"core5g.dev/core5g/upf/upfc/agent/sessions"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
)

// Recorder counts what is lost.
type Recorder interface {
	Restart(peer string) // "upf-u", "upf-c"
	SessionsDropped(reason string, n int)
}

// Owner is whose sessions a upf-u is filled with.
type Owner struct {
	Config   *config.Config
	Log      *slog.Logger
	Recorder Recorder
	Machine  machine.Machine

	Leases   *leases.Leases
	Link     *link.Link
	Node     *node.Node
	Reports  *reports.Reports
	Sessions *sessions.Sessions

	// Dial connects to the upf-u of a standby.
	Dial func(ctx context.Context, events dataplane.Events) (*dataplane.Conn, error)
	// Apart makes what knows no session, nor anything else yet: a standby's sessions are compiled as its.
	Apart func() *sessions.Sessions
}

// Filler fills upf-us.
type Filler struct {
	o        Owner
	store    *store.Store[*leases.Session] // the leases'
	takeover *Takeover                     // what counts at the first meeting with upf-u is the state file; nil: the unit is ours from before
	// It has other network instances than the one before; read while it is filled.
	otherNetworks bool

	mu     sync.Mutex
	bootID uint64 // of the upf-u that was last filled or read
}

// New has met no upf-u.
func New(o Owner) *Filler { return &Filler{o: o, store: o.Leases.Store} }

// TakeOver is called before a upf-u is met, of a unit that was taken over: what counts is the state file, whatever upf-u may have.
func (f *Filler) TakeOver(t *Takeover) { f.takeover = t }
