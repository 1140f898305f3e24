package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/worlds"
)

func shardName(n uint16) string { return fmt.Sprint("smf-", n) }

func (w *world) shardNumber(name string) uint16 {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "smf-"), 10, 16)
	if err != nil {
		w.Fail("a shard called %q", name)
	}
	return uint16(n)
}

func (w *world) shardNames() (names []string) {
	for n := range w.shards {
		names = append(names, shardName(n+1))
	}
	return names
}

// toShard brings something to a shard's holder: to any pod, which passes it on to whom it believes to be the holder. It may be lost.
func (w *world) toShard(shard uint16, deliver func(*runner.Runner)) {
	name := shardName(shard)
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
		living := worlds.Living(w.pods)
		if w.faults && w.Chance(60) || len(living) == 0 {
			return // it is lost on its way
		}
		p := living[w.Rand.IntN(len(living))]
		if h := p.holds(name); h != nil {
			deliver(h.runner)
			return
		}
		holder := p.Keeper.Holder(name)
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
			for _, p := range w.pods {
				if h := p.holds(name); h != nil && p.Name == holder {
					deliver(h.runner)
				}
			}
		})
	})
}

// do what a shard wants done.
func (w *world) do(shard uint16, e procedure.Effect, done func(procedure.Event)) {
	back := func(answer procedure.Event) {
		w.Soon(50*time.Microsecond, 5*time.Millisecond, func() { done(answer) })
	}
	if _, told := e.(procedure.TellSubscription); told { // subscriptions are as they are: there is nobody who would tell
		return
	}
	lost := w.faults && w.Chance(60)
	w.Soon(50*time.Microsecond, 5*time.Millisecond, func() {
		switch e := e.(type) {
		case procedure.Reply:
			if lost {
				w.unanswered(e)
			} else {
				w.replied(e)
			}
		case procedure.AskSubscription:
			back(procedure.Subscription{Failed: lost})
		case procedure.AskUnit:
			w.overN4(shard, e, back)
		case procedure.AskTransfer:
			w.ueOf(e.SUPI).transferred(e, back)
		case procedure.AskPolicy:
			w.pcf.asked(e, back)
		case procedure.AskCharging:
			w.chf.asked(e, back)
		case procedure.TellUncharged:
			w.chf.never(e.Session)
		case procedure.AskStatus:
			if lost {
				w.unheard[e.URI] = true
				back(procedure.Notified{Outcome: procedure.Unknown})
				return
			}
			w.status(e)
			back(procedure.Notified{Outcome: procedure.Done})
		}
	})
}

// n4Time is N1 times T1: then nobody knows.
const n4Time = 3 * time.Second

// overN4 asks a unit. Request or answer may be lost each time that it is sent, and the unit may be away.
func (w *world) overN4(shard uint16, a procedure.AskUnit, back func(procedure.Event)) {
	u := w.unitNamed(a.Unit.NodeID)
	silent := func() { w.After(n4Time, func() { back(procedure.Unit{Outcome: procedure.Unknown}) }) }
	switch {
	case u.silent() && w.Chance(2):
		back(procedure.Unit{Outcome: procedure.NotSent})
		return
	case u.silent(), w.faults && w.Chance(80):
		silent()
		return
	}
	answer := u.do(shard, a)
	w.Note("%s: operation %d, session %x: outcome %d cause %d", u.nodeID, a.Operation, a.CPSEID, answer.Outcome, answer.Cause)
	if w.faults && w.Chance(80) { // no answer arrives
		if w.chf != nil {
			for _, m := range answer.Usage {
				w.chf.lost[a.CPSEID] += octetsOf(m.Used)
			}
		}
		silent()
		return
	}
	back(answer)
}
