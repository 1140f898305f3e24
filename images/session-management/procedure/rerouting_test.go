package procedure

import (
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

var (
	branchN3 = record.Tunnel{TEID: 0x50, IPv4: netip.MustParseAddr("172.30.3.32")}
	branchN9 = record.Tunnel{TEID: 0x51, IPv4: netip.MustParseAddr("172.30.3.32")}
)

// branchMade is the answer of a branch to an establishment.
func branchMade() Unit {
	created := func(pdr uint16, f record.Tunnel) *ie.IE {
		return ie.NewCreatedPDR(ie.NewPDRID(pdr), ie.NewFTEID(1, f.TEID, f.IPv4.AsSlice(), nil, 0))
	}
	return Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(19, []byte{10, 0, 0, 2}, nil), CreatedPDR: []*ie.IE{created(1, branchN3), created(4, branchN9)},
	}}
}

// otherMade is the answer of another anchor.
func otherMade() Unit {
	return Unit{Outcome: Done, Established: &message.SessionEstablishmentResponse{
		Cause: ie.NewCause(ie.CauseRequestAccepted), UPFSEID: ie.NewFSEID(29, []byte{10, 0, 0, 3}, nil),
		CreatedPDR: []*ie.IE{ie.NewCreatedPDR(ie.NewPDRID(1), ie.NewFTEID(1, 0x60, []byte{172, 30, 3, 48}, nil, 0))},
	}}
}

// edge has a breakout in tracking area 2.
func edge(list []configuration.Slice) {
	list[0].DataNetworks[0].Breakouts = []configuration.Breakout{{
		Name: "edge", UPFInstance: "edge", Units: []string{edgeID}, TACs: []uint32{2}, Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("2001:db8:e::/48")},
	}}
}

// areas: the unit serves tracking area 1, the other one 2.
func areas(list []configuration.Slice) {
	units := list[0].DataNetworks[0].Units
	list[0].DataNetworks[0].Units = []configuration.Serving{
		{NodeID: unitID, Pools: units[0].Pools, TACs: []uint32{1}}, {NodeID: otherID, Pools: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/16")}, TACs: []uint32{2}},
	}
}

// own: the unit serves everywhere, but where the other one has tracking area 2 to itself.
func own(list []configuration.Slice) {
	areas(list)
	d := &list[0].DataNetworks[0]
	d.Units[0].TACs, d.OwnAreas = nil, []uint32{2}
}

// routed: another unit has routes to the addresses, too.
func routed(list []configuration.Slice) {
	areas(list)
	d := &list[0].DataNetworks[0]
	d.Routed, d.Units[0].TACs, d.Units[1].TACs = true, nil, nil
}

func at(tac uint32, u Update) Update {
	u.AMF.TAC = tac
	return u
}

var (
	arrived  = act{name: "the branch has it", event: branchMade()}
	heardWay = act{name: "the AMF tells the gNB", event: Transferred{Outcome: Done}}
	comes    = update1("the UE is in the area", at(2, Update{}))
	leaves   = update1("the UE is not in the area any more", at(1, Update{}))
	laterWay = act{name: "2 s later", event: Due{Name: dueWay}, later: lostTime}
)

// branched is an active session with a branch.
func branched(tr *teller) State {
	st := active(tr)
	return tr.lead(st, at(2, Update{}), branchMade(), Unit{Outcome: Done}, Transferred{Outcome: Done})
}

// Branches come and go (TS 23.502 4.3.5.4 to 4.3.5.6).
func TestRerouting(t *testing.T) {
	byNode := func(node string) act { return act{name: node + " is gone", event: UnitGone{NodeID: node}, gone: node} }
	path := update1("the UE is at another gNB, in the area", at(2, Update{
		ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}}),
	}))
	switched := update1("the UE is at another gNB", Update{
		ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}}),
	})
	down := update1("down", Update{Connection: Deactivated})
	resumed := act{name: "the pod dies", event: Resumed{}}
	tell(t, "rerouting", []story{
		{name: "the UE comes into the area of a breakout", with: edge, from: active, acts: []act{comes, arrived, unitDone, heardWay}},
		{name: "and leaves it: packets on their way arrive", with: edge, from: branched, acts: []act{leaves, unitDone, heardWay, laterWay, unitDone}},
		{name: "it is in the area when the session begins", with: edge, from: establishing, acts: []act{
			func() act { r := newTeller(t).ready(); return update1("the gNB has a tunnel", at(2, r)) }(), unitDone, arrived, unitDone, heardWay,
		}},
		{name: "it comes idle: the gNB hears of the branch at once (TS 23.502 4.2.3.2)", with: edge, from: idleUE, acts: []act{
			update1("up, in the area", at(2, Update{Connection: Activating})), arrived, unitDone, update1("the gNB has a tunnel", newTeller(t).ready()), unitDone,
		}},
		{name: "it is paged, and another way is taken before the gNB answers: the gNB is told", with: edge, from: idleUE, acts: []act{
			update1("up", Update{Connection: Activating}), update1("the UE is in the area", at(2, Update{})), arrived, unitDone,
			update1("the gNB has a tunnel", newTeller(t).ready()), unitDone, heardWay,
		}},
		{name: "it is paged, another way is taken before the gNB answers, and another anchor: the gNB is told", with: func(list []configuration.Slice) { routed(list); edge(list) }, from: idleUE, acts: []act{
			update1("up", Update{Connection: Activating}), comes, arrived, unitDone, byNode(unitID), {name: "another anchor has it", event: otherMade()}, unitDone,
			update1("the gNB has a tunnel", newTeller(t).ready()), unitDone, heardWay,
		}},
		{name: "the branch goes while an anchor is left: it does without", with: func(list []configuration.Slice) { routed(list); edge(list) }, from: branched, acts: []act{
			byNode(unitID), {name: "another anchor has it", event: otherMade()}, unitDone, byNode(edgeID), unitDone, heardWay,
		}},
		{name: "the branch has it anew while the breakout is not configured, which it is again then: it is told", with: edge, from: branched, acts: []act{
			{name: "the branch has restarted", event: UnitRestarted{NodeID: edgeID}, first: func(list []configuration.Slice) {
				list[0].DataNetworks[0].Breakouts[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
			}}, arrived,
			changedTo("the Slice", func(list []configuration.Slice) { edge(list) }), {name: "the anchor has it", event: made()}, arrived,
		}},
		{name: "its user plane is asked for twice, and another way is taken the second time: the gNB, which may have the first answer, is told", with: edge, from: idleUE, acts: []act{
			update1("up", Update{Connection: Activating}), update1("up, asked again, in the area", at(2, Update{Connection: Activating})), arrived, unitDone,
			update1("the gNB has a tunnel", newTeller(t).ready()), unitDone, heardWay,
		}},
		{name: "it comes by Xn handover, which is asked for twice, and the second time there is a breakout: the gNB, which may have the first answer, is told", from: active, acts: []act{
			path, unitDone, {name: "asked again, while the Slice has a breakout there", event: path.event, first: edge}, arrived, unitDone, heardWay,
		}},
		{name: "its user plane is asked for twice, and another way is taken in between: likewise", with: edge, from: idleUE, acts: []act{
			update1("up", Update{Connection: Activating}), comes, arrived, unitDone, update1("up, asked again", Update{Connection: Activating}),
			update1("the gNB has a tunnel", newTeller(t).ready()), unitDone, heardWay,
		}},
		{name: "likewise, and the UE was not reached: the next gNB hears of the branch at once", with: edge, from: idleUE, acts: []act{
			{name: "packets wait", event: Report{From: 4, CPSEID: record.SEID(1, 2), Downlink: true}}, {name: "the AMF pages", event: Transferred{Outcome: Done, Paging: true}},
			{name: "the UE was not reached", event: Unreachable{}}, update1("up, in the area", at(2, Update{Connection: Activating})), arrived, unitDone,
			update1("the gNB has a tunnel", newTeller(t).ready()), unitDone,
		}},
		{name: "it comes by Xn handover: the answer has the branch (TS 23.502 4.9.1.2.3)", with: edge, from: active, acts: []act{path, unitDone, arrived, unitDone}},
		{name: "within the area the branch's tunnel moves, and the anchor's stays", with: edge, from: branched, acts: []act{switched, unitDone}},
		{name: "N2 handover within the area: packets wait in the branch", with: edge, from: branched, acts: []act{
			update1("the source wants it", Update{Handover: HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: makes(t, &n2.HandoverRequired{})}),
			update1("the target has room", Update{Handover: HandoverPrepared, N2Type: n2.InfoHandoverAcknowledge, N2: makes(t, &n2.HandoverAcknowledge{
				Downlink: otherGNB, Flows: []n2.ForwardedFlow{{QFI: 1}, {QFI: 2}},
			})}), unitDone,
			update1("the UE has arrived", Update{Handover: HandoverCompleted}), unitDone,
		}},
		{name: "down: packets wait in the branch, which says so", with: edge, from: branched, acts: []act{
			down, unitDone, {name: "packets wait there", event: Report{From: 4, CPSEID: record.SEID(1, 3), Downlink: true}}, {name: "the AMF pages", event: Transferred{Outcome: Done}},
		}},
		{name: "the session ends at both", with: edge, from: branched, acts: []act{
			{name: "the AMF has lost the UE", event: Release{From: 3}}, unitDone, unitDone,
		}},
		{name: "the session ends while one is left", with: edge, from: branched, acts: []act{
			leaves, unitDone, heardWay, {name: "the AMF has lost the UE", event: Release{From: 3}}, unitDone, unitDone,
		}},
		{name: "the branch refuses, and is asked again", with: edge, from: active, acts: []act{
			comes, unitRefuses, {name: "30 s later", event: Due{Name: dueWay}, later: wayRest}, arrived, unitDone, heardWay,
		}},
		{name: "the branch does not answer while the UE waits: it comes up without", with: edge, from: idleUE, acts: []act{
			update1("up, in the area", at(2, Update{Connection: Activating})), unitMute,
		}},
		{name: "the anchor does not answer, and is asked again", with: edge, from: active, acts: []act{
			comes, arrived, unitMute, {name: "30 s later", event: Due{Name: dueWay}, later: wayRest}, unitDone, heardWay,
		}},
		{name: "the anchor has lost it: made anew, and then told", with: edge, from: active, acts: []act{
			comes, arrived, unitLost, {name: "the unit has it", event: made()}, {name: "30 s later", event: Due{Name: dueWay}, later: wayRest}, unitDone, heardWay,
		}},
		{name: "the AMF does not take it, and is asked again", with: edge, from: branched, acts: []act{
			leaves, unitDone, {name: "the AMF", event: Transferred{Outcome: Unknown}}, {name: "30 s later", event: Due{Name: dueWay}, later: wayRest}, unitDone, heardWay, laterWay, unitDone,
		}},
		{name: "the pod dies at each step", with: edge, from: active, acts: []act{comes, resumed, arrived, resumed, unitDone, resumed, heardWay}},
		{name: "the branch has restarted: made again, as it was", with: edge, from: branched, acts: []act{{name: "the branch has restarted", event: UnitRestarted{NodeID: edgeID}}, arrived}},
		{name: "the anchor has restarted: it sends to the branch again", with: edge, from: branched, acts: []act{{name: "the anchor has restarted", event: UnitRestarted{NodeID: unitID}}, {name: "the unit has it", event: made()}}},
		{name: "the branch has lost it, which is found by a change", with: edge, from: branched, acts: []act{down, unitLost, arrived, {name: "1 s later", event: Due{Name: dueUnit}, later: wayRest}, unitDone}},
		{name: "the branch does not know the anchor's tunnel: made again (TS 23.527 5.3.3)", with: edge, from: branched, acts: []act{
			{name: "Error Indication to the anchor", event: Report{From: 4, CPSEID: record.SEID(1, 2), Lost: []record.Tunnel{branchN9}}}, arrived,
		}},
		{name: "the branch's F-TEIDs are somebody else's: without it, and then with others", with: edge, from: branched, acts: []act{
			{name: "the branch has restarted", event: UnitRestarted{NodeID: edgeID}}, unitRefuses, unitLost, unitRefuses, unitDone, heardWay, laterWay, unitDone, arrived,
		}},
		{name: "the branch is taken away: without it", with: edge, from: branched, acts: []act{byNode(edgeID), unitDone, heardWay, laterWay, unitMute}},
		{name: "the branch was taken away, and is there again when that is heard: what was left there is deleted", with: edge, from: branched, acts: []act{
			leaves, unitDone, heardWay, {name: edgeID + " was gone", event: UnitGone{NodeID: edgeID}}, laterWay, unitDone,
		}},
		{name: "the branch drains: without it", with: edge, from: branched, acts: []act{{name: "it drains", event: UnitDrains{NodeID: edgeID}, drains: edgeID}, unitDone, heardWay, laterWay, unitDone}},
		{name: "the networks of a breakout are others: the branch is made anew", with: edge, from: branched, acts: []act{
			{name: "the Slice", event: SettingsChanged{}, first: func(list []configuration.Slice) {
				list[0].DataNetworks[0].Breakouts[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
			}}, {name: "the unit has it", event: made()}, arrived,
		}},
		{name: "no packet comes through between the two: without it for a while", with: edge, from: branched, acts: []act{
			{name: "the branch does not reach the anchor", event: PathFailed{NodeID: edgeID, Peer: netip.MustParseAddr("172.30.3.16")}}, unitDone, heardWay, laterWay, unitDone,
			{name: "30 s later", event: Due{Name: dueWay}, later: wayRest},
		}},
		{name: "out of the anchor's area: an intermediate unit", with: areas, from: active, acts: []act{comes, arrived, unitDone, heardWay}},
		{name: "another AMBR: both hear", with: edge, from: branched, acts: []act{
			changedTo("the Slice", func(list []configuration.Slice) { list[0].DataNetworks[0].AMBR.Downlink = 50e6 }),
			{name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, commanded, update1("the gNB", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{})}), update1("the UE", Update{N1: complete(0)}), unitDone, unitDone,
		}},
		{name: "the anchor is taken away: another one, with the same addresses", with: routed, from: active, acts: []act{
			byNode(unitID), {name: "the other one has it", event: otherMade()}, heardWay, laterWay, unitMute,
		}},
		{name: "the anchor is taken away from an idle UE: it hears when it is up", with: routed, from: idleUE, acts: []act{
			byNode(unitID), {name: "the other one has it", event: otherMade()}, laterWay, unitMute, update1("up", Update{Connection: Activating}),
		}},
		{name: "a flow is added, with another AMBR, and the branch is not reached behind the anchor: both are told all of it", with: edge, from: branched, acts: []act{
			changedTo("the Slice", func(list []configuration.Slice) { gameForAll(list); bigger(list) }), {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}, unitDone, commanded, modified(t), update1("the UE has it", Update{N1: complete(0)}), unitDone,
			{name: "the branch is not reached", event: Unit{Outcome: NotSent}}, {name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}, {name: "the anchor has it", event: made()}, arrived,
		}},
		{name: "the anchor drains: another one, and the UE hears nothing", with: routed, from: active, acts: []act{
			{name: "it drains", event: UnitDrains{NodeID: unitID}, drains: unitID}, {name: "the other one has it", event: otherMade()}, heardWay, laterWay, unitDone,
		}},
		{name: "the anchor goes while a handover is prepared: the target, which knows its F-TEID, is told when the UE is there", with: routed, from: active, acts: []act{
			update1("the source asks", Update{Handover: HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: makes(t, &n2.HandoverRequired{DirectPath: true})}),
			byNode(unitID), {name: "another anchor has it", event: otherMade()}, heardWay,
			update1("the target has it", Update{Handover: HandoverPrepared, N2Type: n2.InfoHandoverAcknowledge, N2: makes(t, &n2.HandoverAcknowledge{Downlink: otherGNB, Flows: []n2.ForwardedFlow{{QFI: 1}, {QFI: 2}}})}),
			unitDone, update1("the UE has arrived", Update{Handover: HandoverCompleted}), unitDone, heardWay,
		}},
		{name: "the anchor drains, and the other one refuses: it stays", with: routed, from: active, acts: []act{{name: "it drains", event: UnitDrains{NodeID: unitID}, drains: unitID}, unitRefuses}},
		{name: "a flow goes while the anchor drains, and the other one refuses: it is taken away where it is", with: routed, from: active, acts: []act{
			{name: "it drains", event: UnitDrains{NodeID: unitID}, drains: unitID, first: noFlows}, unitRefuses, {name: "1 s later", event: Due{Name: dueUnit}, later: time.Second}, unitDone,
			{name: "4 s later", event: Due{Name: dueBehind}, later: behindTime}, commanded, modified(t), update1("the UE has it", Update{N1: complete(0)}), unitDone,
		}},
		{name: "the anchor drains, and no other one is routed to: it stays", from: active, acts: []act{{name: "it drains", event: UnitDrains{NodeID: unitID}, drains: unitID}}},
		{name: "the anchor is taken away, and the other one refuses: the UE asks for another session", with: routed, from: active, acts: []act{byNode(unitID), unitRefuses}},
		{name: "the anchor behind a branch is another one: the gNB hears nothing", with: func(list []configuration.Slice) { edge(list); routed(list) }, from: branched, acts: []act{
			byNode(unitID), {name: "the other one has it", event: otherMade()}, unitDone, laterWay, unitMute,
		}},
	})
}

// A gNB that packets do not reach (TS 23.527 5.4, TS 23.502 4.3.7).
func TestPathFailure(t *testing.T) {
	tell(t, "path-failure", []story{
		{name: "packets wait, and the access network is told to let go", from: active, acts: []act{{name: "no way to the gNB", event: PathFailed{NodeID: unitID, Peer: gnb.IPv4}}, unitDone, heardWay}},
		{name: "the unit does not say that packets wait: the access network is told all the same", from: active, acts: []act{
			{name: "no way to the gNB", event: PathFailed{NodeID: unitID, Peer: gnb.IPv4}}, unitMute,
			{name: "5 s later", event: Due{Name: dueLetGo}, later: letGoRest}, heardWay,
		}},
		{name: "the AMF does not answer: it is told again, unless the UE has come back", from: active, acts: []act{
			{name: "no way to the gNB", event: PathFailed{NodeID: unitID, Peer: gnb.IPv4}}, unitDone, {name: "the AMF says nothing", event: Transferred{Outcome: Unknown}},
			{name: "5 s later", event: Due{Name: dueLetGo}, later: letGoRest}, {name: "nor does it then", event: Transferred{Outcome: NotSent}},
			update1("up", Update{Connection: Activating}), update1("the gNB has a tunnel", newTeller(t).ready()), unitDone,
			{name: "at that time", event: Due{Name: dueLetGo}, later: letGoRest},
		}},
		{name: "whoever takes over tells it", from: active, acts: []act{
			{name: "no way to the gNB", event: PathFailed{NodeID: unitID, Peer: gnb.IPv4}}, unitDone, {name: "the pod dies", event: Resumed{}}, heardWay,
		}},
		{name: "to another gNB", from: active, acts: []act{{name: "no way to another gNB", event: PathFailed{NodeID: unitID, Peer: otherGNB.IPv4}}}},
		{name: "of an idle UE", from: idleUE, acts: []act{{name: "no way to the gNB", event: PathFailed{NodeID: unitID, Peer: gnb.IPv4}}}},
	})
}

// Where gNBs reach one UPF alone, new sessions are nobody else's, and packets of what comes from elsewhere go by it.
func TestAnAreaOfItsOwn(t *testing.T) {
	asked := create(request(5, 0x91))
	asked.AMF.TAC = 2
	whole := []act{{name: "create", event: asked}, {name: "the subscription", event: Subscription{}}}
	knows := func(live map[string]configuration.Live) func(*teller) State {
		return func(tr *teller) State {
			tr.live = live
			return State{}
		}
	}
	tell(t, "area", []story{
		{name: "a session there", with: own, acts: whole},
		{name: "and while its unit is away", with: own, from: knows(map[string]configuration.Live{otherID: {Away: true}}), acts: whole},
		{name: "and while any other may serve it, too", with: func(list []configuration.Slice) {
			own(list)
			list[0].DataNetworks[0].OwnAreas = nil
		}, from: knows(map[string]configuration.Live{otherID: {Away: true}}), acts: whole},
		{name: "a UE comes there from elsewhere", with: own, from: active, acts: []act{comes, arrived, unitDone, heardWay}},
	})
}
