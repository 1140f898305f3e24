package procedure

import (
	"net/netip"
	"testing"
	"time"

	transfers "core5g.dev/core5g/images/session-management/n2"
	smfrecord "core5g.dev/core5g/images/session-management/record"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
)

// The transfers that an AMF makes itself are what an SMF would make.
func TestOwnTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		is   []byte
		want transfers.Transfer
	}{
		"path switch unsuccessful":          {unsuccessfulSwitch, &transfers.PathSwitchUnsuccessful{}},
		"handover preparation unsuccessful": {unsuccessfulPreparation, &transfers.HandoverPreparationUnsuccessful{}},
	} {
		want, err := c.want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What a Handover Command Transfer says of forwarding is read as an SMF writes it.
func TestForwards(t *testing.T) {
	tunnel := &smfrecord.Tunnel{TEID: 7, IPv4: netip.MustParseAddr("192.0.2.1")}
	for name, c := range map[string]struct {
		is   transfers.HandoverCommand
		want bool
	}{
		"nothing is forwarded": {},
		"by a tunnel":          {transfers.HandoverCommand{Forwarding: tunnel, Flows: []uint8{1}}, true},
		"by a bearer's tunnel": {transfers.HandoverCommand{Bearers: []transfers.ForwardedBearer{{ID: 1, Downlink: tunnel}}}, true},
		"uplink packets":       {transfers.HandoverCommand{UplinkForwarding: tunnel}, true},
	} {
		b, err := c.is.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := forwards(b); got != c.want {
			t.Errorf("%s: %x is read as %t", name, b, got)
		}
	}
	if forwards(nil) {
		t.Error("nothing at all names a tunnel")
	}
}

// fromGNB2 is a message of the other gNB's about the UE.
func fromGNB2(name string, ran uint32, m func(*teller) n2.Message) act {
	return act{name: name, event: func(tr *teller) Event {
		a := at(gnb2, ran)
		if h := tr.st.Record.Handover; h != nil {
			a.AMF = h.Target.AMF
		} else if tr.st.Record.N2 != nil {
			a.AMF = tr.st.Record.N2.AMF
		}
		return FromAccess{At: a, Message: m(tr)}
	}}
}

func twoSessions(tr *teller) {
	withSession(tr)
	tr.lead(second...)
}

// TS 23.502 4.9.1.2.2.
func TestPathSwitch(t *testing.T) {
	ask := func(done, failed []n2.Session) act {
		return fromGNB2("gNB 2: Path Switch Request", 40, func(tr *teller) n2.Message {
			return &n2.PathSwitchRequest{RAN: 40, SourceAMF: n2.AMFUEID(tr.st.Record.N2.AMF), Location: location(7), Sessions: done, Failed: failed}
		})
	}
	one, two := n2.Session{ID: 1, Transfer: []byte{1}}, n2.Session{ID: 2, Transfer: []byte{2}}
	acked := smf("SMF: acknowledged", 1, SessionAnswer{Outcome: Done, N2: []byte{0x11}, N2Type: switchDone})
	tell(t, "path-switch", []story{
		{name: "the worker dies before the SMFs have answered: the UE is idle, and they hear it", from: twoSessions, acts: []act{
			ask([]n2.Session{one, two}, nil), acked, dies, happens("a new holder", Resumed{}), released,
		}},
		{name: "both sessions, twice: the chain of next hops goes on", from: twoSessions, acts: []act{
			ask([]n2.Session{one, two}, nil), acked, smf("SMF: acknowledged", 2, SessionAnswer{Outcome: Done, N2: []byte{0x22}, N2Type: switchDone}),
			ask([]n2.Session{one, two}, nil), acked, smf("SMF: acknowledged", 2, SessionAnswer{Outcome: Done, N2: []byte{0x22}, N2Type: switchDone}),
		}},
		{name: "one that the new gNB has not taken", from: twoSessions, acts: []act{ask([]n2.Session{one}, []n2.Session{two}), acked, smf("SMF: idle", 2, SessionAnswer{Outcome: Done})}},
		{name: "one that the new gNB does not name", from: twoSessions, acts: []act{ask([]n2.Session{one}, nil), acked}},
		{name: "one that its SMF refuses", from: twoSessions, acts: []act{
			ask([]n2.Session{one, two}, nil), acked,
			smf("SMF: no", 2, SessionAnswer{Outcome: Refused, Status: 500, N2: []byte{0x33}, N2Type: switchRefused}),
		}},
		{name: "sessions with identities that no UE gives: the UE's own is switched", from: withSession, acts: []act{
			ask([]n2.Session{one, {ID: 17}, {ID: 0}}, nil), acked,
		}},
		{name: "the UE registers there before the SMF has answered: the gNB is answered first", from: withSession, acts: []act{
			ask([]n2.Session{one}, nil), fromGNB2("UE: mobility registration, 5G-GUTI", 40, func(tr *teller) n2.Message {
				return &n2.UplinkNASTransport{NAS: mobility(nil)(tr), Location: location(7)}
			}), acked,
		}},
		{name: "one whose SMF cannot do it now: it is asked again", from: twoSessions, acts: []act{
			ask([]n2.Session{one, two}, nil), smfBusy(nil), smf("SMF: acknowledged", 2, SessionAnswer{Outcome: Done, N2: []byte{0x22}, N2Type: switchDone}), pausedFor(time.Second), acked,
		}},
		{name: "it cannot for long: the gNB hears that within 3 s", from: withSession, acts: []act{
			ask([]n2.Session{one}, nil), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil),
		}},
		{name: "the UE is released before the SMF is asked again", from: withSession, acts: []act{
			ask([]n2.Session{one}, nil), smfBusy(nil), fromGNB2("gNB 2: UE Context Release Request", 40, func(*teller) n2.Message {
				return &n2.UEContextReleaseRequest{Cause: ngapcause.RadioUnspecified}
			}), pausedFor(time.Second),
		}},
		{name: "all refused", from: withSession, acts: []act{ask([]n2.Session{one}, nil), smf("SMF: nothing", 1, SessionAnswer{Outcome: Unknown})}},
		{name: "of a UE that is idle", from: idleUE, acts: []act{{name: "gNB 2: Path Switch Request", event: func(tr *teller) Event {
			return FromAccess{At: at(gnb2, 40), Message: &n2.PathSwitchRequest{RAN: 40, SourceAMF: 77, Location: location(7), Sessions: []n2.Session{one}}}
		}}}},
	})
}

// TS 23.502 4.9.1.3.
func TestHandover(t *testing.T) {
	required := gnbSays("gNB 1: Handover Required", func(*teller) n2.Message {
		return &n2.HandoverRequired{
			Cause: ngapcause.HandoverForRadioReason, Container: []byte{0xaa},
			Target:   n2.HandoverTarget{Node: n2.RANNode{Kind: n2.GNB, PLMN: plmnOf("20893"), ID: 2, Bits: 24}, TAI: n2.TAI{PLMN: plmnOf("20893"), TAC: 7}},
			Sessions: []n2.Session{{ID: 1, Transfer: []byte{1}}, {ID: 2, Transfer: []byte{2}}},
		}
	})
	preparing := func(id uint8) act {
		return smf("SMF: to be prepared", id, SessionAnswer{Outcome: Done, N2: []byte{0x10, id}, N2Type: setupRequest, Handover: preparing})
	}
	took := fromGNB2("gNB 2: Handover Request Acknowledge", 40, func(*teller) n2.Message {
		return &n2.HandoverRequestAcknowledge{Container: []byte{0xbb}, Sessions: []n2.Session{{ID: 1, Transfer: []byte{0x21}}, {ID: 2, Transfer: []byte{0x22}}}}
	})
	ready := func(id uint8) act {
		return smf("SMF: prepared", id, SessionAnswer{Outcome: Done, N2: []byte{0, id}, N2Type: handCommand, Handover: prepared})
	}
	arrived := fromGNB2("gNB 2: Handover Notify", 40, func(*teller) n2.Message { return &n2.HandoverNotify{Location: location(7)} })
	moved := gnbSays("gNB 1: Uplink RAN Status Transfer", func(*teller) n2.Message { return &n2.UplinkRANStatusTransfer{Container: []byte{0xcc}} })
	cancels := gnbSays("gNB 1: Handover Cancel", func(*teller) n2.Message { return &n2.HandoverCancel{Cause: ngapcause.HandoverCancelled} })
	late := act{name: "12 s later", later: handoverTime, event: func(*teller) Event { return Due{Name: dueHandover} }}
	prepare := []act{required, preparing(1), preparing(2), took, ready(1), ready(2)}
	on := func(more ...act) []act { return append(append([]act{}, prepare...), more...) }
	elsewhere := func(change func(*n2.HandoverRequired)) act {
		return gnbSays("gNB 1: Handover Required", func(tr *teller) n2.Message {
			m := required.event(tr).(FromAccess).Message.(*n2.HandoverRequired)
			change(m)
			return m
		})
	}
	heard := smf("SMF: updated", 2, SessionAnswer{Outcome: Done})
	mute := smf("SMF: 500", 2, SessionAnswer{Outcome: Unknown, Status: 500, Cause: "SYSTEM_FAILURE"})
	refuses := smf("SMF: no handover is prepared", 2, SessionAnswer{Outcome: Refused, Status: 403, Cause: "REQUEST_REJECTED"})
	back := elsewhere(func(m *n2.HandoverRequired) { m.Target.Node.ID, m.Target.TAI.TAC = 1, 1 })
	back.name = "gNB 2: Handover Required"
	var long []act
	for range mostUnheard + 1 {
		long = append(long, unheard, mute)
	}
	long = append(long, unheard)
	away := func(g record.GNB) act {
		return happens("terminator: the association is gone", AccessLost{At: record.Attachment{Terminator: g.Terminator, Association: g.Association}, Why: "the association is gone", Kept: true})
	}
	// byMore is what the target says by an association more for its NG interface.
	byMore := func(a act) act {
		return act{name: a.name + ", by another association", event: func(tr *teller) Event {
			e := a.event(tr).(FromAccess)
			e.At.Interface = gnb2.Root()
			e.At.Terminator, e.At.Association = "n2-1", 7
			return e
		}}
	}
	tell(t, "handover", []story{
		{name: "the source's association is lost, and it has another for the same NG interface: it goes on by that", from: withMore(gnb1, twoSessions), acts: []act{
			required, away(gnb1), preparing(1), preparing(2), took, ready(1), ready(2), moved, arrived, updated, heard,
		}},
		{name: "the target's is lost, and so it does", from: withMore(gnb2, twoSessions), acts: []act{
			required, preparing(1), preparing(2), away(gnb2), byMore(took), ready(1), ready(2), moved, byMore(arrived), updated, heard,
		}},
		{name: "the target answers by another association of its NG interface: it is told by that", from: withMore(gnb2, twoSessions), acts: []act{
			required, preparing(1), preparing(2), byMore(took), ready(1), ready(2), moved, byMore(arrived), updated, heard,
		}},
		{name: "to another gNB", from: twoSessions, acts: on(moved, arrived, updated, smf("SMF: updated", 2, SessionAnswer{Outcome: Done}),
			act{name: "gNB 1: UE Context Release Complete", event: func(tr *teller) Event {
				return FromAccess{At: tr.st.Record.Left[0], Message: &n2.UEContextReleaseComplete{}}
			}})},
		{name: "an SMF cannot prepare now: it is asked again, before the target and behind it", from: twoSessions, acts: []act{
			required, preparing(2), smfBusy(nil), pausedFor(time.Second), preparing(1), took, smfBusy(nil), ready(2), pausedFor(time.Second), ready(1), moved, arrived, updated, heard,
		}},
		{name: "it cannot for long: the UE is handed over without that session", from: twoSessions, acts: []act{
			required, preparing(2), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), pausedFor(time.Second), smfBusy(nil), took,
		}},
		{name: "the source cancels it before the SMF is asked again", from: twoSessions, acts: []act{required, preparing(2), smfBusy(nil), cancels, pausedFor(time.Second)}},
		{name: "an SMF has not heard that the UE has arrived: it is told again", from: twoSessions, acts: on(moved, arrived, updated, smf("SMF: not reached", 2, SessionAnswer{Outcome: Unsent}),
			unheard, smf("SMF: updated", 2, SessionAnswer{Outcome: Done}))},
		{name: "an SMF answers 500, twice, when it hears that the UE has arrived: it is told again", from: twoSessions, acts: on(arrived, updated, mute, unheard, mute, unheard, heard)},
		{name: "the worker dies before an SMF has heard that the UE has arrived: the next one tells it", from: twoSessions, acts: on(
			arrived, updated, dies, happens("a new holder", Resumed{}), mute, unheard, heard, dies, happens("a new holder", Resumed{}))},
		{name: "an SMF knows nothing of the target that has the UE: it is let go of, and its packets wait", from: twoSessions, acts: on(
			arrived, updated, refuses, released, smf("SMF: idle", 1, SessionAnswer{Outcome: Done}), smf("SMF: idle", 2, SessionAnswer{Outcome: Done}))},
		{name: "an SMF does not say for long that it has heard where the UE has arrived: it is told until it has", from: twoSessions, acts: append(append(on(arrived, updated, mute), long...), heard)},
		{name: "it is handed over again while an SMF has not heard of the first: not before that has", from: twoSessions, acts: on(
			arrived, updated, mute, back, heard, back)},
		{name: "it is handed over again at once, and the SMF does not hear of the first", from: twoSessions, acts: on(arrived, updated, back, mute, preparing(1), unheard)},
		{name: "it is handed over again at once", from: twoSessions, acts: on(arrived, back, updated, preparing(1), heard, preparing(2))},
		{name: "an SMF does not prepare: the other session goes", from: twoSessions, acts: []act{
			required, smf("SMF: no", 1, SessionAnswer{Outcome: Refused, Status: 403, N2: []byte{9}, N2Type: handRefused}), preparing(2),
			fromGNB2("gNB 2: Handover Request Acknowledge", 40, func(*teller) n2.Message {
				return &n2.HandoverRequestAcknowledge{Container: []byte{0xbb}, Sessions: []n2.Session{{ID: 2, Transfer: []byte{0x22}}}}
			}), ready(2), arrived,
		}},
		{name: "the target refuses", from: twoSessions, acts: []act{
			required, preparing(1), preparing(2),
			fromGNB2("gNB 2: Handover Failure", 0, func(*teller) n2.Message { return &n2.HandoverFailure{Cause: ngapcause.NoRadioResourcesInTarget} }),
		}},
		{name: "the target has found an error in what it was asked", from: twoSessions, acts: []act{
			required, preparing(1), preparing(2), fromGNB2("gNB 2: Error Indication", 0, func(*teller) n2.Message {
				return &n2.ErrorIndication{Cause: cause(ngapcause.AbstractSyntaxReject)}
			}),
		}},
		{name: "the target has not understood all, and goes on", from: twoSessions, acts: []act{
			required, preparing(1), preparing(2), fromGNB2("gNB 2: Error Indication", 0, func(*teller) n2.Message {
				return &n2.ErrorIndication{Cause: cause(ngapcause.AbstractSyntaxNotify)}
			}), took,
		}},
		{name: "the target has forgotten the UE that is on its way", from: twoSessions, acts: on(moved, fromGNB2("gNB 2: Error Indication", 40, func(*teller) n2.Message {
			return &n2.ErrorIndication{Cause: cause(ngapcause.UnknownLocalUEID)}
		}))},
		{name: "packets are forwarded: the source is released when that is over", from: twoSessions, acts: []act{
			required, preparing(1), preparing(2), took, ready(1),
			smf("SMF: prepared, with a tunnel to forward by", 2, SessionAnswer{Outcome: Done, N2: []byte{0x60, 2}, N2Type: handCommand, Handover: prepared}),
			moved, arrived, updated, heard,
			{name: "a second later", later: forwardingTime, event: func(*teller) Event { return Due{Name: dueLeft} }},
			{name: "gNB 1: UE Context Release Complete", event: func(tr *teller) Event {
				return FromAccess{At: tr.st.Record.Left[0], Message: &n2.UEContextReleaseComplete{}}
			}},
		}},
		{name: "the target takes one of them", from: twoSessions, acts: []act{
			required, preparing(1), preparing(2),
			fromGNB2("gNB 2: Handover Request Acknowledge", 40, func(*teller) n2.Message {
				return &n2.HandoverRequestAcknowledge{Sessions: []n2.Session{{ID: 1, Transfer: []byte{0x21}}}, Failed: []n2.Session{{ID: 2, Transfer: []byte{0x23}}}}
			}), ready(1),
		}},
		{name: "it is cancelled", from: twoSessions, acts: on(cancels)},
		{name: "the target does not answer", from: twoSessions, acts: []act{required, preparing(1), preparing(2), late}},
		{name: "the UE does not arrive", from: twoSessions, acts: on(late)},
		{name: "the target is gone", from: twoSessions, acts: on(
			happens("terminator: the association is gone", AccessLost{At: record.Attachment{Terminator: "n2-0", Association: 2}}))},
		{name: "the source is gone: the UE is idle, and the target lets go", from: twoSessions, acts: on(gone)},
		{name: "the UE comes back to the source by a Service Request", from: twoSessions, acts: on(
			first("UE: Service Request, data", gnb1, 8, 1, serviceRequest(n1.ServiceData, n1.Of(1, 2), n1.Of(1))))},
		{name: "an SMF wants something meanwhile", from: twoSessions, acts: []act{required, packets}},
		{name: "the worker dies while the target is asked", from: twoSessions, acts: []act{required, preparing(1), dies, happens("a new holder", Resumed{}), preparing1Late}},
		{name: "to a gNB that there is not", from: twoSessions, acts: []act{elsewhere(func(m *n2.HandoverRequired) { m.Target.Node.ID = 99 })}},
		{name: "to a gNB whose ID is as long as no other", from: twoSessions, acts: []act{elsewhere(func(m *n2.HandoverRequired) { m.Target.Node.Bits = 22 })}},
		{name: "to a gNB of another set: the UE stays, and registers where it goes by itself", from: twoSessions, acts: []act{
			elsewhere(func(m *n2.HandoverRequired) { m.Target.Node.ID, m.Target.TAI.TAC = 99, 77 }), moved, packets,
		}},
		{name: "to a gNB of this set, in a tracking area that the network does not serve", from: func(tr *teller) {
			twoSessions(tr)
			tr.settings.PLMNs[0].TACs = []uint32{1, 2}
		}, acts: []act{required}},
		{name: "into another PLMN than is served", from: twoSessions, acts: []act{elsewhere(func(m *n2.HandoverRequired) { m.Target.TAI.PLMN = plmnOf("00101") })}},
		{name: "into EPS", from: twoSessions, acts: []act{elsewhere(func(m *n2.HandoverRequired) { m.Type = n2.FiveGSToEPS })}},
		{name: "without a session", from: registeredUE, acts: []act{required}},
		{name: "a status without a handover", from: twoSessions, acts: []act{moved, cancels}},
	})
}

var preparing1Late = act{name: "the target answers what nobody has asked", event: func(tr *teller) Event {
	a := at(gnb2, 40)
	a.AMF = record.AttachmentID(shard, 2)
	return FromAccess{At: a, Message: &n2.HandoverRequestAcknowledge{}}
}}
