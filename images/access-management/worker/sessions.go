package worker

import (
	"context"
	"encoding/hex"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/nsmf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/nf/sbi"
	smf "core5g.dev/core5g/images/session-management/nsmf"
)

// An SM context is known by its URI, with a fragment of ours: the SMF calls back by it, so that the end of a context is not taken for that of the one that
// has its PDU session identity next.

// mark is new with each SM context.
func (s *Shard) mark() string {
	var b [6]byte
	s.Random(b[:])
	return hex.EncodeToString(b[:])
}

func boundOf(session *record.Session) sbi.Bound {
	uri, _ := record.UnmarkContext(session.Context)
	return sbi.Bound{URI: uri, Instance: session.SMF, Set: session.Set}
}

// session: TS 29.502 5.2.2.
func (s *Shard) session(ctx context.Context, e procedure.AskSession) procedure.Event {
	switch e.Operation {
	case procedure.CreateSession:
		return s.createSession(ctx, &e)
	case procedure.UpdateSession:
		return s.updateSession(ctx, &e)
	}
	release := &smf.Release{Why: smf.Why{Cause: e.Cause}, Where: where(&e), N2: e.N2, N2Type: smf.N2Type(e.N2Type)}
	return s.sessionAnswer(&e, s.pod.SMF.Release(ctx, boundOf(&e.Session), release))
}

// sessionAnswer of a call without content, or one that has failed.
func (s *Shard) sessionAnswer(e *procedure.AskSession, err error) procedure.SessionAnswer {
	out := procedure.SessionAnswer{Number: e.Number}
	out.Outcome, out.Cause = outcome(err)
	if err == nil {
		return out
	}
	s.complain("an SMF does not do what it is asked", err, "supi", e.SUPI, "session", e.Session.ID)
	r, refused := nsmf.RefusalOf(err)
	if !refused {
		return out
	}
	out.Status, out.Cause, out.N1, out.N2, out.N2Type = r.Status, string(r.Cause), r.N1, r.N2, string(r.N2Type)
	out.RetryAfter = r.RetryAfter
	if r.NotFound() {
		out.Status = 404
	}
	return out
}

func where(e *procedure.AskSession) smf.Where {
	return smf.Where{Access: access3GPP, RAT: radio, Location: locationOf(e.Place)}
}

func (s *Shard) amf(e *procedure.AskSession) smf.AMF {
	name := guami(s.Settings())
	return smf.AMF{InstanceID: s.pod.InstanceID, GUAMI: &name, ServingNetwork: plmnOf(e.PLMN)}
}

func (s *Shard) createSession(ctx context.Context, e *procedure.AskSession) procedure.Event {
	s.pod.hints.add(e.SUPI, s.number) // the SMF asks for the UE before it is done: where that is need not be read from the store
	slice, mark := snssai(e.Session.Slice), s.mark()
	at := nsmf.SMF{SNSSAI: &slice, DNN: e.Session.DNN}
	create := &smf.Create{
		SUPI: e.SUPI, PEI: e.PEI, GPSI: e.GPSI, SessionID: e.Session.ID, DNN: e.Session.DNN, SelectionMode: "VERIFIED", SNSSAI: &slice, AMF: s.amf(e),
		Where: where(e), Request: smf.InitialRequest, N1: e.N1,
	}
	if e.Session.Emergency {
		create.Request = smf.InitialEmergency
		if procedure.NamedByPEI(e.SUPI) {
			create.SUPI = ""
		}
	}
	create.Where.TimeZone = timeZone(s.Settings())
	create.AMF.StatusURI = namf.SessionURI(s.pod.URI, refOf(e.SUPI)+refSeparator+mark, e.Session.ID)
	if e.Existing && e.Session.Emergency {
		create.Request = smf.ExistingEmergency
	} else if e.Existing { // it is where it was
		create.Request = smf.ExistingSession
		if list, err := s.pod.UDM.Sessions(ctx, e.SUPI); err == nil {
			at.Instance = list[e.Session.ID].SMFInstanceID
		}
	}
	made, created, err := s.pod.SMF.Create(ctx, at, create)
	out := s.sessionAnswer(e, err)
	if err != nil {
		return out
	}
	out.Context, out.SMF, out.Set = record.MarkContext(made.URI, mark), made.Instance, made.Set
	if made.Binding.Instance != "" {
		out.SMF = made.Binding.Instance
	}
	if made.Binding.Set != "" {
		out.Set = made.Binding.Set
	}
	out.Connection, out.Handover, out.N2, out.N2Type = string(created.UpCnxState), string(created.HoState), created.N2, string(created.N2Type)
	return out
}

func (s *Shard) updateSession(ctx context.Context, e *procedure.AskSession) procedure.Event {
	update := &smf.Update{
		Where: where(e), UpCnxState: smf.UpCnxState(e.Connection), HoState: smf.HoState(e.Handover), ToBeSwitched: e.Switched, FailedToBeSwitched: e.NotSwitched,
		N1: e.N1, N2: e.N2, N2Type: smf.N2Type(e.N2Type), Release: e.End, Why: smf.Why{Cause: e.Cause},
	}
	if e.Session.Moved { // TS 23.502 4.2.2.2.2 step 17
		_, mark := record.UnmarkContext(e.Session.Context)
		update.AMF = s.amf(e)
		update.AMF.StatusURI = namf.SessionURI(s.pod.URI, refOf(e.SUPI)+refSeparator+mark, e.Session.ID)
	}
	if e.Target != nil {
		update.Target = &smf.Target{PLMN: plmnOf(e.Target.PLMN), TAI: tai(*e.Target)}
	}
	updated, _, err := s.pod.SMF.Update(ctx, boundOf(&e.Session), update)
	out := s.sessionAnswer(e, err)
	if err != nil {
		return out
	}
	out.Connection, out.Handover, out.Cause = string(updated.UpCnxState), string(updated.HoState), updated.Cause
	out.N1, out.N2, out.N2Type = updated.N1, updated.N2, string(updated.N2Type)
	return out
}
