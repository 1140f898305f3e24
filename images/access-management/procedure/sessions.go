package procedure

import (
	"maps"
	"slices"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// What SMFs are asked, and what becomes of their answers (TS 29.502 5.2.2). Of one PDU session one thing is asked at a time, in the order in which
// it came up; of several, at once.

// States of a user plane connection and of a handover (TS 29.502 6.1.6.3.2, 6.1.6.3.3).
const (
	activating  = "ACTIVATING"
	deactivated = "DEACTIVATED"
	preparing   = "PREPARING"
	prepared    = "PREPARED"
	completed   = "COMPLETED"
	cancelled   = "CANCELLED"
)

// Types of N2 SM information (TS 29.502 6.1.6.3.12).
const (
	setupRequest     = "PDU_RES_SETUP_REQ"
	setupDone        = "PDU_RES_SETUP_RSP"
	setupFailed      = "PDU_RES_SETUP_FAIL"
	releaseRequest   = "PDU_RES_REL_CMD"
	releaseDone      = "PDU_RES_REL_RSP"
	modifyRequest    = "PDU_RES_MOD_REQ"
	modifyDone       = "PDU_RES_MOD_RSP"
	modifyFailed     = "PDU_RES_MOD_FAIL"
	notifyChanged    = "PDU_RES_NTY"
	notifyReleased   = "PDU_RES_NTY_REL"
	modifyIndication = "PDU_RES_MOD_IND"
	modifyConfirm    = "PDU_RES_MOD_CFM"
	switchRequest    = "PATH_SWITCH_REQ"
	switchFailed     = "PATH_SWITCH_SETUP_FAIL"
	switchDone       = "PATH_SWITCH_REQ_ACK"
	switchRefused    = "PATH_SWITCH_REQ_FAIL"
	handRequired     = "HANDOVER_REQUIRED"
	handCommand      = "HANDOVER_CMD"
	handRefused      = "HANDOVER_PREP_FAIL"
	handTaken        = "HANDOVER_REQ_ACK"
	handNotTaken     = "HANDOVER_RES_ALLOC_FAIL"
	secondaryUsage   = "SECONDARY_RAT_USAGE"
)

// purpose of what an SMF is asked.
type purpose uint8

const (
	forUE         purpose = 1 // UL NAS Transport, of a session that there is
	forNew        purpose = 2 // a session is to be made
	forAccess     purpose = 3 // what an access network has said
	forActivation purpose = 4 // the procedure wants the user plane
	forIdle       purpose = 5 // the user plane is down
	forEnd        purpose = 6 // the session is no more for the UE
	forPlace      purpose = 7 // another one takes its identity
	forSwitch     purpose = 8
	forPreparing  purpose = 9
	forPrepared   purpose = 10
	forCompleted  purpose = 11
	forCancelled  purpose = 12
	forSlice      purpose = 13 // its slice is not the UE's any more
)

// mostAsked bounds what waits for an SMF, of one session.
const mostAsked = 8

// askSMF of a session, when nothing that was asked before is open; false: too much waits. What an SMF has not heard it hears before what is said of the
// session's resources later, unless that takes its meaning from it.
func (t *turn) askSMF(a AskSession) bool {
	id := a.Session.ID
	unheard := t.live.unheard[id]
	if s := t.s.Session(id); s != nil && supersedes(a) && a.purpose != forCompleted {
		s.Arriving = false
	}
	switch {
	case a.purpose == forUE || len(unheard) == 0:
	case supersedes(a):
		delete(t.live.unheard, id)
	case reports(a) && len(unheard) >= mostAsked:
		return false
	case reports(a):
		t.live.unheard[id] = append(slices.Clip(unheard), a)
		t.tellUnheardOf(id)
		return true
	default:
		t.tellUnheardOf(id)
	}
	return t.line(a)
}

// line up what an SMF is asked of a session.
func (t *turn) line(a AskSession) bool {
	id := a.Session.ID
	list := t.live.sessions[id]
	if len(list) >= mostAsked {
		return false
	}
	a.Number, a.sent = t.number(), len(list) == 0 && a.Operation != CreateSession
	t.live.waits(id, append(slices.Clone(list), t.whose(a)))
	switch {
	case a.sent:
		t.do(t.live.sessions[id][0])
	case len(list) == 0:
		t.askNext(id)
	}
	return true
}

// whose session it is: what the UE is called, and where it is.
func (t *turn) whose(a AskSession) AskSession {
	a.SUPI, a.PEI, a.GPSI, a.Place, a.PLMN = t.s.SUPI, t.s.PEI, t.s.GPSI, t.s.Place, t.s.Place.PLMN
	return a
}

// waits is the list of what SMFs are asked of a session from now on.
func (l *live) waits(id uint8, list []AskSession) {
	if l.sessions == nil {
		l.sessions = map[uint8][]AskSession{}
	}
	if l.sessions[id] = list; len(list) == 0 {
		delete(l.sessions, id)
	}
}

// unask what nobody wants of a session any more, and go on with what has waited for it.
func (t *turn) unask(id uint8, is func(AskSession) bool) {
	t.live.waits(id, slices.DeleteFunc(slices.Clone(t.live.sessions[id]), is))
	t.askNext(id)
}

// asking says whether an SMF is asked that, of a session.
func (t *turn) asking(id uint8, p purpose) bool {
	return slices.ContainsFunc(t.live.sessions[id], func(a AskSession) bool { return a.purpose == p })
}

// sessionAnswered sorts by what was asked.
func (t *turn) sessionAnswered(e SessionAnswer) {
	var asked AskSession
	found := false
	for id, list := range t.live.sessions {
		if len(list) > 0 && list[0].Number == e.Number {
			asked, found = list[0], true
			t.live.waits(id, slices.Clone(list[1:]))
			break
		}
	}
	if !found {
		t.out.Refused = "an answer that nobody waits for"
		return
	}
	id := asked.Session.ID
	if t.askLater(asked, e) {
		return
	}
	if s := t.s.Session(id); s != nil && s.Context == asked.Session.Context && e.Outcome == Refused && e.Status == 404 && asked.Operation != CreateSession {
		t.s.Remove(id) // the SMF has it no more
	}
	t.sessionDone(asked, e)
	if t.s == nil {
		return
	}
	t.askNext(id)
	if t.s != nil && t.doing() == Deregistration {
		t.deregisterOn()
	}
}

// askNext of what waits, of a session as it is now. What is for one that is no more is not asked; and where one is to be made, that which has its identity ends
// before (TS 24.501 6.4.1.7 b: the UE has it not any more).
func (t *turn) askNext(id uint8) {
	for len(t.live.sessions[id]) > 0 {
		list := slices.Clone(t.live.sessions[id])
		if list[0].sent {
			return
		}
		s := t.s.Session(id)
		switch operation := list[0].Operation; {
		case operation == CreateSession && !list[0].Existing && s != nil && s.Context != "":
			list = append([]AskSession{t.whose(AskSession{
				Number: t.number(), Operation: UpdateSession, Session: *s, End: true, Cause: "REL_DUE_TO_DUPLICATE_SESSION_ID", purpose: forPlace,
			})}, list...)
		case operation == UpdateSession && s != nil:
			list[0].Session = *s
		case operation == UpdateSession:
			t.live.waits(id, list[1:])
			if t.sessionDone(list[0], SessionAnswer{Outcome: Refused, Status: 404}); t.s == nil {
				return
			}
			continue
		}
		list[0].sent = true
		t.live.waits(id, list)
		t.do(list[0])
		return
	}
}

func (t *turn) sessionDone(asked AskSession, e SessionAnswer) {
	id := asked.Session.ID
	s := t.s.Session(id)
	if s != nil && s.Context != asked.Session.Context { // another one has its identity by now
		s = nil
	}
	if s != nil && e.Outcome == Done {
		s.Moved = false
	}
	switch asked.purpose {
	case forNew:
		t.sessionMade(asked, e)
	case forUE:
		t.forwarded(asked, e)
	case forAccess:
		t.deliver(id, e.N1, e.N2, e.N2Type)
		t.notHeard(s, asked, e)
	case forCompleted:
		t.toldArrived(s, asked, e)
	case forActivation:
		t.activated(id, e)
	case forIdle:
		t.toldIdle(s, e)
	case forEnd:
		t.toldEnd(asked.Session, e)
	case forPlace:
		if s != nil && !saidReleased(e) {
			t.endLater(*s, endingTime)
			t.endOn()
		}
		if e.N2 != nil && t.s.N2 != nil && t.s.N2.Set {
			t.deliver(id, nil, e.N2, e.N2Type)
		}
		t.s.Remove(id)
	case forSlice:
		t.deliver(id, e.N1, e.N2, e.N2Type)
	case forSwitch:
		t.switched(id, e)
	case forPreparing:
		t.sessionPreparing(id, e)
	case forPrepared:
		t.sessionPrepared(id, e)
	}
}

// deactivate a session's user plane: 4.2.6 step 5. Until the SMF has heard, it is told again.
func (t *turn) deactivate(s *record.Session) {
	s.Up, s.Silent = false, true
	if s.Moved && s.Lent { // whose it is the SMF hears from who has the UE in the end (notGoing)
		return
	}
	if list := t.live.sessions[s.ID]; len(list) > 0 && list[0].pauses() && !t.waitsFor(list[0]) {
		t.giveUp(s.ID)
	}
	if !t.asking(s.ID, forIdle) {
		t.askSMF(AskSession{Operation: UpdateSession, Session: *s, Connection: deactivated, Cause: "REL_DUE_TO_UNSPECIFIED_REASON", purpose: forIdle})
	}
}

func (t *turn) toldIdle(s *record.Session, e SessionAnswer) {
	switch {
	case s == nil || s.Up:
	case e.Outcome == Done || e.Outcome == Refused:
		s.Silent = false
	default:
		t.due(dueSilent, silentTime)
	}
}

// silence is broken for sessions that nobody has set up again.
func (t *turn) silence() {
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Silent && !s.Up {
			t.deactivate(s)
		}
	}
}

func (t *turn) tellSilent() {
	if k := t.doing(); k != Registration && k != Service {
		t.silence()
	}
}

// reports say what an access network has said, or what the AMF says of the one that has the UE now.
func reports(a AskSession) bool { return a.purpose == forAccess || a.purpose == forCompleted }

// supersedes what access networks have said of a session's resources before: it has others now, or none.
func supersedes(a AskSession) bool {
	switch a.purpose {
	case forUE, forPreparing, forPrepared, forCancelled:
		return false
	case forAccess:
		return a.N2Type == setupDone || a.N2Type == setupFailed || a.N2Type == releaseDone || a.N2Type == notifyReleased
	}
	return true
}

// notHeard: nobody knows whether the SMF has heard what the access network has said of a session. It is told again, and before what was said later, unless that
// supersedes it: of a tunnel that it never hears of it keeps the session's packets back, and of a flow that was not taken it sends packets there.
func (t *turn) notHeard(s *record.Session, asked AskSession, e SessionAnswer) {
	if s == nil || t.s.N2 == nil || asked.attempts >= mostUnheard || e.Outcome != Unknown && e.Outcome != Unsent {
		return
	}
	asked.attempts++
	again, waits := []AskSession{asked}, []AskSession(nil)
	for _, a := range t.live.sessions[s.ID] {
		switch {
		case supersedes(a):
			return
		case reports(a):
			again = append(again, a)
		default:
			waits = append(waits, a)
		}
	}
	t.live.waits(s.ID, waits)
	if t.live.unheard == nil {
		t.live.unheard = map[uint8][]AskSession{}
	}
	t.live.unheard[s.ID] = append(again, t.live.unheard[s.ID]...)
	t.due(dueUnheard, unheardTime)
}

func (t *turn) tellUnheard() {
	for _, id := range slices.Sorted(maps.Keys(t.live.unheard)) {
		t.tellUnheardOf(id)
	}
}

// tellUnheardOf a session, where there is something that was not heard, the oldest first.
func (t *turn) tellUnheardOf(id uint8) {
	list := t.live.unheard[id]
	delete(t.live.unheard, id)
	for n, a := range list {
		s := t.s.Session(id)
		if s == nil || s.Context != a.Session.Context || t.s.N2 == nil {
			continue
		}
		again := AskSession{Operation: UpdateSession, Session: *s, Handover: a.Handover, N2: a.N2, N2Type: a.N2Type, purpose: a.purpose, attempts: a.attempts}
		if !t.line(again) {
			t.live.unheard[id] = list[n:]
			t.due(dueUnheard, unheardTime)
			return
		}
	}
}

// activate sessions for the procedure (4.2.3.2 step 4); it goes on when the last has answered.
func (t *turn) activate(ids []uint8) {
	p := t.s.Procedure
	for _, id := range ids {
		s := t.s.Session(id)
		if s == nil || p.Sessions&(1<<id) != 0 {
			continue
		}
		t.unask(id, func(a AskSession) bool { return a.purpose == forActivation && a.pauses() })
		if t.askSMF(AskSession{Operation: UpdateSession, Session: *s, Connection: activating, purpose: forActivation, began: t.in.Now}) {
			p.Sessions |= 1 << id
		} else {
			p.Failed |= 1 << id
		}
	}
}

func (t *turn) activated(id uint8, e SessionAnswer) {
	p := t.s.Procedure
	if p == nil || p.Sessions&(1<<id) == 0 { // the procedure that wanted it is over: nobody has set it up
		if s := t.s.Session(id); s != nil && e.Outcome == Done && !s.Up {
			t.deactivate(s)
		}
		return
	}
	p.Sessions &^= 1 << id
	if s := t.s.Session(id); s != nil && e.Outcome == Done && e.N2 != nil {
		s.Silent = false
		t.live.gathered = append(t.live.gathered, gathered{id: id, n1: e.N1, n2: e.N2, transfer: e.N2Type})
	} else {
		p.Failed |= 1 << id
		if s != nil && s.Moved { // it has not heard whose it is
			s.Silent = true
		}
	}
	if p.Sessions == 0 {
		t.ask() // the step goes on
	}
}

// setups of what was gathered, with their NAS where the message can have it.
func (t *turn) setups(withNAS bool) []n2.SessionSetup {
	var out []n2.SessionSetup
	for _, g := range t.live.gathered {
		s := t.s.Session(g.id)
		if s == nil {
			continue
		}
		x := n2.SessionSetup{ID: g.id, SNSSAI: snssai(s.Slice), Transfer: g.n2}
		if g.n1 != nil && withNAS {
			x.NAS = t.container(g.id, g.n1)
		}
		out = append(out, x)
	}
	return out
}

// deliver what an SMF gives for a UE and its access network, which are connected.
func (t *turn) deliver(id uint8, nas, transfer []byte, kind string) {
	if t.s.N2 == nil || t.s.N2.Releasing || t.s.N2.Lost || nas == nil && transfer == nil {
		return
	}
	var wrapped []byte
	if nas != nil {
		wrapped = t.container(id, nas)
	}
	if transfer == nil {
		t.downlink(wrapped)
		return
	}
	s := t.s.Session(id)
	switch kind {
	case setupRequest:
		if s == nil {
			return
		}
		one := n2.SessionSetup{ID: id, SNSSAI: snssai(s.Slice), Transfer: transfer}
		if !t.s.N2.Set {
			if wrapped != nil {
				t.downlink(wrapped)
			}
			t.setUpContext(nil, []n2.SessionSetup{one})
			return
		}
		one.NAS = wrapped
		t.send(&n2.PDUSessionResourceSetupRequest{
			UE: ids(t.s.N2), Sessions: []n2.SessionSetup{one}, AMBR: &n2.AggregateBitRate{Uplink: t.s.Uplink, Downlink: t.s.Downlink},
		})
	case modifyRequest:
		t.send(&n2.PDUSessionResourceModifyRequest{UE: ids(t.s.N2), Sessions: []n2.SessionModify{{ID: id, NAS: wrapped, Transfer: transfer}}})
	case releaseRequest:
		delete(t.live.unheard, id)
		if s != nil {
			s.Up = false
		}
		t.send(&n2.PDUSessionResourceReleaseCommand{UE: ids(t.s.N2), NAS: wrapped, Sessions: []n2.Session{{ID: id, Transfer: transfer}}})
	case modifyConfirm:
		t.send(&n2.PDUSessionResourceModifyConfirm{UE: ids(t.s.N2), Sessions: []n2.Session{{ID: id, Transfer: transfer}}})
	default:
		if wrapped != nil {
			t.downlink(wrapped)
		}
	}
}

// resources that an access network has, or has not, go to their SMFs.
func (t *turn) resources(done, failed []n2.Session, doneType, failedType string) {
	for _, x := range done {
		t.resource(x, doneType)
	}
	for _, x := range failed {
		t.resource(x, failedType)
	}
}

func (t *turn) resource(x n2.Session, kind string) {
	s := t.s.Session(x.ID)
	if s == nil {
		return
	}
	switch kind {
	case setupDone:
		s.Up, s.Silent, s.Held = true, false, nil
	case setupFailed, releaseDone, notifyReleased:
		s.Up = false
	}
	if x.Transfer != nil {
		t.askSMF(AskSession{Operation: UpdateSession, Session: *s, N2: x.Transfer, N2Type: kind, purpose: forAccess})
	}
}
