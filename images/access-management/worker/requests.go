package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sessionstore"
	consumer "core5g.dev/core5g/images/session-management/namf"
)

// answerTime is within what callers have an answer, whatever the UE is busy with; they ask again.
const answerTime = 1500 * time.Millisecond

// requests are what others ask of UEs, at the pod that holds their shards.
type requests struct{ pod *Pod }

var (
	_ namf.Messages  = requests{}
	_ namf.Reach     = requests{}
	_ namf.Callbacks = requests{}
)

// A UE's name in our callbacks is its SUPI, or where that has other letters than a path may have, those in hexadecimal digits. Behind it is what marks an
// SM context.
const (
	refOther     = "hex-"
	refSeparator = "."
)

func refOf(supi string) string {
	if strings.Trim(supi, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == "" && !strings.HasPrefix(supi, refOther) {
		return supi
	}
	return refOther + hex.EncodeToString([]byte(supi))
}

// supiOf a reference, and the mark behind it. "": it is none.
func supiOf(ref string) (supi, mark string) {
	supi, mark, _ = strings.Cut(ref, refSeparator)
	if other, is := strings.CutPrefix(supi, refOther); is {
		b, _ := hex.DecodeString(other) // "" of what is none
		return string(b), mark
	}
	return supi, mark
}

// errMoves: the shard is held elsewhere, or by nobody for a moment.
var errMoves = &namf.Refused{Cause: namf.NFCongestion, Detail: "the UE moves to another pod", RetryAfter: time.Second}

var errNoUE = &namf.Refused{Cause: namf.ContextNotFound, Detail: "there is no such UE context"}

// kept is the UE's record in the store. There is none: it is known to nobody.
func (p *Pod) kept(ctx context.Context, supi string) (*record.UE, error) {
	found, err := p.Store.Read(ctx, record.Key(supi))
	switch {
	case errors.Is(err, sessionstore.ErrNotFound):
		return nil, errNoUE
	case err != nil:
		return nil, &namf.Refused{Cause: namf.NFCongestion, Detail: err.Error(), RetryAfter: time.Second}
	}
	octets, err := p.Sealer.Open(found.Key, found.Value)
	if err != nil {
		return nil, err
	}
	return record.Decode(octets)
}

// shardOf a UE, as far as is known; the runner of another finds out.
func (p *Pod) shardOf(ctx context.Context, supi string) (uint16, error) {
	if n := p.hints.of(supi); n != 0 {
		return n, nil
	}
	rec, err := p.kept(ctx, supi)
	if err != nil {
		return 0, err
	}
	p.hints.add(supi, rec.Shard)
	return rec.Shard, nil
}

// holder of a UE's shard, where that is this pod.
func (p *Pod) holder(ctx context.Context, supi string) (*Shard, error) {
	if supi == "" {
		return nil, errNoUE
	}
	// What this pod remembers may be of before: who passes requests on to it knows better, and would otherwise be refused for ever.
	var n uint16
	for range 2 {
		var err error
		if n, err = p.shardOf(ctx, supi); err != nil {
			return nil, err
		}
		if s := p.shard(n); s != nil {
			return s, nil
		}
		p.hints.drop(supi)
	}
	return nil, p.movesTo(ctx, n)
}

// ask delivers an event that waits for a reply. A shard that has found the UE to be another one's has left word of that (Pass).
func (r requests) ask(ctx context.Context, supi string, event func(procedure.Token) procedure.Event) (any, error) {
	for range mostPassing {
		s, err := r.pod.holder(ctx, supi)
		if err != nil {
			return nil, err
		}
		body, err := r.askShard(ctx, s, func(t procedure.Token) { s.runner.Deliver(supi, event(t)) })
		if _, is := body.(moved); !is {
			return body, err
		}
	}
	return nil, errMoves
}

// askShard delivers an event that waits for a reply, in the shard's loop. The reply may be that the UE has moved.
func (r requests) askShard(ctx context.Context, s *Shard, deliver func(procedure.Token)) (any, error) {
	replies := make(chan any, 1)
	token := r.pod.tokens.Add(func(body any) { replies <- body })
	defer func() { _ = r.pod.tokens.Forget(token) }()
	if !s.loop.Post(func() { deliver(token) }) {
		return nil, errMoves
	}
	select {
	case body := <-replies:
		if f, ok := body.(procedure.Failed); ok {
			return nil, refused(f)
		}
		return body, nil
	case <-s.ctx.Done(): // the lease has gone: what was asked may be done by who has it now
		return nil, errMoves
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell an event, and wait until what came of it is in the store. Where nothing comes of it, who tells it hears so.
func (r requests) tell(ctx context.Context, supi string, e procedure.Event) error {
	s, err := r.pod.holder(ctx, supi)
	if err != nil {
		return err
	}
	came, err := inLoop(ctx, s, func(answer func(error)) { s.runner.DeliverThen(supi, e, answer) })
	if err == nil && came != nil {
		err = &namf.Refused{Cause: namf.NFCongestion, Detail: came.Error(), RetryAfter: time.Second}
	}
	return err
}

// inLoop has the shard's loop begin something, and waits for what it answers, once. A lease that is gone is no answer: what was begun may be done by who has it
// now.
func inLoop[T any](ctx context.Context, s *Shard, begin func(answer func(T))) (came T, err error) {
	answers := make(chan T, 1)
	if !s.loop.Post(func() { begin(func(x T) { answers <- x }) }) {
		return came, errMoves
	}
	select {
	case came = <-answers:
		return came, nil
	case <-s.ctx.Done():
		return came, errMoves
	case <-ctx.Done():
		return came, ctx.Err()
	}
}

func refused(f procedure.Failed) error {
	return &namf.Refused{Cause: namf.Cause(f.Cause), Detail: f.Detail, RetryAfter: time.Duration(f.RetryAfter) * time.Second}
}

// kinds of NAS payload containers (TS 24.501 9.11.3.40), by the class of TS 29.518 6.1.6.3.3.
var kinds = map[string]uint8{namf.ClassSM: 1, namf.ClassLPP: 3, namf.ClassUPDP: 5}

// Transfer implements namf.Messages.
func (r requests) Transfer(ctx context.Context, ue string, t *namf.Transfer) (*namf.Transferred, error) {
	event := procedure.Transfer{
		Session: t.SessionID, N1: t.N1, N2: t.N2.Content, N2Type: t.N2.Kind, SkipIdle: t.SkipIndication, Failure: t.FailureURI, FiveQI: t.FiveQI,
	}
	if t.ARP != nil {
		event.Priority = t.ARP.Priority
	}
	if t.N1 != nil {
		kind, ok := kinds[t.N1Class]
		if !ok {
			return nil, &namf.Refused{Cause: namf.Unspecified, Detail: "n1MessageClass: write SM, LPP or UPDP: nothing else is carried"}
		}
		event.Kind = kind
	}
	if len(t.N2.Content) > 0 && t.N2Class != namf.ClassSM {
		return nil, &namf.Refused{Cause: namf.Unspecified, Detail: "n2InformationClass: write SM: nothing else is carried"}
	}
	body, err := r.ask(ctx, ue, func(token procedure.Token) procedure.Event { event.From = token; return event })
	if err != nil {
		return nil, err
	}
	done, ok := body.(procedure.Transferred)
	if !ok {
		return nil, unexpected(body)
	}
	return &namf.Transferred{Result: consumer.Result(done.Cause), ID: decimal(t.SessionID)}, nil
}

func unexpected(any) error {
	return &namf.Refused{Cause: namf.SystemFailure, Detail: "an answer of another kind"}
}

// place of a UE as the runner has it; current: as its access network says now, where it is connected.
func (r requests) place(ctx context.Context, ue string, current bool) (procedure.Placed, error) {
	body, err := r.ask(ctx, ue, func(t procedure.Token) procedure.Event { return procedure.Locate{From: t, Current: current} })
	if err != nil {
		return procedure.Placed{}, err
	}
	placed, ok := body.(procedure.Placed)
	if !ok {
		return placed, unexpected(body)
	}
	return placed, nil
}

// Locate implements namf.Reach: where the UE was last heard, or with Current what its access network says, as far as it says something.
func (r requests) Locate(ctx context.Context, ue string, l namf.Locate) (*namf.Located, error) {
	placed, err := r.place(ctx, ue, l.Current)
	if err != nil {
		return nil, err
	}
	out := &namf.Located{Current: placed.Current, Location: locationOf(placed.Place)}
	if !placed.Current && placed.Place.At != 0 {
		out.Age = time.Since(time.Unix(placed.Place.At, 0))
	}
	if l.RAT {
		out.RAT = radio
	}
	if s := r.pod.Settings(); l.TimeZone && s != nil {
		out.TimeZone = timeZone(s)
	}
	return out, nil
}

// DomainSelection implements namf.Reach.
func (r requests) DomainSelection(ctx context.Context, ue string) (*namf.DomainSelection, error) {
	placed, err := r.place(ctx, ue, false)
	if err != nil {
		return nil, err
	}
	return &namf.DomainSelection{
		VoiceOverPS: r.pod.Settings().Voice, LastActivity: time.Unix(placed.Place.At, 0).UTC(), Access: access3GPP, RAT: radio,
	}, nil
}

// EnableReachability implements namf.Reach. A UE that takes longer to come than this answer may is paged all the same: who asks again waits for it.
func (r requests) EnableReachability(ctx context.Context, ue string) error {
	body, err := r.ask(ctx, ue, func(t procedure.Token) procedure.Event { return procedure.Reach{From: t} })
	if err != nil {
		return err
	}
	if _, ok := body.(procedure.Reached); !ok {
		return unexpected(body)
	}
	return nil
}

// Services that are served, with the versions in their URIs, for the profile of the AMF at the NRF.
func Services() map[string][]string {
	return namf.Services()
}

// Handler is the service based interface of the AMF, at every pod.
func (p *Pod) Handler() http.Handler {
	router := sbi.NewRouter(p.Log, p.Registry)
	handlers := namf.Handlers{Contexts: requests{p}, Messages: requests{p}, Subscriptions: requests{p}, Events: requests{p}, Reach: requests{p}, Callbacks: requests{p}}
	namf.Register(router, handlers, namf.Options{Limit: answerTime})
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathGiveUp, p.peers.Only(p.serveGiveUp))
	mux.HandleFunc("POST "+pathPass, p.peers.Only(p.servePass))
	mux.HandleFunc("GET "+pathAlive, p.peers.Serve(p.ctx))
	mux.Handle("/", p.passing(router))
	return mux
}
