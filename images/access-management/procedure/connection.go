package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// The N2 connection of a UE: it comes with a first message, gets a context in the access network, and goes (TS 23.502 4.2.6, TS 38.413 8.3, 8.6).
//
//	4.2.6  1   the access network wants it released            releaseRequested
//	       2   UE Context Release Command                      release
//	       4   UE Context Release Complete                     released; or silence: accessSilent
//	       5   SMFs: the user planes are down                  idle
//	4.2.2  21  Initial Context Setup                           setUpContext, contextSet, contextFailed
//	8.7    the gNB has forgotten its UEs                       accessLost: as released, and nobody is asked
//	8.7.1  the association is lost: the gNB is waited for      wait; accessBack, or retained. Where it has others for the same NG interface: goesOn
//
// A UE that comes by another connection while it still has one has left that: it is released behind its back (leave), and SMFs whose user planes were
// there are told, unless the UE has them set up where it is now (Silent). What a gNB is to let go of while it is away it hears when it is back.

// attach the UE to where its message came from.
func (t *turn) attach(e Initial) {
	at := t.connectionOf(e)
	at.Set, at.Setting, at.Releasing, at.Secured = false, false, false, false
	old := t.s.N2
	t.s.N2, t.s.Unreached = &at, false
	t.s.Handover, t.live.container = nil, nil
	t.notGoing()
	t.due(dueHandover, 0)
	t.due(dueAccess, 0)
	t.due(dueReachable, 0)
	t.due(dueImplicit, 0)
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Up {
			s.Up, s.Silent = false, true
		}
	}
	switch {
	case old == nil || old.Is(&at):
	default:
		t.leave(old, ngapcause.ReleasedByDetectedMobility)
	}
	t.seen(e.Message.Location)
}

// seen in a cell.
func (t *turn) seen(l n2.UserLocation) {
	if p, ok := placeOf(l, t.in.Now.Unix()); ok {
		t.s.Place = p
	}
}

// leave a connection: its access network lets go of the UE, at once or when it is back.
func (t *turn) leave(old *record.Attachment, c n2.Cause) {
	a := *old
	told := a.Releasing && !a.Lost
	a.Setting, a.Until = false, t.in.Now.Add(accessTime).UnixMilli()
	if a.Lost {
		t.due(dueRetained, 0)
	}
	switch {
	case a.Lost:
		if !t.awaits(&a) { // it has no UE to let go of
			return
		}
	case !told:
		t.releaseLeft(&a, c)
	}
	t.hasLeft(a)
}

// leaveLater a connection whose access network still forwards packets (TS 23.502 4.9.1.3.3 step 6a): it is told to let go when that is over.
func (t *turn) leaveLater(a record.Attachment) {
	a.Setting, a.Until = false, t.in.Now.Add(forwardingTime).UnixMilli()
	t.hasLeft(a)
}

// hasLeft a connection, whose access network has to let go.
func (t *turn) hasLeft(a record.Attachment) {
	t.s.Left = append(t.s.Left, a)
	if n := len(t.s.Left); n > record.MostLeft {
		t.s.Left = t.s.Left[n-record.MostLeft:]
	}
	t.dueLeft()
}

// releaseLeft has the access network of a connection let go.
func (t *turn) releaseLeft(a *record.Attachment, c n2.Cause) {
	a.Releasing, a.Until = true, t.in.Now.Add(accessTime).UnixMilli()
	t.do(Send{To: *a, Message: releaseCommand(a, c)})
}

// awaits the gNB of a connection that the UE has left, and that is lost: where that is back already it hears of it. false: it has not kept its UEs.
func (t *turn) awaits(a *record.Attachment) bool {
	at, is, kept := t.there(a)
	switch {
	case !is:
		a.Lost, a.Until = true, t.in.Now.Add(RetainTime).UnixMilli()
	case !kept:
		return false
	default:
		t.backAtLeft(a, at)
	}
	return true
}

// there is another association by which the gNB of a connection that is lost is there, and whether it has the UE there: it is of the same interface, or the gNB
// has kept its UEs over the NG Setup.
func (t *turn) there(a *record.Attachment) (at record.Attachment, is, kept bool) {
	if g := t.in.Beside(*a); g != nil {
		return g.At(), true, true
	}
	g := t.in.Find(a.GNB)
	if g == nil || g.Terminator == a.Terminator && g.Association == a.Association {
		return at, false, false
	}
	return g.At(), true, g.Retains
}

// backAtLeft: the gNB of a connection that the UE has left has another association.
func (t *turn) backAtLeft(a *record.Attachment, at record.Attachment) {
	a.Move(at)
	t.releaseLeft(a, ngapcause.NormalRelease)
}

// dueLeft is when the first of the connections that the UE has left is not waited for any more. Behind the last of them nothing is kept of a UE that has gone.
func (t *turn) dueLeft() {
	if len(t.s.Left) == 0 {
		t.due(dueLeft, 0)
		if remnant(t.s) && len(t.s.Ending) == 0 {
			t.gone()
		}
		return
	}
	next := t.s.Left[0].Until
	for _, a := range t.s.Left {
		next = min(next, a.Until)
	}
	t.due(dueLeft, max(time.UnixMilli(next).Sub(t.in.Now), time.Millisecond))
}

// letGo of what the UE has left: the access network has.
func (t *turn) letGo(id uint64) {
	t.s.Left = slices.DeleteFunc(t.s.Left, func(a record.Attachment) bool { return a.AMF == id })
	t.dueLeft()
}

// leftSilent: their access networks have not answered, or have stayed away; or have forwarded for long enough. What one was told may be lost between worker and
// terminator: it hears it once more.
func (t *turn) leftSilent() {
	now := t.in.Now.UnixMilli()
	for n := range t.s.Left {
		switch a := &t.s.Left[n]; {
		case a.Until > now || a.Lost:
		case !a.Releasing:
			t.releaseLeft(a, ngapcause.SuccessfulHandover)
		case !a.Again:
			a.Again = true
			t.releaseLeft(a, ngapcause.NormalRelease)
		}
	}
	t.s.Left = slices.DeleteFunc(t.s.Left, func(a record.Attachment) bool { return a.Until <= now })
	t.dueLeft()
}

// leftBy is the connection of that AMF UE NGAP ID that the UE has left; nil: none.
func (t *turn) leftBy(id uint64) *record.Attachment {
	for n := range t.s.Left {
		if t.s.Left[n].AMF == id {
			return &t.s.Left[n]
		}
	}
	return nil
}

// leftAgain is said what the holder before may not have said.
func (t *turn) leftAgain() {
	if len(t.s.Left) == 0 {
		return
	}
	for n := range t.s.Left {
		if a := &t.s.Left[n]; !a.Lost {
			t.releaseLeft(a, ngapcause.ReleasedByDetectedMobility)
		}
	}
	t.dueLeft()
}

func releaseCommand(a *record.Attachment, c n2.Cause) *n2.UEContextReleaseCommand {
	ran := n2.RANUEID(a.RAN)
	return &n2.UEContextReleaseCommand{AMF: n2.AMFUEID(a.AMF), RAN: &ran, Cause: c}
}

// release: step 2. It is over with step 4.
func (t *turn) release(c n2.Cause) {
	if t.s.N2 == nil || t.s.N2.Releasing {
		return
	}
	t.s.N2.Releasing, t.s.N2.Setting = true, false
	t.send(releaseCommand(t.s.N2, c))
	t.due(dueAccess, accessTime)
}

// releaseRequested: step 1. The access network has lost the UE, or it was quiet for long.
func (t *turn) releaseRequested(m *n2.UEContextReleaseRequest) {
	if k := t.doing(); k == Registration || k == Service {
		t.abort("the access network has let go of the UE")
	}
	if t.s == nil {
		return
	}
	t.release(m.Cause)
}

// released: step 4.
func (t *turn) released(at record.Attachment, m *n2.UEContextReleaseComplete) {
	if t.leftBy(at.AMF) != nil {
		t.letGo(at.AMF)
		return
	}
	if t.s.N2 == nil || t.s.N2.AMF != at.AMF {
		t.out.Refused = "the connection is another"
		return
	}
	if m.Location != nil {
		t.seen(*m.Location)
	}
	t.idle("")
}

// idle: step 5. Nothing that waits for the UE is lost: it is paged for what SMFs want.
func (t *turn) idle(why string) {
	t.due(dueAccess, 0)
	t.abort(why)
	if t.s == nil {
		return
	}
	if t.s.N2 != nil && t.s.N2.Lost {
		t.due(dueRetained, 0)
	}
	t.s.N2 = nil
	if t.doing() != Deregistration && (t.s.SUPI == "" || t.s.Phase == record.Deregistered) { // a registration that came to nothing
		t.forget(why)
		return
	}
	for n := range t.s.Sessions {
		if s := &t.s.Sessions[n]; s.Up || s.Silent {
			t.deactivate(s)
		}
	}
	t.ended(Release, why, t.in.Now.UnixMilli())
	if t.s.Phase == record.Registered {
		t.watch()
	}
	if t.doing() == Deregistration {
		t.deregisteredAway()
		return
	}
	t.pageFor()
}

// abort what is under way with a UE that is not there any more, or that has begun something else. What the UDM is asked it is asked for a UE that is idle, too.
func (t *turn) abort(why string) {
	if k := t.doing(); k != Deregistration && k != Configuration && k != 0 {
		if why == "" {
			why = "the UE has gone"
		}
		t.over(why)
	}
	if t.s.Handover != nil {
		t.handoverOver(why)
	}
	if t.doing() != Deregistration {
		t.dropCommand()
	}
}

// accessLost: TS 38.413 8.7.4, TS 23.527 4.4. What the access network had is not there any more, and nobody can be told by it.
func (t *turn) accessLost(e AccessLost) {
	same := func(a *record.Attachment) bool {
		return a != nil && a.Shares(&e.At) &&
			(e.At.RAN == 0 && e.At.AMF == 0 || e.At.RAN != 0 && a.RAN == e.At.RAN || e.At.AMF != 0 && a.AMF == e.At.AMF)
	}
	if slices.ContainsFunc(t.s.Left, func(a record.Attachment) bool { return same(&a) && !(e.Kept && t.waits(&a)) }) {
		t.leftLost(e.Kept, same)
		if t.s == nil {
			return
		}
	}
	if h := t.s.Handover; h != nil && same(&h.Target) {
		t.targetGone(e.Kept)
	}
	switch {
	case !same(t.s.N2):
	case e.Kept && t.goesOn():
	case e.Kept && t.mayWait():
		t.wait(e.Why)
	default:
		if e.Kept {
			t.part(e.Why)
			return
		}
		t.idle(e.Why)
	}
}

// goesOn by another association of the NG interface, whatever is under way (TS 23.501 5.21.1.2): the gNB has the UE there, too. What was on its way by the one that has
// ended nobody has heard, perhaps: it is said again in a while, as by a new holder.
func (t *turn) goesOn() bool {
	a := t.s.N2
	g := t.in.Beside(*a)
	if a.Lost || g == nil { // what was under way with one that has waited is over
		return false
	}
	a.Move(g.At())
	t.resumedAccess()
	return true
}

// mayWait: a UE that is registered, and is not leaving, may be where its gNB has kept it.
func (t *turn) mayWait() bool { return t.s.Phase == record.Registered && t.doing() != Deregistration }

// part from a gNB that is away: it hears of it when it is back.
func (t *turn) part(why string) {
	a := *t.s.N2
	a.Lost = true
	t.leave(&a, ngapcause.NormalRelease)
	t.idle(why)
}

// leftLost: so are connections that the UE has left.
func (t *turn) leftLost(kept bool, same func(*record.Attachment) bool) {
	list := t.s.Left
	t.s.Left = nil
	for _, a := range list {
		if !same(&a) || kept && (t.waits(&a) || t.awaits(&a)) {
			t.s.Left = append(t.s.Left, a)
		}
	}
	t.dueLeft()
}

// waits says whether a connection is one whose gNB is waited for, and is there by no other association of the interface.
func (t *turn) waits(a *record.Attachment) bool { return a.Lost && t.in.Beside(*a) == nil }

// wait for the gNB: it may have kept the UE, whose packets go where they went. What was under way is not.
func (t *turn) wait(why string) {
	a := t.s.N2
	if at, is, kept := t.there(a); is { // it is back already, or was never away
		if !kept {
			t.idle(why)
			return
		}
		t.abort(why)
		t.back(at)
		return
	}
	if a.Lost {
		return
	}
	t.abort(why)
	if t.s == nil {
		return
	}
	t.s.N2.Lost = true
	t.due(dueAccess, 0)
	t.due(dueRetained, RetainTime)
}

// accessBack: the gNB has kept the UE, and so has the AMF.
func (t *turn) accessBack(e AccessBack) {
	t.out.Refused = "the UE does not wait for that gNB"
	// Its holder may hear both at once.
	away := func(a *record.Attachment) bool {
		return a.GNB == e.At.GNB && (a.Lost || a.Terminator == e.Was.Terminator && a.Association == e.Was.Association)
	}
	for n := range t.s.Left {
		if a := &t.s.Left[n]; away(a) {
			t.backAtLeft(a, e.At)
			t.dueLeft()
			t.out.Refused = ""
		}
	}
	switch a := t.s.N2; {
	case a == nil || !away(a):
		return
	case !a.Lost && !t.mayWait(): // nor does the UE, and when the loss is heard the gNB need not be known here yet
		t.out.Refused = ""
		left := *a
		left.Setting = false
		t.backAtLeft(&left, e.At)
		t.hasLeft(left)
		t.idle("the association is gone")
		return
	case !a.Lost:
		t.abort("the association is gone")
		if t.s == nil || t.s.N2 == nil {
			return
		}
	}
	t.out.Refused = ""
	t.back(e.At)
}

// back at its gNB, by another association. One that was in the midst of something begins anew.
func (t *turn) back(at record.Attachment) {
	a := t.s.N2
	a.Move(at)
	t.due(dueRetained, 0)
	if a.Releasing || !a.Set {
		a.Releasing = false
		t.release(ngapcause.NormalRelease)
		return
	}
	t.catchUp()
}

// retained: the gNB has stayed away.
func (t *turn) retained() {
	if t.s.N2 != nil && t.s.N2.Lost {
		t.idle("the gNB has not come back")
	}
}

// notSent: the terminator has no such association any more.
func (t *turn) notSent(e NotSent) {
	t.accessLost(AccessLost{At: record.Attachment{Terminator: e.Send.To.Terminator, Association: e.Send.To.Association}, Why: "the association is gone", Kept: true})
}

// accessSilent: an access network that does not answer has let go of the UE, or is told to.
func (t *turn) accessSilent() {
	switch {
	case t.s.N2 == nil:
	case t.s.N2.Releasing && (t.s.N2.Lost || t.in.GNB(*t.s.N2) == nil): // it may not have heard it
		t.part("the access network has not answered")
	case t.s.N2.Releasing: // what it was told may be lost between worker and terminator: it hears it once more
		a := *t.s.N2
		a.Releasing = false
		t.leave(&a, ngapcause.NormalRelease)
		t.idle("the access network has not answered")
	case t.s.N2.Setting:
		t.contextLost("the access network has not set up a context", ngapcause.RadioUnspecified)
	}
}

// setUpContext: 4.2.2.2.2 step 21, 4.2.3.2 step 12. A NAS message for a PDU session is not in it: gNBs that pass over it there are in use.
func (t *turn) setUpContext(nas []byte, sessions []n2.SessionSetup) {
	key := t.accessKey()
	m := &n2.InitialContextSetupRequest{
		UE: ids(t.s.N2), GUAMI: t.in.Settings.guami(t.s.Place.PLMN), Sessions: sessions, Allowed: snssais(t.s.Allowed), Security: t.abilities(),
		Key: key, Radio: t.capability, PagingRadio: t.live.radio, RFSP: t.s.RFSP, NAS: nas, Inactive: t.inactive(), MaskedIMEISV: masked(t.s.PEI),
	}
	if len(sessions) > 0 {
		m.AMBR = &n2.AggregateBitRate{Uplink: t.s.Uplink, Downlink: t.s.Downlink}
	}
	t.s.N2.Setting = true
	t.send(m)
	t.due(dueAccess, accessTime)
}

// resumedAccess: nobody knows whether the holder before has said what its record says that was asked. An access network is told to let go again; one that
// does not say soon that it has a context, or a UE that does not answer, is asked again.
func (t *turn) resumedAccess() {
	a := t.s.N2
	switch {
	case a == nil:
		return
	case a.Releasing:
		t.send(releaseCommand(a, ngapcause.NormalRelease))
		t.due(dueAccess, accessTime)
	case a.Setting && t.doing() == 0:
		t.due(dueContext, resumeTime)
	case t.s.Command != nil:
		t.due(dueCommand, resumeTime)
	}
}

// contextAgain asks for a context as for a UE that wants all of its sessions: what SMFs have said for the one before is not known any more.
func (t *turn) contextAgain() {
	a := t.s.N2
	if a == nil || !a.Setting || a.Lost || t.doing() != 0 {
		return
	}
	a.Setting = false
	t.due(dueAccess, 0)
	var down n1.Sessions
	for _, s := range t.s.Sessions {
		if !s.Up {
			down |= n1.Of(s.ID)
		}
	}
	t.serveWith(&n1.ServiceRequest{Sessions: t.status(), UplinkData: &down}, svcContext|svcAgain)
	t.next(svcSessions)
}

// inactive is what an access network has to know to have the UE in RRC INACTIVE.
func (t *turn) inactive() *n2.InactiveAssistance {
	if len(t.s.Area.TACs) == 0 {
		return nil
	}
	return &n2.InactiveAssistance{
		IdentityIndex: uint16(t.s.TMSI % 1024), DRX: n2.PagingDRX(t.s.DRX), PeriodicTimer: gprsTimer3(t.s.Periodic), TAIs: tais(t.s.Area),
	}
}

// gprsTimer3 in seconds, as TS 24.008 10.5.7.4a has it; what lies between two values is the lower one. 0: deactivated.
func gprsTimer3(seconds uint32) uint8 {
	for _, u := range []struct {
		unit uint8
		step uint32
	}{{3, 2}, {4, 30}, {5, 60}, {0, 600}, {1, 3600}, {2, 36000}} {
		if seconds > 0 && seconds/u.step <= 31 && (seconds%u.step == 0 || u.step == 36000) || seconds >= u.step && seconds/u.step <= 31 {
			return u.unit<<5 | uint8(seconds/u.step)
		}
	}
	return 7 << 5
}

// masked IMEISV (TS 38.413 9.3.1.54): the last four digits of the serial number are masked.
func masked(pei string) uint64 {
	const prefix = "imeisv-"
	if len(pei) != len(prefix)+16 || pei[:len(prefix)] != prefix {
		return 0
	}
	var out uint64
	for n, d := range pei[len(prefix):] {
		nibble := uint64(d - '0')
		if n >= 10 && n < 14 {
			nibble = 0xf
		}
		out = out<<4 | nibble
	}
	return out
}

func (t *turn) contextSet(m *n2.InitialContextSetupResponse) {
	t.s.N2.Set, t.s.N2.Setting = true, false
	t.due(dueAccess, 0)
	t.resources(m.Sessions, m.Failed, setupDone, setupFailed)
	t.heard()
	t.catchUp()
}

func (t *turn) contextFailed(m *n2.InitialContextSetupFailure) {
	t.resources(nil, m.Failed, setupDone, setupFailed)
	t.contextLost("the access network has refused a context", m.Cause)
}

// contextLost: without one there is nothing to be had from the connection.
func (t *turn) contextLost(why string, c n2.Cause) {
	t.abort(why)
	if t.s != nil {
		t.release(c)
	}
}
