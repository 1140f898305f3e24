package procedure

import (
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

func serviceRequest(kind n1.ServiceType, has, uplink n1.Sessions) func(*teller) []byte {
	return func(tr *teller) []byte {
		m := &n1.ServiceRequest{Service: kind, STMSI: tr.guti().STMSI(), Sessions: &has}
		if uplink != 0 {
			m.UplinkData = &uplink
		}
		return tr.says(m, n1.IntegrityProtected)
	}
}

var (
	pageSilent = act{name: "T3513 expires", later: pagingTime, event: func(*teller) Event { return Due{Name: DuePaging} }}
	packets    = happens("SMF: packets wait", Transfer{From: 8, Session: 1, N2: []byte{1, 2, 1}, N2Type: setupRequest, Failure: "http://smf-1/failed/1", Priority: 5, FiveQI: 9})
	toSetUp    = smf("SMF: to be set up", 1, SessionAnswer{Outcome: Done, N2: []byte{1, 2, 1}, N2Type: setupRequest, Connection: activating})
	updated    = smf("SMF: updated", 1, SessionAnswer{Outcome: Done})
	contextUp  = gnbSays("gNB: Initial Context Setup Response", func(*teller) n2.Message {
		return &n2.InitialContextSetupResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}}
	})
	notReached = smf("SMF: not reached", 1, SessionAnswer{Outcome: Unsent})
	unheard    = act{name: "2 s later", later: unheardTime, event: func(*teller) Event { return Due{Name: dueUnheard} }}

	modified = func(transfer byte) act {
		return gnbSays("gNB: PDU Session Resource Modify Response", func(*teller) n2.Message {
			return &n2.PDUSessionResourceModifyResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{transfer}}}}
		})
	}

	serves = first("UE: Service Request, data", gnb1, 3, 1, serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1)))
	comes  = first("UE: Service Request, paged", gnb1, 3, 1, serviceRequest(n1.ServiceMobileTerminated, n1.Of(1), 0))
	gone   = happens("terminator: the association is gone", AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 1}, Why: "the gNB is gone"})
)

// TS 23.502 4.2.3.2, TS 24.501 5.6.1.
func TestService(t *testing.T) {
	tell(t, "service", []story{
		{name: "data", from: idleUE, acts: []act{serves, toSetUp, contextUp, updated}},
		{name: "signalling", from: idleUE, acts: []act{first("UE: Service Request, signalling", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, n1.Of(1), 0)), contextSet}},
		{name: "by another gNB, while the old connection is still known", from: withSession, acts: []act{
			first("UE: Service Request, data", gnb2, 3, 7, serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))), toSetUp, contextUp, updated,
			{name: "gNB 1: UE Context Release Complete", event: func(tr *teller) Event {
				return FromAccess{At: tr.st.Record.Left[0], Message: &n2.UEContextReleaseComplete{}}
			}},
		}},
		{name: "by another gNB, without data: the SMF hears that the old user plane is down", from: withSession, acts: []act{
			first("UE: Service Request, signalling", gnb2, 3, 7, serviceRequest(n1.ServiceSignalling, n1.Of(1), 0)), updated,
		}},
		{name: "the SMF refuses the user plane: the UE is told which", from: idleUE, acts: []act{
			serves, smf("SMF: no", 1, SessionAnswer{Outcome: Refused, Status: 500, Cause: "UPF_NOT_RESPONDING"}),
		}},
		{name: "the SMF cannot activate it now: it is asked again", from: idleUE, acts: []act{serves, smfBusy(nil), pausedFor(time.Second), toSetUp, contextUp, updated}},
		{name: "and not for longer than another session may wait", from: idleUE, acts: []act{
			serves, smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil),
		}},
		{name: "the UE comes by another gNB before the SMF is asked again", from: idleUE, acts: []act{
			serves, smfBusy(nil), first("UE: Service Request, data", gnb2, 3, 7, serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))), toSetUp, contextUp, updated,
		}},
		{name: "the gNB lets go before the SMF is asked again", from: idleUE, acts: []act{serves, smfBusy(nil), gnbReleases, released, pausedFor(time.Second)}},
		{name: "the worker dies before the SMF is asked again: the next one does", from: idleUE, acts: []act{
			serves, smfBusy(nil), dies, happens("a new holder", Resumed{}), toSetUp, contextUp, updated,
		}},
		{name: "the SMF has not the session: neither has the UE", from: idleUE, acts: []act{
			serves, smf("SMF: not found", 1, SessionAnswer{Outcome: Refused, Status: 404, Cause: "CONTEXT_NOT_FOUND"}),
		}},
		{name: "the UE has not the session any more", from: idleUE, acts: []act{
			first("UE: Service Request", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, 0, 0)), smf("SMF: released", 1, SessionAnswer{Outcome: Done}),
		}},
		{name: "the gNB has no room for the session", from: idleUE, acts: []act{
			serves, toSetUp, gnbSays("gNB: Initial Context Setup Response", func(*teller) n2.Message {
				return &n2.InitialContextSetupResponse{Failed: []n2.Session{{ID: 1, Transfer: []byte{8}}}}
			}),
		}},
		{name: "while it is connected: another session is set up", from: func(tr *teller) {
			idleUE(tr)
			tr.lead(first("UE: Service Request, signalling", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, n1.Of(1), 0)), contextSet)
		}, acts: []act{says("UE: Service Request, data", serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))), toSetUp, resourceSet(1), updated}},
		{name: "nothing is kept of the UE: cause 9", acts: []act{
			first("UE: Service Request", gnb1, 3, 1, func(tr *teller) []byte { return plain(tr.t, &n1.ServiceRequest{STMSI: n1.STMSI{TMSI: 7}}) }),
		}},
		{name: "another MAC: cause 9, and what is kept stays", from: idleUE, acts: []act{
			first("somebody: Service Request", gnb2, 3, 7, func(tr *teller) []byte {
				b := serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))(tr)
				tr.phone.uplink--
				b[2] ^= 1
				return b
			}), serves,
		}},
		{name: "a storm: cause 22 with T3346; who was paged is let in", from: idleUE, acts: []act{
			{name: "UE: Service Request, data", event: func(tr *teller) Event {
				e := serves.event(tr).(Initial)
				e.Storm = true
				return e
			}}, released, packets,
			{name: "UE: Service Request, paged", event: func(tr *teller) Event {
				e := comes.event(tr).(Initial)
				e.Storm = true
				return e
			}}, toSetUp,
		}},
		{name: "the tracking area is not served any more", from: idleUE, acts: []act{{name: "UE: Service Request", event: func(tr *teller) Event {
			tr.settings.PLMNs[0].TACs = []uint32{77}
			return serves.event(tr)
		}}}},
		{name: "the worker dies while the SMF is asked: it is asked again", from: idleUE, acts: []act{serves, dies, happens("a new holder", Resumed{}), toSetUp}},
		{name: "the worker dies when the access network was asked, or not: it is asked again when it does not answer", from: idleUE, acts: []act{
			serves, toSetUp, dies, happens("a new holder", Resumed{}), contextLate, toSetUp, contextUp, updated,
		}},
		{name: "the access network was asked, and answers the new holder", from: idleUE, acts: []act{
			serves, toSetUp, dies, happens("a new holder", Resumed{}), contextUp, contextLate, updated,
		}},
		{name: "the store has lost writes: AKA first", from: idleUE, acts: []act{
			happens("a new holder", Resumed{Lost: true}), serves, vector,
			says("UE: Authentication Response", protected(&n1.AuthenticationResponse{RES: resOf})), confirms, completes, toSetUp, contextUp,
		}},
		{name: "and the worker dies when the UE is asked: it is challenged anew", from: idleUE, acts: []act{
			happens("a new holder", Resumed{Lost: true}), serves, vector, dies, happens("a new holder", Resumed{}),
			says("UE: Authentication Response, to the challenge of before", protected(&n1.AuthenticationResponse{RES: resOf})), vector,
			says("UE: Authentication Response", protected(&n1.AuthenticationResponse{RES: resOf})), confirms, completes, toSetUp, contextUp,
		}},
		{name: "the worker dies while a context is asked for again, behind an accept: the SMF is asked again", from: idleUE, acts: []act{
			updatesData, toSetUp, dies, happens("a new holder", Resumed{}), contextLate, dies, happens("a new holder", Resumed{}), toSetUp, contextUp, updated, accepted,
		}},
	})
}

// comesByTheOld answers paging by the 5G-GUTI of before.
var comesByTheOld = first("UE: Service Request, paged, by the 5G-GUTI of before", gnb1, 4, 1, func(tr *teller) []byte {
	g := tr.guti()
	g.TMSI = tr.st.Record.OldTMSI
	has := n1.Of(1)
	return tr.says(&n1.ServiceRequest{Service: n1.ServiceMobileTerminated, STMSI: g.STMSI(), Sessions: &has}, n1.IntegrityProtected)
})

var renamed = says("UE: Configuration Update Complete", protected(&n1.ConfigurationUpdateComplete{}))

var appears = act{name: "a gNB appears", event: func(tr *teller) Event { return Appeared{GNB: tr.gnbs[gnb1.Key()]} }}

var contextLate = act{name: "a second later", later: resumeTime, event: func(*teller) Event { return Due{Name: dueContext} }}

// withMore has an association more for a gNB's NG interface.
func withMore(of record.GNB, from func(*teller)) func(*teller) {
	return func(tr *teller) {
		if from != nil {
			from(tr)
		}
		g := *tr.gnbs[of.Key()]
		g.Terminator, g.Association, g.Interface = "n2-1", 7, g.Root()
		tr.beside = &g
	}
}

// TS 23.502 4.2.6, and what takes a connection away.
func TestRelease(t *testing.T) {
	awayFor := func(kept bool) Event {
		return AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 1}, Why: "the association is gone", Kept: kept}
	}
	away := happens("terminator: the association is gone", awayFor(true))
	back := happens("the gNB is back, with its UEs", AccessBack{At: record.Attachment{Terminator: "n2-1", Association: 7, GNB: gnb1.Key(), Since: 9}})
	sooner := happens("the gNB is back, with its UEs, before the loss is known", AccessBack{
		At:  record.Attachment{Terminator: "n2-1", Association: 7, GNB: gnb1.Key(), Since: 9},
		Was: record.Attachment{Terminator: "n2-0", Association: 1},
	})
	yonder := first("UE: Service Request, by another gNB", gnb2, 3, 7, serviceRequest(n1.ServiceSignalling, n1.Of(1), 0))
	more := func(from func(*teller)) func(*teller) { return withMore(gnb1, from) }
	byMore := func(name string, m func(*teller) n2.Message) act {
		return act{name: name, event: func(tr *teller) Event {
			at := *tr.st.Record.N2
			at.Interface = at.Root()
			at.Terminator, at.Association = "n2-1", 7
			return FromAccess{At: at, Message: m(tr)}
		}}
	}
	leftSilent := act{name: "5 s later", later: accessTime, event: func(*teller) Event { return Due{Name: dueLeft} }}
	letGo := act{name: "gNB: UE Context Release Complete", event: func(tr *teller) Event {
		return FromAccess{At: tr.st.Record.Left[0], Message: &n2.UEContextReleaseComplete{}}
	}}
	elsewhere := func(kept bool) func(*teller) {
		return func(tr *teller) {
			withSession(tr)
			g := *tr.gnbs[gnb1.Key()]
			g.Terminator, g.Association, g.Retains = "n2-1", 7, kept
			tr.gnbs[gnb1.Key()] = &g
		}
	}
	tell(t, "release", []story{
		{name: "the gNB wants it", from: withSession, acts: []act{gnbReleases, released, updated}},
		{name: "the store has lost writes: nothing more is ciphered for the UE, which proves itself when it comes", from: withSession, acts: []act{
			happens("a new holder", Resumed{Lost: true}), released, updated, serves, vector,
		}},
		{name: "the worker dies before the gNB has answered: it is told again", from: withSession, acts: []act{
			gnbReleases, dies, happens("a new holder", Resumed{}), released, updated,
		}},
		{name: "the gNB does not answer", from: withSession, acts: []act{
			gnbReleases, {name: "5 s later", later: accessTime, event: func(*teller) Event { return Due{Name: dueAccess} }},
		}},
		{name: "the SMF does not answer: it is told again", from: withSession, acts: []act{
			gnbReleases, released, smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}),
			{name: "5 s later", later: silentTime, event: func(*teller) Event { return Due{Name: dueSilent} }}, updated,
		}},
		{name: "the worker dies before the SMF has answered: it is told again", from: withSession, acts: []act{
			gnbReleases, released, dies, happens("a new holder", Resumed{}), updated,
		}},
		{name: "a gNB that is gone: the SMF is told, downlink packets wait, and the UE is paged", from: withSession, acts: []act{gone, updated, packets, comes, toSetUp}},
		{name: "an association of another gNB", from: withSession, acts: []act{
			happens("terminator: the association is gone", AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 2}}),
		}},
		{name: "NG Reset of this UE alone", from: withSession, acts: []act{
			happens("gNB: NG Reset", AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 1, RAN: 1}, Why: "NG Reset"}),
		}},
		{name: "NG Reset of another UE", from: withSession, acts: []act{
			happens("gNB: NG Reset", AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 1, RAN: 77}, Why: "NG Reset"}),
		}},
		{name: "the gNB does not know the UE", from: withSession, acts: []act{
			gnbSays("gNB: Error Indication", func(*teller) n2.Message {
				return &n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)}
			}),
		}},
		{name: "a message could not be sent", from: withSession, acts: []act{{name: "terminator: no such association", event: func(tr *teller) Event {
			return NotSent{Send: Send{To: *tr.st.Record.N2, Message: &n2.Paging{}}}
		}}}},
		{name: "the association is lost, and the gNB comes back with the UE: its packets go where they went", from: withSession, acts: []act{
			away, back, says("UE: UL NAS Transport, Release Request", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})),
		}},
		{name: "the association is lost, and the gNB comes back without the UE: the SMF is told, and it is paged", from: withSession, acts: []act{
			away, happens("terminator: the association is gone, once more", awayFor(true)), happens("the gNB is back, and has kept nothing", awayFor(false)), updated, packets,
		}},
		{name: "the association is lost, and the gNB stays away", from: withSession, acts: []act{
			away, {name: "20 s later", later: RetainTime, event: func(*teller) Event { return Due{Name: dueRetained} }}, updated,
		}},
		{name: "the association is lost, and the gNB does not know the UE's tunnel: it is paged at once", from: withSession, acts: []act{away, packets, updated, back}},
		{name: "the association is lost, and an SMF has a message: it waits", from: withSession, acts: []act{
			away, happens("SMF: a command", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}, Kind: 1}), happens("who else asks", Locate{From: 9}),
		}},
		{name: "the association is lost, and the UE comes anew: its gNB lets go of what was before", from: withSession, acts: []act{away, serves, toSetUp, back, letGo}},
		{name: "the association is lost, and the UE comes by another gNB: the first hears so when it is back", from: withSession, acts: []act{away, yonder, back, letGo}},
		{name: "the UE comes by another gNB, and the first does not say that it has let go: it hears so once more", from: withSession, acts: []act{
			yonder, leftSilent, leftSilent,
		}},
		{name: "and does not come back", from: withSession, acts: []act{
			away, yonder, {name: "20 s later", later: RetainTime, event: func(*teller) Event { return Due{Name: dueLeft} }},
		}},
		{name: "and comes back without its UEs", from: withSession, acts: []act{away, yonder, happens("the gNB is back, and has kept nothing", awayFor(false))}},
		{name: "and speaks of the UE before it is known to be back", from: withSession, acts: []act{
			away, yonder, {name: "gNB: Uplink NAS Transport", event: func(tr *teller) Event {
				at := tr.st.Record.Left[0]
				at.Terminator, at.Association = "n2-1", 7
				return FromAccess{At: at, Message: &n2.UplinkNASTransport{}}
			}},
		}},
		{name: "the association is lost before a gNB has let go of a UE that is elsewhere: it hears so again", from: withSession, acts: []act{
			yonder, away, happens("the association is gone, once more", awayFor(true)), back, dies, happens("a new holder", Resumed{}), letGo,
		}},
		{name: "and it does not know the UE", from: withSession, acts: []act{
			yonder, away, back, {name: "gNB: Error Indication", event: func(tr *teller) Event {
				return FromAccess{At: tr.st.Record.Left[0], Message: &n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)}}
			}},
		}},
		{name: "and it is back already, with its UEs", from: func(tr *teller) {
			elsewhere(true)(tr)
			tr.lead(yonder)
		}, acts: []act{away, letGo}},
		{name: "and it is back already, without them", from: func(tr *teller) {
			elsewhere(false)(tr)
			tr.lead(yonder)
		}, acts: []act{away}},
		{name: "the association is lost, and another AMF has the UE: the gNB hears so when it is back, and nothing else is left of the UE", from: withSession, acts: []act{
			away, happens("UDM: another AMF", End{From: 6, Why: Elsewhere}), updated, sessionGo, unpoliced, packets, dies, happens("a new holder", Resumed{}), back, letGo,
		}},
		{name: "and it stays away", from: withSession, acts: []act{
			away, happens("UDM: another AMF", End{From: 6, Why: Elsewhere}), updated, sessionGo, unpoliced,
			{name: "20 s later", later: RetainTime, event: func(*teller) Event { return Due{Name: dueLeft} }},
		}},
		{name: "the association is lost while the UE is deregistered", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), sessionGo, unpoliced, away, back, letGo,
		}},
		{name: "the association is lost, and the UE is deregistered: it is paged", from: withSession, acts: []act{away, withdrawn}},
		{name: "the association is lost, and the PCF decides another AMBR: the UE begins anew", from: withSession, acts: []act{
			away, happens("PCF: update", PolicyChanged{From: 3, Uplink: 1e6, Downlink: 2e6}),
		}},
		{name: "the association is lost while the UE is released, and the gNB comes back: it is released again", from: withSession, acts: []act{gnbReleases, away, back, released}},
		{name: "the association is lost while the UE is served: it begins anew where it is released", from: idleUE, acts: []act{serves, toSetUp, away, back, released}},
		{name: "the association is lost while the UE registers for the first time: nothing is kept", acts: []act{asksIn, away}},
		{name: "the gNB is back before the loss of its association is known, and has kept the UE", from: elsewhere(true), acts: []act{away}},
		{name: "and says so itself: the loss changes nothing", from: withSession, acts: []act{sooner, away}},
		{name: "and says so itself of a UE that is elsewhere by now: it hears that", from: withSession, acts: []act{yonder, sooner, letGo}},
		{name: "and says so itself while the UE is served: it begins anew where it is released", from: idleUE, acts: []act{serves, toSetUp, sooner, released}},
		{name: "and says so itself while the UE is deregistered: it lets go of it at once, and the loss changes nothing", from: withSession, acts: []act{
			says("UE: Deregistration Request", leaves(false)), sessionGo, unpoliced, sooner, away, back, letGo,
		}},
		{name: "and says so itself while the UE registers for the first time: nothing is kept, and it lets go of it", acts: []act{asksIn, sooner, away}},
		{name: "the gNB is back before the loss of its association is known, while the UE is deregistered: it lets go of it", from: elsewhere(true), acts: []act{
			says("UE: Deregistration Request", leaves(false)), sessionGo, unpoliced, away, letGo,
		}},
		{name: "another association's gNB is back", from: withSession, acts: []act{happens("the gNB is back, with its UEs", AccessBack{
			At: record.Attachment{Terminator: "n2-1", Association: 7, GNB: gnb1.Key(), Since: 9}, Was: record.Attachment{Terminator: "n2-0", Association: 2},
		})}},
		{name: "the gNB is back before the loss of its association is known, and has not kept the UE", from: elsewhere(false), acts: []act{away}},
		{name: "the gNB is back, and a message of the UE's comes before that is known: it is back, too", from: withSession, acts: []act{
			away, {name: "gNB: Uplink NAS Transport", event: func(tr *teller) Event {
				at := *tr.st.Record.N2
				at.Association = 7
				return FromAccess{At: at, Message: &n2.UplinkNASTransport{NAS: protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})(tr)}}
			}},
		}},
		{name: "the association is lost, and the gNB has another for the same NG interface: the UE goes on by that", from: more(withSession), acts: []act{
			away, says("UE: UL NAS Transport, Release Request", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})),
		}},
		{name: "while the UE is released: it is told again, by that", from: more(withSession), acts: []act{gnbReleases, away, released}},
		{name: "while the UE is served: that goes on by it", from: more(idleUE), acts: []act{serves, away, toSetUp, contextUp, updated}},
		{name: "and the gNB has not heard what was asked by the one that has ended: it is asked again", from: more(idleUE), acts: []act{
			serves, toSetUp, away, contextLate, toSetUp, contextUp, updated,
		}},
		{name: "while the UE registers for the first time: that goes on by it, and a challenge that was not heard is said again", from: more(nil), acts: []act{
			asksIn, vector, away, {name: "a second later", later: resumeTime, event: func(*teller) Event { return Due{Name: dueCommand} }}, responds, confirms, nobodyElse, completes, recordedToo, policed, contextSet, accepted,
		}},
		{name: "while the UE is deregistered: that goes on by it", from: more(withSession), acts: []act{
			says("UE: Deregistration Request", leaves(false)), away, sessionGo, unpoliced, released,
		}},
		{name: "while it waits for the gNB: what was under way is over, and it begins anew where it is released", from: idleUE, acts: []act{
			serves, toSetUp, away, {name: "terminator: the association is gone, and there is another", event: func(tr *teller) Event {
				more(nil)(tr)
				return awayFor(true)
			}}, released,
		}},
		{name: "while the UE is elsewhere: its gNB lets go of what was before, by that", from: more(withSession), acts: []act{yonder, away, letGo}},
		{name: "while another association of the interface was not known: it is told when that is", from: withSession, acts: []act{
			yonder, away, {name: "terminator: the association is gone, and there is another", event: func(tr *teller) Event {
				more(nil)(tr)
				return awayFor(true)
			}}, letGo,
		}},
		{name: "the gNB speaks of the UE by another association of its NG interface: that is the UE's", from: more(withSession), acts: []act{
			byMore("gNB: Uplink NAS Transport", func(tr *teller) n2.Message {
				return &n2.UplinkNASTransport{NAS: protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})(tr)}
			}),
			away, happens("SMF: a command", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}, Kind: 1}),
		}},
		{name: "another gNB does: the UE is not there", from: withSession, acts: []act{{name: "gNB: UE Context Release Request", event: func(tr *teller) Event {
			at := *tr.st.Record.N2
			at.Terminator, at.Association, at.Interface = "n2-1", 7, 3
			return FromAccess{At: at, Message: &n2.UEContextReleaseRequest{}}
		}}}},
		{name: "a gNB that nobody waits for is back", from: withSession, acts: []act{back}},
		{name: "another RAN UE NGAP ID", from: withSession, acts: []act{{name: "gNB: Uplink NAS Transport", event: func(tr *teller) Event {
			at := *tr.st.Record.N2
			at.RAN = 77
			return FromAccess{At: at, Message: &n2.UplinkNASTransport{}}
		}}}},
		{name: "NAS is not delivered", from: withSession, acts: []act{gnbSays("gNB: NAS Non Delivery Indication", func(*teller) n2.Message {
			return &n2.NASNonDeliveryIndication{Cause: ngapcause.RadioConnectionLost}
		})}},
		{name: "idle for long: mobile reachable, then implicit deregistration", from: idleUE, acts: []act{
			{name: "T3512 and four minutes later", later: time.Hour, event: func(*teller) Event { return Due{Name: dueReachable} }},
			{name: "four minutes later", later: implicitTime, event: func(*teller) Event { return Due{Name: dueImplicit} }},
			smf("SMF: released", 1, SessionAnswer{Outcome: Done}), answers("PCF: deleted", func(n Number) Event { return Policy{Number: n, Outcome: Done} }),
		}},
	})
}

// TS 23.502 4.2.3.3, TS 29.518 5.2.2.3.1.
func TestTransfer(t *testing.T) {
	quiet := packets.event(nil).(Transfer)
	quiet.SkipIdle = true
	modifies := happens("SMF: modification, skip where idle", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}, N2: []byte{5}, N2Type: modifyRequest, SkipIdle: true})
	modifiesAccess := happens("SMF: modification of the gNB's part", Transfer{From: 8, Session: 1, N2: []byte{5}, N2Type: modifyRequest})
	letsGo := happens("SMF: the gNB is to let go of it", Transfer{From: 8, Session: 1, N2: []byte{7}, N2Type: releaseRequest, SkipIdle: true})
	ends := happens("SMF: release, skip where idle", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xd3}, N2: []byte{7}, N2Type: releaseRequest, SkipIdle: true})
	tell(t, "transfer", []story{
		{name: "an accept again, of an SMF that does not know whether it was taken: the gNB has the session, and the UE the accept", from: withSession, acts: []act{happens("SMF: accept", accept(1))}},
		{name: "packets wait: the UE is paged, and comes", from: idleUE, acts: []act{packets, comes, toSetUp, contextUp, updated}},
		{name: "the UE was paged, and is given another 5G-GUTI: it has answered", from: idleUE, acts: []act{packets, comes, toSetUp, contextUp, updated, renamed}},
		{name: "it does not answer: T3555, then it has either, and is paged by both", from: idleUE, acts: []act{
			packets, comes, toSetUp, contextUp, updated, silent, silent, silent, silent, silent, gnbReleases, released, updated, packets, pageSilent,
		}},
		{name: "it has gone before it was told, and comes by the one of before: that goes on, and it is given a third", from: idleUE, acts: []act{
			packets, comes, toSetUp, gnbReleases, released, packets, comesByTheOld, toSetUp, contextUp, updated, renamed,
		}},
		{name: "the worker dies before it has answered: the next one tells it", from: idleUE, acts: []act{
			packets, comes, toSetUp, contextUp, updated, dies, happens("a new holder", Resumed{}), silent, renamed,
		}},
		{name: "it is told the network's names, too", from: func(tr *teller) {
			idleUE(tr)
			tr.settings.FullName = "core5g network"
		}, acts: []act{packets, comes, toSetUp, contextUp, updated, renamed}},
		{name: "the UE does not come: four pagings, and the SMF hears it", from: idleUE, acts: []act{packets, pageSilent, pageSilent, pageSilent, pageSilent, packets}},
		{name: "the worker dies: the next one pages", from: idleUE, acts: []act{packets, dies, happens("a new holder", Resumed{}), comes, toSetUp, contextUp, updated}},
		{name: "a gNB of its area appears while it is paged: it is paged there at once", from: idleUE, acts: []act{packets, appears, pageSilent}},
		{name: "a gNB of another area appears while it is paged", from: idleUE, acts: []act{packets, happens("a gNB appears", Appeared{GNB: &record.GNB{
			Areas: []record.Tracking{{TAC: 9, Broadcast: []record.Broadcast{{PLMN: "20893"}}}},
		}})}},
		{name: "a gNB appears, and nobody wants the UE", from: idleUE, acts: []act{appears}},
		{name: "packets wait for a UE that comes by itself: its SMF, which is asked for the user plane, has an answer at once", from: idleUE, acts: []act{serves, packets, toSetUp, contextUp, updated}},
		{name: "and once the access network is asked, it waits", from: idleUE, acts: []act{serves, toSetUp, packets, contextUp, updated}},
		{name: "its SMF has a command for a UE that comes by itself, and is asked for the user plane: it has an answer at once", from: idleUE, acts: []act{
			serves, modifies, toSetUp, contextUp, updated,
		}},
		{name: "likewise where it has something for the gNB alone, which gets all of it with the user plane", from: idleUE, acts: []act{serves, modifiesAccess, toSetUp, contextUp, updated}},
		{name: "likewise where the session ends: the UE hears so in the accept", from: idleUE, acts: []act{
			serves, ends, happens("SMF: the context is no more", SessionEnded{Session: 1, Context: "http://smf-1/sm-contexts/1"}),
			smf("SMF: not found", 1, SessionAnswer{Outcome: Refused, Status: 404, Cause: "CONTEXT_NOT_FOUND"}),
		}},
		{name: "likewise where a gNB that the UE is not at any more is to let go of it", from: idleUE, acts: []act{serves, letsGo, toSetUp, contextUp, updated}},
		{name: "the gNB where the UE is lets go of it before it sets it up", from: func(tr *teller) {
			idleUE(tr)
			tr.lead(first("UE: Service Request, signalling", gnb1, 3, 1, serviceRequest(n1.ServiceSignalling, n1.Of(1), 0)), contextSet)
		}, acts: []act{says("UE: Service Request, data", serviceRequest(n1.ServiceData, n1.Of(1), n1.Of(1))), letsGo, toSetUp, resourceSet(1), updated}},
		{name: "a command that the UE is to hear in any case waits till it is served", from: idleUE, acts: []act{
			serves, happens("SMF: command", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}}),
		}},
		{name: "more packets while it is paged", from: idleUE, acts: []act{packets, packets}},
		{name: "the UE comes by a registration", from: idleUE, acts: []act{packets, updates, toSetUp}},
		{name: "an SMF that does not want the UE to be woken", from: idleUE, acts: []act{happens("SMF: command, skip where idle", quiet)}},
		{name: "a message for the UE waits with the packets", from: idleUE, acts: []act{
			happens("SMF: command", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}, Failure: "http://smf-1/failed/1"}),
			first("UE: Service Request, paged", gnb1, 3, 1, serviceRequest(n1.ServiceMobileTerminated, n1.Of(1), 0)),
		}},
		{name: "to a UE that is connected", from: withSession, acts: []act{
			happens("SMF: modification", Transfer{From: 8, Session: 1, N1: []byte{0x2e, 1, 0, 0xcb}, N2: []byte{5}, N2Type: modifyRequest}),
			modified(6), updated,
			happens("SMF: release", Transfer{From: 9, Session: 1, N1: []byte{0x2e, 1, 0, 0xd3}, N2: []byte{7}, N2Type: releaseRequest}),
			happens("SMF: the context is no more", SessionEnded{Session: 1, Context: "http://smf-1/sm-contexts/1"}),
		}},
		{name: "the SMF has not heard of the tunnel: it is told until it has", from: idleUE, acts: []act{
			packets, comes, toSetUp, contextUp, smf("SMF: not reached", 1, SessionAnswer{Outcome: Unsent}), unheard, smf("SMF: no answer", 1, SessionAnswer{Outcome: Unknown}), unheard, updated,
		}},
		{name: "and at once when it asks for one", from: idleUE, acts: []act{
			packets, comes, toSetUp, contextUp, smf("SMF: not reached", 1, SessionAnswer{Outcome: Unsent}), packets, updated,
		}},
		{name: "the UE is idle again before the SMF has heard: it hears that alone", from: idleUE, acts: []act{
			packets, comes, toSetUp, contextUp, smf("SMF: not reached", 1, SessionAnswer{Outcome: Unsent}), gnbReleases, released, updated, unheard,
		}},
		{name: "the SMF has not heard what the gNB has answered when it answers something else: it hears both, in their order", from: withSession, acts: []act{
			modified(6), notReached, modified(7), updated, updated,
		}},
		{name: "likewise where the second answer waits for the first, and for two seconds", from: withSession, acts: []act{
			modified(6), modified(7), notReached, modified(8), notReached, unheard, updated, updated, updated,
		}},
		{name: "likewise, but what the UE says does not wait", from: withSession, acts: []act{modified(6), notReached, says("UE: UL NAS Transport", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xc9}, SessionID: 1})), updated, unheard, updated}},
		{name: "likewise, and the gNB lets go of the session: the SMF hears that alone", from: withSession, acts: []act{
			modified(6), modified(7), notReached, gnbSays("gNB: PDU Session Resource Notify", func(*teller) n2.Message {
				return &n2.PDUSessionResourceNotify{Released: []n2.Session{{ID: 1, Transfer: []byte{4}}}}
			}), updated, unheard,
		}},
		{name: "what it never hears is told for so long alone", from: withSession, acts: func() []act {
			acts := []act{modified(6), modified(7)}
			for range mostUnheard {
				acts = append(acts, notReached, unheard)
			}
			return append(acts, notReached, updated)
		}()},
		{name: "a UE policy, to a UE that is connected", from: withSession, acts: []act{happens("PCF: UE policy", Transfer{From: 8, N1: []byte{1}, Kind: 5})}},
		{name: "a UE policy, to one that is idle: nobody pages for it", from: idleUE, acts: []act{happens("PCF: UE policy", Transfer{From: 8, N1: []byte{1}, Kind: 5})}},
		{name: "for a session that is not there", from: withSession, acts: []act{happens("SMF: accept", accept(9))}},
		{name: "while the UE is being released: it waits", from: withSession, acts: []act{gnbReleases, packets, released, packets}},
		{name: "of a UE that is not there", acts: []act{packets}},
		{name: "another context of that identity has ended", from: withSession, acts: []act{
			happens("SMF: the context is no more", SessionEnded{Session: 1, Context: "http://smf-1/sm-contexts/old"}),
		}},
		{name: "where is the UE", from: idleUE, acts: []act{happens("UDM: where is it", Locate{From: 4})}},
	})
}

// TS 24.501 5.4.5, TS 23.502 4.3.2.2.1.
func TestTransport(t *testing.T) {
	asks := says("UE: UL NAS Transport, PDU Session Establishment Request", protected(establishes(1)))
	with := func(change func(*n1.ULNASTransport)) func(*teller) []byte {
		m := establishes(1)
		change(m)
		return protected(m)
	}
	anew := func(pti byte) act {
		return says("UE: another", with(func(m *n1.ULNASTransport) { m.Payload = []byte{0x2e, 1, pti, 0xc1, 0xff, 0xff} }))
	}
	tell(t, "transport", []story{
		{name: "a session is made", from: registeredUE, acts: []act{asks, smf("SMF: created", 1, created(1)), happens("SMF: accept", accept(1)), resourceSet(1), updated}},
		{name: "the accept comes before the answer: it waits", from: registeredUE, acts: []act{asks, happens("SMF: accept", accept(1)), smf("SMF: created", 1, created(1)), happens("SMF: accept", accept(1))}},
		{name: "the UE asks anew before it has the accept, whose SMF ends nothing before: it is brought", from: registeredUE, acts: []act{
			asks, smf("SMF: created", 1, created(1)), anew(6),
			happens("SMF: accept", accept(1)), smf("SMF: ended", 1, SessionAnswer{Outcome: Done, N2: []byte{7}, N2Type: releaseRequest}), happens("SMF: the same, late", accept(1)),
		}},
		{name: "the UE asks anew before the SMF has answered: what comes of the first request ends before the second is asked for, and its accept waits for nothing", from: registeredUE, acts: []act{
			asks, anew(6), smf("SMF: created", 1, created(1)), happens("SMF: accept", accept(1)),
			smf("SMF: ended", 1, SessionAnswer{Outcome: Done, N2: []byte{7}, N2Type: releaseRequest}),
		}},
		{name: "and once more: what waited is not asked for", from: registeredUE, acts: []act{
			asks, anew(6), anew(7), smf("SMF: created", 1, created(1)), smf("SMF: ended", 1, SessionAnswer{Outcome: Done, N2: []byte{7}, N2Type: releaseRequest}),
		}},
		{name: "and the SMF has refused the first", from: registeredUE, acts: []act{
			asks, anew(6), anew(7), smf("SMF: cause 50", 1, SessionAnswer{Outcome: Refused, Status: 403, Cause: "PDUTYPE_NOT_SUPPORTED", N1: []byte{0x2e, 1, 5, 0xc3, 50}}),
		}},
		{name: "T3580: the request again, while the SMF is asked", from: registeredUE, acts: []act{asks, says("UE: the same again", protected(establishes(1)))}},
		{name: "the SMF rejects the type: the UE hears it", from: registeredUE, acts: []act{
			asks, smf("SMF: cause 50", 1, SessionAnswer{Outcome: Refused, Status: 403, Cause: "PDUTYPE_NOT_SUPPORTED", N1: []byte{0x2e, 1, 5, 0xc3, 50}}),
		}},
		{name: "there is no SMF", from: registeredUE, acts: []act{asks, smf("nobody", 1, SessionAnswer{Outcome: Unsent})}},
		{name: "the SMF does not answer", from: registeredUE, acts: []act{asks, smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown})}},
		{name: "the SMF has too much to do", from: registeredUE, acts: []act{asks, smf("SMF: 503", 1, SessionAnswer{Outcome: Refused, Status: 503, Cause: "NF_CONGESTION"})}},
		{name: "the SMF cannot do it now: it is asked again, with the same request", from: registeredUE, acts: []act{
			asks, smfBusy(nil), pausedFor(time.Second), smf("SMF: created", 1, created(1)), happens("SMF: accept", accept(1)),
		}},
		{name: "and says that it can later: not before", from: registeredUE, acts: []act{
			asks, smf("SMF: in 3 s", 1, SessionAnswer{Outcome: Unsent, Status: 503, RetryAfter: 3 * time.Second}),
			pausedFor(time.Second), pausedFor(time.Second), pausedFor(time.Second), smf("SMF: created", 1, created(1)),
		}},
		{name: "later than the UE waits: it hears so at once", from: registeredUE, acts: []act{
			asks, smf("SMF: in 11 s", 1, SessionAnswer{Outcome: Unsent, Status: 503, RetryAfter: 11 * time.Second}),
		}},
		{name: "it can never: the UE hears its reject before T3580", from: registeredUE, acts: append([]act{asks}, slices.Repeat([]act{
			smfBusy([]byte{0x2e, 1, 5, 0xc3, 26}), pausedFor(2500 * time.Millisecond),
		}, 5)[:9]...)},
		{name: "the SMF does not answer: it is asked again, and the session is made once", from: registeredUE, acts: []act{
			asks, smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown}), pausedFor(time.Second), smf("SMF: created", 1, created(1)), happens("SMF: accept", accept(1)),
		}},
		{name: "T3580: the request again, before the SMF is asked again", from: registeredUE, acts: []act{asks, smfBusy(nil), says("UE: the same again", protected(establishes(1)))}},
		{name: "the UE asks anew before the SMF is asked again: the first request is none any more", from: registeredUE, acts: []act{
			asks, smfBusy(nil), anew(6), smf("SMF: created", 1, created(1)),
		}},
		{name: "and what waits behind it does so no longer", from: withSession, acts: []act{
			anew(6), smf("SMF: not now", 1, SessionAnswer{Outcome: Unsent, Status: 503, RetryAfter: time.Second}), smfBusy(nil), endingComes(5 * time.Second), anew(7),
			smf("SMF: released", 1, SessionAnswer{Outcome: Done}), smf("SMF: created", 1, created(1)),
		}},
		{name: "the UE is idle before the SMF is asked again", from: registeredUE, acts: []act{asks, smfBusy(nil), gnbReleases, released, pausedFor(time.Second)}},
		{name: "the UE leaves before the SMF is asked again", from: registeredUE, acts: []act{asks, smfBusy(nil), says("UE: Deregistration Request", leaves(false)), unpoliced, released}},
		{name: "no such data network", from: registeredUE, acts: []act{asks, smf("SMF: no", 1, SessionAnswer{Outcome: Refused, Status: 403, Cause: "DNN_NOT_SUPPORTED"})}},
		{name: "the slice has no resources", from: registeredUE, acts: []act{asks, smf("SMF: no", 1, SessionAnswer{Outcome: Refused, Status: 500, Cause: "INSUFFICIENT_RESOURCES_SLICE"})}},
		{name: "a slice that is not allowed", from: registeredUE, acts: []act{
			says("UE: UL NAS Transport", with(func(m *n1.ULNASTransport) { m.Slice = &n1.Slice{SNSSAI: sliceTo(guest)} })),
		}},
		{name: "no data network named: the subscription's default", from: registeredUE, acts: []act{says("UE: UL NAS Transport", with(func(m *n1.ULNASTransport) { m.DNN = "" }))}},
		{name: "the UE wants to go on with a session that it has", from: withSession, acts: []act{
			says("UE: UL NAS Transport, existing", with(func(m *n1.ULNASTransport) {
				m.Request, m.Payload = n1.RequestExisting, []byte{0x2e, 1, 8, 0xc1, 0xff, 0xff}
			})),
		}},
		{name: "a PDU session identity that is in use: the old one ends, the new one is made", from: withSession, acts: []act{
			says("UE: UL NAS Transport", with(func(m *n1.ULNASTransport) { m.Payload = []byte{0x2e, 1, 6, 0xc1, 0xff, 0xff} })),
			smf("SMF: ended", 1, SessionAnswer{Outcome: Done, N2: []byte{7}, N2Type: releaseRequest}),
			smf("SMF: created", 1, SessionAnswer{Outcome: Done, Context: "http://smf-2/sm-contexts/9", SMF: "smf-2"}),
		}},
		{name: "the UE releases it", from: withSession, acts: []act{
			says("UE: UL NAS Transport, Release Request", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})),
			smf("SMF: command", 1, SessionAnswer{Outcome: Done, N1: []byte{0x2e, 1, 7, 0xd3, 36}, N2: []byte{7}, N2Type: releaseRequest}),
			gnbSays("gNB: PDU Session Resource Release Response", func(*teller) n2.Message {
				return &n2.PDUSessionResourceReleaseResponse{Sessions: []n2.Session{{ID: 1, Transfer: []byte{6}}}}
			}), updated,
		}},
		{name: "the UE releases it, and its SMF cannot do so now: it is asked again", from: withSession, acts: []act{
			says("UE: UL NAS Transport, Release Request", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})),
			smfBusy(nil), pausedFor(time.Second), smf("SMF: command", 1, SessionAnswer{Outcome: Done, N1: []byte{0x2e, 1, 7, 0xd3, 36}, N2: []byte{7}, N2Type: releaseRequest}),
		}},
		{name: "the UE is idle before the SMF is asked to release it again", from: withSession, acts: []act{
			says("UE: UL NAS Transport, Release Request", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 7, 0xd1}, SessionID: 1})),
			smfBusy(nil), gnbReleases, released, pausedFor(time.Second), updated,
		}},
		{name: "for a session that there is not", from: registeredUE, acts: []act{
			says("UE: UL NAS Transport", protected(&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 4, 7, 0xd1}, SessionID: 4})),
		}},
		{name: "an SMS: refused with its cause", from: registeredUE, acts: []act{
			says("UE: UL NAS Transport, SMS", protected(&n1.ULNASTransport{PayloadType: n1.PayloadSMS, Payload: []byte{1, 2, 3}})),
		}},
		{name: "the gNB says that a session is released, and that a tunnel is elsewhere", from: withSession, acts: []act{
			gnbSays("gNB: PDU Session Resource Modify Indication", func(*teller) n2.Message {
				return &n2.PDUSessionResourceModifyIndication{Sessions: []n2.Session{{ID: 1, Transfer: []byte{4}}}}
			}), smf("SMF: confirmed", 1, SessionAnswer{Outcome: Done, N2: []byte{5}, N2Type: modifyConfirm}),
			gnbSays("gNB: PDU Session Resource Notify", func(*teller) n2.Message {
				return &n2.PDUSessionResourceNotify{Released: []n2.Session{{ID: 1, Transfer: []byte{3}}}}
			}), updated,
		}},
		{name: "the gNB says what a second radio has carried", from: withSession, acts: []act{
			gnbSays("gNB: Secondary RAT Data Usage Report", func(*teller) n2.Message {
				return &n2.SecondaryRATDataUsageReport{Sessions: []n2.Session{{ID: 1, Transfer: []byte{9}}}}
			}), updated,
		}},
		{name: "what an access network may say, and nothing comes of", from: withSession, acts: []act{
			gnbSays("gNB: RRC Inactive Transition Report", func(*teller) n2.Message { return &n2.RRCInactiveTransitionReport{Location: location(1)} }),
			gnbSays("gNB: Trace Failure Indication", func(*teller) n2.Message { return &n2.TraceFailureIndication{} }),
			gnbSays("gNB: Cell Traffic Trace", func(*teller) n2.Message { return &n2.CellTrafficTrace{} }),
		}},
		{name: "a message of a type that is not known", from: registeredUE, acts: []act{says("UE: something", func(tr *teller) []byte {
			b := []byte{0x7e, 0, 0x99}
			out := n1.Envelope{Header: n1.IntegrityProtectedAndCiphered, MAC: mac(tr.phone.key, 0, tr.phone.uplink, b), Sequence: uint8(tr.phone.uplink), Payload: b}.Append(nil)
			tr.phone.uplink++
			return out
		})}},
	})
}
