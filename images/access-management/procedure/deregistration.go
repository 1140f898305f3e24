package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Deregistration, by the UE (TS 23.502 4.2.2.3.2) and by the network (4.2.2.3.3), and one that nobody hears of: implicit, or of a registration that has come
// to nothing (TS 24.501 5.5.2):
//
//	4.2.2.3.2  1    Deregistration Request                      deregisteredByUE: its answer goes at once
//	4.2.2.3.3  1,2  the subscription is withdrawn, or barred    end
//	           2    Deregistration Request, T3522; paged first  deregister, deregisterReached
//	4.2.2.3.2  2    SMFs: all sessions end                      outSessions, and later, where one does not answer (ending.go)
//	           6    policy association                          outPolicy
//	4.2.2.3.3  6    Deregistration Accept                       outUE
//	4.2.2.3.2  8    the connection is released                  outGone: nothing is kept
//
// Sessions end before the UE has answered: it has none any more, whatever it does. The UDM is told last, and of an AMF that has the UE now, as
// the UDM itself has said, nothing is told but that the subscription to changes ends.
const (
	outSessions uint8 = 1
	outPolicy   uint8 = 2
	outUE       uint8 = 3
	outGone     uint8 = 4
)

var deregistration = map[uint8]step{
	outSessions: {ask: askOutSessions},
	outPolicy:   {ask: askOutPolicy, take: takeOutPolicy},
	outUE:       {ask: askOutUE},
	outGone:     {ask: askOutGone},
}

// Flags of a deregistration.
const (
	outTell      uint16 = 1 << iota // the UE is told
	outElsewhere                    // another AMF has it: the UDM keeps what it says
	outRegister                     // the UE is to register again
	outAnswered                     // the UE has answered, or is not waited for
)

// deregisteredByUE: step 1. A UE that switches off hears nothing.
func (t *turn) deregisteredByUE(m *n1.DeregistrationRequestFromUE) {
	t.notGoing()
	if !m.SwitchOff {
		t.tell(&n1.DeregistrationAcceptToUE{})
	}
	t.deregister(outAnswered, 0, "")
}

// forget the UE: nobody tells it.
func (t *turn) forget(why string) {
	if t.s.SUPI == "" || t.s.Phase == record.Deregistered && !t.s.Recorded && t.s.Notified == "" && len(t.s.Sessions) == 0 && t.s.Policy == "" {
		if t.s.N2 != nil && !t.s.N2.Releasing {
			t.do(Send{To: *t.s.N2, Message: releaseCommand(t.s.N2, ngapcause.NormalRelease)})
		}
		t.gone()
		return
	}
	t.deregister(outAnswered, 0, why)
}

// end: 4.2.2.3.3 step 1.
func (t *turn) end(e End) {
	if t.doing() == Deregistration {
		t.reply(e.From, Ended{})
		return
	}
	if e.Why == Moved {
		t.goes(e.From)
		return
	}
	t.abandon()
	t.reply(e.From, Ended{}) // the record says so before
	switch e.Why {
	case Elsewhere: // 4.2.2.2.2 step 14d: the UE is with another AMF
		t.deregister(outAnswered|outElsewhere, 0, "another AMF has it")
	case Again:
		t.deregister(outTell|outRegister, 0, "to register again")
	default:
		t.deregister(outTell, n1.Cause5GSServicesNotAllowed, "the subscription is withdrawn")
	}
}

// deregister a UE in one of the ways.
func (t *turn) deregister(flags uint16, c n1.Cause, why string) {
	if t.s.N2 != nil && t.s.N2.Lost { // nobody can be told by that: it is paged, where it is to hear
		t.part("the UE is deregistered")
	}
	t.paged()
	if t.s.Handover != nil {
		t.handoverOver("the UE is deregistered")
	}
	p := t.begin(Deregistration)
	p.Flags, p.Cause = flags, uint8(c)
	t.s.Phase = record.Leaving
	t.due(dueReachable, 0)
	t.due(dueImplicit, 0)
	t.due(dueSilent, 0)
	if why != "" {
		t.s.Behind = false
	}
	if flags&outTell != 0 {
		t.deregisterReached()
	}
	t.next(outSessions)
}

// deregisterReached: step 2. A UE that is idle is paged, and told when it comes.
func (t *turn) deregisterReached() {
	p := t.s.Procedure
	if t.doing() != Deregistration || p.Flags&outAnswered != 0 {
		t.release(ngapcause.Deregister)
		return
	}
	t.paged()
	if t.s.N2 == nil {
		t.page(0)
		return
	}
	t.bid(&n1.DeregistrationRequestToUE{Access: n1.Access3GPP, Cause: n1.Cause(p.Cause), Reregister: p.Flags&outRegister != 0})
}

// deregistrationAccepted: 4.2.2.3.3 step 6; or T3522 has expired for the last time.
func (t *turn) deregistrationAccepted() {
	if t.doing() != Deregistration {
		t.out.Refused = "nobody has asked"
		return
	}
	if t.s.Command != nil {
		t.answeredCommand()
	}
	t.s.Procedure.Flags |= outAnswered
	t.deregisterOn()
}

// deregisteredAway: the connection has gone meanwhile.
func (t *turn) deregisteredAway() {
	t.s.Command = nil
	t.due(dueCommand, 0)
	t.s.Procedure.Flags |= outAnswered
	t.deregisterOn()
}

// deregisterOn goes on where the step waits for that.
func (t *turn) deregisterOn() {
	switch t.s.Procedure.Step {
	case outSessions, outUE, outGone:
		t.ask()
	}
}

// Step 2.

func askOutSessions(t *turn) {
	t.unpause()
	for _, s := range slices.Clone(t.s.Sessions) {
		t.s.Remove(s.ID)
		t.endSession(s)
	}
	if len(t.live.sessions) > 0 {
		return // each answer comes back here
	}
	t.next(outPolicy)
}

// Step 6. A PCF that does not answer finds out by itself.

func askOutPolicy(t *turn) {
	if t.s.Policy == "" {
		t.next(outUE)
		return
	}
	t.do(AskPolicy{Number: t.await(), Operation: DeletePolicy, UE: t.s.Clone()})
}

func takeOutPolicy(t *turn, e Event) {
	if _, ok := e.(Policy); ok {
		t.s.Policy = ""
		t.next(outUE)
	}
}

func askOutUE(t *turn) {
	if t.s.Procedure.Flags&outAnswered == 0 {
		return
	}
	t.next(outGone)
}

// Step 8.

func askOutGone(t *turn) {
	if t.s.N2 != nil {
		t.release(ngapcause.Deregister)
		return // UE Context Release Complete, or silence, comes back here
	}
	if purged := t.s.Procedure.Flags&outElsewhere == 0 && t.maybeRecorded(); purged || t.s.Notified != "" { // of changes it is to tell no more either way (4.2.2.2.2 step 14d)
		t.do(TellLeft{SUPI: t.s.SUPI, PLMN: t.s.Place.PLMN, Notified: t.s.Notified, Purged: purged, Since: t.recordedSince()})
	}
	t.over("")
	t.gone()
}
