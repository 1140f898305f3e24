package shard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
)

// Requests are what others ask of a shard, wherever it is held: the caller has found the pod that holds it.
type Requests struct {
	pod  *Pod
	name string
}

// Requests of a shard.
func (p *Pod) Requests(shard string) *Requests { return &Requests{pod: p, name: shard} }

var (
	_ nsmf.Handler   = (*Requests)(nil)
	_ nsmf.Callbacks = (*Requests)(nil)
)

// errElsewhere: the shard is held elsewhere, or by nobody for a moment.
func errElsewhere(name string) error {
	return &nsmf.Refused{Cause: nsmf.NFCongestion, Detail: fmt.Sprintf("shard %s moves to another pod", name), RetryAfter: time.Second}
}

// ask delivers an event that waits for a reply.
func (r *Requests) ask(ctx context.Context, deliver func(*Shard, procedure.Token)) (any, error) {
	s := r.pod.Held(r.name)
	if s == nil {
		return nil, errElsewhere(r.name)
	}
	replies := make(chan any, 1)
	token := r.pod.tokens.Add(func(body any) { replies <- body })
	defer func() { _ = r.pod.tokens.Forget(token) }()
	busy := func() {
		replies <- procedure.Failed{Status: http.StatusServiceUnavailable, Cause: string(nsmf.NFCongestion), Detail: "too many requests wait for the shard", RetryAfter: 1}
	}
	if !s.ask(func() { deliver(s, token) }, busy) {
		return nil, errElsewhere(r.name)
	}
	select {
	case body := <-replies:
		if f, ok := body.(procedure.Failed); ok {
			return nil, refused(f)
		}
		return body, nil
	case <-s.ctx.Done(): // the lease has gone: what was asked may be done by who has it now
		return nil, errElsewhere(r.name)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func refused(f procedure.Failed) error {
	return &nsmf.Refused{
		Cause: nsmf.Cause(f.Cause), Detail: f.Detail, N1: f.N1, N2: f.N2, N2Type: nsmf.N2Type(f.N2Type), RetryAfter: time.Duration(f.RetryAfter) * time.Second,
	}
}

// Create implements nsmf.Handler.
func (r *Requests) Create(ctx context.Context, c *nsmf.Create) (*nsmf.Created, error) {
	emergency := c.Request == nsmf.InitialEmergency || c.Request == nsmf.ExistingEmergency
	supi := c.SUPI
	if emergency && (supi == "" || c.Unauthenticated) { // a SUPI that nobody has proved is another's: the session is of the equipment
		supi = c.PEI
	}
	if supi == "" || c.SNSSAI == nil {
		return nil, &nsmf.Refused{Cause: nsmf.SubscriptionDenied, Detail: "of a session for emergency services supi or pei, and sNssai, have to be there"}
	}
	dnn := c.DNN
	if c.SelectedDNN != "" {
		dnn = c.SelectedDNN
	}
	sst, sd := sdOf(c.SNSSAI)
	event := procedure.Create{
		SUPI: supi, ID: c.SessionID, DNN: dnn, SST: sst, SD: sd, PLMN: c.AMF.ServingNetwork.MCC + c.AMF.ServingNetwork.MNC, RAT: c.Where.RAT, AMF: amfOf(c.AMF, c.Where),
		N1: c.N1, Existing: c.Request == nsmf.ExistingSession || c.Request == nsmf.ExistingEmergency, Emergency: emergency,
	}
	body, err := r.ask(ctx, func(s *Shard, t procedure.Token) {
		event.From = t
		s.runner.Deliver(record.Key(event.SUPI, event.ID), event)
	})
	if err != nil {
		return nil, err
	}
	made, ok := body.(procedure.Created)
	if !ok {
		return nil, unexpected(body)
	}
	return &nsmf.Created{Ref: made.Ref, SessionID: c.SessionID, SNSSAI: c.SNSSAI}, nil
}

// nonThreeGPP is AccessType of TS 29.571 5.4.3.1.
const nonThreeGPP = "NON_3GPP_ACCESS"

func amfOf(a nsmf.AMF, w nsmf.Where) record.AMF {
	out := record.AMF{InstanceID: a.InstanceID, StatusURI: a.StatusURI, Set: a.Set()}
	if w.Location != nil {
		out.TAC, out.Cell = w.Location.TAI.TACNumber(), w.Location.Cell
	}
	return out
}

func unexpected(body any) error {
	return &nsmf.Refused{Cause: nsmf.SystemFailure, Detail: fmt.Sprintf("an answer of another kind: %T", body)}
}

// toSession asks the session that an SM context reference names.
func (r *Requests) toSession(ctx context.Context, ref string, event func(procedure.Token) procedure.Event) (any, error) {
	seid := record.ParseRef(ref)
	if seid == 0 {
		return nil, &nsmf.Refused{Cause: nsmf.ContextNotFound, Detail: "no SM context has a reference like this"}
	}
	return r.ask(ctx, func(s *Shard, t procedure.Token) { s.runner.DeliverTo(seid, event(t)) })
}

// Update implements nsmf.Handler.
func (r *Requests) Update(ctx context.Context, ref string, u *nsmf.Update) (*nsmf.Updated, error) {
	body, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event {
		return procedure.Update{
			From: t, Connection: procedure.ConnectionState(u.UpCnxState), Handover: procedure.HandoverState(u.HoState), ToBeSwitched: u.ToBeSwitched,
			FailedToBeSwitched: u.FailedToBeSwitched, Release: u.Release, Cause: u.Why.Cause, N1: u.N1, N2: u.N2, N2Type: n2.InfoType(u.N2Type),
			AMF: amfOf(u.AMF, u.Where), NonThreeGPP: u.Where.Access == nonThreeGPP,
			PLMN: u.AMF.ServingNetwork.MCC + u.AMF.ServingNetwork.MNC, RAT: u.Where.RAT,
		}
	})
	if err != nil {
		return nil, err
	}
	switch b := body.(type) {
	case procedure.Updated:
		return &nsmf.Updated{
			UpCnxState: nsmf.UpCnxState(b.Connection), HoState: nsmf.HoState(b.Handover), N1: b.N1, N2: b.N2, N2Type: nsmf.N2Type(b.N2Type), Cause: b.Cause,
		}, nil
	case procedure.Ended: // it asked for the session's end
		return &nsmf.Updated{}, nil
	}
	return nil, unexpected(body)
}

// Release implements nsmf.Handler.
func (r *Requests) Release(ctx context.Context, ref string, rel *nsmf.Release) error {
	_, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event { return procedure.Release{From: t, Cause: rel.Why.Cause} })
	return err
}

// Retrieve implements nsmf.Handler: there is no interworking with EPS, and no other SMF to move a context to.
func (r *Requests) Retrieve(context.Context, string, *nsmf.Retrieve) (*nsmf.Retrieved, error) {
	return nil, &nsmf.Refused{Cause: nsmf.NoEPS5GSContinuity, Detail: "sessions do not move to EPS"}
}

// tell an event that nobody waits for the outcome of.
func (r *Requests) tell(ref string, e procedure.Event) error {
	s, seid := r.pod.Held(r.name), record.ParseRef(ref)
	switch {
	case seid == 0:
		return &nsmf.Refused{Cause: nsmf.ContextNotFound}
	case s == nil || !s.ask(func() { s.runner.DeliverTo(seid, e) }, func() {}):
		return errElsewhere(r.name)
	}
	return nil
}

// TransferFailed implements nsmf.Callbacks.
func (r *Requests) TransferFailed(_ context.Context, ref string, f namf.Failure) error {
	return r.tell(ref, procedure.Unreachable{Cause: f.Cause})
}

// SubscriptionChanged implements nsmf.Callbacks.
func (r *Requests) SubscriptionChanged(ctx context.Context, ref string, _ nudm.Change) error {
	_, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event { return procedure.SubscriptionChanged{From: t} })
	return err
}

// PolicyChanged implements nsmf.Callbacks. What the change refers to and does not say, the PCF is asked for.
func (r *Requests) PolicyChanged(ctx context.Context, ref string, change npcf.Decision) (npcf.Report, error) {
	s := r.pod.Held(r.name)
	if s == nil {
		return npcf.Report{}, errElsewhere(r.name)
	}
	rec, err := r.record(ctx, ref)
	if err != nil {
		return npcf.Report{}, err
	}
	if partial(change) && s.pod.PCF != nil {
		bounded, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		if change, err = s.whole(bounded, rec.Policy, change); err != nil {
			return npcf.Report{}, &nsmf.Refused{Cause: nsmf.NFCongestion, Detail: "what the decision refers to cannot be had: " + err.Error(), RetryAfter: time.Second}
		}
	}
	event := procedure.PolicyChanged{}
	event.Decided, event.Flows, event.Ruling = s.decisionOf(rec.Slice, rec.DNN, change)
	body, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event {
		event.From = t
		return event
	})
	accepted, _ := body.(procedure.Accepted) // of an error it is nothing
	return reportOf(accepted.Failed), err
}

// record of the session that an SM context reference names, as the store has it.
func (r *Requests) record(ctx context.Context, ref string) (*record.Session, error) {
	seid := record.ParseRef(ref)
	if seid == 0 {
		return nil, &nsmf.Refused{Cause: nsmf.ContextNotFound, Detail: "no SM context has a reference like this"}
	}
	found, err := r.pod.Store.Find(ctx, sessionstore.Index{Kind: runner.IndexSEID, Value: record.Ref(seid)})
	switch {
	case errors.Is(err, sessionstore.ErrNotFound):
		return nil, &nsmf.Refused{Cause: nsmf.ContextNotFound, Detail: "there is no such SM context"}
	case err != nil:
		return nil, &nsmf.Refused{Cause: nsmf.NFCongestion, Detail: err.Error(), RetryAfter: time.Second}
	}
	octets, err := r.pod.Sealer.Open(found.Key, found.Value)
	if err != nil {
		return nil, err
	}
	return record.Decode(octets)
}

// PolicyEnded implements nsmf.Callbacks.
func (r *Requests) PolicyEnded(ctx context.Context, ref, _ string) error {
	_, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event { return procedure.PolicyEnded{From: t} })
	return err
}

// ChargingChanged implements nsmf.Callbacks.
func (r *Requests) ChargingChanged(ctx context.Context, ref string, n nchf.Notification) error {
	_, err := r.toSession(ctx, ref, func(t procedure.Token) procedure.Event {
		return procedure.ChargingChanged{From: t, Abort: n.Abort, RatingGroups: n.RatingGroups}
	})
	return err
}
