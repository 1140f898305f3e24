package reports

import (
	"context"
	"log/slog"
	"sync"

	"core5g.dev/core5g/upf/upfc/agent/leases"
	"core5g.dev/core5g/upf/upfc/agent/link"
	"core5g.dev/core5g/upf/upfc/agent/node"
	"core5g.dev/core5g/upf/upfc/agent/pace"
	"core5g.dev/core5g/upf/upfc/config"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/machine"
	"core5g.dev/core5g/upf/upfc/pfcp"
	"core5g.dev/core5g/upf/upfc/state"
)

// Recorder counts reports.
type Recorder interface {
	Report(kind string)
	UsageReport(trigger uint32) // by every bit of the Usage Report Trigger
}

// Owner is whose sessions are reported of. No function is called under a lock of the reports'; a session may be locked.
type Owner struct {
	Config   *config.Config
	Log      *slog.Logger
	Recorder Recorder
	Machine  machine.Machine
	Leases   *leases.Leases
	Link     *link.Link
	Node     *node.Node

	// Application is the Application ID of what upf-u knows by a number; empty: it is described no more.
	Application func(node string, number uint64) string
	// Settled waits until what has been changed so far may be told. False: it never may be.
	Settled func(ctx context.Context) bool
	// Compile adds to a transaction what makes upf-u's session next, whose encoding it returns. The session is locked.
	Compile func(t *dataplane.Batch, index uint32, next *state.Session) (blob []byte, err error)
	// Drop ends a session without a request. It is not locked.
	Drop func(seid uint64, reason string)
}

// Reports are those that are owed, and those that are under way.
type Reports struct {
	o Owner

	stopping context.Context // given with Begin
	serving  chan struct{}   // closed when PFCP is served
	server   *pfcp.Server    // valid once serving is closed

	wheel     *pace.Wheel
	measurers *pace.Crew[job]  // look at sessions
	reporters *pace.Crews[job] // report to CP functions
	stations  pace.Waiting[stationEvent]
	flows     pace.Waiting[flowEvent]

	mu        sync.Mutex
	postponed map[uint32]bool // sessions to be measured when upf-u is back
}

// New makes one that owes nothing.
func New(o Owner) *Reports {
	r := &Reports{o: o, serving: make(chan struct{}), wheel: pace.NewWheel(o.Machine), postponed: map[uint32]bool{}}
	r.measurers = pace.NewCrew(measuring, o.Machine.Go, r.measureJob)
	r.reporters = pace.NewCrews(o.Config.Limits.Reports, o.Machine.Go, r.reportJob)
	return r
}

// Begin is called before upf-u is met: what is under way ends with ctx.
func (r *Reports) Begin(ctx context.Context) { r.stopping = ctx }

// Serve gives it PFCP: before, nothing is sent.
func (r *Reports) Serve(server *pfcp.Server) {
	r.server = server
	close(r.serving)
}

// Keep wakes sessions by the clock until ctx ends.
func (r *Reports) Keep(ctx context.Context) {
	r.wheel.Run(ctx, func(index uint32) { r.measurers.Add(job{index: index}, false) })
}
