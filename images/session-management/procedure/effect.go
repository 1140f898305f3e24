package procedure

import (
	"net/http"
	"time"

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

// Accepted answers PolicyChanged, PolicyEnded, ChargingChanged and SubscriptionChanged.
type Accepted struct {
	// Failed are rules that are not in force.
	Failed []record.Failure
}

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
	// ReadPolicy asks what holds.
	ReadPolicy PolicyOperation = 4
)

// AskPolicy asks the PCF.
type AskPolicy struct {
	Operation PolicyOperation
	Session   *record.Session
	// Resource that the UE asks for, with UpdatePolicy; nil: none.
	Resource *Resource
	// Subscription that has changed, with UpdatePolicy; nil: it has not.
	Subscription *Subscription
}

// ResourceOperation is what a UE wants of a rule (TS 29.512 5.6.3.5), as its QoS rules say (TS 24.501 9.11.4.13).
type ResourceOperation = n1.Operation

// Resource is a flow that a UE asks for by filters of its own, or a change of one that it has (TS 29.512 5.6.2.29).
type Resource struct {
	Operation ResourceOperation
	// Rule is the PCC rule's identifier, "" of a new one.
	Rule    string
	Filters []n1.Filter
	// Precedence 0: the PCF's choice. FiveQI 0: none is asked for; rates in bit/s.
	Precedence, FiveQI       uint8
	GFBRUplink, GFBRDownlink uint64
}

// ChargingOperation is one of TS 32.290 5.3.2. The numbers are in records.
type ChargingOperation uint8

// The operations.
const (
	CreateCharging  ChargingOperation = 1
	UpdateCharging  ChargingOperation = 2
	ReleaseCharging ChargingOperation = 3
)

// AskCharging asks the CHF: what is Sent of the session's Usage is reported. Again: it may have been asked before.
type AskCharging struct {
	Operation ChargingOperation
	Session   *record.Session
	Again     bool
}

// TellUncharged says that the CHF will never hear of usage: another session has taken the name. Nobody waits for it.
type TellUncharged struct{ Session *record.Session }

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
	// Unawaited: it is told by the way, and what becomes of it changes nothing. Where it tells of flows, these, and 0 for the AMBR, come back as AccessTold.
	Unawaited bool
	Tells     []byte
	// Ref is what Unreachable comes back for.
	Ref string
}

// Told says whether the answer is that the AMF has taken what it was told of flows by the way, or never will.
func (a AskTransfer) Told(answer Event) bool {
	x, ok := answer.(Transferred)
	return ok && a.Unawaited && len(a.Tells) > 0 && (x.Outcome == Done || x.Outcome == Refused && !x.Later)
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

// TellSubscription has the UDM tell this SMF of changes of a subscription until then, or no more, where Gone (TS 29.503 5.2.2.3, 5.2.2.4). Nobody
// waits for it; SubscriptionChanged comes where the subscription is another one than Known, a digest of it.
type TellSubscription struct {
	To     AskSubscription
	CPSEID uint64
	Known  uint32
	Until  time.Time
	Gone   bool
}

func (Reply) effect()            {}
func (AskSubscription) effect()  {}
func (AskPolicy) effect()        {}
func (AskCharging) effect()      {}
func (TellUncharged) effect()    {}
func (AskUnit) effect()          {}
func (AskTransfer) effect()      {}
func (AskStatus) effect()        {}
func (TellRegistration) effect() {}
func (TellSubscription) effect() {}

// Asks says whether an effect brings an event back that is waited for.
func Asks(e Effect) bool {
	switch e := e.(type) {
	case AskTransfer:
		return !e.Unawaited
	case AskSubscription, AskPolicy, AskCharging, AskUnit, AskStatus:
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
	case Create, Update, Release, Report, End, PolicyChanged, PolicyEnded, ChargingChanged, SubscriptionChanged:
		return true
	}
	return false
}

// Decline an event whose session cannot be looked at now: nothing is said that is not known. A unit is not answered (TS 29.244 6.4: it asks again);
// a UE that wants a session is told when to ask again: soon, for a store that does not answer is back within seconds, or another is.
func Decline(e Event, why string) []Effect {
	failed := Failed{Status: http.StatusServiceUnavailable, Cause: "NF_CONGESTION", Detail: why, RetryAfter: 1}
	switch e := e.(type) {
	case Create:
		if request, refusal := readEstablishment(e); refusal == nil {
			failed.N1 = (&n1.EstablishmentReject{
				SessionID: e.ID, PTI: request.PTI, Cause: n1.CauseInsufficientResources, BackOff: storeBackOff,
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
	case ChargingChanged:
		return []Effect{Reply{To: e.From, Body: failed}}
	case SubscriptionChanged:
		return []Effect{Reply{To: e.From, Body: failed}}
	}
	return nil
}
