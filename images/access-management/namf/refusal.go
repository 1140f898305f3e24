package namf

import (
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Cause is an application error of TS 29.518 6.1.7.3, 6.2.7.3, 6.3.7.3, 6.4.7.3, or a protocol error of TS 29.500 5.2.7.2.
type Cause string

// The causes of the AMF, with the status that each has.
const (
	ContextNotFound       Cause = "CONTEXT_NOT_FOUND"
	SubscriptionNotFound  Cause = "SUBSCRIPTION_NOT_FOUND"
	RegistrationOngoing   Cause = "TEMPORARY_REJECT_REGISTRATION_ONGOING"
	HandoverOngoing       Cause = "TEMPORARY_REJECT_HANDOVER_ONGOING"
	HigherPriorityOngoing Cause = "HIGHER_PRIORITY_REQUEST_ONGOING"
	UEIdle                Cause = "UE_IN_CM_IDLE_STATE"
	MaxActiveSessions     Cause = "MAX_ACTIVE_SESSIONS_EXCEEDED"
	NonAllowedArea        Cause = "UE_IN_NON_ALLOWED_AREA"
	NotAllowedSlice       Cause = "NOT_ALLOWED_SLICE"
	UENotReachable        Cause = "UE_NOT_REACHABLE"
	UENotResponding       Cause = "UE_NOT_RESPONDING"
	UENotServed           Cause = "UE_NOT_SERVED_BY_AMF"
	IntegrityCheckFailed  Cause = "INTEGRITY_CHECK_FAIL"
	HandoverFailure       Cause = "HANDOVER_FAILURE"
	EBIRejected           Cause = "EBI_REJECTED_LOCAL_POLICY"
	EBIRejectedNoN26      Cause = "EBI_REJECTED_NO_N26"
	PositioningDenied     Cause = "POSITIONING_DENIED"
	Unspecified           Cause = "UNSPECIFIED"
	NotImplemented        Cause = "NOT_IMPLEMENTED"
	NFCongestion          Cause = "NF_CONGESTION"
	InsufficientResources Cause = "INSUFFICIENT_RESOURCES"
	SystemFailure         Cause = "SYSTEM_FAILURE"
	TimedOutRequest       Cause = "TIMED_OUT_REQUEST"
)

// Status is the HTTP status of the cause.
func (c Cause) Status() int {
	switch c {
	case ContextNotFound, SubscriptionNotFound:
		return http.StatusNotFound
	case RegistrationOngoing, HandoverOngoing, HigherPriorityOngoing, UEIdle, MaxActiveSessions:
		return http.StatusConflict
	case UENotReachable, UENotResponding, TimedOutRequest:
		return http.StatusGatewayTimeout
	case NFCongestion:
		return http.StatusServiceUnavailable
	case SystemFailure, InsufficientResources:
		return http.StatusInternalServerError
	case NotImplemented:
		return http.StatusNotImplemented
	}
	return http.StatusForbidden
}

// Refused is an answer that refuses. It is an error, so that a handler can return it as one.
type Refused struct {
	Cause Cause
	// Detail is a sentence for people.
	Detail string
	// RetryAfter is when to ask again, in whole seconds; 0 says nothing.
	RetryAfter time.Duration
	// HighestARP and MaxWaiting are of a refused transfer: of what the UE is paged for, and how long it sleeps.
	HighestARP *ts29571.ARP
	MaxWaiting time.Duration
	// NGAP is of a refused UE context: the cause for the source access network.
	NGAP *NGAPCause
	// Target is of a refused UE context: a container of the target access network for the source.
	Target []byte
}

// Error implements error.
func (r *Refused) Error() string { return r.problem().Error() }

// Answer is what operations answer that have problem details alone.
func (r *Refused) Answer() sbi.Answer { return r.problem().Refusing(r.RetryAfter) }

func (r *Refused) problem() *sbi.Problem {
	return sbi.NewProblem(r.Cause.Status(), string(r.Cause), r.Detail)
}

// formed is a refusal in the form of its operation.
type formed struct {
	*Refused
	body any
}

// Unwrap gives the refusal.
func (f *formed) Unwrap() error { return f.Refused }

// Answer implements sbi.Refusal.
func (f *formed) Answer() sbi.Answer {
	return sbi.Answer{Status: f.Cause.Status(), Header: sbi.RetryAfter(f.RetryAfter), Body: f.body}
}

// transferError is N1N2MessageTransferError (TS 29.518 6.1.6.2.30).
type transferError struct {
	Error *sbi.Problem         `json:"error"`
	Info  *transferErrorDetail `json:"errInfo,omitempty"`
}

type transferErrorDetail struct {
	RetryAfter int          `json:"retryAfter,omitempty"`
	HighestARP *ts29571.ARP `json:"highestPrioArp,omitempty"`
	MaxWaiting int          `json:"maxWaitingTime,omitempty"`
}

func refusedTransfer(r *Refused) error {
	out := transferError{Error: r.problem()}
	if detail := (transferErrorDetail{sbi.Seconds(r.RetryAfter), r.HighestARP, sbi.Seconds(r.MaxWaiting)}); detail != (transferErrorDetail{}) {
		out.Info = &detail
	}
	return &formed{r, out}
}

// refusedContext is UeContextCreateError (TS 29.518 6.1.6.2.36).
func refusedContext(r *Refused) error {
	f := sbi.Writing()
	problem := r.problem()
	sbi.Required(f, "error", &problem)
	sbi.Member(f, "ngapCause", &r.NGAP)
	target := N2{Kind: "TAR_TO_SRC_FAIL_CONTAINER", Content: r.Target}
	target.member(f, "targetToSourceFailureData")
	text, parts, err := f.Written()
	if err != nil {
		return err
	}
	body, err := sbi.Related(text, parts...)
	if err != nil {
		return err
	}
	return &formed{r, body}
}
