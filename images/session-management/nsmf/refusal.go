package nsmf

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
)

// Cause is an application error of TS 29.502 6.1.7.3, or a protocol error of TS 29.500 5.2.7.2.
type Cause string

// The causes of the SMF, with the status that each has.
const (
	N1SMError                     Cause = "N1_SM_ERROR"
	N2SMError                     Cause = "N2_SM_ERROR"
	SNSSAIDenied                  Cause = "SNSSAI_DENIED"
	DNNDenied                     Cause = "DNN_DENIED"
	PDUTypeDenied                 Cause = "PDUTYPE_DENIED"
	SSCDenied                     Cause = "SSC_DENIED"
	SubscriptionDenied            Cause = "SUBSCRIPTION_DENIED"
	DNNNotSupported               Cause = "DNN_NOT_SUPPORTED"
	PDUTypeNotSupported           Cause = "PDUTYPE_NOT_SUPPORTED"
	SSCNotSupported               Cause = "SSC_NOT_SUPPORTED"
	HomeRoutedRoamingRequired     Cause = "HOME_ROUTED_ROAMING_REQUIRED"
	OutOfLADNServiceArea          Cause = "OUT_OF_LADN_SERVICE_AREA"
	NoEPS5GSContinuity            Cause = "NO_EPS_5GS_CONTINUITY"
	IntegrityRateNotAcceptable    Cause = "INTEGRITY_PROTECTED_MDR_NOT_ACCEPTABLE"
	HandoverResourceAllocation    Cause = "HANDOVER_RESOURCE_ALLOCATION_FAILURE"
	LateOverlappingRequest        Cause = "LATE_OVERLAPPING_REQUEST"
	ContextNotFound               Cause = "CONTEXT_NOT_FOUND"
	InsufficientResourcesSlice    Cause = "INSUFFICIENT_RESOURCES_SLICE"
	InsufficientResourcesSliceDNN Cause = "INSUFFICIENT_RESOURCES_SLICE_DNN"
	SystemFailure                 Cause = "SYSTEM_FAILURE"
	DNNCongestion                 Cause = "DNN_CONGESTION"
	SNSSAICongestion              Cause = "S_NSSAI_CONGESTION"
	NFCongestion                  Cause = "NF_CONGESTION"
	PeerNotResponding             Cause = "PEER_NOT_RESPONDING"
	NetworkFailure                Cause = "NETWORK_FAILURE"
	TimedOutRequest               Cause = "TIMED_OUT_REQUEST"
)

// Status is the HTTP status of the cause.
func (c Cause) Status() int {
	switch c {
	case ContextNotFound:
		return http.StatusNotFound
	case InsufficientResourcesSlice, InsufficientResourcesSliceDNN, SystemFailure:
		return http.StatusInternalServerError
	case DNNCongestion, SNSSAICongestion, NFCongestion:
		return http.StatusServiceUnavailable
	case PeerNotResponding, NetworkFailure, TimedOutRequest:
		return http.StatusGatewayTimeout
	}
	return http.StatusForbidden
}

// Refused is an answer that refuses. It is an error, so that a Handler can return it as one.
type Refused struct {
	Cause Cause
	// Detail is a sentence for people.
	Detail string
	// N1 is the message that rejects what the UE asked for, nil where it hears nothing.
	N1 []byte
	// N2 is for the access network.
	N2     []byte
	N2Type N2Type
	// UpCnxState is of an Update, "" where nothing has changed.
	UpCnxState UpCnxState
	// RetryAfter is when to ask again, in whole seconds; 0 says nothing.
	RetryAfter time.Duration
}

// Error implements error.
func (r *Refused) Error() string { return r.problem().Error() }

// Answer is what operations answer that have problem details alone (Release, Retrieve, callbacks).
func (r *Refused) Answer() sbi.Answer { return r.problem().Refusing(r.RetryAfter) }

func (r *Refused) problem() *sbi.Problem {
	return sbi.NewProblem(r.Cause.Status(), string(r.Cause), r.Detail)
}

// Refuse answers a request that no Handler has seen, such as one that could not be passed on, in the form that its
// operation has for refusals.
func Refuse(w http.ResponseWriter, req *http.Request, refused *Refused) {
	answer := refused.Answer()
	if req.URL.Path == contexts || strings.HasPrefix(req.URL.Path, contexts+"/") && strings.HasSuffix(req.URL.Path, "/modify") {
		answer = (&contextRefusal{reason: refused, problem: refused.problem(), refused: *refused}).Answer()
	}
	sbi.Write(w, answer)
}

// contextError is an SmContextCreateError or SmContextUpdateError (TS 29.502 6.1.6.2.10, 6.1.6.2.11).
type contextError struct {
	Error      *sbi.Problem   `json:"error"`
	N1         *sbi.Reference `json:"n1SmMsg,omitempty"`
	N2         *sbi.Reference `json:"n2SmInfo,omitempty"`
	N2Type     N2Type         `json:"n2SmInfoType,omitempty"`
	UpCnxState UpCnxState     `json:"upCnxState,omitempty"`
}

// ReadRefused reads what an error answer to a Create or an Update says, as far as it can be read.
func ReadRefused(m sbi.Message) Refused {
	var out Refused
	content, err := m.Content()
	if err != nil {
		return out
	}
	problem, _, _ := sbi.Optional[sbi.Problem](content, "error")
	out.Cause, out.Detail = Cause(problem.Cause), problem.Detail
	if problem.Cause == "" { // problem details alone
		cause, _, _ := sbi.Optional[string](content, "cause")
		out.Detail, _, _ = sbi.Optional[string](content, "detail")
		out.Cause = Cause(cause)
	}
	out.N1, _ = sbi.Referred(content, m, "n1SmMsg")
	out.N2, _ = sbi.Referred(content, m, "n2SmInfo")
	out.N2Type, _, _ = sbi.Optional[N2Type](content, "n2SmInfoType")
	out.UpCnxState, _, _ = sbi.Optional[UpCnxState](content, "upCnxState")
	return out
}

// contextRefusal is a refusal of a Create or an Update, whatever the reason.
type contextRefusal struct {
	reason  error
	problem *sbi.Problem
	refused Refused
}

// Error implements error.
func (c *contextRefusal) Error() string { return c.reason.Error() }

// Unwrap gives the reason.
func (c *contextRefusal) Unwrap() error { return c.reason }

// Answer implements sbi.Refusal.
func (c *contextRefusal) Answer() sbi.Answer {
	body := contextError{Error: c.problem, UpCnxState: c.refused.UpCnxState}
	var parts []sbi.Part
	if len(c.refused.N1) > 0 {
		body.N1 = sbi.Refer(n1ID)
		parts = append(parts, sbi.Part{ContentID: n1ID, ContentType: sbi.NAS, Content: c.refused.N1})
	}
	if len(c.refused.N2) > 0 {
		body.N2, body.N2Type = sbi.Refer(n2ID), c.refused.N2Type
		parts = append(parts, sbi.Part{ContentID: n2ID, ContentType: sbi.NGAP, Content: c.refused.N2})
	}
	answer := sbi.Answer{Status: c.problem.Status, Header: sbi.RetryAfter(c.refused.RetryAfter)}
	text, err := json.Marshal(body)
	if err == nil {
		answer.Body, err = sbi.Multipart(text, parts...)
	}
	if err != nil {
		answer.Body = c.problem
	}
	return answer
}
