package npcf

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/free5gc/openapi"
	"github.com/free5gc/openapi/models"
	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
)

// pcf answers with a status and a content, and keeps what it was asked.
type pcf struct {
	uri      string
	asked    string
	content  []byte
	status   int
	location string
	answer   string
}

func (p *pcf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = r.Method + " " + r.URL.Path
	p.content, _ = io.ReadAll(r.Body)
	if p.location != "" {
		w.Header().Set("Location", p.location)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.status)
	_, _ = io.WriteString(w, p.answer)
}

func start(t *testing.T) (*Client, *pcf) {
	t.Helper()
	p := &pcf{}
	p.uri = sbitest.Serve(t, p)
	return NewClient(sbitest.Client(t, "PCF", p.uri)), p
}

var (
	plmn = ts29571.PLMN{MCC: "208", MNC: "93"}
	ambr = &ts29571.AMBR{Uplink: 1e9, Downlink: 2e9}
	ue   = &UE{
		NotificationURI: "http://amf:8000/namf-callback/v1/1/policy", SUPI: "imsi-208930000000001", GPSI: "msisdn-1", PEI: "imei-1", Access: "3GPP_ACCESS", RAT: "NR",
		TimeZone: "+00:00", Serving: &plmn, GUAMI: &ts29571.GUAMI{PLMN: plmn, AMFID: "cafe00"}, RFSP: 7, AMBR: ambr, Allowed: []ts29571.SNSSAI{{SST: 1}}, Features: "0",
	}
)

// What free5GC's PCF makes of a request, with the library that it reads it with, and what of its answer is understood.
func TestAssociation(t *testing.T) {
	c, p := start(t)
	p.status, p.location = 201, path+"/imsi-208930000000001-1"
	p.answer = `{"request":null,"triggers":["LOC_CH","PRA_CH"],"servAreaRes":{"restrictionType":"ALLOWED_AREAS","areas":[{"tacs":["000001"]}]},"rfsp":9,"suppFeat":"0"}`
	at, d, err := c.Create(t.Context(), ue)
	if err != nil {
		t.Fatal(err)
	}
	want := Decision{
		Triggers: []Trigger{LocationChange, PresenceChange}, RFSP: 9,
		ServiceArea: &ts29571.ServiceArea{Kind: "ALLOWED_AREAS", Areas: []ts29571.Area{{TACs: []string{"000001"}}}},
	}
	if diff := cmp.Diff(want, d); diff != "" || at.URI != p.uri+p.location || !d.Wants(LocationChange) || d.Wants(AMBRChange) {
		t.Errorf("%+v (-want +got):\n%s", at, diff)
	}
	var got models.PcfAmPolicyControlPolicyAssociationRequest
	if err := openapi.Deserialize(&got, p.content, "application/json"); err != nil {
		t.Fatalf("%v: %s", err, p.content)
	}
	if got.Supi != ue.SUPI || got.NotificationUri != ue.NotificationURI || got.Guami.AmfId != "cafe00" || got.Rfsp != 7 || got.AllowedSnssais[0].Sst != 1 || got.ServingPlmn.Mcc != "208" {
		t.Errorf("%+v", got)
	}

	p.status, p.answer = 200, `{"resourceUri":"x","triggers":null,"ueAmbr":{"uplink":"1 Mbps","downlink":"1 Mbps"}}`
	change, at, err := c.Update(t.Context(), at, &Change{Triggers: []Trigger{LocationChange}, Location: &ts29571.Location{TAI: ts29571.TAI{PLMN: plmn, TAC: "000002"}}})
	if err != nil || p.asked != "POST "+p.location+"/update" || !strings.Contains(string(p.content), `"triggers":["LOC_CH"],"userLoc":{"nrLocation"`) {
		t.Errorf("%s %s: %v", p.asked, p.content, err)
	}
	want.Triggers, want.AMBR = nil, &ts29571.AMBR{Uplink: 1e6, Downlink: 1e6}
	if diff := cmp.Diff(want, d.Merge(change)); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if d = d.Merge(Decision{Removed: []string{"servAreaRes", "rfsp", "ueAmbr"}}); d.ServiceArea != nil || d.RFSP != 0 || d.AMBR != nil || !d.Wants(PresenceChange) {
		t.Errorf("%+v", d)
	}

	p.status, p.answer = 204, ""
	if change, _, err := c.Update(t.Context(), at, &Change{}); err != nil || !cmp.Equal(change, Decision{}) {
		t.Errorf("nothing to say: %+v, %v", change, err)
	}
	if err := c.Delete(t.Context(), at); err != nil || p.asked != "DELETE "+p.location {
		t.Errorf("%s: %v", p.asked, err)
	}
	p.status, p.answer = 404, `{"cause":"CONTEXT_NOT_FOUND"}`
	if err := c.Delete(t.Context(), at); err != nil {
		t.Errorf("what has ended: %v", err)
	}
	if _, _, err := c.Update(t.Context(), at, &Change{}); !Gone(err) {
		t.Errorf("a PCF that has forgotten: %v", err)
	}
	p.status, p.answer = 500, `{}`
	if err := c.Delete(t.Context(), at); err == nil || Gone(err) {
		t.Errorf("%v", err)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	c, p := start(t)
	for answer, want := range map[string]string{`[]`: "", `{"rfsp":257}`: "1 to 256", `{"triggers":"x"}`: "triggers", `{"ueAmbr":{"uplink":"fast"}}`: "no bit rate"} {
		p.status, p.location, p.answer = 201, path+"/1", answer
		var unknown *sbi.Unknown
		if _, _, err := c.Create(t.Context(), ue); !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", answer, err)
		}
	}
	p.location, p.answer = "", "{}"
	if _, _, err := c.Create(t.Context(), ue); err == nil || !strings.Contains(err.Error(), "no Location") {
		t.Errorf("no Location: %v", err)
	}
}

func post(content string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/", strings.NewReader(content))
}

func TestNotifications(t *testing.T) {
	d, err := ReadUpdate(post(`{"resourceUri":"x","rfsp":3,"servAreaRes":null}`))
	if diff := cmp.Diff(Decision{RFSP: 3, Removed: []string{"servAreaRes"}}, d); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if e, err := ReadTermination(post(`{"resourceUri":"x","cause":"UE_SUBSCRIPTION"}`)); err != nil || e != (Termination{"x", "UE_SUBSCRIPTION"}) {
		t.Errorf("%+v, %v", e, err)
	}
	var problem *sbi.Problem
	if _, err := ReadUpdate(post(`{"rfsp":"x"}`)); !errors.As(err, &problem) || problem.Status != 400 {
		t.Errorf("%v", err)
	}
	if _, err := ReadTermination(post(`{}`)); !errors.As(err, &problem) || problem.Cause != "MANDATORY_IE_MISSING" {
		t.Errorf("%v", err)
	}
}

func FuzzDecision(f *testing.F) {
	f.Add([]byte(`{"triggers":["LOC_CH"],"servAreaRes":{"areas":[{"tacs":["1"]}]},"rfsp":9,"ueAmbr":null,"cause":"X"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		request := func() *http.Request { return httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(raw)) }
		d, err := ReadUpdate(request())
		if err == nil {
			if merged := (Decision{}).Merge(d); merged.RFSP > 256 || merged.RFSP != d.RFSP {
				t.Errorf("%+v", merged)
			}
		}
		if e, err := ReadTermination(request()); err == nil && e.Cause == "" {
			t.Errorf("%+v", e)
		}
	})
}
