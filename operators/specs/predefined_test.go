package specs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	api "core5g.dev/core5g/operators/api/v1alpha1"
	"core5g.dev/core5g/upf/upfc/config"
)

// What a UPFInstance has of predefined rules is what upf-c reads.
func TestPredefinedRules(t *testing.T) {
	upf := makeUnits(1, "172.30.6.16/28")
	upf.Spec.PredefinedRules = []api.PredefinedRule{
		{Name: "video", Gate: api.PredefinedOpen, Filters: []api.PacketFilter{
			{Direction: api.FilterBidirectional, Remote: "203.0.113.0/24", Protocol: ptr.To(intstr.FromString("UDP")), RemotePorts: ptr.To(api.Ports(intstr.FromString("443-444")))},
			{Remote: "2001:db8:1::/48", LocalPorts: ptr.To(api.Ports(intstr.FromInt32(5060))), Protocol: ptr.To(intstr.FromInt32(6))},
		}},
		{Name: "everything", Gate: api.PredefinedClosed, Filters: []api.PacketFilter{{}}},
	}
	read, err := config.Parse([]byte(UPFUnit(upf, makeCore(), platform, 0, "10.96.1.3").Config.Data["upf-c.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	want := []config.PredefinedRule{
		{Name: "video", Filters: []string{"permit out 17 from 203.0.113.0/24 443-444 to assigned", "permit out 6 from 2001:db8:1::/48 to assigned 5060"}},
		{Name: "everything", Filters: []string{"permit out ip from any to assigned"}, Gate: "closed"},
	}
	if diff := cmp.Diff(want, read.PredefinedRules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
