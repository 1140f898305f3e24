package procedure

import (
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// N2 handover (TS 23.502 4.9.1.3, TS 29.502 5.2.2.3.4):
//
//	4.9.1.3.2  4   the source wants it                                  prepareHandover: PREPARING
//	           7   answer with what the target has to know
//	           10  the target has taken the session, or not             targetReady, targetRefused: PREPARED, NONE
//	           11  N4: downlink packets wait, or are forwarded          handUnit
//	           12  answer with what the source has to know
//	4.9.1.3.3  7   the UE has arrived                                   handoverCompleted: COMPLETED
//	           8   N4: they go to the target                            handUnit
//	           10  answer; forwarding ends a while later                forwardingOver
//	4.9.1.4        it does not happen                                   handoverCancelled: CANCELLED
//
// Where the target takes forwarded packets, and the source reaches it or the unit stands between them, packets go on to the source until the
// UE has arrived, and the old tunnel is ended by an End Marker, behind which the target goes on with what comes from the unit. Otherwise the
// unit keeps the packets from step 11 to step 8: none is lost, and none overtakes another. Nothing to forward is what is usual.
//
// While it goes on, the session is at rest, with its state in record.Handover. An AMF that prepares it is not the UE's yet.
const handUnit uint8 = 1

// How a step that tells the unit goes on. It is in the record, in the place of a PTI.
const (
	handPrepared  uint8 = 1
	handCompleted uint8 = 2
	handCancelled uint8 = 3
	handOver      uint8 = 4
)

var handing = map[uint8]step{
	handUnit: {ask: askHand, take: takeHand},
}

// prepareTime is how long a target may take to have the UE: then packets go to the source again, which has it or has it no more.
// forwardingTime is how long a source may still forward (TS 23.502 4.9.1.3.3 step 10).
const (
	prepareTime    = 20 * time.Second
	forwardingTime = 5 * time.Second
)

// handover sorts what is said of one.
func (t *turn) handover(e Update) {
	if t.s.Phase != record.Active && e.Handover != HandoverCancelled {
		t.reply(notHanded("the session has no user plane connection", ngapcause.UnknownPDUSession))
		return
	}
	var m n2.Transfer
	if e.N2 != nil || e.N2Type != "" {
		var err error
		if m, err = n2.Decode(e.N2Type, e.N2); err != nil {
			f := notHanded(err.Error(), ngapcause.TransferSyntax)
			f.Cause = "N2_SM_ERROR"
			t.reply(f)
			return
		}
	}
	switch m := m.(type) {
	case *n2.HandoverRequired:
		t.prepareHandover(m)
	case *n2.HandoverAcknowledge:
		t.targetReady(m)
	case *n2.HandoverResourceAllocationUnsuccessful:
		t.targetRefused(m.Cause)
	case *n2.SetupUnsuccessful: // the target, in other words
		t.targetRefused(m.Cause)
	default:
		switch e.Handover {
		case HandoverCompleted:
			t.handoverCompleted()
		case HandoverCancelled:
			t.handoverCancelled()
		default:
			t.reply(Failed{Status: http.StatusForbidden, Cause: "N2_SM_ERROR", Detail: "a handover that is " + string(e.Handover) + " has another transfer"})
		}
	}
}

func notHanded(detail string, told n2.Cause) Failed {
	f := Failed{Status: http.StatusForbidden, Cause: "REQUEST_REJECTED", Detail: detail}
	if b, err := (&n2.HandoverPreparationUnsuccessful{Cause: told}).Encode(); err == nil {
		f.N2, f.N2Type = b, n2.InfoHandoverPreparationUnsuccessful
	}
	return f
}

// prepareHandover: steps 4 to 7. One that was under way has come to nothing: the source asks anew.
func (t *turn) prepareHandover(m *n2.HandoverRequired) {
	setup, err := t.setupRequest()
	if err != nil {
		t.reply(notHanded(err.Error(), ngapcause.MiscUnspecified))
		return
	}
	had := t.s.Handover != nil
	t.change(func(s *record.Session) { s.Handover = &record.Handover{Direct: m.DirectPath} })
	t.reply(Updated{Handover: HandoverPreparing, N2: setup, N2Type: n2.InfoSetupRequest})
	if had {
		t.due(dueHandover, 0)
	}
	t.hand(handOver)
}

// targetReady: steps 10 and 11.
func (t *turn) targetReady(m *n2.HandoverAcknowledge) {
	h := t.s.Handover
	if h == nil || h.Arrived {
		t.reply(notHanded("no handover is being prepared", ngapcause.HandoverFailureInTarget))
		return
	}
	var has []byte
	for _, f := range m.Flows {
		has = append(has, f.QFI)
	}
	if !slices.Contains(has, t.s.Flows[0].QFI) {
		t.targetRefused(ngapcause.HandoverFailureInTarget)
		return
	}
	t.change(func(s *record.Session) {
		h := s.Handover
		h.Target, h.Taken, h.Prepared = m.Downlink, has, true
		h.Forwarding = record.Tunnel{}
		if m.Forwarding != nil {
			h.Forwarding = *m.Forwarding
		}
		h.Buffering = m.Forwarding == nil
		h.Forwarded = nil
		for _, f := range m.Flows {
			if f.Forwarding {
				h.Forwarded = append(h.Forwarded, f.QFI)
			}
		}
	})
	t.due(dueHandover, prepareTime)
	t.hand(handPrepared)
}

// targetRefused: the source keeps the session.
func (t *turn) targetRefused(cause n2.Cause) {
	answer := Updated{Handover: HandoverNone}
	if b, err := (&n2.HandoverPreparationUnsuccessful{Cause: cause}).Encode(); err == nil {
		answer.N2, answer.N2Type = b, n2.InfoHandoverPreparationUnsuccessful
	}
	h := t.s.Handover
	if h == nil || h.Arrived {
		t.reply(answer)
		return
	}
	t.change(func(s *record.Session) { s.Handover = nil })
	t.due(dueHandover, 0)
	t.reply(answer)
	t.hand(handOver)
}

// handoverCompleted: 4.9.1.3.3 step 7.
func (t *turn) handoverCompleted() {
	h := t.s.Handover
	switch {
	case h != nil && h.Arrived: // said again, to who may not have told the target
		t.reply(Updated{Handover: HandoverCompleted})
		t.tellAccessAgain(t.arrived(h.Taken))
		return
	case h == nil && t.s.Handed: // likewise, and forwarding is over
		t.reply(Updated{Handover: HandoverCompleted})
		return
	case h == nil || !h.Prepared:
		t.reply(notHanded("no handover is prepared", ngapcause.HandoverFailureInTarget))
		return
	}
	t.change(func(s *record.Session) {
		h := s.Handover
		s.Downlink = h.Target
		lose(s, missing(s, h.Taken))
		h.Buffering, h.Arrived = false, true
	})
	t.shown()
	t.due(dueHandover, forwardingTime)
	t.hand(handCompleted)
}

// handoverCancelled: 4.9.1.4. The source has the UE.
func (t *turn) handoverCancelled() {
	if t.s.Handover == nil || t.s.Handover.Arrived {
		t.reply(Updated{Handover: HandoverCancelled})
		return
	}
	t.change(func(s *record.Session) { s.Handover = nil })
	t.due(dueHandover, 0)
	t.hand(handCancelled)
}

// handoverLate: forwarding is over, or a target has said nothing for long. If it comes all the same, it is known where the target is.
func (t *turn) handoverLate() {
	h := t.s.Handover
	switch {
	case h == nil:
		return
	case h.Arrived:
		t.change(func(s *record.Session) { s.Handover, s.Handed = nil, true })
	default:
		t.change(func(s *record.Session) { s.Handover.Buffering = false })
	}
	t.hand(handOver)
}

func (t *turn) hand(how uint8) {
	t.s.Procedure = &record.Procedure{Kind: uint8(Handing), Began: t.in.Now.UnixMilli(), PTI: how}
	t.next(handUnit)
}

func askHand(t *turn) {
	// The old tunnel is ended where its packets were not kept: the source forwards the End Marker.
	t.tell(t.s.Procedure.PTI == handCompleted, (*turn).handed)
}

func takeHand(t *turn, e Event) {
	u, ok := t.heard(e)
	if !ok {
		return
	}
	if h := t.s.Handover; u.Outcome == Done && h != nil {
		var created []*ie.IE
		switch {
		case u.Modified != nil:
			created = u.Modified.CreatedPDR
		case u.Established != nil:
			created = u.Established.CreatedPDR
		}
		if relay, err := n4.Relayed(created); err == nil {
			h.Relay = relay
		}
	}
	t.handed(u)
}

func (t *turn) handed(u Unit) {
	how := t.s.Procedure.PTI
	failed := u.Outcome != Done
	lost := u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound
	switch {
	case lost:
		t.over("the UPF has lost the session")
	case u.Outcome == Refused:
		t.over("the UPF refused")
	case failed:
		t.over("no answer of the UPF")
	default:
		t.over("")
	}
	switch how {
	case handPrepared: // what the unit does not forward or keep is lost on the way: no reason to leave the UE in a cell that fades
		if failed && !lost && !t.s.Handover.Direct {
			t.change(func(s *record.Session) { s.Handover.Forwarding = record.Tunnel{} })
			if u.Outcome == Refused && !t.s.Told.All && !t.s.Told.Unsure {
				t.s.Told = nil // it has what it had
			}
		}
		t.reply(t.handoverCommand())
	case handCompleted:
		switch {
		case u.Outcome == Refused && !lost:
			t.reply(unitRefused)
		case failed && !lost:
			t.reply(unitIsMute)
		default:
			t.reply(Updated{Handover: HandoverCompleted})
		}
	case handCancelled:
		t.reply(Updated{Handover: HandoverCancelled})
	}
	switch {
	case lost:
		t.restoreLost()
	case how == handCompleted && u.Outcome == Refused: // it goes on to the source, which has no UE any more: asked again, the unit is too
		t.s.Handover.Arrived = false
	default:
		if how == handCompleted {
			t.otherAccess()
			t.tellAccessAgain(t.arrived(t.s.Handover.Taken))
		}
		t.catchUp()
	}
}

// handoverCommand: step 12.
func (t *turn) handoverCommand() any {
	h := t.s.Handover
	c := n2.HandoverCommand{}
	end := h.Forwarding
	if !h.Direct {
		end = h.Relay
	}
	if (end != record.Tunnel{}) && (h.Forwarding != record.Tunnel{}) {
		c.Forwarding, c.Flows = &end, h.Forwarded
	}
	b, err := c.Encode()
	if err != nil {
		return notHanded(err.Error(), ngapcause.MiscUnspecified)
	}
	return Updated{Handover: HandoverPrepared, N2: b, N2Type: n2.InfoHandoverCommand}
}
