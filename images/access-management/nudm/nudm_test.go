package nudm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	shared "core5g.dev/core5g/images/session-management/nudm"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
	"core5g.dev/core5g/images/subscriber-data/udm"
)

const (
	supi      = "imsi-208930000000001"
	manifests = `
apiVersion: core5g.dev/v1alpha1
kind: Core5G
metadata: {name: core5g}
spec:
  plmns: [{mcc: "208", mnc: "93"}]
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: internet}
spec:
  snssai: {sst: 1, sd: "010203"}
  dataNetworks: [{dnn: internet, uePools: [10.45.0.0/16]}, {dnn: ims, uePools: [10.46.0.0/16]}]
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: hexadecimal}
spec:
  snssai: {sst: 22}
  dataNetworks: [{dnn: late, uePools: [10.47.0.0/16]}]
---
apiVersion: core5g.dev/v1alpha1
kind: Slice
metadata: {name: decimal}
spec:
  snssai: {sst: 16}
  dataNetworks: [{dnn: early, uePools: [10.48.0.0/16]}]
---
apiVersion: core5g.dev/v1alpha1
kind: Subscriber
metadata: {name: ue}
spec:
  supi: imsi-208930000000001
  gpsi: msisdn-33612345678
  ambr: {uplink: 1 Mbps, downlink: 2 Mbps}
  authentication: {secretRef: {name: keys}}
  slices: [{name: internet}, {name: decimal}, {name: hexadecimal, default: true}]
`
)

var (
	home  = ts29571.PLMN{MCC: "208", MNC: "93"}
	first = ts29571.SNSSAI{SST: 1, SD: "010203"}
	guami = ts29571.GUAMI{PLMN: home, AMFID: "cafe00"}
	other = ts29571.GUAMI{PLMN: home, AMFID: "cafe40"}
)

// start is a client of core5g's own UDM, with one subscriber, and what SMFs ask it.
func start(t *testing.T) (*Client, *shared.Client) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subscribers.yaml")
	if err := os.WriteFile(path, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := subscription.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	router := sbi.NewRouter(log, registry)
	udm.New(subscription.NewDirectory(file), records.InMemory(), sbitest.Transport(t), log, registry).Register(router)
	c := client(t, router)
	return NewClient(c), shared.NewClient(c)
}

func client(t *testing.T, h http.Handler) *sbi.Client {
	t.Helper()
	return sbitest.Client(t, "UDM", sbitest.Serve(t, h))
}

func TestDataOfOurUDM(t *testing.T) {
	c, smf := start(t)
	err := smf.Register(t.Context(), supi, shared.Registration{SMFInstanceID: "a", SessionID: 5, SNSSAI: first, DNN: "internet", PLMN: home})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Everything(t.Context(), supi, home)
	want := &Everything{
		AccessAndMobility: &AccessAndMobility{
			GPSIs: []string{"msisdn-33612345678"}, AMBR: &ts29571.AMBR{Uplink: 1e6, Downlink: 2e6},
			NSSAI: NSSAI{Default: []ts29571.SNSSAI{{SST: 22}}, Others: []ts29571.SNSSAI{first, {SST: 16}}},
		},
		Selection: Selection{
			first: {{"internet", true}, {"ims", false}}, {SST: 16}: {{"early", true}}, {SST: 22}: {{"late", true}},
		},
		Sessions: map[uint8]Session{5: {SMFInstanceID: "a", DNN: "internet", PLMN: home, SNSSAI: &first}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}

	// One by one, it is the same.
	var one Everything
	var errs [4]error
	one.AccessAndMobility, errs[0] = c.AccessAndMobility(t.Context(), supi, home)
	one.Selection, errs[1] = c.Selection(t.Context(), supi, home)
	delete(one.Selection, ts29571.SNSSAI{SST: 10}) // free5GC's key of 16
	one.Sessions, errs[2] = c.Sessions(t.Context(), supi)
	nssai, err := c.NSSAI(t.Context(), supi, home)
	errs[3] = err
	if diff := cmp.Diff(want, &one) + cmp.Diff(want.AccessAndMobility.NSSAI, nssai); diff != "" || errors.Join(errs[:]...) != nil {
		t.Errorf("%v (-want +got):\n%s", errs, diff)
	}
	if _, err := c.Everything(t.Context(), "imsi-208930000000009", home); !NotSubscribed(err) {
		t.Errorf("nobody: %v", err)
	}

	s := got.Selection
	if s.Default(first) != "internet" || s.Default(ts29571.SNSSAI{SST: 9}) != "" || !s.Allows(first, "IMS") || s.Allows(first, "late") {
		t.Errorf("%+v", s)
	}
	if !nssai.Has(first) || !nssai.Has(ts29571.SNSSAI{SST: 22}) || nssai.Has(ts29571.SNSSAI{SST: 1}) {
		t.Errorf("%+v", nssai)
	}
}

func TestRegistrationsAtOurUDM(t *testing.T) {
	c, _ := start(t)
	r := Registration{AMFInstanceID: "a", GUAMI: guami, DeregistrationURI: "http://amf:8000/x", RAT: "NR", Initial: true, Backup: []Backup{{Name: "b", GUAMIs: []ts29571.GUAMI{other}}}, Time: time.Now()}
	for range 2 {
		if err := c.Register(t.Context(), supi, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Modify(t.Context(), supi, Modification{GUAMI: guami, PEI: "imei-1"}); err != nil {
		t.Error(err)
	}
	// Another AMF has it: the purge of the first changes nothing, and that is no failure of the first.
	r.AMFInstanceID, r.GUAMI = "b", other
	if err := c.Register(t.Context(), supi, r); err != nil {
		t.Fatal(err)
	}
	if err := c.Purge(t.Context(), supi, guami, time.Time{}); err != nil {
		t.Errorf("the AMF before: %v", err)
	}
	if err := c.Modify(t.Context(), supi, Modification{GUAMI: guami}); !ServedElsewhere(err) {
		t.Errorf("the AMF before: %v", err)
	}
	if err := c.Modify(t.Context(), supi, Modification{GUAMI: other}); err != nil {
		t.Errorf("the registration went with the purge of another AMF: %v", err)
	}
	r.Time = time.UnixMilli(1_800_000_000_007).UTC()
	if err := c.Register(t.Context(), supi, r); err != nil {
		t.Fatal(err)
	}
	if err := c.Purge(t.Context(), supi, other, r.Time.Add(-time.Millisecond)); err != nil {
		t.Errorf("of the registration before: %v", err)
	}
	if err := c.Modify(t.Context(), supi, Modification{GUAMI: other}); err != nil {
		t.Errorf("the registration went with the purge of the one before: %v", err)
	}
	for range 2 { // again, it has ended
		if err := c.Purge(t.Context(), supi, other, r.Time); err != nil {
			t.Error(err)
		}
	}
	if err := c.Register(t.Context(), "imsi-208930000000009", r); !NotSubscribed(err) {
		t.Errorf("nobody: %v", err)
	}
	if NotSubscribed(&sbi.Unknown{Err: io.EOF}) || ServedElsewhere(io.EOF) {
		t.Error("nobody knows, and it counts as refused")
	}
}

func TestSubscriptionsAtOurUDM(t *testing.T) {
	c, _ := start(t)
	uri, err := c.Subscribe(t.Context(), Subscription{
		SUPI: supi, AMFInstanceID: "a", CallbackURI: "http://amf:8000/x", Serving: home, Expires: time.Now().Add(time.Hour),
	})
	if err != nil || !strings.Contains(uri, "/nudm-sdm/v2/"+supi+"/sdm-subscriptions/") {
		t.Fatalf("%q, %v", uri, err)
	}
	for range 2 {
		if err := c.Unsubscribe(t.Context(), uri); err != nil {
			t.Error(err)
		}
	}
}

const all = `{"amData":{"subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"2 Gbps"},"nssai":{"defaultSingleNssais":[{"sst":1}],"singleNssais":[{"sst":1,"sd":"ABCDEF"}]},"ratRestrictions":["EUTRA"],
	"forbiddenAreas":[{"tacs":["000001"]}],"serviceAreaRestriction":{"restrictionType":"NOT_ALLOWED_AREAS","areas":[{"areaCode":"north"}],"maxNumOfTAs":3},
	"rfspIndex":256,"subsRegTimer":3600,"activeTime":10,"micoAllowed":true},
	"smfSelData":{"subscribedSnssaiInfos":{"1":{"dnnInfos":[{"dnn":"*"}]},"01":{"dnnInfos":[{"dnn":"x"}]},"1-ABCDEF":{"dnnInfos":[{"dnn":"internet","defaultDnnIndicator":true}]}}}}`

func TestDataOfOtherUDMs(t *testing.T) {
	got, err := readEverything(sbi.Message{JSON: []byte(all)})
	want := &Everything{
		AccessAndMobility: &AccessAndMobility{
			AMBR: &ts29571.AMBR{Uplink: 1e9, Downlink: 2e9}, NSSAI: NSSAI{Default: []ts29571.SNSSAI{{SST: 1}}, Others: []ts29571.SNSSAI{{SST: 1, SD: "abcdef"}}}, ForbiddenRATs: []string{"EUTRA"},
			ForbiddenAreas: []ts29571.Area{{TACs: []string{"000001"}}},
			ServiceArea:    &ts29571.ServiceArea{Kind: "NOT_ALLOWED_AREAS", Areas: []ts29571.Area{{Code: "north"}}, MaxTAs: 3},
			RFSP:           256, PeriodicRegistration: time.Hour, ActiveTime: 10 * time.Second, MICO: true,
		},
		Selection: Selection{{SST: 1}: {{"*", false}}, {SST: 1, SD: "abcdef"}: {{"internet", true}}},
		Sessions:  map[uint8]Session{},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if !got.Selection.Allows(ts29571.SNSSAI{SST: 1}, "anything") || got.Selection.Default(ts29571.SNSSAI{SST: 1}) != "" {
		t.Error("* is not every DNN, or is one")
	}
	for in, want := range map[string]string{
		`{}`:                             "no amData",
		`{"amData":[]}`:                  "amData",
		`{"amData":{"rfspIndex":257}}`:   "1 to 256",
		`{"amData":{"subsRegTimer":-1}}`: "subsRegTimer",
		`{"amData":{},"uecSmfData":{"pduSessions":{"16":{}}}}`:                                           "no PDU session identity",
		`{"amData":{},"uecSmfData":{"pduSessions":{"1":{"plmnId":{"mcc":"2"}}}}}`:                        "three digits",
		`{"amData":{},"smfSelData":{"subscribedSnssaiInfos":{"1":{"dnnInfos":[{"dnn":1}]}}}}`:            "must not be",
		`{"amData":{"nssai":{"defaultSingleNssais":[{"sst":256}]}},"smfSelData":null,"uecSmfData":null}`: "0 to 255",
	} {
		if got, err := readEverything(sbi.Message{JSON: []byte(in)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", in, got, err, want)
		}
	}
}

func TestKeysOfSlices(t *testing.T) {
	for key, want := range map[string]ts29571.SNSSAI{"1": {SST: 1}, "255": {SST: 255}, "1-010203": first, "1-ABCDEF": {SST: 1, SD: "abcdef"}, "2-ffffff": {SST: 2}} {
		if got, ok := sliceOf(key); !ok || got != want {
			t.Errorf("%s: %v, %v", key, got, ok)
		}
	}
	for _, key := range []string{"", "01", "256", "01010203", "1-", "1-0102", "1-+10203", "-010203", "x"} {
		if got, ok := sliceOf(key); ok {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func request(content string) *http.Request {
	return httptest.NewRequest(http.MethodPost, "/", strings.NewReader(content))
}

func TestCallbacks(t *testing.T) {
	got, err := ReadDeregistration(request(`{"deregReason":"SUBSCRIPTION_WITHDRAWN","accessType":"3GPP_ACCESS","oldGuami":{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe00"}}`))
	if diff := cmp.Diff(Deregistration{"SUBSCRIPTION_WITHDRAWN", "3GPP_ACCESS", &guami}, got); diff != "" || err != nil || !got.Withdrawn() {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if d, err := ReadDeregistration(request(`{"deregReason":"UE_INITIAL_REGISTRATION","accessType":"3GPP_ACCESS"}`)); err != nil || d.Withdrawn() {
		t.Errorf("%+v, %v", d, err)
	}
	for _, in := range []string{`{}`, `{"deregReason":"","accessType":"3GPP_ACCESS"}`, `{"deregReason":"X"}`, `[]`} {
		var problem *sbi.Problem
		if d, err := ReadDeregistration(request(in)); !errors.As(err, &problem) || problem.Status != 400 {
			t.Errorf("%s: %+v, %v", in, d, err)
		}
	}
	if c, err := ReadChange(request(`{"notifyItems":[{"resourceId":"x/am-data"}]}`)); err != nil || len(c.Resources) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func FuzzEverything(f *testing.F) {
	f.Add([]byte(all))
	f.Add([]byte(`{"amData":{"gpsis":["msisdn-1"]},"uecSmfData":{"pduSessions":{"1":{"smfInstanceId":"x","dnn":"y","plmnId":{"mcc":"208","mnc":"93"}}}}}`))
	f.Add([]byte(`{"deregReason":"SUBSCRIPTION_WITHDRAWN","accessType":"3GPP_ACCESS"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if d, err := ReadDeregistration(httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(raw))); err == nil && (d.Reason == "" || d.Access == "") {
			t.Errorf("%+v", d)
		}
		got, err := readEverything(sbi.Message{JSON: raw})
		if err != nil {
			return
		}
		for id := range got.Sessions {
			if id < 1 || id > 15 {
				t.Errorf("session %d", id)
			}
		}
		a := got.AccessAndMobility
		if a.RFSP > 256 || a.PeriodicRegistration < 0 || a.PeriodicRegistration > maxTimer || a.ActiveTime < 0 {
			t.Errorf("%+v", a)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Error(err)
		}
	})
}
