// Package charts_test renders the chart with Helm and looks at what comes out.
package charts_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const chart = "core5g"

// The charts that stand beside it: the operator alone, and UPF units alone.
const (
	operatorChart = "core5g-operator"
	upfChart      = "core5g-upf"
)

// TestMain leaves the short run, which has neither Helm nor an API server yet, to others: `hack/lint.sh
// chart` runs the tests that need Helm, `make integration` those that need an API server too.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("charts: not in a short run: see `hack/lint.sh chart` and `make integration`")
		return
	}
	os.Exit(m.Run())
}

// helm finds the program: $HELM, the one that the project's tools build, or that of the PATH.
func helm(t *testing.T) string {
	t.Helper()
	candidates := []string{os.Getenv("HELM"), "../out/bin/helm"}
	for _, path := range candidates {
		if path == "" {
			continue
		}
		if abs, err := filepath.Abs(path); err == nil {
			if _, err := os.Stat(abs); err == nil {
				return abs
			}
		}
	}
	path, err := exec.LookPath("helm")
	if err == nil {
		return path
	}
	if os.Getenv("CORE5G_TOOLS") == "required" {
		t.Fatal("no helm: run `make tools`")
	}
	t.Skip("no helm: run `make tools`, or set HELM")
	return ""
}

// template renders the chart as release core5g in namespace core5g.
func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return templateAs(t, "core5g", "core5g", args...)
}

// templateAs renders the chart as a release in a namespace.
func templateAs(t *testing.T, release, at string, args ...string) (string, error) {
	t.Helper()
	return templateOf(t, chart, release, at, args...)
}

// templateOf renders a chart as a release in a namespace, without the repositories, plugins and cluster of whoever
// runs the test.
func templateOf(t *testing.T, chart, release, at string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(helm(t), append([]string{"template", release, chart, "--namespace=" + at}, args...)...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HELM_PLUGINS="+home,
		"HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", errors.New(stderr.String())
	}
	return stdout.String(), nil
}

// document is one rendered manifest, as text and as an object.
type document struct {
	text   string
	object *unstructured.Unstructured
}

var separator = regexp.MustCompile(`(?m)^---\n`)

func split(t *testing.T, rendered string) []document {
	t.Helper()
	var all []document
	for _, text := range separator.Split(rendered, -1) {
		object := &unstructured.Unstructured{}
		err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text)+1).Decode(&object.Object)
		if errors.Is(err, io.EOF) || err == nil && len(object.Object) == 0 {
			continue
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, document{text: text, object: object})
	}
	return all
}

// valueSet is a file <chart>/testdata/<name>.values.yaml.
type valueSet struct {
	chart, name, path string
	// wantPods is how many templates of pods come out at least, and none more where it is 0.
	wantPods int
}

// String names a set of chart core5g by its name alone.
func (s valueSet) String() string { return strings.TrimPrefix(s.chart+" "+s.name, chart+" ") }

// render renders the set's chart with it, as release core5g in namespace core5g.
func (s valueSet) render(t *testing.T) (string, error) {
	t.Helper()
	return templateOf(t, s.chart, "core5g", "core5g", "--values", s.path)
}

// valueSets returns those of all charts.
func valueSets(t *testing.T) []valueSet {
	t.Helper()
	const suffix = ".values.yaml"
	var sets []valueSet
	for chart, pods := range map[string]int{chart: 3, operatorChart: 1, upfChart: 0} { // of the operator and of two jobs; of the operator
		paths, err := filepath.Glob(filepath.Join(chart, "testdata", "*"+suffix))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no value sets of %s: %v", chart, err)
		}
		for _, path := range paths {
			set := valueSet{chart: chart, name: strings.TrimSuffix(filepath.Base(path), suffix), path: path, wantPods: pods}
			if set.String() == "instance" {
				set.wantPods = 0
			}
			sets = append(sets, set)
		}
	}
	return sets
}
