package worker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/nf/sbi"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// How long others may take. An SMF has a UPF to ask.
const (
	callTime    = 3 * time.Second
	sessionTime = 4 * time.Second
)

// Do implements runner.World.
func (s *Shard) Do(e procedure.Effect, done func(procedure.Event)) {
	switch e := e.(type) {
	case procedure.Reply:
		s.pod.tokens.Answer(e.To, e.Body)
	case procedure.AskChallenge:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.challenge(ctx, e) })
	case procedure.AskConfirm:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.confirm(ctx, e) })
	case procedure.AskRecording:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.recording(ctx, e) })
	case procedure.AskSubscription:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.subscription(ctx, e) })
	case procedure.AskPolicy:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.policy(ctx, e) })
	case procedure.AskSession:
		s.call(sessionTime, done, func(ctx context.Context) procedure.Event { return s.session(ctx, e) })
	case procedure.TellUnreached:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { s.unreached(ctx, e); return nil })
	case procedure.AskOther:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.other(ctx, e) })
	case procedure.TellOther:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { s.told(ctx, e); return nil })
	case procedure.AskStatusHeard:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { return s.statusHeard(ctx, e) })
	case procedure.TellReports:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { s.reports(ctx, e); return nil })
	case procedure.TellLeft:
		s.call(callTime, done, func(ctx context.Context) procedure.Event { s.left(ctx, e); return nil })
	default:
		s.log.Error("an effect that this program does not know")
	}
}

// call somebody outside of the loop. What cannot be begun in time, since too much is under way, was not sent; nor is what has waited beyond the lease's end.
func (s *Shard) call(limit time.Duration, done func(procedure.Event), f func(context.Context) procedure.Event) {
	s.loop.Errand(s.pod.running.Go, func() func() {
		ctx, cancel := context.WithTimeout(s.ctx, limit)
		defer cancel()
		select {
		case s.pod.calls <- struct{}{}:
			defer func() { <-s.pod.calls }()
		case <-ctx.Done(): // whom f asks it does not reach any more
		}
		if !s.May() {
			cancel()
		}
		answer := f(ctx)
		return func() { done(answer) }
	})
}

// outcome of a call by its error, and the cause of a refusal.
func outcome(err error) (procedure.Outcome, string) {
	var refused *sbi.Refused
	var notSent *sbi.NotSent
	switch {
	case err == nil:
		return procedure.Done, ""
	case errors.As(err, &refused) && (refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusTooManyRequests): // not now
		return procedure.Unsent, refused.Cause
	case errors.As(err, &refused) && refused.Status >= http.StatusInternalServerError: // it does not know either
		return procedure.Unknown, refused.Cause
	case errors.As(err, &refused):
		return procedure.Refused, refused.Cause
	case errors.As(err, &notSent):
		return procedure.Unsent, ""
	}
	return procedure.Unknown, ""
}

// unreached: the SMF hears that the UE has not come.
func (s *Shard) unreached(ctx context.Context, e procedure.TellUnreached) {
	err := s.pod.Callbacks.TransferFailed(ctx, e.URI, consumer.Failure{Cause: e.Cause, URI: e.URI})
	if err != nil {
		s.complain("an SMF has not heard that a UE was not reached", err)
	}
}
