package worker

import (
	"context"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/nudm"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// SessionChanged implements namf.Callbacks.
func (r requests) SessionChanged(ctx context.Context, ref string, session uint8, status consumer.Status) error {
	if status.Resource != consumer.Released("").Resource {
		return nil
	}
	supi, mark := supiOf(ref)
	rec, err := r.pod.kept(ctx, supi)
	if err != nil {
		return err
	}
	s := rec.Session(session)
	if s == nil {
		return &namf.Refused{Cause: namf.ContextNotFound, Detail: "the UE has no such PDU session"}
	}
	if _, is := record.UnmarkContext(s.Context); is != mark { // the identity is another's by now
		return &namf.Refused{Cause: namf.ContextNotFound, Detail: "the UE's PDU session of that identity is another one"}
	}
	return r.tell(ctx, supi, procedure.SessionEnded{Session: session, Context: s.Context})
}

// PolicyChanged implements namf.Callbacks.
func (r requests) PolicyChanged(ctx context.Context, ref string, change npcf.Decision) error {
	e := procedure.PolicyChanged{RFSP: change.RFSP}
	if change.AMBR != nil {
		e.Uplink, e.Downlink = uint64(change.AMBR.Uplink), uint64(change.AMBR.Downlink)
	}
	return r.policy(ctx, ref, e)
}

// PolicyEnded implements namf.Callbacks.
func (r requests) PolicyEnded(ctx context.Context, ref string, _ npcf.Termination) error {
	return r.policy(ctx, ref, procedure.PolicyChanged{Ended: true})
}

func (r requests) policy(ctx context.Context, ref string, e procedure.PolicyChanged) error {
	supi, _ := supiOf(ref)
	_, err := r.ask(ctx, supi, func(t procedure.Token) procedure.Event { e.From = t; return e })
	return err
}

// Deregister implements namf.Callbacks.
func (r requests) Deregister(ctx context.Context, ref string, d nudm.Deregistration) error {
	e := procedure.End{Why: procedure.Elsewhere}
	switch {
	case d.Reason == "UE_REGISTRATION_AREA_CHANGE":
		e.Why = procedure.Moved
	case d.Reason == "REREGISTRATION_REQUIRED":
		e.Why = procedure.Again
	case d.Withdrawn():
		e.Why = procedure.Withdrawn
	}
	supi, _ := supiOf(ref)
	_, err := r.ask(ctx, supi, func(t procedure.Token) procedure.Event { e.From = t; return e })
	return err
}

// SubscriptionChanged implements namf.Callbacks.
func (r requests) SubscriptionChanged(ctx context.Context, ref string, _ nudm.Change) error {
	supi, _ := supiOf(ref)
	return r.tell(ctx, supi, procedure.SubscriptionChanged{})
}

// HandedOver implements namf.Callbacks: no UE is handed over to another AMF set.
func (requests) HandedOver(context.Context, string, namf.HandoverNotification) error { return errNoUE }

// AMFChanged implements namf.Callbacks: nothing is subscribed to.
func (requests) AMFChanged(context.Context, namf.StatusChange) error { return nil }
