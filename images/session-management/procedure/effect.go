package procedure

import (
	"net/http"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Effect is something to be done: one of the structs of this file. Those that begin with Ask bring one event back.
type Effect interface{ effect() }

// Reply answers who asked.
type Reply struct {
	To Token
	// Created, Updated, Failed, Ended, Accepted, or Reported
	Body any
}

// Created answers Create.
type Created struct{ Ref string }

// Updated answers Update.
type Updated struct {
	Connection ConnectionState
	Handover   HandoverState
	N1         []byte
	N2         []byte
	N2Type     n2.InfoType
	// Cause of TS 29.502 6.1.6.3.8, where something was not as asked.
	Cause string
}

// Ended answers Release and End.
type Ended struct{}

// Accepted answers PolicyChanged and PolicyEnded.
type Accepted struct{}

// Failed answers what was refused, with HTTP status and application error of TS 29.502 6.1.7.3.
type Failed struct {
	Status int
	Cause  string
	Detail string
	// N1 is the reject that the UE is to be given, N2 the access network's part.
	N1     []byte
	N2     []byte
	N2Type n2.InfoType
	// RetryAfter in seconds; 0: not told.
	RetryAfter int
}

// Reported answers Report with a cause of TS 29.244 8.2.1.
type Reported struct {
	Cause uint8
	// UPSEID is the unit's name of the session, 0 where there is none.
	UPSEID uint64
}

// AskSubscription asks for the subscription of a data network (TS 29.503 5.2.2.2.5).
type AskSubscription struct {
	SUPI, DNN string
	SST       uint8
	SD        *[3]byte
	PLMN      string
}

// PolicyOperation is one of TS 29.512 4.2.
type PolicyOperation uint8

// The operations.
const (
	CreatePolicy PolicyOperation = 1
	UpdatePolicy PolicyOperation = 2
	DeletePolicy PolicyOperation = 3
)

// AskPolicy asks the PCF.
type AskPolicy struct {
	Operation PolicyOperation
	Session   *record.Session
}

// UnitOperation is a PFCP session procedure (TS 29.244 6.3).
type UnitOperation uint8

// The operations.
const (
	Establish UnitOperation = 1
	Modify    UnitOperation = 2
	Delete    UnitOperation = 3
)

// AskUnit asks the session's UPF unit. Node ID and CP F-SEID of an establishment are its sender's to add.
type AskUnit struct {
	Operation      UnitOperation
	Unit           record.Unit
	CPSEID, UPSEID uint64
	IEs            []*ie.IE
	// Urgency: requests of UEs come before those of a restoration, where the unit has much to do.
	Urgency Urgency
}

// Urgency of a request to a unit.
type Urgency uint8

// The urgencies.
const (
	// Awaited by a UE or by another function.
	Awaited Urgency = 0
	// Connected: the session is restored, and its UE is connected.
	Connected Urgency = 1
	// Resting: the session is restored, and nobody waits for it.
	Resting Urgency = 2
)

// AskTransfer gives the AMF messages for the UE and its access network (TS 29.518 5.2.2.3.1).
type AskTransfer struct {
	AMF    record.AMF
	SUPI   string
	ID     uint8
	SST    uint8
	SD     *[3]byte
	N1     []byte
	N2     []byte
	N2Type n2.InfoType
	// FiveQI and Priority of the flow whose packets wait.
	FiveQI, Priority uint8
	// SkipIdle: the UE is not to be woken for it.
	SkipIdle bool
	// Unawaited: it is told by the way, and what becomes of it changes nothing.
	Unawaited bool
	// Ref is what Unreachable comes back for.
	Ref string
}

// AskStatus tells the AMF that the SM context has ended (TS 29.502 5.2.2.5).
type AskStatus struct {
	URI string
	// Cause of TS 29.502 6.1.6.3.9.
	Cause string
}

// TellRegistration has the UDM know that this SMF has the session, or has it no more (TS 29.503 5.3.2.2.5). Nobody waits for it.
type TellRegistration struct {
	SUPI, DNN, PLMN string
	ID              uint8
	SST             uint8
	SD              *[3]byte
	Gone            bool
}

func (Reply) effect()            {}
func (AskSubscription) effect()  {}
func (AskPolicy) effect()        {}
func (AskUnit) effect()          {}
func (AskTransfer) effect()      {}
func (AskStatus) effect()        {}
func (TellRegistration) effect() {}

// Asks says whether an effect brings an event back that is waited for.
func Asks(e Effect) bool {
	switch e := e.(type) {
	case AskTransfer:
		return !e.Unawaited
	case AskSubscription, AskPolicy, AskUnit, AskStatus:
		return true
	}
	return false
}

// Unanswered are replies that say that what was asked for did not happen: to those whom the effects would have answered, and to who still waits.
func Unanswered(asker Token, effects []Effect) []Effect {
	failed := Failed{Status: http.StatusServiceUnavailable, Cause: "NF_CONGESTION", RetryAfter: 1}
	var out []Effect
	for _, e := range effects {
		if r, ok := e.(Reply); ok {
			out = append(out, Reply{To: r.To, Body: failed})
		}
	}
	if asker != 0 {
		out = append(out, Reply{To: asker, Body: failed})
	}
	return out
}

// Begins says whether an event comes from somebody who asks again.
func Begins(e Event) bool {
	switch e.(type) {
	case Create, Update, Release, Report, End, PolicyChanged, PolicyEnded:
		return true
	}
	return false
}

// Decline an event whose session cannot be looked at now: nothing is said that is not known. A unit is not answered (TS 29.244 6.4: it asks again);
// a UE that wants a session is told when to ask again.
func Decline(e Event, why string) []Effect {
	failed := Failed{Status: http.StatusServiceUnavailable, Cause: "NF_CONGESTION", Detail: why, RetryAfter: 1}
	switch e := e.(type) {
	case Create:
		if request, refusal := readEstablishment(e); refusal == nil {
			failed.N1 = (&n1.EstablishmentReject{
				SessionID: e.ID, PTI: request.PTI, Cause: n1.CauseInsufficientResources, BackOff: networkBackOff,
			}).Encode()
		}
		return []Effect{Reply{To: e.From, Body: failed}}
	case Update:
		return []Effect{Reply{To: e.From, Body: failed}}
	case Release:
		return []Effect{Reply{To: e.From, Body: failed}}
	case End:
		return []Effect{Reply{To: e.From, Body: failed}}
	case PolicyChanged:
		return []Effect{Reply{To: e.From, Body: failed}}
	case PolicyEnded:
		return []Effect{Reply{To: e.From, Body: failed}}
	}
	return nil
}
