package runner

import (
	"context"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/procedure"
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
	Do(e procedure.Effect, done func(procedure.Event))
	// Ended: a procedure has.
	Ended(procedure.Result)
	// Stopped: the shard is not this runner's any more.
	Stopped(why error)
}

// Sealer encrypts records; a *sessionstore.Sealer, or one whose keys follow a Secret.
type Sealer interface {
	Seal(key string, value []byte) []byte
	Open(key string, sealed []byte) ([]byte, error)
}
