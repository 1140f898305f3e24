package cluster

import (
	"encoding/json"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"core5g.dev/core5g/hack/repository"
	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// document is what this test reads of any object in manifests/.
type document struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Data       map[string]string `json:"data"`
	StringData map[string]string `json:"stringData"`
	Spec       struct {
		Template struct {
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"template"`
	} `json:"spec"`
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(repository.Path(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// object is that of a kind and name in a file of manifests/, in v.
func object(t *testing.T, path, kind, name string, v any) {
	t.Helper()
	for _, text := range strings.Split(read(t, path), "\n---\n") {
		var d document
		if err := yaml.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.Kind == kind && d.Metadata.Name == name {
			if err := yaml.Unmarshal([]byte(text), v); err != nil {
				t.Fatalf("%s: %s %s: %v", path, kind, name, err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s %s", path, kind, name)
}

// attached is the address that Multus gives a pod of manifests/samples/ran.yaml.
func attached(t *testing.T, deployment string) netip.Prefix {
	t.Helper()
	var d document
	object(t, ranFile, "Deployment", deployment, &d)
	var networks []struct {
		IPs []netip.Prefix `json:"ips"`
	}
	if err := json.Unmarshal([]byte(d.Spec.Template.Metadata.Annotations["k8s.v1.cni.cncf.io/networks"]), &networks); err != nil {
		t.Fatal(err)
	}
	if len(networks) != 1 || len(networks[0].IPs) != 1 {
		t.Fatalf("%s: %d networks, want one with one address", deployment, len(networks))
	}
	return networks[0].IPs[0]
}

const ranFile = "manifests/samples/ran.yaml"

// The simulated radio and data networks, the slices and the chart's default UPF stand in four files, because each is
// used without the others. Together they must be one network.
func TestExamplesAreOneNetwork(t *testing.T) {
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
	if err := yaml.Unmarshal([]byte(read(t, "charts/core5g/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	n3, n6 := values.UPF.Spec.N3, values.UPF.Spec.N6

	var config document
	var dn struct {
		Address netip.Prefix
		Routes  []struct {
			To  string
			Via netip.Addr
		}
	}
	object(t, ranFile, "ConfigMap", "dn", &config)
	if err := yaml.Unmarshal([]byte(config.Data["dn.yaml"]), &dn); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{
		"the chart's upf.spec.n6.gateway": n6.Gateway.String(),
		"the data network's own":          dn.Address.Addr().String(),
		"that of the data network's pod":  attached(t, "dn").Addr().String(),
	} {
		if got != DataNetwork {
			t.Errorf("%s is %s, and DataNetwork %s", what, got, DataNetwork)
		}
	}
	if dn.Address.Masked() != n6.Address.Masked() || attached(t, "dn").Masked() != n6.Address.Masked() {
		t.Errorf("N6: the chart has %s, the data network %s, its pod %s", n6.Address, dn.Address, attached(t, "dn"))
	}

	var ran struct {
		GNB struct {
			N3     struct{ Address netip.Addr }
			Slices []api.SNSSAI
			TAC    string
		}
		UEs []struct {
			SUPI     string
			Sessions []struct {
				SNSSAI api.SNSSAI
				DNN    string
			}
		}
	}
	var secret document
	object(t, ranFile, "Secret", "ran", &secret)
	if err := yaml.Unmarshal([]byte(secret.StringData["ran.yaml"]), &ran); err != nil {
		t.Fatal(err)
	}
	gnb := ran.GNB.N3.Address
	if pod := attached(t, "ran"); pod.Addr() != gnb || pod.Masked() != n3.Subnet || n3.Endpoints.Contains(gnb) {
		t.Errorf("N3: the gNB is %s, its pod %s; the UPF's endpoints are %s in %s", gnb, pod, n3.Endpoints, n3.Subnet)
	}

	var pools, routed []string
	for i, x := range []struct{ file, slice, subscriber string }{
		{"manifests/slice.yaml", "internet", "phone-1"}, {"manifests/slice-second.yaml", "second", "phone-2"},
	} {
		var slice api.Slice
		var phone api.Subscriber
		object(t, x.file, "Slice", x.slice, &slice)
		object(t, x.file, "Subscriber", x.subscriber, &phone)
		for _, d := range slice.Spec.DataNetworks {
			for _, pool := range d.UEPools {
				pools = append(pools, string(pool))
			}
		}
		ue := ran.UEs[i]
		if ue.SUPI != phone.Spec.SUPI || phone.Spec.Slices[0].Name != slice.Name {
			t.Errorf("UE %s of the radio network is %s of slice %s in %s", ue.SUPI, phone.Spec.SUPI, phone.Spec.Slices[0].Name, x.file)
		}
		if s := ue.Sessions[0]; s.SNSSAI != slice.Spec.SNSSAI || s.DNN != string(slice.Spec.DataNetworks[0].DNN) || !slices.Contains(ran.GNB.Slices, s.SNSSAI) {
			t.Errorf("UE %s asks for %+v, %s has %+v", ue.SUPI, s, x.file, slice.Spec)
		}
	}
	for _, r := range dn.Routes {
		routed = append(routed, r.To)
		if r.Via != n6.Address.Addr() {
			t.Errorf("the data network reaches %s by %s, and the UPF is %s", r.To, r.Via, n6.Address)
		}
	}
	if !slices.Equal(pools, routed) {
		t.Errorf("the slices have pools %v, the data network routes %v", pools, routed)
	}
}
