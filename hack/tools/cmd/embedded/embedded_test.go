package main

import (
	"archive/tar"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"
)

func testSettings(t *testing.T) *settings {
	t.Helper()
	s, err := newSettings(t.TempDir(), t.TempDir(), t.TempDir(), "10.213.0.1", "512", "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSettings(t *testing.T) {
	s := testSettings(t)
	if got := s.server(); got != "https://10.213.0.2:6443" {
		t.Errorf("server %s, want the address after the machine's", got)
	}
	for name, c := range map[string]struct{ hostIP, hugepages, instance, want string }{
		"no address":        {"ten", "1", "", "-host-ip"},
		"an IPv6 address":   {"fd00::1", "1", "", "-host-ip"},
		"no number":         {"10.0.0.1", "1Gi", "", "-hugepages"},
		"a negative number": {"10.0.0.1", "-1", "", "-hugepages"},
		"a long name":       {"10.0.0.1", "1", "abcdefghijkl", "-instance"},
		"a bridge's name":   {"10.0.0.1", "1", "n3", "-instance"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSettings("", "", "", c.hostIP, c.hugepages, c.instance)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that names %s", err, c.want)
			}
		})
	}
}

func TestInstancesShareNothing(t *testing.T) {
	usual, further := testSettings(t), testSettings(t)
	further.instance = "second"
	if usual.link() == further.link() || usual.cgroup() == further.cgroup() {
		t.Errorf("links %s and %s, groups %s and %s: want different ones", usual.link(), further.link(), usual.cgroup(), further.cgroup())
	}
	if got := len(further.link()); got > 15 {
		t.Errorf("link %s has %d octets, more than a link's name may have", further.link(), got)
	}
}

// Who asks for a cluster that is up need not say where it is.
func TestTheClusterThatIsUpKnowsItsAddress(t *testing.T) {
	s := testSettings(t)
	for file, text := range map[string]string{"host-ip": "10.9.8.1", "instance": "second"} {
		if err := s.write([]byte(text), 0o644, file); err != nil {
			t.Fatal(err)
		}
	}
	again, err := newSettings(s.state, "", "", "10.213.0.1", "1", "")
	if err != nil {
		t.Fatal(err)
	}
	if again.server() != "https://10.9.8.2:6443" || again.link() != "c5g-second" {
		t.Errorf("%s by %s, want those that it was brought up with", again.server(), again.link())
	}
}

func TestPKI(t *testing.T) {
	s := testSettings(t)
	if err := s.writePKI(); err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(s.path("pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)

	for _, c := range []struct{ file, calledBy string }{
		{"apiserver", "10.213.0.2"}, {"apiserver", "10.96.0.1"}, {"apiserver", "kubernetes.default.svc"},
		{"apiserver", "127.0.0.1"}, {"kubelet", "10.213.0.2"},
	} {
		pair, err := tls.LoadX509KeyPair(s.path("pki", c.file+".crt"), s.path("pki", c.file+".key"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, DNSName: c.calledBy, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}); err != nil {
			t.Errorf("%s called by %s: %v", c.file, c.calledBy, err)
		}
	}

	for file, want := range map[string]string{
		"kubeconfig": "core5g-admin system:masters", "auth/kubelet": "system:node:core5g-node system:nodes",
		"auth/kube-scheduler": "system:kube-scheduler ",
	} {
		config, err := clientcmd.BuildConfigFromFlags("", s.path(file))
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		subject := pair.Leaf.Subject
		if got := subject.CommonName + " " + strings.Join(subject.Organization, ","); got != want {
			t.Errorf("%s is for %q, want %q", file, got, want)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{
			Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	info, err := os.Stat(s.path("pki", "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("ca.key has mode %o, want 600", info.Mode().Perm())
	}
}

// The kubelet does not start when the memory it is told to reserve in two places differs.
func TestKubeletReservedMemory(t *testing.T) {
	config := testSettings(t).kubeletConfiguration()
	quantity := func(text any) resource.Quantity { return resource.MustParse(text.(string)) }
	want := quantity(config["kubeReserved"].(object)["memory"])
	want.Add(quantity(config["evictionHard"].(object)["memory.available"]))
	var got resource.Quantity
	for _, cell := range config["reservedMemory"].([]object) {
		got.Add(quantity(cell["limits"].(object)["memory"]))
	}
	if got.Cmp(want) != 0 {
		t.Errorf("reservedMemory is %s, want %s", got.String(), want.String())
	}
}

func TestDaemonsStartAfterOnesThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, d := range testSettings(t).daemons() {
		for _, other := range d.after {
			if !known[other] {
				t.Errorf("%s starts after %s, which does not come before it", d.name, other)
			}
		}
		known[d.name] = true
	}
}

func TestFullReference(t *testing.T) {
	for tag, want := range map[string]string{
		"core5g/amf:dev":             "docker.io/core5g/amf:dev",
		"amf:dev":                    "docker.io/library/amf:dev",
		"registry.example.org/amf:1": "registry.example.org/amf:1",
		"localhost/amf:1":            "localhost/amf:1",
		"host:5000/amf:1":            "host:5000/amf:1",
	} {
		if got := fullReference(tag); got != want {
			t.Errorf("%s is %s, want %s", tag, got, want)
		}
	}
}

func TestIdentifyRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	if err := os.WriteFile(file, []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := identify(file); err == nil {
		t.Error("a text was taken for an image archive")
	}
	if _, err := parseManifest([]byte(`[{"RepoTags":null}]`)); err == nil {
		t.Error("an image without a name was accepted")
	}
}

// A release's archive is an OCI layout: pods ask for its image by tag and by digest, and containerd calls it as it says itself.
func TestIdentifyTheArchiveOfARelease(t *testing.T) {
	index := func(name string) string {
		return `{"schemaVersion": 2, "manifests": [{"digest": "sha256:aa", "annotations": {"io.containerd.image.name": "` + name + `", "org.opencontainers.image.ref.name": "1.2.3"}}]}`
	}
	file := filepath.Join(t.TempDir(), "amf-1.2.3.oci.tar")
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range [][2]string{{"blobs/sha256/aa", "{}"}, {"index.json", index("core5g/amf:1.2.3")}, {"oci-layout", "{}"}} {
		if err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := identify(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"docker.io/core5g/amf:1.2.3", "docker.io/core5g/amf@sha256:aa"}; !slices.Equal(got.references, want) {
		t.Errorf("references %q, want %q", got.references, want)
	}
	if got.repository != "docker.io/core5g/amf" || got.short != "core5g/amf:1.2.3" || got.identity == "" {
		t.Errorf("it has %+v", got)
	}
	for _, name := range []string{"", "core5g/amf", "core5g/amf@sha256:aa"} {
		if held, err := parseIndex([]byte(index(name))); err == nil {
			t.Errorf("an image called %q was accepted: %+v", name, held)
		}
	}
}

func TestSandboxPID(t *testing.T) {
	s := testSettings(t)
	if s.running() {
		t.Error("runs without ever having been started")
	}
	identity, err := processIdentity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write([]byte(identity+"\n"), 0o644, "pid"); err != nil {
		t.Fatal(err)
	}
	if got := s.sandboxPID(); got != os.Getpid() {
		t.Errorf("pid %d, want %d", got, os.Getpid())
	}
	// The same number, another process.
	if err := s.write(fmt.Appendf(nil, "%d 1\n", os.Getpid()), 0o644, "pid"); err != nil {
		t.Fatal(err)
	}
	if s.running() {
		t.Error("another process with the same pid was taken for the sandbox")
	}
}

func TestASandboxThatHasEnded(t *testing.T) {
	s := testSettings(t)
	if err := errors.Join(s.write(fmt.Appendf(nil, "%d 1\n", os.Getpid()), 0o644, "pid"), s.write([]byte("mounts: no\n"), 0o644, "log", "init.log")); err != nil {
		t.Fatal(err)
	}
	asked := false
	err := s.await(t.Context(), "API server", func() error { asked = true; return nil })
	if asked || err == nil || !strings.Contains(err.Error(), "API server: the sandbox has ended") || !strings.Contains(err.Error(), "mounts: no") {
		t.Errorf("asked %v, %v", asked, err)
	}
}

func TestFailingDaemon(t *testing.T) {
	s := testSettings(t)
	note := func(exits, log string) {
		t.Helper()
		if err := errors.Join(
			s.write([]byte(exits), 0o644, "log", "etcd.exits"), s.write([]byte(log), 0o644, "log", "etcd.log"),
		); err != nil {
			t.Fatal(err)
		}
	}
	note("exit status 1\n", "starting\n")
	if err := s.failingDaemon(); err != nil {
		t.Errorf("one exit counts as failing: %v", err)
	}
	note(strings.Repeat("exit status 1\n", 4), "starting\nno space left\n")
	err := s.failingDaemon()
	if err == nil || !strings.Contains(err.Error(), "etcd") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v, want one with the daemon and the end of its log", err)
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Repeat("x\n", 20000)+"a\nb\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := tail(file, 2); got != "a\nb" {
		t.Errorf("tail %q, want the last two lines", got)
	}
}

func TestRemoveGroup(t *testing.T) {
	top := filepath.Join(t.TempDir(), "core5g")
	if err := os.MkdirAll(filepath.Join(top, "kubepods", "pod1", "c1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := removeGroup(top); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(top); !errors.Is(err, os.ErrNotExist) {
		t.Error("the group is still there")
	}
	if err := removeGroup(top); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}
