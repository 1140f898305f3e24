package procedure

import (
	"time"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// Effect is something to be done: one of the structs of this file. Those that begin with Ask bring one event back, with their Number where
// they have one.
type Effect interface{ effect() }

// Number of something that was asked, and of its answer. It means nothing to anybody else.
type Number uint32

// Send a message to an access network. Its UE NGAP IDs are set. Where it cannot be sent, a NotSent comes back.
type Send struct {
	To      record.Attachment
	Message n2.Message
}

// Page a UE (TS 38.413 8.5.1): to every gNB of the area, the RAN nodes' DRX aside.
type Page struct {
	Area    record.Area
	Message *n2.Paging
}

// Reply answers who asked.
type Reply struct {
	To Token
	// Transferred, Failed, Ended, Reached, Placed
	Body any
}

// Transferred answers Transfer (TS 29.518 6.1.6.3.12).
type Transferred struct {
	// Cause is one of N1_N2_TRANSFER_INITIATED, ATTEMPTING_TO_REACH_UE, N1_MSG_NOT_TRANSFERRED, N2_MSG_NOT_TRANSFERRED.
	Cause string
	// Paging: Unreached may follow, for the URI that the request named.
	Paging bool
}

// Ended answers End.
type Ended struct{}

// Failed answers what was refused, with HTTP status and application error of TS 29.518 6.1.7.3.
type Failed struct {
	Status int
	Cause  string
	Detail string
	// RetryAfter in seconds; 0: not told.
	RetryAfter int
}

// AskNamed asks who else is the UE of that SUPI: what is kept of it is taken out of its shard's hands, at rest, and is this UE's with the next
// record that is written.
type AskNamed struct {
	Number Number
	SUPI   string
}

// AskChallenge asks the AUSF (TS 29.509 5.2.2.2) for an authentication vector, or an EAP packet. One of SUCI and SUPI is set.
type AskChallenge struct {
	Number Number
	// SUCI as TS 29.503 5.2.2.2.2 writes it, such as suci-0-208-93-0-0-0-0000000001.
	SUCI, SUPI string
	// PLMN whose serving network name it is.
	PLMN string
	// AUTS and RAND of a UE whose SQN is another.
	AUTS, RAND []byte
}

// AskConfirm brings the UE's answer to the AUSF.
type AskConfirm struct {
	Number Number
	// Context is what Challenge named.
	Context string
	// Response is RES* (5G-AKA), EAP a packet (EAP-AKA').
	Response, EAP []byte
}

// AskRecording has the UDM know that this AMF set has the UE (TS 29.503 5.3.2.2.2).
type AskRecording struct {
	Number    Number
	SUPI, PEI string
	// Initial registration, or emergency. Since is when it began, to the ms: none of a UE is of before the one that was recorded last.
	Initial bool
	Since   time.Time
	// Supports IMS voice in the registration area.
	Voice bool
	// Subscription is asked for beside, nil: not now. Where the UDM does not take the AMF, a subscription to changes that has come of it is ended by who does this.
	Subscription *AskSubscription
}

// AskSubscription asks the UDM for what the UE has subscribed to (TS 29.503 5.2.2.2.2 to 5.2.2.2.4) and to be told when that changes, where Notified is "".
type AskSubscription struct {
	Number   Number
	SUPI     string
	PLMN     string
	Notified string
}

// PolicyOperation is one of TS 29.507 4.2.
type PolicyOperation uint8

// The operations.
const (
	CreatePolicy PolicyOperation = 1
	UpdatePolicy PolicyOperation = 2
	DeletePolicy PolicyOperation = 3
)

// AskPolicy asks the PCF.
type AskPolicy struct {
	Number    Number
	Operation PolicyOperation
	UE        *record.UE
}

// SessionOperation is one of TS 29.502 5.2.2.
type SessionOperation uint8

// The operations.
const (
	CreateSession  SessionOperation = 1
	UpdateSession  SessionOperation = 2
	ReleaseSession SessionOperation = 3
)

// AskSession asks the SMF of a PDU session, or one for a new session. What is zero is not said.
type AskSession struct {
	Number    Number
	Operation SessionOperation
	SUPI, PEI string
	GPSI      string
	Session   record.Session
	Place     record.Place
	// PLMN that serves the UE.
	PLMN string
	// Existing: the UE wants to go on with a session that it has.
	Existing bool
	// Connection and Handover are the states of TS 29.502 6.1.6.3.2, 6.1.6.3.3, that the session is to have.
	Connection, Handover string
	// N1 is a 5GSM message; N2 a transfer of TS 38.413 9.3.4, of a type of TS 29.502 6.1.6.3.12.
	N1     []byte
	N2     []byte
	N2Type string
	// Cause of TS 29.502 6.1.6.3.8.
	Cause string
	// Switched and NotSwitched belong to a path switch (toBeSwitched, failedToBeSwitched).
	Switched, NotSwitched bool
	// Target is the gNB that a handover is to lead to, and the AMF's own target in its place.
	Target *record.Place
	// End asks for the session's end, with what UE and access network are told.
	End bool
	// purpose is what is done with the answer; sent: it was asked, and does not wait for another's answer.
	purpose purpose
	sent    bool
	// attempts are how often it was asked before without being heard.
	attempts int
	// began is when the UE asked for it, again when the SMF is asked again; zero: it is asked now, or waits for another's answer.
	began, again time.Time
}

// AskPause brings Paused, with its Number, when that time has gone. It is in memory alone.
type AskPause struct {
	Number Number
	For    time.Duration
}

// TellUnreached tells an SMF that the UE was not reached after all (TS 29.518 5.2.2.3.2.2).
type TellUnreached struct {
	URI   string
	Cause string
}

// TellLeft has the UDM forget that this AMF set has the UE, and its subscription to changes end (TS 29.503 5.3.2.4.2).
type TellLeft struct {
	SUPI, PLMN string
	Notified   string
	// Purged: nothing of the UE is kept any more, which was recorded last as of Since; zero: that is not known.
	Purged bool
	Since  time.Time
}

func (Send) effect()            {}
func (Page) effect()            {}
func (Reply) effect()           {}
func (AskNamed) effect()        {}
func (AskChallenge) effect()    {}
func (AskConfirm) effect()      {}
func (AskRecording) effect()    {}
func (AskSubscription) effect() {}
func (AskPolicy) effect()       {}
func (AskSession) effect()      {}
func (AskPause) effect()        {}
func (TellUnreached) effect()   {}
func (TellLeft) effect()        {}

// Asks says whether an effect brings an event back.
func Asks(e Effect) bool {
	switch e.(type) {
	case AskNamed, AskChallenge, AskConfirm, AskRecording, AskSubscription, AskPolicy, AskSession, AskPause, AskOther, AskStatusHeard:
		return true
	}
	return false
}
