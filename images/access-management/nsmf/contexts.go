package nsmf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
	smf "core5g.dev/core5g/images/session-management/nsmf"
)

const path = "/" + smf.ServiceName + "/v1/sm-contexts"

// Client calls SMFs.
type Client struct{ sbi *sbi.Client }

// NewClient returns a client that makes its calls with c.
func NewClient(c *sbi.Client) *Client { return &Client{c} }

// SMF says which one a session is made at: one that serves the slice and the DNN, and where they are named, the instance,
// or else one of the set. All zero means any.
type SMF struct {
	SNSSAI        *ts29571.SNSSAI
	DNN           string
	Instance, Set string
}

func (s SMF) service() sbi.Service {
	return sbi.Service{Type: "SMF", Name: smf.ServiceName, SNSSAI: s.SNSSAI, DNN: s.DNN, Instance: s.Instance, Set: s.Set}
}

// callback says to whom of the AMF set the SMF may send notifications when this AMF is gone (TS 29.500 6.12.5).
func callback(guami *ts29571.GUAMI) http.Header {
	if guami == nil || guami.Set() == "" {
		return nil
	}
	b := sbi.Binding{Level: sbi.BoundToSet, Set: guami.Set(), Scope: "callback"}
	return http.Header{sbi.BindingHeader: {b.String()}}
}

// Create makes a context at an SMF (TS 29.502 5.2.2.2). Where nobody knows whether it did, the same Create, made again,
// takes the place of the first.
func (c *Client) Create(ctx context.Context, at SMF, r *smf.Create) (sbi.Bound, *smf.Created, error) {
	const operation = "CreateSMContext"
	content, parts, err := r.Write()
	if err != nil {
		return sbi.Bound{}, nil, &sbi.NotSent{Operation: operation, Err: err}
	}
	reply, err := c.sbi.Do(ctx, sbi.Call{
		Operation: operation, Method: http.MethodPost, Service: at.service(), Path: path, Header: callback(r.AMF.GUAMI), JSON: content, Parts: parts,
	})
	if err != nil {
		return sbi.Bound{}, nil, err
	}
	made := reply.Bound()
	if made.URI == "" {
		return made, nil, &sbi.Unknown{Operation: operation, Err: errors.New("the answer has no Location")}
	}
	created, err := smf.ReadCreated(reply.Message)
	if err != nil {
		return made, nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	made.URI = plain(made.URI)
	created.Ref = made.URI[strings.LastIndexByte(made.URI, '/')+1:]
	return made, created, nil
}

// plain takes what free5GC's SMF writes before its references out of a URI: it is called by them without.
func plain(uri string) string { return strings.ReplaceAll(uri, "urn:uuid:urn:uuid:", "urn:uuid:") }

// Update changes a context (TS 29.502 5.2.2.3). The context that comes back is the one to keep. Where nobody knows what
// became of it, it is asked for once more at another of the set, unless it carries a message of the UE, which the UE
// repeats itself.
func (c *Client) Update(ctx context.Context, at sbi.Bound, r *smf.Update) (*smf.Updated, sbi.Bound, error) {
	const operation = "UpdateSMContext"
	content, parts, err := r.Write()
	if err != nil {
		return nil, at, &sbi.NotSent{Operation: operation, Err: err}
	}
	reply, at, err := c.about(ctx, at, operation, "/modify", content, parts, callback(r.AMF.GUAMI), len(r.N1) == 0)
	if err != nil {
		return nil, at, err
	}
	updated, err := smf.ReadUpdated(reply.Message)
	if err != nil {
		return nil, at, &sbi.Unknown{Operation: operation, Err: err}
	}
	return updated, at, nil
}

// Release ends a context (TS 29.502 5.2.2.4). One that the SMF does not know any more has ended.
func (c *Client) Release(ctx context.Context, at sbi.Bound, r *smf.Release) error {
	const operation = "ReleaseSMContext"
	content, parts, err := r.Write()
	if err != nil {
		return &sbi.NotSent{Operation: operation, Err: err}
	}
	_, _, err = c.about(ctx, at, operation, "/release", content, parts, nil, true)
	var refused *sbi.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// Retrieve asks what a context holds (TS 29.502 5.2.2.6).
func (c *Client) Retrieve(ctx context.Context, at sbi.Bound, r *smf.Retrieve) (*smf.Retrieved, error) {
	const operation = "RetrieveSMContext"
	content, parts, err := r.Write()
	if err != nil {
		return nil, &sbi.NotSent{Operation: operation, Err: err}
	}
	reply, _, err := c.about(ctx, at, operation, "/retrieve", content, parts, nil, true)
	if err != nil {
		return nil, err
	}
	retrieved, err := smf.ReadRetrieved(reply.Message)
	if err != nil {
		return nil, &sbi.Unknown{Operation: operation, Err: err}
	}
	return retrieved, nil
}

func (c *Client) about(ctx context.Context, at sbi.Bound, operation, suffix string, content json.RawMessage, parts []sbi.Part, header http.Header, repeatable bool) (*sbi.Reply, sbi.Bound, error) {
	call := at.Call(operation, http.MethodPost, sbi.Service{Type: "SMF", Name: smf.ServiceName})
	call.URI += suffix
	call.JSON, call.Parts, call.Repeatable = content, parts, repeatable
	for name, values := range header {
		if call.Header == nil {
			call.Header = http.Header{}
		}
		call.Header[name] = values
	}
	reply, err := c.sbi.Do(ctx, call)
	if err != nil {
		return nil, at, err
	}
	return reply, at.Moved(reply, suffix), nil
}

// Refusal is what an SMF says that does not do what it was asked for.
type Refusal struct {
	Status int
	smf.Refused
}

// NotFound: the SMF has no such context, so that the PDU session has ended.
func (r Refusal) NotFound() bool {
	return r.Cause == smf.ContextNotFound || r.Status == http.StatusNotFound && r.Cause == ""
}

// RefusalOf takes a refusal apart; false where the error is none. N1 is for the UE, nil where the SMF has none for it.
func RefusalOf(err error) (Refusal, bool) {
	var refused *sbi.Refused
	if !errors.As(err, &refused) {
		return Refusal{}, false
	}
	out := Refusal{Status: refused.Status, Refused: smf.ReadRefused(refused.Message)}
	out.RetryAfter = refused.RetryAfter
	return out, true
}
