package worker

import (
	"strings"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/npcf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/ngapcause"
	"core5g.dev/core5g/images/signalling"

	"github.com/google/go-cmp/cmp"
)

func TestRevealed(t *testing.T) {
	for suci, want := range map[string]string{
		"suci-0-208-93-0-0-0-0000000001": "imsi-208930000000001", "suci-0-208-93-0000-0-0-0000000001": "imsi-208930000000001",
		"suci-0-208-93-0-1-1-0a0b0c": "", "suci-1-example.org-x-0-0-0-1": "", "imsi-1": "", "": "",
	} {
		if got := revealed(suci); got != want {
			t.Errorf("%q reveals %q, want %q", suci, got, want)
		}
	}
}

func lines(list []signalling.Entry) (out []string) {
	for _, e := range list {
		line := strings.Join([]string{e.Protocol, e.From, e.To, e.Message}, " ")
		if e.Cause != "" {
			line += ": " + e.Cause
		}
		out = append(out, line)
	}
	return out
}

func said(t *testing.T, d n1.Direction, m n1.Message) procedure.Said {
	t.Helper()
	plain, err := n1.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return procedure.Said{Direction: d, Plain: plain}
}

// What was handled is told in the order in which it came to be: what came, what was in it, what ended, what goes.
func TestEntries(t *testing.T) {
	gnb := record.Attachment{GNB: "20893-00000001/24"}
	ids := n2.UEIDs{AMF: 1, RAN: 2}
	for name, c := range map[string]struct {
		event procedure.Event
		out   procedure.Output
		want  []string
	}{
		"a USIM that refuses": {
			procedure.FromAccess{At: gnb, Message: &n2.UplinkNASTransport{UE: ids}},
			procedure.Output{
				NAS:   []procedure.Said{said(t, n1.Uplink, &n1.AuthenticationFailure{Cause: n1.CauseMACFailure}), said(t, n1.Downlink, &n1.AuthenticationReject{})},
				Ended: []procedure.Result{{Kind: procedure.Registration, Cause: "authentication failed: MAC failure"}},
				Effects: []procedure.Effect{procedure.Send{To: gnb, Message: &n2.DownlinkNASTransport{UE: ids, NAS: []byte{1}}}, procedure.Send{To: gnb, Message: &n2.UEContextReleaseCommand{
					AMF: 1, Cause: ngapcause.AuthenticationFailure,
				}}},
			},
			[]string{
				"NGAP gNB AMF UplinkNASTransport", "NAS UE AMF Authentication Failure: MAC failure", "note AMF AMF registration ends: authentication failed: MAC failure",
				"NAS AMF UE Authentication Reject", "NGAP AMF gNB DownlinkNASTransport", "NGAP AMF gNB UEContextReleaseCommand: " + ngapcause.AuthenticationFailure.String(),
			},
		},
		"an AUSF that is asked again": {
			procedure.Challenge{Outcome: procedure.Unknown},
			procedure.Output{Effects: []procedure.Effect{procedure.AskChallenge{AUTS: []byte{1}}}},
			[]string{"SBI AUSF AMF Nausf_UEAuthentication Authenticate answer: no answer", "SBI AMF AUSF Nausf_UEAuthentication Authenticate: with the USIM's AUTS"},
		},
		"an AUSF that does not confirm": {
			procedure.Confirmed{Outcome: procedure.Done}, procedure.Output{}, []string{"SBI AUSF AMF Nausf_UEAuthentication confirmation answer: not confirmed"},
		},
		"an SMF that refuses": {
			procedure.SessionAnswer{Outcome: procedure.Refused, Cause: "DNN_DENIED"}, procedure.Output{}, []string{"SBI SMF AMF Nsmf_PDUSession answer: refused: DNN_DENIED"},
		},
		"a gNB that is waited for": {
			procedure.AccessLost{Why: "the gNB shuts it down", Kept: true}, procedure.Output{},
			[]string{"note AMF AMF the association is lost, and the gNB is waited for: the gNB shuts it down"},
		},
		"a UE that another AMF takes over": {
			procedure.End{Why: procedure.Moved}, procedure.Output{}, []string{"SBI UDM AMF Nudm_UECM DeregistrationNotification: another AMF takes it over"},
		},
		"a UE that comes from another AMF": {
			procedure.Other{Outcome: procedure.Unknown}, procedure.Output{Effects: []procedure.Effect{procedure.AskOther{}, procedure.TellOther{Taken: true}, procedure.TellOther{}}},
			[]string{
				"note AMF AMF answer of the AMF of before: no answer", "note AMF AMF the AMF of before is asked for the UE",
				"note AMF AMF the AMF of before hears that the UE is here", "note AMF AMF the AMF of before hears that it keeps the UE",
			},
		},
		"a UE that is called": {
			procedure.Transfer{From: 1, Session: 1, N2Type: "PDU_RES_SETUP_REQ"},
			procedure.Output{Effects: []procedure.Effect{
				procedure.Page{Area: record.Area{PLMN: "20893"}, Message: &n2.Paging{}}, procedure.Reply{To: 1, Body: procedure.Transferred{Cause: "ATTEMPTING_TO_REACH_UE"}},
			}},
			[]string{
				"SBI SMF AMF Namf_Communication N1N2MessageTransfer, PDU_RES_SETUP_REQ", "NGAP AMF gNB Paging",
				"SBI AMF SMF Namf_Communication answer: ATTEMPTING_TO_REACH_UE",
			},
		},
		"a session, and what else there is to ask": {
			procedure.Due{Name: "command"},
			procedure.Output{Refused: "it is leaving", Effects: []procedure.Effect{
				procedure.AskConfirm{}, procedure.AskRecording{}, procedure.AskSubscription{}, procedure.AskPolicy{Operation: procedure.DeletePolicy},
				procedure.AskSession{Operation: procedure.UpdateSession, Connection: "ACTIVATING", Session: record.Session{ID: 3}}, procedure.TellUnreached{Cause: "UE_NOT_RESPONDING"},
				procedure.TellLeft{}, procedure.TellReports{}, procedure.Reply{Body: procedure.Failed{Status: 404, Cause: "CONTEXT_NOT_FOUND", Detail: "none"}}, procedure.AskNamed{},
			}},
			[]string{
				"note AMF AMF time: command", "note AMF AMF refused: it is leaving", "SBI AMF AUSF Nausf_UEAuthentication confirmation", "SBI AMF UDM Nudm_UECM Registration",
				"SBI AMF UDM Nudm_SDM Get and Subscribe", "SBI AMF PCF Npcf_AMPolicyControl Delete", "SBI AMF SMF Nsmf_PDUSession UpdateSMContext ACTIVATING",
				"SBI AMF SMF Namf_Communication N1N2TransferFailureNotification: UE_NOT_RESPONDING", "SBI AMF UDM Nudm_UECM Deregistration",
				"note AMF AMF Namf_EventExposure Notify", "SBI AMF SMF refusal: 404 CONTEXT_NOT_FOUND none",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(entriesOf(runner.Handled{Event: c.event, Output: &c.out}))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Each event and each effect is told, but for those that are the worker's own.
func TestEveryEventIsTold(t *testing.T) {
	silent := 0
	for _, e := range []procedure.Event{
		procedure.Initial{Message: &n2.InitialUEMessage{}}, procedure.FromAccess{Message: &n2.UplinkNASTransport{}}, procedure.AccessLost{}, procedure.NotSent{Send: procedure.Send{Message: &n2.Paging{}}},
		procedure.Due{}, procedure.Resumed{}, procedure.Taken{}, procedure.Transfer{}, procedure.SessionEnded{}, procedure.SubscriptionChanged{}, procedure.End{}, procedure.PolicyChanged{},
		procedure.Challenge{}, procedure.Confirmed{}, procedure.Recorded{}, procedure.Subscription{}, procedure.Policy{}, procedure.SessionAnswer{},
		procedure.Watch{}, procedure.Rewatch{}, procedure.Unwatch{}, procedure.AccessBack{}, procedure.Lend{}, procedure.LeftFor{}, procedure.Other{}, procedure.Reach{},
		procedure.SettingsChanged{}, procedure.Locate{}, procedure.Named{},
	} {
		if len(eventEntries(runner.Handled{Event: e, Output: &procedure.Output{}})) == 0 {
			silent++
		}
	}
	if silent != 3 {
		t.Errorf("%d events are not told, want the last three", silent)
	}
}

// A UE that fails before it is known is traced by what it says it is; one that is not traced leaves nothing.
func TestTracingAStranger(t *testing.T) {
	tracer := signalling.New(time.Now)
	s := &Shard{number: 2, pod: &Pod{Options: Options{Tracer: tracer}}}
	handled := func(ue uint64, supi string, effects ...procedure.Effect) {
		s.trace(runner.Handled{UE: ue, SUPI: supi, Event: procedure.FromAccess{Message: &n2.UplinkNASTransport{}}, Output: &procedure.Output{Effects: effects}})
	}
	count := func() int {
		t.Helper()
		page, err := tracer.Trace("imsi-208930000000001", time.Minute, false, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries)
	}
	handled(1, "")
	if count() != 0 {
		t.Error("something was kept while nobody looked")
	}
	handled(1, "", procedure.AskChallenge{SUCI: "suci-0-208-93-0-0-0-0000000001"})
	handled(2, "", procedure.AskChallenge{SUCI: "suci-0-208-93-0-0-0-0000000002"})
	handled(2, "imsi-208930000000002")
	if got := count(); got != 2 {
		t.Errorf("%d entries, want what came and the challenge", got)
	}
	handled(1, "")
	handled(1, "imsi-208930000000001")
	if got := count(); got != 4 {
		t.Errorf("%d entries, want two more", got)
	}
}

// Where there is no PCF, what the procedures would ask it is not sent, and not told.
func TestTracingWithoutAPCF(t *testing.T) {
	const supi = "imsi-208930000000001"
	for name, c := range map[string]struct {
		pcf  *npcf.Client
		want int
	}{
		"there is one":  {&npcf.Client{}, 3},
		"there is none": {nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tracer := signalling.New(time.Now)
			s := &Shard{pod: &Pod{Options: Options{Tracer: tracer, PCF: c.pcf}}}
			look := func() int {
				page, err := tracer.Trace(supi, time.Minute, false, 0)
				if err != nil {
					t.Fatal(err)
				}
				return len(page.Entries)
			}
			look()
			s.trace(runner.Handled{SUPI: supi, Event: procedure.Policy{Outcome: procedure.Unsent}, Output: &procedure.Output{
				Effects: []procedure.Effect{procedure.AskPolicy{Operation: procedure.CreatePolicy}, procedure.AskRecording{}},
			}})
			if got := look(); got != c.want {
				t.Errorf("%d entries, want %d", got, c.want)
			}
		})
	}
}
