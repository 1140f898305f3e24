package procedure

import (
	"testing"

	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/wmnsk/go-pfcp/ie"
)

var (
	unitDone    = act{name: "the unit knows", event: Unit{Outcome: Done}}
	unitRefuses = act{name: "the unit refuses", event: Unit{Outcome: Refused, Cause: ie.CauseRequestRejected}}
	unitMute    = act{name: "the unit does not answer", event: Unit{Outcome: Unknown}}
	unitLost    = act{name: "the unit knows no such session", event: Unit{Outcome: Refused, Cause: ie.CauseSessionContextNotFound}}
)

func update1(name string, what Update) act {
	what.From = 7
	return act{name: name, event: what}
}

// User plane up, down and suspended (TS 23.502 4.2.3.2, 4.2.6), and what the unit says to it.
func TestConnection(t *testing.T) {
	down := update1("AN release", Update{Connection: Deactivated})
	up := update1("the AMF wants it up", Update{Connection: Activating})
	ready := act{name: "the gNB has a tunnel", event: newTeller(t).ready()}
	tell(t, "connection", []story{
		{name: "down and up", from: active, acts: []act{down, unitDone, up, ready, unitDone}},
		{name: "the unit refuses to buffer: it stays as it was", from: active, acts: []act{down, unitRefuses}},
		{name: "the unit does not answer: it is told again", from: active, acts: []act{
			down, unitMute, {name: "5 s later", event: Due{Name: dueUnit}, later: unitRest}, unitDone,
		}},
		{name: "the unit does not answer, and the next change tells it both", from: active, acts: []act{down, unitMute, up, ready, unitDone}},
		{name: "the unit has lost it: it is made anew", from: active, acts: []act{down, unitLost, {name: "the unit has it", event: made()}}},
		{name: "down before the gNB's tunnel was heard: the UE may have the accept, and the session stays", from: establishing, acts: []act{
			down, unitDone, {name: "packets", event: Report{From: 9, Downlink: true}}, {name: "the AMF pages", event: Transferred{Outcome: Done}}, up, ready, unitDone,
		}},
		{name: "down before the gNB's tunnel was heard, and the UE asks again: it has none", from: establishing, acts: []act{
			down, unitDone, {name: "the UE asks again", event: create(request(5, 0x91))}, {name: "the unit has deleted it", event: Unit{Outcome: Done}},
		}},
		{name: "down twice", from: idleUE, acts: []act{down}},
		{name: "the gNB has no room: it is idle again", from: idleUE, acts: []act{
			up, update1("the gNB refuses", Update{N2Type: n2.InfoSetupUnsuccessful, N2: makes(t, &n2.SetupUnsuccessful{Cause: ngapcause.RadioResourcesNotAvailable})}),
		}},
		{name: "the gNB has no room for the default flow: it is idle again", from: idleUE, acts: []act{
			up, update1("the gNB", Update{N2Type: n2.InfoSetupResponse, N2: makes(t, &n2.SetupResponse{
				Downlink: n2.FlowTunnel{Tunnel: gnb, Flows: []n2.AssociatedFlow{{QFI: 2}}}, Failed: []n2.FlowCause{{QFI: 1}},
			})}),
		}},
		{name: "the gNB has no room for a flow: the UE is told to forget it (TS 23.502 4.3.2.2.1 step 15)", from: establishing, acts: []act{
			update1("the gNB", Update{N2Type: n2.InfoSetupResponse, N2: makes(t, &n2.SetupResponse{
				Downlink: n2.FlowTunnel{Tunnel: gnb, Flows: []n2.AssociatedFlow{{QFI: 1}}}, Failed: []n2.FlowCause{{QFI: 2}},
			})}), unitDone,
			{name: "the AMF has the command", event: Transferred{Outcome: Done}},
			update1("the UE has forgotten it", Update{N1: []byte{0x2e, 1, 0, 0xcc}}),
			down, unitDone, up,
		}},
		{name: "the UE comes by another gNB while it is up, and that one says nothing: packets wait, and go no more where it was", from: active, acts: []act{
			up, {name: "12 s later", event: Due{Name: dueAccess}, later: accessTime}, unitDone, {name: "packets", event: Report{From: 9, Downlink: true}},
		}},
		{name: "the gNB says nothing: packets are reported again", from: idleUE, acts: []act{up, {name: "12 s later", event: Due{Name: dueAccess}, later: accessTime}, unitDone}},
		{name: "packets are to be reported again, and the unit refuses: it is idle all the same", from: idleUE, acts: []act{{name: "the rest is over", event: Due{Name: duePaging}}, unitRefuses}},
		{name: "up while it is released", from: releasing, acts: []act{up, down, ready}},
		{name: "suspended, and up again (TS 23.502 4.8)", from: active, acts: []act{update1("suspended", Update{Connection: Suspended}), unitDone, up}},
		{name: "another AMF has the UE", from: active, acts: []act{
			update1("it says where it wants to hear", Update{AMF: record.AMF{InstanceID: "amf-2", StatusURI: "http://amf-2/status", TAC: 2}}),
			{name: "the session ends", event: End{From: 8, Cause: n1.CauseRegularDeactivation}}, unitDone,
			{name: "the AMF does not reach the UE", event: Transferred{Outcome: Refused}},
		}},
		{name: "another AMF that says no URI is not told at the old one's", from: active, acts: []act{
			update1("it asks", Update{AMF: record.AMF{InstanceID: "amf-2"}}),
			{name: "the session ends", event: End{From: 8, Cause: n1.CauseRegularDeactivation}}, unitDone, {name: "the AMF does not reach the UE", event: Transferred{Outcome: Refused}},
		}},
		{name: "another access", from: active, acts: []act{update1("Wi-Fi", Update{NonThreeGPP: true})}},
		{name: "transfers that cannot be read, or are not an SMF's", from: active, acts: []act{
			update1("garbage", Update{N2Type: n2.InfoSetupResponse, N2: []byte{1}}), update1("no type", Update{N2: []byte{1}}),
			update1("a path switch that cannot be read", Update{N2Type: n2.InfoPathSwitchRequest, N2: []byte{1}}),
			update1("a command", Update{N2Type: n2.InfoReleaseCommand, N2: makes(t, &n2.ReleaseCommand{Cause: ngapcause.NormalRelease})}),
		}},
		{name: "the Slice's filters are others while the unit was away: what it is told anew has them, and the UE hears", from: idleUE, acts: []act{
			{name: "the unit restarts", event: UnitRestarted{}, first: func(list []configuration.Slice) {
				list[0].DataNetworks[0].Flows[0].Filters[0].Protocol = 6
			}}, {name: "the unit has it", event: made()}, up, ready, unitDone, {name: "the AMF has the command", event: Transferred{Outcome: Done}},
		}},
	})
}

// Packets for a UE that is idle (TS 23.502 4.2.3.3), and tunnels that a gNB does not know any more (TS 23.527 5.3.3).
func TestPaging(t *testing.T) {
	packets := act{name: "packets wait", event: Report{From: 4, Downlink: true, QFI: 1}}
	hasThem, err := (&n2.SetupUnsuccessful{Cause: ngapcause.MultiplePDUSessions}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	tell(t, "paging", []story{
		{name: "the AMF pages, and the UE comes", from: idleUE, acts: []act{
			packets, {name: "the AMF pages", event: Transferred{Outcome: Done, Paging: true}}, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "the UE is not reached, is left alone, and paged again", from: idleUE, acts: []act{
			packets, {name: "the AMF pages", event: Transferred{Outcome: Done, Paging: true}}, {name: "in vain", event: Unreachable{Cause: "UE_NOT_RESPONDING"}},
			{name: "10 s later", event: Due{Name: duePaging}, later: pageRest}, unitDone, packets,
		}},
		{name: "the UE is connected, and a tunnel comes", from: idleUE, acts: []act{
			packets, {name: "the AMF has the UE", event: Transferred{Outcome: Done}}, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "the UE is connected, and no tunnel comes, since it was not heard of: the gNB lets go of it, and has another", from: idleUE, acts: []act{
			packets, {name: "the AMF has the UE", event: Transferred{Outcome: Done}}, {name: "5 s later", event: Due{Name: dueLetGo}, later: letGoRest},
			{name: "the AMF has the command", event: Transferred{Outcome: Done}}, {name: "2 s later", event: Due{Name: duePaging}, later: pageLetGo}, unitDone,
			packets, {name: "the AMF has the UE", event: Transferred{Outcome: Done}}, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "the gNB has resources that were not heard of: it lets go of them", from: idleUE, acts: []act{
			packets, {name: "the AMF has the UE", event: Transferred{Outcome: Done}},
			{name: "the gNB refuses", event: Update{From: 6, N2: hasThem, N2Type: n2.InfoSetupUnsuccessful}}, unitDone,
			{name: "the AMF has the command", event: Transferred{Outcome: Done}}, {name: "2 s later", event: Due{Name: duePaging}, later: pageLetGo}, unitDone,
		}},
		{name: "the AMF refuses", from: idleUE, acts: []act{packets, {name: "the AMF", event: Transferred{Outcome: Refused, Cause: "UE_IN_NON_ALLOWED_AREA"}}}},
		{name: "the AMF has no time: the unit does not hear, and asks again", from: idleUE, acts: []act{
			packets, {name: "the AMF", event: Transferred{Outcome: Refused, Later: true, Cause: "NF_CONGESTION"}},
			packets, {name: "the AMF pages", event: Transferred{Outcome: Done, Paging: true}}, {name: "the gNB has a tunnel", event: newTeller(t).ready()}, unitDone,
		}},
		{name: "the AMF does not answer: nor does the unit hear, and asks again", from: idleUE, acts: []act{packets, {name: "the AMF", event: Transferred{Outcome: Unknown}}}},
		{name: "packets of before", from: active, acts: []act{packets}},
		{name: "the gNB does not know the tunnel", from: active, acts: []act{{name: "Error Indication", event: Report{From: 4, Lost: []record.Tunnel{gnb}}}, unitDone}},
		{name: "another gNB does not know another tunnel", from: active, acts: []act{{name: "Error Indication", event: Report{From: 4, Lost: []record.Tunnel{otherGNB}}}}},
	})
}

// A unit that has lost sessions, or is gone (TS 23.527 4.3.2).
func TestRestoration(t *testing.T) {
	restarted := act{name: "the unit has restarted", event: UnitRestarted{}}
	tell(t, "restoration", []story{
		{name: "with F-TEID and address as before", from: active, acts: []act{restarted, {name: "the unit has it", event: made()}}},
		{name: "they are somebody else's: the UE asks for another session", from: active, acts: []act{restarted, unitRefuses, unitLost, unitRefuses, unitDone, {name: "the AMF", event: Transferred{Outcome: Done}}}},
		{name: "the unit has it already, otherwise", from: active, acts: []act{restarted, unitRefuses, unitDone, {name: "the unit has it", event: made()}}},
		{name: "the unit is away again", from: active, acts: []act{restarted, unitMute}},
		{name: "of a session that is released there is nothing to restore", from: releasing, acts: []act{restarted}},
		{name: "the slice is gone", from: active, acts: []act{{name: "the unit has restarted", event: UnitRestarted{}, first: func(list []configuration.Slice) { list[0].Name = "other" }}}},
		{name: "a flow of the Slice is gone: the others are made", from: active, acts: []act{
			{name: "the unit has restarted", event: UnitRestarted{}, first: noFlows}, {name: "the unit has it", event: made()}, {name: "the AMF has the command", event: Transferred{Outcome: Done}},
		}},
		{name: "the unit does not come back", from: active, acts: []act{{name: "gone", event: UnitGone{}}, unitMute}},
	})
}

func noFlows(list []configuration.Slice) { list[0].DataNetworks[0].Flows = nil }
