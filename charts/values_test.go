package charts_test

import (
	"strings"
	"testing"
)

// TestSchemaRefuses checks that a value that nobody reads, or that the API would refuse, ends the
// installation with a message that names it.
func TestSchemaRefuses(t *testing.T) {
	tests := []struct {
		name string
		arg  string
		want []string
	}{
		{"an unknown key at the top", "--set=image.tag=x", []string{"additional properties 'image' not allowed"}},
		{"a misspelt key of the core", "--set=core.spec.n2.transprot=SCTP", []string{"/core/spec/n2", "additional properties 'transprot' not allowed"}},
		{"a misspelt key of the UPF", "--set=upf.spec.hugePages.size=2Mi", []string{"/upf/spec", "additional properties 'hugePages' not allowed"}},
		{"a word outside an enumeration", "--set=core.spec.n2.transport=TCP", []string{"/core/spec/n2/transport", "value must be one of 'SCTP', 'SCTPOverUDP'"}},
		{"a number where the API has a string", "--set-json=core.spec.tacs=[1]", []string{"/core/spec/tacs/0", "got number, want string"}},
		{"an MTU below IPv6's", "--set=upf.spec.n3.mtu=1000", []string{"/upf/spec/n3/mtu", "minimum: got 1,000, want 1,280"}},
		{"an empty catalogue", "--set-json=core.spec.sliceCatalogue=[]", []string{"/core/spec/sliceCatalogue", "minItems: got 0, want 1"}},
		{"a name that no object may have", "--set=core.name=Core_5G", []string{"/core/name", "does not match pattern"}},
		{"a tag that no image may have", "--set=images.tag=a/b", []string{"/images/tag", "does not match pattern"}},
		{"a digest that is none", "--set=images.digests.v1.amf=sha256:12", []string{"/images/digests/v1/amf", "does not match pattern"}},
		{"a registry that ends in a slash", "--set=images.registry=example.org/", []string{"/images/registry", "does not match pattern"}},
		{"a kubelet configuration without a path", "--set=nodeAgent.kubeletConfig=config.yaml", []string{"/nodeAgent/kubeletConfig", "does not match pattern"}},
		{"a wrong log level", "--set=logLevel=verbose", []string{"/logLevel", "value must be one of 'Debug', 'Info', 'Warn', 'Error'"}},
		{"a nonsense interval", "--set=monitoring.interval=often", []string{"/monitoring/interval", "does not match pattern"}},
		{"a ratio in percent", "--set=monitoring.alerts.tableRatio=80", []string{"/monitoring/alerts/tableRatio", "maximum: got 80, want 1"}},
		{"a threshold that no alert has", "--set=monitoring.alerts.drops=1", []string{"/monitoring/alerts", "additional properties 'drops' not allowed"}},
		{"the name of monitoring before 0.2", "--set=metrics.podMonitor=Never", []string{"metrics is called monitoring now"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := template(t, test.arg)
			if err == nil {
				t.Fatalf("%s was accepted", test.arg)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q, want it to contain %q", err, want)
				}
			}
		})
	}
}
