package nudm

import (
	"context"
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
}

// Subscribe asks to be told of changes of a subscription. The URI that it gives is for Unsubscribe.
func (c *Client) Subscribe(ctx context.Context, s Subscription) (uri string, err error) {
	return c.SubscribeTo(ctx, s.SUPI, SubscriptionData{
		NFInstanceID: s.SMFInstanceID, Callback: s.CallbackURI, Monitored: []string{SubscriberPath(s.SUPI) + "/sm-data"}, SNSSAI: &s.SNSSAI, DNN: s.DNN, Expires: s.Expires,
	})
}

// SubscriberPath is the path of what the UDM has of a subscriber (Nudm_SDM).
func SubscriberPath(supi string) string { return "/nudm-sdm/v2/" + url.PathEscape(supi) }

// SubscribeTo asks to be told of changes of some of a subscriber's data (TS 29.503 5.2.2.3.2).
func (c *Client) SubscribeTo(ctx context.Context, supi string, s SubscriptionData) (uri string, err error) {
	const operation = "Subscribe"
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: service(sdm), Path: SubscriberPath(supi) + "/sdm-subscriptions", JSON: s,
	})
	if err != nil {
		return "", err
	}
	if uri = reply.Location(); uri == "" {
		return "", &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	return uri, nil
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
