package fencing

import (
	"slices"
	"time"
)

// Unit is a life that serves a unit, or wants to.
type Unit struct {
	terms Terms
	me    string
	kept  bool // it has the unit's sessions

	seen    Seen
	looked  bool // seen is something
	serving bool
	over    bool // another life serves

	yielded      bool // it answers no more
	forwardUntil time.Duration

	want       string // whom the record is to name
	asked      *Write // under way
	askedAt    time.Duration
	doubts     []string // standbys that may be named, by changes of which nobody knows
	reading    bool
	mustRead   bool
	nextWrite  time.Duration
	waitsSince time.Duration // for the standby of a life that left no sessions here; -1: not yet

	leaseUntil time.Duration
	peer       string // whose acknowledgements come
	ackUntil   time.Duration
	beat       uint64
	beats      []beat // sent and not acknowledged
	nextBeat   time.Duration
}

type beat struct {
	number uint64
	at     time.Duration
}

// patience is how many Waits a life without sessions leaves to a standby that has them.
const patience = 10

// NewUnit is a life that wants to serve. kept says whether its member still has the sessions of the life before.
func NewUnit(terms Terms, life string, kept bool) *Unit {
	return &Unit{terms: terms, me: life, kept: kept, waitsSince: -1}
}

// Asks is what is to be asked now.
type Asks struct {
	Read  bool
	Write *Write
	Beat  uint64 // its number; 0: none
}

// Tick says what is to be asked. It is called after every event, and each Terms.Beat.
func (u *Unit) Tick(now time.Duration) (asks Asks) {
	if u.over || u.yielded {
		return asks
	}
	if u.serving && u.peer != "" && now >= u.nextBeat {
		u.nextBeat = now + u.terms.Beat
		u.beat++
		u.beats = append(u.beats, beat{u.beat, now})
		asks.Beat = u.beat
	}
	if u.asked != nil || u.reading {
		return asks
	}
	if !u.looked || u.mustRead {
		u.reading = true
		asks.Read = true
		return asks
	}
	if w := u.due(now); w != nil {
		u.asked, u.askedAt = w, now
		asks.Write = w
	}
	return asks
}

// due is the change that the record needs.
func (u *Unit) due(now time.Duration) *Write {
	next := u.seen.Record
	next.Renewed++
	switch {
	case !u.serving && !u.mayClaim(now):
		if now >= u.nextWrite {
			u.nextWrite = now + u.terms.Read
			u.mustRead = true // somebody else may decide
		}
		return nil
	case !u.serving:
		if now < u.nextWrite {
			return nil
		}
		next.Epoch, next.Holder, next.Standby = next.Epoch+1, u.me, ""
	case next.Standby == u.want && len(u.doubts) == 0 && now < u.nextWrite:
		return nil
	default:
		next.Standby = u.want
	}
	return &Write{next, u.seen.Version}
}

// mayClaim says whether the unit is this member's to serve.
func (u *Unit) mayClaim(now time.Duration) bool {
	if u.seen.Free() {
		return true
	}
	if Member(u.seen.Holder) != Member(u.me) {
		u.end()
		return false
	}
	if u.kept || u.seen.Standby == "" {
		return true
	}
	// The sessions are the standby's alone. It will take over, unless it is gone, too.
	if u.waitsSince < 0 {
		u.waitsSince = now
	}
	return now-u.waitsSince >= patience*u.terms.Wait
}

// Read is the arbiter's answer to Asks.Read; not ok: there was none.
func (u *Unit) Read(now time.Duration, seen Seen, ok bool) {
	u.reading = false
	if !ok || u.over || u.yielded {
		u.mustRead = u.mustRead || !u.looked
		return
	}
	u.mustRead = false
	if u.looked && seen.Version == u.seen.Version {
		return // what nobody knew the end of may happen yet
	}
	u.looked, u.seen = true, seen
	u.doubts = nil
	if u.serving && seen.Holder != u.me {
		u.end()
	}
	if !u.serving && seen.Holder == u.me { // its claim had been done
		u.serving = true
	}
}

// Written is the arbiter's answer to Asks.Write, and the version that it made.
func (u *Unit) Written(now time.Duration, outcome Outcome, version Version) {
	w := u.asked
	u.asked = nil
	if w == nil || u.over || u.yielded {
		return
	}
	switch outcome {
	case Done:
		u.seen, u.doubts = Seen{w.Record, version}, nil
		u.serving = true
		u.leaseUntil = u.askedAt + u.terms.Grant
		u.nextWrite = u.askedAt + u.terms.Renew
	case Refused:
		u.mustRead = true
	case Unknown:
		if !slices.Contains(u.doubts, w.Standby) {
			u.doubts = append(u.doubts, w.Standby)
		}
		u.mustRead = true
		u.nextWrite = now + u.terms.Beat
	}
}

// Connected says whose acknowledgements come from now on; empty: nobody's.
func (u *Unit) Connected(life string) {
	u.peer, u.ackUntil, u.beats = life, 0, nil
}

// Name says whom the record is to name: the peer, at a moment when it has all that was answered, or nobody.
func (u *Unit) Name(life string) { u.want = life }

// Acknowledged: the peer has had this beat, and keeps still for Terms.Wait.
func (u *Unit) Acknowledged(number uint64) {
	for len(u.beats) > 0 && u.beats[0].number <= number {
		if u.beats[0].number == number {
			u.ackUntil = max(u.ackUntil, u.beats[0].at+u.terms.Grant)
		}
		u.beats = u.beats[1:]
	}
}

// Takers are the lives that may take over now: none of them may lack what is answered.
func (u *Unit) Takers() []string {
	var out []string
	add := func(life string) {
		if life != "" && !slices.Contains(out, life) {
			out = append(out, life)
		}
	}
	add(u.seen.Standby)
	add(u.want) // before it is asked for, so that it lacks nothing when it is named
	for _, d := range u.doubts {
		add(d)
	}
	if u.asked != nil {
		add(u.asked.Standby)
	}
	return out
}

// Grant is what upf-u may do.
type Grant struct {
	Epoch  uint64        // 0: nothing, it is silent
	Until  time.Duration // by the clock of the events
	Always bool          // without an end
	// Forward: what still comes is forwarded, and nothing answered, as another life may answer at the same time.
	Forward bool
}

// Grant is what upf-u may do now. A unit that has lost both, arbiter and standby, is silent.
func (u *Unit) Grant(now time.Duration) Grant {
	if !u.serving || u.over {
		return Grant{}
	}
	if u.yielded {
		if u.forwardUntil <= now {
			return Grant{}
		}
		return Grant{Epoch: u.seen.Epoch, Until: u.forwardUntil, Forward: true}
	}
	takers := u.Takers()
	if len(takers) == 0 {
		return Grant{Epoch: u.seen.Epoch, Always: true}
	}
	until := u.leaseUntil
	if len(takers) == 1 && takers[0] == u.peer {
		until = max(until, u.ackUntil)
	}
	if until <= now {
		return Grant{}
	}
	return Grant{Epoch: u.seen.Epoch, Until: until}
}

// Calm says whether the record is known for certain, and nothing is asked of the arbiter: who is told of it now can take over by one
// change of it.
func (u *Unit) Calm() bool { return u.asked == nil && !u.reading && len(u.doubts) == 0 }

// Yield ends this life's answers for ever, in favour of the peer, whom alone the record may name. From now on it only forwards, for
// Terms.HandOver at most. What it returns is for Standby.Yielded, once upf-u, too, answers no more. False: nothing has changed.
func (u *Unit) Yield(now time.Duration) (Seen, bool) {
	takers := u.Takers()
	if u.yielded || len(takers) != 1 || takers[0] != u.peer || u.Grant(now).Epoch == 0 {
		return Seen{}, false
	}
	u.yielded, u.forwardUntil = true, now+u.terms.HandOver
	return u.seen, true
}

// Yielded says whether this life answers no more.
func (u *Unit) Yielded() bool { return u.yielded }

// Leave ends what a unit that has yielded forwards.
func (u *Unit) Leave() { u.forwardUntil = 0 }

// Named says whom the record names for certain.
func (u *Unit) Named() string {
	if len(u.doubts) > 0 || u.asked != nil && u.asked.Standby != u.seen.Standby {
		return ""
	}
	return u.seen.Standby
}

// Over says whether another life serves the unit: this one never will again.
func (u *Unit) Over() bool { return u.over }

func (u *Unit) end() { u.over, u.serving = true, false }
