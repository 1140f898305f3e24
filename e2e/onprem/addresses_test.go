package onprem

import (
	"net/netip"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/e2e/cluster"
	"core5g.dev/core5g/hack/repository"
)

// The emulated server stands beside the chart's default UPF on the same bridges: the suite's defaults are addresses
// of its subnets that it does not use itself.
func TestDefaultAddressesLeaveRoomForTheDefaultUPF(t *testing.T) {
	text, err := os.ReadFile(repository.Path(t, "charts/core5g/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		UPF struct {
			Spec struct {
				N3 struct {
					Subnet, Endpoints netip.Prefix
				}
				N6 struct {
					Address netip.Prefix
					Gateway netip.Addr
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	n3, n6 := values.UPF.Spec.N3, values.UPF.Spec.N6
	s, err := readSettings(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	endpoints, gnb := netip.MustParsePrefix(s.n3Endpoints), netip.MustParseAddr(s.gnb)
	first, further := netip.MustParsePrefix(s.n6Address), netip.MustParsePrefix(s.n6Further)
	for what, right := range map[string]bool{
		"N3 subnet " + s.n3Subnet:       s.n3Subnet == n3.Subnet.String(),
		"N3 endpoints " + s.n3Endpoints: n3.Subnet.Contains(endpoints.Addr()) && endpoints.Bits() > n3.Subnet.Bits() && !endpoints.Overlaps(n3.Endpoints),
		"gNB " + s.gnb:                  n3.Subnet.Contains(gnb) && !n3.Endpoints.Contains(gnb),
		"N6 address " + s.n6Address:     first.Masked() == n6.Address.Masked() && first.Addr() != n6.Address.Addr() && first.Addr() != n6.Gateway,
		"N6 addresses " + s.n6Further: n6.Address.Masked().Contains(further.Addr()) && !further.Contains(n6.Address.Addr()) &&
			!further.Contains(n6.Gateway) && !further.Contains(first.Addr()),
		"N6 gateway " + s.n6Gateway: s.n6Gateway == n6.Gateway.String() && s.n6Gateway == cluster.DataNetwork,
	} {
		if !right {
			t.Errorf("%s does not go with the chart's N3 %+v and N6 %+v", what, n3, n6)
		}
	}
}
