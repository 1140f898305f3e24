package procedure

import (
	"slices"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/n4"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

// Another way through the UPFs, for a session that keeps its addresses: a branch comes, goes, or is another one, because the UE is in another
// tracking area or the Slice has other breakouts (TS 23.502 4.3.5.4 to 4.3.5.6; 4.2.3.2 and 4.9.1.2.3 where the UE comes to an access network
// meanwhile), or the anchor is another one, because the unit that it was is taken away (TS 23.527 4.2).
//
//	4.3.5.4  2     N4: the new unit, with F-TEIDs that it chooses        routeMake
//	         3,5   N4: who is next to it sends its packets there         routeSwitch
//	         4     access network: where uplink packets go now           routeAccess; or in the answer to who has asked
//	4.3.5.5  4     N4: the unit that is left                             routeDrop, a while later: packets are on their way
//
// What is left, or that somebody does not know the new way yet, is in record.Left, from the first step to the last. A step that came to
// nothing is taken again when its time comes (way).
const (
	routeMake   uint8 = 1
	routeSwitch uint8 = 2
	routeAccess uint8 = 3
	routeDrop   uint8 = 4
)

// Whose request is answered with the new way, in the place of a PTI.
const (
	byItself    uint8 = 0
	forActivate uint8 = 1
	forSwitch   uint8 = 2
)

// causePath, in the record's cause: the way is left because no packet comes through, and not taken again for a while.
const causePath = 1

// causeGone: the branch does not come back, and the anchor is next to the access network, also where it has the session only since.
const causeGone = 2

var rerouting = map[uint8]step{
	routeMake:   {ask: askMake, take: takeMake},
	routeSwitch: {ask: askWays, take: takeWays},
	routeAccess: {ask: askUplink, take: takeUplink},
	routeDrop:   {ask: askDrop, take: takeDrop},
}

// wayRest is how long what came to nothing is left alone, lostTime how long packets may be on their way to a unit that was left.
const (
	wayRest  = 30 * time.Second
	lostTime = 2 * time.Second
)

// settled: nothing is under way with unit, UE or access network.
func (t *turn) settled() bool {
	s := t.s
	return s.Procedure == nil && s.Told == nil && s.Wanted == nil && s.Command == nil && s.Handover == nil &&
		(s.Phase == record.Active || s.Phase == record.Idle)
}

// reroute where the way is not what it should be; false: nothing begins now. message is for who has asked.
func (t *turn) reroute(why uint8, message []byte) bool {
	network := t.network()
	if network == nil || t.s.Left != nil || !t.settled() {
		return false
	}
	want := t.in.Config.PathOf(network, t.s, t.in.Live)
	prefixes := n4.PrefixesOf(want.Breakouts, network.Settings())
	switch b := t.s.Branch; {
	case b == nil && want.NodeID == "":
		return false
	case b != nil && b.NodeID == want.NodeID && slices.Equal(b.Breakouts, want.Breakouts) && b.Prefixes == prefixes:
		return false
	case b != nil && b.NodeID == want.NodeID: // other networks at the same unit, which is told all of it anew
		if why != byItself {
			return false
		}
		t.change(func(s *record.Session) { s.Branch.Breakouts, s.Branch.Prefixes = want.Breakouts, prefixes })
		t.s.Told.Unsure = true
		t.begin(Connection, connectUnit)
		return true
	}
	if rest := t.restOf(Rerouting, wayRest); rest > 0 {
		t.due(dueWay, rest)
		return false
	}
	return t.take(want, prefixes, why, message)
}

// take a way; false: there is no name for it now.
func (t *turn) take(want configuration.Path, prefixes uint32, why uint8, message []byte) bool {
	var next *record.Branch
	if want.NodeID != "" {
		next = &record.Branch{NodeID: want.NodeID, CPSEID: t.in.Fresh(), Breakouts: want.Breakouts, Prefixes: prefixes}
		if next.CPSEID == 0 {
			t.due(dueWay, wayRest)
			return false
		}
	}
	t.s.Left = &record.Left{}
	if was := t.s.Branch; was != nil {
		*t.s.Left = record.Left{NodeID: was.NodeID, CPSEID: was.CPSEID, UPSEID: was.UPSEID}
	}
	t.s.Branch = next
	t.s.Procedure = &record.Procedure{Kind: uint8(Rerouting), Began: t.in.Now.UnixMilli(), PTI: why, Message: message}
	if next == nil {
		t.next(routeSwitch)
	} else {
		t.next(routeMake)
	}
	return true
}

// move the session to another anchor; false: none can have it.
func (t *turn) move() bool {
	network := t.network()
	if network == nil || t.s.Left != nil || t.s.Phase != record.Active && t.s.Phase != record.Idle {
		return false
	}
	unit := t.in.Config.Move(network, t.s, t.in.Live)
	if unit == nil || t.s.Branch != nil && unit.NodeID == t.s.Branch.NodeID {
		return false
	}
	t.s.Left = &record.Left{NodeID: t.s.Unit.NodeID, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, Uplink: t.s.Uplink}
	t.s.Unit, t.s.UPSEID, t.s.Uplink = record.Unit{NodeID: unit.NodeID, Address: unit.Address.Addr()}, 0, record.Tunnel{}
	t.s.Usage.Number() // what the old one has measured since its last report is nobody's
	t.begin(Rerouting, routeMake)
	return true
}

// moved: it is the anchor that is another one.
func moved(s *record.Session) bool { return s.Left != nil && s.Left.CPSEID == s.CPSEID }

// unitGone: a unit does not come back (TS 23.527 4.2). A branch can be done without; an anchor is left, or the UE asks for another session.
func (t *turn) unitGone(node string) {
	if node != "" && !t.in.Config.UnitGone(node) { // it is back: the word has waited for a procedure to end
		return
	}
	s := t.s
	switch left := s.Left; {
	case s.Phase == record.Releasing:
	case node == "" || node == s.Unit.NodeID:
		if !t.move() {
			t.endByNetwork(n1.CauseReactivationRequested)
		}
	case left != nil && left.NodeID == node && left.Known:
		s.Left = nil
		t.due(dueWay, 0)
	case s.Branch != nil && s.Branch.NodeID == node && left != nil: // it does without, until what was left before is done with
		s.Branch = nil
		if s.Told != nil {
			s.Told.Unsure = true
			t.due(dueUnit, unitRest)
		}
		t.s.Procedure = &record.Procedure{Kind: uint8(Rerouting), Began: t.in.Now.UnixMilli(), Cause: causeGone}
		t.next(routeSwitch)
	case s.Branch != nil && s.Branch.NodeID == node && left == nil:
		network := t.network()
		if network == nil {
			return
		}
		want := t.in.Config.PathOf(network, s, t.in.Live)
		if want.NodeID == node { // it has no other word for it
			want = configuration.Path{}
		}
		if s.Told != nil { // whatever the branch was to hear, who is on N3 next hears from the beginning
			s.Told.Unsure = true
			t.due(dueUnit, unitRest)
		}
		t.take(want, n4.PrefixesOf(want.Breakouts, network.Settings()), byItself, nil)
	}
}

// unitDrains: a unit takes nothing new, and what can go without a word to the UE goes.
func (t *turn) unitDrains(node string) {
	if !t.settled() {
		return
	}
	if node == t.s.Unit.NodeID {
		t.move()
		return
	}
	t.reroute(byItself, nil)
}

// pathFailed: no packet comes through between a unit and its peer (TS 23.527 5.4). Where that is the access network's, packets wait, and
// the access network is told to let go of the session: it has the UE reached anew (TS 23.502 4.3.7). Between units another way is taken.
func (t *turn) pathFailed(e PathFailed) {
	is := func(tunnel record.Tunnel) bool {
		return tunnel.TEID != 0 && (tunnel.IPv4.IsValid() && tunnel.IPv4 == e.Peer || tunnel.IPv6.IsValid() && tunnel.IPv6 == e.Peer)
	}
	s := t.s
	onN3 := s.Unit.NodeID
	if s.Branch != nil {
		onN3 = s.Branch.NodeID
	}
	switch {
	case e.NodeID == onN3 && s.Phase == record.Active && is(s.Downlink):
		t.idleAs(pathBroken)
	case s.Branch != nil && s.Left == nil && (e.NodeID == onN3 && is(s.Uplink) || e.NodeID == s.Unit.NodeID && is(s.Branch.Core)):
		network := t.network()
		if network == nil || !t.settled() {
			return
		}
		if !network.Away(s.Unit.NodeID, s.AMF.TAC) { // it does without
			t.take(configuration.Path{}, 0, byItself, nil)
			t.s.Procedure.Cause = causePath
		}
	}
}

// way: the time has come to look again.
func (t *turn) way() {
	left := t.s.Left
	switch {
	case t.s.Phase != record.Active && t.s.Phase != record.Idle:
	case !t.settled():
		t.due(dueWay, unitRest)
	case left == nil:
		t.reroute(byItself, nil)
	case left.Known:
		t.begin(Rerouting, routeDrop)
	default:
		t.begin(Rerouting, routeSwitch)
	}
}

// The new unit.

func askMake(t *turn) {
	network := t.network()
	if network == nil {
		t.unmade("the data network is gone")
		return
	}
	if moved(t.s) {
		t.otherFilters(network)
		ies, err := n4.Establishment(t.s, network.SettingsAt(t.s.Unit.NodeID))
		if err != nil {
			t.unmade(err.Error())
			return
		}
		t.do(AskUnit{Operation: Establish, Unit: t.s.Unit, CPSEID: t.s.CPSEID, IEs: ies})
		return
	}
	ies, err := t.branchEstablishment(network)
	if err != nil {
		t.unmade(err.Error())
		return
	}
	t.askBranch(Establish, ies)
}

// askBranch asks the session's branch.
func (t *turn) askBranch(operation UnitOperation, ies []*ie.IE) {
	b := t.s.Branch
	a := AskUnit{Operation: operation, Unit: record.Unit{NodeID: b.NodeID}, CPSEID: b.CPSEID, IEs: ies}
	if operation != Establish {
		a.UPSEID = b.UPSEID
	}
	t.do(a)
}

func takeMake(t *turn, e Event) {
	u, ok := e.(Unit)
	if !ok {
		return
	}
	switch {
	case u.Outcome == Refused:
		t.unmade("the UPF refused")
		return
	case u.Outcome != Done:
		t.unmade("no answer of the UPF")
		return
	}
	established := n4.BranchEstablished
	if moved(t.s) {
		established = n4.Established
	}
	if err := established(t.s, u.Established); err != nil {
		t.unmade(err.Error())
		return
	}
	if moved(t.s) {
		t.madeAnew()
	}
	t.next(routeSwitch)
}

// unmade: there is no session at the new unit. Without it, or as before; what the unit may have all the same is found in its list.
func (t *turn) unmade(why string) {
	s := t.s
	if left := s.Left; moved(s) {
		t.over(why)
		s.Unit, s.UPSEID, s.Uplink, s.Left = record.Unit{NodeID: left.NodeID}, left.UPSEID, left.Uplink, nil
		if u := t.in.Config.Unit(left.NodeID); u != nil {
			s.Unit.Address = u.Address.Addr()
		}
		if s.Told != nil { // it has not heard what the other one was to have
			t.due(dueUnit, time.Second)
		}
		if t.in.Config.UnitGone(left.NodeID) {
			t.endByNetwork(n1.CauseReactivationRequested)
		}
		return
	}
	s.Branch = nil
	if s.Left.NodeID != "" {
		t.next(routeSwitch)
		return
	}
	t.routed(why)
}

// Who is next to it.

func askWays(t *turn) {
	network := t.network()
	switch {
	case network == nil: // End follows
		t.routed("the data network is gone")
	case !moved(t.s) || t.s.Procedure.Cause == causeGone:
		t.do(AskUnit{Operation: Modify, Unit: t.s.Unit, CPSEID: t.s.CPSEID, UPSEID: t.s.UPSEID, IEs: n4.Ways(t.s, network.Settings(), false)})
	case t.s.Branch != nil:
		t.askBranch(Modify, n4.Ways(t.s, network.Settings(), true))
	default:
		t.next(routeAccess)
	}
}

// takeWays: who has lost the session has it made anew; who does not answer is asked again.
func takeWays(t *turn, e Event) {
	u, ok := e.(Unit)
	if !ok {
		return
	}
	if u.Outcome == Done {
		t.next(routeAccess)
		return
	}
	p := t.s.Procedure
	t.over("the UPF does not send its packets there")
	t.due(dueWay, wayRest)
	t.answerWay(p)
	t.lostBranch = moved(t.s)
	if t.s.Procedure == nil && u.Outcome == Refused && u.Cause == ie.CauseSessionContextNotFound {
		t.restoreLost()
	}
}

// The access network.

func askUplink(t *turn) {
	s := t.s
	stays := moved(s) && s.Branch != nil && !s.Rerouted                                         // nor has it to hear of a branch of before
	s.Rerouted = s.Rerouted || s.Procedure.PTI != forSwitch && s.Phase == record.Idle && !stays // it may be asked for a tunnel by now
	if s.Procedure.PTI != byItself || s.Phase != record.Active || stays {
		t.routed("")
		return
	}
	b, err := (&n2.ModifyRequest{Uplink: []n2.TunnelPair{{Uplink: s.N3(), Downlink: s.Downlink}}}).Encode()
	if err != nil {
		s.Rerouted = false // it would be told again
		t.routed(err.Error())
		return
	}
	t.transfer(AskTransfer{N2: b, N2Type: n2.InfoModifyRequest, SkipIdle: true})
}

func takeUplink(t *turn, e Event) {
	x, ok := e.(Transferred)
	switch {
	case !ok:
	case x.Outcome == Done: // an idle UE's access network is told when there is one, the target of a handover when the UE is there
		t.s.Rerouted = t.s.Handover != nil && !t.s.Handover.Arrived
		t.routed("")
	default: // packets still come the old way
		t.over("the AMF did not take it: " + x.Cause)
		t.due(dueWay, wayRest)
	}
}

// tellWay to an access network that was asked for its tunnel before the way was another; false: it knows.
func (t *turn) tellWay() bool {
	s := t.s
	if !s.Rerouted || s.Phase != record.Active || s.Handover != nil && !s.Handover.Arrived || s.Told != nil || s.Left != nil && !s.Left.Known {
		return false
	}
	if s.Left == nil {
		s.Left = &record.Left{}
	}
	t.begin(Rerouting, routeAccess)
	return true
}

// routed: everybody who has to knows the way that it is now.
func (t *turn) routed(why string) {
	p := t.s.Procedure
	if p.Cause == causePath {
		why = "no packet comes through between two units"
	}
	t.over(why)
	t.s.Left.Known = true
	if t.s.Left.NodeID == "" {
		t.s.Left = nil
	} else {
		t.due(dueWay, lostTime)
	}
	t.answerWay(p)
	t.catchUp()
}

// answerWay to who has asked for what began the procedure.
func (t *turn) answerWay(p *record.Procedure) {
	switch p.PTI {
	case forActivate:
		t.activated()
	case forSwitch:
		t.switchedTo(p.Message)
	}
}

// The unit that is left.

func askDrop(t *turn) {
	left := t.s.Left
	if left == nil || left.NodeID == "" {
		t.dropped()
		return
	}
	t.do(AskUnit{Operation: Delete, Unit: record.Unit{NodeID: left.NodeID}, CPSEID: left.CPSEID, UPSEID: left.UPSEID})
}

// takeDrop: a unit that does not answer may keep it; who lists its sessions finds one that nobody has.
func takeDrop(t *turn, e Event) {
	if _, ok := e.(Unit); ok {
		t.dropped()
	}
}

func (t *turn) dropped() {
	t.s.Left = nil
	t.over("")
	t.catchUp()
}
