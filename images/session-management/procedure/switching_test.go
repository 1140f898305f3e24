package procedure

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// TS 23.502 4.9.1.2.2, TS 29.502 5.2.2.3.2.1.
func TestPathSwitch(t *testing.T) {
	to := func(name string, qfis ...uint8) act {
		return update1(name, Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: qfis})})
	}
	all := to("the UE is at another gNB", 1, 2)
	failed := update1("the new gNB has not taken it", Update{
		FailedToBeSwitched: true, N2Type: n2.InfoPathSwitchSetupFailed, N2: makes(t, &n2.PathSwitchSetupFailed{Cause: ngapcause.RadioResourcesNotAvailable}),
	})
	same := update1("the new gNB has the old one's tunnel", Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{
		Downlink: gnb, Reused: true, Flows: []uint8{1, 2}, Security: &n2.UserPlaneSecurity{Security: n2.Security{Integrity: n2.NotNeeded, Confidentiality: n2.Preferred}},
	})})
	another := all
	another.event = func() Update {
		u := all.event.(Update)
		u.AMF = record.AMF{InstanceID: "amf-2", StatusURI: "http://amf-2/status", TAC: 7}
		return u
	}()
	rested := act{name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}
	late := modified(t)
	bothAnew := slices.Clip([]act{
		changedTo("the Slice", func(list []configuration.Slice) {
			gameForAll(list)
			f := &list[0].DataNetworks[0].Flows[0]
			f.Filters = slices.Clone(f.Filters)
			f.Filters[0].RemotePorts = n1.PortRange{First: 5060, Last: 5060}
		}), unitDone, commanded, to("the UE is there", 1), unitDone,
		update1("the gNB of before has the new one", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}})}), update1("the UE", Update{N1: complete(0)}),
	})
	tell(t, "path-switch", []story{
		{name: "to another gNB: the old tunnel is ended", from: active, acts: []act{all, unitDone}},
		{name: "asked again: alike, and no second End Marker", from: active, acts: []act{all, unitDone, all}},
		{name: "by another AMF, which hears of the end", from: active, acts: []act{another, unitDone, update1("the UE releases it", Update{N1: releaseRequest(9)}), unitDone, update1("the UE has", Update{N1: releaseComplete(9)})}},
		{name: "the new gNB lacks a flow: the UE is told to forget it", from: active, acts: []act{to("the UE is there", 1), unitDone, commanded, update1("the UE", Update{N1: complete(0)})}},
		{name: "the new gNB lacks the default flow", from: active, acts: []act{to("the UE is there", 2)}},
		{name: "the tunnel is the same", from: active, acts: []act{same}},
		{name: "of a session without user plane: it has one now", from: idleUE, acts: []act{all, unitDone}},
		{name: "of a session that is released", from: releasing, acts: []act{all}},
		{name: "the new gNB has not taken it: it is idle", from: active, acts: []act{failed, unitDone}},
		{name: "it has not, without saying so in a transfer", from: active, acts: []act{update1("the AMF", Update{FailedToBeSwitched: true}), unitDone}},
		{name: "it has not taken one that is being established", from: establishing, acts: []act{failed}},
		{name: "the unit refuses", from: active, acts: []act{all, unitRefuses}},
		{name: "the unit does not answer, and is asked again before anybody hears", from: active, acts: []act{all, unitMute, unitDone}},
		{name: "the unit does not answer at all", from: active, acts: []act{all, unitMute, unitMute, unitMute, all, unitDone}},
		{name: "the unit is away: it has not switched", from: active, acts: []act{all, {name: "it was not asked", event: Unit{Outcome: NotSent}}}},
		{name: "the unit has lost it: made anew, with the new tunnel", from: active, acts: []act{all, unitLost, {name: "the unit has it", event: made()}, all}},
		{name: "the new gNB brings a flow that is gone, and what it answers late is no answer to what it is told next", from: active, acts: []act{
			to("the UE is there, with a flow too many", 1, 2, 3), unitDone, changedTo("the Slice", gameForAll), rested, unitDone, commanded, modified(t), update1("the UE", Update{N1: complete(0)}),
			update1("the gNB has the flow", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}})}), unitDone,
		}},
		{name: "the new gNB brings a flow that is gone, and answers late: the UE hears what has changed after a while", from: active, acts: []act{
			to("the UE is there, with a flow too many", 1, 2, 3), unitDone, {name: "the gNB, 6 s later", event: late.event, later: 6 * time.Second},
			changedTo("the Slice", gameForAll), rested, unitDone, commanded,
		}},
		{name: "the new gNB brings a flow that is gone, and what it has answered comes again while the UE gives back another", from: active, acts: []act{
			to("the UE is there, with a flow too many", 1, 2, 3), unitDone, modified(t), update1("the UE gives voice back", Update{N1: modify(9, deleteRule(2), nil)}), modified(t),
			update1("the UE", Update{N1: complete(9)}), accessQuiet, unitDone,
		}},
		{name: "the new gNB brings a flow that is gone, has answered, and names no flows: it counts as an answer", from: active, acts: []act{
			to("the UE is there, with a flow too many", 1, 2, 3), unitDone, modified(t), changedTo("the Slice", gameForAll), rested, unitDone, commanded, modified(t), update1("the UE", Update{N1: complete(0)}), unitDone,
		}},
		{name: "the new gNB brings a flow that is gone, and answers neither: the UE's answer came through it", from: active, acts: []act{
			to("the UE is there, with a flow too many", 1, 2, 3), unitDone, changedTo("the Slice", gameForAll), rested, unitDone, commanded, modified(t), update1("the UE", Update{N1: complete(0)}), accessQuiet, unitDone,
		}},
		{name: "while a flow's end is out, and the UE has answered: the new gNB, which lacks the flow, has nothing to answer", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, update1("the UE", Update{N1: complete(0)}), to("the UE is there, without the flow", 1), unitDone, unitDone,
		}},
		{name: "while a flow's end is out, and the unit does not answer: nor has the old gNB to", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, update1("the UE", Update{N1: complete(0)}), to("the UE is there, without the flow", 1), unitMute, unitMute, unitMute, accessQuiet,
		}},
		{name: "while a modification is out: the new gNB has the flow", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, to("the UE is there, with the new flow", 1, 2, 3), unitDone, update1("the UE", Update{N1: complete(0)}), unitDone,
		}},
		{name: "while a modification is out: the new gNB lacks the flow", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, all, unitDone, update1("the UE", Update{N1: complete(0)}), unitDone, commanded,
		}},
		{name: "while a modification is out: the new gNB lacks two flows, the AMF does not take what it is told, and the answer to what was told before comes", from: active, acts: append(bothAnew,
			act{name: "5 s later", event: Due{Name: dueUntold}, later: untoldTime}, update1("the gNB has both", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{2, 3}})}), unitDone,
		)},
		{name: "likewise, and the AMF never does: the session is without", from: active, acts: append(bothAnew, act{name: "12 s later", event: Due{Name: dueAccess}, later: accessTime}, unitDone)},
		{name: "while a modification is out, which the UE refuses: the new gNB, which is told as well, goes back, too", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, all, unitDone, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), unitDone, commanded,
		}},
	})
}

// What access networks say by themselves (TS 38.413 8.2.4, 8.2.5, 8.12).
func TestAccessNetwork(t *testing.T) {
	notify := func(name string, m *n2.Notify) act {
		return update1(name, Update{N2Type: n2.InfoNotify, N2: makes(t, m)})
	}
	gone := update1("the gNB has released the session's resources", Update{N2Type: n2.InfoNotifyReleased, N2: makes(t, &n2.NotifyReleased{Cause: ngapcause.UserInactivity})})
	moved := func(m *n2.ModifyIndication) act {
		return update1("dual connectivity", Update{N2Type: n2.InfoModifyIndication, N2: makes(t, m)})
	}
	other := func(qfis ...uint8) n2.FlowTunnel {
		out := n2.FlowTunnel{Tunnel: otherGNB}
		for _, q := range qfis {
			out.Flows = append(out.Flows, n2.AssociatedFlow{QFI: q})
		}
		return out
	}
	all := moved(&n2.ModifyIndication{Downlink: other(1, 2)})
	usage := update1("what a second radio carried", Update{N2Type: n2.InfoSecondaryRATUsage, N2: makes(t, &n2.SecondaryRATUsage{})})
	tell(t, "access", []story{
		{name: "a flow is released", from: active, acts: []act{
			notify("voice", &n2.Notify{Released: []n2.FlowCause{{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}}}), unitDone, commanded, update1("the UE", Update{N1: complete(0)}),
		}},
		{name: "the default flow is released: it is idle", from: active, acts: []act{notify("the default flow", &n2.Notify{Released: []n2.FlowCause{{QFI: 1}}}), unitDone}},
		{name: "rates are not kept: nothing changes", from: active, acts: []act{notify("voice", &n2.Notify{Flows: []n2.FlowNotice{{QFI: 2}}})}},
		{name: "a flow is released of an idle session", from: idleUE, acts: []act{notify("voice", &n2.Notify{Released: []n2.FlowCause{{QFI: 2}}})}},
		{name: "all is released: it is idle", from: active, acts: []act{gone, unitDone}},
		{name: "all is released, twice", from: idleUE, acts: []act{gone}},
		{name: "all is released of a session that is being established", from: establishing, acts: []act{gone}},
		{name: "the tunnel moves to a second node", from: active, acts: []act{all, unitDone}},
		{name: "a flow is to have a tunnel of its own: it stays", from: active, acts: []act{moved(&n2.ModifyIndication{Downlink: other(1), Additional: []n2.FlowTunnel{{Tunnel: forward, Flows: []n2.AssociatedFlow{{QFI: 2}}}}}), unitDone}},
		{name: "the tunnel moves without the default flow", from: active, acts: []act{moved(&n2.ModifyIndication{Downlink: other(2)})}},
		{name: "the tunnel of an idle session moves", from: idleUE, acts: []act{all}},
		{name: "the tunnel moves, and the unit refuses", from: active, acts: []act{all, unitRefuses}},
		{name: "the tunnel moves, and the unit does not answer", from: active, acts: []act{all, unitMute}},
		{name: "usage of a second radio", from: active, acts: []act{usage}},
		{name: "an answer to a modification of before", from: active, acts: []act{modified(t), update1("and a refusal", Update{N2Type: n2.InfoModifyUnsuccessful, N2: makes(t, &n2.ModifyUnsuccessful{})})}},
	})
}

// TS 23.502 4.9.1.3, 4.9.1.4, TS 29.502 5.2.2.3.4.
func TestHandover(t *testing.T) {
	required := func(direct bool) act {
		return update1("the source asks", Update{Handover: HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: makes(t, &n2.HandoverRequired{DirectPath: direct}), AMF: record.AMF{InstanceID: "amf-2"}})
	}
	ready := func(to *record.Tunnel, qfis ...uint8) act {
		m := &n2.HandoverAcknowledge{Downlink: otherGNB, Forwarding: to}
		for _, q := range qfis {
			m.Flows = append(m.Flows, n2.ForwardedFlow{QFI: q, Forwarding: to != nil})
		}
		return update1("the target has it", Update{Handover: HandoverPrepared, N2Type: n2.InfoHandoverAcknowledge, N2: makes(t, m)})
	}
	plain := ready(nil, 1, 2)
	completed := update1("the UE has arrived", Update{Handover: HandoverCompleted, AMF: record.AMF{InstanceID: "amf-2", StatusURI: "http://amf-2/status"}})
	cancelled := update1("the source has the UE", Update{Handover: HandoverCancelled})
	refused := update1("the target has no room", Update{
		Handover: HandoverPrepared, N2Type: n2.InfoHandoverResourceAllocationUnsuccessful, N2: makes(t, &n2.HandoverResourceAllocationUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable}),
	})
	relays := act{name: "the unit has chosen", event: relaying()}
	late := act{name: "the time is over", event: Due{Name: dueHandover}, later: prepareTime}
	end := update1("the UE releases it", Update{N1: releaseRequest(9)})
	keepsGame := slices.Clip([]act{
		changedTo("the Slice", gameForAll), unitDone, commanded, required(false), modified(t, n2.FlowCause{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}),
		update1("the UE has the rule", Update{N1: complete(0)}), unitDone, ready(nil, 1, 2, 3), unitDone, completed, unitDone,
	})
	untold := act{name: "5 s later", event: Due{Name: dueUntold}, later: untoldTime}
	tell(t, "handover", []story{
		{name: "nothing is forwarded: packets wait in the unit from the target's answer to the UE's arrival", from: active, acts: []act{required(false), plain, unitDone, completed, unitDone, late, end}},
		{name: "the source reaches the target: packets go to the source until the UE has arrived, and an End Marker behind them", from: active, acts: []act{required(true), ready(&forward, 1, 2), completed, unitDone, late}},
		{name: "the unit stands between them", from: active, acts: []act{required(false), ready(&forward, 1, 2), relays, completed, unitDone, late, unitDone}},
		{name: "the unit refuses to stand between them: nothing is forwarded", from: active, acts: []act{required(false), ready(&forward, 1, 2), unitRefuses, completed, unitDone}},
		{name: "the unit does not answer: the handover goes on", from: active, acts: []act{required(false), plain, unitMute, completed, unitDone}},
		{name: "the unit does not answer whether it stands between them", from: active, acts: []act{required(false), ready(&forward, 1, 2), unitMute, completed, {name: "the unit has it", event: made()}}},
		{name: "the unit refuses when the UE has arrived", from: active, acts: []act{required(false), plain, unitDone, completed, unitRefuses, completed, unitDone}},
		{name: "the unit does not answer when the UE has arrived", from: active, acts: []act{required(false), plain, unitDone, completed, unitMute, {name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}, unitDone}},
		{name: "the unit has lost it when the UE has arrived: made anew, with the target's tunnel", from: active, acts: []act{required(false), plain, unitDone, completed, unitLost, {name: "the unit has it", event: made()}}},
		{name: "the target lacks a flow", from: active, acts: []act{required(false), ready(nil, 1), unitDone, completed, unitDone, late, commanded}},
		{name: "the target lacks the default flow", from: active, acts: []act{required(false), ready(nil, 2)}},
		{name: "the target has no room", from: active, acts: []act{required(false), refused, cancelled}},
		{name: "the target has no room, in a set-up's words, after it had", from: active, acts: []act{required(false), plain, unitDone, update1("the target", Update{
			Handover: HandoverPrepared, N2Type: n2.InfoSetupUnsuccessful, N2: makes(t, &n2.SetupUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable}),
		}), unitDone}},
		{name: "cancelled before the target has answered", from: active, acts: []act{required(false), cancelled}},
		{name: "cancelled: packets that waited go to the source", from: active, acts: []act{required(false), plain, unitDone, cancelled, unitDone}},
		{name: "cancelled: the unit stands between them no more", from: active, acts: []act{required(false), ready(&forward, 1, 2), relays, cancelled, unitDone}},
		{name: "cancelled twice, or of nothing", from: active, acts: []act{cancelled}},
		{name: "the source asks anew", from: active, acts: []act{required(false), plain, unitDone, required(true), unitDone, ready(&forward, 1, 2), completed}},
		{name: "the UE does not arrive: packets go to the source; it arrives after all", from: active, acts: []act{required(false), plain, unitDone, late, unitDone, completed, unitDone}},
		{name: "arrived, said twice", from: active, acts: []act{required(false), plain, unitDone, completed, unitDone, completed}},
		{name: "arrived, said again when forwarding is over", from: active, acts: []act{required(false), plain, unitDone, completed, unitDone, late, completed, required(false), completed}},
		{name: "arrived, said again of a UE that has gone elsewhere since", from: active, acts: []act{
			required(false), plain, unitDone, completed, unitDone, late, update1("Xn handover", Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{
				Downlink: record.Tunnel{TEID: 0x300, IPv4: netip.MustParseAddr("172.30.3.102")}, Flows: []uint8{1, 2},
			})}), unitDone, completed,
		}},
		{name: "arrived, said twice: the target hears again what it is to let go of", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, required(false), modified(t, n2.FlowCause{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}), update1("the UE has the rule", Update{N1: complete(0)}), unitDone,
			ready(nil, 1, 2, 3), unitDone, completed, unitDone, completed,
		}},
		{name: "the AMF does not take what the target is to let go of: it is told again, until it has", from: active, acts: append(keepsGame,
			untold, untold, act{name: "the AMF has taken it", event: AccessTold{QFIs: []byte{3}}})},
		{name: "likewise, and the target has let go of the session", from: active, acts: append(keepsGame, update1("AN release", Update{Connection: Deactivated}), unitDone, untold)},
		{name: "arrived, of no handover", from: active, acts: []act{completed, plain}},
		{name: "of a session without user plane", from: idleUE, acts: []act{required(false)}},
		{name: "a transfer that cannot be read, and one that is not a handover's", from: active, acts: []act{
			update1("garbage", Update{Handover: HandoverPreparing, N2Type: n2.InfoHandoverRequired, N2: []byte{}}), update1("none", Update{Handover: HandoverPreparing}),
		}},
		{name: "AN release meanwhile", from: active, acts: []act{required(false), plain, unitDone, update1("AN release", Update{Connection: Deactivated}), unitDone}},
		{name: "the Slice changes meanwhile: the UE hears when it has arrived", from: active, acts: []act{required(false), plain, unitDone, changedTo("the Slice", bigger), completed, unitDone, late}},
		{name: "a new holder goes on", from: active, acts: []act{required(false), ready(&forward, 1, 2), {name: "resumed", event: Resumed{}}, {name: "the unit has it", event: made()}}},
	})
}
