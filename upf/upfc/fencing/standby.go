package fencing

import "time"

// Standby is a life that may take a unit over.
type Standby struct {
	terms Terms
	me    string

	unit  string // the life whose stream it has; empty: none
	whole bool   // it has all of it, of this stream or an earlier one
	heard time.Duration
	ended bool // both processes of that life are gone, or it has yielded

	seen     Seen
	looked   bool
	since    time.Duration // when this version was first seen
	nextRead time.Duration
	reading  bool
	stale    bool // what the arbiter is about to say is of before a unit's word
	asked    *Write
	askedAt  time.Duration
	doubt    bool // an Asks.Write may be done yet
	taken    bool
}

// NewStandby is a life that has nothing yet.
func NewStandby(terms Terms, life string) *Standby {
	return &Standby{terms: terms, me: life}
}

// Follow begins with a stream of a life that serves. False: not now, for the life is gone, or the unit was asked for with what is
// held. What is held of the same life is good until the new stream is whole, for as long as the record names this life,
// nothing is answered that it has not acknowledged; what is held of another one is of no use any more.
func (s *Standby) Follow(now time.Duration, life string) bool {
	if s.busy() || life == s.unit && s.ended {
		return false
	}
	s.whole = s.whole && life == s.unit
	s.unit, s.ended, s.heard = life, false, now
	return true
}

func (s *Standby) busy() bool { return s.asked != nil || s.doubt || s.taken }

// Whole: all that the life has is here, and every change from now on comes before it is answered.
func (s *Standby) Whole() { s.whole = true }

// Beat: the life that is followed is there. True: it may be told so; this one does not ask for the unit for Terms.Wait.
func (s *Standby) Beat(now time.Duration, life string) bool {
	if life != s.unit || s.busy() || s.ended {
		return false
	}
	s.heard = now
	return true
}

// Ended: the kernel says that both processes of this life are gone.
func (s *Standby) Ended(life string) {
	if life == s.unit {
		s.ended = true
	}
}

// Yielded: this life answers no more, nor will it ever (Unit.Yield); seen is the record as it knew it last.
func (s *Standby) Yielded(now time.Duration, life string, seen Seen) {
	if life != s.unit || s.ended || s.busy() {
		return
	}
	s.ended = true
	if !s.looked || s.seen.Version != seen.Version {
		s.seen, s.looked, s.since = seen, true, now
		s.stale, s.reading = s.stale || s.reading, false
	}
}

// Tick says what is to be asked. It is called after every event, and each Terms.Beat.
func (s *Standby) Tick(now time.Duration) (asks Asks) {
	if s.taken || s.asked != nil {
		return asks
	}
	if s.mayTake(now) {
		next := Record{Epoch: s.seen.Epoch + 1, Holder: s.me, Renewed: s.seen.Renewed + 1}
		s.asked, s.askedAt = &Write{next, s.seen.Version}, now
		asks.Write = s.asked
		return asks
	}
	if !s.reading && !s.stale && now >= s.nextRead {
		s.reading = true
		asks.Read = true
	}
	return asks
}

func (s *Standby) mayTake(now time.Duration) bool {
	if !s.whole || !s.looked || s.reading || s.seen.Standby != s.me || s.seen.Holder != s.unit {
		return false
	}
	return s.ended || now-s.heard >= s.terms.Wait && now-s.since >= s.terms.Wait
}

// Read is the arbiter's answer to Asks.Read; not ok: there was none.
func (s *Standby) Read(now time.Duration, seen Seen, ok bool) {
	if s.stale {
		s.stale = false
		return
	}
	s.reading = false
	s.nextRead = now + s.terms.Read
	if !ok || s.looked && seen.Version == s.seen.Version {
		return
	}
	s.seen, s.looked, s.since = seen, true, now
	s.doubt = false
	if seen.Holder == s.me { // what nobody knew the end of was done
		s.taken = true
	}
}

// Written is the arbiter's answer to Asks.Write, and the version that it made.
func (s *Standby) Written(now time.Duration, outcome Outcome, version Version) {
	w := s.asked
	s.asked = nil
	if w == nil {
		return
	}
	switch outcome {
	case Done:
		s.seen, s.taken, s.doubt = Seen{w.Record, version}, true, false
	case Refused:
		s.looked, s.nextRead = false, now
	case Unknown:
		s.doubt, s.nextRead = true, now
	}
}

// Taken is the unit that this life serves now; nil: it does not.
func (s *Standby) Taken() *Unit {
	if !s.taken {
		return nil
	}
	return &Unit{
		terms: s.terms, me: s.me, kept: true, waitsSince: -1, looked: true, serving: true, seen: s.seen,
		leaseUntil: s.askedAt + s.terms.Grant, nextWrite: s.askedAt + s.terms.Renew,
	}
}

// Free says whether there is a record, and the unit is nobody's: this life ends, and the next one of its member wants to serve.
func (s *Standby) Free() bool {
	return s.looked && !s.busy() && s.seen.Version != "" && s.seen.Free()
}

// State is whose stream this life has, whether it has all of it, and whether that life has yielded or both its processes are gone.
func (s *Standby) State() (life string, whole, ended bool) { return s.unit, s.whole, s.ended }
