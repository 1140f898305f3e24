package namf

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/free5gc/openapi"
	"github.com/free5gc/openapi/models"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
)

// amf answers with a status and a content, and keeps what it was asked.
type amf struct {
	uri, path, kind string
	content         []byte
	status          int
	header          http.Header
	answer          string
}

func (a *amf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.path, a.kind = r.URL.EscapedPath(), r.Header.Get("Content-Type")
	a.content, _ = io.ReadAll(r.Body)
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.answer)
}

func start(t *testing.T, status int, answer string) (*Client, *amf) {
	t.Helper()
	a := &amf{status: status, answer: answer, header: http.Header{}}
	a.uri = sbitest.Serve(t, a)
	return NewClient(sbitest.Client(t, "AMF", a.uri)), a
}

var (
	n1, n2 = []byte{0x2e, 1, 1, 0xc2}, []byte{0, 0, 4, 0}
	ppi    = uint8(3)
	setup  = &Transfer{
		SUPI: "imsi-208930000000001", SessionID: 1, N1: n1, N2: n2, Kind: SetupRequest, SNSSAI: &ts29571.SNSSAI{SST: 1, SD: "010203"},
		FiveQI: 9, ARP: &ts29571.ARP{Priority: 8}, PPI: &ppi, FailureURI: "http://smf/nsmf-callback/v1/sm-contexts/1/transfer-failure",
		Areas: []ts29571.TAI{{PLMN: ts29571.PLMN{MCC: "208", MNC: "93"}, TAC: "000001"}}, SMFInstanceID: "4d4a2b1e-7b1c-4a5e-9d3f-0a1b2c3d4e5f",
		LastMessage: true, ExtendedBuffering: true, TargetAccess: "3GPP_ACCESS",
	}
)

// What free5GC's AMF makes of a transfer, with the library that it reads it with. That reads 1400 octets of each part.
func TestFree5GCsAMFReadsATransfer(t *testing.T) {
	c, a := start(t, 200, `{"cause":"N1_N2_TRANSFER_INITIATED"}`)
	if _, err := c.Transfer(t.Context(), AMF{}, setup); err != nil {
		t.Fatal(err)
	}
	if a.path != "/namf-comm/v1/ue-contexts/imsi-208930000000001/n1-n2-messages" {
		t.Errorf("path %s", a.path)
	}
	got := models.N1N2MessageTransferRequest{JsonData: new(models.N1N2MessageTransferReqData)}
	if err := openapi.Deserialize(&got, a.content, a.kind); err != nil {
		t.Fatalf("%v: %s", err, a.content)
	}
	plmn := &models.PlmnId{Mcc: "208", Mnc: "93"}
	want := models.N1N2MessageTransferRequest{
		JsonData: &models.N1N2MessageTransferReqData{
			N1MessageContainer: &models.N1MessageContainer{N1MessageClass: models.N1MessageClass_SM, N1MessageContent: &models.RefToBinaryData{ContentId: n1ID}},
			N2InfoContainer: &models.N2InfoContainer{N2InformationClass: models.N2InformationClass_SM, SmInfo: &models.N2SmInformation{
				PduSessionId: 1, SNssai: &models.Snssai{Sst: 1, Sd: "010203"},
				N2InfoContent: &models.N2InfoContent{NgapIeType: models.AmfCommunicationNgapIeType_PDU_RES_SETUP_REQ, NgapData: &models.RefToBinaryData{ContentId: n2ID}},
			}},
			PduSessionId: 1, Ppi: 3, Var5qi: 9, N1n2FailureTxfNotifURI: setup.FailureURI, LastMsgIndication: true, ExtBufSupport: true,
			Arp:          &models.Arp{PriorityLevel: 8, PreemptCap: models.PreemptionCapability_NOT_PREEMPT, PreemptVuln: models.PreemptionVulnerability_NOT_PREEMPTABLE},
			TargetAccess: models.AccessType__3_GPP_ACCESS, NfId: setup.SMFInstanceID, AreaOfValidity: &models.AreaOfValidity{TaiList: []models.Tai{{PlmnId: plmn, Tac: "000001"}}},
		},
		BinaryDataN1Message: n1, BinaryDataN2Information: n2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m, err := sbi.Decode(a.kind, a.content)
	if err != nil || len(m.JSON) > 1400 {
		t.Errorf("%d octets of JSON, %v", len(m.JSON), err)
	}
}

func TestOutcomes(t *testing.T) {
	for sentence, c := range map[string]struct {
		status   int
		location string
		answer   string
		want     Outcome
	}{
		"it has left":                           {200, "", `{"cause":"N1_N2_TRANSFER_INITIATED"}`, Outcome{Initiated, ""}},
		"the UE is paged":                       {202, "/namf-comm/v1/ue-contexts/imsi-1/n1-n2-messages/2", `{"cause":"ATTEMPTING_TO_REACH_UE"}`, Outcome{Reaching, "/namf-comm/v1/ue-contexts/imsi-1/n1-n2-messages/2"}},
		"the UE is paged by free5GC's AMF":      {202, "", `{"headers":{"Location":["http://core5g-amf:8000/1"]},"data":{"cause":"ATTEMPTING_TO_REACH_UE"}}`, Outcome{Reaching, "http://core5g-amf:8000/1"}},
		"the UE sleeps":                         {202, "", `{"cause":"WAITING_FOR_ASYNCHRONOUS_TRANSFER"}`, Outcome{Waiting, ""}},
		"the UE is idle and is not to be paged": {200, "", `{"cause":"N1_MSG_NOT_TRANSFERRED"}`, Outcome{NotTransferred, ""}},
	} {
		t.Run(sentence, func(t *testing.T) {
			cl, a := start(t, c.status, c.answer)
			if c.location != "" {
				a.header.Set("Location", c.location)
				c.want.URI = a.uri + c.location
			}
			got, err := cl.Transfer(t.Context(), AMF{}, setup)
			if err != nil || got != c.want {
				t.Errorf("%+v, %v, want %+v", got, err, c.want)
			}
		})
	}
	for _, answer := range []string{``, `{}`, `[]`, `{"cause":1}`} {
		cl, _ := start(t, 200, answer)
		var unknown *sbi.Unknown
		if got, err := cl.Transfer(t.Context(), AMF{}, setup); !errors.As(err, &unknown) {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
	}
	cl, a := start(t, 200, `{"cause":"N1_N2_TRANSFER_INITIATED"}`)
	var notSent *sbi.NotSent
	if _, err := cl.Transfer(t.Context(), AMF{}, &Transfer{SUPI: "imsi-1"}); !errors.As(err, &notSent) || a.path != "" {
		t.Errorf("neither N1 nor N2: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for sentence, c := range map[string]struct {
		status int
		answer string
		want   Refusal
	}{
		"a UE that is not known":       {404, `{"cause":"CONTEXT_NOT_FOUND","status":404}`, Refusal{Reason: NoContext, Cause: "CONTEXT_NOT_FOUND"}},
		"404 without a word":           {404, ``, Refusal{Reason: NoContext}},
		"a registration":               {409, `{"error":{"status":409,"cause":"TEMPORARY_REJECT_REGISTRATION_ONGOING"},"errInfo":{"retryAfter":2}}`, Refusal{Reason: Temporary, Cause: "TEMPORARY_REJECT_REGISTRATION_ONGOING", RetryAfter: 2 * time.Second}},
		"a handover":                   {409, `{"error":{"status":409,"cause":"TEMPORARY_REJECT_HANDOVER_ONGOING"}}`, Refusal{Reason: Temporary, Cause: "TEMPORARY_REJECT_HANDOVER_ONGOING"}},
		"a paging of higher priority":  {409, `{"error":{"cause":"HIGHER_PRIORITY_REQUEST_ONGOING"},"errInfo":{"highestPrioArp":{"priorityLevel":1,"preemptCap":"MAY_PREEMPT"}}}`, Refusal{Reason: Busy, Cause: "HIGHER_PRIORITY_REQUEST_ONGOING", HighestARP: &ts29571.ARP{Priority: 1, MayPreempt: true}}},
		"an ARP that is none":          {409, `{"error":{"cause":"HIGHER_PRIORITY_REQUEST_ONGOING"},"errInfo":{"highestPrioArp":7}}`, Refusal{Reason: Busy, Cause: "HIGHER_PRIORITY_REQUEST_ONGOING"}},
		"an idle UE":                   {409, `{"error":{"cause":"UE_IN_CM_IDLE_STATE"}}`, Refusal{Reason: Idle, Cause: "UE_IN_CM_IDLE_STATE"}},
		"a UE where it may not be":     {403, `{"error":{"cause":"UE_IN_NON_ALLOWED_AREA"}}`, Refusal{Reason: NotAllowed, Cause: "UE_IN_NON_ALLOWED_AREA"}},
		"a UE that cannot be reached":  {504, `{"error":{"cause":"UE_NOT_REACHABLE"},"errInfo":{"maxWaitingTime":60}}`, Refusal{Reason: Unreachable, Cause: "UE_NOT_REACHABLE", MaxWaiting: time.Minute}},
		"an AMF with too much to do":   {503, `{"cause":"NF_CONGESTION"}`, Refusal{Reason: Congested, Cause: "NF_CONGESTION"}},
		"an AMF that is late":          {504, `{"error":{"status":504,"cause":"TIMED_OUT_REQUEST"}}`, Refusal{Reason: Late, Cause: "TIMED_OUT_REQUEST"}},
		"something that is not served": {501, `{"cause":"NOT_IMPLEMENTED"}`, Refusal{Reason: Other, Cause: "NOT_IMPLEMENTED"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			cl, _ := start(t, c.status, c.answer)
			_, err := cl.Transfer(t.Context(), AMF{}, setup)
			got, ok := RefusalOf(err)
			if diff := cmp.Diff(c.want, got); diff != "" || !ok {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, ok := RefusalOf(&sbi.Unknown{Err: io.EOF}); ok {
		t.Error("nobody knows, and it counts as refused")
	}
	if r := (Failure{Cause: "UE_NOT_RESPONDING"}).Reason(); r != Unreachable {
		t.Errorf("reason %d", r)
	}
}

func TestStatusNotification(t *testing.T) {
	c, a := start(t, 204, ``)
	if err := c.NotifyStatus(t.Context(), a.uri+"/namf-callback/v1/smContextStatus/imsi-1/1", Released("REL_DUE_TO_REACTIVATION")); err != nil {
		t.Fatal(err)
	}
	var got models.SmfPduSessionSmContextStatusNotification
	if err := openapi.Deserialize(&got, a.content, a.kind); err != nil {
		t.Fatal(err)
	}
	want := models.SmfPduSessionSmContextStatusNotification{StatusInfo: &models.StatusInfo{
		ResourceStatus: models.ResourceStatus_RELEASED, Cause: models.SmfPduSessionCause_REL_DUE_TO_REACTIVATION,
	}}
	if diff := cmp.Diff(want, got); diff != "" || a.path != "/namf-callback/v1/smContextStatus/imsi-1/1" {
		t.Errorf("%s (-want +got):\n%s", a.path, diff)
	}
	a.status, a.answer = 404, `{"cause":"CONTEXT_NOT_FOUND"}`
	if r, ok := RefusalOf(c.NotifyStatus(t.Context(), a.uri+"/1", Released(""))); !ok || r.Reason != NoContext {
		t.Errorf("%+v", r)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"headers":{"Location":["x"]},"data":{"cause":"ATTEMPTING_TO_REACH_UE"}}`), []byte(`{"error":{"cause":"X"},"errInfo":{"retryAfter":1,"highestPrioArp":{"priorityLevel":1}}}`))
	f.Fuzz(func(t *testing.T, content, notification []byte) {
		r, ok := RefusalOf(&sbi.Refused{Status: 409, Message: sbi.Message{JSON: content}})
		if !ok || r.RetryAfter < 0 || r.MaxWaiting < 0 || r.HighestARP != nil && (r.HighestARP.Priority < 1 || r.HighestARP.Priority > 15) {
			t.Errorf("%+v", r)
		}
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(notification))
		if got, err := ReadFailure(req); err == nil && (got.Cause == "" || got.RetryAfter < 0) {
			t.Errorf("%+v", got)
		}
	})
}
