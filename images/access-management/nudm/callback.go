package nudm

import (
	"context"
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	shared "core5g.dev/core5g/images/session-management/nudm"
)

// Subscription asks to be told of changes of what a registration needs (SdmSubscription, TS 29.503 6.1.6.2.3).
type Subscription struct {
	SUPI string
	// AMFInstanceID is our own, CallbackURI where to tell.
	AMFInstanceID, CallbackURI string
	Serving                    ts29571.PLMN
	// Expires is when it ends by itself; zero: the UDM decides.
	Expires time.Time
}

// Subscribe asks to be told of changes (TS 29.503 5.2.2.3.2). The URI that it gives is for Unsubscribe.
func (c *Client) Subscribe(ctx context.Context, s Subscription) (uri string, err error) {
	base := shared.SubscriberPath(s.SUPI)
	data := shared.SubscriptionData{
		NFInstanceID: s.AMFInstanceID, Callback: s.CallbackURI, Monitored: []string{base + "/am-data", base + "/smf-select-data", base + "/nssai"}, Expires: s.Expires,
	}
	if s.Serving.MCC != "" {
		data.PLMN = &s.Serving
	}
	uri, _, err = c.shared.SubscribeTo(ctx, s.SUPI, data)
	return uri, err
}

// Unsubscribe ends a subscription. One that is not there any more has ended.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	return c.shared.Unsubscribe(ctx, uri)
}

// Change is a notification of changes: what has changed is to be asked for.
type Change = shared.Change

// ReadChange reads a notification of changes (TS 29.503 6.1.6.2.21).
func ReadChange(req *http.Request) (Change, error) { return shared.ReadChange(req) }

// Deregistration is DeregistrationData (TS 29.503 6.2.6.2.5): the AMF is to forget a UE.
type Deregistration struct {
	// Reason is UE_INITIAL_REGISTRATION or UE_REGISTRATION_AREA_CHANGE where another AMF serves the UE,
	// SUBSCRIPTION_WITHDRAWN where nobody is to.
	Reason string
	// Access is 3GPP_ACCESS or NON_3GPP_ACCESS.
	Access string
	// OldGUAMI is the one that it is about, nil where it is not said.
	OldGUAMI *ts29571.GUAMI
}

// Withdrawn reports whether the UE is to be deregistered and told so; otherwise another AMF serves it, and it is forgotten
// without a word.
func (d Deregistration) Withdrawn() bool {
	return slices.Contains([]string{"SUBSCRIPTION_WITHDRAWN", "REREGISTRATION_REQUIRED"}, d.Reason)
}

// ReadDeregistration reads a notification of deregistration (TS 29.503 5.3.2.3.2).
func ReadDeregistration(req *http.Request) (Deregistration, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Deregistration{}, err
	}
	f := sbi.Reading(content, sbi.Message{})
	var reason, access sbi.Text
	var out Deregistration
	sbi.Required(f, "deregReason", &reason)
	sbi.Required(f, "accessType", &access)
	sbi.Member(f, "oldGuami", &out.OldGUAMI)
	out.Reason, out.Access = string(reason), string(access)
	return out, f.Err()
}
