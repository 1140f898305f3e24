package procedure

import (
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// The user plane connection of a session that there is: up by a Service Request or paging, down by an AN release
// (TS 23.502 4.2.3.2, 4.2.3.3, 4.2.6, 4.3.7).
//
//	4.2.3.2  4   the AMF wants it up            activate: the answer has what the access network needs
//	        15   the access network's tunnel    accessReady
//	        17   N4 modification                connectUnit
//	        19   answer
//	4.2.6    5   the AMF says it is down        deactivate
//	         6   N4 modification                connectUnit: packets wait, and the unit says so
//	4.2.3.3  1   packets wait                   report
//	         3   transfer                       pageTransfer: the AMF pages, or has the UE
//	         3c  the UE was not reached         unreachable
const (
	connectUnit uint8 = 1

	pageTransfer uint8 = 1
)

var connection = map[uint8]step{
	connectUnit: {ask: askChange, take: takeChange},
}

// askChange tells the unit the difference between what it has and what the record says. What was told before and not answered is told again:
// each part of it is a whole rule.
func askChange(t *turn) {
	network := t.network()
	if network == nil || t.s.Told == nil {
		t.changed(Unit{Outcome: Done}) // the Slice is gone: End follows
		return
	}
	ies, err := n4.Modification(before(t.s), t.s, network.Settings(), t.s.Handover == nil)
	if err != nil {
		t.changed(Unit{Outcome: Refused})
		return
	}
	if len(ies) == 0 {
		t.changed(Unit{Outcome: Done})
		return
	}
	t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: ies})
}

// before is the session as its unit knows it.
func before(s *record.Session) *record.Session {
	b := *s
	b.Phase, b.Downlink, b.AMBR, b.Flows = s.Told.Phase, s.Told.Downlink, s.Told.AMBR, s.Told.Flows
	return &b
}

// change what the unit has to be told.
func (t *turn) change(f func(s *record.Session)) {
	if t.s.Told == nil {
		t.s.Told = &record.Told{Phase: t.s.Phase, Downlink: t.s.Downlink, AMBR: t.s.AMBR, Flows: slices.Clone(t.s.Flows)}
	}
	f(t.s)
}

func takeChange(t *turn, e Event) {
	if u, ok := e.(Unit); ok {
		t.changed(u)
	}
}

func (t *turn) changed(u Unit) {
	switch {
	case u.Outcome == Done:
		t.s.Told = nil
		t.over("")
		t.reply(t.connectionIs())
	case u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound: // the unit has lost it
		t.over("the UPF has lost the session")
		t.begin(Restoration, restoreUnit)
	case u.Outcome == Refused: // nothing has changed
		t.s.Phase, t.s.Downlink, t.s.AMBR, t.s.Flows = t.s.Told.Phase, t.s.Told.Downlink, t.s.Told.AMBR, t.s.Told.Flows
		t.s.Told = nil
		t.over("the UPF refused")
		t.reply(Failed{Status: http.StatusInternalServerError, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF refused the change"})
	default: // what the unit has is not known: Told stays, and is told again with the next change, or when the unit is back
		t.over("no answer of the UPF")
		t.reply(Failed{Status: http.StatusGatewayTimeout, Cause: "UPF_NOT_RESPONDING", Detail: "the UPF did not answer"})
	}
}

// connectionIs answers by what the session is now.
func (t *turn) connectionIs() Updated {
	if t.s.Phase == record.Active {
		return Updated{Connection: Activated}
	}
	return Updated{Connection: Deactivated}
}

// activate: 4.2.3.2 step 4. The answer goes to the access network; the unit hears of its tunnel in accessReady.
func (t *turn) activate() {
	if t.s.Phase == record.Releasing {
		t.reply(Failed{Status: http.StatusForbidden, Cause: "REQUEST_REJECTED", Detail: "the session is being released"})
		return
	}
	setup, err := t.setupRequest()
	if err != nil {
		t.reply(Failed{Status: http.StatusInternalServerError, Cause: "SYSTEM_FAILURE", Detail: err.Error()})
		return
	}
	t.due(duePaging, 0)
	t.due(dueAccess, accessTime)
	t.reply(Updated{Connection: Activating, N2: setup, N2Type: n2.InfoSetupRequest})
}

// deactivate: 4.2.6 steps 5 and 6. A command that the UE has not answered stays: it is sent again when the UE is back.
func (t *turn) deactivate() {
	t.due(dueAccess, 0)
	switch t.s.Phase {
	case record.Releasing:
		t.reply(Updated{Connection: Deactivated})
		return
	case record.Establishing: // 4.3.2.2.1: the access network is gone before it had the session
		t.end(endWithNotice, 0)
		return
	}
	t.s.Handover = nil
	t.change(func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} })
	t.begin(Connection, connectUnit)
}

// accessReady: 4.3.2.2.1 step 14 and 4.2.3.2 step 15, the access network has a tunnel for the session.
func (t *turn) accessReady(response *n2.SetupResponse) {
	if t.s.Phase == record.Releasing {
		t.reply(Updated{})
		return
	}
	t.due(dueAccess, 0)
	t.change(func(s *record.Session) {
		s.Phase, s.Downlink = record.Active, response.Downlink.Tunnel
		for n := range s.Flows {
			s.Flows[n].Refused = slices.ContainsFunc(response.Failed, func(f n2.FlowCause) bool { return f.QFI == s.Flows[n].QFI })
		}
	})
	if len(t.s.Flows) > 0 && t.s.Flows[0].Refused { // without the default flow there is no session (TS 23.501 5.7.2.7)
		t.s.Phase, t.s.Downlink, t.s.Flows, t.s.Told = t.s.Told.Phase, t.s.Told.Downlink, t.s.Told.Flows, nil
		t.accessRefused()
		return
	}
	t.begin(Connection, connectUnit)
}

// accessRefused: the access network has no room for the session.
func (t *turn) accessRefused() {
	t.due(dueAccess, 0)
	if t.s.Phase == record.Establishing { // 4.3.2.2.1: the UE has no accept, because it was in the same message
		t.end(endWithNotice, 0)
		return
	}
	t.change(func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} })
	t.begin(Connection, connectUnit)
}

// accessSilent: an access network that was asked for a tunnel has said nothing.
func (t *turn) accessSilent() {
	switch t.s.Phase {
	case record.Establishing:
		t.end(endWithNotice, 0)
	case record.Idle: // packets still wait: have them reported again
		t.pageAgain()
	}
}

// report: 4.2.3.3 step 1, and TS 23.527 5.3.3 for a tunnel that its peer does not know any more.
func (t *turn) report(r Report) {
	t.asker = r.From
	switch {
	case slices.ContainsFunc(r.Lost, func(l record.Tunnel) bool {
		return l.TEID == t.s.Downlink.TEID && l.IPv4 == t.s.Downlink.IPv4 && l.IPv6 == t.s.Downlink.IPv6
	}) &&
		t.s.Phase == record.Active:
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
		t.change(func(s *record.Session) { s.Phase, s.Downlink = record.Idle, record.Tunnel{} })
		t.begin(Connection, connectUnit)
	case r.Downlink && t.s.Phase == record.Idle:
		t.begin(Paging, pageTransfer)
	default: // a tunnel of before, packets that have gone meanwhile
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	}
}

var paging = map[uint8]step{
	pageTransfer: {ask: askPaging, take: takePaging},
}

// pageTime is how long the AMF may take to reach a UE, its own repetitions and all, and pageRest how long a UE that was not
// reached is left alone (TS 24.501 T3513 is the AMF's).
const (
	pageTime = 30 * time.Second
	pageRest = 10 * time.Second
)

func askPaging(t *turn) {
	t.out.Lazy = true // asked twice, the AMF pages once
	setup, err := t.setupRequest()
	if err != nil {
		t.over(err.Error())
		t.reply(Reported{Cause: ie.CauseRequestRejected})
		return
	}
	first := t.s.Flows[0]
	t.transfer(AskTransfer{N2: setup, N2Type: n2.InfoSetupRequest, FiveQI: first.FiveQI, Priority: first.Priority})
}

// takePaging: the report is acknowledged when the AMF has taken it. Otherwise the unit asks again.
func takePaging(t *turn, e Event) {
	x, ok := e.(Transferred)
	if !ok {
		return
	}
	switch x.Outcome {
	case Done:
		t.over("")
		t.due(duePaging, pageTime)
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	case Refused:
		t.over("the AMF did not take it: " + x.Cause)
		t.due(duePaging, pageRest)
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	default:
		t.over("no answer of the AMF")
		t.due(duePaging, pageRest)
		t.asker = 0 // no answer
	}
}

// unreachable: 4.2.3.3 step 3c. The UE is left alone for a while; packets that come then are reported again.
func (t *turn) unreachable() {
	if t.s.Phase == record.Idle {
		t.due(duePaging, pageRest)
	}
}

// pageAgain has the unit say whether packets wait: it reports the next one, once it was told to buffer and to say so.
func (t *turn) pageAgain() {
	if t.s.Phase != record.Idle {
		return
	}
	t.change(func(*record.Session) {})
	t.s.Told.Downlink = record.Tunnel{TEID: 1} // another than what is: FAR 2 is told anew
	t.s.Told.Phase = record.Releasing
	t.begin(Connection, connectUnit)
}
