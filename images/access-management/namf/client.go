package namf

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// Client tells others what they have asked for, and asks other AMFs. Errors are a *sbi.Refused, a *sbi.NotSent, or a
// *sbi.Unknown.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

// notify sends a notification. Who does not know what it is about any more answers 404, a *sbi.Refused.
func (c *Client) notify(ctx context.Context, operation, callback, uri string, v fielded) error {
	f := sbi.Writing()
	v.fields(f)
	text, parts, err := f.Written()
	if err != nil {
		return &sbi.NotSent{Operation: operation, Err: err}
	}
	_, err = c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, URI: uri, Header: http.Header{"3gpp-Sbi-Callback": {callback}}, JSON: text, Parts: parts,
	})
	return err
}

// transferFailure is N1N2MsgTxfrFailureNotification (TS 29.518 6.1.6.2.31).
type transferFailure struct{ consumer.Failure }

func (t *transferFailure) fields(f *sbi.Fields) {
	sbi.Required(f, "cause", &t.Cause)
	sbi.Required(f, "n1n2MsgDataUri", &t.URI)
	sbi.Member(f, "retryAfter", &t.RetryAfter)
}

// TransferFailed tells who asked for a Transfer that the UE was not reached, at its FailureURI; URI of the failure is that
// of the message (TS 29.518 5.2.2.3.2).
func (c *Client) TransferFailed(ctx context.Context, uri string, failure consumer.Failure) error {
	return c.notify(ctx, "N1N2TransferFailureNotification", "Namf_Communication_onN1N2TransferFailure", uri, &transferFailure{failure})
}

// N1Message is one of a UE that somebody has subscribed to (N1MessageNotification, TS 29.518 6.1.6.2.13).
type N1Message struct {
	SubscriptionID string
	Class          string
	Content        []byte
	CorrelationID  string
	GUAMI          *ts29571.GUAMI
}

func (n *N1Message) fields(f *sbi.Fields) {
	sbi.Member(f, "n1NotifySubscriptionId", &n.SubscriptionID)
	f.Object("n1MessageContainer", func(f *sbi.Fields) {
		sbi.Required(f, "n1MessageClass", &n.Class)
		f.Binary("n1MessageContent", "n1msg", sbi.NAS, &n.Content)
	})
	sbi.Member(f, "lcsCorrelationId", &n.CorrelationID)
	sbi.Member(f, "guami", &n.GUAMI)
}

// NotifyN1 hands a message of a UE on (TS 29.518 5.2.2.3.5).
func (c *Client) NotifyN1(ctx context.Context, uri string, n *N1Message) error {
	return c.notify(ctx, "N1MessageNotify", "Namf_Communication_N1MessageNotify", uri, n)
}

// N2Information is of an access network, for a UE or for none (N2InformationNotification, TS 29.518 6.1.6.2.15).
type N2Information struct {
	SubscriptionID string
	Class          string
	N2             N2
}

func (n *N2Information) fields(f *sbi.Fields) {
	sbi.Required(f, "n2NotifySubscriptionId", &n.SubscriptionID)
	f.Object("n2InfoContainer", func(f *sbi.Fields) {
		t := Transfer{N2Class: n.Class, N2: n.N2}
		t.n2Fields(f)
		n.Class, n.N2 = t.N2Class, t.N2
	})
}

// NotifyN2 hands N2 information on (TS 29.518 5.2.2.3.6, 5.2.2.4.4).
func (c *Client) NotifyN2(ctx context.Context, uri string, n *N2Information) error {
	return c.notify(ctx, "N2InfoNotify", "Namf_Communication_N2InfoNotify", uri, n)
}

// HandoverNotification tells the source AMF that the UE has come (N2InformationNotification, TS 29.518 5.2.2.2.5).
type HandoverNotification struct {
	// SubscriptionID is what the source AMF has in the UE context.
	SubscriptionID string
	// Reason is HANDOVER_COMPLETED.
	Reason string
	// Release are sessions that the target did not take.
	Release []uint8
}

func (h *HandoverNotification) fields(f *sbi.Fields) {
	ids := make([]sessionID, len(h.Release))
	for n, id := range h.Release {
		ids[n] = sessionID(id)
	}
	sbi.Required(f, "n2NotifySubscriptionId", &h.SubscriptionID)
	sbi.Member(f, "notifyReason", &h.Reason)
	sbi.Member(f, "toReleaseSessionList", &ids)
	if f.Reads() {
		h.Release = nil
		for _, id := range ids {
			h.Release = append(h.Release, uint8(id))
		}
	}
}

// NotifyHandover tells the source AMF that the UE has come.
func (c *Client) NotifyHandover(ctx context.Context, uri string, h *HandoverNotification) error {
	return c.notify(ctx, "N2InfoNotify", "Namf_Communication_N2InfoNotify", uri, h)
}

// StatusChange is AmfStatusChangeNotification (TS 29.518 6.1.6.2.3).
type StatusChange struct {
	Statuses []Status
}

// Status of GUAMIs (AmfStatusInfo, TS 29.518 6.1.6.2.4).
type Status struct {
	GUAMIs []ts29571.GUAMI
	// Available: they are again. Otherwise the AMF is going, or was removed.
	Available bool
	// TargetRemoval is the name of the AMF that takes the UEs of one that is going, TargetFailure of one that failed.
	TargetRemoval, TargetFailure string
}

func (s *StatusChange) fields(f *sbi.Fields) {
	sbi.Objects(f, "amfStatusInfoList", &s.Statuses, func(f *sbi.Fields, s *Status) {
		change := "AMF_UNAVAILABLE"
		if s.Available {
			change = "AMF_AVAILABLE"
		}
		sbi.Required(f, "guamiList", &s.GUAMIs)
		sbi.Required(f, "statusChange", &change)
		sbi.Member(f, "targetAmfRemoval", &s.TargetRemoval)
		sbi.Member(f, "targetAmfFailure", &s.TargetFailure)
		if s.Available = change == "AMF_AVAILABLE"; !s.Available && change != "AMF_UNAVAILABLE" {
			f.Fail(sbi.BadRequest("MANDATORY_IE_INCORRECT", "statusChange: write AMF_UNAVAILABLE or AMF_AVAILABLE"))
		}
	})
	if len(s.Statuses) == 0 {
		f.Fail(sbi.BadRequest("MANDATORY_IE_MISSING", "amfStatusInfoList: write one AmfStatusInfo at least"))
	}
}

// NotifyStatus tells a subscriber that GUAMIs have become unavailable, or available (TS 29.518 5.2.2.5.3).
func (c *Client) NotifyStatus(ctx context.Context, uri string, s *StatusChange) error {
	return c.notify(ctx, "AMFStatusChangeNotify", "Namf_Communication_AMFStatusChangeNotify", uri, s)
}

// Reports is AmfEventNotification (TS 29.518 6.2.6.2.4).
type Reports struct {
	CorrelationID string
	Reports       []Report
}

func (r *Reports) fields(f *sbi.Fields) {
	sbi.Member(f, "notifyCorrelationId", &r.CorrelationID)
	sbi.Objects(f, "reportList", &r.Reports, func(f *sbi.Fields, r *Report) { r.fields(f) })
}

// NotifyEvents sends reports to a subscriber (TS 29.518 5.3.2.4).
func (c *Client) NotifyEvents(ctx context.Context, uri string, r *Reports) error {
	return c.notify(ctx, "EventNotify", "Namf_EventExposure_Notify", uri, r)
}

// AMF says which one: by a GUAMI that it serves, its instance, or else its set.
type AMF struct {
	GUAMI         *ts29571.GUAMI
	Instance, Set string
}

func (a AMF) service() sbi.Service {
	return sbi.Service{Type: "AMF", Name: CommunicationService, GUAMI: a.GUAMI, Instance: a.Instance, Set: a.Set}
}

// ask makes a request about a UE of another AMF.
func (c *Client) ask(ctx context.Context, operation, method string, at AMF, path string, v, into fielded) (*sbi.Reply, error) {
	f := sbi.Writing()
	v.fields(f)
	text, parts, err := f.Written()
	if err != nil {
		return nil, &sbi.NotSent{Operation: operation, Err: err}
	}
	return c.answered(ctx, sbi.Call{Operation: operation, Method: method, Service: at.service(), Path: path, JSON: text, Parts: parts}, into)
}

func (c *Client) answered(ctx context.Context, call sbi.Call, into fielded) (*sbi.Reply, error) {
	reply, err := c.sbi.Do(ctx, call)
	if err != nil || into == nil {
		return reply, err
	}
	content, err := reply.Message.Content()
	if err != nil {
		return reply, &sbi.Unknown{Operation: call.Operation, Err: err}
	}
	f := sbi.Reading(content, reply.Message)
	if into.fields(f); f.Err() != nil {
		return reply, &sbi.Unknown{Operation: call.Operation, Err: f.Err()}
	}
	return reply, nil
}

func pathOf(ue string) string { return contexts + "/" + url.PathEscape(ue) }

// TransferContext asks the AMF that served a UE for it (TS 29.518 5.2.2.2.1). ue is 5g-guti-... or imsi-...
func (c *Client) TransferContext(ctx context.Context, at AMF, ue string, t *TransferContext) (*TransferredContext, error) {
	var out TransferredContext
	if _, err := c.ask(ctx, "UEContextTransfer", http.MethodPost, at, pathOf(ue)+"/transfer", t, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// UpdateRegistration tells the AMF that served a UE whether it is here now (TS 29.518 5.2.2.2.2).
func (c *Client) UpdateRegistration(ctx context.Context, at AMF, ue string, u *RegistrationUpdate) error {
	_, err := c.ask(ctx, "RegistrationStatusUpdate", http.MethodPost, at, pathOf(ue)+"/transfer-update", u, nil)
	return err
}

// CreateContext hands a UE over to another AMF (TS 29.518 5.2.2.2.3). RefusalOf gives the container of a refusal.
func (c *Client) CreateContext(ctx context.Context, at AMF, ue string, r *CreateContext) (*CreatedContext, sbi.Bound, error) {
	var out CreatedContext
	reply, err := c.ask(ctx, "CreateUEContext", http.MethodPut, at, pathOf(ue), r, &out)
	if err != nil {
		return nil, sbi.Bound{}, err
	}
	return &out, reply.Bound(), nil
}

// ReleaseContext takes a handover back (TS 29.518 5.2.2.2.4). A context that is not there any more has ended.
func (c *Client) ReleaseContext(ctx context.Context, at sbi.Bound, r *ReleaseContext) error {
	const operation = "ReleaseUEContext"
	call := at.Call(operation, http.MethodPost, sbi.Service{Type: "AMF", Name: CommunicationService})
	f := sbi.Writing()
	r.fields(f)
	var err error
	if call.JSON, call.Parts, err = f.Written(); err != nil {
		return &sbi.NotSent{Operation: operation, Err: err}
	}
	call.URI, call.Repeatable = call.URI+"/release", true
	_, err = c.answered(ctx, call, nil)
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// RefusalOf takes the refusal of another AMF apart; false where the error is none.
func RefusalOf(err error) (Refused, bool) {
	var refused *sbi.Refused
	if !errors.As(err, &refused) {
		return Refused{}, false
	}
	out := Refused{Cause: Cause(refused.Cause), Detail: refused.Detail, RetryAfter: refused.RetryAfter}
	var target N2
	if content, err := refused.Message.Content(); err == nil {
		f := sbi.Reading(content, refused.Message)
		target.member(f, "targetToSourceFailureData")
		sbi.Member(f, "ngapCause", &out.NGAP)
	}
	out.Target = target.Content
	return out, true
}

// SubscribeStatus asks another AMF to tell when it goes; the resource is for UnsubscribeStatus.
func (c *Client) SubscribeStatus(ctx context.Context, at AMF, s *StatusSubscription) (sbi.Bound, error) {
	reply, err := c.ask(ctx, "AMFStatusChangeSubscribe", http.MethodPost, at, statuses, s, nil)
	if err != nil {
		return sbi.Bound{}, err
	}
	return reply.Bound(), nil
}

// UnsubscribeStatus ends that. A subscription that is not there any more has ended.
func (c *Client) UnsubscribeStatus(ctx context.Context, at sbi.Bound) error {
	call := at.Call("AMFStatusChangeUnSubscribe", http.MethodDelete, sbi.Service{Type: "AMF", Name: CommunicationService})
	call.Repeatable = true
	_, err := c.answered(ctx, call, nil)
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}
