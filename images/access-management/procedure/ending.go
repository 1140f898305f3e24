package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/record"
)

// PDU sessions that a UE has no more, and whose SMFs have not said that they have released them (TS 29.502 5.2.2.4). They are in the record before the SMF is
// asked, and it is asked until it has answered, by whoever has the UE then: an SM context that nobody releases keeps an address, and a user plane, for ever.
//
// Where nothing else is left of the UE, they are all that its record has (remnant): for everybody else there is no such UE, and one that comes again takes
// them over with its SUPI.

// The first wait for an answer, the longest, and after how long an SMF is asked no more that has never answered: it finds out by itself, or is there no more.
const (
	endingTime     = 5 * time.Second
	mostEndingWait = 10 * time.Minute
	endingMost     = 6 * time.Hour
)

// endSession at its SMF, which nobody waits for.
func (t *turn) endSession(s record.Session) {
	if s.Context != "" {
		t.endLater(s, 0)
		t.endOn()
	}
}

// endLater has the SMF asked from then on.
func (t *turn) endLater(s record.Session, in time.Duration) {
	s.Up, s.Silent, s.Held = false, false, nil
	t.s.Ending = append(t.s.Ending, record.Ended{Session: s, Since: t.in.Now.UnixMilli(), Next: t.in.Now.Add(in).UnixMilli()})
	if n := len(t.s.Ending); n > record.MostEnding {
		t.s.Ending = t.s.Ending[n-record.MostEnding:]
	}
}

// endOn asks those SMFs whose time has come.
func (t *turn) endOn() {
	if len(t.s.Ending) == 0 {
		return
	}
	now, next := t.in.Now, time.Time{}
	for n := range t.s.Ending {
		x := &t.s.Ending[n]
		if x.Next <= now.UnixMilli() {
			wait := now.Sub(time.UnixMilli(x.Since))
			x.Next = now.Add(min(max(wait, endingTime), mostEndingWait)).UnixMilli()
			if !t.ending(x.Session) {
				t.askSMF(AskSession{Operation: ReleaseSession, Session: x.Session, purpose: forEnd})
			}
		}
		if at := time.UnixMilli(x.Next); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	t.due(dueEnding, max(next.Sub(now), time.Millisecond))
}

// endAgain what the holder before has asked for: nobody hears the answers.
func (t *turn) endAgain() {
	for n := range t.s.Ending {
		t.s.Ending[n].Next = 0
	}
	t.endOn()
}

// ending says whether its SMF is being asked.
func (t *turn) ending(s record.Session) bool {
	return slices.ContainsFunc(t.live.sessions[s.ID], func(a AskSession) bool { return a.purpose == forEnd && a.Session.Context == s.Context })
}

// saidReleased: an SMF has said so, or that it will not, whoever asks.
func saidReleased(e SessionAnswer) bool {
	return e.Outcome == Done || e.Outcome == Refused && e.Status/100 == 4 && e.Status != 429
}

// toldEnd of a session.
func (t *turn) toldEnd(s record.Session, e SessionAnswer) {
	t.s.Ending = slices.DeleteFunc(t.s.Ending, func(x record.Ended) bool {
		return x.Session.Context == s.Context && (saidReleased(e) || t.in.Now.Sub(time.UnixMilli(x.Since)) >= endingMost)
	})
	if len(t.s.Ending) == 0 {
		t.due(dueEnding, 0)
		if remnant(t.s) {
			t.gone()
		}
	}
}

// remnant says of a record that it is not a UE's any more.
func remnant(u *record.UE) bool { return u != nil && u.Remnant }

// gone: nothing of the UE is kept any more, and its times with it.
func (t *turn) gone() {
	was := t.s
	t.s, t.capability = nil, nil
	if len(was.Ending)+len(was.Left) == 0 || t.moved || was.SUPI == "" {
		return
	}
	t.s = &record.UE{SUPI: was.SUPI, Shard: was.Shard, Phase: record.Deregistered, Place: was.Place, Ending: was.Ending, Left: was.Left, Remnant: true}
	t.live = live{asked: t.live.asked, sessions: t.live.sessions}
	for _, name := range DueNames {
		t.due(name, 0)
	}
	t.endOn()
	t.dueLeft()
}

// ofRemnant is what concerns what is left of a UE.
func (t *turn) ofRemnant(e Event) {
	switch e := e.(type) {
	case Due, SessionAnswer, Paused, SessionEnded, Taken, FromAccess, AccessLost, AccessBack, Appeared, NotSent:
		t.handle(e)
	case Resumed: // the times of its sessions come, where it has some
		t.leftAgain()
	default:
		t.withoutUE(e)
	}
}
