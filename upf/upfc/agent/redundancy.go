package agent

import (
	"context"

	"core5g.dev/core5g/upf/upfc/agent/filling"
	"core5g.dev/core5g/upf/upfc/agent/store"
	"core5g.dev/core5g/upf/upfc/dataplane"
	"core5g.dev/core5g/upf/upfc/usage"
)

// A unit with a standby (package standby). Three things differ from one without: what is stored is mirrored, nothing is told of a
// change before it may be (Settle), and upf-u answers and forwards as far as it is granted.

// Redundancy is beside the agent of a redundant unit.
type Redundancy interface {
	store.Mirror
	// Settle waits until what has been changed so far may be told. False: it never may be.
	Settle(stop <-chan struct{}) bool
	// Standby is how things are.
	Standby() (epoch uint64, inSync bool, behind, octets, snapshots, struck uint64)
}

func (a *Agent) standbyStatus() *StandbyStatus {
	a.mu.Lock()
	r := a.redundancy
	a.mu.Unlock()
	if r == nil {
		return nil
	}
	s := &StandbyStatus{}
	s.Epoch, s.InSync, s.Behind, s.Octets, s.Snapshots, s.Struck = r.Standby()
	return s
}

// Stored are all sessions at rest, to be copied.
type Stored interface {
	Copy(to []store.Entry, first uint32, count int) (entries []store.Entry, next uint32)
	CopyEnded() []store.Entry
}

// What is filled ahead, of a standby.
type (
	Held     = filling.Held
	Ahead    = filling.Ahead
	Takeover = filling.Takeover
)

// StandBy keeps a upf-u filled with what is held until ctx ends (filling.Filler.StandBy).
func (a *Agent) StandBy(ctx context.Context, held Held) *Ahead { return a.filler.StandBy(ctx, held) }

// Clear deletes all sessions of a upf-u whose unit another member serves (filling.Filler.Clear).
func (a *Agent) Clear(conn *dataplane.Conn) error { return a.filler.Clear(conn) }

// BeRedundant is called before Run. Of a unit that was taken over, what counts is the state file, whatever upf-u may have.
func (a *Agent) BeRedundant(r Redundancy, takeover *Takeover) {
	a.mu.Lock() // for who looks at the agent before it runs
	a.redundancy = r
	a.mu.Unlock()
	a.filler.TakeOver(takeover)
	a.link.BeRedundant()
	a.store.SetMirror(r)
}

// Stored are the agent's sessions.
func (a *Agent) Stored() Stored { return a.store }

// settled waits until what has been changed may be told.
func (a *Agent) settled(ctx context.Context) bool {
	return a.redundancy == nil || a.redundancy.Settle(ctx.Done())
}

// AddLate adds what the unit that has handed over counted after its sessions had been taken over, once they are.
func (a *Agent) AddLate(late []usage.Late) { a.reports.AddLate(late) }
