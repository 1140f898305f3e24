package procedure

import (
	"slices"

	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Xn handover: the new access network has the UE and says so (TS 23.502 4.9.1.2.2, TS 38.413 8.4.4):
//
//	2    Path Switch Request                         switchPath: the UE's next hop is committed before anybody has it
//	3    SMFs: the sessions are there, or not        switchSessions
//	7    Acknowledge, with NH and NCC; or Failure    switchDone
//	8    the old access network is not told: the new one does that
//
// A session that the new access network has not taken loses its user plane; one whose SMF refuses is released there (TS 38.413 8.4.4.2).
const (
	switchSessions uint8 = 1
	switchAnswer   uint8 = 2
)

var switching = map[uint8]step{
	switchSessions: {ask: askSwitched},
	switchAnswer:   {ask: askSwitchAnswer},
}

func (t *turn) switchPath(e FromAccess, m *n2.PathSwitchRequest) {
	at := e.At
	at.RAN = uint32(m.RAN)
	refuse := func(why string) {
		t.refuseSwitch(at, m)
		t.out.Refused = why
	}
	switch {
	case t.doing() != 0 && t.doing() != Configuration:
		refuse("a procedure is under way")
		return
	case t.s.N2 == nil || t.s.N2.AMF != uint64(m.SourceAMF) || t.s.N2.Releasing || t.s.Security == nil || t.s.Phase != record.Registered:
		refuse("the UE has no such connection")
		return
	}
	if t.s.Handover != nil {
		t.handoverOver("the UE has gone by another way")
	}
	p := t.begin(Switching)
	t.s.N2 = &record.Attachment{
		Terminator: at.Terminator, Association: at.Association, GNB: at.GNB, RAN: at.RAN, AMF: t.s.N2.AMF, Set: true, Secured: t.s.N2.Secured, Since: at.Since, Came: at.Came, Interface: at.Interface,
	}
	t.seen(m.Location)
	t.chain()
	for _, x := range m.Sessions {
		if x.ID == 0 || x.ID > record.MostSessions { // no UE has it: the record keeps nothing of it
			t.live.gathered = append(t.live.gathered, gathered{id: x.ID, n2: unsuccessfulSwitch, transfer: switchRefused})
			continue
		}
		s := t.s.Session(x.ID)
		if s == nil || !t.askSMF(AskSession{Operation: UpdateSession, Session: *s, N2: x.Transfer, N2Type: switchRequest, Switched: true, purpose: forSwitch, began: t.in.Now}) {
			p.Failed |= 1 << x.ID
			continue
		}
		p.Sessions |= 1 << x.ID
	}
	for _, s := range t.s.Sessions {
		n := slices.IndexFunc(m.Failed, func(x n2.Session) bool { return x.ID == s.ID })
		if n < 0 && (!s.Up || slices.ContainsFunc(m.Sessions, func(x n2.Session) bool { return x.ID == s.ID })) {
			continue
		}
		a := AskSession{Operation: UpdateSession, Session: s, NotSwitched: true, purpose: forIdle}
		if n >= 0 {
			a.N2, a.N2Type = m.Failed[n].Transfer, switchFailed
		}
		x := t.s.Session(s.ID)
		x.Up, x.Silent = false, true
		t.askSMF(a)
	}
	t.next(switchSessions)
}

// refuseSwitch with all of its sessions.
func (t *turn) refuseSwitch(at record.Attachment, m *n2.PathSwitchRequest) {
	var list []n2.Session
	for _, s := range slices.Concat(m.Sessions, m.Failed) {
		list = append(list, n2.Session{ID: s.ID, Transfer: unsuccessfulSwitch})
	}
	t.do(Send{To: at, Message: &n2.PathSwitchRequestFailure{UE: n2.UEIDs{AMF: m.SourceAMF, RAN: m.RAN}, Released: list}})
}

// unsuccessfulSwitch is a Path Switch Request Unsuccessful Transfer (TS 38.413 9.3.4.20) with the cause "unspecified" of the radio network.
var unsuccessfulSwitch = []byte{0, 0}

func askSwitched(t *turn) {
	if t.s.Procedure.Sessions == 0 {
		t.next(switchAnswer)
	}
}

func (t *turn) switched(id uint8, e SessionAnswer) {
	p := t.s.Procedure
	if t.doing() != Switching || p.Sessions&(1<<id) == 0 {
		return
	}
	p.Sessions &^= 1 << id
	switch {
	case e.Outcome == Done && e.N2 != nil:
		t.live.gathered = append(t.live.gathered, gathered{id: id, n2: e.N2})
		if s := t.s.Session(id); s != nil {
			s.Up = true
		}
	default:
		if s := t.s.Session(id); s != nil {
			s.Up, s.Silent = false, e.Outcome != Refused
		}
		if e.N2 == nil {
			e.N2 = unsuccessfulSwitch
		}
		t.live.gathered = append(t.live.gathered, gathered{id: id, n2: e.N2, transfer: switchRefused})
		p.Failed |= 1 << id
	}
	if p.Sessions == 0 {
		t.ask()
	}
}

// Step 7.

func askSwitchAnswer(t *turn) {
	p := t.s.Procedure
	var done, released []n2.Session
	for _, g := range t.live.gathered {
		if g.transfer == switchRefused {
			released = append(released, n2.Session{ID: g.id, Transfer: g.n2})
		} else {
			done = append(done, n2.Session{ID: g.id, Transfer: g.n2})
		}
	}
	for id := uint8(1); id <= record.MostSessions; id++ {
		if p.Failed&(1<<id) != 0 && !slices.ContainsFunc(released, func(x n2.Session) bool { return x.ID == id }) {
			released = append(released, n2.Session{ID: id, Transfer: unsuccessfulSwitch})
		}
	}
	if len(done) == 0 { // TS 38.413 8.4.4.3: without a session the new access network has nothing
		t.send(&n2.PathSwitchRequestFailure{UE: ids(t.s.N2), Released: released})
		t.over("no session was switched")
		t.release(ngapcause.RadioUnspecified)
		return
	}
	able := t.abilities()
	t.send(&n2.PathSwitchRequestAcknowledge{
		UE: ids(t.s.N2), Security: &able, Next: n2.SecurityContext{NCC: t.s.Security.Chaining, NH: n2.SecurityKey(t.s.Security.Hop)},
		Sessions: done, Released: released, Allowed: snssais(t.s.Allowed), Inactive: t.inactive(),
	})
	t.over("")
	t.catchUp()
}
