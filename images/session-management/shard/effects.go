package shard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/namf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/nsmf"
	"core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

// How long others may take. Callers of ours have an answer within a second and a half.
const (
	storeTime = 2 * time.Second
	callTime  = 3 * time.Second
	retry     = time.Second
)

// Now implements runner.World.
func (s *Shard) Now() time.Time { return time.Now() }

// After implements runner.World.
func (s *Shard) After(d time.Duration, f func()) {
	time.AfterFunc(d, func() { s.loop.Post(f) })
}

// Random implements runner.World.
func (s *Shard) Random(b []byte) { _, _ = rand.Read(b) } // never fails

// Configuration implements runner.World.
func (s *Shard) Configuration() *configuration.Snapshot { return s.pod.config.Load() }

// Live implements runner.World.
func (s *Shard) Live() map[string]configuration.Live { return s.live }

// Store implements runner.World.
func (s *Shard) Store(f func(context.Context, sessionstore.Store) func()) {
	s.loop.Errand(spawn, func() func() {
		s.pod.writes <- struct{}{}
		defer func() { <-s.pod.writes }()
		ctx, cancel := context.WithTimeout(s.ctx, storeTime)
		defer cancel()
		return f(ctx, s.pod.Store)
	})
}

func spawn(f func()) { go f() }

// Waiting implements runner.World.
func (s *Shard) Waiting(t procedure.Token) bool { return s.pod.tokens.Has(t) }

// Handled implements runner.World.
func (s *Shard) Handled(h runner.Handled) { s.trace(h) }

// Ended implements runner.World.
func (s *Shard) Ended(r procedure.Result) {
	if r.Why != "" {
		s.log.Warn("a PDU session was refused", "supi", r.SUPI, "slice", r.Slice, "dnn", r.DNN, "why", r.Why)
	}
	s.pod.measures.ended(r, s.Configuration())
}

// Do implements runner.World.
func (s *Shard) Do(e procedure.Effect, done func(procedure.Event)) {
	switch e := e.(type) {
	case procedure.Reply:
		s.pod.tokens.Answer(e.To, e.Body)
	case procedure.AskUnit:
		s.askUnit(e, done)
	case procedure.AskTransfer:
		s.call(func(ctx context.Context) procedure.Event { return s.transfer(ctx, e) }, done)
	case procedure.AskStatus:
		s.call(func(ctx context.Context) procedure.Event { return s.status(ctx, e) }, done)
	case procedure.AskSubscription:
		s.call(func(ctx context.Context) procedure.Event { return s.subscription(ctx, e) }, done)
	case procedure.AskPolicy:
		s.call(func(ctx context.Context) procedure.Event { return s.policy(ctx, e) }, done)
	case procedure.AskCharging:
		s.call(func(ctx context.Context) procedure.Event { return s.charge(ctx, e) }, done)
	case procedure.TellUncharged:
		s.uncharged(e.Session)
	case procedure.TellRegistration:
		s.call(func(ctx context.Context) procedure.Event { s.register(ctx, e); return nil }, done)
	case procedure.TellSubscription:
		s.watchFor(e)
	default:
		s.log.Error("an effect that this program does not know") // a test goes through all of them
	}
}

// call somebody outside of the loop.
func (s *Shard) call(f func(context.Context) procedure.Event, done func(procedure.Event)) {
	s.loop.Errand(spawn, func() func() {
		ctx, cancel := context.WithTimeout(s.ctx, callTime)
		defer cancel()
		answer := f(ctx)
		return func() { done(answer) }
	})
}

// outcome of a call by its error.
func outcome(err error) procedure.Outcome {
	var refused *sbi.Refused
	var notSent *sbi.NotSent
	switch {
	case err == nil:
		return procedure.Done
	case errors.As(err, &refused):
		return procedure.Refused
	case errors.As(err, &notSent):
		return procedure.NotSent
	}
	return procedure.Unknown
}

// askUnit over N4.
func (s *Shard) askUnit(a procedure.AskUnit, done func(procedure.Event)) {
	kinds := map[procedure.UnitOperation]pfcp.Kind{
		procedure.Establish: pfcp.Establishment, procedure.Modify: pfcp.Modification, procedure.Delete: pfcp.Deletion,
	}
	request := pfcp.Request{Unit: a.Unit.NodeID, Kind: kinds[a.Operation], CPSEID: a.CPSEID, UPSEID: a.UPSEID, IEs: a.IEs, Priority: priorities[a.Urgency]}
	ask := func() {
		if a.Operation == procedure.Delete && a.UPSEID == 0 {
			s.deleteListed(a, done)
			return
		}
		s.establish(request, s.Now().Add(restoringTime), done)
	}
	if _, wanted := s.live[a.Unit.NodeID]; wanted && !s.added[a.Unit.NodeID].Address.IsValid() && !errors.Is(s.met[a.Unit.NodeID].err, errUnreachable) {
		s.early[a.Unit.NodeID] = append(s.early[a.Unit.NodeID], ask)
		return
	}
	ask()
}

// establish, or whatever else is asked. A unit that has begun anew chooses nothing for new sessions until all shards have restored theirs, and says so by a
// cause: it is asked again while that takes.
func (s *Shard) establish(request pfcp.Request, until time.Time, done func(procedure.Event)) {
	s.socket.Do(request, func(o pfcp.Outcome) {
		answer := unitAnswer(o)
		s.loop.Post(func() {
			busy := answer.Outcome == procedure.Refused && answer.Cause == ie.CausePFCPEntityInCongestion
			if busy && request.Kind == pfcp.Establishment && s.Now().Before(until) && s.May() {
				s.After(restoringPause, func() { s.establish(request, until, done) })
				return
			}
			done(answer)
		})
	})
}

// How long a new session waits for a unit that others restore theirs on: UEs ask again after 16 s (T3580).
const (
	restoringTime  = 8 * time.Second
	restoringPause = 100 * time.Millisecond
)

var priorities = map[procedure.Urgency]pfcp.Priority{
	procedure.Awaited: pfcp.Procedure, procedure.Connected: pfcp.Restoration, procedure.Resting: pfcp.IdleRestoration,
}

// deleteListed deletes a session of which only our name is known, because the unit's answer was lost: the unit's list has its own.
func (s *Shard) deleteListed(a procedure.AskUnit, done func(procedure.Event)) {
	s.List(a.Unit.NodeID, func(list []runner.Listed, err error) {
		for _, l := range list {
			if l.CPSEID == a.CPSEID {
				a.UPSEID = l.UPSEID
				s.askUnit(a, done)
				return
			}
		}
		if err != nil {
			done(procedure.Unit{Outcome: procedure.NotSent})
			return
		}
		done(procedure.Unit{Outcome: procedure.Done}) // it has none
	})
}

func unitAnswer(o pfcp.Outcome) procedure.Unit {
	var refused *pfcp.RefusedError
	var notSent *pfcp.NotSentError
	switch {
	case o.Err == nil:
		answer := procedure.Unit{Outcome: procedure.Done, Usage: MeasuredBy(o.Usage)}
		answer.Established, _ = o.Answer.(*message.SessionEstablishmentResponse) // nil of the others
		answer.Modified, _ = o.Answer.(*message.SessionModificationResponse)
		return answer
	case errors.As(o.Err, &refused) && refused.Cause == ie.CauseNoEstablishedPFCPAssociation: // it is met again, and asked again
		return procedure.Unit{Outcome: procedure.NotSent}
	case errors.As(o.Err, &refused):
		return procedure.Unit{Outcome: procedure.Refused, Cause: refused.Cause}
	case errors.As(o.Err, &notSent):
		return procedure.Unit{Outcome: procedure.NotSent}
	}
	return procedure.Unit{Outcome: procedure.Unknown}
}

// SNSSAI as the service based interface has it.
func SNSSAI(sst uint8, sd *[3]byte) ts29571.SNSSAI {
	if sd == nil {
		return ts29571.MakeSNSSAI(int32(sst), "")
	}
	return ts29571.MakeSNSSAI(int32(sst), hex.EncodeToString(sd[:]))
}

// temporarily is how often a transfer is tried that the AMF has no time for: a registration or handover of the UE is under way, or our
// own answer to its Create is still on its way.
const (
	temporarily  = 5
	pauseBetween = 100 * time.Millisecond
)

func (s *Shard) transfer(ctx context.Context, a procedure.AskTransfer) procedure.Event {
	slice := SNSSAI(a.SST, a.SD)
	t := namf.Transfer{
		SUPI: a.SUPI, SessionID: a.ID, N1: a.N1, N2: a.N2, Kind: namf.N2Kind(a.N2Type), SNSSAI: &slice, FiveQI: a.FiveQI, SkipIndication: a.SkipIdle,
		FailureURI: nsmf.TransferFailureURI(s.URI, a.Ref), SMFInstanceID: s.InstanceID,
	}
	if a.Priority != 0 {
		t.ARP = &ts29571.ARP{Priority: a.Priority}
	}
	for attempt := 1; ; attempt++ {
		o, err := s.pod.AMF.Transfer(ctx, namf.AMF{InstanceID: a.AMF.InstanceID, Set: a.AMF.Set}, &t)
		r, refused := namf.RefusalOf(err)
		later := r.Reason == namf.Temporary || r.Reason == namf.Congested
		switch {
		case refused && attempt < temporarily && (later || r.Reason == namf.NoContext):
			if !sleep(ctx, pauseBetween) || !s.May() {
				return procedure.Transferred{Outcome: procedure.Refused, Cause: r.Cause, Later: later}
			}
			continue
		case refused && r.Reason == namf.Late: // it may have been done: a timeout is no refusal
			s.log.Warn("the AMF was late", "supi", a.SUPI)
			return procedure.Transferred{Outcome: procedure.Unknown, Cause: r.Cause}
		case refused:
			return procedure.Transferred{Outcome: procedure.Refused, Cause: r.Cause, Later: later}
		case err != nil:
			s.log.Warn("the AMF was not reached", "supi", a.SUPI, "err", err)
			return procedure.Transferred{Outcome: outcome(err), Cause: err.Error()}
		}
		return procedure.Transferred{Outcome: procedure.Done, Paging: o.Result == namf.Reaching, Skipped: o.Result == namf.NotTransferred}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (s *Shard) status(ctx context.Context, a procedure.AskStatus) procedure.Event {
	err := s.pod.AMF.NotifyStatus(ctx, a.URI, namf.Released(a.Cause))
	if err != nil {
		s.log.Warn("the AMF has not heard of a session's end: it finds out when it asks for it next", "err", err)
	}
	return procedure.Notified{Outcome: outcome(err)}
}

var sessionTypes = map[string]n1.SessionType{
	"IPV4": n1.IPv4, "IPV6": n1.IPv6, "IPV4V6": n1.IPv4v6, "UNSTRUCTURED": n1.Unstructured, "ETHERNET": n1.Ethernet,
}

func (s *Shard) subscription(ctx context.Context, a procedure.AskSubscription) procedure.Event {
	if s.pod.UDM == nil {
		return procedure.Subscription{}
	}
	plmn, err := plmnOf(a.PLMN)
	if err != nil {
		return procedure.Subscription{Failed: true}
	}
	d, err := s.pod.UDM.Data(ctx, a.SUPI, SNSSAI(a.SST, a.SD), a.DNN, plmn)
	var refused *sbi.Refused
	switch {
	case errors.As(err, &refused) && (refused.Cause == "USER_NOT_FOUND" || refused.Cause == "DATA_NOT_FOUND"): // TS 29.503 6.1.7.3; sessions end by it
		return procedure.Subscription{Unknown: true}
	case err != nil:
		s.log.Warn("the subscription cannot be had", "supi", a.SUPI, "err", err)
		return procedure.Subscription{Failed: true}
	}
	return subscriptionOf(d)
}

// subscriptionOf what the UDM says of a DNN.
func subscriptionOf(d *nudm.Data) procedure.Subscription {
	out := procedure.Subscription{
		FiveQI: d.FiveQI, Priority: d.ARP.Priority, MayPreempt: d.ARP.MayPreempt, Preemptable: d.ARP.Preemptable, IPv4: d.IPv4, IPv6: d.IPv6,
	}
	if kind := sessionTypes[d.DefaultType]; kind != 0 {
		out.Types = append(out.Types, kind)
	}
	for _, name := range d.AllowedTypes {
		if kind := sessionTypes[name]; kind != 0 && name != d.DefaultType {
			out.Types = append(out.Types, kind)
		}
	}
	out.Flows, out.Routes = d.Flows, d.Routes
	if d.AMBR != nil {
		out.AMBR = record.AMBR{Uplink: uint64(d.AMBR.Uplink), Downlink: uint64(d.AMBR.Downlink)}
	}
	return out
}

var sessionTypeNames = map[n1.SessionType]string{n1.IPv4: "IPV4", n1.IPv6: "IPV6", n1.IPv4v6: "IPV4V6", n1.Ethernet: "ETHERNET"}

func (s *Shard) policy(ctx context.Context, a procedure.AskPolicy) procedure.Event {
	if s.pod.PCF == nil {
		return procedure.Policy{Outcome: procedure.NotSent}
	}
	rec := a.Session
	var (
		made = &npcf.Association{URI: rec.Policy}
		err  error
	)
	switch a.Operation {
	case procedure.DeletePolicy:
		return procedure.Policy{Outcome: outcome(s.pod.PCF.Delete(ctx, npcf.PCF{}, rec.Policy, &npcf.End{}))}
	case procedure.CreatePolicy:
		var session *npcf.Session
		if session, err = s.policySession(rec, a.Subscription); err == nil {
			made, err = s.pod.PCF.Create(ctx, npcf.PCF{}, session)
		}
	case procedure.UpdatePolicy:
		made.Decision, err = s.pod.PCF.Update(ctx, npcf.PCF{}, rec.Policy, policyEvent(a))
	case procedure.ReadPolicy:
		made.Decision, err = s.pod.PCF.Read(ctx, npcf.PCF{}, rec.Policy)
	}
	if err != nil {
		s.log.Warn("the PCF has decided nothing", "supi", rec.SUPI, "operation", a.Operation, "err", err)
		var refused *sbi.Refused
		return procedure.Policy{Outcome: outcome(err), Gone: errors.As(err, &refused) && refused.Status == http.StatusNotFound}
	}
	d := made.Decision
	if a.Operation == procedure.UpdatePolicy && partial(d) { // it names what has changed
		if d, err = s.whole(ctx, rec.Policy, d); err != nil {
			s.log.Warn("the PCF's decision cannot be had as a whole", "supi", rec.SUPI, "err", err)
			return procedure.Policy{Outcome: procedure.Unknown}
		}
	}
	out := procedure.Policy{Outcome: procedure.Done, URI: made.URI}
	out.Decided, out.Flows, out.Ruling = s.decisionOf(rec.Slice, rec.DNN, d)
	return out
}

func (s *Shard) register(ctx context.Context, e procedure.TellRegistration) {
	if s.pod.UDM == nil {
		return
	}
	if e.Gone {
		if err := s.pod.UDM.Deregister(ctx, e.SUPI, e.ID, s.InstanceID); err != nil {
			s.log.Warn("the UDM still names this SMF for a session that has ended", "supi", e.SUPI, "err", err)
		}
		return
	}
	plmn, err := plmnOf(e.PLMN)
	if err == nil {
		err = s.pod.UDM.Register(ctx, e.SUPI, nudm.Registration{SMFInstanceID: s.InstanceID, SessionID: e.ID, SNSSAI: SNSSAI(e.SST, e.SD), DNN: e.DNN, PLMN: plmn})
	}
	if err != nil {
		s.log.Warn("the UDM does not know that this SMF has a session", "supi", e.SUPI, "err", err)
	}
}
