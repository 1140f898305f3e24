package nsmf

import (
	"context"
	"encoding/json"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nudm"
)

const (
	callbackService = "nsmf-callback"
	callbacks       = "/nsmf-callback/v1/sm-contexts"
)

// URIs that others are asked to call about an SM context. root is the API root of whoever holds it.
func callbackURI(root, ref, what string) string { return root + callbacks + "/" + ref + "/" + what }

// TransferFailureURI is for namf.Transfer.FailureURI.
func TransferFailureURI(root, ref string) string { return callbackURI(root, ref, "transfer-failure") }

// SubscriptionURI is for nudm.Subscription.CallbackURI.
func SubscriptionURI(root, ref string) string { return callbackURI(root, ref, "subscription") }

// PolicyURI is for npcf.Session.NotificationURI.
func PolicyURI(root, ref string) string { return callbackURI(root, ref, "policy") }

// ChargingURI is for nchf.Report.NotifyURI.
func ChargingURI(root, ref string) string { return callbackURI(root, ref, "charging") }

// Callbacks takes what others call back with. As with Handler, an error that is a *Refused is answered as such.
type Callbacks interface {
	// TransferFailed: the AMF has not reached the UE (TS 29.518 5.2.2.3.2).
	TransferFailed(ctx context.Context, ref string, f namf.Failure) error
	// SubscriptionChanged: what nudm.Data gives has changed (TS 29.503 5.2.2.5).
	SubscriptionChanged(ctx context.Context, ref string, c nudm.Change) error
	// PolicyChanged: the PCF has decided something else (TS 29.512 4.2.3.2). The report is of what could not be put in
	// force; rules that depend on the UE are reported later, with npcf.Client.Update.
	PolicyChanged(ctx context.Context, ref string, change npcf.Decision) (npcf.Report, error)
	// PolicyEnded: the PCF wants the association to be deleted, and with it the session (TS 29.512 4.2.3.3).
	PolicyEnded(ctx context.Context, ref string, cause string) error
	// ChargingChanged: the CHF wants quotas to be asked for, or the session to end (TS 32.290 5.3.2.5).
	ChargingChanged(ctx context.Context, ref string, n nchf.Notification) error
}

// RegisterCallbacks adds the routes that the URIs above lead to.
func RegisterCallbacks(r *sbi.Router, c Callbacks, o Options) {
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	add := func(operation, what string, op func(req *http.Request, ref string) (sbi.Answer, error)) {
		r.Handle(callbackService, operation, "POST "+callbacks+"/{ref}/"+what, limited(o.Limit, func(req *http.Request) (sbi.Answer, error) {
			ref, err := refOf(req)
			if err != nil {
				return sbi.Answer{}, err
			}
			return op(req, ref)
		}))
	}
	add("N1N2TransferFailureNotification", "transfer-failure", taken(namf.ReadFailure, c.TransferFailed))
	add("SdmNotification", "subscription", taken(nudm.ReadChange, c.SubscriptionChanged))
	add("SmPolicyControlUpdateNotify", "policy/update", func(req *http.Request, ref string) (sbi.Answer, error) {
		return policyChanged(req, ref, c)
	})
	add("SmPolicyControlTerminateNotify", "policy/terminate", taken(npcf.ReadTermination, c.PolicyEnded))
	add("ChargingNotify", "charging", taken(nchf.ReadNotification, c.ChargingChanged))
}

// taken reads a notification, hands it on, and answers 204.
func taken[T any](read func(*http.Request) (T, error), do func(context.Context, string, T) error) func(*http.Request, string) (sbi.Answer, error) {
	return func(req *http.Request, ref string) (sbi.Answer, error) {
		v, err := read(req)
		if err != nil {
			return sbi.Answer{}, err
		}
		return sbi.Answer{Status: http.StatusNoContent}, do(req.Context(), ref, v)
	}
}

// policyChanged answers 200 with a report of what could not be put in force, and 400 where that is all of it (TS 29.512
// 4.2.3.2 and 4.2.3.16).
func policyChanged(req *http.Request, ref string, c Callbacks) (sbi.Answer, error) {
	change, err := npcf.ReadNotification(req)
	if err != nil {
		return sbi.Answer{}, err
	}
	report, err := c.PolicyChanged(req.Context(), ref, change)
	switch {
	case err != nil:
		return sbi.Answer{}, err
	case report.Empty():
		return sbi.Answer{Status: http.StatusNoContent}, nil
	case len(report.Rules)+len(report.SessionRules) > 0 && !anyInForce(report, change):
		return sbi.Answer{}, &policyRefusal{report}
	}
	return sbi.Answer{Status: http.StatusOK, Body: partialSuccess{"PCC_RULE_EVENT", report}}, nil
}

type partialSuccess struct {
	FailureCause string `json:"failureCause"`
	npcf.Report
}

// anyInForce reports whether a rule of the change is not in the report as failed.
func anyInForce(r npcf.Report, change npcf.Decision) bool {
	failed := map[string]bool{}
	for _, rule := range r.Rules {
		for _, id := range rule.Rules {
			failed["rule "+id] = rule.Status == "INACTIVE"
		}
	}
	for _, rule := range r.SessionRules {
		for _, id := range rule.Rules {
			failed["session "+id] = rule.Status == "INACTIVE"
		}
	}
	for id := range change.Rules {
		if !failed["rule "+id] {
			return true
		}
	}
	for id := range change.SessionRules {
		if !failed["session "+id] {
			return true
		}
	}
	return false
}

// policyRefusal is an ErrorReport (TS 29.512 5.6.2.28).
type policyRefusal struct{ report npcf.Report }

// Error implements error.
func (p *policyRefusal) Error() string { return "none of the rules is in force" }

// Answer implements sbi.Refusal.
func (p *policyRefusal) Answer() sbi.Answer {
	text, err := json.Marshal(struct {
		Error *sbi.Problem `json:"error"`
		npcf.Report
	}{sbi.BadRequest("PCC_RULE_EVENT", p.Error()), p.report})
	if err != nil { // of strings
		return sbi.Answer{Status: http.StatusBadRequest}
	}
	return sbi.Answer{Status: http.StatusBadRequest, Body: sbi.Raw{ContentType: "application/problem+json", Content: text}}
}
