package runner

import (
	"context"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// World is all that is not the runner. It calls back on the runner's loop, and not before the call in which it was asked has returned.
type World interface {
	Now() time.Time
	// After calls f once that time has gone.
	After(d time.Duration, f func())
	// May says whether the lease of the shard still holds: nothing leaves for it otherwise.
	May() bool
	// Random fills b.
	Random(b []byte)
	// Configuration in force, and what is known of the units, by Node ID. Nobody writes to either.
	Configuration() *configuration.Snapshot
	Live() map[string]configuration.Live
	// Store has f talk to the session store, outside of the loop, and calls what it returns on the loop.
	Store(f func(context.Context, sessionstore.Store) (then func()))
	// Do an effect. done is called once with the event that answers one whose name begins with Ask; it is nil for the others.
	// A session that is to be deleted and whose UP SEID is 0 is found by its CP SEID, in the unit's list.
	Do(e procedure.Effect, done func(procedure.Event))
	// Waiting says whether somebody still waits for the answer: who has given up asks again, and may have asked for something else since.
	Waiting(procedure.Token) bool
	// List the sessions that a unit has of this shard, those that it had all the time at least. ErrNoList: it cannot tell.
	List(nodeID string, done func([]Listed, error))
	// EndElsewhere gives the holder of another shard a Release for the session of that key, and does not wait for what becomes of it.
	// nil: it was handed over.
	EndElsewhere(shard uint16, key string, done func(error))
	// Restored: the unit has all that the shard had there (RESTI ends). It follows UnitMet, at once where nothing was lost.
	Restored(nodeID string, stamp uint32)
	// Left: no session is at a unit that was taken away.
	Left(nodeID string)
	// Handled: an event was, and what is to be done is being done. It looks, and changes nothing.
	Handled(Handled)
	// Ended: a procedure has.
	Ended(procedure.Result)
	// Stopped: the shard is not this runner's any more.
	Stopped(why error)
}

// Handled is an event of a session, and what came of it.
type Handled struct {
	// Session as it is then; nil: there is none, or none any more. Was is what it was before; nil: there was none.
	Session, Was *record.Session
	Event        procedure.Event
	Output       *procedure.Output
}

// Sealer encrypts records; a *sessionstore.Sealer, or one whose keys follow a Secret.
type Sealer interface {
	Seal(key string, value []byte) []byte
	Open(key string, sealed []byte) ([]byte, error)
}

// Listed is a session that a unit says it has.
type Listed struct{ CPSEID, UPSEID uint64 }
