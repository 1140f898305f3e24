package procedure

import (
	"net/http"
	"slices"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Xn handover: the new access network has the UE and says where (TS 23.502 4.9.1.2.2, TS 29.502 5.2.2.3.2.1). Another AMF may say it.
//
//	2     Path Switch Request                           switchPath
//	3,4   N4 modification, the old tunnel is ended      switchUnit
//	5     End Marker                                    the unit's
//	6     answer with what the new one has to know
//	2     the new one has not taken the session         switchFailed
const switchUnit uint8 = 1

// switchRepeated, in the record in the place of a PTI: it may have been answered before, and what it was answered first may be what counts. Where packets
// go stays as it was then, and the access network is told by itself of another way.
const switchRepeated uint8 = 1

// switchAgain is how often a unit that does not answer is asked again; each time it is asked for some seconds (TS 29.244 6.4). The count is in the
// record, in the place of a cause.
const switchAgain = 2

var switching = map[uint8]step{
	switchUnit: {ask: askSwitch, take: takeSwitch},
}

func (t *turn) switchPath(m *n2.PathSwitchRequest) {
	switch {
	case t.s.Phase != record.Active && t.s.Phase != record.Idle:
		t.reply(notSwitched(http.StatusForbidden, "REQUEST_REJECTED", "the session is being established or released", ngapcause.UnknownPDUSession))
		return
	case !slices.Contains(m.Flows, t.s.Flows[0].QFI): // without the default flow there is no session (TS 23.501 5.7.2.7)
		t.reply(notSwitched(http.StatusForbidden, "N2_SM_ERROR", "the default QoS flow was not taken", ngapcause.MultipleQoSFlows))
		return
	}
	var how uint8
	if t.s.Phase == record.Active && t.s.Downlink == m.Downlink {
		how = switchRepeated
	}
	t.shown()
	t.due(dueHandover, 0)
	if t.s.Wanted == nil || !t.s.Wanted.Access { // else the new one has as long, or nobody
		t.due(dueAccess, 0)
	} else {
		t.due(dueAccess, accessTime)
	}
	t.change(func(s *record.Session) {
		s.Phase, s.Downlink, s.Handover = record.Active, m.Downlink, nil
		lose(s, missing(s, m.Flows))
	})
	t.s.Procedure = &record.Procedure{Kind: uint8(Switching), Began: t.in.Now.UnixMilli(), PTI: how, Message: m.Flows}
	t.next(switchUnit)
}

func notSwitched(status int, cause, detail string, told n2.Cause) Failed {
	f := Failed{Status: status, Cause: cause, Detail: detail}
	if b, err := (&n2.PathSwitchUnsuccessful{Cause: told}).Encode(); err == nil {
		f.N2, f.N2Type = b, n2.InfoPathSwitchUnsuccessful
	}
	return f
}

func askSwitch(t *turn) { t.tell(true, (*turn).switched) }

func takeSwitch(t *turn, e Event) {
	if u, ok := t.heard(e); ok {
		t.switched(u)
	}
}

func (t *turn) switched(u Unit) {
	switch {
	case u.Outcome == Done:
		taken, repeated := t.s.Procedure.Message, t.s.Procedure.PTI == switchRepeated
		t.over("")
		if !repeated && t.reroute(forSwitch, taken) { // 4.9.1.2.3: the answer has the new way
			return
		}
		t.switchedTo(taken)
	case u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound: // made anew, with the new tunnel; asked again, it is answered
		t.over("the UPF has lost the session")
		t.reply(notSwitched(http.StatusGatewayTimeout, "UPF_NOT_RESPONDING", "the UPF has lost the session", ngapcause.UserPlaneResourcesNotAvailable))
		t.restoreLost()
	case u.Outcome == Refused:
		t.over("the UPF refused")
		t.reply(notSwitched(http.StatusInternalServerError, "UPF_NOT_RESPONDING", unitRefused.Detail, ngapcause.UserPlaneResourcesNotAvailable))
	case u.Outcome == Unknown && t.s.Procedure.Cause < switchAgain: // it may have been done: nobody is told otherwise before that is known
		t.s.Procedure.Cause++
		t.due(dueUnit, 0)
		askSwitch(t)
	default:
		t.over("no answer of the UPF")
		t.reply(notSwitched(http.StatusGatewayTimeout, "UPF_NOT_RESPONDING", unitIsMute.Detail, ngapcause.UserPlaneResourcesNotAvailable))
	}
}

// switchedTo the new access network, which always hears where uplink packets go: what it has of that is the old one's, from before that was told
// of another way.
func (t *turn) switchedTo(taken []byte) {
	uplink := t.s.N3()
	t.s.Rerouted = false
	b, err := (&n2.PathSwitchAcknowledge{Uplink: &uplink}).Encode()
	if err != nil {
		t.reply(notSwitched(http.StatusInternalServerError, "SYSTEM_FAILURE", err.Error(), ngapcause.MiscUnspecified))
		return
	}
	t.reply(Updated{Connection: Activated, N2: b, N2Type: n2.InfoPathSwitchAcknowledge})
	t.otherAccess()
	t.tellAccessAgain(t.arrived(taken))
	t.catchUp()
}

// switchFailed: the UE has gone where the session was not taken. It stays, without a tunnel (TS 29.502 5.2.2.3.2.1).
func (t *turn) switchFailed() {
	switch t.s.Phase {
	case record.Active, record.Establishing: // the UE has it
		t.due(dueAccess, 0)
		t.idle()
	default:
		t.reply(Updated{Connection: Deactivated})
	}
}
