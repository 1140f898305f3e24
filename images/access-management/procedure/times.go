package procedure

import (
	"time"

	"core5g.dev/core5g/images/access-management/record"
)

// Names of times.
const (
	dueCommand   = "command"   // T3522, T3550, T3555, T3560, T3570: the UE has not answered
	dueReachable = "reachable" // mobile reachable
	dueImplicit  = "implicit"  // implicit deregistration
	dueAccess    = "access"    // the access network has not answered
	dueLeft      = "left"      // the one of before has not, or has forwarded for long enough
	dueHandover  = "handover"
	dueSilent    = "silent"   // an SMF that has not heard is told again
	dueUnheard   = "unheard"  // and what an access network has said is said again
	dueContext   = "context"  // a new holder has not heard of a context that the one before may have asked for
	dueRetained  = "retained" // the gNB of a lost association has stayed away
	dueEnding    = "ending"   // an SMF has not said that it has released a session
	dueLocated   = "located"  // an access network has not said where the UE is
	dueMoved     = "moved"    // another AMF has not said what it has taken of the UE

	// DuePaging is T3513: while it runs the UE is paged.
	DuePaging = "paging"
	// DueGiven: another shard, to which the UE was given up, has not taken it. Who gives it up says when.
	DueGiven = "given"
)

// DueNames are all that there are.
var DueNames = []string{dueCommand, DuePaging, dueReachable, dueImplicit, dueAccess, dueLeft, dueHandover, dueSilent, dueUnheard, dueContext, dueRetained, dueEnding, dueLocated, dueMoved, DueGiven}

// Timers of TS 24.501 10.2, and how often they run.
const (
	commandTime     = 6 * time.Second
	commandAttempts = 5
	// pagingTime is T3513, pagingAttempts how often a UE is paged.
	pagingTime     = 2 * time.Second
	pagingAttempts = 4
	// accessTime is how long an access network may take to answer.
	accessTime = 5 * time.Second
	// reachableMore is what the mobile reachable timer has over T3512 (TS 24.501 5.3.7), implicitTime that of implicit deregistration.
	reachableMore = 4 * time.Minute
	implicitTime  = 4 * time.Minute
	silentTime    = 5 * time.Second
	// unheardTime is what an SMF has until it is told again what an access network has said, mostUnheard how often it is: as long as its pods take to be replaced.
	unheardTime = 2 * time.Second
	mostUnheard = 15
	// resumeTime is how long a new holder waits for the answer to what the one before may have asked, or not.
	resumeTime = time.Second
	// handoverTime is how long one may take from its request until the UE has arrived (TNGRELOCoverall of the source and more).
	handoverTime = 12 * time.Second
	// forwardingTime is how long the source of a handover goes on with packets that it forwards.
	forwardingTime = time.Second
	// locateTime is what an access network has to say where a UE is: less than callers wait.
	locateTime = time.Second
	// movedTime is how long another AMF may take from the UDM's word until its own.
	movedTime = 10 * time.Second
	// congestionTime is T3346 where the network is what failed.
	congestionTime = 30 * time.Second
)

// RetainTime is how long UEs wait for a gNB whose association is lost. An N2 terminator is there again within some seconds, and gNBs try again every few.
// Meanwhile the UPF sends where it did: what a gNB has lost is lost, and one that is there says so (GTP-U Error Indication); so it is not much longer.
//
// RetainedFor is how long a gNB hears that they are kept: shorter, since shards learn of a loss at different times.
const (
	RetainTime  = 20 * time.Second
	RetainedFor = 15 * time.Second
)

func (t *turn) timer(name string) {
	t.due(name, 0)
	switch name {
	case dueCommand:
		t.commandSilent()
	case DuePaging:
		t.pageAgain()
	case dueReachable:
		t.unreachable()
	case dueImplicit:
		t.implicit()
	case dueAccess:
		t.accessSilent()
	case dueLeft:
		t.leftSilent()
	case dueHandover:
		t.handoverLate()
	case dueSilent:
		t.tellSilent()
	case dueUnheard:
		t.tellUnheard()
	case dueEnding:
		t.endOn()
	case dueContext:
		t.contextAgain()
	case dueLocated:
		t.placed(false)
	case dueMoved:
		if t.s.Going {
			t.leftFor(LeftFor{Taken: true, PolicyMoved: true})
		}
	case dueRetained:
		t.retained()
	case DueGiven:
		t.untaken()
	default:
		t.out.Refused = "no time of this program's"
	}
}

// watch a UE that is idle: mobile reachable (TS 24.501 5.3.7). The UE that is connected is not watched. One that is registered for emergency services alone is kept as
// long as it says that it is there, and no longer.
func (t *turn) watch() {
	t.due(dueImplicit, 0)
	if t.s.N2 != nil || t.s.Periodic == 0 {
		t.due(dueReachable, 0)
		return
	}
	more := reachableMore
	if t.s.Emergency {
		more = 0
	}
	t.due(dueReachable, time.Duration(t.s.Periodic)*time.Second+more)
}

// untaken is a UE that was given up to another shard, and that this one has still: it has its times again. What it is in the midst of was taken up with its
// record (resumed).
func (t *turn) untaken() {
	switch a := t.s.N2; {
	case a != nil && a.Lost:
		t.due(dueRetained, RetainTime)
	case a == nil && t.s.Phase == record.Registered:
		t.watch()
	}
	if t.s.Going {
		t.due(dueMoved, movedTime)
	}
	t.endAgain()
}

// unreachable: paging is of no use any more; it is deregistered if it stays away.
func (t *turn) unreachable() {
	switch {
	case t.s.N2 != nil:
	case t.s.Emergency:
		t.implicit()
	default:
		t.s.Unreached = true
		t.due(dueImplicit, implicitTime)
	}
}

// implicit: TS 24.501 5.5.2.1, the UE hears of it when it comes (cause 9, or 10).
func (t *turn) implicit() {
	if t.s.N2 == nil {
		t.forget("implicit deregistration")
	}
}
