package onprem

import (
	"strings"
	"testing"
)

func TestReadSettings(t *testing.T) {
	tests := []struct {
		name        string
		environment map[string]string
		wantErr     string
		// wantManifest stands in the UPFInstance; without, no VLAN does.
		wantManifest string
	}{
		{name: "the defaults"},
		{name: "a server's own", environment: map[string]string{"CORE5G_ONPREM_N3_RESOURCE": "example.org/ens1f0_{cell}", "CORE5G_ONPREM_RAN_NODES": "pool=ran"}},
		{name: "a resource without a socket", environment: map[string]string{"CORE5G_ONPREM_N6_RESOURCE": "example.org/ens1f1"}, wantErr: "write {cell}"},
		{name: "a label without a value", environment: map[string]string{"CORE5G_ONPREM_NODES": "upf"}, wantErr: "write key=value"},
		{name: "an address where a subnet is wanted", environment: map[string]string{"CORE5G_ONPREM_N3_SUBNET": "10.1.1.1"}, wantErr: "such as 172.30.3.0/24"},
		{name: "a tagged N3", environment: map[string]string{"CORE5G_ONPREM_N3_VLAN": "30", "CORE5G_ONPREM_N3_MTU": "1600"}, wantManifest: "mtu: 1600\n    vlan: 30\n"},
		{name: "a VLAN that is none", environment: map[string]string{"CORE5G_ONPREM_N3_VLAN": "n3"}, wantErr: "from 1 to 4094"},
		{name: "an MTU that is too small for IPv6", environment: map[string]string{"CORE5G_ONPREM_N3_MTU": "576"}, wantErr: "from 1280 to 9600"},
		{name: "a name where an address is wanted", environment: map[string]string{"CORE5G_ONPREM_GNB": "gnb"}, wantErr: "such as 172.30.3.100"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := readSettings(func(name string) string { return test.environment[name] })
			if (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Fatalf("error %v, want one with %q", err, test.wantErr)
			}
			if err != nil {
				return
			}
			upf := s.manifests(nil).upf
			if !strings.Contains(upf, test.wantManifest) || strings.Contains(upf, "vlan:") != (test.wantManifest != "") {
				t.Errorf("the UPFInstance does not have %q:\n%s", test.wantManifest, upf)
			}
			objects := s.manifests(map[string]string{"10.47.0.0/18": "172.30.6.3"})
			for _, want := range []string{s.n3Resource, s.pool, s.gnb, "10.47.0.0/18"} {
				if !strings.Contains(objects.upf+objects.slice+objects.ran+objects.dataNetwork, want) {
					t.Errorf("no manifest has %q", want)
				}
			}
		})
	}
}
