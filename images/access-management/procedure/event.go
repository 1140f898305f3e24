package procedure

import (
	"net/http"
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// Event is something that happens to a UE: one of the structs of this file.
type Event interface{ event() }

// Token names somebody who waits for an answer; 0 for nobody.
type Token uint64

// Initial is a UE's first message on a new connection (TS 38.413 8.6.1).
type Initial struct {
	// At is the connection, without an AMF UE NGAP ID; or with the one that its access network may have been told by a holder before, which has challenged the UE
	// perhaps, and of which nothing else is known.
	At      record.Attachment
	Message *n2.InitialUEMessage
	// Storm: nothing that has its UE do much is to begin; the UE comes back after T3346.
	Storm bool
}

// FromAccess is a UE-associated message of an access network.
type FromAccess struct {
	// At is the connection it came by, AMF and RAN as the message says.
	At      record.Attachment
	Message n2.Message
}

// AccessLost: the association with the UE's access network is no more, or the access network has said that it has forgotten the UE (TS 38.413 8.7.4,
// 8.7.1 without retained contexts, 9.2.8 Error Indication).
type AccessLost struct {
	// At is the connection; RAN and AMF are 0 where all of the association's UEs are meant.
	At record.Attachment
	// Why, for people.
	Why string
	// Kept: the association alone is known to be lost. Its gNB may have kept the UE, and is waited for.
	Kept bool
}

// AccessBack: the gNB of a connection whose association was lost is there again, by another one, and has kept its UEs (TS 38.413 8.7.1.1).
type AccessBack struct {
	// At is the gNB's association, without a UE, and Was the one that it had.
	At, Was record.Attachment
}

// Appeared: a gNB can be reached that could not be. UEs that are paged hear it there, too.
type Appeared struct{ GNB *record.GNB }

// NotSent: a message did not leave, since its association is no more.
type NotSent struct{ Send Send }

// Due says that a time has come that an Output named.
type Due struct{ Name string }

// Resumed: the UE has a new holder, who knows nothing but the record. Lost: the store may have lost writes.
type Resumed struct{ Lost bool }

// Taken: the UE is another shard's now, which has written a record of its own. It ends what this one has with access networks.
type Taken struct{}

// Transfer is a request of an SMF's, or another function's, to bring something to the UE or its access network (TS 29.518 5.2.2.3.1).
type Transfer struct {
	From Token
	// Session identity; 0: none is concerned.
	Session uint8
	// N1 is a message of the container type Kind (TS 24.501 9.11.3.40): 1 5GSM, 5 UE policy, 6 UE parameters update.
	N1   []byte
	Kind uint8
	// N2 is a transfer of TS 38.413 9.3.4, of a type of TS 29.518 6.1.6.3.12.
	N2     []byte
	N2Type string
	// SkipIdle: the UE is not to be woken for it.
	SkipIdle bool
	// Failure is where Unreached is to be told; "" nowhere.
	Failure string
	// Priority of the ARP, 1 to 15, and FiveQI of the flow whose packets wait; 0 unknown.
	Priority, FiveQI uint8
}

// SessionEnded: an SMF says that its SM context is no more (TS 29.502 5.2.2.5).
type SessionEnded struct {
	Session uint8
	// Context that has ended: another one of that identity has not.
	Context string
}

// SubscriptionChanged: the UDM says so; it is asked anew.
type SubscriptionChanged struct{}

// End asks for the UE's end: its subscription is deleted or barred, another AMF has it, an operator wants it (TS 23.502 4.2.2.3.3, 4.2.2.2.2 step 14d).
type End struct {
	From Token
	Why  Ending
}

// Ending is why a UE ends.
type Ending uint8

// The endings.
const (
	// Withdrawn subscription: deleted, or barred.
	Withdrawn Ending = 1
	// Elsewhere: another AMF has it, and the UE is not told.
	Elsewhere Ending = 2
	// Again: the UE is to register anew.
	Again Ending = 3
	// Moved to another AMF, with its sessions.
	Moved Ending = 4
)

// SettingsChanged: the Settings are others than before.
type SettingsChanged struct{}

// PolicyChanged: the PCF has decided anew (TS 29.507 4.2.4).
type PolicyChanged struct {
	From Token
	// Ended: its association is no more.
	Ended bool
	// RFSP, 0: as it was. Uplink and Downlink are the UE-AMBR, bit/s, 0 as it was.
	RFSP             uint16
	Uplink, Downlink uint64
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
	// Unsent: it has not been done.
	Unsent Outcome = 4
)

// Named answers AskNamed.
type Named struct {
	Number Number
	// Failed: what is kept of it could not be had.
	Failed bool
	// Record is what is kept; nil: there is nothing. Capability is kept beside it.
	Record     *record.UE
	Capability []byte
}

// Challenge answers AskChallenge (TS 29.509 6.1.6.2.3).
type Challenge struct {
	Number  Number
	Outcome Outcome
	// Cause of a refusal (TS 29.509 6.1.7.3), such as USER_NOT_FOUND.
	Cause string
	// Context names it to AskConfirm.
	Context string
	// RAND, AUTN and HXRES* of 5G-AKA.
	RAND, AUTN, HXRES []byte
	// EAP is a packet of EAP-AKA'; nil: it is 5G-AKA.
	EAP []byte
}

// Confirmed answers AskConfirm.
type Confirmed struct {
	Number  Number
	Outcome Outcome
	Cause   string
	// Success of the authentication: SUPI and K_SEAF are set.
	Success bool
	SUPI    string
	KSEAF   []byte
	// EAP is the next packet for the UE, or with a success or a failure its last.
	EAP []byte
	// More: EAP is a request, and the UE's answer is confirmed alike.
	More bool
}

// Recorded answers AskRecording.
type Recorded struct {
	Number  Number
	Outcome Outcome
	Cause   string
	// Subscription that was asked for beside, where Outcome is Done; nil: nobody knows what became of it.
	Subscription *Subscription
}

// SubscribedSlice is an S-NSSAI of a subscription.
type SubscribedSlice struct {
	record.Slice
	// Default: the UE has it where it asks for nothing.
	Default bool
	// DNN is what it has where it names none, and DNNs are all.
	DNN  string
	DNNs []string
}

// Subscription answers AskSubscription.
type Subscription struct {
	Number  Number
	Outcome Outcome
	Cause   string
	// Barred: the UE gets no service.
	Barred bool
	GPSI   string
	Slices []SubscribedSlice
	// Uplink and Downlink are the UE-AMBR, bit/s.
	Uplink, Downlink uint64
	RFSP             uint16
	// Periodic is T3512 in seconds where the subscription has it.
	Periodic uint32
	// Notified is the subscription to changes.
	Notified string
}

// Policy answers AskPolicy.
type Policy struct {
	Number  Number
	Outcome Outcome
	// URI of the association.
	URI string
	// RFSP, 0: as the subscription has it.
	RFSP             uint16
	Uplink, Downlink uint64
}

// SessionAnswer answers AskSession.
type SessionAnswer struct {
	Number  Number
	Outcome Outcome
	// Status and Cause of a refusal (TS 29.502 6.1.7.3), and when to ask again; 0: that was not said.
	Status     int
	Cause      string
	RetryAfter time.Duration
	// Context, SMF and Set of a session that was made.
	Context, SMF, Set string
	Connection        string
	Handover          string
	N1                []byte
	N2                []byte
	N2Type            string
}

// busy: the SMF cannot do it now (TS 29.500 5.2.7.2).
func (e SessionAnswer) busy() bool {
	return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
}

// Paused: the time of an AskPause has gone.
type Paused struct{ Number Number }

func (Initial) event()             {}
func (FromAccess) event()          {}
func (AccessLost) event()          {}
func (AccessBack) event()          {}
func (Appeared) event()            {}
func (NotSent) event()             {}
func (Due) event()                 {}
func (Resumed) event()             {}
func (Paused) event()              {}
func (Taken) event()               {}
func (Transfer) event()            {}
func (SessionEnded) event()        {}
func (SubscriptionChanged) event() {}
func (End) event()                 {}
func (SettingsChanged) event()     {}
func (PolicyChanged) event()       {}
func (Named) event()               {}
func (Challenge) event()           {}
func (Confirmed) event()           {}
func (Recorded) event()            {}
func (Subscription) event()        {}
func (Policy) event()              {}
func (SessionAnswer) event()       {}

// From is who waits for the answer to an event, 0 for nobody.
func From(e Event) Token {
	switch e := e.(type) {
	case Transfer:
		return e.From
	case End:
		return e.From
	case PolicyChanged:
		return e.From
	case Reach:
		return e.From
	case Locate:
		return e.From
	case Watch:
		return e.From
	case Rewatch:
		return e.From
	case Unwatch:
		return e.From
	case Lend:
		return e.From
	case LeftFor:
		return e.From
	}
	return 0
}
