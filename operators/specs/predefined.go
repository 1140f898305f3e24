package specs

import (
	"cmp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// upfcPredefinedRule is one of upf-c.yaml.
type upfcPredefinedRule struct {
	Name    string   `json:"name"`
	Filters []string `json:"filters"`
	Gate    string   `json:"gate,omitempty"`
}

// protocols by the names that filters have for them.
var protocols = map[string]int{"ICMP": 1, "TCP": 6, "UDP": 17, "ESP": 50, "ICMPv6": 58, "SCTP": 132}

func predefinedRules(upf *api.UPFInstance) (out []upfcPredefinedRule) {
	for i := range upf.Spec.PredefinedRules {
		r := &upf.Spec.PredefinedRules[i]
		rule := upfcPredefinedRule{Name: r.Name}
		if r.Gate == api.PredefinedClosed {
			rule.Gate = "closed"
		}
		for j := range r.Filters {
			rule.Filters = append(rule.Filters, flowDescription(&r.Filters[j]))
		}
		out = append(out, rule)
	}
	return out
}

// flowDescription of a packet filter, as SDF filters have it (TS 29.212 5.4.2).
func flowDescription(f *api.PacketFilter) string {
	protocol := "ip"
	if f.Protocol != nil {
		protocol = f.Protocol.String()
		if number, is := protocols[protocol]; is {
			protocol = strconv.Itoa(number)
		}
	}
	ports := func(p *api.Ports) string { return (*intstr.IntOrString)(p).String() }
	words := []string{"permit out", protocol, "from", cmp.Or(string(f.Remote), "any")}
	if f.RemotePorts != nil {
		words = append(words, ports(f.RemotePorts))
	}
	words = append(words, "to assigned")
	if f.LocalPorts != nil {
		words = append(words, ports(f.LocalPorts))
	}
	return strings.Join(words, " ")
}
