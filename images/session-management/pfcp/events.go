package pfcp

import (
	"net/netip"
	"time"
)

// Event is what an endpoint tells: one of the types below.
type Event interface{ event() }

// Associated: a unit can be used.
type Associated struct {
	Unit     string
	Features Features
	Recovery Stamp
	// Updated: the unit had the association. Otherwise it was set up, by us or, ByUnit, by the unit.
	Updated, ByUnit bool
	// Retained: the unit says that it has kept the sessions of the association before. Emptied: there was one, it had to be
	// set up again, and the unit does not say so; its sessions are gone, whether or not UnitRestarted was told, and requests that
	// were under way have ended with NoAnswerError.
	Retained, Emptied bool
}

// NotAssociated: an attempt to meet a unit was in vain; there will be another after Again. Requests for its sessions are
// not sent meanwhile. Err is an *UnfitError where the unit lacks features.
type NotAssociated struct {
	Unit  string
	Err   error
	Again time.Duration
}

// PathDown: a unit does not answer any more. Requests for its sessions are not sent until it is Associated again.
type PathDown struct{ Unit string }

// UnitRestarted: a unit's Recovery Time Stamp is another than the one that was known, so its sessions are gone (TS 23.527 4.3).
// It is told once a change, before the unit is Associated. Requests that were under way end with NoAnswerError behind it: an
// answer that is told after it is of the unit as it is now.
type UnitRestarted struct {
	Unit     string
	Old, New Stamp
}

// ReleaseRequested: a unit wants its association to be released, when Period has passed at the latest: at once where
// that is 0, or Endless (TS 29.244 6.2.7.3). Who has moved its sessions calls RemoveUnit.
type ReleaseRequested struct {
	Unit   string
	Period time.Duration
}

// Released: a unit is not known any more: RemoveUnit has come to its end. Err says why the unit has not confirmed.
type Released struct {
	Unit string
	Err  error
}

// AssociationLost: a unit has released the association, or says that there is none. The endpoint sets it up again.
type AssociationLost struct{ Unit string }

// FeaturesChanged: a unit has other features from now on.
type FeaturesChanged struct {
	Unit     string
	Features Features
}

// LoadChanged: a unit says how full it is (TS 29.244 6.2.3). What it has said before it was Associated counts no more.
type LoadChanged struct {
	Unit    string
	Percent uint8
}

// OverloadChanged: a unit asks for so much less (TS 29.244 6.2.4), 0: for nothing, until it says otherwise, or until then where that is not zero. It is told
// when that time has come, too. What it has said before it was Associated counts no more.
type OverloadChanged struct {
	Unit    string
	Percent uint8
	Until   time.Time
}

// Token names a request of a unit that waits for AnswerSessionReport, AnswerNodeReport or Silent.
type Token uint64

// SessionReport is a Session Report Request (TS 29.244 7.5.8). It is told once, however often it is repeated.
type SessionReport struct {
	Token Token
	// Unit that it came from, and where from.
	Unit string
	From netip.AddrPort
	// CPSEID is our name of the session, which may not be one that anybody knows.
	CPSEID       uint64
	DownlinkData []DownlinkData
	Usage        []Usage
	// MoreUsage is how many Usage Reports of an earlier request follow in other reports.
	MoreUsage int
	// GoneTunnels are the F-TEIDs of peers that sent an Error Indication (TS 29.281 7.3.1).
	GoneTunnels []FTEID
	// Inactive: no packet in the time that was asked for (UPIR).
	Inactive bool
}

// NodeReport is a Node Report Request (TS 29.244 7.4.5).
type NodeReport struct {
	Token Token
	Unit  string
	// Failed and Recovered are the GTP-U peers of which the unit says it.
	Failed, Recovered []Peer
}

func (Associated) event()       {}
func (NotAssociated) event()    {}
func (PathDown) event()         {}
func (UnitRestarted) event()    {}
func (ReleaseRequested) event() {}
func (Released) event()         {}
func (AssociationLost) event()  {}
func (FeaturesChanged) event()  {}
func (LoadChanged) event()      {}
func (OverloadChanged) event()  {}
func (SessionReport) event()    {}
func (NodeReport) event()       {}
