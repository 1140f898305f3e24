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

// templateAs renders the chart as a release in a namespace, without the repositories, plugins and cluster of whoever
// runs the test.
func templateAs(t *testing.T, release, at string, args ...string) (string, error) {
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

// valueSets returns the names of the files testdata/<name>.values.yaml and their paths.
func valueSets(t *testing.T) map[string]string {
	t.Helper()
	const suffix = ".values.yaml"
	paths, err := filepath.Glob(filepath.Join(chart, "testdata", "*"+suffix))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no value sets: %v", err)
	}
	sets := map[string]string{}
	for _, path := range paths {
		sets[strings.TrimSuffix(filepath.Base(path), suffix)] = path
	}
	return sets
}
