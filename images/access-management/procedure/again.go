package procedure

import (
	"maps"
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/record"
)

// An SMF that cannot make a PDU session now, give it a user plane, lead it to another access network, or take what a UE says of it, since its session store does not answer or its shard moves, says when
// it can be asked again (TS 29.500 6.4.3), and of one that has not answered nobody knows whether it has made a session. The UE waits for T3580 to T3582 or T3517
// meanwhile, so the SMF is asked again, with the same request: it has the same answer where it was served, and is not served twice (TS 29.502 5.2.2.2.1,
// nsmf.Client.Create). When the UE has waited for too long it hears the SMF's reject, has its request back, or is told which session has no user plane; an access
// network is told which was not switched, or that nothing is handed over. Nobody asks any more for a UE that has gone, or that has asked for something else.
//
// All of it is in memory alone: the UE's message is not done with meanwhile (runner), and comes to the next holder.

const (
	// askAgain is when an SMF is asked again that has not answered, and the longest that a UE that has gone is not missed.
	askAgain = time.Second
	// askAgainFor is how long an SMF is asked again, from the UE's request on: what is asked last has 4 s to be answered, and T3580 to T3582 are 16 s (TS 24.501
	// 10.3). For a user plane, here or in another access network, it is activateFor: the UE's other sessions wait for that, too.
	askAgainFor = 10 * time.Second
	activateFor = 3 * time.Second
)

// pauses: it is asked again in a while.
func (a *AskSession) pauses() bool { return !a.again.IsZero() }

// askLater says whether an SMF that cannot do what it was asked for now is asked again.
func (t *turn) askLater(asked AskSession, e SessionAnswer) bool {
	wait, most := e.RetryAfter, askAgainFor
	switch {
	case !t.waitsFor(asked) || asked.purpose == forNew && t.making(asked.Session.ID): // the last: it has asked for another
		return false
	case e.Outcome == Unknown && asked.purpose == forNew:
		wait = max(wait, askAgain)
	case !e.busy() || wait <= 0:
		return false
	}
	if asked.purpose != forNew && asked.purpose != forUE {
		most = activateFor
	}
	if asked.again = t.in.Now.Add(wait); asked.again.After(asked.began.Add(most)) {
		return false
	}
	t.live.waits(asked.Session.ID, append([]AskSession{asked}, t.live.sessions[asked.Session.ID]...))
	t.pause(asked.Session.ID)
	return true
}

// waitsFor says whether the UE waits for that, and stays.
func (t *turn) waitsFor(a AskSession) bool {
	if t.s.N2 == nil || t.s.N2.Lost || t.s.N2.Releasing {
		return false
	}
	switch a.purpose {
	case forNew:
		return t.s.Phase == record.Registered && t.doing() != Deregistration
	case forUE:
		return t.s.Session(a.Session.ID) != nil
	case forActivation:
		return t.s.Procedure != nil && t.s.Procedure.Sessions&(1<<a.Session.ID) != 0
	case forSwitch:
		return t.doing() == Switching && t.s.Procedure.Sessions&(1<<a.Session.ID) != 0
	case forPreparing, forPrepared:
		h, step := t.s.Handover, handSessions
		if a.purpose == forPrepared {
			step = handAnswer
		}
		return h != nil && h.Step == step && h.Asked&(1<<a.Session.ID) != 0
	}
	return false
}

// pause of what is asked first of a session.
func (t *turn) pause(id uint8) {
	list := slices.Clone(t.live.sessions[id])
	list[0].Number = t.number()
	t.live.waits(id, list)
	t.do(AskPause{Number: list[0].Number, For: min(list[0].again.Sub(t.in.Now), askAgain)})
	t.pausing = true
}

func (t *turn) paused(e Paused) {
	for id, list := range t.live.sessions {
		if len(list) == 0 || !list[0].pauses() || list[0].Number != e.Number {
			continue
		}
		t.pausing = true
		switch {
		case !t.waitsFor(list[0]):
			t.giveUp(id)
		case t.in.Now.Before(list[0].again):
			t.pause(id)
		default:
			again := t.whose(list[0])
			again.Number, again.again, again.sent = t.number(), time.Time{}, false
			t.live.waits(id, append([]AskSession{again}, list[1:]...))
			t.askNext(id)
		}
		return
	}
	t.out.Refused = "the UE waits for it no more"
}

// giveUp what is to be asked again of a session, first of all that is.
func (t *turn) giveUp(id uint8) {
	list := t.live.sessions[id]
	t.live.waits(id, slices.Clone(list[1:]))
	switch list[0].purpose {
	case forActivation, forSwitch, forPreparing, forPrepared: // what waits for it goes on without
		t.sessionDone(list[0], SessionAnswer{Outcome: Unsent})
	}
	t.askNext(id)
}

// unpause what is not asked any more.
func (t *turn) unpause() {
	for _, id := range slices.Sorted(maps.Keys(t.live.sessions)) {
		if list := t.live.sessions[id]; len(list) > 0 && list[0].pauses() { // giving up one may end what waits of another
			t.giveUp(id)
		}
	}
}
