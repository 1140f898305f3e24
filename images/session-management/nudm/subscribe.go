package nudm

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

// Subscription asks to be told of changes (SdmSubscription, TS 29.503 6.1.6.2.3).
type Subscription struct {
	SUPI string
	// SMFInstanceID is our own, CallbackURI where to tell.
	SMFInstanceID, CallbackURI string
	SNSSAI                     ts29571.SNSSAI
	DNN                        string
	// Expires is when it ends by itself; zero: the UDM decides.
	Expires time.Time
}

// SubscriptionData is SdmSubscription (TS 29.503 6.1.6.2.3), as SMF and AMF have it.
type SubscriptionData struct {
	NFInstanceID string `json:"nfInstanceId"`
	Callback     string `json:"callbackReference"`
	// Monitored are paths of resources, from the API's root on.
	Monitored []string        `json:"monitoredResourceUris"`
	SNSSAI    *ts29571.SNSSAI `json:"singleNssai,omitempty"`
	DNN       string          `json:"dnn,omitempty"`
	PLMN      *ts29571.PLMN   `json:"plmnId,omitempty"`
	// Expires is when it ends by itself; zero: the UDM decides.
	Expires time.Time `json:"expires,omitzero"`
	// Immediate wants the data with the answer, which UDMs do that have ImmediateReport among Features.
	Immediate bool   `json:"immediateReport,omitempty"`
	Features  string `json:"supportedFeatures,omitempty"`
}

// immediateReport is the feature of that name of Nudm_SDM (TS 29.503 6.1.8).
const immediateReport = "2"

// Subscribe asks to be told of changes of a subscription. The URI that it gives is for Unsubscribe. now is what the subscription says of the DNN
// as they begin to be told, nil where the UDM does not say so, or has nothing of it.
func (c *Client) Subscribe(ctx context.Context, s Subscription) (uri string, now *Data, err error) {
	uri, report, err := c.SubscribeTo(ctx, s.SUPI, SubscriptionData{
		NFInstanceID: s.SMFInstanceID, Callback: s.CallbackURI, Monitored: []string{SubscriberPath(s.SUPI) + "/sm-data"}, SNSSAI: &s.SNSSAI, DNN: s.DNN, Expires: s.Expires,
		Immediate: true, Features: immediateReport,
	})
	if err != nil || report.SM == nil {
		return uri, nil, err
	}
	if now, err = decodeData(report.SM, s.SNSSAI, s.DNN); err != nil { // it is asked for then
		return uri, nil, nil
	}
	return uri, now, nil
}

// Report has the sets of a subscriber's data that came with an answer (SubscriptionDataSets, TS 29.503 6.1.6.2.15), as they are written; nil: there is none.
type Report struct {
	SM json.RawMessage `json:"smData"`
}

// SubscriberPath is the path of what the UDM has of a subscriber (Nudm_SDM).
func SubscriberPath(supi string) string { return "/nudm-sdm/v2/" + url.PathEscape(supi) }

// SubscribeTo asks to be told of changes of some of a subscriber's data (TS 29.503 5.2.2.3.2). A report that cannot be read is none.
func (c *Client) SubscribeTo(ctx context.Context, supi string, s SubscriptionData) (uri string, report Report, err error) {
	const operation = "Subscribe"
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: service(sdm), Path: SubscriberPath(supi) + "/sdm-subscriptions", JSON: s,
	})
	if err != nil {
		return "", Report{}, err
	}
	if uri = reply.Location(); uri == "" {
		return "", Report{}, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	var answer struct {
		Report Report `json:"report"`
	}
	if err := reply.Into(&answer); err != nil {
		return uri, Report{}, nil
	}
	return uri, answer.Report, nil
}

// Unsubscribe ends a subscription. One that is not there any more has ended.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	return gone(c.sbi.Do(ctx, sbi.Call{
		Operation: "Unsubscribe", Method: http.MethodDelete, Service: service(sdm), URI: uri, Repeatable: true,
	}))
}

// gone takes 404 for the end that was asked for.
func gone(_ *sbi.Reply, err error) error {
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// Change is ModificationNotification (TS 29.503 6.1.6.2.21): what has changed is to be asked for.
type Change struct {
	// Resources are the URIs of what has changed.
	Resources []string
}

// ReadChange reads a notification of changes.
func ReadChange(req *http.Request) (Change, error) {
	content, err := sbi.ReadContent(req)
	if err != nil {
		return Change{}, err
	}
	items, err := sbi.Mandatory[[]struct {
		Resource string `json:"resourceId"`
	}](content, "notifyItems")
	if err != nil {
		return Change{}, err
	}
	var out Change
	for _, i := range items {
		out.Resources = append(out.Resources, i.Resource)
	}
	return out, nil
}
