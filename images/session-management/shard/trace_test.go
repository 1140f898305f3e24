package shard

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/pfcp"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"
	"core5g.dev/core5g/images/session-management/runner"
	"core5g.dev/core5g/images/signalling"

	"github.com/google/go-cmp/cmp"
)

func traceLines(list []signalling.Entry) (out []string) {
	for _, e := range list {
		line := strings.Join([]string{e.Protocol, e.From, e.To, e.Message}, " ")
		if e.Cause != "" {
			line += ": " + e.Cause
		}
		out = append(out, line)
	}
	return out
}

func TestEntries(t *testing.T) {
	request := []byte{0x2e, 1, 1, byte(n1.EstablishmentRequestType)}
	reject := n1.EstablishmentReject{SessionID: 1, PTI: 1, Cause: n1.CauseUnknownDNN}
	for name, c := range map[string]struct {
		event procedure.Event
		out   procedure.Output
		want  []string
	}{
		"a session that is refused": {
			procedure.Create{SUPI: "imsi-1", ID: 1, DNN: "nothing", N1: request},
			procedure.Output{
				Ended:   []procedure.Result{{Kind: procedure.Establishment, Cause: "DNN_DENIED"}},
				Effects: []procedure.Effect{procedure.Reply{To: 1, Body: procedure.Failed{Status: 403, Cause: "DNN_DENIED", Detail: "none", N1: reject.Encode()}}},
			},
			[]string{
				"SBI AMF SMF Nsmf_PDUSession CreateSMContext, nothing", "NAS UE SMF PDU Session Establishment Request", "note SMF SMF establishment ends: DNN_DENIED",
				"NAS SMF UE PDU Session Establishment Reject: 5GSM cause 27", "SBI SMF AMF Nsmf_PDUSession refusal: 403 DNN_DENIED none",
			},
		},
		"a unit that does not answer": {
			procedure.Unit{Outcome: procedure.Unknown},
			procedure.Output{Effects: []procedure.Effect{
				procedure.AskTransfer{N2Type: "PDU_RES_SETUP_REQ"}, procedure.AskPolicy{Operation: procedure.CreatePolicy}, procedure.AskCharging{Operation: procedure.ReleaseCharging},
				procedure.AskSubscription{}, procedure.TellRegistration{Gone: true}, procedure.AskStatus{Cause: "REL_DUE_TO_HO"}, procedure.AskUnit{},
			}},
			[]string{
				"note SMF SMF the unit: no answer", "SBI SMF AMF Namf_Communication N1N2MessageTransfer, PDU_RES_SETUP_REQ", "SBI SMF PCF Npcf_SMPolicyControl Create",
				"SBI SMF CHF Nchf_ConvergedCharging Release", "SBI SMF UDM Nudm_SDM Get", "SBI SMF UDM Nudm_UECM Deregistration",
				"SBI SMF AMF Nsmf_PDUSession SMContextStatusNotify: REL_DUE_TO_HO",
			},
		},
		"a unit that has": {procedure.Unit{Outcome: procedure.Done}, procedure.Output{}, nil},
		"an AMF that answers": {
			procedure.Transferred{Outcome: procedure.Refused, Cause: "CONTEXT_NOT_FOUND"}, procedure.Output{}, []string{"SBI AMF SMF Namf_Communication answer: refused: CONTEXT_NOT_FOUND"},
		},
		"a unit that has begun anew": {procedure.UnitRestarted{}, procedure.Output{Refused: "no"}, []string{"note SMF SMF UnitRestarted", "note SMF SMF refused: no"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, traceLines(entriesOf(runner.Handled{Event: c.event, Output: &c.out}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// N4 is told of the UE whose session it is: also what came before anything was handled for the session.
func TestTracingN4(t *testing.T) {
	tracer := signalling.New(time.Now)
	s := &Shard{Identity: Identity{Number: 3}, pod: &Pod{Options: Options{Tracer: tracer}}}
	count := func() []string {
		t.Helper()
		page, err := tracer.Trace("imsi-1", time.Minute, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		return traceLines(page.Entries)
	}
	octets := []byte{1, 2, 3}
	see := func(session uint64, w pfcp.Watched) {
		w.CPSEID, w.Peer, w.Octets = session, netip.MustParseAddrPort("10.96.0.10:8805"), octets
		s.traceN4(w)
	}
	see(7, pfcp.Watched{Message: "nobody looks"})
	count()
	see(7, pfcp.Watched{Message: "session_report_request"})
	see(8, pfcp.Watched{Message: "another's"})
	mine := &record.Session{SUPI: "imsi-1", ID: 1, CPSEID: 7}
	s.trace(runner.Handled{Session: mine, Event: procedure.Report{}, Output: &procedure.Output{}})
	s.trace(runner.Handled{Session: &record.Session{SUPI: "imsi-2", ID: 1, CPSEID: 8}, Event: procedure.Resumed{}, Output: &procedure.Output{}})
	see(7, pfcp.Watched{Message: "session_report_response", Sent: true, Cause: "request_accepted"})
	see(7, pfcp.Watched{Message: "session_modification_request", Sent: true, Again: true})
	octets[0] = 9 // what was kept is a copy
	want := []string{"PFCP UPF SMF session_report_request", "PFCP SMF UPF session_report_response: request_accepted", "PFCP SMF UPF session_modification_request: again"}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	page, err := tracer.Trace("imsi-1", time.Minute, false, 0)
	if err != nil || page.Entries[0].Octets[0] != 1 {
		t.Errorf("%v, %v", page, err)
	}
}
