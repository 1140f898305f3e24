package subscriberdata

import "testing"

func TestQueriesAreReadOrRefused(t *testing.T) {
	const plmn, tai = `{"mcc":"208","mnc":"93"}`, `{"plmnId":{"mcc":"208","mnc":"93"},"tac":"000001"}`
	sdm, udr := "/nudm-sdm/v2/"+supiOne+"/", "/nudr-dr/v2/policy-data/ues/"+supiOne+"/sm-data"
	const selection = "/nnssf-nsselection/v2/network-slice-information"
	const session = `{"sNssai":{"sst":1,"sd":"010203"},"roamingIndication":"NON_ROAMING"}`
	nssf := func(pairs ...string) string {
		return selection + query(append([]string{"slice-info-request-for-pdu-session", session}, pairs...)...)
	}
	forSession := func(info string) string {
		return selection + query("nf-type", "AMF", "nf-id", "x", "tai", tai, "slice-info-request-for-pdu-session", info)
	}
	forRegistration := func(info string) string {
		return selection + query("nf-type", "AMF", "nf-id", "x", "tai", tai, "slice-info-request-for-registration", info)
	}
	missing, incorrect, optional := "MANDATORY_QUERY_PARAM_MISSING", "MANDATORY_QUERY_PARAM_INCORRECT", "OPTIONAL_QUERY_PARAM_INCORRECT"
	tests := []struct {
		path      string
		want      int
		wantCause string
	}{
		{sdm + "nssai" + query("plmn-id", "20893"), 400, optional},
		{sdm + "nssai" + query("plmn-id", `{"mcc":"208"}`), 400, optional},
		{sdm + "am-data" + query("plmn-id", `{"mcc":"2O8","mnc":"93"}`), 400, optional},
		{sdm + "smf-select-data" + query("plmn-id", ""), 400, optional},
		{sdm + "sm-data" + query("plmn-id", "null"), 400, optional},
		{sdm + "sm-data" + query("plmn-id", `{"mcc":"208","mnc":"093"}`), 200, ""},
		{sdm + "sm-data" + query("single-nssai", `{"sst":-1}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `{"sst":256}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `{"sst":"1"}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `{"sst":1,"sd":"xyz"}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `{"sst":1,"sd":"01020304"}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `{}`), 400, optional},
		{sdm + "sm-data" + query("single-nssai", ``), 400, optional},
		{sdm + "sm-data" + query("single-nssai", `null`), 400, optional},
		{sdm + "sm-data?single-nssai=%7Bzz", 400, "OPTIONAL_QUERY_PARAM_INCORRECT"},
		{sdm + "sm-data?single-nssai=%zz", 400, "INVALID_QUERY_PARAM"},
		{udr + query("snssai", `{"sst":1,"sd":"xyz"}`), 400, optional},
		{udr + query("snssai", `{"sst":1,"sd":"010203"}`), 200, ""},
		{"/nudr-dr/v2/application-data/influenceData" + query("snssais", `[{"sst":-1}]`), 400, optional},

		{nssf("nf-type", "AMF", "nf-id", "x", "tai", tai), 200, ""},
		{nssf("nf-id", "x", "tai", tai), 400, missing},
		{nssf("nf-type", "amf?", "nf-id", "x", "tai", tai), 400, incorrect},
		{nssf("nf-type", "AMF", "tai", tai), 400, missing},
		{nssf("nf-type", "AMF", "nf-id", "x"), 400, missing},
		{nssf("nf-type", "NSSF", "nf-id", "x"), 200, ""},
		{nssf("nf-type", "AMF", "nf-id", "x", "tai", "1"), 400, optional},
		{nssf("nf-type", "AMF", "nf-id", "x", "tai", `{"tac":"000001"}`), 400, optional},
		{nssf("nf-type", "AMF", "nf-id", "x", "tai", `{"plmnId":`+plmn+`,"tac":"1"}`), 400, optional},
		{forSession(`{"roamingIndication":"NON_ROAMING"}`), 400, optional},
		{forSession(`{"sNssai":{"sst":1,"sd":"010203"}}`), 400, optional},
		{forSession(`{"sNssai":{"sst":-1},"roamingIndication":"NON_ROAMING"}`), 400, optional},
		{forRegistration(`{"subscribedNssai":[{"defaultIndication":true}]}`), 400, optional},
		{forRegistration(`{"subscribedNssai":[{"subscribedSnssai":{"sst":1,"sd":"010203"}}],"requestedNssai":[{"sst":1,"sd":"xyz"}]}`), 400, optional},
		{forRegistration(`{"subscribedNssai":[{"subscribedSnssai":{"sst":1,"sd":"010203"}}],"requestedNssai":[{"sst":1,"sd":"010203"}]}`), 200, ""},
	}
	c := startCore(t, defaultObjects()...)
	for _, test := range tests {
		c.expect("GET", test.path, "", test.want, test.wantCause)
	}
}
