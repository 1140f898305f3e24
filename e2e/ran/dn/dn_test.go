package dn

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestConfig(t *testing.T) {
	c, err := Parse("dn.yaml", []byte("interface: n6\naddress: 172.30.6.1/24\nmtu: 1500\nroutes: [{to: 10.45.0.0/16, via: 172.30.6.2}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Throughput != ":5201" || c.HTTP != ":8080" || c.Health != ":8081" || c.Address.String() != "172.30.6.1/24" || len(c.routes) != 1 {
		t.Errorf("%+v", c)
	}
	tests := map[string]struct{ text, want string }{
		"no interface":             {"mtu: 1500", "dn.yaml: interface: it is missing; write"},
		"an address without /24":   {"interface: n6\naddress: 172.30.6.1", `dn.yaml: address: "172.30.6.1" is not an IPv4 address with a prefix length`},
		"an MTU of 100":            {"interface: n6\nmtu: 100", "dn.yaml: mtu: 100 is out of range; write 576 to 9216"},
		"a pool that is no prefix": {"interface: n6\nroutes: [{to: pool, via: 1.2.3.4}]", `dn.yaml: routes[0].to: "pool" is not a prefix`},
		"a route without a way":    {"interface: n6\nroutes: [{to: 10.45.0.0/16}]", `dn.yaml: routes[0].via: "" is not an address of the version`},
		"an unknown key":           {"interface: n6\nport: 1", `unknown field "port"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("dn.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestTellAddress(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "10.45.0.7:40000"
	tellAddress(w, r)
	if got := w.Body.String(); got != "10.45.0.7\n" {
		t.Errorf("the client was told %q", got)
	}
}

func TestSampleManifest(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "manifests", "samples", "ran.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, doc := range strings.Split(string(b), "\n---\n") {
		var m struct {
			Data map[string]string `json:"data"`
		}
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		if text := m.Data["dn.yaml"]; text != "" {
			found = true
			if _, err := Parse("dn.yaml", []byte(text)); err != nil {
				t.Error(err)
			}
		}
	}
	if !found {
		t.Error("no dn.yaml in the sample manifest")
	}
}
