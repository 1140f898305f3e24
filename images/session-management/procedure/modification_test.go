package procedure

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

func complete(pti uint8) []byte { return []byte{0x2e, 1, pti, byte(n1.ModificationCompleteType)} }
func commandReject(pti uint8, cause n1.Cause) []byte {
	return []byte{0x2e, 1, pti, byte(n1.ModificationCommandRejectType), byte(cause)}
}

// modify is a UE's request with rules and flows as octets.
func modify(pti uint8, rules, flows []byte, more ...byte) []byte {
	b := []byte{0x2e, 1, pti, byte(n1.ModificationRequestType)}
	if rules != nil {
		b = append(binary.BigEndian.AppendUint16(append(b, 0x7a), uint16(len(rules))), rules...)
	}
	if flows != nil {
		b = append(binary.BigEndian.AppendUint16(append(b, 0x79), uint16(len(flows))), flows...)
	}
	return append(b, more...)
}

// Octets of rules and flows that UEs ask for.
var (
	// A rule for 198.51.100.7, both ways, to flow 5.
	gameRule   = []byte{0, 0, 14, 0x21, 0x31, 9, 0x10, 198, 51, 100, 7, 255, 255, 255, 255, 20, 5}
	otherRule  = []byte{0, 0, 14, 0x21, 0x31, 9, 0x10, 198, 51, 100, 8, 255, 255, 255, 255, 20, 5}
	ownRule    = []byte{0, 0, 17, 0x21, 0x31, 12, 0x10, 198, 51, 100, 7, 255, 255, 255, 255, 0x50, 0, 80, 30, 5} // and port 80
	sipRule    = []byte{0, 0, 19, 0x21, 0x31, 14, 0x10, 192, 0, 2, 7, 255, 255, 255, 255, 0x30, 17, 0x50, 0x13, 0xc4, 30, 5}
	gameFlow   = []byte{5, 0x20, 0x41, 1, 1, 7}
	deleteRule = func(id byte) []byte { return []byte{id, 0, 1, 0x40} }
	deleteFlow = func(qfi byte) []byte { return []byte{qfi, 0x40, 0} }
)

func bigger(list []configuration.Slice) { list[0].DataNetworks[0].AMBR.Downlink = 300e6 }

func gameForAll(list []configuration.Slice) { list[0].DataNetworks[0].Flows[1].OnRequest = false }

var (
	commanded   = act{name: "the AMF has it", event: Transferred{Outcome: Done}}
	silent      = act{name: "16 s later", event: Due{Name: dueCommand}, later: commandTime}
	accessQuiet = act{name: "12 s later", event: Due{Name: dueAccess}, later: accessTime}
)

func changedTo(name string, f func([]configuration.Slice)) act {
	return act{name: name, event: SettingsChanged{}, first: f}
}

func modified(t *testing.T, failed ...n2.FlowCause) act {
	return update1("the gNB has it", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Failed: failed})})
}

// TS 23.502 4.3.3.2 step 1b to 1e, TS 24.501 6.3.2.
func TestModificationByTheNetwork(t *testing.T) {
	done := update1("the UE has it", Update{N1: complete(0)})
	was := newTeller(t).slices[0].DataNetworks[0]
	asItWas := func(list []configuration.Slice) {
		list[0].DataNetworks[0].AMBR, list[0].DataNetworks[0].FiveQI, list[0].DataNetworks[0].Flows = was.AMBR, was.FiveQI, was.Flows
	}
	otherwise := func(list []configuration.Slice) {
		bigger(list)
		list[0].DataNetworks[0].FiveQI = 8
		f := &list[0].DataNetworks[0].Flows[0]
		f.MBR.Downlink, f.Filters[0].Protocol = 256e3, 6
	}
	unitAway := act{name: "the unit is not asked", event: Unit{Outcome: NotSent}}
	unitBack := act{name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}
	gnbHas := modified(t)
	taken := func(qfis ...byte) act { return act{name: "the AMF has taken it", event: AccessTold{QFIs: qfis}} }
	comes := update1("the AMF wants it up", Update{Connection: Activating})
	arrives := act{name: "the gNB has a tunnel", event: newTeller(t).ready()}
	noUE := update1("AN release", Update{Connection: Deactivated})
	// A command that a UE, which is away, has not answered five times: it may have heard of it.
	mayHave := func(f func([]configuration.Slice), more ...act) []act {
		told := append([]act{changedTo("the Slice", f)}, more...)
		return append(told, commanded, gnbHas, noUE, unitDone, silent, silent, silent, silent, silent, unitDone)
	}
	mayHaveOther := mayHave(otherwise)[:10] // the unit has nothing to take back
	rested := act{name: "5 s later", event: Due{Name: dueBehind}, later: behindTime}
	// Likewise one that is connected; the gNB goes back.
	unheard := func(f func([]configuration.Slice), more ...act) []act {
		told := append([]act{changedTo("the Slice", f)}, more...)
		return append(told, commanded, gnbHas, silent, silent, silent, silent, silent, unitDone, commanded)
	}
	unheardOther := func() []act { return slices.Delete(unheard(bigger), 8, 9) } // the unit has nothing to take back
	commandLate := update1("the UE's answer comes late", Update{N1: complete(0)})
	flows := func(list []configuration.Slice) {
		list[0].DataNetworks[0].Flows = newTeller(t).slices[0].DataNetworks[0].Flows
	}
	tell(t, "modification", []story{
		{name: "another AMBR", from: active, acts: []act{changedTo("the Slice", bigger), commanded, gnbHas, done, unitDone}},
		{name: "a flow is added: its uplink first, its downlink when all have it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, done, unitDone,
		}},
		{name: "a flow is added, and gone again before anybody has heard", from: active, acts: []act{
			changedTo("the Slice", gameForAll), {name: "the unit knows", event: Unit{Outcome: Done}, first: noFlows},
		}},
		{name: "a new holder says again what may have been said, whatever the Slice has now", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, {name: "resumed", event: Resumed{}, first: noFlows}, commanded,
		}},
		{name: "the gNB answers something of before", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, update1("the gNB", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{2}})}),
		}},
		{name: "the UE answers before the gNB", from: active, acts: []act{changedTo("the Slice", gameForAll), unitDone, commanded, done, gnbHas, unitDone}},
		{name: "the gNB says nothing: the UE's answer came through it", from: active, acts: []act{changedTo("the Slice", gameForAll), unitDone, commanded, done, accessQuiet}},
		{name: "neither gNB nor UE has heard: both are told again", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, {name: "the AMF does not answer", event: Transferred{Outcome: Unknown}}, accessQuiet, silent, gnbHas, done,
		}},
		{name: "a flow goes: the unit takes its uplink until the UE has heard", from: active, acts: []act{changedTo("the Slice", noFlows), commanded, gnbHas, done, unitDone}},
		{name: "a flow goes, and is there again before the UE has answered: it is told so then", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, changedTo("the Slice, as it was", flows), gnbHas, done, unitDone, rested, unitDone, commanded,
		}},
		{name: "a new holder says again what the UE may have heard, and does not reach the AMF: its answer is awaited all the same", from: active, acts: []act{
			changedTo("the Slice", noFlows), {name: "resumed", event: Resumed{}}, {name: "it is not sent", event: Transferred{Outcome: NotSent}}, gnbHas, done, unitDone,
		}},
		{name: "a flow's filters are others: the gNB hears nothing", from: active, acts: []act{changedTo("the Slice", func(list []configuration.Slice) {
			list[0].DataNetworks[0].Flows[0].Filters[0].Protocol = 6
		}), commanded, done, unitDone}},
		{name: "a flow's rates and 5QI are others", from: active, acts: []act{changedTo("the Slice", func(list []configuration.Slice) {
			f := &list[0].DataNetworks[0].Flows[0]
			f.FiveQI, f.MBR.Downlink = 2, 256e3
		}), commanded, gnbHas, done, unitDone}},
		{name: "the default flow's 5QI is another", from: active, acts: []act{changedTo("the Slice", func(list []configuration.Slice) {
			list[0].DataNetworks[0].FiveQI = 8
		}), commanded, gnbHas, done}},
		{name: "another ARP: the UE hears nothing", from: active, acts: []act{changedTo("the Slice", func(list []configuration.Slice) {
			list[0].DataNetworks[0].ARP.Priority = 7
		}), commanded, gnbHas}},
		{name: "other DNS servers and another MTU: nothing ends, and nobody hears", from: active, acts: []act{changedTo("the Slice", func(list []configuration.Slice) {
			list[0].DataNetworks[0].DNS, list[0].DataNetworks[0].MTU = nil, 1300
		})}},
		{name: "what the subscription decides stays", from: func(tr *teller) State {
			st := tr.lead(State{}, create(request(5, 0x91)), Subscription{AMBR: record.AMBR{Uplink: 1e6, Downlink: 1e6}, FiveQI: 6}, made(), Transferred{Outcome: Done})
			return tr.lead(st, tr.ready(), Unit{Outcome: Done})
		}, acts: []act{changedTo("the Slice", bigger)}},
		{name: "the gNB refuses the new flow: the UE is told to forget it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, modified(t, n2.FlowCause{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}), done, unitDone, rested, commanded, done,
			changedTo("the Slice, as it was", gameForAll),
		}},
		{name: "the gNB refuses all of it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded,
			update1("the gNB", Update{N2Type: n2.InfoModifyUnsuccessful, N2: makes(t, &n2.ModifyUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable})}), unitDone,
		}},
		{name: "the UE refuses: back to what was (TS 24.501 6.3.2.4)", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), commanded,
		}},
		{name: "the UE refuses, and the AMF does not answer: it is asked again", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), unitDone,
			{name: "no answer", event: Transferred{Outcome: Unknown}}, commanded,
		}},
		{name: "the UE refuses a flow's end and another AMBR", from: active, acts: []act{
			changedTo("the Slice", func(list []configuration.Slice) { noFlows(list); bigger(list) }), commanded, gnbHas,
			update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), commanded,
		}},
		{name: "the UE refuses a flow's end, and the gNB does not take it back: the UE is told again", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, gnbHas, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), commanded,
			modified(t, n2.FlowCause{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}), unitDone, rested, commanded, done,
		}},
		{name: "the UE refuses a flow's end, and the gNB says late, while it is told of another, that it does not take it back: the UE is told again", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, gnbHas, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), commanded,
			{name: "the Slice, 5 s later", event: SettingsChanged{}, first: func(list []configuration.Slice) { flows(list); gameForAll(list) }, later: behindTime}, unitDone, commanded,
			modified(t, n2.FlowCause{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}), unitDone, taken(2, 3), gnbHas, done, unitDone, rested, commanded, done,
		}},
		{name: "the UE refuses a flow, and the gNB says late, while it is told of another AMBR and flow, that it has taken it: it need not keep it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), unitDone, commanded,
			{name: "the Slice, 5 s later", event: SettingsChanged{}, first: func(list []configuration.Slice) { noFlows(list); bigger(list) }, later: behindTime}, commanded,
			update1("the gNB has the flow", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}})}), gnbHas, done, unitDone,
		}},
		{name: "the UE refuses a flow's end and a new one, and the gNB to which it went answers each time: that it has the new one, which it need not keep, then that it does not take the other back", from: active, acts: []act{
			changedTo("the Slice", func(list []configuration.Slice) {
				gameForAll(list)
				list[0].DataNetworks[0].Flows = list[0].DataNetworks[0].Flows[1:]
			}), unitDone, commanded,
			update1("the UE is at another gNB", Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}})}), unitDone,
			update1("the gNB that was told first has no room", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Failed: []n2.FlowCause{{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}}})}),
			update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), unitDone, commanded,
			update1("the gNB has the flow", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}})}),
			update1("the gNB does not take it back", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Failed: []n2.FlowCause{{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}}})}), unitDone,
			update1("the gNB has let go", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{})}), rested,
		}},
		{name: "a flow that the gNB of before had no room for goes, with another AMBR, and the one to which the UE has come says late that it has taken it: it need not keep it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded,
			update1("the UE is at another gNB", Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}})}), unitDone, taken(3),
			modified(t, n2.FlowCause{QFI: 3, Cause: ngapcause.RadioResourcesNotAvailable}), done, unitDone,
			{name: "the Slice, 5 s later", event: SettingsChanged{}, first: func(list []configuration.Slice) { flows(list); bigger(list) }, later: behindTime}, commanded,
			update1("the gNB has the flow", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}})}), taken(3), gnbHas, done, unitDone,
		}},
		{name: "a record of before, of a flow that its unit has not taken back, and that nobody is told of: made anew without it, and told", from: func(tr *teller) State {
			tr.configure(gameForAll)
			st := tr.lead(active(tr), SettingsChanged{})
			st.Record.Wanted, st.Record.Procedure, st.Record.Told, st.Record.Behind = nil, nil, nil, false
			for n := range st.Record.Flows {
				st.Record.Flows[n].Coming = st.Record.Flows[n].Name == "game"
			}
			return st
		}, acts: []act{
			changedTo("the Slice, as it was", gameForAll), {name: "the unit has it", event: made()}, unitDone, commanded,
		}},
		{name: "a flow that the gNB has lost is told anew, and goes meanwhile: the UE is told to forget it", from: active, acts: []act{
			update1("the gNB", Update{N2Type: n2.InfoNotify, N2: makes(t, &n2.Notify{Released: []n2.FlowCause{{QFI: 2, Cause: ngapcause.RadioResourcesNotAvailable}}})}),
			{name: "the unit knows", event: Unit{Outcome: Done}, first: func(list []configuration.Slice) {
				list[0].DataNetworks[0].Flows[0].Filters[0].Protocol = 6
				bigger(list)
			}},
			{name: "the unit knows", event: Unit{Outcome: Done}, first: func(list []configuration.Slice) { noFlows(list); bigger(list) }}, commanded, gnbHas, done, unitDone, rested, commanded, done,
		}},
		{name: "the UE knows no such session", from: active, acts: []act{
			changedTo("the Slice", bigger), commanded, update1("the UE", Update{N1: commandReject(0, n1.CauseInvalidPDUSessionIdentity)}),
		}},
		{name: "the UE does not answer: T3591 five times, then back", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, silent, silent, silent, silent, silent, unitDone, commanded,
		}},
		{name: "the UE does not answer, and shows itself, by an answer that comes late: it is told again, and nothing before", from: active, acts: append(unheard(gameForAll, unitDone),
			rested, commandLate, unitDone, commanded, gnbHas, done, unitDone)},
		{name: "the UE does not answer, and is at another gNB: it is told again", from: active, acts: append(unheardOther(),
			update1("the UE is at another gNB", Update{ToBeSwitched: true, N2Type: n2.InfoPathSwitchRequest, N2: makes(t, &n2.PathSwitchRequest{Downlink: otherGNB, Flows: []uint8{1, 2}})}),
			unitDone, rested, commanded)},
		{name: "the UE does not answer, goes idle and comes back: it is told again", from: active, acts: append(unheardOther(), noUE, unitDone, comes, arrives, unitDone, rested, commanded)},
		{name: "the UE does not answer, and the AMF says where it is: it is told again", from: active, acts: append(unheardOther(), update1("the AMF", Update{AMF: record.AMF{TAC: 7}}), rested, commanded)},
		{name: "the UE does not answer, and the Slice changes: it is told what holds then", from: active, acts: append(unheardOther(), changedTo("the Slice, as it was", func(list []configuration.Slice) {
			list[0].DataNetworks[0].AMBR = newTeller(t).slices[0].DataNetworks[0].AMBR
		}), rested, commanded)},
		{name: "neither gNB nor UE answers to a flow's end: the gNB hears again, and the UE when it shows itself", from: active, acts: []act{
			changedTo("the Slice", noFlows), commanded, silent, silent, silent, silent, silent, unitDone, commanded, commandLate, rested, commanded, done,
		}},
		{name: "the UE does not answer to a flow's end, which is there again when it shows itself: it is told anew", from: active, acts: append(unheard(noFlows),
			changedTo("the Slice, as it was", flows), rested, unitDone, commanded, gnbHas, done, unitDone)},
		{name: "the UE answers what nobody asked, or twice", from: active, acts: []act{done, update1("complete, PTI 7", Update{N1: complete(7)}), update1("reject, PTI 7", Update{N1: commandReject(7, 111)})}},
		{name: "the UE is idle: it hears when its user plane is up", from: idleUE, acts: []act{
			changedTo("the Slice", bigger), update1("the AMF wants it up", Update{Connection: Activating}), {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone, commanded,
		}},
		{name: "the UE is idle, as the AMF knows: it hears later", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, {name: "the AMF does not wake it", event: Transferred{Outcome: Done, Skipped: true, Cause: "N1_MSG_NOT_TRANSFERRED"}}, unitDone,
		}},
		{name: "the UE comes just then, as the AMF knows, which asks for its user plane: it hears in a while", from: active, acts: []act{
			changedTo("the Slice", bigger), {name: "the AMF has not told it", event: Transferred{Outcome: Done, Skipped: true, Cause: "N1_MSG_NOT_TRANSFERRED"}},
			update1("the AMF wants it up", Update{Connection: Activating}), {name: "the gNB has a tunnel", event: newTeller(t).ready()}, rested, commanded, gnbHas, done, unitDone,
		}},
		{name: "the session is not established yet: it hears when it is", from: establishing, acts: []act{
			changedTo("the Slice", bigger), {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "more changes while the UE has not answered: one after the other", from: active, acts: []act{
			changedTo("the Slice", bigger), commanded, changedTo("the Slice, again", gameForAll), gnbHas, done, unitDone, rested, unitDone,
		}},
		{name: "the UE asks for its release meanwhile: that goes on (TS 24.501 6.3.2.5)", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, update1("the UE", Update{N1: releaseRequest(9)}), unitDone,
		}},
		{name: "the UE asks for a modification meanwhile: the network's goes on (TS 24.501 6.3.2.5)", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, update1("the UE", Update{N1: modify(9, deleteRule(2), nil)}),
		}},
		{name: "AN release meanwhile: only the UE has to answer", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, update1("AN release", Update{Connection: Deactivated}), unitDone, silent, done, unitDone,
		}},
		{name: "AN release and Service Request meanwhile: the gNB has the new flow by its set-up", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, noUE, unitDone,
			comes, {name: "the gNB has a tunnel", event: newTeller(t).readyWith(1, 2, 3)}, unitDone, done, unitDone,
		}},
		{name: "the gNB loses the tunnel meanwhile, and says late what it had set up before: it is told again", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, {name: "the unit hears an Error Indication", event: Report{From: 4, CPSEID: record.SEID(1, 1), Lost: []record.Tunnel{gnb}}}, unitDone,
			arrives, unitDone, taken(3), done, gnbHas, unitDone,
		}},
		{name: "likewise, and the AMF was not reached with it: what the gNB says then, and names no flow, is not to that", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, {name: "the unit hears an Error Indication", event: Report{From: 4, CPSEID: record.SEID(1, 1), Lost: []record.Tunnel{gnb}}}, unitDone,
			arrives, unitDone, done, gnbHas, {name: "5 s later", event: Due{Name: dueUntold}, later: untoldTime}, taken(3), gnbHas, unitDone,
		}},
		{name: "AN release meanwhile, and the UE does not come: it hears when it does", from: active, acts: []act{
			changedTo("the Slice", bigger), commanded, update1("AN release", Update{Connection: Deactivated}), unitDone, silent, silent, silent, silent, silent,
			update1("the AMF wants it up", Update{Connection: Activating}), {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "AN release meanwhile, and the UE may have heard of a flow that is gone when it comes: it is told to forget it", from: active, acts: append(mayHave(gameForAll, unitDone),
			changedTo("the Slice has it no more", func(list []configuration.Slice) { list[0].DataNetworks[0].Flows = list[0].DataNetworks[0].Flows[:1] }),
			comes, arrives, unitDone, rested, commanded, done)},
		{name: "AN release meanwhile, and the UE may have heard of a flow that is still there when it comes: it is told anew", from: active, acts: append(mayHave(gameForAll, unitDone),
			comes, arrives, unitDone, rested, unitDone, commanded, gnbHas, done, unitDone)},
		{name: "AN release meanwhile, and the UE may have heard of a flow's end that is there again when it comes: it is told anew", from: active, acts: append(mayHave(noFlows),
			changedTo("the Slice, as it was", flows), comes, arrives, unitDone, rested, unitDone, commanded, gnbHas, done, unitDone)},
		{name: "AN release meanwhile, and the UE may have heard of a flow's end: it is told again", from: active, acts: append(mayHave(noFlows),
			comes, arrives, unitDone, rested, commanded, done)},
		{name: "AN release meanwhile, and the UE may have heard of another AMBR, of rates and filters that are as they were when it comes: it is told so", from: active, acts: append(mayHaveOther[:10:10],
			changedTo("the Slice, as it was", asItWas), comes, arrives, unitDone, rested, commanded, done)},
		{name: "AN release meanwhile, and the UE may have heard of another AMBR, of rates and filters, and does not take them when it comes: as it was", from: active, acts: append(mayHaveOther[:10:10],
			changedTo("the Slice, as it was", asItWas), comes, arrives, unitDone, rested, commanded, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}))},
		{name: "another AMBR, rates and filters, and all as it was before the UE has answered: it is told so then", from: active, acts: []act{
			changedTo("the Slice", otherwise), commanded, changedTo("the Slice, as it was", asItWas), gnbHas, done, unitDone, rested, commanded, gnbHas, done, unitDone,
		}},
		{name: "the unit refuses: nobody hears of it", from: active, acts: []act{changedTo("the Slice", gameForAll), unitRefuses}},
		{name: "the unit does not answer: it is made anew there", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitMute, {name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}, {name: "the unit has it", event: made()},
		}},
		{name: "the unit does not answer, and is another maker's: it is deleted there, and made anew", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitMute, {name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}, unitRefuses, unitDone, {name: "the unit has it", event: made()},
		}},
		{name: "the unit has lost it", from: active, acts: []act{changedTo("the Slice", gameForAll), unitLost, {name: "the unit has it", event: made()}}},
		{name: "the unit refuses when all have it: the UE asks for another session", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, done, unitRefuses,
		}},
		{name: "the unit is away when all have it, and refuses when it is back: the UE asks for another session", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, done, unitAway, unitBack, unitRefuses,
		}},
		{name: "the unit is away when all have it, and refuses with what else has changed: the UE asks for another session", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, done, unitAway, {name: "5 s later", event: Due{Name: dueBehind}, later: behindTime},
			changedTo("the Slice has another AMBR", bigger), unitRefuses,
		}},
		{name: "the unit is away when an AMBR is to be another, and refuses when it is back: the UE asks for another session", from: active, acts: []act{
			changedTo("the Slice", bigger), commanded, gnbHas, done, unitAway, unitBack, unitRefuses,
		}},
		{name: "the unit is away when the UE refuses, and refuses too when it is back: it is made anew there", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded, gnbHas, update1("the UE", Update{N1: commandReject(0, n1.CauseSemanticErrorInQoS)}), unitAway, commanded,
			unitBack, unitRefuses, {name: "a second later", event: Due{Name: dueUnit}, later: time.Second}, {name: "the unit has it", event: made()},
		}},
		{name: "a new holder does not know what the unit has: it is made anew there", from: active, acts: []act{
			changedTo("the Slice", gameForAll), {name: "resumed", event: Resumed{}}, unitRefuses, unitDone, {name: "resumed", event: Resumed{}}, {name: "the unit has it", event: made()},
		}},
		{name: "the gNB has another tunnel with it", from: active, acts: []act{
			changedTo("the Slice", gameForAll), unitDone, commanded,
			update1("the gNB", Update{N2Type: n2.InfoModifyResponse, N2: makes(t, &n2.ModifyResponse{Flows: []uint8{3}, Downlink: &otherGNB, Uplink: &relay})}), unitDone, done,
		}},
	})
}

// TS 23.502 4.3.3.2 step 1a, TS 24.501 6.4.2.
func TestModificationByTheUE(t *testing.T) {
	asks := func(name string, b []byte) act { return update1(name, Update{N1: b}) }
	subscribed := func(tr *teller) State {
		st := tr.lead(State{}, create(request(5, 0x91)), Subscription{Flows: []string{"game"}}, made(), Transferred{Outcome: Done})
		return tr.lead(st, tr.ready(), Unit{Outcome: Done})
	}
	givesBack := []act{asks("the UE gives the game back", modify(9, deleteRule(3), deleteFlow(3))), modified(t), asks("the UE has it", complete(9)), unitDone}
	tell(t, "modification-by-ue", []story{
		{name: "it asks for DNS servers again", from: active, acts: []act{
			asks("PTI 9", modify(9, nil, nil, 0x7b, 0, 4, 0x80, 0, 0x0d, 0)), asks("the UE has it", complete(9)),
		}},
		{name: "it asks for always-on, which is granted", with: alwaysOn(configuration.AlwaysOnRequested), from: active, acts: []act{asks("PTI 9", modify(9, nil, nil, 0xb1))}},
		{name: "it asks for always-on, which is not", from: active, acts: []act{asks("PTI 9", modify(9, nil, nil, 0xb1))}},
		{name: "it gives a flow back, and gets it again", from: subscribed, acts: append(givesBack,
			changedTo("the Slice is as it was: it stays without", func([]configuration.Slice) {}),
			asks("the UE wants it again", modify(10, gameRule, gameFlow)), unitDone, modified(t), asks("the UE has it", complete(10)), unitDone)},
		{name: "the gNB refuses the flow: the UE is told to forget it", from: subscribed, acts: append(givesBack[:len(givesBack):len(givesBack)],
			asks("the UE wants it again", modify(10, gameRule, gameFlow)), unitDone, modified(t, n2.FlowCause{QFI: 3}), asks("the UE has it", complete(10)), unitDone)},
		{name: "it asks again before it has the command: alike (T3581)", from: subscribed, acts: []act{
			asks("PTI 9", modify(9, deleteRule(3), nil)), asks("PTI 9 again", modify(9, deleteRule(3), nil)), asks("the UE has it", complete(9)), modified(t), unitDone,
			asks("PTI 9 once more, on its way for long", modify(9, deleteRule(3), nil)), asks("and its answer", complete(9)),
		}},
		{name: "it answers another transaction", from: subscribed, acts: []act{asks("PTI 9", modify(9, deleteRule(3), nil)), asks("complete, PTI 3", complete(3)), asks("status 47", status5GSM(9, n1.CausePTIMismatch)), commanded}},
		{name: "a rule that is not there is deleted", from: active, acts: []act{asks("PTI 9", modify(9, deleteRule(7), nil))}},
		{name: "refused: the default rule goes", from: active, acts: []act{asks("PTI 9", modify(9, deleteRule(1), nil)), asks("again: alike", modify(9, deleteRule(1), nil))}},
		{name: "refused: the default flow goes", from: active, acts: []act{asks("PTI 9", modify(9, nil, deleteFlow(1)))}},
		{name: "refused: another default rule", from: active, acts: []act{asks("PTI 9", modify(9, []byte{0, 0, 14, 0x31, 0x31, 9, 0x10, 198, 51, 100, 7, 255, 255, 255, 255, 20, 5}, gameFlow))}},
		{name: "refused: a rule that is not there changes", from: active, acts: []act{asks("PTI 9", modify(9, []byte{7, 0, 3, 0xc0, 9, 2}, nil))}},
		{name: "refused: another precedence of the Slice's rule", from: active, acts: []act{asks("PTI 9", modify(9, []byte{2, 0, 3, 0xc0, 9, 2}, nil))}},
		{name: "refused: more than the flow has", from: active, acts: []act{asks("PTI 9", modify(9, nil, []byte{2, 0x60, 0x41, 4, 3, 6, 0, 99}))}},
		{name: "refused: a flow that is not there changes", from: active, acts: []act{asks("PTI 9", modify(9, nil, []byte{9, 0x60, 0x41, 1, 1, 9}))}},
		{name: "refused: a flow that is not subscribed", from: active, acts: []act{asks("PTI 9", modify(9, gameRule, gameFlow))}},
		{name: "refused: a flow that it has", from: subscribed, acts: []act{asks("PTI 9", modify(9, gameRule, gameFlow))}},
		{name: "refused: filters of its own", from: subscribed, acts: []act{asks("PTI 9", modify(9, otherRule, gameFlow))}},
		{name: "filters of its own, inside a flow of the Slice's", from: subscribed, acts: []act{
			asks("PTI 9", modify(9, ownRule, []byte{5, 0x20, 0x41, 1, 1, 7})), unitDone, modified(t), asks("the UE has it", complete(9)), unitDone,
			asks("the UE gives it back", modify(10, deleteRule(4), deleteFlow(4))), modified(t), asks("the UE has it", complete(10)), unitDone,
		}},
		{name: "filters of its own, and the UE rejects the command: they are forgotten", from: subscribed, acts: []act{
			asks("PTI 9", modify(9, ownRule, []byte{5, 0x20, 0x41, 1, 1, 7})), unitDone, modified(t), asks("the UE", commandReject(9, n1.CauseSemanticErrorInQoS)), unitDone, commanded,
		}},
		{name: "refused: a guaranteed rate a second time", from: active, acts: []act{asks("PTI 9", modify(9, sipRule, nil))}},
		{name: "refused: a 5QI that there is not", from: active, acts: []act{asks("PTI 9", modify(9, gameRule, []byte{5, 0x20, 0x41, 1, 1, 82}))}},
		{name: "refused: a flow without a rule", from: active, acts: []act{asks("PTI 9", modify(9, nil, gameFlow))}},
		{name: "the unit refuses", from: subscribed, with: nil, acts: append(givesBack[:len(givesBack):len(givesBack)], asks("the UE wants it again", modify(10, gameRule, gameFlow)), unitRefuses)},
		{name: "it is being established", from: establishing, acts: []act{asks("PTI 9", modify(9, deleteRule(2), nil))}},
		{name: "a new holder cannot answer the AMF: the command is transferred", from: subscribed, acts: append(givesBack[:len(givesBack):len(givesBack)],
			asks("the UE wants it again", modify(10, gameRule, gameFlow)), act{name: "resumed", event: Resumed{}}, act{name: "the unit has it", event: made()}, commanded)},
	})
}
