package subscriberdata

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// identifier matches what differs from run to run.
var identifier = regexp.MustCompile(`(aW1z[\w-]+)?\.[\w-]{16}|[0-9a-f]{32}|AAAAA[\w-]{80,}`)

// query makes a query string of pairs, encoded as free5GC's clients do.
func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return "?" + v.Encode()
}

func TestContract(t *testing.T) {
	const (
		first  = `{"sst":1,"sd":"010203"}`
		second = `{"sst":1,"sd":"abcdef"}`
		third  = `{"sst":1,"sd":"990099"}`
		tai    = `{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}`
	)
	subscribed := func(defaults bool, s ...string) string {
		var b strings.Builder
		for i, x := range s {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(`{"subscribedSnssai":` + x)
			if defaults && i == 0 {
				b.WriteString(`,"defaultIndication":true`)
			}
			b.WriteString("}")
		}
		return `"subscribedNssai":[` + b.String() + `]`
	}
	nssf := "/nnssf-nsselection/v2/network-slice-information"
	forRegistration := func(info string) string {
		return nssf + query("nf-type", "AMF", "nf-id", "x", "slice-info-request-for-registration", "{"+info+"}", "tai", tai)
	}
	forPDUSession := func(snssai string) string {
		return nssf + query("nf-type", "AMF", "nf-id", "x",
			"slice-info-request-for-pdu-session", `{"sNssai":`+snssai+`,"roamingIndication":"NON_ROAMING"}`, "tai", tai)
	}
	// One after the other, on one core: an entry may rest on those before it.
	steps := []struct {
		name, method, path, body string
		wantStatus               int
	}{
		{"ausf authentication", "POST", "/nausf-auth/v1/ue-authentications", `{"supiOrSuci":"` + supiOne + `","servingNetworkName":"` + testSNN + `"}`, 201},

		{"udm nssai", "GET", "/nudm-sdm/v2/" + supiOne + "/nssai" + query("plmn-id", `{"mcc":"208","mnc":"93"}`), "", 200},
		{"udm nssai unknown", "GET", "/nudm-sdm/v2/imsi-001010000000001/nssai", "", 404},
		{"udm am-data", "GET", "/nudm-sdm/v2/" + supiOne + "/am-data" + query("plmn-id", `{"mcc":"208","mnc":"93"}`), "", 200},
		{"udm am-data of one slice", "GET", "/nudm-sdm/v2/" + supiTwo + "/am-data", "", 200},
		{"udm smf-select-data", "GET", "/nudm-sdm/v2/" + supiOne + "/smf-select-data", "", 200},
		{"udm smf-select-data of one slice", "GET", "/nudm-sdm/v2/" + supiTwo + "/smf-select-data", "", 200},
		{"udm sm-data v1", "GET", "/nudm-sdm/v1/" + supiOne + "/sm-data" + query("dnn", "internet", "plmn-id", `{"mcc":"208","mnc":"93"}`, "single-nssai", first), "", 200},
		{"udm sm-data v2", "GET", "/nudm-sdm/v2/" + supiOne + "/sm-data" + query("dnn", "internet", "single-nssai", `{"sst":1,"sd":"ABCDEF"}`), "", 200},
		{"udm sm-data all", "GET", "/nudm-sdm/v2/" + supiOne + "/sm-data", "", 200},
		{"udm sm-data not subscribed slice", "GET", "/nudm-sdm/v1/" + supiTwo + "/sm-data" + query("dnn", "internet", "single-nssai", second), "", 404},
		{"udm sm-data not subscribed DNN", "GET", "/nudm-sdm/v1/" + supiOne + "/sm-data" + query("dnn", "operators", "single-nssai", second), "", 404},
		{"udm sm-data bad query", "GET", "/nudm-sdm/v1/" + supiOne + "/sm-data" + query("single-nssai", "1-010203"), "", 400},
		{"udm ue-context-in-smf-data none", "GET", "/nudm-sdm/v2/" + supiOne + "/ue-context-in-smf-data", "", 200},
		{"udm sdm-subscriptions", "POST", "/nudm-sdm/v2/" + supiOne + "/sdm-subscriptions", `{"nfInstanceId":"x","callbackReference":"","monitoredResourceUris":null,"plmnId":{"mcc":"208","mnc":"93"}}`, 201},
		{"udm sdm-subscriptions unknown", "POST", "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions", `{}`, 404},
		{"udm sdm-subscriptions null", "POST", "/nudm-sdm/v2/" + supiOne + "/sdm-subscriptions", `null`, 400},
		{"udm sdm-subscriptions deletion", "DELETE", "/nudm-sdm/v2/" + supiOne + "/sdm-subscriptions/1", "", 404},

		{"udm amf registration absent", "GET", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", "", 404},
		{"udm amf registration", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", amfRegistration("a", "http://amf/", guamiOne), 201},
		{"udm amf registration again", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", amfRegistration("b", "http://amf/", guamiOne), 200},
		{"udm amf registration read", "GET", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", "", 200},
		{"udm amf registration unknown", "PUT", "/nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access", `{"amfInstanceId":"a"}`, 404},
		{"udm amf registration without amf", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `{}`, 400},
		{"udm amf update", "PATCH", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `{"guami":` + guamiOne + `,"imsVoPs":"HOMOGENEOUS_SUPPORT"}`, 204},
		{"udm amf registration updated", "GET", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", "", 200},
		{"udm amf update null", "PATCH", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `null`, 400},
		{"udm amf purge by another", "PATCH", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `{"guami":` + guamiTwo + `,"purgeFlag":true}`, 403},
		{"udm amf purge", "PATCH", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `{"guami":` + guamiOne + `,"purgeFlag":true}`, 204},
		{"udm amf purge again", "PATCH", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", `{"guami":` + guamiOne + `,"purgeFlag":true}`, 404},
		{"udm amf registration purged", "GET", "/nudm-uecm/v1/" + supiOne + "/registrations/amf-3gpp-access", "", 404},
		{"udm smf registration", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5", `{"smfInstanceId":"s","pduSessionId":5,"singleNssai":` + first + `,"dnn":"internet","plmnId":{"mcc":"208","mnc":"93"}}`, 201},
		{"udm ue-context-in-smf-data", "GET", "/nudm-sdm/v2/" + supiOne + "/ue-context-in-smf-data", "", 200},
		{"udm smf registration again", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5", `{"smfInstanceId":"s","pduSessionId":5,"singleNssai":` + first + `,"dnn":"internet","plmnId":{"mcc":"208","mnc":"93"}}`, 200},
		{"udm smf registration bad session", "PUT", "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/16", `{"smfInstanceId":"s"}`, 400},
		{"udm smf deregistration", "DELETE", "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5", "", 204},
		{"udm smf deregistration again", "DELETE", "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5", "", 404},

		{"udr am-data", "GET", "/nudr-dr/v2/policy-data/ues/" + supiOne + "/am-data", "", 200},
		{"udr am-data unknown", "GET", "/nudr-dr/v2/policy-data/ues/imsi-001010000000001/am-data", "", 404},
		{"udr sm-data", "GET", "/nudr-dr/v2/policy-data/ues/" + supiOne + "/sm-data" + query("snssai", first, "dnn", "internet"), "", 200},
		{"udr sm-data all", "GET", "/nudr-dr/v2/policy-data/ues/" + supiOne + "/sm-data", "", 200},
		{"udr sm-data not subscribed", "GET", "/nudr-dr/v2/policy-data/ues/" + supiTwo + "/sm-data" + query("snssai", second, "dnn", "internet"), "", 404},
		{"udr influenceData", "GET", "/nudr-dr/v2/application-data/influenceData" + query("dnns", "internet", "snssais", "["+first+"]", "supis", supiOne), "", 200},
		{"udr subs-to-notify", "POST", "/nudr-dr/v2/application-data/influenceData/subs-to-notify", `{"dnns":["internet"],"snssais":[` + first + `],"supis":["` + supiOne + `"],"notificationUri":"http://pcf/"}`, 201},
		{"udr subs-to-notify deletion", "DELETE", "/nudr-dr/v2/application-data/influenceData/subs-to-notify/1", "", 404},
		{"udr subs-to-notify deletion without identifier", "DELETE", "/nudr-dr/v2/application-data/influenceData/subs-to-notify/", "", 404},
		{"udr policy-data subs-to-notify", "POST", "/nudr-dr/v2/policy-data/subs-to-notify", `{"notificationUri":"http://pcf/","monitoredResourceUris":["` + "http://udr/nudr-dr/v2/policy-data/ues/" + supiOne + `/sm-data"]}`, 201},

		{"nssf registration", "GET", forRegistration(subscribed(true, first, second) + `,"requestedNssai":[` + second + "," + third + `]`), "", 200},
		{"nssf registration nothing requested", "GET", forRegistration(subscribed(true, first, second)), "", 200},
		{"nssf registration not subscribed", "GET", forRegistration(subscribed(true, first) + `,"requestedNssai":[` + second + `]`), "", 403},
		{"nssf registration outside the catalogue", "GET", forRegistration(subscribed(true, third) + `,"requestedNssai":[` + third + `]`), "", 403},
		{"nssf registration no default", "GET", forRegistration(subscribed(false, first)), "", 403},
		{"nssf pdu session", "GET", forPDUSession(first), "", 200},
		{"nssf pdu session upper case", "GET", forPDUSession(`{"sst":1,"sd":"ABCDEF"}`), "", 200},
		{"nssf pdu session outside the catalogue", "GET", forPDUSession(third), "", 403},
		{"nssf pdu session unknown slice", "GET", forPDUSession(`{"sst":2}`), "", 403},
		{"nssf neither", "GET", nssf + query("nf-type", "AMF", "nf-id", "x", "tai", tai), "", 400},
		{"nssf bad query", "GET", nssf + query("nf-type", "AMF", "nf-id", "x", "tai", tai, "slice-info-request-for-pdu-session", "{"), "", 400},

		{"unknown path", "GET", "/nudm-sdm/v2/" + supiOne + "/trace-data", "", 404},
	}
	c := startCore(t, defaultObjects()...)
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			r := c.do(step.method, step.path, step.body)
			if r.status != step.wantStatus {
				t.Errorf("status %d, want %d: %s", r.status, step.wantStatus, r.body)
			}
			if r.status >= 400 {
				r.cause(t)
			} else if len(r.body) > 0 && r.kind != "application/json" {
				t.Errorf("content type %q", r.kind)
			}
			if r.status == http.StatusCreated && !strings.HasPrefix(r.location, c.uri+"/") {
				t.Errorf("Location %q, want it below %s", r.location, c.uri)
			}
			compareGolden(t, step.name, r, c.uri)
		})
	}
}

// compareGolden compares Location and content with a file.
func compareGolden(t *testing.T, name string, r reply, base string) {
	t.Helper()
	var got bytes.Buffer
	if r.location != "" {
		got.WriteString("Location: " + r.location + "\n")
	}
	if len(r.body) > 0 {
		if err := json.Indent(&got, bytes.TrimSpace(r.body), "", "  "); err != nil {
			t.Fatalf("%s: %v", r.body, err)
		}
		got.WriteString("\n")
	}
	text := identifier.ReplaceAllString(strings.ReplaceAll(got.String(), base, "http://subscriber-data"), "ID")
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// AUTN and HXRES* have as many digits as RAND and are covered by ID.
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/nudm-sdm/v2/" + supiOne + "/nssai", "/nudm-sdm/v1/" + supiOne + "/sm-data?single-nssai=%7B%22sst%22%3A1%7D&dnn=internet",
		"/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5", "/nudr-dr/v2/policy-data/ues//sm-data",
		"/nnssf-nsselection/v2/network-slice-information?slice-info-request-for-registration={}",
		"/nausf-auth/v1/ue-authentications/../5g-aka-confirmation", "/nudm-sdm/v2/imsi-%2f%00/nssai", "//",
	} {
		for i := range 5 {
			f.Add(i, seed, `{"smfInstanceId":"s"}`)
		}
	}
	const asked = "?nf-type=AMF&nf-id=x&tai=%7B%22plmnId%22%3A%7B%22mcc%22%3A%22208%22%2C%22mnc%22%3A%2293%22%7D%2C%22tac%22%3A%22000001%22%7D"
	f.Add(0, "/nnssf-nsselection/v2/network-slice-information"+asked+"&slice-info-request-for-registration={}", "")
	f.Add(0, "/nnssf-nsselection/v1/network-slice-information"+asked+"&slice-info-request-for-pdu-session={}", "")
	f.Add(1, registrationPath(supiOne), amfRegistration("a", "http://amf/", guamiOne))
	f.Add(1, registrationPath(supiOne), amfRegistration("b", "http://other-amf/", guamiTwo))
	f.Add(3, registrationPath(supiOne), `{"guami":`+guamiTwo+`,"backupAmfInfo":[null],"epsInterworkingInfo":{"a":{"b":null}}}`)
	f.Add(2, "/nudm-sdm/v2/"+supiOne+"/sdm-subscriptions", `{"nfInstanceId":"x","callbackReference":"http://amf/","expires":"2026-11-22T12:00:00Z"}`)
	f.Add(2, "/nudr-dr/v2/policy-data/subs-to-notify", `{"notificationUri":"http://pcf/","monitoredResourceUris":["/policy-data/ues/`+supiOne+`"]}`)
	f.Add(2, "/nudr-dr/v2/application-data/influenceData/subs-to-notify", `{"notificationUri":"http://pcf/","snssais":[{"sst":1}]}`)
	c := &fuzzCore{handler: fuzzHandler(f)}
	f.Fuzz(func(t *testing.T, method int, path, body string) {
		c.check(t, []string{"GET", "PUT", "POST", "PATCH", "DELETE"}[uint(method)%5], path, body)
	})
}
