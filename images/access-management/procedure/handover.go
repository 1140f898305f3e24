package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// N2 handover within the set (TS 23.502 4.9.1.3, TS 38.413 8.4.1 to 8.4.3, 8.4.5 to 8.4.7):
//
//	4.9.1.3.2  1    Handover Required                          handoverRequired
//	           4,7  SMFs: PREPARING, with what the target has
//	                to know of each session                    handSessions
//	           9    Handover Request, with NH and NCC           handTarget
//	           10   its answer                                 targetTook, targetRefused
//	           10a  SMFs: PREPARED, with what the source has
//	                to know                                    handAnswer
//	4.9.1.3.3  1    Handover Command                           handMoving
//	           2    Status Transfer                            statusTransfer
//	           5    Handover Notify                            handoverNotified
//	           7    SMFs: COMPLETED                            forCompleted, toldArrived; by a new holder: arrivedAgain
//	           14a  the source is released, a while later where it forwards packets
//	4.9.1.4         it is cancelled, or comes to nothing       handoverCancelled, handoverOver: SMFs CANCELLED
//
// Until Notify the UE is the source's. What a new holder finds in the midst of it is given up: the source asks again, or keeps the UE.
const (
	handSessions uint8 = 1
	handTarget   uint8 = 2
	handAnswer   uint8 = 3
	handMoving   uint8 = 4
)

// handoverRequired: step 1.
func (t *turn) handoverRequired(m *n2.HandoverRequired) {
	target := t.in.Find(record.GNBName(plmnText(m.Target.Node.PLMN), m.Target.Node.ID, m.Target.Node.Bits))
	plmn := t.in.Settings.plmn(plmnText(m.Target.TAI.PLMN))
	switch {
	case m.Type != n2.Intra5GS || m.Target.EPS || m.Target.Node.Kind != n2.GNB:
		t.notHanded(ngapcause.HandoverTargetNotAllowed, "no handover into another system")
		return
	case target == nil:
		t.notHanded(ngapcause.UnknownTargetID, "no such gNB")
		return
	case !plmn.serves(uint32(m.Target.TAI.TAC)):
		t.notHanded(ngapcause.HandoverTargetNotAllowed, "the tracking area is not served")
		return
	case t.doing() != 0 && t.doing() != Configuration, t.s.Security == nil, t.s.Phase != record.Registered, t.s.N2.Releasing:
		t.notHanded(ngapcause.InteractionWithOtherProcedure, "a procedure is under way")
		return
	case slices.ContainsFunc(t.s.Sessions, t.arrivalUnheard): // it would take what it hears of that for the arrival of this one
		t.tellUnheard()
		t.notHanded(ngapcause.InteractionWithOtherProcedure, "an SMF has not heard of the handover before")
		return
	}
	if t.s.Handover != nil { // the source has asked anew
		t.handoverOver("the source has asked anew")
	}
	t.chain() // committed before the target has it, and never given to another one
	h := &record.Handover{
		Target: target.At(), Step: handSessions, Cause: [2]uint8{uint8(m.Cause.Group()), uint8(m.Cause.Value())}, Began: t.in.Now.UnixMilli(),
		Place: record.Place{PLMN: plmnText(m.Target.TAI.PLMN), TAC: uint32(m.Target.TAI.TAC), At: t.in.Now.Unix()},
	}
	h.Target.AMF = t.in.Attachment()
	t.s.Handover, t.live.container, t.live.gathered = h, m.Container, nil
	t.due(dueHandover, handoverTime)
	for _, x := range m.Sessions {
		s := t.s.Session(x.ID)
		if s == nil || !s.Up {
			continue
		}
		if t.askSMF(AskSession{
			Operation: UpdateSession, Session: *s, Handover: preparing, N2: x.Transfer, N2Type: handRequired, Target: &h.Place, purpose: forPreparing, began: t.in.Now,
		}) {
			h.Asked |= 1 << x.ID
		}
	}
	if h.Asked == 0 {
		t.handoverFailed(ngapcause.HandoverFailureInTarget, "no session to hand over")
	}
}

func (t *turn) notHanded(c n2.Cause, why string) {
	t.send(&n2.HandoverPreparationFailure{UE: ids(t.s.N2), Cause: c})
	t.out.Refused = why
}

// sessionPreparing: step 7.
func (t *turn) sessionPreparing(id uint8, e SessionAnswer) {
	h := t.s.Handover
	if h == nil || h.Step != handSessions || h.Asked&(1<<id) == 0 {
		return
	}
	h.Asked &^= 1 << id
	if e.Outcome == Done && e.N2 != nil && e.N2Type == setupRequest {
		h.Taken |= 1 << id
		t.live.gathered = append(t.live.gathered, gathered{id: id, n2: e.N2})
	}
	switch {
	case h.Asked != 0:
	case h.Taken == 0:
		t.handoverFailed(ngapcause.HandoverFailureInTarget, "no SMF has prepared a session")
	default:
		t.askTarget()
	}
}

// askTarget: step 9.
func (t *turn) askTarget() {
	h := t.s.Handover
	h.Step = handTarget
	t.do(Send{To: h.Target, Message: &n2.HandoverRequest{
		AMF: n2.AMFUEID(h.Target.AMF), Type: n2.Intra5GS, Cause: ngapcause.Make(ngapcause.Group(h.Cause[0]), uint16(h.Cause[1])),
		AMBR: n2.AggregateBitRate{Uplink: t.s.Uplink, Downlink: t.s.Downlink}, Inactive: t.inactive(), Security: t.abilities(),
		Next: n2.SecurityContext{NCC: t.s.Security.Chaining, NH: n2.SecurityKey(t.s.Security.Hop)}, Sessions: t.setups(false), Allowed: snssais(t.s.Allowed),
		MaskedIMEISV: masked(t.s.PEI), Container: t.live.container, GUAMI: t.in.Settings.guami(h.Place.PLMN),
	}})
	t.live.gathered = nil
}

// fromTarget is what the target says.
func (t *turn) fromTarget(e FromAccess, message n2.Message) {
	switch m := message.(type) {
	case *n2.HandoverRequestAcknowledge:
		t.targetTook(e, m)
	case *n2.HandoverFailure:
		t.s.Handover.Target.RAN = 0 // it has nothing to let go of
		t.handoverFailed(m.Cause, "the target has refused")
	case *n2.HandoverNotify:
		t.handoverNotified(m)
	}
}

// targetTook: step 10.
func (t *turn) targetTook(e FromAccess, m *n2.HandoverRequestAcknowledge) {
	h := t.s.Handover
	if h.Step != handTarget {
		t.out.Refused = "nobody has asked"
		return
	}
	h.Target.RAN, h.Target.Since, h.Target.Came, h.Step = e.At.RAN, e.At.Since, e.At.Came, handAnswer
	t.live.container, t.live.gathered = m.Container, nil
	taken := uint16(0)
	for _, x := range m.Sessions {
		if s := t.s.Session(x.ID); s != nil && h.Taken&(1<<x.ID) != 0 {
			taken |= 1 << x.ID
			t.askSMF(AskSession{Operation: UpdateSession, Session: *s, Handover: prepared, N2: x.Transfer, N2Type: handTaken, purpose: forPrepared, began: t.in.Now})
		}
	}
	for _, x := range m.Failed {
		if s := t.s.Session(x.ID); s != nil && h.Taken&(1<<x.ID) != 0 {
			t.askSMF(AskSession{Operation: UpdateSession, Session: *s, Handover: prepared, N2: x.Transfer, N2Type: handNotTaken, purpose: forCancelled})
		}
	}
	h.Taken, h.Asked = taken, taken
	if taken == 0 {
		t.handoverFailed(ngapcause.HandoverFailureInTarget, "the target takes no session")
	}
}

// sessionPrepared: step 10a.
func (t *turn) sessionPrepared(id uint8, e SessionAnswer) {
	h := t.s.Handover
	if h == nil || h.Step != handAnswer || h.Asked&(1<<id) == 0 {
		return
	}
	h.Asked &^= 1 << id
	if e.Outcome == Done && e.N2 != nil && e.N2Type == handCommand {
		t.live.gathered = append(t.live.gathered, gathered{id: id, n2: e.N2})
	} else {
		h.Taken &^= 1 << id
	}
	switch {
	case h.Asked != 0:
	case h.Taken == 0:
		t.handoverFailed(ngapcause.HandoverFailureInTarget, "no SMF has prepared a session")
	default: // 4.9.1.3.3 step 1
		h.Step = handMoving
		m := &n2.HandoverCommand{UE: ids(t.s.N2), Type: n2.Intra5GS, Container: t.live.container}
		for _, g := range t.live.gathered {
			m.Sessions = append(m.Sessions, n2.Session{ID: g.id, Transfer: g.n2})
			h.Forwards = h.Forwards || forwards(g.n2)
		}
		for _, s := range t.s.Sessions {
			if s.Up && h.Taken&(1<<s.ID) == 0 {
				m.ToRelease = append(m.ToRelease, n2.Session{ID: s.ID, Transfer: unsuccessfulPreparation})
			}
		}
		t.send(m)
		t.live.gathered, t.live.container = nil, nil
	}
}

// unsuccessfulPreparation is a Handover Preparation Unsuccessful Transfer (TS 38.413 9.3.4.18) with the cause "unspecified" of the radio network.
var unsuccessfulPreparation = []byte{0, 0}

// statusTransfer: 4.9.1.3.3 step 2.
func (t *turn) statusTransfer(m *n2.UplinkRANStatusTransfer) {
	h := t.s.Handover
	if h == nil || h.Step != handMoving {
		t.out.Refused = "no handover is under way"
		return
	}
	t.do(Send{To: h.Target, Message: &n2.DownlinkRANStatusTransfer{UE: ids(&h.Target), Container: m.Container}})
}

// handoverNotified: 4.9.1.3.3 step 5.
func (t *turn) handoverNotified(m *n2.HandoverNotify) {
	h := t.s.Handover
	if h.Step != handMoving {
		t.out.Refused = "no handover is under way"
		return
	}
	source := t.s.N2
	at := h.Target
	at.Set, at.Secured = true, source.Secured
	t.s.N2 = &at
	t.s.Handover = nil
	t.due(dueHandover, 0)
	t.seen(m.Location)
	for n := range t.s.Sessions {
		s := &t.s.Sessions[n]
		switch {
		case h.Taken&(1<<s.ID) != 0:
			if s.Arriving = true; !t.askSMF(AskSession{Operation: UpdateSession, Session: *s, Handover: completed, purpose: forCompleted}) {
				t.deactivate(s)
			}
		case s.Up: // the target has it not
			t.deactivate(s)
		}
	}
	t.ended(Handing, "", h.Began)
	if h.Forwards && !source.Releasing && !source.Lost {
		t.leaveLater(*source)
		return
	}
	t.leave(source, ngapcause.SuccessfulHandover)
}

// forwards says of a Handover Command Transfer (TS 38.413 9.3.4.10) whether it names a tunnel for packets that the source still has: of the session, of one of its
// radio bearers, or, of uplink packets, in its extensions.
func forwards(transfer []byte) bool {
	const session, bearers, extensions = 0x40, 0x10, 0x08
	return len(transfer) > 0 && transfer[0]&(session|bearers|extensions) != 0
}

// toldArrived: step 10. Until an SMF has said so its packets wait, or go where the UE was: it is told again as long as the UE is there, by whoever has the UE then;
// uplink packets need no SMF. One that refuses knows nothing of the target's tunnel: the access network lets go of the UE, whose packets wait then, and go
// where it comes next.
func (t *turn) toldArrived(s *record.Session, asked AskSession, e SessionAnswer) {
	switch {
	case s == nil || !s.Arriving:
	case e.Outcome == Done:
		s.Arriving = false
	case e.Outcome == Refused:
		s.Arriving = false
		t.contextLost("an SMF does not know where the UE has arrived", ngapcause.RadioUnspecified)
	default:
		t.unprepared(s.ID)
		asked.attempts = 0
		t.notHeard(s, asked, e)
	}
}

// unprepared: what waits for the SMF's word of the handover before is not asked for the next one.
func (t *turn) unprepared(id uint8) {
	waits := func(a AskSession) bool { return a.purpose == forPreparing && !a.sent }
	if list := t.live.sessions[id]; slices.ContainsFunc(list, waits) {
		t.live.waits(id, slices.DeleteFunc(slices.Clone(list), waits))
		t.sessionPreparing(id, SessionAnswer{Outcome: Unsent})
	}
}

// arrivalUnheard says of a session whether its SMF is to be told again that the UE has arrived.
func (t *turn) arrivalUnheard(s record.Session) bool {
	return slices.ContainsFunc(t.live.unheard[s.ID], func(a AskSession) bool { return a.purpose == forCompleted })
}

// targetErred: the target has found an error in what it was asked, or does not know the UE any more (TS 38.413 10.4, 10.6). There is nothing to wait for.
func (t *turn) targetErred(m *n2.ErrorIndication) {
	h := t.s.Handover
	if m.Cause != nil && *m.Cause == ngapcause.AbstractSyntaxNotify { // it goes on
		t.out.Refused = "the target has not understood all"
		return
	}
	switch unknown := m.Cause != nil && (*m.Cause == ngapcause.UnknownLocalUEID || *m.Cause == ngapcause.InconsistentRemoteUEID); {
	case unknown && h.Step == handMoving:
		h.Target.RAN = 0
		t.handoverOver("the target does not know the UE")
	case unknown || h.Step == handTarget:
		h.Target.RAN = 0
		t.handoverFailed(ngapcause.HandoverFailureInTarget, "the target has found an error")
	default:
		t.out.Refused = "the target has found an error"
	}
}

// landed: a session without a user plane is nowhere.
func (t *turn) landed() {
	if t.s == nil {
		return
	}
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; !s.Up {
			s.Arriving = false
		}
	}
}

// arrivedAgain is said what the holder before may not have said.
func (t *turn) arrivedAgain() {
	for _, s := range slices.Clone(t.s.Sessions) {
		if s.Arriving && t.s.N2 != nil && !t.s.N2.Releasing {
			t.askSMF(AskSession{Operation: UpdateSession, Session: s, Handover: completed, purpose: forCompleted})
		}
	}
}

// handoverCancelled: 4.9.1.4.
func (t *turn) handoverCancelled(m *n2.HandoverCancel) {
	if t.s.Handover != nil {
		t.handoverOver("the source has cancelled it")
	}
	t.send(&n2.HandoverCancelAcknowledge{UE: ids(t.s.N2)})
}

// handoverFailed: step 10, it is not prepared. The source keeps the UE.
func (t *turn) handoverFailed(c n2.Cause, why string) {
	t.send(&n2.HandoverPreparationFailure{UE: ids(t.s.N2), Cause: c})
	t.handoverOver(why)
}

// handoverOver gives it up: SMFs have the sessions where they were, and the target lets go of what it has.
func (t *turn) handoverOver(why string) {
	h := t.s.Handover
	t.s.Handover, t.live.container = nil, nil
	t.due(dueHandover, 0)
	for _, s := range slices.Clone(t.s.Sessions) {
		if (h.Asked|h.Taken)&(1<<s.ID) != 0 {
			t.askSMF(AskSession{Operation: UpdateSession, Session: s, Handover: cancelled, purpose: forCancelled})
		}
	}
	if h.Target.RAN != 0 {
		t.leave(&h.Target, ngapcause.HandoverCancelled)
	}
	t.ended(Handing, why, h.Began)
}

// handoverLate: TNGRELOCoverall is the source's; when it has done nothing, neither does the UE come.
func (t *turn) handoverLate() {
	h := t.s.Handover
	switch {
	case h == nil:
	case h.Step == handMoving:
		t.handoverOver("the UE has not arrived")
	default:
		t.handoverFailed(ngapcause.TNGRelocPrepExpiry, "it took too long")
	}
}

// targetGone: its association is no more. It may have kept the UE, and has where it is there by another association of the NG interface.
func (t *turn) targetGone(kept bool) {
	h := t.s.Handover
	if g := t.in.Beside(h.Target); kept && g != nil {
		h.Target.Move(g.At())
		return
	}
	if h.Target.Lost = kept; !kept {
		h.Target.RAN = 0
	}
	if h.Step == handMoving {
		t.handoverOver("the target is gone")
		return
	}
	t.handoverFailed(ngapcause.HandoverFailureInTarget, "the target is gone")
}
