package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
)

// ask another function: the request may be lost, or its answer, and either may be late. Nobody knows then what was done.
func (w *world) ask(e procedure.Effect, back func(procedure.Event)) {
	if told, is := e.(procedure.AskStatusHeard); is {
		w.listener.told(told, back)
		return
	}
	late := 5 * time.Millisecond
	if w.faults && w.Chance(30) {
		late = 2 * time.Second
	}
	lost := w.faults && w.Chance(60)
	if _, told := e.(procedure.TellLeft); told { // what the UDM does not hear it finds out when the UE registers anew
		lost = false
	}
	if x, is := e.(procedure.AskSession); is && (x.N2Type == "PDU_RES_SETUP_RSP" || x.Handover == "COMPLETED") && w.deaf && w.faults {
		lost = lost || w.Chance(3)
	}
	sent := w.Now
	w.Soon(50*time.Microsecond, late, func() {
		outcome, answer := procedure.Unknown, procedure.Event(nil)
		away := w.awayFor(e)
		if !lost && !away && !w.udm.overtaken(e, sent) {
			outcome, answer = procedure.Done, w.served(e)
		}
		if away && w.Chance(2) {
			outcome = procedure.Unsent
		}
		if answer == nil || w.faults && w.Chance(60) {
			if outcome == procedure.Done {
				outcome = procedure.Unknown
			}
			answer = unanswered(e, outcome)
		}
		if answer != nil {
			w.Soon(50*time.Microsecond, late, func() { back(answer) })
		}
	})
}

func unanswered(e procedure.Effect, o procedure.Outcome) procedure.Event {
	switch e := e.(type) {
	case procedure.AskChallenge:
		return procedure.Challenge{Number: e.Number, Outcome: o}
	case procedure.AskConfirm:
		return procedure.Confirmed{Number: e.Number, Outcome: o}
	case procedure.AskRecording:
		return procedure.Recorded{Number: e.Number, Outcome: o}
	case procedure.AskSubscription:
		return procedure.Subscription{Number: e.Number, Outcome: o}
	case procedure.AskPolicy:
		return procedure.Policy{Number: e.Number, Outcome: o}
	case procedure.AskSession:
		out := procedure.SessionAnswer{Number: e.Number, Outcome: o}
		if o == procedure.Unsent { // not now
			out.Status, out.RetryAfter = 503, time.Second
		}
		return out
	case procedure.AskOther:
		return procedure.Other{Number: e.Number, Outcome: o}
	}
	return nil
}

func (w *world) awayFor(e procedure.Effect) bool {
	until := time.Time{}
	switch e.(type) {
	case procedure.AskChallenge, procedure.AskConfirm:
		until = w.ausf.away
	case procedure.AskRecording, procedure.AskSubscription:
		until = w.udm.away
	case procedure.AskPolicy:
		until = w.pcf.away
	case procedure.AskSession:
		until = w.smf.away
	}
	return w.Now.Before(until)
}

func (w *world) functionAway() {
	list := []*time.Time{&w.ausf.away, &w.udm.away, &w.pcf.away, &w.smf.away}
	n := w.Rand.IntN(len(list))
	*list[n] = w.upTo(8 * time.Second)
	w.Note("the %s is away", []string{"AUSF", "UDM", "PCF", "SMF"}[n])
}

func (w *world) served(e procedure.Effect) procedure.Event {
	switch e := e.(type) {
	case procedure.AskChallenge:
		return w.ausf.challenge(e)
	case procedure.AskConfirm:
		return w.ausf.confirm(e)
	case procedure.AskRecording:
		return w.udm.record(e)
	case procedure.AskSubscription:
		return w.udm.subscribe(e)
	case procedure.TellLeft:
		w.udm.left(e)
	case procedure.AskPolicy:
		return w.pcf.asked(e)
	case procedure.AskSession:
		return w.smf.asked(e)
	case procedure.AskOther:
		return w.others.asked(e)
	case procedure.TellOther:
		w.others.told(e)
	case procedure.TellReports:
		w.nef.reported(e)
	case procedure.TellUnreached:
		w.Note("unreached: %s", e.URI)
	}
	return nil
}

// ---- AUSF ---------------------------------------------------------------------------------------------------------

type ausf struct {
	w    *world
	away time.Time
	sqn  map[string]uint64
	open map[string]vector
	made int
}

type vector struct {
	supi string
	rand []byte
}

func newAUSF(w *world) *ausf {
	return &ausf{w: w, sqn: map[string]uint64{}, open: map[string]vector{}}
}

func (f *ausf) challenge(e procedure.AskChallenge) procedure.Event {
	supi := e.SUPI
	if e.SUCI != "" {
		supi = "imsi-" + plmnText + e.SUCI[strings.LastIndexByte(e.SUCI, '-')+1:]
	}
	s := f.w.udm.of(supi)
	if s == nil {
		return procedure.Challenge{Number: e.Number, Outcome: procedure.Refused, Cause: "USER_NOT_FOUND"}
	}
	if e.AUTS != nil {
		f.sqn[supi] = max(f.sqn[supi], uint64(e.AUTS[0])<<8|uint64(e.AUTS[1]))
	}
	f.sqn[supi]++
	f.made++
	rand := make([]byte, 16)
	for n := range rand {
		rand[n] = byte(f.w.Rand.Uint32())
	}
	name := fmt.Sprint("ausf/", f.made)
	f.open[name] = vector{supi, rand}
	k := keyOf(supi)
	return procedure.Challenge{
		Number: e.Number, Outcome: procedure.Done, Context: name, RAND: rand, AUTN: token(k, rand, f.sqn[supi]),
		HXRES: procedure.NAS{}.HXRES(rand, response(k, rand)),
	}
}

func (f *ausf) confirm(e procedure.AskConfirm) procedure.Event {
	v, is := f.open[e.Context]
	if !is || string(response(keyOf(v.supi), v.rand)) != string(e.Response) {
		f.w.Fail("the AUSF is asked to confirm what it has not asked")
		return nil
	}
	return procedure.Confirmed{Number: e.Number, Outcome: procedure.Done, Success: true, SUPI: v.supi, KSEAF: anchor(keyOf(v.supi), v.rand)}
}

func keyOf(supi string) []byte { return digest("k", []byte(supi)) }

// ---- UDM ----------------------------------------------------------------------------------------------------------

type udm struct {
	w    *world
	away time.Time
	list []*subscriber
	made int
}

type subscriber struct {
	supi     string
	barred   bool
	slices   []record.Slice
	recorded bool
	// elsewhere is where another AMF has it, as it has said, and moved when that was.
	elsewhere *stay
	moved     time.Time
	// since is when the registration began that it has heard of last.
	since time.Time
	// notified are the subscriptions to changes, of which some AMF has not heard.
	notified []string
	changes  int
	// barredAt is when it was, last, or the UDM said that it does not know it.
	barredAt time.Time
}

func newUDM(w *world) *udm { return &udm{w: w} }

func (f *udm) add(supi string) {
	if f.of(supi) == nil {
		f.list = append(f.list, &subscriber{supi: supi, slices: []record.Slice{broadband, meters}})
	}
}

func (f *udm) of(supi string) *subscriber {
	n := slices.IndexFunc(f.list, func(s *subscriber) bool { return s.supi == supi })
	if n < 0 {
		return nil
	}
	return f.list[n]
}

// overtaken is a recording that was sent before another AMF said that it has the UE, and comes behind that: nothing becomes of it.
func (f *udm) overtaken(e procedure.Effect, sent time.Time) bool {
	x, is := e.(procedure.AskRecording)
	if !is {
		return false
	}
	s := f.of(x.SUPI)
	return s != nil && s.elsewhere != nil && sent.Before(s.moved)
}

func (f *udm) record(e procedure.AskRecording) procedure.Event {
	s := f.of(e.SUPI)
	if s == nil {
		f.w.Fail("the UDM hears of %s, who has not subscribed", e.SUPI)
		return nil
	}
	if f.w.faults && f.w.Chance(100) {
		s.barredAt = f.w.Now
		return procedure.Recorded{Number: e.Number, Outcome: procedure.Refused, Cause: "UNKNOWN_5GS_SUBSCRIPTION"}
	}
	s.recorded, s.since = true, e.Since
	if was := s.elsewhere; was != nil {
		s.elsewhere = nil
		f.w.others.ends(was)
	}
	out := procedure.Recorded{Number: e.Number, Outcome: procedure.Done}
	if e.Subscription != nil {
		sub := procedure.Subscription{Outcome: procedure.Unknown}
		if !f.w.faults || !f.w.Chance(40) {
			sub = f.subscribe(*e.Subscription)
		}
		out.Subscription = &sub
	}
	return out
}

func (f *udm) subscribe(e procedure.AskSubscription) procedure.Subscription {
	s := f.of(e.SUPI)
	out := procedure.Subscription{Number: e.Number, Outcome: procedure.Done, Barred: s.barred, Uplink: 1e9, Downlink: 2e9}
	if e.Notified == "" {
		f.made++
		out.Notified = fmt.Sprint("udm/", f.made)
		s.notified = append(s.notified, out.Notified)
	}
	for n, x := range s.slices {
		out.Slices = append(out.Slices, procedure.SubscribedSlice{Slice: x, Default: n == 0, DNN: "internet", DNNs: []string{"internet"}})
	}
	return out
}

func (f *udm) left(e procedure.TellLeft) {
	s := f.of(e.SUPI)
	s.notified = slices.DeleteFunc(s.notified, func(uri string) bool { return uri == e.Notified })
	if e.Purged && !s.since.After(e.Since) {
		s.recorded = false
	}
}

// change a subscription.
func (f *udm) change() {
	s := f.list[f.w.Rand.IntN(len(f.list))]
	switch f.w.Rand.IntN(3) {
	case 0:
		f.set(s, true, s.slices)
		f.w.Soon(5*time.Second, 20*time.Second, func() { f.set(s, false, s.slices) })
	case 1:
		f.set(s, s.barred, []record.Slice{broadband})
	case 2:
		f.set(s, s.barred, []record.Slice{broadband, meters})
	}
}

func (f *udm) set(s *subscriber, barred bool, list []record.Slice) {
	if s.barred == barred && len(s.slices) == len(list) {
		return
	}
	s.barred, s.slices = barred, list
	if barred {
		s.barredAt = f.w.Now
	}
	f.w.Note("%s: barred %v, %d slices", s.supi, barred, len(list))
	s.changes++
	f.notify(s, s.changes, 12)
}

// notify until it was taken, and some times more: who has taken it may die.
func (f *udm) notify(s *subscriber, change, left int) {
	if s.changes != change || left == 0 {
		return
	}
	wait := 2 * time.Second
	if len(s.notified) > 0 {
		f.w.toAMF(s.supi, procedure.SubscriptionChanged{})
		wait = 8 * time.Second
	}
	f.w.After(wait, func() { f.notify(s, change, left-1) })
}

// ---- PCF ----------------------------------------------------------------------------------------------------------

type pcf struct {
	w    *world
	away time.Time
	made int
	open map[string]string // by URI, whose
}

func newPCF(w *world) *pcf { return &pcf{w: w, open: map[string]string{}} }

func (f *pcf) asked(e procedure.AskPolicy) procedure.Event {
	out := procedure.Policy{Number: e.Number, Outcome: procedure.Done, URI: e.UE.Policy}
	switch e.Operation {
	case procedure.CreatePolicy:
		f.made++
		out.URI = fmt.Sprint("pcf/", f.made)
		f.open[out.URI] = e.UE.SUPI
	case procedure.UpdatePolicy:
		if f.open[e.UE.Policy] == "" || f.w.faults && f.w.Chance(20) {
			delete(f.open, e.UE.Policy)
			return procedure.Policy{Number: e.Number, Outcome: procedure.Refused}
		}
	case procedure.DeletePolicy:
		delete(f.open, e.UE.Policy)
	}
	return out
}
