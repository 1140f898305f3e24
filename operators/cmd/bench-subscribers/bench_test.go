package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	corev1 "k8s.io/api/core/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

func TestMetricsAreSummed(t *testing.T) {
	const text = `# HELP core5g_subscribers Number of Subscribers by the status of Ready.
# TYPE core5g_subscribers gauge
core5g_subscribers{namespace="core5g",ready="False"} 2
core5g_subscribers{namespace="core5g",ready="True"} 1.9998e+04
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 3
rest_client_requests_total{code="200",host="127.0.0.1:2",method="PATCH"} 4
`
	for series, want := range map[string]float64{
		`core5g_subscribers{namespace="core5g",ready="True"}`:    19998,
		`core5g_subscribers{namespace="core5g"}`:                 20000,
		`core5g_subscribers{namespace="core5g",ready="Unknown"}`: 0,
		`rest_client_requests_total{code="200",`:                 7,
	} {
		if got, err := sumOf([]byte(text), series); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", series, got, err, want)
		}
	}
	if _, err := sumOf([]byte("core5g_subscribers{} many\n"), "core5g_subscribers"); err == nil {
		t.Error("what is no number is taken")
	}
}

func TestMemoryIsReadFromStatus(t *testing.T) {
	const status = "Name:\toperator\nVmHWM:\t   65537 kB\nVmRSS:\t   65536 kB\n"
	for name, want := range map[string]int{"VmHWM:": 65, "VmRSS:": 64, "VmSwap:": 0} {
		if got := statusMiB(status, name); got != want {
			t.Errorf("%s %d MiB, want %d", name, got, want)
		}
	}
}

func TestManifestsHoldEverySubscriberWithItsSecret(t *testing.T) {
	const n = perFile + 5
	files, err := writeManifests(t.TempDir(), n)
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	secrets, supis := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(content, []byte("---\n"))[1:] {
			var kind runtime.TypeMeta
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatal(err)
			}
			switch kind.Kind {
			case "Secret":
				s := &corev1.Secret{}
				if err := utilyaml.UnmarshalStrict(document, s); err != nil {
					t.Fatal(err)
				}
				if len(s.StringData["k"]) != 32 || len(s.StringData["opc"]) != 32 {
					t.Fatalf("keys of %s: %v", s.Name, s.StringData)
				}
				secrets[s.Name] = true
			case "Subscriber":
				s := &api.Subscriber{}
				if err := utilyaml.UnmarshalStrict(document, s); err != nil {
					t.Fatal(err)
				}
				if !secrets[s.Spec.Authentication.SecretRef.Name] {
					t.Fatalf("%s names %s, which does not come before it", s.Name, s.Spec.Authentication.SecretRef.Name)
				}
				supis[s.Spec.SUPI] = true
			default:
				t.Fatalf("a %q", kind.Kind)
			}
		}
	}
	if len(secrets) != n || len(supis) != n {
		t.Errorf("%d Secrets and %d SUPIs, want %d", len(secrets), len(supis), n)
	}
}

func TestLinesHoldEverySubscriber(t *testing.T) {
	file := filepath.Join(t.TempDir(), "subscribers.csv")
	if err := writeLines(file, 3); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	want := "imsi-208930000000002,00000000000000000000000000000003,00000000000000000000000000000004,msisdn-33600000002,internet"
	if len(lines) != 4 || lines[0] != "supi,k,opc,gpsi,slices" || lines[3] != want {
		t.Errorf("%q", lines)
	}
}

func TestTimesAreReadFromStat(t *testing.T) {
	const stat = "4711 (a (strange) name) S 1 4711 4711 0 -1 4194560 1 2 3 4 150 25 7 8 20 0 9 0 100 200 300\n"
	if got := ticksOf(stat); got != 175 {
		t.Errorf("%d ticks, want 175", got)
	}
	if got := endedTicksOf(stat); got != 15 {
		t.Errorf("%d ticks of children, want 15", got)
	}
	if got := ticksOf("4711 (x) S 1\n"); got != 0 {
		t.Errorf("%d ticks of a line that was cut off", got)
	}
}
