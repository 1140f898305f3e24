package procedure

import (
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/message"
	"net/netip"
)

// Event is something that happens to a session: one of the structs of this file.
type Event interface{ event() }

// Token names somebody who waits for an answer; 0 for nobody.
type Token uint64

// Create is a request for a session (TS 29.502 5.2.2.2.1).
type Create struct {
	From Token
	SUPI string
	ID   uint8
	DNN  string
	SST  uint8
	SD   *[3]byte
	PLMN string
	// RAT such as NR, "" where it is not said.
	RAT string
	AMF record.AMF
	// N1 is the UE's PDU Session Establishment Request.
	N1 []byte
	// Existing: the UE wants to go on with a session that it has (TS 24.501 9.11.3.47).
	Existing bool
	// Emergency: a session for emergency services, for which no subscription is asked. SUPI is the PEI where the UE was not authenticated.
	Emergency bool
}

// ConnectionState is what a user plane connection is to become, or is (TS 29.502 6.1.6.3.2, UpCnxState).
type ConnectionState string

// The states.
const (
	Activated   ConnectionState = "ACTIVATED"
	Activating  ConnectionState = "ACTIVATING"
	Deactivated ConnectionState = "DEACTIVATED"
	Suspended   ConnectionState = "SUSPENDED"
)

// HandoverState is how far a handover is (TS 29.502 6.1.6.3.3, HoState).
type HandoverState string

// The states.
const (
	HandoverNone      HandoverState = "NONE"
	HandoverPreparing HandoverState = "PREPARING"
	HandoverPrepared  HandoverState = "PREPARED"
	HandoverCompleted HandoverState = "COMPLETED"
	HandoverCancelled HandoverState = "CANCELLED"
)

// Update is a request about a session that there is (TS 29.502 5.2.2.3). What is zero was not said.
type Update struct {
	From       Token
	Connection ConnectionState
	Handover   HandoverState
	// ToBeSwitched and FailedToBeSwitched belong to a path switch.
	ToBeSwitched, FailedToBeSwitched bool
	// Release asks for the session's end, with what the UE, or the access network, is told.
	Release bool
	Cause   string
	N1      []byte
	N2      []byte
	N2Type  n2.InfoType
	// NonThreeGPP: the UE is to have the session by another access than 3GPP's.
	NonThreeGPP bool
	// PLMN that serves the UE, and RAT, such as NR.
	PLMN, RAT string
	// AMF that asks, where it is another than the one before; its zero fields keep what was known.
	AMF record.AMF
}

// Release is the end of an SM context (TS 29.502 5.2.2.4).
type Release struct {
	From  Token
	Cause string
}

// Unreachable says that a transfer did not reach the UE after all (TS 29.518 5.2.2.3.2.2).
type Unreachable struct{ Cause string }

// Report is one of the session's unit (TS 29.244 7.5.8).
type Report struct {
	From Token
	// CPSEID is our name of the session there, 0 for the SM context's.
	CPSEID uint64
	// Downlink: packets wait for the UE; QFI is that of the first, 0 unknown.
	Downlink bool
	QFI      uint8
	// Lost are tunnels that a peer says it does not know (Error Indication).
	Lost []record.Tunnel
	// Usage that was measured. The unit repeats it until the report is answered.
	Usage []Measured
}

// Measured is a Usage Report (TS 29.244 7.5.8.3).
type Measured struct {
	// URR and UR-SEQN name it.
	URR, Sequence uint32
	// Detected and Removed are MAC addresses of devices behind the UE of an Ethernet session.
	Detected, Removed []n1.MAC
	// Why: bits of Why.
	Why  uint32
	Used record.Units
}

// AddressTaken: what the event has given the session is another session's, and nothing of that was kept.
type AddressTaken struct{ Event Event }

// AccessTold: the AMF has taken what the access network is told by the way of flows, 0 among them for the AMBR.
type AccessTold struct{ QFIs []byte }

// PolicyUnsure: the PCF may have decided what a holder that died has not kept.
type PolicyUnsure struct{}

// Due says that a time has come that an Output named.
type Due struct{ Name string }

// Resumed: the session has a new holder, who knows nothing but the record.
type Resumed struct{}

// UnitRestarted: a unit of the session's has lost what it had; NodeID "" is the anchor's, here and below.
type UnitRestarted struct{ NodeID string }

// UnitDiffers: a unit of the session's has it, under that UP SEID, and perhaps not as the record says: the store has lost writes.
type UnitDiffers struct {
	NodeID string
	UPSEID uint64
}

// UnitGone: a unit of the session's does not come back.
type UnitGone struct{ NodeID string }

// UnitDrains: a unit of the session's is to be left, if that can be done without a word to the UE.
type UnitDrains struct{ NodeID string }

// PathFailed: a unit of the session's does not reach the peer at that address (TS 29.244 7.5.9, User Plane Path Failure Report).
type PathFailed struct {
	NodeID string
	Peer   netip.Addr
}

// End asks for the session's end for a reason of the network: its Slice is deleted, an operator wants it.
type End struct {
	From  Token
	Cause n1.Cause
}

// PolicyChanged: the PCF has decided anew (TS 29.512 4.2.3).
type PolicyChanged struct {
	From Token
	// Decided is what it says of AMBR and default flow; what is zero stays.
	record.Decided
	// Flows by name that the session is to have beside those that all have; nil: as before.
	Flows []string
	Ruling
}

// Ruling is what else a PCF decides (TS 29.512 5.6.2.4). It is all that holds from now on, where Said.
type Ruling struct {
	Said  bool
	Rules []record.Rule
	// Failed are rules that cannot be in force whatever the session is.
	Failed []record.Failure
	// Triggers that it wants to hear of, where TriggersSaid: bits of Trigger.
	TriggersSaid bool
	Triggers     uint32
	// Revalidate is when it is to be asked again, Unix time in s; 0: as before.
	Revalidate int64
	// Ends: the session is to end (relCause).
	Ends bool
}

// PolicyEnded: the PCF ends its association (TS 29.512 4.2.4).
type PolicyEnded struct{ From Token }

// ChargingChanged: the CHF wants rating groups to be asked for anew, all where it names none; or the session to end (TS 32.290 5.3.2.5).
type ChargingChanged struct {
	From         Token
	Abort        bool
	RatingGroups []uint32
}

// SubscriptionChanged: what AskSubscription gives has changed (TS 29.503 5.2.2.5).
type SubscriptionChanged struct{ From Token }

// SettingsChanged: the Slice's settings are others than before.
type SettingsChanged struct{}

// Subscription answers AskSubscription (TS 29.503 6.1.6.2.8).
type Subscription struct {
	// Failed: it could not be had; Unknown: there is none for this data network.
	Failed, Unknown bool
	// Types allowed, the default first; none: as the Slice has it.
	Types []n1.SessionType
	AMBR  record.AMBR
	// FiveQI 0: as the Slice has it, Priority of the ARP too.
	FiveQI, Priority        uint8
	MayPreempt, Preemptable bool
	// Static addresses, zero where the unit chooses.
	IPv4  netip.Addr
	IPv6  netip.Prefix
	Flows []string
	// Routes are the networks behind the UE, whatever their IP version.
	Routes []netip.Prefix
}

// Outcome of something that was asked.
type Outcome uint8

// The outcomes.
const (
	// Done as asked.
	Done Outcome = 1
	// Refused, and nothing has changed.
	Refused Outcome = 2
	// Unknown: no answer; it may have been done.
	Unknown Outcome = 3
	// NotSent: it has not been done.
	NotSent Outcome = 4
)

// Policy answers AskPolicy (TS 29.512 4.2.2 to 4.2.5).
type Policy struct {
	Outcome Outcome
	// URI of the association.
	URI string
	// Decided of AMBR and default flow, zero where the PCF leaves it.
	record.Decided
	// Flows by name beside those that all sessions have; nil: as the subscription says.
	Flows []string
	Ruling
	// Gone: the PCF knows no such association.
	Gone bool
}

// Charged answers AskCharging (TS 32.290 5.3.2).
type Charged struct {
	Outcome Outcome
	// URI of the resource that a creation has made.
	URI string
	// Grants by rating group, of those that it says something of.
	Grants []Grant
	// Ends: the CHF has it that the session ends (TS 32.291 6.1.6.3.10, TERMINATE).
	Ends bool
}

// Grant is a quota (TS 32.291 6.1.6.2.1.6).
type Grant struct {
	RatingGroup uint32
	// Denied: there is none. Free: none is needed. Else Quota, whose Until is the time from now on, in s.
	Denied, Free bool
	Quota        record.Quota
}

// Unit answers AskUnit.
type Unit struct {
	Outcome Outcome
	// Cause of a refusal (TS 29.244 8.2.1).
	Cause uint8
	// Established answers an Establishment, Modified a Modification.
	Established *message.SessionEstablishmentResponse
	Modified    *message.SessionModificationResponse
	// Usage that came with the answer.
	Usage []Measured
}

// Transferred answers AskTransfer (TS 29.518 5.2.2.3.1).
type Transferred struct {
	Outcome Outcome
	// Paging: the UE is being looked for; Unreachable may follow.
	Paging bool
	// Skipped: the UE is idle, and was not to be woken for it.
	Skipped bool
	// Cause of a refusal, such as UE_IN_NON_ALLOWED_AREA. Later: the AMF has no time for it now, and may take it when it is asked again.
	Cause string
	Later bool
}

// Notified answers AskStatus.
type Notified struct{ Outcome Outcome }

func (Create) event()              {}
func (Update) event()              {}
func (Release) event()             {}
func (Unreachable) event()         {}
func (Report) event()              {}
func (Due) event()                 {}
func (Resumed) event()             {}
func (UnitRestarted) event()       {}
func (UnitDiffers) event()         {}
func (UnitGone) event()            {}
func (End) event()                 {}
func (SettingsChanged) event()     {}
func (PolicyChanged) event()       {}
func (PolicyEnded) event()         {}
func (ChargingChanged) event()     {}
func (SubscriptionChanged) event() {}
func (Charged) event()             {}
func (Subscription) event()        {}
func (Policy) event()              {}
func (Unit) event()                {}
func (Transferred) event()         {}
func (Notified) event()            {}
func (UnitDrains) event()          {}
func (PathFailed) event()          {}
func (AddressTaken) event()        {}
func (AccessTold) event()          {}
func (PolicyUnsure) event()        {}

// From is who waits for the answer to an event, 0 for nobody.
func From(e Event) Token {
	switch e := e.(type) {
	case Create:
		return e.From
	case Update:
		return e.From
	case Release:
		return e.From
	case Report:
		return e.From
	case End:
		return e.From
	case PolicyEnded:
		return e.From
	case PolicyChanged:
		return e.From
	case ChargingChanged:
		return e.From
	case SubscriptionChanged:
		return e.From
	}
	return 0
}

// answer says whether the event answers an effect, rather than bringing something new.
func answer(e Event) bool {
	switch e.(type) {
	case Subscription, Policy, Charged, Unit, Transferred, Notified:
		return true
	}
	return false
}
