package shard

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/nchf"
	"core5g.dev/core5g/images/session-management/npcf"
	"core5g.dev/core5g/images/session-management/procedure"
	"core5g.dev/core5g/images/session-management/record"

	"github.com/google/go-cmp/cmp"
)

// What becomes of decisions, free5GC's PCF's first one among them.
func TestDecisions(t *testing.T) {
	config, err := configuration.New([]configuration.Slice{{Name: "internet", SST: 1, DataNetworks: []configuration.DataNetwork{{
		DNN: "internet", Types: []n1.SessionType{n1.IPv4}, AMBR: record.AMBR{Uplink: 1e9, Downlink: 1e9}, FiveQI: 9, ARP: configuration.ARP{Priority: 8},
		Flows: []configuration.Flow{{Name: "voice", FiveQI: 5, ARP: configuration.ARP{Priority: 8}, Precedence: 10, Filters: []n1.Filter{n1.Any(0)}}},
	}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := &Pod{}
	pod.config.Store(config)
	s := &Shard{pod: pod}
	filter := func(list ...n1.Filter) []byte { return n1.EncodeFilters(list) }
	to := func(prefix string, d n1.Direction) n1.Filter {
		return n1.Filter{Direction: d, Remote: netip.MustParsePrefix(prefix), Protocol: -1}
	}
	for sentence, c := range map[string]struct {
		json        string
		wantDecided record.Decided
		wantFlows   []string
		want        procedure.Ruling
	}{
		"nothing": {json: `{}`},
		"AMBR and default QoS alone: rules are not spoken of": {
			json:        `{"sessRules":{"s":{"sessRuleId":"s","authSessAmbr":{"uplink":"1 Mbps","downlink":"2 Mbps"},"authDefQos":{"5qi":8,"arp":{"priorityLevel":3,"preemptCap":"MAY_PREEMPT","preemptVuln":"NOT_PREEMPTABLE"}}}}}`,
			wantDecided: record.Decided{AMBR: record.AMBR{Uplink: 1e6, Downlink: 2e6}, FiveQI: 8, Priority: 3, MayPreempt: true},
		},
		"free5GC's: the default flow, charged online": {
			json: `{"pccRules":{"PccRuleId-1":{"pccRuleId":"PccRuleId-1","precedence":255,"refChgData":["c"],
				"flowInfos":[{"flowDescription":"permit out ip from any to assigned","flowDirection":"BIDIRECTIONAL","packetFilterUsage":true,"packFiltId":"PackFiltId-0"}]}},
				"chgDecs":{"c":{"chgId":"c","ratingGroup":3,"online":true,"offline":false,"meteringMethod":"VOLUME"}}}`,
			wantDecided: record.Decided{Ruled: true, Charge: record.Charge{RatingGroup: 3, Online: true}}, wantFlows: []string{}, want: procedure.Ruling{Said: true},
		},
		"a flow with a guaranteed rate, whose downlink gate is closed, counted": {
			json: `{"pccRules":{"r":{"pccRuleId":"r","precedence":20,"refQosData":["q"],"refTcData":["t"],"refChgData":["c"],
				"flowInfos":[{"flowDescription":"permit out ip from 192.0.2.0/24 to assigned","flowDirection":"UPLINK"}]}},
				"qosDecs":{"q":{"qosId":"q","5qi":1,"gbrUl":"64 Kbps","gbrDl":"64 Kbps","maxbrUl":"128 Kbps","arp":{"priorityLevel":2,"preemptCap":"NOT_PREEMPT","preemptVuln":"PREEMPTABLE"}}},
				"traffContDecs":{"t":{"tcId":"t","flowStatus":"ENABLED-UPLINK"}},"chgDecs":{"c":{"chgId":"c","ratingGroup":4,"offline":true}}}`,
			wantDecided: record.Decided{Ruled: true}, wantFlows: []string{}, want: procedure.Ruling{Said: true, Rules: []record.Rule{{
				Name: "r", FiveQI: 1, Priority: 2, Preemptable: true, GFBRUplink: 64e3, GFBRDownlink: 64e3, MFBRUplink: 128e3, MFBRDownlink: 64e3, Precedence: 20,
				Filters: filter(to("192.0.2.0/24", n1.Uplink)), Closed: uint8(n1.Downlink), Charge: record.Charge{RatingGroup: 4, Offline: true},
			}}},
		},
		"a predefined rule, one that the Slice has not, an application, no such QoS, no such charging, a redirection, a precedence beyond the UE's": {
			json: `{"pccRules":{"voice":{"pccRuleId":"voice"},"other":{"pccRuleId":"other"},"app":{"pccRuleId":"app","appId":"x"},
				"q":{"pccRuleId":"q","refQosData":["nope"],"flowInfos":[{"flowDescription":"permit out ip from 192.0.2.1 to assigned"}]},
				"c":{"pccRuleId":"c","refChgData":["nope"],"flowInfos":[{"flowDescription":"permit out ip from 192.0.2.1 to assigned"}]},
				"t":{"pccRuleId":"t","refTcData":["t"],"flowInfos":[{"flowDescription":"permit out ip from 192.0.2.1 to assigned"}]},
				"far":{"pccRuleId":"far","precedence":4000,"flowInfos":[{"flowDescription":"permit out ip from 192.0.2.1 to assigned"}]},
				"bad":{"pccRuleId":"bad","flowInfos":[{"flowDescription":"deny"}]}},
				"traffContDecs":{"t":{"tcId":"t","redirectInfo":{"redirectEnabled":true,"redirectServerAddress":"http://x"}}}}`,
			wantDecided: record.Decided{Ruled: true}, wantFlows: []string{"voice"}, want: procedure.Ruling{
				Said: true, Rules: []record.Rule{{Name: "far", Precedence: 254, Default: true, Filters: filter(to("192.0.2.1/32", n1.Bidirectional))}},
				Failed: []record.Failure{
					{Rule: "bad", Code: incorrectFlows}, {Rule: "app", Code: application}, {Rule: "c", Code: ratingGroup}, {Rule: "other", Code: missingFlows},
					{Rule: "q", Code: wrongQoS}, {Rule: "t", Code: redirected},
				},
			},
		},
		"triggers, and when to ask again": {
			json: `{"policyCtrlReqTriggers":["SAREA_CH","RAT_TY_CH","US_RE"],"revalidationTime":"2027-01-15T08:00:00Z","relCause":"UNSPECIFIED"}`,
			want: procedure.Ruling{TriggersSaid: true, Triggers: procedure.TriggerArea | procedure.TriggerRAT, Revalidate: 1_800_000_000, Ends: true},
		},
	} {
		d, err := npcf.DecodeDecision([]byte(c.json))
		if err != nil {
			t.Fatal(err)
		}
		decided, flows, got := s.decisionOf("internet", "internet", d)
		if diff := cmp.Diff(c.wantDecided, decided) + cmp.Diff(c.wantFlows, flows) + cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// A UE's wish as the PCF reads it.
func TestResources(t *testing.T) {
	got := resourceOf(&procedure.Resource{
		Operation: n1.AddFilters, Rule: "r", Precedence: 7, FiveQI: 1, GFBRUplink: 64e3,
		Filters: []n1.Filter{{ID: 3, Direction: n1.Uplink, Remote: netip.MustParsePrefix("192.0.2.0/24"), Protocol: 17, TOS: 0x28, TOSMask: 0xfc, SPI: 1, FlowLabel: 2}},
	})
	seven := uint8(7)
	want := &npcf.ResourceRequest{
		Rule: "r", Operation: "MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS", Precedence: &seven, QoS: &npcf.RequestedQoS{FiveQI: 1, Uplink: 64e3},
		Filters: []npcf.ResourceFilter{{ID: "3", Direction: "UPLINK", Description: "permit out 17 from 192.0.2.0/24 to assigned", TOS: "28fc", SPI: "00000001", FlowLabel: "000002"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGrants(t *testing.T) {
	for sentence, c := range map[string]struct {
		quota nchf.Quota
		want  procedure.Grant
	}{
		"everything": {
			nchf.Quota{
				RatingGroup: 7, Result: "SUCCESS", Granted: &nchf.Units{Total: 1000, Seconds: 60}, Validity: time.Minute, Holding: time.Hour, TimeThreshold: 6 * time.Second,
				VolumeThreshold: 100, Final: "REDIRECT",
			},
			procedure.Grant{RatingGroup: 7, Quota: record.Quota{
				Has: record.HasTotal | record.HasSeconds, Total: 1000, Seconds: 60, VolumeLeft: 100, SecondsLeft: 6, Holding: 3600, Until: 60, Final: true,
			}},
		},
		"none is needed":     {nchf.Quota{RatingGroup: 7, Result: "QUOTA_MANAGEMENT_NOT_APPLICABLE"}, procedure.Grant{RatingGroup: 7, Free: true}},
		"there is none":      {nchf.Quota{RatingGroup: 7, Result: "QUOTA_LIMIT_REACHED"}, procedure.Grant{RatingGroup: 7, Denied: true}},
		"nothing is granted": {nchf.Quota{RatingGroup: 7, Result: "SUCCESS", Granted: &nchf.Units{}}, procedure.Grant{RatingGroup: 7, Denied: true}},
	} {
		if diff := cmp.Diff(c.want, grantOf(c.quota)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

// No container has more than free5GC's CHF reads, and nothing is lost between them.
func TestContainers(t *testing.T) {
	var up, down uint64
	var seconds uint32
	list := containers(record.Group{Online: true, SentWhy: procedure.WhyExhausted, Sent: record.Units{Uplink: 5 << 30, Downlink: 3 << 30, Seconds: 9, First: 1}}, 4, time.Unix(2, 0))
	for _, c := range list {
		if c.Units.Total > math.MaxInt32 || c.Units.Total != c.Units.Uplink+c.Units.Downlink || !c.Online || c.Sequence != 4 || c.Triggers[0].Type != "QUOTA_EXHAUSTED" {
			t.Errorf("%+v", c)
		}
		up, down, seconds = up+c.Units.Uplink, down+c.Units.Downlink, seconds+c.Units.Seconds
	}
	if up != 5<<30 || down != 3<<30 || seconds != 9 {
		t.Errorf("%d and %d octets, %d s in %d containers", up, down, seconds, len(list))
	}
	if list := containers(record.Group{}, 1, time.Time{}); list != nil {
		t.Errorf("of nothing: %+v", list)
	}
}
