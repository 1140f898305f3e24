package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
)

// What UEs have the AMF carry (TS 24.501 5.4.5.2): 5GSM messages to SMFs. Other payloads have nobody here, and come back with cause 90; so do
// messages for sessions that are not there, or cannot be made. A UE whose message is lost says it again (T3580 to T3582): that is not another.
//
//	TS 23.502 4.3.2.2.1  1  PDU Session Establishment Request   sessionRequested
//	                     3  Create SM Context                   forNew; again, where the SMF cannot do it now (again.go)
//	                     5  its answer                          sessionMade
//	                    11  accept                              Transfer (transfer.go)
//	4.3.3, 4.3.4            modification, release               forUE, forwarded; again, as well

// uplink sorts what a UE wants to be carried.
func (t *turn) uplink(m *n1.ULNASTransport) {
	switch {
	case m.PayloadType != n1.PayloadN1SM, m.SessionID == 0 || m.SessionID > record.MostSessions:
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CausePayloadNotForwarded, 0)
	case t.s.Phase != record.Registered:
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CausePayloadNotForwarded, 0)
	case m.Request == n1.RequestInitialEmergency, m.Request == n1.RequestExistingEmergency:
		t.emergencySession(m)
	case t.s.Emergency && m.Request != 0: // TS 23.501 5.16.4.1: nothing else
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CausePayloadNotForwarded, 0)
	case m.Request == n1.RequestInitial || m.Request == n1.RequestMultiAccess || m.Request == n1.RequestExisting:
		t.sessionRequested(m)
	default:
		t.forward(m)
	}
}

// returned to the UE, since it was not forwarded (TS 24.501 5.4.5.3.1 d to i).
func (t *turn) returned(kind n1.PayloadType, id uint8, payload []byte, c n1.Cause, back time.Duration) {
	m := &n1.DLNASTransport{PayloadType: kind, Payload: payload, SessionID: id, Cause: c}
	if back > 0 {
		b := n1.Timer3(back)
		m.BackOff = &b
	}
	t.tell(m)
}

// sessionRequested: 4.3.2.2.1 steps 1 to 3.
func (t *turn) sessionRequested(m *n1.ULNASTransport) {
	id := m.SessionID
	if t.saidAgain(id, m.Payload) {
		t.out.Refused = "the same request is under way"
		return
	}
	slice, dnn, c := t.sliceAndDNN(m)
	if c != 0 {
		t.returned(m.PayloadType, id, m.Payload, c, 0)
		return
	}
	t.createSession(m, record.Session{ID: id, Slice: slice, DNN: dnn}, m.Request == n1.RequestExisting)
}

// createSession at an SMF: step 3. A request before it that no SMF has been asked yet is none any more: the UE has given it up.
func (t *turn) createSession(m *n1.ULNASTransport, is record.Session, existing bool) {
	id := is.ID
	t.unask(id, func(a AskSession) bool { return a.purpose == forNew && (!a.sent || a.pauses()) })
	if !t.askSMF(AskSession{Operation: CreateSession, Session: is, N1: slices.Clone(m.Payload), Existing: existing, purpose: forNew, began: t.in.Now}) {
		t.returned(m.PayloadType, id, m.Payload, n1.CauseCongestion, t.backoff())
	}
}

// saidAgain: that very message waits for its SMF.
func (t *turn) saidAgain(id uint8, payload []byte) bool {
	return slices.ContainsFunc(t.live.sessions[id], func(a AskSession) bool { return a.N1 != nil && slices.Equal(a.N1, payload) })
}

// sliceAndDNN of a new session: what the UE says, or its first allowed slice, and the data network that it has there; a cause where it has none.
func (t *turn) sliceAndDNN(m *n1.ULNASTransport) (slice record.Slice, dnn string, c n1.Cause) {
	n := 0
	if m.Slice != nil {
		asked := sliceFrom(m.Slice.SNSSAI)
		n = slices.IndexFunc(t.s.Allowed, asked.Is)
	}
	if n < 0 || n >= len(t.s.Allowed) {
		return slice, "", n1.CausePayloadNotForwarded
	}
	dnn = string(m.DNN)
	if dnn == "" && n < len(t.s.DNNs) {
		dnn = t.s.DNNs[n]
	}
	if dnn == "" {
		return slice, "", n1.CauseDNNNotSupported
	}
	return t.s.Allowed[n], dnn, 0
}

// sessionMade: step 5. A refusal brings the SMF's reject; where nobody has one, the request comes back. The UE hears something in any case.
func (t *turn) sessionMade(asked AskSession, e SessionAnswer) {
	id := asked.Session.ID
	switch {
	case e.Outcome == Done:
		s := asked.Session
		s.Context, s.SMF, s.Set = e.Context, e.SMF, e.Set
		if !t.stays(s) { // the UE may not have it any more
			t.endSession(s)
			if t.s.N2 == nil {
				return
			}
			t.returned(n1.PayloadN1SM, id, asked.N1, n1.CausePayloadNotForwarded, 0)
			return
		}
		t.s.Add(s)
		t.deliver(id, e.N1, e.N2, e.N2Type)
	case t.s.N2 == nil:
	case e.N1 != nil:
		t.deliver(id, e.N1, nil, "")
	case e.busy():
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CauseCongestion, t.backoff())
	case e.Cause == "DNN_NOT_SUPPORTED" || e.Cause == "DNN_DENIED":
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CauseDNNNotSupported, 0)
	case e.Cause == "INSUFFICIENT_RESOURCES_SLICE_DNN":
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CauseInsufficientForSliceAndDNN, t.backoff())
	case e.Cause == "INSUFFICIENT_RESOURCES_SLICE":
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CauseInsufficientForSlice, t.backoff())
	default:
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CausePayloadNotForwarded, 0)
	}
}

// forward to the SMF of a session.
func (t *turn) forward(m *n1.ULNASTransport) {
	s := t.s.Session(m.SessionID)
	switch {
	case t.saidAgain(m.SessionID, m.Payload):
		t.out.Refused = "the same message is under way"
	case s == nil || s.Context == "":
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CausePayloadNotForwarded, 0)
	case !t.askSMF(AskSession{Operation: UpdateSession, Session: *s, N1: slices.Clone(m.Payload), purpose: forUE, began: t.in.Now}):
		t.returned(m.PayloadType, m.SessionID, m.Payload, n1.CauseCongestion, t.backoff())
	}
}

func (t *turn) forwarded(asked AskSession, e SessionAnswer) {
	id := asked.Session.ID
	switch {
	case e.Outcome == Done || e.N1 != nil:
		t.deliver(id, e.N1, e.N2, e.N2Type)
	case t.s.N2 == nil:
	case e.busy():
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CauseCongestion, t.backoff())
	default:
		t.returned(n1.PayloadN1SM, id, asked.N1, n1.CausePayloadNotForwarded, 0)
	}
}

// sessionEnded: TS 29.502 5.2.2.5. The UE has heard it from the SMF, or hears it with its next request.
func (t *turn) sessionEnded(e SessionEnded) {
	if s := t.s.Session(e.Session); s != nil && s.Context == e.Context {
		t.s.Remove(e.Session)
		return
	}
	for _, x := range t.s.Ending {
		if x.Session.ID == e.Session && x.Session.Context == e.Context {
			t.toldEnd(x.Session, SessionAnswer{Outcome: Done})
			return
		}
	}
	t.out.Refused = "there is another session of that identity, or none"
}
