package subscriberdata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unknown is a SUPI without a Subscriber.
const unknown = "imsi-001010000000001"

func TestSubscriptionsAreChecked(t *testing.T) {
	sdm := "/nudm-sdm/v2/" + supiOne + "/sdm-subscriptions"
	const policy = "/nudr-dr/v2/policy-data/subs-to-notify"
	const influence = "/nudr-dr/v2/application-data/influenceData/subs-to-notify"
	resource := func(supi string) string { return `"http://udr/nudr-dr/v2/policy-data/ues/` + supi + `/am-data"` }
	missing, incorrect, optional := "MANDATORY_IE_MISSING", "MANDATORY_IE_INCORRECT", "OPTIONAL_IE_INCORRECT"
	tests := []struct {
		path, body string
		want       int
		wantCause  string
	}{
		{sdm, `{}`, 400, missing},
		{sdm, `[]`, 400, "INVALID_MSG_FORMAT"},
		{sdm, `{"nfInstanceId":5}`, 400, incorrect},
		{sdm, `{"nfInstanceId":"x","callbackReference":"nowhere"}`, 400, incorrect},
		{sdm, `{"nfInstanceId":"x","callbackReference":5}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","monitoredResourceUris":"all"}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","plmnId":{"mcc":"2"}}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","singleNssai":{"sst":-1}}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","expires":"tomorrow"}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","supportedFeatures":"x"}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","supportedFeatures":"2","immediateReport":"yes"}`, 400, optional},
		{sdm, `{"nfInstanceId":"x","callbackReference":"https://amf:8000/sdm","monitoredResourceUris":["a/am-data"],"expires":"2026-11-22T12:00:00Z","dnn":"internet"}`, 201, ""},
		{"/nudm-sdm/v2/" + unknown + "/sdm-subscriptions", `{"nfInstanceId":"x"}`, 404, "USER_NOT_FOUND"},
		{policy, `{}`, 400, missing},
		{policy, `{"notificationUri":"http://pcf/"}`, 400, missing},
		{policy, `{"notificationUri":"pcf","monitoredResourceUris":[` + resource(supiOne) + `]}`, 400, incorrect},
		{policy, `{"notificationUri":"http://pcf/","monitoredResourceUris":[]}`, 400, incorrect},
		{policy, `{"notificationUri":"http://pcf/","monitoredResourceUris":[` + resource(supiOne) + "," + resource(unknown) + `]}`, 404, "USER_NOT_FOUND"},
		{influence, `{}`, 400, missing},
		{influence, `{"notificationUri":"http://pcf/"}`, 400, missing},
		{influence, `{"notificationUri":"http://pcf/","snssais":[{"sst":1,"sd":"xyz"}]}`, 400, optional},
		{influence, `{"notificationUri":"http://pcf/","supis":["` + unknown + `"]}`, 404, "USER_NOT_FOUND"},
		{influence, `{"notificationUri":"http://pcf/","internalGroupIds":["a"]}`, 201, ""},
	}
	c := startCore(t, defaultObjects()...)
	for _, test := range tests {
		c.expect("POST", test.path, test.body, test.want, test.wantCause)
	}
}

// Who wants the data with the answer to a subscription has what it would be told if it asked (TS 29.503 5.2.2.3.2).
func TestDataComeWithASubscription(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	sdm := "/nudm-sdm/v2/" + supiOne
	get := func(path string) any {
		t.Helper()
		var v any
		c.must(json.Unmarshal(c.expect("GET", sdm+path, "", 200, "").body, &v))
		return v
	}
	const immediately = `"immediateReport":true,"supportedFeatures":"3",`
	for name, tt := range map[string]struct {
		asks         string
		want         any
		wantFeatures any
	}{
		"an SMF": {
			immediately + `"monitoredResourceUris":["x/sm-data"],"singleNssai":{"sst":1,"sd":"abcdef"},"dnn":"METERS"`,
			map[string]any{"smData": get("/sm-data?dnn=meters&single-nssai=%7B%22sst%22%3A1%2C%22sd%22%3A%22abcdef%22%7D")}, "2",
		},
		"an AMF": {
			immediately + forAMFs, map[string]any{"amData": get("/am-data"), "smfSelData": get("/smf-select-data")}, "2",
		},
		"of a slice that the subscriber has not": {
			immediately + `"monitoredResourceUris":["x/sm-data"],"singleNssai":{"sst":9}`, map[string]any{}, "2",
		},
		"who does not want them":    {`"supportedFeatures":"2","monitoredResourceUris":["x/sm-data"]`, nil, "2"},
		"who has not that feature":  {`"immediateReport":true,"supportedFeatures":"1","monitoredResourceUris":["x/sm-data"]`, nil, "0"},
		"who says nothing of any":   {`"immediateReport":true,"monitoredResourceUris":["x/sm-data"]`, nil, nil},
		"who has more than we know": {`"immediateReport":true,"supportedFeatures":"123456789abcdef02","monitoredResourceUris":["x/other"]`, map[string]any{}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			var answer map[string]any
			c.must(json.Unmarshal(c.expect("POST", sdm+"/sdm-subscriptions", `{"nfInstanceId":"x","callbackReference":"http://smf:8000/x",`+tt.asks+`}`, 201, "").body, &answer))
			if diff := cmp.Diff(tt.want, answer["report"]); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if answer["supportedFeatures"] != tt.wantFeatures {
				t.Errorf("features %v, want %v", answer["supportedFeatures"], tt.wantFeatures)
			}
		})
	}
}

func TestASubscriptionIsDeletedOnce(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	const influence = `{"dnns":["internet"],"notificationUri":"http://pcf/","snssais":[{"sst":1,"sd":"010203"}],"supis":["` + supiOne + `"]}`
	tests := map[string]struct{ path, body string }{
		"SDM of AMF 1.4.5": {"/nudm-sdm/v2/" + supiOne + "/sdm-subscriptions", `{"nfInstanceId":"x","callbackReference":"","monitoredResourceUris":null,"plmnId":{"mcc":"208","mnc":"93"}}`},
		"policy data":      {"/nudr-dr/v2/policy-data/subs-to-notify", `{"monitoredResourceUris":["/policy-data/ues/` + supiOne + `/sm-data"],"notificationUri":"http://pcf/"}`},
		"influence data":   {"/nudr-dr/v2/application-data/influenceData/subs-to-notify", influence},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := c.expect("POST", test.path, test.body, 201, "")
			path, ok := strings.CutPrefix(r.location, c.uri)
			if !ok || !strings.HasPrefix(path, test.path+"/") || len(path) < len(test.path)+32 {
				t.Fatalf("Location %q", r.location)
			}
			if !strings.Contains(name, "SDM") {
				if r := c.expect("GET", path, "", 200, ""); string(r.body) != test.body {
					t.Errorf("kept %s, want %s", r.body, test.body)
				}
				changed := strings.Replace(test.body, "http://pcf/", "http://other-pcf/", 1)
				c.expect("PUT", path, `{}`, 400, "MANDATORY_IE_MISSING")
				c.expect("PUT", path, changed, 200, "")
				if r := c.expect("GET", path, "", 200, ""); string(r.body) != changed {
					t.Errorf("kept %s, want %s", r.body, changed)
				}
			} else {
				c.expect("DELETE", strings.Replace(path, supiOne, supiTwo, 1), "", 404, "SUBSCRIPTION_NOT_FOUND")
				c.expect("DELETE", strings.Replace(path, supiOne, unknown, 1), "", 404, "USER_NOT_FOUND")
			}
			c.expect("DELETE", path, "", 204, "")
			c.expect("DELETE", path, "", 404, "SUBSCRIPTION_NOT_FOUND")
			if !strings.Contains(name, "SDM") {
				c.expect("GET", path, "", 404, "SUBSCRIPTION_NOT_FOUND")
				c.expect("PUT", path, test.body, 404, "SUBSCRIPTION_NOT_FOUND")
				c.expect("DELETE", test.path+"/", "", 404, "SUBSCRIPTION_NOT_FOUND")
			}
		})
	}
}

// An AMF that restarts subscribes anew and never deletes what it subscribed to before.
func TestSubscriptionsAreBounded(t *testing.T) {
	c := startCore(t, defaultObjects()...)
	var paths []string
	for i := range 33 {
		r := c.expect("POST", "/nudm-sdm/v2/"+supiOne+"/sdm-subscriptions", fmt.Sprintf(`{"nfInstanceId":"%d"}`, i), 201, "")
		paths = append(paths, strings.TrimPrefix(r.location, c.uri))
	}
	other := c.expect("POST", "/nudm-sdm/v2/"+supiTwo+"/sdm-subscriptions", `{"nfInstanceId":"x"}`, 201, "")
	c.expect("DELETE", paths[0], "", 404, "SUBSCRIPTION_NOT_FOUND")
	for _, path := range append(paths[1:], strings.TrimPrefix(other.location, c.uri)) {
		c.expect("DELETE", path, "", 204, "")
	}
}
