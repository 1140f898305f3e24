package nchf

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/openapi/models"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
)

// chf answers each request with what stands under its path.
type chf struct {
	uri     string
	answers map[string]answer
	asked   map[string][]byte
}

type answer struct {
	status   int
	location string
	content  string
}

func (c *chf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked[r.URL.Path], _ = io.ReadAll(r.Body)
	a, ok := c.answers[r.URL.Path]
	if !ok {
		a = answer{status: 404, content: `{"cause":"CHARGING_REFERENCE_NOT_FOUND"}`}
	}
	if a.location != "" {
		w.Header().Set("Location", c.uri+a.location)
	}
	if a.content != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.content)
}

func start(t *testing.T, answers map[string]answer) (*Client, *chf) {
	t.Helper()
	h := &chf{answers: answers, asked: map[string][]byte{}}
	h.uri = sbitest.Serve(t, h)
	return NewClient(sbitest.Client(t, "CHF", h.uri)), h
}

var (
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	home = ts29571.PLMN{MCC: "208", MNC: "93"}
)

func report() *Report {
	return &Report{
		SUPI: "imsi-208930000000001", GPSI: "msisdn-1", PEI: "imeisv-1", SMFName: "smf-1", Time: noon, Sequence: 2, Again: true, NotifyURI: "http://smf/charging",
		ChargingID: 7, Triggers: []Trigger{{Type: "VOLUME_LIMIT", Category: "IMMEDIATE_REPORT"}},
		Session: Session{
			ID: 1, SNSSAI: ts29571.SNSSAI{SST: 1, SD: "010203"}, DNN: "internet", Type: "IPV4V6", RAT: "NR", ServingNetwork: home, HomeNetwork: home,
			AMFID: "amf-1", ChargingCharacteristics: "0800", TimeZone: "+00:00", IPv4: netip.MustParseAddr("10.45.0.2"), IPv6: netip.MustParsePrefix("2001:db8::/64"),
			AMBR: &ts29571.AMBR{Uplink: 1e9, Downlink: 2e9}, FiveQI: 9, ARP: &ts29571.ARP{Priority: 8}, Start: noon,
			Location: &ts29571.Location{TAI: ts29571.TAI{PLMN: home, TAC: "000001"}, Cell: 1, CellPLMN: home},
		},
		Usage: []Usage{{
			RatingGroup: 3, Request: &Units{}, UPFID: "upf-1",
			Used: []Used{{
				Units: Units{Seconds: 10, Total: 300, Uplink: 100, Downlink: 200}, Online: true, At: noon, First: noon, Last: noon, Sequence: 4,
				Triggers: []Trigger{{Type: "QUOTA_EXHAUSTED", Category: "IMMEDIATE_REPORT"}},
			}},
		}},
	}
}

// What free5GC's CHF makes of a report, with a generation of the library that it reads it with.
func TestFree5GCsCHFReadsAReport(t *testing.T) {
	c, h := start(t, map[string]answer{collection: {201, collection + "/1", `{"invocationTimeStamp":"2026-11-22T12:00:00Z","invocationSequenceNumber":2}`}})
	made, err := c.Create(t.Context(), CHF{}, report())
	if err != nil || made.URI != h.uri+collection+"/1" || made.Answer.Sequence != 2 || made.Answer.Quotas != nil {
		t.Fatalf("%+v, %v", made, err)
	}
	var got models.ChfConvergedChargingChargingDataRequest
	if err := json.Unmarshal(h.asked[collection], &got); err != nil {
		t.Fatal(err)
	}
	plmn := &models.PlmnId{Mcc: "208", Mnc: "93"}
	trigger := func(kind models.ChfConvergedChargingTriggerType) []models.ChfConvergedChargingTrigger {
		return []models.ChfConvergedChargingTrigger{{TriggerType: kind, TriggerCategory: models.TriggerCategory_IMMEDIATE_REPORT}}
	}
	want := models.ChfConvergedChargingChargingDataRequest{
		SubscriberIdentifier: "imsi-208930000000001", ChargingId: 7, InvocationTimeStamp: &noon, InvocationSequenceNumber: 2, RetransmissionIndicator: true,
		NotifyUri:                "http://smf/charging",
		NfConsumerIdentification: &models.ChfConvergedChargingNfIdentification{NFName: "smf-1", NodeFunctionality: models.ChfConvergedChargingNodeFunctionality_SMF},
		Triggers:                 trigger("VOLUME_LIMIT"),
		MultipleUnitUsage: []models.ChfConvergedChargingMultipleUnitUsage{{
			RatingGroup: 3, RequestedUnit: &models.RequestedUnit{}, UPFID: "upf-1",
			UsedUnitContainer: []models.ChfConvergedChargingUsedUnitContainer{{
				QuotaManagementIndicator: models.QuotaManagementIndicator_ONLINE_CHARGING, Triggers: trigger("QUOTA_EXHAUSTED"), TriggerTimestamp: &noon,
				Time: 10, TotalVolume: 300, UplinkVolume: 100, DownlinkVolume: 200, LocalSequenceNumber: 4,
				PDUContainerInformation: &models.ChfConvergedChargingPduContainerInformation{TimeofFirstUsage: &noon, TimeofLastUsage: &noon},
			}},
		}},
		PDUSessionChargingInformation: &models.ChfConvergedChargingPduSessionChargingInformation{
			ChargingId: 7, UetimeZone: "+00:00", UserInformation: &models.ChfConvergedChargingUserInformation{ServedGPSI: "msisdn-1", ServedPEI: "imeisv-1"},
			UserLocationinfo: &models.UserLocation{NrLocation: &models.NrLocation{Tai: &models.Tai{PlmnId: plmn, Tac: "000001"}, Ncgi: &models.Ncgi{PlmnId: plmn, NrCellId: "000000001"}}},
			PduSessionInformation: &models.ChfConvergedChargingPduSessionInformation{
				NetworkSlicingInfo: &models.NetworkSlicingInfo{SNSSAI: &models.Snssai{Sst: 1, Sd: "010203"}}, PduSessionID: 1, PduType: models.PduSessionType_IPV4_V6,
				SscMode: models.SscMode__1, HPlmnId: plmn, ServingCNPlmnId: plmn, RatType: models.RatType_NR, DnnId: "internet", ChargingCharacteristics: "0800", StartTime: &noon,
				ServingNetworkFunctionID: &models.ChfConvergedChargingServingNetworkFunctionId{
					ServingNetworkFunctionInformation: &models.ChfConvergedChargingNfIdentification{NFName: "amf-1", NodeFunctionality: models.ChfConvergedChargingNodeFunctionality_AMF},
				},
				PduAddress:               &models.ChfConvergedChargingPduAddress{PduIPv4Address: "10.45.0.2", PduIPv6AddresswithPrefix: "2001:db8::/64", PduAddressprefixlength: 64},
				AuthorizedQoSInformation: &models.AuthorizedDefaultQos{Var5qi: 9, Arp: &models.Arp{PriorityLevel: 8, PreemptCap: "NOT_PREEMPT", PreemptVuln: "NOT_PREEMPTABLE"}},
				AuthorizedSessionAMBR:    &models.Ambr{Uplink: "1 Gbps", Downlink: "2 Gbps"},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuotas(t *testing.T) {
	c, h := start(t, map[string]answer{collection + "/1/update": {200, "", `{"invocationSequenceNumber":3,"sessionFailover":"FAILOVER_SUPPORTED","triggers":[{"triggerType":"TIME_LIMIT","triggerCategory":"DEFERRED_REPORT","timeLimit":60}],
		"multipleUnitInformation":[
		{"resultCode":"SUCCESS","ratingGroup":3,"grantedUnit":{"time":60,"totalVolume":5000000000,"tariffTimeChange":"2026-11-22T12:00:00Z"},"validityTime":120,"quotaHoldingTime":30,"timeQuotaThreshold":6,"volumeQuotaThreshold":1000,
		 "finalUnitIndication":{"finalUnitAction":"REDIRECT","redirectServer":{"redirectServerAddress":"http://top-up"}},"triggers":[{"triggerType":"VOLUME_LIMIT","triggerCategory":"IMMEDIATE_REPORT","volumeLimit64":7}],"uPFID":"u"},
		{"resultCode":"QUOTA_LIMIT_REACHED","ratingGroup":4},{"resultCode":"QUOTA_MANAGEMENT_NOT_APPLICABLE","ratingGroup":5}]}`}})
	got, err := c.Update(t.Context(), CHF{}, h.uri+collection+"/1", report())
	want := Answer{
		Sequence: 3, Failover: true, Triggers: []Trigger{{Type: "TIME_LIMIT", Category: "DEFERRED_REPORT", Time: 60}},
		Quotas: []Quota{
			{
				RatingGroup: 3, Result: "SUCCESS", Granted: &Units{Seconds: 60, Total: 5_000_000_000}, TariffChange: noon, Validity: 2 * time.Minute, Holding: 30 * time.Second,
				TimeThreshold: 6 * time.Second, VolumeThreshold: 1000, Final: "REDIRECT", Redirect: "http://top-up",
				Triggers: []Trigger{{Type: "VOLUME_LIMIT", Category: "IMMEDIATE_REPORT", Volume: 7}}, UPFID: "u",
			},
			{RatingGroup: 4, Result: "QUOTA_LIMIT_REACHED"}, {RatingGroup: 5, Result: "QUOTA_MANAGEMENT_NOT_APPLICABLE"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	for n, blocked := range []bool{false, true, false} {
		if got.Quotas[n].Blocked() != blocked {
			t.Errorf("%+v", got.Quotas[n])
		}
	}
	var refused *sbi.Refused
	if _, err := c.Update(t.Context(), CHF{}, h.uri+collection+"/2", report()); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("%v", err)
	}
	h.answers[collection+"/1/update"] = answer{200, "", `{"invocationResult":{"error":{"cause":"CHARGING_FAILED"},"failureHandling":"CONTINUE"}}`}
	if got, err := c.Update(t.Context(), CHF{}, h.uri+collection+"/1", report()); err != nil || got.Error != "CHARGING_FAILED" || got.Handling != "CONTINUE" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{``, `[]`, `{"multipleUnitInformation":{}}`, `{"multipleUnitInformation":[{"ratingGroup":-1}]}`} {
		h.answers[collection+"/1/update"] = answer{200, "", bad}
		var unknown *sbi.Unknown
		if got, err := c.Update(t.Context(), CHF{}, h.uri+collection+"/1", report()); !errors.As(err, &unknown) {
			t.Errorf("%s: %+v, %v", bad, got, err)
		}
	}
}

func TestRelease(t *testing.T) {
	for sentence, c := range map[string]struct {
		answer    answer
		wantError bool
	}{
		"done":                          {answer{204, "", ``}, false},
		"done by free5GC's CHF":         {answer{400, "", ``}, false},
		"there is nothing any more":     {answer{404, "", `{"cause":"CHARGING_REFERENCE_NOT_FOUND"}`}, false},
		"a report that cannot be read":  {answer{400, "", `{"cause":"INVALID_MSG_FORMAT"}`}, true},
		"a CHF that has too much to do": {answer{503, "", ``}, true},
	} {
		cl, h := start(t, map[string]answer{collection + "/1/release": c.answer})
		if err := cl.Release(t.Context(), CHF{}, h.uri+collection+"/1", report()); (err != nil) != c.wantError {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestNotifications(t *testing.T) {
	for in, want := range map[string]*Notification{
		`{"notificationType":"REAUTHORIZATION"}`:                                                 {},
		`{"notificationType":"","reauthorizationDetails":[{"ratingGroup":3},{"ratingGroup":4}]}`: {RatingGroups: []uint32{3, 4}},
		`{"reauthorizationDetails":[{"ratingGroup":3},{}]}`:                                      {},
		`{"notificationType":"ABORT_CHARGING"}`:                                                  {Abort: true},
		`{"notificationType":"SOMETHING"}`:                                                       nil,
		`{"reauthorizationDetails":{}}`:                                                          nil,
		`[]`:                                                                                     nil,
	} {
		got, err := ReadNotification(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(in)))
		if want == nil {
			if err == nil {
				t.Errorf("%s: %+v", in, got)
			}
			continue
		}
		if diff := cmp.Diff(*want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"invocationSequenceNumber":3,"multipleUnitInformation":[{"resultCode":"SUCCESS","ratingGroup":3,"grantedUnit":{"totalVolume":1},"validityTime":120,"finalUnitIndication":{"finalUnitAction":"TERMINATE"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := decodeAnswer(raw)
		if err != nil {
			return
		}
		for _, q := range a.Quotas {
			if q.Validity < 0 || q.Holding < 0 || q.TimeThreshold < 0 {
				t.Errorf("%+v", q)
			}
		}
	})
}
