package runner

import (
	"context"
	"time"

	"core5g.dev/core5g/images/access-management/link"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sessionstore"
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
	// Settings in force. Nobody writes to them.
	Settings() *procedure.Settings
	// Store has f talk to the session store, outside of the loop, and calls what it returns on the loop.
	Store(f func(context.Context, sessionstore.Store) (then func()))
	// Do an effect of SBI. done is called once with the event that answers one whose name begins with Ask, with its Number; never for the others. Send, Page,
	// AskNamed and AskPause are the runner's own.
	Do(e procedure.Effect, done func(procedure.Event))
	// Waiting says whether somebody still waits for the answer: who has given up asks again, and may have asked for something else since.
	Waiting(procedure.Token) bool

	// Post a frame to a terminator, by its name of link.Welcome, in the order in which they are posted. Where there is no connection to it the frame is lost.
	Post(terminator string, f link.Frame)
	// Association says what is known of one.
	Association(terminator string, association uint64) Standing
	// GNB of an association, and the one of a name (record.GNBName); nil: none is known.
	GNB(terminator string, association uint64) *record.GNB
	Find(name string) *record.GNB
	// Beside is the newest other association of the NG interface that a connection is on, or was; nil: there is none.
	Beside(record.Attachment) *record.GNB
	// GNBs of all associations that there are now, as far as they were set up, each time in the same order where nothing has changed.
	GNBs() []*record.GNB
	// Lost is when the last association of the gNB of that name was lost on which it was not doubtful (record.GNB); false: that is not known, or long ago.
	Lost(name string) (time.Time, bool)
	// Sure calls then as soon as it is known of each association that the gNB of that name has beside this one whether it is there or gone, or when that has taken
	// too long, which is a second; it may do so at once.
	Sure(name string, at record.Attachment, then func())
	// Taken calls then as soon as each terminator that there is a connection to has taken what was posted to it before, or when that has taken too long, which is a
	// second; it may do so at once.
	Taken(then func())
	// Near are the gNBs that have a tracking area of those, each once.
	Near(area record.Area) []*record.GNB

	// GiveUp has the holder of another shard do Runner.GiveUp.
	GiveUp(shard uint16, key string, done func(capability []byte, err error))
	// Pass an event on to the holder of another shard, which has the UE.
	Pass(shard uint16, key string, e procedure.Event)
	// Handled: an event was, and what is to be done is being done. It looks, and changes nothing.
	Handled(Handled)
	// Carried: a message has come from an access network, or goes to one.
	Carried(m n2.Message, toAccess bool)
	// Ended: a procedure has.
	Ended(procedure.Result)
	// Stopped: the shard is not this runner's any more.
	Stopped(why error)
}

// Handled is an event of a UE, and what came of it.
type Handled struct {
	// SUPI as it is known now; "" of a stranger.
	SUPI string
	// UE numbers those in memory, each once in the life of a runner.
	UE     uint64
	Event  procedure.Event
	Output *procedure.Output
	// Octets of the message that the event was, as its access network has sent it; nil: it was none.
	Octets []byte
}

// Standing is what is known of an association.
type Standing uint8

// The standings.
const (
	// Unheard: its terminator has not said (yet, or for the moment).
	Unheard Standing = 0
	// There is such an association.
	There Standing = 1
	// Gone: its terminator has listed its associations, and that is none, or has said that it has ended, or lives no more.
	Gone Standing = 2
)

// Sealer encrypts records; a *sessionstore.Sealer, or one whose keys follow a Secret.
type Sealer interface {
	Seal(key string, value []byte) []byte
	Open(key string, sealed []byte) ([]byte, error)
}
