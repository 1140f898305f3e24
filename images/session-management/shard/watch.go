package shard

import (
	"context"
	"errors"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
)

// watch is a session's subscription at the UDM. uri is "" before there is one. It is known to this holder alone: the next one makes another within the
// hour, and this one ends by itself, or when the UDM tells of a session that is no more and hears so (404).
type watch struct{ uri string }

// watchRest is how long a UDM that did not subscribe is left alone.
const watchRest = 5 * time.Minute

// watchFor a session, or no more. Nobody waits for it.
func (s *Shard) watchFor(e procedure.TellSubscription) {
	if s.pod.UDM == nil {
		return
	}
	before := s.watches[e.CPSEID]
	if before == nil {
		before = &watch{}
	}
	if e.Gone {
		delete(s.watches, e.CPSEID)
		s.unsubscribe(before.uri)
		return
	}
	w := &watch{uri: before.uri}
	s.watches[e.CPSEID] = w
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, callTime)
		defer cancel()
		uri, now, err := s.subscribe(ctx, e)
		changed := (err == nil || unknown(err)) && s.changed(ctx, e, now)
		s.loop.Post(func() { s.watched(e, w, uri, err, changed) })
	}()
}

// watched: the UDM has answered, or not.
func (s *Shard) watched(e procedure.TellSubscription, w *watch, uri string, err error, changed bool) {
	if s.watches[e.CPSEID] != w { // the session has ended meanwhile, or another one is made
		s.unsubscribe(uri)
		return
	}
	var refused *sbi.Refused
	switch {
	case err == nil:
		s.unsubscribe(w.uri)
		w.uri = uri
	case errors.As(err, &refused):
		s.log.Warn("the UDM does not want to tell of changes of a subscription", "supi", e.To.SUPI, "err", err)
	default:
		s.log.Warn("the UDM does not tell of changes of a subscription yet: it is asked again", "supi", e.To.SUPI, "err", err)
		s.After(watchRest, func() {
			if s.watches[e.CPSEID] == w && s.May() {
				s.watchFor(e)
			}
		})
	}
	if changed {
		s.runner.DeliverTo(e.CPSEID, procedure.SubscriptionChanged{})
	}
}

func (s *Shard) subscribe(ctx context.Context, e procedure.TellSubscription) (uri string, now *nudm.Data, err error) {
	return s.pod.UDM.Subscribe(ctx, nudm.Subscription{
		SUPI: e.To.SUPI, SMFInstanceID: s.InstanceID, CallbackURI: nsmf.SubscriptionURI(s.URI, record.Ref(e.CPSEID)), SNSSAI: SNSSAI(e.To.SST, e.To.SD), DNN: e.To.DNN,
		Expires: e.Until.UTC().Truncate(time.Second),
	})
}

// changed says whether the subscription is another one than the session was last told, by what came with the answer to Subscribe. Where nothing did, it is
// asked for: behind Subscribe, so that there is no moment in which nobody looks.
func (s *Shard) changed(ctx context.Context, e procedure.TellSubscription, now *nudm.Data) bool {
	if now != nil {
		return subscriptionOf(now).Digest() != e.Known
	}
	sub, ok := s.subscription(ctx, e.To).(procedure.Subscription)
	return ok && !sub.Failed && sub.Digest() != e.Known
}

// unknown: the UDM has no such subscriber.
func unknown(err error) bool {
	var refused *sbi.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// unsubscribe where there is something to end.
func (s *Shard) unsubscribe(uri string) {
	if uri == "" {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, callTime)
		defer cancel()
		if err := s.pod.UDM.Unsubscribe(ctx, uri); err != nil {
			s.log.Debug("a subscription at the UDM is left to end by itself", "err", err)
		}
	}()
}
