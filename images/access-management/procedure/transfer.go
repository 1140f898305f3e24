package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
)

// What SMFs and others want the UE, or its access network, to have (TS 29.518 5.2.2.3.1, TS 23.502 4.2.3.3), and paging of UEs that are idle:
//
//	1,3a  N1N2 Message Transfer                          transfer
//	3b    the answer: brought, or the UE is paged for it
//	4     Paging, T3513: four times, to the area          page, pageAgain
//	6     the UE comes                                    serve (service.go), or a registration: what was held is set up
//	3c    it does not: whoever asked is told              unreached
//
// What is held is what wants it: the user plane is asked for again, from the SMF, when the UE is there. A UE that is being registered or released, or whose
// access network sets up its context, is not disturbed: the event waits (Later).

// transfer: steps 1 to 3.
func (t *turn) transfer(e Transfer) {
	s := t.s.Session(e.Session)
	if a := t.s.N2; a != nil && a.Lost && s != nil && e.N2Type == setupRequest && e.N1 == nil { // packets wait: the gNB has forgotten the UE's tunnel
		t.part("the gNB sends no packets any more")
		s = t.s.Session(e.Session)
	}
	switch {
	case t.s.Phase == record.Leaving, t.s.Phase == record.Deregistered && t.doing() == 0:
		t.reply(e.From, noContext)
	case t.s.Handover != nil && e.N2 != nil:
		t.reply(e.From, Failed{Status: http.StatusConflict, Cause: "TEMPORARY_REJECT_HANDOVER_ONGOING", RetryAfter: 1})
	case s != nil && t.asking(e.Session, forActivation) && t.transferMeanwhile(e, s):
	case t.doing() == Registration, t.doing() == Service, t.s.N2 != nil && (t.s.N2.Setting || t.s.N2.Releasing || t.s.N2.Lost), e.Session != 0 && t.making(e.Session):
		t.out.Later = true
	case e.Session != 0 && s == nil:
		t.reply(e.From, Failed{Status: http.StatusNotFound, Cause: "CONTEXT_NOT_FOUND", Detail: "there is no such PDU session"})
	case t.s.N2 != nil:
		t.bringTransfer(e, s)
	case e.SkipIdle:
		t.notTransferred(e)
	case s == nil:
		t.reply(e.From, Failed{Status: http.StatusGatewayTimeout, Cause: "UE_NOT_REACHABLE", Detail: "the UE is idle, and nothing that has no PDU session is held for it"})
	default:
		t.hold(e, s)
	}
}

// transferMeanwhile, while the SMF is asked for the user plane of the session for a UE that has come. It does nothing else before it has an answer, so it has one
// at once; false: it wants the UE to hear something in any case, which waits. What the access network is to have comes with the user plane, whole, and what the UE
// was to hear the SMF says when that is up, as to one that was idle. Of a session that ends the UE hears by its status in the accept.
func (t *turn) transferMeanwhile(e Transfer, s *record.Session) bool {
	switch {
	case e.N1 == nil && e.N2Type == setupRequest: // packets wait
		t.reply(e.From, Transferred{Cause: "N1_N2_TRANSFER_INITIATED"})
	case e.N2Type == releaseRequest && t.s.N2 != nil && t.s.N2.Set && !t.s.N2.Releasing && !t.s.N2.Lost: // it may have the session still
		t.bringTransfer(e, s)
	case e.SkipIdle, e.N1 == nil && e.N2Type == modifyRequest:
		t.notTransferred(e)
	default:
		return false
	}
	return true
}

// notTransferred: TS 29.518 5.2.2.3.1.2.
func (t *turn) notTransferred(e Transfer) {
	cause := "N1_MSG_NOT_TRANSFERRED"
	if e.N1 == nil {
		cause = "N2_MSG_NOT_TRANSFERRED"
	}
	t.reply(e.From, Transferred{Cause: cause})
}

// making says whether an SMF is making a session of that identity, which may have a transfer for it before it has answered. A request that waits for the SMF to
// end the session before is none: that one's SMF ends nothing before its transfer was taken.
func (t *turn) making(id uint8) bool {
	list := t.live.sessions[id]
	return len(list) > 0 && list[0].purpose == forNew
}

// bringTransfer to a UE that is connected.
func (t *turn) bringTransfer(e Transfer, s *record.Session) {
	if e.Session == 0 {
		if e.N1 != nil {
			t.tell(&n1.DLNASTransport{PayloadType: n1.PayloadType(e.Kind), Payload: e.N1})
		}
		t.reply(e.From, Transferred{Cause: "N1_N2_TRANSFER_INITIATED"})
		return
	}
	if e.N2Type == setupRequest && s.Up && (e.N1 == nil || isAccept(e.N1)) { // there is a tunnel, of which the SMF hears, or has it released; the UE's accept came with it
		t.tellUnheardOf(s.ID)
		t.reply(e.From, Transferred{Cause: "N1_N2_TRANSFER_INITIATED"})
		return
	}
	t.deliver(e.Session, e.N1, e.N2, e.N2Type)
	t.reply(e.From, Transferred{Cause: "N1_N2_TRANSFER_INITIATED"})
}

// isAccept says of a 5GSM message whether it is a PDU Session Establishment Accept (TS 24.501 9.7).
func isAccept(message []byte) bool { return len(message) > 3 && message[3] == 0xc2 }

// hold what is for a UE that is idle, and page it.
func (t *turn) hold(e Transfer, s *record.Session) {
	h := s.Held
	if h == nil {
		h = &record.Held{}
	}
	h.Failure, h.Priority, h.FiveQI = e.Failure, e.Priority, e.FiveQI
	h.N2 = h.N2 || e.N2 != nil
	if e.N1 != nil {
		h.N1 = e.N1
	}
	s.Held = h
	t.reply(e.From, Transferred{Cause: "ATTEMPTING_TO_REACH_UE", Paging: true})
	t.page(priority(e.Priority))
}

// priority of paging (TS 38.413 9.3.1.78), of that of an ARP: only those of services that go before others have one (TS 23.501 5.4.3.3).
func priority(arp uint8) uint8 {
	if arp >= 1 && arp <= 8 {
		return arp
	}
	return 0
}

// page the UE: step 4. Where it is being paged already, a higher priority is told at once.
func (t *turn) page(priority uint8) {
	if p := t.s.Paging; p != nil && (priority == 0 || p.Priority != 0 && p.Priority <= priority) {
		return
	}
	t.s.Paging = &record.Paging{Began: t.in.Now.UnixMilli(), Priority: priority}
	t.pageOnce()
}

func (t *turn) pageOnce() {
	t.s.Paging.Attempts++
	t.pageIn(t.pagingArea())
	t.due(DuePaging, pagingTime)
}

// pagingArea is where the UE is paged: where it may be without telling.
func (t *turn) pagingArea() record.Area {
	if len(t.s.Area.TACs) > 0 {
		return t.s.Area
	}
	return record.Area{PLMN: t.s.Place.PLMN, TACs: []uint32{t.s.Place.TAC}}
}

// appeared: who was paged while a gNB of the area could not be reached is paged in its cells at once. T3513 goes on.
func (t *turn) appeared(g *record.GNB) {
	if t.s.Paging == nil || t.s.N2 != nil {
		return
	}
	area := t.pagingArea()
	there := g.TACs(area.PLMN)
	in := record.Area{PLMN: area.PLMN}
	for _, tac := range area.TACs {
		if slices.Contains(there, tac) {
			in.TACs = append(in.TACs, tac)
		}
	}
	if len(in.TACs) > 0 {
		t.pageIn(in)
	}
}

func (t *turn) pageIn(area record.Area) {
	p, s := t.s.Paging, t.in.Settings
	t.do(Page{Area: area, Message: &n2.Paging{
		Identity: n2.FiveGSTMSI{Set: s.Set, Pointer: s.Pointer, TMSI: t.s.TMSI}, DRX: n2.PagingDRX(t.s.DRX), TAIs: tais(area), Priority: n2.PagingPriority(p.Priority),
		Radio:      t.live.radio,
		Assistance: &n2.PagingAssistance{Attempts: &n2.PagingAttempts{Count: p.Attempts, Intended: pagingAttempts}},
	}})
	if t.s.OldTMSI != 0 && p.Attempts%2 == 0 { // TS 24.501 5.5.1.2.8 c: it may have either
		t.out.Effects[len(t.out.Effects)-1].(Page).Message.Identity.TMSI = t.s.OldTMSI
	}
}

// pageAgain: T3513.
func (t *turn) pageAgain() {
	switch p := t.s.Paging; {
	case p == nil:
	case t.s.N2 != nil:
		t.paged()
	case p.Attempts < pagingAttempts:
		t.pageOnce()
	default:
		t.unreached("UE_NOT_RESPONDING")
	}
}

// paged: the UE has come, or is not wanted any more.
func (t *turn) paged() {
	if t.s.Paging != nil {
		if t.s.SUPI != "" {
			t.ended(Paging, "", t.s.Paging.Began)
		}
		t.s.Paging = nil
		t.due(DuePaging, 0)
	}
}

// unreached: step 3c. A UE that is to be deregistered is, all the same.
func (t *turn) unreached(cause string) {
	began := t.s.Paging.Began
	t.s.Paging = nil
	t.ended(Paging, cause, began)
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Held != nil {
			if s.Held.Failure != "" {
				t.do(TellUnreached{URI: s.Held.Failure, Cause: cause})
			}
			s.Held = nil
		}
	}
	if t.doing() == Deregistration {
		t.s.Procedure.Flags |= outAnswered
		t.deregisterOn()
	}
}

// pageFor what SMFs wanted while the UE was connected and did not get there.
func (t *turn) pageFor() {
	for _, s := range t.s.Sessions {
		if s.Held != nil {
			t.page(priority(s.Held.Priority))
		}
	}
}

// deliverHeld messages, now that the UE is there. Of sessions whose user plane was wanted, what has come to nothing the SMF asks for again.
func (t *turn) deliverHeld() {
	for n := range t.s.Sessions {
		s := &t.s.Sessions[n]
		if s.Held == nil {
			continue
		}
		if s.Held.N1 != nil {
			t.downlink(t.container(s.ID, s.Held.N1))
		}
		s.Held = nil
	}
}
