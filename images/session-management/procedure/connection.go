package procedure

import (
	"net/http"
	"slices"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n2"
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
	connectUnit  uint8 = 1
	connectMoved uint8 = 2 // tunnelMoved (access.go)
	connectLetGo uint8 = 3 // 4.3.7 step 5
	// connectAccept: 4.3.2.2.1 step 11 once more (askAcceptAgain).
	connectAccept uint8 = 4

	pageTransfer uint8 = 1
)

var connection = map[uint8]step{
	connectUnit:   {ask: askChange, take: takeChange},
	connectMoved:  {ask: askMoved, take: takeMoved},
	connectLetGo:  {ask: askLetGo, take: takeLetGo},
	connectAccept: {ask: askAcceptAgain, take: takeAcceptAgain},
}

func askChange(t *turn) { t.tell(t.s.Handover == nil, (*turn).changed) }

func takeChange(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.changed(u)
	}
}

func (t *turn) changed(u Unit) {
	switch {
	case u.Outcome == Done:
		t.reply(t.connectionIs())
		if t.s.Procedure.PTI == pathBroken {
			t.next(connectLetGo)
			return
		}
		t.over("")
		t.catchUp()
	case u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound: // the unit has lost it
		t.over("the UPF has lost the session")
		t.restoreLost()
	case u.Outcome == Refused: // nothing has changed
		t.over("the UPF refused")
		t.reply(unitRefused)
	default: // what the unit has is not known: it is told again in a while, or when it is back
		t.over("no answer of the UPF")
		t.reply(unitIsMute)
	}
}

// connectionIs answers by what the session is now.
func (t *turn) connectionIs() Updated {
	if t.s.Phase == record.Active {
		return Updated{Connection: Activated}
	}
	if p := t.s.Procedure; p != nil && Kind(p.Kind) == Connection && p.PTI == suspending {
		return Updated{Connection: Suspended}
	}
	return Updated{Connection: Deactivated}
}

// activate: 4.2.3.2 step 4. The answer goes to the access network; the unit hears of its tunnel in accessReady.
func (t *turn) activate() {
	if t.s.Phase == record.Releasing {
		t.reply(Failed{Status: http.StatusForbidden, Cause: "REQUEST_REJECTED", Detail: "the session is being released"})
		return
	}
	if t.s.Phase == record.Idle && t.reroute(forActivate, nil) { // 4.2.3.2 steps 5 to 10
		return
	}
	t.activated()
}

func (t *turn) activated() {
	setup, err := t.setupRequest()
	if err != nil {
		t.reply(Failed{Status: http.StatusInternalServerError, Cause: "SYSTEM_FAILURE", Detail: err.Error()})
		return
	}
	t.due(duePaging, 0)
	t.due(dueLetGo, 0)
	t.due(dueAccess, accessTime)
	t.out.Owed = true // it has packets reported again, which the unit does with the next one that comes later
	t.reply(Updated{Connection: Activating, N2: setup, N2Type: n2.InfoSetupRequest})
}

// deactivate: 4.2.6 steps 5 and 6. A command that the UE has not answered stays: it is sent again when the UE is back. A session of which no tunnel was heard
// yet stays, too: the AMF has taken the accept, and what the UE and its access network have answered may have been lost with whoever was to bring it. A UE that
// has no accept says so when it comes (PDU session status), or asks again (createAgain).
func (t *turn) deactivate() {
	t.due(dueAccess, 0)
	if t.s.Phase == record.Releasing {
		t.reply(Updated{Connection: Deactivated})
		return
	}
	t.saidAgain = true
	t.idle()
}

// suspend: TS 23.502 4.8.2.2 step 4. As idle: packets wait until it is active again.
func (t *turn) suspend() {
	if t.s.Phase != record.Active {
		t.reply(Updated{Connection: Suspended})
		return
	}
	t.idleAs(suspending)
}

// What is in the record in the place of a PTI. suspending: the answer has the AMF's own word. pathBroken: the access network is told to let go.
const (
	suspending uint8 = 1
	pathBroken uint8 = 2
)

// letGo of the session's resources in an access network that is not reached: it may be there, and nobody has asked it (4.3.7 step 5). The time that
// is set goes when it has heard, or has other resources for the session.
func (t *turn) letGo() {
	if t.s.Phase == record.Idle {
		t.begin(Connection, connectLetGo)
	}
}

const letGoRest = 5 * time.Second

func askLetGo(t *turn) {
	b, err := (&n2.ReleaseCommand{Cause: ngapcause.TransportResourceUnavailable}).Encode()
	if err != nil {
		t.due(dueLetGo, 0)
		t.over(err.Error())
		return
	}
	t.transfer(AskTransfer{N2: b, N2Type: n2.InfoReleaseCommand, SkipIdle: true})
}

func takeLetGo(t *turn, e Event) {
	x, ok := e.(Transferred)
	switch {
	case !ok:
	case x.Outcome == Done || x.Outcome == Refused:
		t.due(dueLetGo, 0)
		t.over("")
		t.catchUp()
	default:
		t.due(dueLetGo, letGoRest)
		t.over("no answer of the AMF")
	}
}

// idle: there is no tunnel any more. Packets wait, and the unit says so. Who has no tunnel answers no modification.
func (t *turn) idle() { t.idleAs(0) }

func (t *turn) idleAs(word uint8) {
	t.change(func(s *record.Session) { s.Phase, s.Downlink, s.Handover = record.Idle, record.Tunnel{}, nil })
	t.s.Offered, t.s.Silent = false, false // it is told when it is back
	t.otherAccess()
	t.due(dueHandover, 0)
	if word == pathBroken {
		t.due(dueLetGo, letGoRest) // whatever becomes of the unit
	}
	if t.s.Wanted != nil {
		t.s.Wanted.Access = false
	}
	t.s.Procedure = &record.Procedure{Kind: uint8(Connection), Began: t.in.Now.UnixMilli(), PTI: word}
	t.next(connectUnit)
}

// accessReady: 4.3.2.2.1 step 14 and 4.2.3.2 step 15, the access network has a tunnel for the session.
func (t *turn) accessReady(response *n2.SetupResponse) {
	if t.s.Phase == record.Releasing {
		t.reply(Updated{})
		return
	}
	t.due(dueAccess, 0)
	t.acceptHeard()
	failed := qfisOf(response.Failed)
	if slices.Contains(failed, t.s.Flows[0].QFI) { // without the default flow there is no session (TS 23.501 5.7.2.7)
		t.accessRefused(0)
		return
	}
	t.due(duePaging, 0)
	t.due(dueLetGo, 0)
	t.s.ToldAccess = 0
	t.otherAccess()
	t.change(func(s *record.Session) {
		s.Phase, s.Downlink, s.Handover = record.Active, response.Downlink.Tunnel, nil
		lose(s, failed)
	})
	t.s.Offered = false
	t.shown()
	var taken []byte
	for _, f := range response.Downlink.Flows {
		taken = append(taken, f.QFI)
	}
	if t.setUpBefore(taken, failed) {
		t.tellAccessAgain(taken)
	}
	t.saidAgain = true
	t.begin(Connection, connectUnit)
}

// setUpBefore says whether an access network has set the session up as it was before the modification that is out: its answer was not heard, and it
// was taken for one without a tunnel, which need not answer. One that names no flows has what it was told last.
func (t *turn) setUpBefore(taken, failed []byte) bool {
	w := t.s.Wanted
	if w == nil || w.Access || len(taken) == 0 {
		return false
	}
	return slices.ContainsFunc(w.Flows, func(f record.Flow) bool {
		return !f.Default && !slices.Contains(taken, f.QFI) && !slices.Contains(failed, f.QFI)
	}) || slices.ContainsFunc(w.Gone, func(qfi byte) bool { return slices.Contains(taken, qfi) })
}

// accessRefused: the access network has no room for the session.
//
// One that has resources for it already (TS 38.413 8.2.1.4) has said so, and that was not heard: it is told to let go of them, and asked again.
func (t *turn) accessRefused(cause n2.Cause) {
	t.due(dueAccess, 0)
	switch t.s.Phase {
	case record.Establishing: // 4.3.2.2.1: the UE has no accept, because it was in the same message
		answer := Updated{}
		if cause == ngapcause.MultiplePDUSessions { // of a session of this name that has ended; else the UE is refused for ever
			if b, err := (&n2.ReleaseCommand{Cause: ngapcause.NormalRelease}).Encode(); err == nil {
				answer.N2, answer.N2Type = b, n2.InfoReleaseCommand
			}
		}
		t.reply(answer)
		t.end(endWithNotice, 0)
	case record.Releasing:
		t.reply(Updated{})
	case record.Idle:
		if cause == ngapcause.MultiplePDUSessions {
			t.idleAs(pathBroken)
			t.due(duePaging, pageLetGo)
			return
		}
		t.idle()
	default:
		t.idle()
	}
}

// accessSilent: an access network that was asked for a tunnel has said nothing.
func (t *turn) accessSilent() {
	switch t.s.Phase {
	case record.Establishing:
		if t.acceptUnheard() {
			t.begin(Connection, connectAccept)
			return
		}
		t.end(endWithNotice, 0)
	case record.Idle: // packets still wait: have them reported again
		t.pageAgain()
	case record.Active: // of a modification: the UE's answer has come through it, or it is told again with the command
		if w := t.s.Wanted; w != nil && !w.UE {
			for _, qfi := range t.unasked(&n2.ModifyResponse{}) { // the session is without
				w.Refused = with(w.Refused, qfi)
			}
			w.Access = false
			t.catchUp()
		} else if w == nil { // it was asked for a tunnel while there was one, which is of before: the UE is elsewhere, or nowhere
			t.idle()
		}
	}
}

// report: 4.2.3.3 step 1, and TS 23.527 5.3.3 for a tunnel that its peer does not know any more.
func (t *turn) report(r Report) {
	t.asker, t.reported = r.From, r.CPSEID
	t.count(r.Usage)
	switch {
	case len(r.Usage) > 0 && t.s.Phase == record.Releasing && t.s.UPSEID == 0 && t.s.Usage == nil: // its unit has not answered the deletion, and nobody can be told what it says
		t.reply(Reported{Cause: ie.CauseSessionContextNotFound})
	case t.lostBetween(r.Lost):
	case slices.ContainsFunc(r.Lost, func(l record.Tunnel) bool {
		return l.TEID == t.s.Downlink.TEID && l.IPv4 == t.s.Downlink.IPv4 && l.IPv6 == t.s.Downlink.IPv6
	}) &&
		t.s.Phase == record.Active:
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
		t.idle()
	case r.Downlink && t.s.Phase == record.Idle:
		t.begin(Paging, pageTransfer)
	default: // a tunnel of before, packets that have gone meanwhile
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	}
}

// lostBetween: anchor or branch sends to the other, which does not know the session any more (TS 23.527 5.3.3.2): it is made anew there.
func (t *turn) lostBetween(lost []record.Tunnel) bool {
	b := t.s.Branch
	if b == nil || t.s.Phase == record.Releasing {
		return false
	}
	is := func(tunnel record.Tunnel) bool {
		return slices.ContainsFunc(lost, func(l record.Tunnel) bool {
			return l.TEID == tunnel.TEID && l.IPv4 == tunnel.IPv4 && l.IPv6 == tunnel.IPv6
		})
	}
	if t.lostBranch = is(b.Core); !t.lostBranch && !is(t.s.Uplink) {
		return false
	}
	t.reply(Reported{Cause: ie.CauseRequestAccepted})
	t.restoreLost()
	return true
}

var paging = map[uint8]step{
	pageTransfer: {ask: askPaging, take: takePaging},
}

// pageTime is how long the AMF may take to reach a UE, its own repetitions and all, and pageRest how long a UE that was not
// reached is left alone (TS 24.501 T3513 is the AMF's).
const (
	pageTime = 30 * time.Second
	pageRest = 10 * time.Second
	// pageLetGo is what an access network has to let go of a tunnel before another one is asked for.
	pageLetGo = 2 * time.Second
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
	switch {
	case x.Outcome == Done && x.Paging:
		t.over("")
		t.due(duePaging, pageTime)
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	case x.Outcome == Done: // the UE is connected: its access network has a tunnel in a moment, or had one that was not heard of
		t.over("")
		t.due(dueLetGo, letGoRest)
		t.due(duePaging, letGoRest+pageLetGo)
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	case x.Outcome == Refused && !x.Later:
		t.over("the AMF did not take it: " + x.Cause)
		t.due(duePaging, pageRest)
		t.reply(Reported{Cause: ie.CauseRequestAccepted})
	default:
		why := "no answer of the AMF"
		if x.Later {
			why = "the AMF has no time: " + x.Cause
		}
		t.over(why)
		t.due(duePaging, pageRest)
		t.reply(Failed{Status: http.StatusServiceUnavailable, Detail: why}) // the unit hears nothing, and its next repetition is a report
	}
}

// unreachable: 4.2.3.3 step 3c. The UE is left alone for a while; packets that come then are reported again.
func (t *turn) unreachable() {
	if t.s.Phase == record.Idle {
		t.s.Offered = false
		t.due(duePaging, pageRest)
	}
}

// pageAgain has the unit say whether packets wait: it reports the next one, once it was told to buffer and to say so. Ours says nothing of those of which it has
// told, for as long as they may wait, so that a report is acknowledged only where the AMF has taken it (takePaging).
func (t *turn) pageAgain() {
	if t.s.Phase != record.Idle {
		return
	}
	t.change(func(s *record.Session) { s.Told.Anew = true })
	t.begin(Connection, connectUnit)
}
