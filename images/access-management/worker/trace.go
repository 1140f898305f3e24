package worker

import (
	"fmt"
	"slices"
	"strings"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/signalling"
)

// What is traced of a UE (package signalling): what came for it, and what is done for it, as its procedures say it. Nothing of it is done where nobody is traced.

func (s *Shard) trace(h runner.Handled) {
	t := s.pod.Tracer
	if !t.Active() || h.SUPI != "" && !t.Wants(h.SUPI) {
		return
	}
	name := signalling.Stranger{Shard: s.number, UE: h.UE}
	list := entriesOf(h)
	if s.pod.PCF == nil { // nobody is asked, and nobody answers
		list = slices.DeleteFunc(list, func(e signalling.Entry) bool { return e.From == signalling.PCF || e.To == signalling.PCF })
	}
	if h.SUPI != "" {
		t.Known(name, h.SUPI)
		t.Add(h.SUPI, list...)
		return
	}
	t.AddStranger(name, list...)
	for _, e := range h.Output.Effects {
		if a, is := e.(procedure.AskChallenge); is {
			if supi := revealed(a.SUCI); supi != "" {
				t.Known(name, supi)
			}
		}
	}
}

// revealed is the SUPI in a SUCI that conceals nothing (TS 33.501 C.2, the null scheme): who it says to be, whether it is or not. "" of others.
func revealed(suci string) string {
	f := strings.Split(suci, "-") // suci-0-MCC-MNC-routing indicator-scheme-key-MSIN
	if len(f) != 8 || f[1] != "0" || f[5] != "0" {
		return ""
	}
	return "imsi-" + f[2] + f[3] + f[7]
}

// entriesOf what was handled: the event, what of NAS was in it, then what is done.
func entriesOf(h runner.Handled) []signalling.Entry {
	out := eventEntries(h)
	said := h.Output.NAS
	for ; len(said) > 0 && said[0].Direction == n1.Uplink; said = said[1:] {
		out = append(out, nasEntry(said[0]))
	}
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
	for _, x := range said {
		out = append(out, nasEntry(x))
	}
	for _, e := range h.Output.Effects {
		out = append(out, effectEntries(e)...)
	}
	return out
}

func note(message, cause string) signalling.Entry {
	return signalling.Entry{Protocol: signalling.Note, From: signalling.AMF, To: signalling.AMF, Message: message, Cause: cause}
}

func nasEntry(s procedure.Said) signalling.Entry {
	e := signalling.Entry{Protocol: signalling.NAS, From: signalling.UE, To: signalling.AMF, Message: s.Type().String(), Octets: s.Plain}
	if s.Direction == n1.Downlink {
		e.From, e.To = signalling.AMF, signalling.UE
	}
	if c, says := n1.CauseIn(s.Plain); says {
		e.Cause = c.String()
	}
	return e
}

func ngapEntry(m n2.Message, octets []byte, gnb string, toAccess bool) signalling.Entry {
	e := signalling.Entry{Protocol: signalling.NGAP, From: signalling.GNB, To: signalling.AMF, Message: m.Kind().String(), Peer: gnb, Octets: octets}
	if toAccess {
		e.From, e.To = signalling.AMF, signalling.GNB
	}
	if c, says := n2.CauseOf(m); says {
		e.Cause = c.String()
	}
	return e
}

func request(from, to, message, cause string, session uint8) signalling.Entry {
	return signalling.Entry{Protocol: signalling.SBI, From: from, To: to, Message: message, Cause: cause, Session: session}
}

// answered by another function: with what, and why not.
func answered(from, message string, o procedure.Outcome, cause string) []signalling.Entry {
	said := map[procedure.Outcome]string{procedure.Refused: "refused", procedure.Unknown: "no answer", procedure.Unsent: "not sent"}[o]
	if cause != "" {
		said = strings.TrimPrefix(said+": "+cause, ": ")
	}
	return []signalling.Entry{request(from, signalling.AMF, message, said, 0)}
}

func eventEntries(h runner.Handled) []signalling.Entry {
	switch e := h.Event.(type) {
	case procedure.Initial:
		return []signalling.Entry{ngapEntry(e.Message, h.Octets, e.At.GNB, false)}
	case procedure.FromAccess:
		return []signalling.Entry{ngapEntry(e.Message, h.Octets, e.At.GNB, false)}
	case procedure.AccessLost:
		if e.Kept {
			return []signalling.Entry{note("the association is lost, and the gNB is waited for", e.Why)}
		}
		return []signalling.Entry{note("the connection is lost", e.Why)}
	case procedure.AccessBack:
		return []signalling.Entry{note("the gNB is back, and has kept the UE", "")}
	case procedure.NotSent:
		return []signalling.Entry{note("not sent: "+e.Send.Message.Kind().String(), "the association is no more")}
	case procedure.Due:
		return []signalling.Entry{note("time: "+e.Name, "")}
	case procedure.Resumed:
		return []signalling.Entry{note("another worker has the UE, and goes on", "")}
	case procedure.Taken:
		return []signalling.Entry{note("another shard has the UE", "")}
	case procedure.Transfer:
		return []signalling.Entry{request(signalling.SMF, signalling.AMF, "Namf_Communication N1N2MessageTransfer"+ofType(e.N2Type), "", e.Session)}
	case procedure.SessionEnded:
		return []signalling.Entry{request(signalling.SMF, signalling.AMF, "Nsmf_PDUSession SMContextStatusNotify", "", e.Session)}
	case procedure.SubscriptionChanged:
		return []signalling.Entry{request(signalling.UDM, signalling.AMF, "Nudm_SDM Notification", "", 0)}
	case procedure.PolicyChanged:
		return []signalling.Entry{request(signalling.PCF, signalling.AMF, "Npcf_AMPolicyControl UpdateNotify", "", 0)}
	case procedure.End:
		why := map[procedure.Ending]string{procedure.Withdrawn: "withdrawn", procedure.Elsewhere: "another AMF has it", procedure.Again: "to register anew", procedure.Moved: "another AMF takes it over"}[e.Why]
		return []signalling.Entry{request(signalling.UDM, signalling.AMF, "Nudm_UECM DeregistrationNotification", why, 0)}
	case procedure.Challenge:
		return answered(signalling.AUSF, "Nausf_UEAuthentication Authenticate answer", e.Outcome, e.Cause)
	case procedure.Confirmed:
		cause := e.Cause
		if e.Outcome == procedure.Done && !e.Success && !e.More {
			cause = "not confirmed"
		}
		return answered(signalling.AUSF, "Nausf_UEAuthentication confirmation answer", e.Outcome, cause)
	case procedure.Recorded:
		list := answered(signalling.UDM, "Nudm_UECM Registration answer", e.Outcome, e.Cause)
		if e.Subscription != nil {
			list = append(list, eventEntries(runner.Handled{Event: *e.Subscription})...)
		}
		return list
	case procedure.Subscription:
		return answered(signalling.UDM, "Nudm_SDM Get and Subscribe answer", e.Outcome, e.Cause)
	case procedure.Policy:
		return answered(signalling.PCF, "Npcf_AMPolicyControl answer", e.Outcome, "")
	case procedure.Watch, procedure.Rewatch:
		return []signalling.Entry{note("Namf_EventExposure Subscribe", "")}
	case procedure.Lend:
		return []signalling.Entry{note("another AMF asks for the UE", "")}
	case procedure.LeftFor:
		if !e.Taken {
			return []signalling.Entry{note("another AMF has not taken the UE", "")}
		}
		return []signalling.Entry{note("another AMF has the UE", "")}
	case procedure.Other:
		why := map[procedure.Outcome]string{procedure.Refused: "refused", procedure.Unknown: "no answer", procedure.Unsent: "not sent"}[e.Outcome]
		return []signalling.Entry{note("answer of the AMF of before", why)}
	case procedure.Reach:
		return []signalling.Entry{note("Namf_MT EnableUEReachability", "")}
	case procedure.Unwatch:
		return []signalling.Entry{note("Namf_EventExposure Unsubscribe", "")}
	case procedure.SessionAnswer:
		return answered(signalling.SMF, "Nsmf_PDUSession answer"+ofType(e.N2Type), e.Outcome, e.Cause)
	}
	return nil
}

// ofType is that of an N2 transfer.
func ofType(n2Type string) string {
	if n2Type == "" {
		return ""
	}
	return ", " + n2Type
}

func effectEntries(e procedure.Effect) []signalling.Entry {
	amf := signalling.AMF
	switch e := e.(type) {
	case procedure.Send:
		m := n2.WithoutKeys(e.Message)
		octets, err := n2.Write(m)
		if err != nil {
			octets = nil
		}
		return []signalling.Entry{ngapEntry(m, octets, e.To.GNB, true)}
	case procedure.Page:
		octets, err := n2.Write(e.Message)
		if err != nil {
			octets = nil
		}
		return []signalling.Entry{ngapEntry(e.Message, octets, "all of "+e.Area.PLMN, true)}
	case procedure.AskChallenge:
		return []signalling.Entry{request(amf, signalling.AUSF, "Nausf_UEAuthentication Authenticate", resynchronised(e), 0)}
	case procedure.AskConfirm:
		return []signalling.Entry{request(amf, signalling.AUSF, "Nausf_UEAuthentication confirmation", "", 0)}
	case procedure.AskRecording:
		list := []signalling.Entry{request(amf, signalling.UDM, "Nudm_UECM Registration", "", 0)}
		if e.Subscription != nil {
			list = append(list, effectEntries(*e.Subscription)...)
		}
		return list
	case procedure.AskSubscription:
		return []signalling.Entry{request(amf, signalling.UDM, "Nudm_SDM Get and Subscribe", "", 0)}
	case procedure.AskPolicy:
		name := map[procedure.PolicyOperation]string{procedure.CreatePolicy: "Create", procedure.UpdatePolicy: "Update", procedure.DeletePolicy: "Delete"}[e.Operation]
		return []signalling.Entry{request(amf, signalling.PCF, "Npcf_AMPolicyControl "+name, "", 0)}
	case procedure.AskSession:
		name := map[procedure.SessionOperation]string{
			procedure.CreateSession: "CreateSMContext", procedure.UpdateSession: "UpdateSMContext", procedure.ReleaseSession: "ReleaseSMContext",
		}[e.Operation]
		if e.Connection != "" {
			name += " " + e.Connection
		}
		return []signalling.Entry{request(amf, signalling.SMF, "Nsmf_PDUSession "+name+ofType(e.N2Type), e.Cause, e.Session.ID)}
	case procedure.TellUnreached:
		return []signalling.Entry{request(amf, signalling.SMF, "Namf_Communication N1N2TransferFailureNotification", e.Cause, 0)}
	case procedure.AskOther:
		return []signalling.Entry{note("the AMF of before is asked for the UE", "")}
	case procedure.TellOther:
		if !e.Taken {
			return []signalling.Entry{note("the AMF of before hears that it keeps the UE", "")}
		}
		return []signalling.Entry{note("the AMF of before hears that the UE is here", "")}
	case procedure.TellReports:
		return []signalling.Entry{note("Namf_EventExposure Notify", "")}
	case procedure.TellLeft:
		return []signalling.Entry{request(amf, signalling.UDM, "Nudm_UECM Deregistration", "", 0)}
	case procedure.Reply:
		return replyEntries(e.Body)
	}
	return nil
}

func resynchronised(e procedure.AskChallenge) string {
	if e.AUTS != nil {
		return "with the USIM's AUTS"
	}
	return ""
}

// replyEntries are answers; whom they go to is who asked.
func replyEntries(body any) []signalling.Entry {
	switch b := body.(type) {
	case procedure.Transferred:
		return []signalling.Entry{request(signalling.AMF, signalling.SMF, "Namf_Communication answer", b.Cause, 0)}
	case procedure.Failed:
		return []signalling.Entry{request(signalling.AMF, signalling.SMF, "refusal", fmt.Sprintf("%d %s %s", b.Status, b.Cause, b.Detail), 0)}
	}
	return nil
}
