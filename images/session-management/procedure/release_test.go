package procedure

import (
	"testing"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
	"core5g.dev/core5g/images/session-management/record"
)

// releasing is a session whose UE has a command with PTI 9.
func releasing(tr *teller) State {
	return tr.lead(active(tr), Update{From: 3, N1: releaseRequest(9)}, Unit{Outcome: Done})
}

func releaseRequest(pti uint8) []byte  { return []byte{0x2e, 1, pti, byte(n1.ReleaseRequestType)} }
func releaseComplete(pti uint8) []byte { return []byte{0x2e, 1, pti, byte(n1.ReleaseCompleteType)} }
func status5GSM(pti uint8, cause n1.Cause) []byte {
	return []byte{0x2e, 1, pti, byte(n1.StatusType), byte(cause)}
}

// TS 23.502 4.3.4.2, TS 24.501 6.3.3, 6.4.3.
func TestRelease(t *testing.T) {
	asks := update1("the UE asks, PTI 9", Update{N1: releaseRequest(9)})
	completes := update1("the UE has released it", Update{N1: releaseComplete(9)})
	heard := act{name: "the AMF has heard", event: Notified{Outcome: Done}}
	silent := act{name: "16 s later", event: Due{Name: dueCommand}, later: commandTime}
	ended := act{name: "the network ends it", event: End{From: 8, Cause: n1.CauseRegularDeactivation}}
	transferred := act{name: "the AMF has the command", event: Transferred{Outcome: Done}}
	tell(t, "release", []story{
		{name: "by the UE", from: active, acts: []act{asks, unitDone, update1("the gNB has released it", Update{N2Type: n2.InfoReleaseResponse, N2: makes(t, &n2.ReleaseResponse{})}), completes, heard}},
		{name: "the UE asks again: alike (T3582)", from: releasing, acts: []act{asks}},
		{name: "with a PCF its association ends", from: func(tr *teller) State {
			tr.configure(withPolicy)
			st := tr.lead(State{}, create(request(5, 0x91)), Subscription{}, Policy{Outcome: Done, URI: "http://pcf/1"}, made(), Transferred{Outcome: Done})
			return tr.lead(st, tr.ready(), Unit{Outcome: Done}, Policy{Outcome: Done})
		}, acts: []act{asks, unitDone, {name: "the PCF", event: Policy{Outcome: Unknown}}}},
		{name: "the UE does not answer: T3592 five times", from: releasing, acts: []act{silent, silent, silent, silent, silent, heard}},
		{name: "the UE answers another transaction (TS 24.501 7.3.1)", from: releasing, acts: []act{update1("complete, PTI 3", Update{N1: releaseComplete(3)}), update1("complete, no PTI", Update{N1: releaseComplete(0)})}},
		{name: "the UE answers what nobody asked", from: active, acts: []act{completes}},
		{name: "by the network", from: active, acts: []act{ended, unitDone, transferred, update1("the UE has released it", Update{N1: releaseComplete(0)}), heard}},
		{name: "by the network, and the UE asks meanwhile: it has the network's command", from: active, acts: []act{ended, unitDone, transferred, asks}},
		{name: "by the network, of a UE that is not reached", from: idleUE, acts: []act{ended, unitDone, {name: "the AMF does not wake it", event: Transferred{Outcome: Refused, Cause: "UE_NOT_REACHABLE"}}, heard}},
		{name: "by the network, twice", from: releasing, acts: []act{ended}},
		{name: "by the AMF", from: active, acts: []act{{name: "it releases the context", event: Release{From: 8}}, unitDone}},
		{name: "by the AMF, as an update", from: active, acts: []act{update1("it releases the context", Update{Release: true, Cause: "REL_DUE_TO_UNSPECIFIED_REASON"}), unitDone}},
		{name: "by the AMF: the UE has a new session of that identity", from: active, acts: []act{update1("duplicate", Update{Release: true, Cause: "REL_DUE_TO_DUPLICATE_SESSION_ID"}), unitDone}},
		{name: "by the AMF: the slice is not available", from: active, acts: []act{update1("slice", Update{Release: true, Cause: "REL_DUE_TO_SLICE_NOT_AVAILABLE"}), unitDone}},
		{name: "the unit does not answer: it ends all the same", from: active, acts: []act{{name: "the AMF releases the context", event: Release{From: 8}}, unitMute}},
		{name: "the unit does not answer, and goes on to measure: it is told that there is no such session", from: active, acts: []act{
			ended, unitMute, {name: "usage", event: Report{From: 7, Usage: []Measured{{URR: 1, Used: record.Units{Downlink: 9}}}}}, transferred,
			{name: "usage", event: Report{From: 7, Usage: []Measured{{URR: 1, Used: record.Units{Downlink: 9}}}}},
		}},
		{name: "the UE knows no such session", from: active, acts: []act{update1("status 43", Update{N1: status5GSM(0, n1.CauseInvalidPDUSessionIdentity)}), unitDone, heard}},
		{name: "the UE has not understood something", from: active, acts: []act{update1("status 97", Update{N1: status5GSM(0, n1.CauseMessageTypeNotImplemented)})}},
		{name: "the PCF ends its association", from: active, acts: []act{{name: "the PCF", event: PolicyEnded{From: 8}}, unitDone}},
		{name: "AN release while it is released", from: releasing, acts: []act{update1("AN release", Update{Connection: Deactivated})}},
		{name: "a new holder asks again", from: active, acts: []act{asks, {name: "resumed", event: Resumed{}}, unitDone}},
	})
}

// Messages of UEs that cannot be taken as they are (TS 24.501 7).
func TestMessagesThatAreRefused(t *testing.T) {
	of := func(name string, b ...byte) story {
		return story{name: name, from: active, acts: []act{update1("the UE", Update{N1: b})}}
	}
	tell(t, "messages", []story{
		of("too short", 0x2e, 1),
		of("another protocol", 0x7e, 0, 0, 0x41),
		of("another session's identity", releaseRequest(9)[0], 2, 9, byte(n1.ReleaseRequestType)),
		of("no session's identity", 0x2e, 0, 9, byte(n1.ReleaseRequestType)),
		of("a type that is not known", 0x2e, 1, 9, 0xee),
		of("a message of the network", 0x2e, 1, 9, byte(n1.ReleaseCommandType), 36),
		of("an establishment request", request(9, 0x91)...),
		of("a release request without a PTI", releaseRequest(0)...),
		of("a modification request without a PTI", 0x2e, 1, 0, byte(n1.ModificationRequestType)),
		of("a release request with a reserved PTI", releaseRequest(255)...),
		of("a modification request with a QoS rule that is cut", 0x2e, 1, 9, byte(n1.ModificationRequestType), 0x7a, 0, 2, 1, 0),
		of("a status without a cause", 0x2e, 1, 9, byte(n1.StatusType)),
	})
}
