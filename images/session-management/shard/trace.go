package shard

import (
	"fmt"
	"strings"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/signalling"
)

// What is traced of a UE's sessions (package signalling): what came for them, and what is done, as their procedures say it, and PFCP as it goes over N4. Nothing
// of it is done where nobody is traced.
//
// N4 knows a session by its CP SEID: the UE behind it is known from what is handled for the session.

func (s *Shard) trace(h runner.Handled) {
	t := s.pod.Tracer
	if !t.Active() {
		return
	}
	supi, id := "", uint8(0)
	for _, rec := range []*record.Session{h.Was, h.Session} {
		if rec == nil {
			continue
		}
		supi, id = rec.SUPI, rec.ID
		t.Known(signalling.Stranger{Shard: s.Number, UE: rec.CPSEID}, rec.SUPI)
	}
	if c, is := h.Event.(procedure.Create); is {
		supi, id = c.SUPI, c.ID
	}
	if supi == "" || !t.Wants(supi) {
		return
	}
	list := entriesOf(h)
	for n := range list {
		list[n].Session = id
	}
	t.Add(supi, list...)
}

// traceN4 sees session messages; the endpoint's own goroutine calls it.
func (s *Shard) traceN4(w pfcp.Watched) {
	t := s.pod.Tracer
	if !t.Active() {
		return
	}
	e := signalling.Entry{
		Protocol: signalling.PFCP, From: signalling.UPF, To: signalling.SMF, Message: w.Message, Cause: w.Cause, Peer: w.Peer.String(),
		Octets: append([]byte{}, w.Octets...),
	}
	if w.Sent {
		e.From, e.To = signalling.SMF, signalling.UPF
	}
	if w.Again {
		e.Cause = "again"
	}
	t.AddStranger(signalling.Stranger{Shard: s.Number, UE: w.CPSEID}, e)
}

func entriesOf(h runner.Handled) []signalling.Entry {
	out := eventEntries(h.Event)
	if h.Output.Refused != "" {
		out = append(out, note("refused", h.Output.Refused))
	}
	for _, r := range h.Output.Ended {
		cause := r.Cause
		if cause == "" {
			cause = fmt.Sprintf("done, %s", r.Took)
		}
		out = append(out, note(r.Kind.String()+" ends", cause))
	}
	for _, e := range h.Output.Effects {
		out = append(out, effectEntries(e)...)
	}
	return out
}

func note(message, cause string) signalling.Entry {
	return signalling.Entry{Protocol: signalling.Note, From: signalling.SMF, To: signalling.SMF, Message: message, Cause: cause}
}

// nas is a message of session management, beside what brings it; none where there is none.
func nas(b []byte, fromUE bool) []signalling.Entry {
	t, cause, ok := n1.Look(b)
	if !ok {
		return nil
	}
	e := signalling.Entry{Protocol: signalling.NAS, From: signalling.SMF, To: signalling.UE, Message: t.String(), Octets: b}
	if fromUE {
		e.From, e.To = signalling.UE, signalling.SMF
	}
	if cause != 0 {
		e.Cause = fmt.Sprintf("5GSM cause %d", cause)
	}
	return []signalling.Entry{e}
}

func service(from, to, message, cause string) signalling.Entry {
	return signalling.Entry{Protocol: signalling.SBI, From: from, To: to, Message: message, Cause: cause}
}

func ofType(t n2.InfoType) string {
	if t == "" {
		return ""
	}
	return ", " + string(t)
}

var unsuccessful = map[procedure.Outcome]string{procedure.Refused: "refused", procedure.Unknown: "no answer", procedure.NotSent: "not sent"}

func eventEntries(e procedure.Event) []signalling.Entry {
	const amf, smf, pcf = signalling.AMF, signalling.SMF, signalling.PCF
	one := func(e signalling.Entry, n1 []byte) []signalling.Entry {
		return append([]signalling.Entry{e}, nas(n1, true)...)
	}
	switch e := e.(type) {
	case procedure.Create:
		return one(service(amf, smf, "Nsmf_PDUSession CreateSMContext, "+e.DNN, ""), e.N1)
	case procedure.Update:
		name := "Nsmf_PDUSession UpdateSMContext"
		if e.Connection != "" {
			name += " " + string(e.Connection)
		}
		if e.Handover != "" {
			name += " " + string(e.Handover)
		}
		return one(service(amf, smf, name+ofType(e.N2Type), e.Cause), e.N1)
	case procedure.Release:
		return one(service(amf, smf, "Nsmf_PDUSession ReleaseSMContext", e.Cause), nil)
	case procedure.Unreachable:
		return one(service(amf, smf, "Namf_Communication N1N2TransferFailureNotification", e.Cause), nil)
	case procedure.Transferred:
		return one(service(amf, smf, "Namf_Communication answer", strings.Trim(unsuccessful[e.Outcome]+": "+e.Cause, ": ")), nil)
	case procedure.PolicyChanged:
		return one(service(pcf, smf, "Npcf_SMPolicyControl UpdateNotify", ""), nil)
	case procedure.PolicyEnded:
		return one(service(pcf, smf, "Npcf_SMPolicyControl termination", ""), nil)
	case procedure.Policy:
		return one(service(pcf, smf, "Npcf_SMPolicyControl answer", unsuccessful[e.Outcome]), nil)
	case procedure.ChargingChanged:
		return one(service(signalling.CHF, smf, "Nchf_ConvergedCharging Notify", ""), nil)
	case procedure.Charged:
		return one(service(signalling.CHF, smf, "Nchf_ConvergedCharging answer", unsuccessful[e.Outcome]), nil)
	case procedure.Subscription:
		cause := ""
		switch {
		case e.Failed:
			cause = "no answer"
		case e.Unknown:
			cause = "there is none for the data network"
		}
		return one(service(signalling.UDM, smf, "Nudm_SDM Get answer", cause), nil)
	case procedure.SubscriptionChanged:
		return one(service(signalling.UDM, smf, "Nudm_SDM Notification", ""), nil)
	case procedure.Unit: // its answer is on N4
		if why := unsuccessful[e.Outcome]; why != "" && e.Outcome != procedure.Refused {
			return one(note("the unit", why), nil)
		}
	case procedure.Due:
		return one(note("time: "+e.Name, ""), nil)
	case procedure.Resumed:
		return one(note("another pod has the session, and goes on", ""), nil)
	case procedure.UnitRestarted, procedure.UnitGone, procedure.UnitDrains, procedure.UnitDiffers, procedure.PathFailed:
		return one(note(fmt.Sprintf("%T", e)[len("procedure."):], ""), nil)
	case procedure.End:
		return one(note("the network ends the session", fmt.Sprintf("5GSM cause %d", e.Cause)), nil)
	}
	return nil
}

func effectEntries(e procedure.Effect) []signalling.Entry {
	const amf, smf, udm = signalling.AMF, signalling.SMF, signalling.UDM
	one := func(e signalling.Entry, n1 []byte) []signalling.Entry { return append(nas(n1, false), e) }
	switch e := e.(type) {
	case procedure.Reply:
		switch b := e.Body.(type) {
		case procedure.Created:
			return one(service(smf, amf, "Nsmf_PDUSession answer: created", ""), nil)
		case procedure.Updated:
			return one(service(smf, amf, "Nsmf_PDUSession answer"+ofType(b.N2Type), b.Cause), b.N1)
		case procedure.Ended:
			return one(service(smf, amf, "Nsmf_PDUSession answer: released", ""), nil)
		case procedure.Failed:
			return one(service(smf, amf, "Nsmf_PDUSession refusal", fmt.Sprintf("%d %s %s", b.Status, b.Cause, b.Detail)), b.N1)
		}
	case procedure.AskTransfer:
		return one(service(smf, amf, "Namf_Communication N1N2MessageTransfer"+ofType(e.N2Type), ""), e.N1)
	case procedure.AskStatus:
		return one(service(smf, amf, "Nsmf_PDUSession SMContextStatusNotify", e.Cause), nil)
	case procedure.AskSubscription:
		return one(service(smf, udm, "Nudm_SDM Get", ""), nil)
	case procedure.AskPolicy:
		name := map[procedure.PolicyOperation]string{
			procedure.CreatePolicy: "Create", procedure.UpdatePolicy: "Update", procedure.DeletePolicy: "Delete", procedure.ReadPolicy: "Get",
		}[e.Operation]
		return one(service(smf, signalling.PCF, "Npcf_SMPolicyControl "+name, ""), nil)
	case procedure.AskCharging:
		name := map[procedure.ChargingOperation]string{
			procedure.CreateCharging: "Create", procedure.UpdateCharging: "Update", procedure.ReleaseCharging: "Release",
		}[e.Operation]
		return one(service(smf, signalling.CHF, "Nchf_ConvergedCharging "+name, ""), nil)
	case procedure.TellRegistration:
		name := "Registration"
		if e.Gone {
			name = "Deregistration"
		}
		return one(service(smf, udm, "Nudm_UECM "+name, ""), nil)
	}
	return nil
}
