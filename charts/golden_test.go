package charts_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares every value set's manifests with its golden file. The custom resource
// definitions and the dashboards are left out: TestDefinitions and TestDashboards compare them with
// their originals.
func TestGolden(t *testing.T) {
	for _, set := range valueSets(t) {
		t.Run(set.String(), func(t *testing.T) {
			rendered, err := set.render(t)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, doc := range split(t, rendered) {
				if doc.object.GetKind() != "CustomResourceDefinition" && !isDashboard(doc) {
					got.WriteString("---\n" + doc.text)
				}
			}
			golden := filepath.Join(set.chart, "testdata", set.name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
				t.Errorf("rendered manifests (-want +got), `go test ./charts -update` accepts them:\n%s", diff)
			}
		})
	}
}

// TestDefinitions checks that every definition is rendered, and which of them outlive the release.
func TestDefinitions(t *testing.T) {
	originals, err := filepath.Glob("../operators/config/crd/*.yaml")
	if err != nil || len(originals) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	tests := []struct {
		name           string
		args           []string
		wantCount      int
		wantAnnotation string
	}{
		{name: "by default they stay after an uninstall", wantCount: len(originals), wantAnnotation: "keep"},
		{name: "they go with the release", args: []string{"--set=crds.keep=false"}, wantCount: len(originals)},
		{name: "another release has them", args: []string{"--set=crds.install=false"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rendered, err := template(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, doc := range split(t, rendered) {
				if doc.object.GetKind() != "CustomResourceDefinition" {
					continue
				}
				count++
				const policy = "helm.sh/resource-policy"
				if got := doc.object.GetAnnotations()[policy]; got != test.wantAnnotation {
					t.Errorf("%s: %s is %q, want %q", doc.object.GetName(), policy, got, test.wantAnnotation)
				}
				_, rest, _ := strings.Cut(doc.text, "\nspec:\n")
				original := originalOf(t, originals, doc.object.GetName())
				if _, want, _ := strings.Cut(original, "\nspec:\n"); strings.TrimSpace(rest) != strings.TrimSpace(want) {
					t.Errorf("%s differs from its original: run hack/generate.sh", doc.object.GetName())
				}
			}
			if count != test.wantCount {
				t.Errorf("%d definitions, want %d", count, test.wantCount)
			}
		})
	}
}

func originalOf(t *testing.T, paths []string, name string) string {
	t.Helper()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\n  name: "+name+"\n") {
			return string(content)
		}
	}
	t.Fatalf("%s has no original", name)
	return ""
}
