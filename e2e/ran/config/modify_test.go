package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/ran/uenas"
	"core5g.dev/core5g/images/session-management/n1"
)

func modification(t *testing.T, text string) (uenas.ModificationRequest, string) {
	t.Helper()
	var m Modify
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	var said []string
	got := m.Check("modify", func(key, format string, args ...any) { said = append(said, key+": "+fmt.Sprintf(format, args...)) })
	return got, strings.Join(said, "; ")
}

func TestModify(t *testing.T) {
	got, said := modification(t, `
alwaysOn: true
flows:
- fiveQI: 2
  gfbrUplink: 500000
  filters:
  - {direction: up, remote: "2001:db8::/32", protocol: 17, remotePorts: "5000-5010", localPorts: "9", tos: 0xb8/0xfc}
  - {flowLabel: 5}
- {qfi: 5, precedence: 7, filters: [{local: 10.45.0.1/32}]}
deleteRules: [4]
deleteFlows: [6]
`)
	if said != "" {
		t.Fatal(said)
	}
	second := n1.Any(2)
	second.FlowLabel = 5
	local := n1.Any(1)
	local.Local = netip.MustParsePrefix("10.45.0.1/32")
	want := uenas.ModificationRequest{
		AlwaysOn: true,
		Rules: []n1.Rule{
			{ID: 4, Operation: n1.DeleteRule},
			{Operation: n1.CreateRule, Precedence: 100, Filters: []n1.Filter{{
				ID: 1, Direction: n1.Uplink, Remote: netip.MustParsePrefix("2001:db8::/32"), Protocol: 17, RemotePorts: n1.PortRange{First: 5000, Last: 5010},
				LocalPorts: n1.PortRange{First: 9, Last: 9}, TOS: 0xB8, TOSMask: 0xFC,
			}, second}},
			{Operation: n1.CreateRule, Precedence: 7, QFI: 5, Filters: []n1.Filter{local}},
		},
		Flows: []n1.Flow{{QFI: 6, Operation: n1.DeleteFlow}, {Operation: n1.CreateFlow, FiveQI: 2, GFBRUplink: 500000}},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModifyRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                                           "modify: it asks for nothing; write alwaysOn",
		"deleteRules: [0]":                             "modify.deleteRules[0]: 0 is not a QoS rule identifier",
		"deleteFlows: [64]":                            "modify.deleteFlows[0]: 64 is not a QoS flow identifier",
		"flows: [{qfi: 64, fiveQI: 1}]":                "modify.flows[0].qfi: 64 is not a QoS flow identifier",
		"flows: [{fiveQI: 256}]":                       "modify.flows[0].fiveQI: 256 is not a 5QI",
		"flows: [{fiveQI: 1, precedence: 255}]":        "modify.flows[0].precedence: 255 is not a precedence",
		"flows: [{filters: [{direction: left}]}]":      `filters[0].direction: "left" is not one of up, down, both`,
		"flows: [{filters: [{remote: 1.2.3.4}]}]":      `filters[0].remote: "1.2.3.4" is not a prefix`,
		"flows: [{filters: [{protocol: 300}]}]":        "filters[0].protocol: 300 is not a protocol number",
		"flows: [{filters: [{remotePorts: \"9-5\"}]}]": `filters[0].remotePorts: "9-5" is neither a port nor a range`,
		"flows: [{filters: [{tos: \"0xb8\"}]}]":        `filters[0].tos: "0xb8" is not value/mask`,
	} {
		if _, said := modification(t, text); !strings.Contains(said, want) {
			t.Errorf("%s: got %q, want %q", text, said, want)
		}
	}
}
