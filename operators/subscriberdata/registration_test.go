package subscriberdata

import (
	"encoding/json"
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
