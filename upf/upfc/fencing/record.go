package fencing

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Record is what the arbiter keeps of a unit.
type Record struct {
	Epoch   uint64 // grows whenever another life begins to serve
	Holder  string // the life that serves; empty: nobody does, whoever comes first may
	Standby string // the life that may take over; empty: nobody
	Renewed uint64 // changes with every renewal
}

// RecordAnnotation is the annotation of a Kubernetes Lease that holds a Record, as JSON.
const RecordAnnotation = "core5g.dev/unit"

// Version is the arbiter's name for one state of a record; the empty one is that of a record that there is not yet.
type Version string

// Seen is a record as it was read.
type Seen struct {
	Record
	Version Version
}

// Free says whether the unit is nobody's: there is no record yet, or one that names no holder. Who knows that holder and standby are gone for ever (the
// pod's object is deleted) writes such a record, in the same epoch; no member does.
func (s Seen) Free() bool { return s.Version == "" || s.Holder == "" }

// Life is the name of one life of a member.
func Life(member, nonce string) string { return member + "/" + nonce }

// Member is the member of which this is a life.
func Member(life string) string {
	member, _, _ := strings.Cut(life, "/")
	return member
}

// Write asks the arbiter to replace the record, if it is still of the version.
type Write struct {
	Record
	If Version
}

// Outcome is what became of a Write.
type Outcome int

// A Write was done, or was refused because the record is of another version, or nobody knows: it may even be done yet.
const (
	Unknown Outcome = iota
	Done
	Refused
)

// Terms are the times of a unit's redundancy, alike in all members.
type Terms struct {
	Grant time.Duration // a grant's life
	Wait  time.Duration // how long a standby has heard and seen nothing when it asks for the unit
	Renew time.Duration // between two renewals of the record
	Beat  time.Duration // between two beats to the standby
	Read  time.Duration // between two looks of a standby at the record
	Bound time.Duration // how long N4 waits for a standby before it is struck out of the record
	// HandOver is how long a unit that has yielded forwards what still comes to it, at most.
	HandOver time.Duration
}

// DefaultTerms notice the loss of a node within 5 s.
func DefaultTerms() Terms {
	return Terms{
		Grant: 3 * time.Second, Wait: 3500 * time.Millisecond, Renew: time.Second,
		Beat: 100 * time.Millisecond, Read: 500 * time.Millisecond, Bound: 500 * time.Millisecond,
		HandOver: 5 * time.Second,
	}
}

// slack is by how much Wait is to exceed Grant at least: a poll of upf-u that is under way when a grant ends.
const slack = 100 * time.Millisecond

// Check says what is wrong with the terms. Clocks may go wrong by one in a hundred.
func (t Terms) Check() error {
	switch least := t.Grant + t.Grant/50 + slack; {
	case t.Grant <= 0 || t.Renew <= 0 || t.Beat <= 0 || t.Read <= 0 || t.Bound <= 0 || t.HandOver <= 0:
		return errors.New("a time is not above 0")
	case t.Wait < least:
		return fmt.Errorf("a standby waits %s, but with a grant of %s it has to wait %s at least", t.Wait, t.Grant, least)
	case t.Renew > t.Grant/2 || t.Beat > t.Grant/2:
		return fmt.Errorf("renewals each %s and beats each %s do not come twice in a grant of %s", t.Renew, t.Beat, t.Grant)
	}
	return nil
}
