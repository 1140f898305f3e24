package subscriberdata

import (
	"net/http"
	"testing"

	"core5g.dev/core5g/operators/api/v1alpha1"
)

// What is a subscriber's own goes with the data of its sessions to core5g's own SMF, and to no other.
func TestStaticAddressesAndFlows(t *testing.T) {
	for name, plane := range map[string]v1alpha1.ControlPlane{"core5g": v1alpha1.ControlPlaneCore5G, "free5gc": v1alpha1.ControlPlaneFree5GC} {
		t.Run(name, func(t *testing.T) {
			objects := defaultObjects()
			for _, o := range objects {
				switch o := o.(type) {
				case *v1alpha1.Core5G:
					o.Spec.ControlPlane = plane
				case *v1alpha1.Slice:
					if o.Name == "iot" {
						o.Spec.DataNetworks[1].SessionTypes = []v1alpha1.SessionType{v1alpha1.SessionIPv4v6, v1alpha1.SessionIPv6}
					}
				case *v1alpha1.Subscriber:
					if o.Spec.SUPI == supiOne {
						o.Spec.Slices[1].Addresses = []v1alpha1.StaticAddress{{DNN: "METERS", IPv4: "10.99.0.9", IPv6Prefix: "2001:db8:99:1::/64"}, {DNN: "operators", IPv4: "10.99.0.10"}}
						o.Spec.Slices[1].FramedRoutes = []v1alpha1.FramedRoutes{
							{DNN: "METERS", Prefixes: []v1alpha1.FramedRoute{"192.168.7.0/24", "2001:db8:7::/48", "192.168.8.0/24"}}, {DNN: "operators", Prefixes: []v1alpha1.FramedRoute{"192.168.9.0/24"}},
						}
						o.Spec.Slices[1].Flows = []string{"voice", "video"}
					}
				}
			}
			c := startCore(t, objects...)
			r := c.do("GET", "/nudm-sdm/v2/"+supiOne+"/sm-data"+query("single-nssai", `{"sst":1,"sd":"abcdef"}`, "dnn", "Meters"), "")
			if r.status != http.StatusOK {
				t.Fatalf("status %d: %s", r.status, r.body)
			}
			compareGolden(t, "udm sm-data of a subscriber's own "+name, r, c.uri)
		})
	}
}

// A data network of Ethernet is named as what it is, and has neither addresses nor routes, whatever the Subscriber still says.
func TestEthernetHasNoAddresses(t *testing.T) {
	objects := defaultObjects()
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Slice:
			if o.Name == "iot" {
				o.Spec.DataNetworks[1].SessionTypes, o.Spec.DataNetworks[1].UEPools = []v1alpha1.SessionType{v1alpha1.SessionEthernet}, nil
			}
		case *v1alpha1.Subscriber:
			if o.Spec.SUPI == supiOne {
				o.Spec.Slices[1].Addresses = []v1alpha1.StaticAddress{{DNN: "METERS", IPv4: "10.99.0.9"}}
				o.Spec.Slices[1].FramedRoutes = []v1alpha1.FramedRoutes{{DNN: "METERS", Prefixes: []v1alpha1.FramedRoute{"192.168.7.0/24"}}}
				o.Spec.Slices[1].Flows = []string{"goose"}
			}
		}
	}
	c := startCore(t, objects...)
	r := c.do("GET", "/nudm-sdm/v2/"+supiOne+"/sm-data"+query("single-nssai", `{"sst":1,"sd":"abcdef"}`, "dnn", "Meters"), "")
	if r.status != http.StatusOK {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	compareGolden(t, "udm sm-data of Ethernet", r, c.uri)
}
