package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"
)

func testJoiner() joiner {
	return joiner{
		name: "server", address: netip.MustParseAddr("10.214.0.2"),
		pods: netip.MustParsePrefix("10.244.1.0/24"), cells: 2,
	}
}

func TestJoinGivesAnIdentityThatTheClusterKnows(t *testing.T) {
	s, dir := testSettings(t), t.TempDir()
	if err := s.join(testJoiner(), dir); err == nil || !strings.Contains(err.Error(), "hack/cluster.sh up") {
		t.Fatalf("join without a cluster: %v, want advice", err)
	}
	if err := s.writePKI(); err != nil {
		t.Fatal(err)
	}
	if err := s.join(testJoiner(), dir); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(s.path("pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	serving, err := tls.LoadX509KeyPair(filepath.Join(dir, "pki", "kubelet.crt"), filepath.Join(dir, "pki", "kubelet.key"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serving.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "10.214.0.2"}); err != nil {
		t.Errorf("the kubelet's certificate: %v", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "auth", "kubelet"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	subject := client.Leaf.Subject
	if got, want := subject.CommonName+" "+strings.Join(subject.Organization, ","), "system:node:server system:nodes"; got != want {
		t.Errorf("the kubelet is %q, want %q", got, want)
	}
	if config.Host != s.server() {
		t.Errorf("the kubelet calls %s, want %s", config.Host, s.server())
	}
	if _, err := os.Stat(filepath.Join(dir, "pki", "ca.key")); err == nil {
		t.Error("the node has the authority's key")
	}
}

// The kubelet does not start when the memory it is told to reserve in two places differs.
func TestJoinedKubeletReservedMemory(t *testing.T) {
	for _, cells := range []int{1, 2} {
		j := testJoiner()
		j.cells = cells
		config := testSettings(t).joinedKubelet(j)
		want := resource.MustParse(config["kubeReserved"].(object)["memory"].(string))
		want.Add(resource.MustParse(config["evictionHard"].(object)["memory.available"].(string)))
		var got resource.Quantity
		for _, cell := range config["reservedMemory"].([]object) {
			got.Add(resource.MustParse(cell["limits"].(object)["memory"].(string)))
		}
		if got.Cmp(want) != 0 {
			t.Errorf("%d cells: reservedMemory is %s, want %s", cells, got.String(), want.String())
		}
	}
}

func TestJoinerRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*joiner){
		"the sandbox's own name":  func(j *joiner) { j.name = nodeName },
		"an address of IPv6":      func(j *joiner) { j.address = netip.MustParseAddr("::1") },
		"no address":              func(j *joiner) { j.address = netip.Addr{} },
		"the sandbox's own pods":  func(j *joiner) { j.pods = netip.MustParsePrefix(podSubnet) },
		"pods that are no prefix": func(j *joiner) { j.pods = netip.Prefix{} },
		"no cell":                 func(j *joiner) { j.cells = 0 },
	} {
		j := testJoiner()
		spoil(&j)
		if err := j.validate(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := testJoiner().validate(); err != nil {
		t.Error(err)
	}
}
