package subscriberdata

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

const (
	guamiOne = `{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe00"}`
	guamiTwo = `{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe40"}`
)

func amfRegistration(instance, callback, guami string) string {
	return `{"amfInstanceId":"` + instance + `","deregCallbackUri":"` + callback + `","guami":` + guami + `,"initialRegistrationInd":true,"ratType":"NR"}`
}

func registrationPath(supi string) string {
	return "/nudm-uecm/v1/" + supi + "/registrations/amf-3gpp-access"
}

func TestOnlyTheRegisteredAMFChangesItsRegistration(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	path := registrationPath(supiOne)
	purge := func(guami string) string { return `{"guami":` + guami + `,"purgeFlag":true}` }
	// The UE moves from the first AMF to the second; the first purges late.
	c.expect("PUT", path, amfRegistration("a", "http://127.0.0.1:1/a", guamiOne), 201, "")
	c.expect("PUT", path, amfRegistration("b", "http://127.0.0.1:1/b", guamiTwo), 200, "")
	c.expect("PATCH", path, purge(guamiOne), 403, "INVALID_GUAMI")
	c.expect("PATCH", path, `{"guami":`+guamiOne+`,"pei":"imei-012345678901234"}`, 403, "INVALID_GUAMI")
	var now map[string]any
	c.expect("GET", path, "", 200, "").into(t, &now)
	if now["amfInstanceId"] != "b" || now["pei"] != nil {
		t.Errorf("registration %v, want that of b as it came", now)
	}
	// The same in another case of letters.
	c.expect("PATCH", path, `{"guami":`+strings.ToUpper(strings.ReplaceAll(guamiTwo, "amfId", "~"))+`}`, 400, "MANDATORY_IE_INCORRECT")
	c.expect("PATCH", path, purge(strings.Replace(guamiTwo, "cafe40", "CAFE40", 1)), 204, "")
	c.expect("GET", path, "", 404, "CONTEXT_NOT_FOUND")
	c.expect("PATCH", path, purge(guamiTwo), 404, "CONTEXT_NOT_FOUND")
	c.expect("PATCH", registrationPath(unknown), purge(guamiOne), 404, "USER_NOT_FOUND")
	c.expect("PATCH", registrationPath(unknown), `{}`, 404, "USER_NOT_FOUND")
	c.expect("DELETE", "/nudm-uecm/v1/"+unknown+"/registrations/smf-registrations/5", "", 404, "USER_NOT_FOUND")
}

// An AMF that purges late does not end what it has registered since.
func TestAPurgeOfAnEarlierRegistration(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	path := registrationPath(supiOne)
	at := func(when string) string {
		return strings.Replace(amfRegistration("a", "http://127.0.0.1:1/a", guamiOne), "{", `{"registrationTime":"`+when+`",`, 1)
	}
	purge := func(of string) string {
		return `{"guami":` + guamiOne + `,"purgeFlag":true,"vendorSpecific-032473":{"registrationTime":"` + of + `"}}`
	}
	c.expect("PUT", path, at("2026-03-01T10:00:00.001Z"), 201, "")
	c.expect("PUT", path, at("2026-03-01T10:00:00.007Z"), 200, "")
	c.expect("PATCH", path, purge("2026-03-01T10:00:00.001Z"), 403, "MODIFICATION_NOT_ALLOWED")
	c.expect("PATCH", path, purge("noon"), 400, "OPTIONAL_IE_INCORRECT")
	c.expect("GET", path, "", 200, "")
	c.expect("PATCH", path, purge("2026-03-01T11:00:00.007+01:00"), 204, "")
	c.expect("GET", path, "", 404, "CONTEXT_NOT_FOUND")
	// One that says no time, or none that is one, and a purge that names none.
	for _, when := range []string{"", "noon"} {
		c.expect("PUT", path, at(when), 201, "")
		c.expect("PATCH", path, purge("2026-03-01T10:00:00Z"), 204, "")
	}
	c.expect("PUT", path, at("2026-03-01T10:00:00Z"), 201, "")
	c.expect("PATCH", path, `{"guami":`+guamiOne+`,"purgeFlag":true}`, 204, "")
}

func TestAPurgeFollowsTheDeletionOfTheSubscriber(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	c.expect("PUT", registrationPath(supiOne), amfRegistration("a", "http://amf/", guamiOne), 201, "")
	var subscriber v1alpha1.Subscriber
	c.must(c.objects.Get(t.Context(), name("ue-208930000000001"), &subscriber))
	c.must(c.objects.Delete(t.Context(), &subscriber))
	c.expect("PATCH", registrationPath(supiOne), `{"guami":`+guamiOne+`,"purgeFlag":true}`, 204, "")
	c.expect("PATCH", registrationPath(supiOne), `{"guami":`+guamiOne+`,"purgeFlag":true}`, 404, "USER_NOT_FOUND")
}

func TestAModificationIsMerged(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	path := registrationPath(supiOne)
	c.expect("PUT", path, strings.Replace(amfRegistration("a", "http://amf/", guamiOne), "{", `{"pei":"imei-1","imsVoPs":"HOMOGENEOUS_SUPPORT","epsInterworkingInfo":{"a":1,"b":2},`, 1), 201, "")
	c.expect("PATCH", path, `{"guami":`+guamiOne+`,"pei":"imei-2","imsVoPs":null,"epsInterworkingInfo":{"b":null,"c":3},"ratType":"EUTRA","amfInstanceId":"z"}`, 204, "")
	var got map[string]any
	c.expect("GET", path, "", 200, "").into(t, &got)
	var want map[string]any
	if err := json.Unmarshal([]byte(strings.Replace(amfRegistration("a", "http://amf/", guamiOne), "{", `{"pei":"imei-2","epsInterworkingInfo":{"a":1,"c":3},`, 1)), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRegistrationsLackNothing(t *testing.T) {
	const plmn = `{"mcc":"208","mnc":"93"}`
	amf := map[string]string{
		"amfInstanceId": `"a"`, "deregCallbackUri": `"http://amf/"`, "guami": guamiOne, "ratType": `"NR"`, "initialRegistrationInd": "true",
	}
	smf := map[string]string{
		"smfInstanceId": `"s"`, "pduSessionId": "5", "singleNssai": `{"sst":1,"sd":"010203"}`, "plmnId": plmn, "dnn": `"internet"`,
	}
	modification := map[string]string{"guami": guamiOne, "purgeFlag": "false"}
	missing, incorrect, optional := "MANDATORY_IE_MISSING", "MANDATORY_IE_INCORRECT", "OPTIONAL_IE_INCORRECT"
	// Each puts one value, or nothing, into the place of the one above.
	tests := []struct {
		of                map[string]string
		name, value, want string
	}{
		{amf, "amfInstanceId", "", missing},
		{amf, "amfInstanceId", "null", missing},
		{amf, "amfInstanceId", `""`, incorrect},
		{amf, "amfInstanceId", "7", incorrect},
		{amf, "deregCallbackUri", "", missing},
		{amf, "deregCallbackUri", `"amf"`, incorrect},
		{amf, "deregCallbackUri", `"ftp://amf/"`, incorrect},
		{amf, "deregCallbackUri", `"http://"`, incorrect},
		{amf, "guami", "", missing},
		{amf, "guami", "5", incorrect},
		{amf, "guami", "{}", incorrect},
		{amf, "guami", `{"amfId":"cafe00"}`, incorrect},
		{amf, "guami", `{"plmnId":{"mcc":"20","mnc":"93"},"amfId":"cafe00"}`, incorrect},
		{amf, "guami", `{"plmnId":{"mcc":"208","mnc":"9"},"amfId":"cafe00"}`, incorrect},
		{amf, "guami", `{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"cafe0"}`, incorrect},
		{amf, "guami", `{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"coffee"}`, incorrect},
		{amf, "ratType", "", missing},
		{amf, "ratType", "5", incorrect},
		{amf, "initialRegistrationInd", `"yes"`, optional},
		{amf, "initialRegistrationInd", "", ""},
		{smf, "smfInstanceId", "", missing},
		{smf, "pduSessionId", "", missing},
		{smf, "pduSessionId", "6", incorrect},
		{smf, "pduSessionId", `"5"`, incorrect},
		{smf, "singleNssai", "", missing},
		{smf, "singleNssai", `{"sst":-1}`, incorrect},
		{smf, "singleNssai", `{"sst":256}`, incorrect},
		{smf, "singleNssai", `{"sd":"010203"}`, incorrect},
		{smf, "singleNssai", `{"sst":1,"sd":"xyz"}`, incorrect},
		{smf, "singleNssai", `{"sst":1,"sd":""}`, ""},
		{smf, "plmnId", "", missing},
		{smf, "plmnId", `"20893"`, incorrect},
		{smf, "dnn", "5", optional},
		{smf, "dnn", "", ""},
		{modification, "guami", "", missing},
		{modification, "guami", "5", incorrect},
		{modification, "purgeFlag", `"no"`, optional},
		{modification, "purgeFlag", "null", ""},
	}
	c := startCore(t, defaultObjects()...)
	c.expect("PUT", registrationPath(supiOne), amfRegistration("a", "http://amf/", guamiOne), 201, "")
	for _, test := range tests {
		content := make(map[string]json.RawMessage)
		for name, value := range test.of {
			content[name] = json.RawMessage(value)
		}
		if delete(content, test.name); test.value != "" {
			content[test.name] = json.RawMessage(test.value)
		}
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		method, path := "PUT", registrationPath(supiOne)
		if _, ok := test.of["smfInstanceId"]; ok {
			path = "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5"
		} else if _, ok := test.of["purgeFlag"]; ok {
			method = "PATCH"
		}
		r := c.do(method, path, string(raw))
		switch {
		case test.want == "" && r.status >= 300:
			t.Errorf("%s %s: status %d: %s", test.name, test.value, r.status, r.body)
		case test.want != "" && (r.status != 400 || r.cause(t) != test.want):
			t.Errorf("%s %s: status %d, want 400 %s: %s", test.name, test.value, r.status, test.want, r.body)
		case test.want != "" && !strings.Contains(string(r.body), test.name):
			t.Errorf("%s %s: the answer does not name it: %s", test.name, test.value, r.body)
		}
	}
	for _, body := range []string{"null", "5", "[]", "{", ""} {
		c.expect("PUT", registrationPath(supiOne), body, 400, "INVALID_MSG_FORMAT")
		c.expect("PATCH", registrationPath(supiOne), body, 400, "INVALID_MSG_FORMAT")
		c.expect("PUT", "/nudm-uecm/v1/"+supiOne+"/registrations/smf-registrations/5", body, 400, "INVALID_MSG_FORMAT")
	}
}

func TestAnSMFEndsNoRegistrationOfAnother(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	path := "/nudm-uecm/v1/" + supiOne + "/registrations/smf-registrations/5"
	c.expect("PUT", path, `{"smfInstanceId":"new","pduSessionId":5,"singleNssai":{"sst":1},"plmnId":{"mcc":"208","mnc":"93"}}`, 201, "")
	c.expect("DELETE", path+query("smf-instance-id", "old"), "", 404, "CONTEXT_NOT_FOUND")
	c.expect("DELETE", path+query("smf-instance-id", "new"), "", 204, "")
	c.expect("DELETE", path, "", 404, "CONTEXT_NOT_FOUND")
}

// oldAMF is an AMF's callback URI; it answers with the statuses, one after the other, and then with the last.
type oldAMF struct {
	*httptest.Server
	got      chan string
	statuses []int
}

func startOldAMF(t *testing.T, statuses ...int) *oldAMF {
	t.Helper()
	a := &oldAMF{got: make(chan string, 64), statuses: statuses}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := a.statuses[0]
		if len(a.statuses) > 1 {
			a.statuses = a.statuses[1:]
		}
		w.WriteHeader(status)
		a.got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(body)
	}))
	a.Config.Protocols = new(http.Protocols)
	a.Config.Protocols.SetUnencryptedHTTP2(true)
	a.Start()
	t.Cleanup(a.Close)
	return a
}

func TestTheAMFBeforeIsNotified(t *testing.T) {
	const notifications = "core5g_deregistration_notifications_total"
	initial := `POST /dereg/ue application/json {"deregReason":"UE_INITIAL_REGISTRATION","accessType":"3GPP_ACCESS"}`
	moved := `POST /dereg/ue application/json {"deregReason":"UE_REGISTRATION_AREA_CHANGE","accessType":"3GPP_ACCESS"}`
	nonThreeGPP := `POST /dereg/ue application/json {"deregReason":"UE_INITIAL_REGISTRATION","accessType":"NON_3GPP_ACCESS"}`
	tests := map[string]struct {
		access, second string // registration after that of the AMF "old"
		statuses       []int
		want           []string
		wantResult     string
	}{
		"initial registration":                   {"amf-3gpp-access", amfRegistration("new", "http://new/", guamiTwo), []int{204}, []string{initial}, "delivered"},
		"another area":                           {"amf-3gpp-access", strings.Replace(amfRegistration("new", "http://new/", guamiTwo), "true", "false", 1), []int{204}, []string{moved}, "delivered"},
		"non-3GPP access":                        {"amf-non-3gpp-access", strings.Replace(amfRegistration("new", "http://new/", guamiTwo), `"initialRegistrationInd":true,`, "", 1), []int{204}, []string{nonThreeGPP}, "delivered"},
		"an AMF that is busy":                    {"amf-3gpp-access", amfRegistration("new", "http://new/", guamiTwo), []int{503, 429, 204}, []string{initial, initial, initial}, "delivered"},
		"an AMF that has no UE":                  {"amf-3gpp-access", amfRegistration("new", "http://new/", guamiTwo), []int{404}, []string{initial}, "refused"},
		"the same AMF once more":                 {"amf-3gpp-access", "old", nil, nil, ""},
		"a new instance in the place of the AMF": {"amf-3gpp-access", "replaced", nil, nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := startCore(t, defaultObjects()...)
			old := startOldAMF(t, append(test.statuses, 204)[:max(len(test.statuses), 1)]...)
			path := "/nudm-uecm/v1/" + supiOne + "/registrations/" + test.access
			c.expect("PUT", path, amfRegistration("old", old.URL+"/dereg/ue", guamiOne), 201, "")
			second := test.second
			switch second {
			case "old":
				second = amfRegistration("old", old.URL+"/dereg/ue", guamiOne)
			case "replaced":
				second = amfRegistration("new", old.URL+"/dereg/ue", guamiOne)
			}
			c.expect("PUT", path, second, 200, "")
			for _, want := range test.want {
				if diff := cmp.Diff(want, <-old.got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			total := func() float64 {
				var n float64
				for _, result := range []string{"delivered", "refused", "undeliverable", "superseded", "overflow"} {
					n += c.metric(notifications, result)
				}
				return n
			}
			if test.wantResult == "" {
				// It would have been entered before the answer.
				if log := c.log.String(); total() != 0 || strings.Contains(log, "notification of deregistration") || len(old.got) != 0 {
					t.Errorf("an AMF was told to forget the UE that it serves:\n%s", log)
				}
				return
			}
			eventually(t, "the notification is counted", func() bool { return c.metric(notifications, test.wantResult) == 1 })
			if n := total(); n != 1 {
				t.Errorf("%v results of one notification", n)
			}
		})
	}
}

// A UE that has come back to the AMF before is not taken away from it by a notification that comes late.
func TestALateNotificationIsNotSent(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	first := startOldAMF(t, 503)
	path := registrationPath(supiOne)
	c.expect("PUT", path, amfRegistration("first", first.URL+"/", guamiOne), 201, "")
	c.expect("PUT", path, amfRegistration("second", "http://127.0.0.1:1/", guamiTwo), 200, "")
	<-first.got // one attempt, that the AMF was too busy for
	c.expect("PUT", path, amfRegistration("first", first.URL+"/", guamiOne), 200, "")
	eventually(t, "the notification is given up", func() bool {
		return c.metric("core5g_deregistration_notifications_total", "superseded") == 1
	})
}
