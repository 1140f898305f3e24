package nchf

import (
	"context"
	"errors"
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

const (
	serviceName = "nchf-convergedcharging"
	collection  = "/nchf-convergedcharging/v3/chargingdata"
)

// Client calls CHFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

// CHF says which one: all zero means any.
type CHF struct {
	InstanceID, Set string
}

func (h CHF) service() sbi.Service {
	return sbi.Service{Type: "CHF", Name: serviceName, Instance: h.InstanceID, Set: h.Set}
}

// Charging is what a CHF has made of a session.
type Charging struct {
	// URI is that of the resource, for the operations on it.
	URI string
	// CHF that answered.
	CHF    CHF
	Answer Answer
}

// Create opens charging for a session (TS 32.290 5.3.2.2). free5GC's CHF grants nothing yet: quotas come with the first
// Update.
func (c *Client) Create(ctx context.Context, h CHF, r *Report) (*Charging, error) {
	const operation = "ChargingDataCreate"
	reply, err := c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodPost, Service: h.service(), Path: collection, JSON: r.content()})
	if err != nil {
		return nil, err
	}
	out := &Charging{URI: reply.Location(), CHF: CHF{reply.Endpoint.Instance, reply.Endpoint.Set}}
	if out.URI == "" {
		return nil, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	if out.Answer, err = decodeAnswer(reply.Message.JSON); err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

// Update reports usage and asks for more (TS 32.290 5.3.2.3).
func (c *Client) Update(ctx context.Context, h CHF, uri string, r *Report) (Answer, error) {
	const operation = "ChargingDataUpdate"
	reply, err := c.sbi.Do(ctx, sbi.Call{Operation: operation, Method: http.MethodPost, Service: h.service(), URI: uri + "/update", JSON: r.content()})
	if err != nil {
		return Answer{}, err
	}
	out, err := decodeAnswer(reply.Message.JSON)
	if err != nil {
		return Answer{}, &sbi.Unknown{Operation: operation, Err: err}
	}
	return out, nil
}

// Release reports the last usage and ends charging (TS 32.290 5.3.2.4). A resource that is not there any more has ended.
// free5GC's CHF 1.1.0 answers 400 without a word when it has done it.
func (c *Client) Release(ctx context.Context, h CHF, uri string, r *Report) error {
	_, err := c.sbi.Do(ctx, sbi.Call{Operation: "ChargingDataRelease", Method: http.MethodPost, Service: h.service(), URI: uri + "/release", JSON: r.content()})
	var refused *sbi.Refused
	if errors.As(err, &refused) && (refused.Status == http.StatusNotFound ||
		refused.Status == http.StatusBadRequest && len(refused.Message.JSON) == 0) {
		return nil
	}
	return err
}
