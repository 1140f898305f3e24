package namf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

const (
	serviceType = "AMF"
	serviceName = "namf-comm"
	n1ID        = "n1msg"
	n2ID        = "n2msg"
)

// Client calls AMFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

// AMF says which AMF serves the UE.
type AMF struct {
	// InstanceID of the AMF, and the set whose members know its UEs when it is gone, "" where it is not known.
	InstanceID, Set string
}

func (a AMF) service() sbi.Service {
	return sbi.Service{Type: serviceType, Name: serviceName, Instance: a.InstanceID, Set: a.Set}
}

// N2Kind is the type of an NGAP information element (TS 29.518 6.1.6.3.6).
type N2Kind string

// The kinds of N2 information that an SMF sends with a transfer.
const (
	SetupRequest   N2Kind = "PDU_RES_SETUP_REQ"
	ModifyRequest  N2Kind = "PDU_RES_MOD_REQ"
	ReleaseCommand N2Kind = "PDU_RES_REL_CMD"
)

// Transfer is N1N2MessageTransferReqData (TS 29.518 6.1.6.2.18). One of N1 and N2 at least is there.
type Transfer struct {
	// SUPI names the UE, SessionID its PDU session.
	SUPI      string
	SessionID uint8
	// N1 is a 5GSM message to the UE, N2 a transfer to the access network, of Kind and the S-NSSAI.
	N1, N2 []byte
	Kind   N2Kind
	SNSSAI *ts29571.SNSSAI
	// FiveQI, ARP and PPI (paging policy indicator, 0 to 7) of the packet that waits, for the priority of the paging.
	FiveQI uint8
	ARP    *ts29571.ARP
	PPI    *uint8
	// SkipIndication: where the UE is idle, N1 is not to be sent (and N2 is absent).
	SkipIndication bool
	// LastMessage: the AMF may release the signalling connection after this one.
	LastMessage bool
	// Areas where the transfer is wanted; nil: everywhere.
	Areas []ts29571.TAI
	// ExtendedBuffering: the UPF can keep packets until a UE wakes up by itself.
	ExtendedBuffering bool
	// FailureURI is where to hear that the UE was not reached.
	FailureURI string
	// SMFInstanceID is our own.
	SMFInstanceID string
	// TargetAccess is 3GPP_ACCESS or NON_3GPP_ACCESS of a session over both, else "".
	TargetAccess string
}

// Outcome of a transfer that the AMF took.
type Outcome struct {
	Result Result
	// URI names the message that waits for the UE; a failure notification has it. "" where the AMF gave none.
	URI string
}

// Result is N1N2MessageTransferCause (TS 29.518 6.1.6.3.5) of an answer 200 or 202.
type Result string

// The results of a transfer.
const (
	// Initiated: the messages have left for the UE.
	Initiated Result = "N1_N2_TRANSFER_INITIATED"
	// Reaching: the UE is being paged; what becomes of it is a failure notification, or the UE's answer.
	Reaching Result = "ATTEMPTING_TO_REACH_UE"
	// Waiting: the UE cannot be paged now, and the messages wait until it comes by itself.
	Waiting Result = "WAITING_FOR_ASYNCHRONOUS_TRANSFER"
	// NotTransferred: the UE is idle and the transfer had SkipIndication.
	NotTransferred Result = "N1_MSG_NOT_TRANSFERRED"
)

type requestData struct {
	N1           *n1Container    `json:"n1MessageContainer,omitempty"`
	N2           *n2Container    `json:"n2InfoContainer,omitempty"`
	Skip         bool            `json:"skipInd,omitempty"`
	Last         bool            `json:"lastMsgIndication,omitempty"`
	SessionID    uint8           `json:"pduSessionId,omitempty"`
	PPI          *uint8          `json:"ppi,omitempty"`
	ARP          *ts29571.ARP    `json:"arp,omitempty"`
	FiveQI       uint8           `json:"5qi,omitempty"`
	FailureURI   string          `json:"n1n2FailureTxfNotifURI,omitempty"`
	Areas        *areaOfValidity `json:"areaOfValidity,omitempty"`
	ExtBuffering bool            `json:"extBufSupport,omitempty"`
	TargetAccess string          `json:"targetAccess,omitempty"`
	NFID         string          `json:"nfId,omitempty"`
}

type areaOfValidity struct {
	TAIs []ts29571.TAI `json:"taiList"`
}

type n1Container struct {
	Class   string         `json:"n1MessageClass"`
	Content *sbi.Reference `json:"n1MessageContent"`
}

type n2Container struct {
	Class string `json:"n2InformationClass"`
	SM    smInfo `json:"smInfo"`
}

type smInfo struct {
	SessionID uint8           `json:"pduSessionId"`
	Content   n2Content       `json:"n2InfoContent"`
	SNSSAI    *ts29571.SNSSAI `json:"sNssai,omitempty"`
}

type n2Content struct {
	Kind N2Kind         `json:"ngapIeType"`
	Data *sbi.Reference `json:"ngapData"`
}

func (t *Transfer) content() (requestData, []sbi.Part) {
	out := requestData{
		Skip: t.SkipIndication, Last: t.LastMessage, SessionID: t.SessionID, PPI: t.PPI, ARP: t.ARP, FiveQI: t.FiveQI,
		FailureURI: t.FailureURI, ExtBuffering: t.ExtendedBuffering, TargetAccess: t.TargetAccess, NFID: t.SMFInstanceID,
	}
	if len(t.Areas) > 0 {
		out.Areas = &areaOfValidity{t.Areas}
	}
	var parts []sbi.Part
	if len(t.N1) > 0 {
		out.N1 = &n1Container{"SM", sbi.Refer(n1ID)}
		parts = append(parts, sbi.Part{ContentID: n1ID, ContentType: sbi.NAS, Content: t.N1})
	}
	if len(t.N2) > 0 {
		out.N2 = &n2Container{"SM", smInfo{t.SessionID, n2Content{t.Kind, sbi.Refer(n2ID)}, t.SNSSAI}}
		parts = append(parts, sbi.Part{ContentID: n2ID, ContentType: sbi.NGAP, Content: t.N2})
	}
	return out, parts
}

// Transfer has the AMF send messages to the UE and its access network.
func (c *Client) Transfer(ctx context.Context, amf AMF, t *Transfer) (Outcome, error) {
	const operation = "N1N2MessageTransfer"
	data, parts := t.content()
	if len(parts) == 0 {
		return Outcome{}, &sbi.NotSent{Operation: operation, Err: errors.New("there is neither N1 nor N2")}
	}
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: amf.service(), JSON: data, Parts: parts,
		Path: "/namf-comm/v1/ue-contexts/" + url.PathEscape(t.SUPI) + "/n1-n2-messages",
	})
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{URI: reply.Location()}
	// free5GC's AMF writes of a UE that it pages {"headers": {"Location": [...]}, "data": {"cause": ...}}.
	var body struct {
		Cause Result `json:"cause"`
		Data  struct {
			Cause Result `json:"cause"`
		} `json:"data"`
		Headers struct{ Location []string } `json:"headers"`
	}
	if err := reply.Into(&body); err != nil {
		return Outcome{}, &sbi.Unknown{Operation: operation, Err: err}
	}
	if out.Result = body.Cause; out.Result == "" {
		out.Result = body.Data.Cause
	}
	if out.URI == "" && len(body.Headers.Location) > 0 {
		out.URI = body.Headers.Location[0]
	}
	if out.Result == "" {
		return Outcome{}, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no cause")}
	}
	return out, nil
}

// Reason sorts refusals (TS 29.518 table 6.1.3.5.3.1-3).
type Reason uint8

// The reasons of a refused transfer.
const (
	// Other: the AMF does not do it, and asking again does not change that.
	Other Reason = iota
	// NoContext: the AMF knows no such UE, or no such session of it.
	NoContext
	// Temporary: a registration or a handover is under way; ask again.
	Temporary
	// Busy: the AMF pages for something of a higher priority.
	Busy
	// Idle: the UE is idle, and N2 of this kind is not worth a paging.
	Idle
	// NotAllowed: the UE is where it may have no sessions, or not this one.
	NotAllowed
	// Unreachable: the UE cannot be paged (MICO, or not registered there).
	Unreachable
	// Congested: the AMF has too much to do; ask again.
	Congested
	// Late: the AMF has not done it in time. It may be done yet, or was, and nothing is said of the UE.
	Late
)

// Refusal is what a refused transfer says.
type Refusal struct {
	Reason Reason
	Cause  string
	// RetryAfter is when to ask again, 0 where it is not said. MaxWaiting is when a UE that sleeps is awake.
	RetryAfter, MaxWaiting time.Duration
	// HighestARP is of what the AMF pages for.
	HighestARP *ts29571.ARP
}

// RefusalOf takes a refused transfer apart; false where the error is none.
func RefusalOf(err error) (Refusal, bool) {
	var refused *sbi.Refused
	if !errors.As(err, &refused) {
		return Refusal{}, false
	}
	out := Refusal{Reason: reasonOf(refused.Status, refused.Cause), Cause: refused.Cause, RetryAfter: refused.RetryAfter}
	// N1N2MessageTransferError (TS 29.518 6.1.6.2.30): what is not there, or wrong, stays zero.
	var body struct {
		Info struct {
			RetryAfter int32           `json:"retryAfter"`
			ARP        json.RawMessage `json:"highestPrioArp"`
			MaxWaiting int32           `json:"maxWaitingTime"`
		} `json:"errInfo"`
	}
	_ = json.Unmarshal(refused.Message.JSON, &body)
	if body.Info.RetryAfter > 0 {
		out.RetryAfter = time.Duration(min(body.Info.RetryAfter, 3600)) * time.Second
	}
	out.MaxWaiting = time.Duration(max(0, body.Info.MaxWaiting)) * time.Second
	var arp ts29571.ARP
	if len(body.Info.ARP) > 0 && arp.UnmarshalJSON(body.Info.ARP) == nil {
		out.HighestARP = &arp
	}
	return out, true
}

func reasonOf(status int, cause string) Reason {
	switch cause {
	case "CONTEXT_NOT_FOUND":
		return NoContext
	case "TEMPORARY_REJECT_REGISTRATION_ONGOING", "TEMPORARY_REJECT_HANDOVER_ONGOING", "MAX_ACTIVE_SESSIONS_EXCEEDED":
		return Temporary
	case "HIGHER_PRIORITY_REQUEST_ONGOING":
		return Busy
	case "UE_IN_CM_IDLE_STATE":
		return Idle
	case "UE_IN_NON_ALLOWED_AREA", "NOT_ALLOWED_SLICE", "REJECTION_DUE_TO_PAGING_RESTRICTION", "UE_WITHOUT_N1_SUPPORT":
		return NotAllowed
	case "UE_NOT_REACHABLE", "UE_NOT_REACHABLE_FOR_SESSION", "UE_NOT_RESPONDING":
		return Unreachable
	case "NF_CONGESTION", "NF_CONGESTION_RISK", "INSUFFICIENT_RESOURCES":
		return Congested
	case "TIMED_OUT_REQUEST": // TS 29.500 5.2.7.2
		return Late
	}
	switch status {
	case http.StatusNotFound:
		return NoContext
	case http.StatusConflict:
		return Temporary
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return Congested
	case http.StatusGatewayTimeout:
		return Unreachable
	}
	return Other
}
