package npcf

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/free5gc/openapi/models"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/sbi/sbitest"
	"core5g.dev/core5g/images/nf/ts29571"
	"core5g.dev/core5g/images/session-management/n1"
)

var addresses = cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})

// pcf answers each request with what stands under its method and path.
type pcf struct {
	uri     string
	answers map[string]answer
	asked   map[string][]byte
}

type answer struct {
	status   int
	location string
	content  string
}

func (p *pcf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.Method + " " + r.URL.Path
	p.asked[name], _ = io.ReadAll(r.Body)
	a, ok := p.answers[name]
	if !ok {
		a = answer{status: 404, content: `{"cause":"CONTEXT_NOT_FOUND"}`}
	}
	if a.location != "" {
		w.Header().Set("Location", p.uri+a.location)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.content)
}

func start(t *testing.T, answers map[string]answer) (*Client, *pcf) {
	t.Helper()
	p := &pcf{answers: answers, asked: map[string][]byte{}}
	p.uri = sbitest.Serve(t, p)
	return NewClient(sbitest.Client(t, "PCF", p.uri)), p
}

const (
	collection = "/npcf-smpolicycontrol/v1/sm-policies"
	mine       = collection + "/imsi-208930000000001-1"
)

// first is what free5GC's PCF 1.4.5 decides first of a subscriber with one flow of its own.
const first = `{"sessRules":{"SessRuleId-1":{"authSessAmbr":{"uplink":"1 Gbps","downlink":"2 Gbps"},"authDefQos":{"5qi":9,"arp":{"priorityLevel":8,"preemptCap":"NOT_PREEMPT","preemptVuln":"NOT_PREEMPTABLE"},"priorityLevel":8},"sessRuleId":"SessRuleId-1"}},` +
	`"pccRules":{"PccRuleId-1":{"flowInfos":[{"flowDescription":"permit out ip from any to assigned","packetFilterUsage":false,"flowDirection":"BIDIRECTIONAL"}],"pccRuleId":"PccRuleId-1","precedence":255},` +
	`"PccRuleId-2":{"flowInfos":[{"flowDescription":"permit out 17 from 1.1.1.1 1000-2000 to assigned","packFiltId":"f","flowDirection":"DOWNLINK"}],"pccRuleId":"PccRuleId-2","precedence":128,"refQosData":["1"],"refTcData":["t"],"refChgData":["c"]}},` +
	`"qosDecs":{"1":{"qosId":"1","5qi":1,"maxbrUl":"208 Mbps","maxbrDl":"","gbrUl":"108 Mbps","gbrDl":null,"arp":{"priorityLevel":1,"preemptCap":"MAY_PREEMPT","preemptVuln":"PREEMPTABLE"},"averWindow":2000,"qnc":true}},` +
	`"chgDecs":{"c":{"chgId":"c","meteringMethod":"VOLUME","online":true,"ratingGroup":7,"reportingLevel":"RAT_GR_LEVEL"}},` +
	`"traffContDecs":{"t":{"tcId":"t","flowStatus":"ENABLED","routeToLocs":[null,{"dnai":"edge"}],"redirectInfo":{"redirectEnabled":true,"redirectServerAddress":"http://top-up"}}},` +
	`"umDecs":{"u":{"umId":"u","volumeThreshold":1000}},"conds":{"d":{"condId":"d","activationTime":"2026-11-22T12:00:00Z"}},"revalidationTime":"2026-11-23T00:00:00Z",` +
	`"online":true,"policyCtrlReqTriggers":["PLMN_CH","AC_TY_CH"],"chargingInfo":{"primaryChfAddress":"http://chf"},"suppFeat":"000f"}`

func yes() *bool { b := true; return &b }

func TestADecision(t *testing.T) {
	filter := n1.Filter{Direction: n1.Downlink, Protocol: 17, Remote: netip.MustParsePrefix("1.1.1.1/32"), RemotePorts: n1.PortRange{First: 1000, Last: 2000}}
	want := Decision{
		SessionRules: map[string]*SessionRule{"SessRuleId-1": {
			ID: "SessRuleId-1", AMBR: &ts29571.AMBR{Uplink: 1e9, Downlink: 2e9}, Default: &QoS{FiveQI: 9, ARP: &ts29571.ARP{Priority: 8}, Priority: 8},
		}},
		Rules: map[string]*Rule{
			"PccRuleId-1": {ID: "PccRuleId-1", Precedence: 255, Flows: []Flow{{Filter: n1.Any(0)}}},
			"PccRuleId-2": {
				ID: "PccRuleId-2", Precedence: 128, Flows: []Flow{{ID: "f", Filter: filter, Signalled: true}},
				QoS: []string{"1"}, Traffic: []string{"t"}, Charging: []string{"c"},
			},
		},
		QoS: map[string]*QoS{"1": {
			ID: "1", FiveQI: 1, MBRUplink: 208e6, GBRUplink: 108e6, ARP: &ts29571.ARP{Priority: 1, MayPreempt: true, Preemptable: true},
			Averaging: 2 * time.Second, NotificationControl: true,
		}},
		Charging:   map[string]*Charging{"c": {ID: "c", Online: yes(), RatingGroup: 7, Method: "VOLUME", Level: "RAT_GR_LEVEL"}},
		Traffic:    map[string]*Traffic{"t": {ID: "t", Status: "ENABLED", Redirect: "http://top-up", DNAIs: []string{"edge"}}},
		Usage:      map[string]*Usage{"u": {ID: "u", Volume: 1000}},
		Conditions: map[string]*Condition{"d": {ID: "d", From: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}},
		Triggers:   []Trigger{"PLMN_CH", "AC_TY_CH"}, TriggersSaid: true, Revalidation: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Online: true, PrimaryCHF: "http://chf", Features: "000f", Raw: json.RawMessage(first),
	}
	got, err := DecodeDecision([]byte(first))
	if diff := cmp.Diff(want, got, addresses); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWhatCannotBeReadIsSetAside(t *testing.T) {
	got, err := DecodeDecision([]byte(`{"pccRules":{"good":{"precedence":1},"b":{"flowInfos":[{"flowDescription":"deny out ip from any to any"}]},` +
		`"a":{"precedence":-1},"e":{"flowInfos":[{"ethFlowDescription":{}}]}},"qosDecs":{"q":{"gbrUl":"fast"}},"sessRules":{"s":{"authDefQos":{"5qi":300}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range got.Invalid {
		if i.Reason == "" {
			t.Errorf("%+v has no reason", i)
		}
		names = append(names, i.Member+" "+i.ID)
	}
	if diff := cmp.Diff([]string{"sessRules s", "pccRules a", "pccRules b", "pccRules e", "qosDecs q"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Rules) != 1 || got.Rules["good"] == nil {
		t.Errorf("rules %v", got.Rules)
	}
	for _, bad := range []string{``, `[]`, `null`, `{"online":1}`, `{`} {
		if got, err := DecodeDecision([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

func TestChangesAreMerged(t *testing.T) {
	d, err := DecodeDecision([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	change, err := DecodeDecision([]byte(`{"pccRules":{"PccRuleId-1":null,"PccRuleId-2":{"precedence":100},"PccRuleId-3":{"precedence":3}},"umDecs":null,"policyCtrlReqTriggers":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if removed, there := change.Rules["PccRuleId-1"]; removed != nil || !there {
		t.Errorf("a removed rule is %v, %v", removed, there)
	}
	got, err := d.Merge(change)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rules) != 2 || got.Rules["PccRuleId-2"].Precedence != 100 || len(got.Rules["PccRuleId-2"].Flows) != 1 || got.Rules["PccRuleId-3"] == nil {
		t.Errorf("rules %v", got.Rules)
	}
	if got.Usage != nil || !got.TriggersSaid || len(got.Triggers) != 0 || got.QoS["1"] == nil {
		t.Errorf("%+v", got)
	}
	if same, err := got.Merge(Decision{}); err != nil || len(same.Rules) != 2 {
		t.Errorf("nothing changed: %+v, %v", same, err)
	}
}

func TestFlowDescriptions(t *testing.T) {
	prefix := netip.MustParsePrefix
	any := n1.Any(0)
	with := func(change func(*n1.Filter)) n1.Filter {
		f := any
		change(&f)
		return f
	}
	for text, want := range map[string]n1.Filter{
		"permit out ip from any to assigned": any,
		"permit out ip from any to any":      any,
		"permit out 6 from 10.1.2.3 80 to assigned 1000-2000": with(func(f *n1.Filter) {
			f.Protocol, f.Remote, f.RemotePorts, f.LocalPorts = 6, prefix("10.1.2.3/32"), n1.PortRange{First: 80, Last: 80}, n1.PortRange{First: 1000, Last: 2000}
		}),
		"permit in ip from assigned to 2001:db8::1/64 443": with(func(f *n1.Filter) {
			f.Remote, f.RemotePorts = prefix("2001:db8::/64"), n1.PortRange{First: 443, Last: 443}
		}),
		"permit  out ip from 10.0.0.1/8 to 10.45.0.2": with(func(f *n1.Filter) { f.Remote, f.Local = prefix("10.0.0.0/8"), prefix("10.45.0.2/32") }),
	} {
		got, err := ParseDescription(text)
		if diff := cmp.Diff(want, got, addresses); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                                      "write permit out ip from",
		"deny out ip from any to assigned":      "write permit out ip from",
		"permit inout ip from any to assigned":  "write permit out or permit in",
		"permit out tcp from any to assigned":   "write ip or a number",
		"permit out 256 from any to assigned":   "write ip or a number",
		"permit out ip from !any to assigned":   "is no address",
		"permit out ip from fe80::1%1 to any":   "is no address",
		"permit out ip from 10.0.0.0/33 to any": "is no prefix",
		"permit out ip from any 2-1 to any":     "ports",
		"permit out ip from any 1,2 to any":     "ports",
		"permit out ip from any 65536 to any":   "ports",
		"permit out ip from any to any frag":    "there are no options",
		"permit out ip from any 80 80 to any":   "there is no to",
		"permit out ip from ::1 to 10.0.0.1":    "one address is IPv4",
	} {
		if got, err := ParseDescription(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestFlowInformation(t *testing.T) {
	for in, want := range map[string]Flow{
		`{"tosTrafficClass":"28fc","spi":"000000ff","flowLabel":"0fffff","flowDirection":"UPLINK"}`: {
			Filter: n1.Filter{Direction: n1.Uplink, Protocol: -1, TOS: 0x28, TOSMask: 0xfc, SPI: 0xff, FlowLabel: 0xfffff}, Signalled: true,
		},
		`{"flowDirection":"UNSPECIFIED","packetFilterUsage":true}`: {Filter: n1.Any(0), Signalled: true},
	} {
		var f flowJSON
		if err := json.Unmarshal([]byte(in), &f); err != nil {
			t.Fatal(err)
		}
		got, err := f.read()
		if diff := cmp.Diff(want, got, addresses); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, diff)
		}
	}
	for _, in := range []string{`{"tosTrafficClass":"28"}`, `{"spi":"1"}`, `{"flowLabel":"100000"}`, `{"flowLabel":"x"}`, `{"flowDirection":"UP"}`} {
		var f flowJSON
		if err := json.Unmarshal([]byte(in), &f); err != nil {
			t.Fatal(err)
		}
		if got, err := f.read(); err == nil {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

var session = &Session{
	SUPI: "imsi-208930000000001", GPSI: "msisdn-1", PEI: "imeisv-1", SessionID: 1, Type: "IPV4V6", DNN: "internet", SNSSAI: ts29571.SNSSAI{SST: 1, SD: "010203"},
	NotificationURI: "http://smf/policy", Access: "3GPP_ACCESS", RAT: "NR", ServingNetwork: ts29571.PLMN{MCC: "208", MNC: "93"}, TimeZone: "+00:00",
	IPv4: netip.MustParseAddr("10.45.0.2"), IPv6: netip.MustParsePrefix("2001:db8::/64"), AMBR: &ts29571.AMBR{Uplink: 1e9, Downlink: 2e9},
	QoS: &DefaultQoS{FiveQI: 9, ARP: ts29571.ARP{Priority: 8}}, Online: true, ReflectiveQoS: true, PacketFilters: 16, SMFInstanceID: "x", SupportedFeatures: "0",
	Location: &ts29571.Location{TAI: ts29571.TAI{PLMN: ts29571.PLMN{MCC: "208", MNC: "93"}, TAC: "000001"}, Cell: 1, CellPLMN: ts29571.PLMN{MCC: "208", MNC: "93"}},
}

// What free5GC's PCF makes of the request, with the library that it reads it with.
func TestFree5GCsPCFReadsTheSession(t *testing.T) {
	c, p := start(t, map[string]answer{"POST " + collection: {201, mine, first}})
	a, err := c.Create(t.Context(), PCF{}, session)
	if err != nil || a.URI != p.uri+mine || len(a.Decision.Rules) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	var got models.SmPolicyContextData
	if err := json.Unmarshal(p.asked["POST "+collection], &got); err != nil {
		t.Fatal(err)
	}
	plmn := &models.PlmnId{Mcc: "208", Mnc: "93"}
	want := models.SmPolicyContextData{
		Supi: session.SUPI, Gpsi: "msisdn-1", Pei: "imeisv-1", PduSessionId: 1, PduSessionType: models.PduSessionType_IPV4_V6, Dnn: "internet",
		SliceInfo: &models.Snssai{Sst: 1, Sd: "010203"}, NotificationUri: "http://smf/policy", AccessType: models.AccessType__3_GPP_ACCESS,
		RatType: models.RatType_NR, ServingNetwork: &models.PlmnIdNid{Mcc: "208", Mnc: "93"}, UeTimeZone: "+00:00", Ipv4Address: "10.45.0.2",
		Ipv6AddressPrefix: "2001:db8::/64", SubsSessAmbr: &models.Ambr{Uplink: "1 Gbps", Downlink: "2 Gbps"},
		SubsDefQos: &models.SubscribedDefaultQos{Var5qi: 9, Arp: &models.Arp{PriorityLevel: 8, PreemptCap: "NOT_PREEMPT", PreemptVuln: "NOT_PREEMPTABLE"}},
		Online:     true, RefQosIndication: true, NumOfPackFilter: 16, SmfId: "x", SuppFeat: "0",
		UserLocationInfo: &models.UserLocation{NrLocation: &models.NrLocation{
			Tai: &models.Tai{PlmnId: plmn, Tac: "000001"}, Ncgi: &models.Ncgi{PlmnId: plmn, NrCellId: "000000001"},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnAssociation(t *testing.T) {
	c, p := start(t, map[string]answer{
		"POST " + mine + "/update": {200, "", `{"pccRules":{"x":null}}`},
		"POST " + mine + "/delete": {204, "", ``},
		"GET " + mine:              {200, "", `{"context":{},"policy":` + first + `}`},
	})
	ctx := t.Context()
	d, err := c.Update(ctx, PCF{}, p.uri+mine, &Event{
		Triggers: []Trigger{"RES_RELEASE"}, Rules: []RuleReport{{Rules: []string{"x"}, Status: "INACTIVE", Failure: "RES_ALLO_FAIL"}},
		ReleasedIPv4: netip.MustParseAddr("10.45.0.2"), Usage: []UsageReport{{Key: "u", Volume: 5_000_000_000}},
	})
	if _, there := d.Rules["x"]; err != nil || !there {
		t.Errorf("%+v, %v", d, err)
	}
	const want = `{"repPolicyCtrlReqTriggers":["RES_RELEASE"],"relIpv4Address":"10.45.0.2","accuUsageReports":[{"refUmIds":"u","volUsage":5000000000}],` +
		`"ruleReports":[{"pccRuleIds":["x"],"ruleStatus":"INACTIVE","failureCode":"RES_ALLO_FAIL"}]}`
	if got := string(p.asked["POST "+mine+"/update"]); got != want {
		t.Errorf("update %s", got)
	}
	p.answers["POST "+mine+"/update"] = answer{status: 204}
	if d, err := c.Update(ctx, PCF{}, p.uri+mine, &Event{}); err != nil || d.Raw != nil {
		t.Errorf("nothing changed: %+v, %v", d, err)
	}
	if d, err := c.Read(ctx, PCF{}, p.uri+mine); err != nil || len(d.Rules) != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	if err := c.Delete(ctx, PCF{}, p.uri+mine, &End{Cause: "RULE_ERROR"}); err != nil || string(p.asked["POST "+mine+"/delete"]) != `{"pduSessRelCause":"RULE_ERROR"}` {
		t.Errorf("%v, %s", err, p.asked["POST "+mine+"/delete"])
	}
	if err := c.Delete(ctx, PCF{}, p.uri+mine+"0", &End{}); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	var refused *sbi.Refused
	if _, err := c.Update(ctx, PCF{}, p.uri+mine+"0", &Event{}); !errors.As(err, &refused) || refused.Cause != "CONTEXT_NOT_FOUND" {
		t.Errorf("%v", err)
	}
}

func TestAnswersThatTellNothing(t *testing.T) {
	for sentence, a := range map[string]answer{
		"no Location": {201, "", first}, "no decision": {201, mine, ``}, "a list": {201, mine, `[]`},
	} {
		c, _ := start(t, map[string]answer{"POST " + collection: a})
		var unknown *sbi.Unknown
		if got, err := c.Create(t.Context(), PCF{}, session); !errors.As(err, &unknown) {
			t.Errorf("%s: %+v, %v", sentence, got, err)
		}
	}
}

func FuzzDecision(f *testing.F) {
	f.Add([]byte(first), []byte(`{"pccRules":{"PccRuleId-1":null,"PccRuleId-2":{"precedence":100}},"umDecs":null}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, err := DecodeDecision(a)
		if err != nil {
			return
		}
		for id, r := range d.Rules {
			if r != nil && r.ID != id {
				t.Errorf("%s is %+v", id, r)
			}
		}
		change, err := DecodeDecision(b)
		if err != nil {
			return
		}
		merged, err := d.Merge(change)
		if err != nil {
			return // two that are well may be none together: the types of what neither understands
		}
		again, err := merged.Merge(change)
		if err != nil || len(again.Rules) != len(merged.Rules) {
			t.Errorf("merged twice: %v, %d and %d rules", err, len(merged.Rules), len(again.Rules))
		}
	})
}

func FuzzDescription(f *testing.F) {
	f.Add("permit out 6 from 10.1.2.3 80 to assigned 1000-2000")
	f.Add("permit in ip from assigned to 2001:db8::1/64 443")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDescription(text)
		if err == nil && (got.Protocol < -1 || got.Protocol > 255 || got.RemotePorts.First > got.RemotePorts.Last || got.Remote.IsValid() && got.Remote != got.Remote.Masked()) {
			t.Errorf("%+v", got)
		}
	})
}
