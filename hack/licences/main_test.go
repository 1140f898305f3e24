package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"core5g.dev/core5g/hack/licences/spdx"
)

func TestPolicy(t *testing.T) {
	p := policy{
		Allowed:    []string{"MIT"},
		Exceptions: []entry{{Name: "example.org/odd", Licence: "Odd", Reason: "read by hand"}},
	}
	for sentence, test := range map[string]struct {
		name  string
		found []string
		want  string // a part of the complaint
	}{
		"an allowed licence":         {"example.org/a", []string{"MIT"}, ""},
		"a licence not allowed":      {"example.org/a", []string{"AGPL-3.0"}, "is under AGPL-3.0"},
		"one of two not allowed":     {"example.org/a", []string{"GPL-2.0", "MIT"}, "is under GPL-2.0"},
		"no licence":                 {"example.org/a", nil, "no licence that is known"},
		"no licence, with an excuse": {"example.org/odd", nil, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := p.module(shipped{name: test.name, version: "v1.0.0"}, test.found)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("complaint %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestPackagesByPattern(t *testing.T) {
	p := policy{Packages: []entry{{Name: "libc6", Licence: "L"}, {Name: "io.netty:*", Licence: "A"}}}
	for name, want := range map[string]bool{"libc6": true, "libc6-dev": false, "io.netty:netty-buffer": true, "io.netty": false} {
		if _, got := p.find(name); got != want {
			t.Errorf("%s: found %t, want %t", name, got, want)
		}
	}
}

func TestBilled(t *testing.T) {
	folder := t.TempDir()
	text := `{"components": [
		{"name": "example.org/go", "version": "v1", "purl": "pkg:golang/example.org/go@v1"},
		{"name": "libc6", "version": "2.36", "purl": "pkg:deb/debian/libc6@2.36"},
		{"name": "/bin/x", "hashes": []}]}`
	if err := os.WriteFile(filepath.Join(folder, "a.cdx.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, bills, err := billed(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []shipped{{name: "libc6", version: "2.36"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shipped{})); diff != "" || bills != 1 {
		t.Errorf("%d bills, want 1 (-want +got):\n%s", bills, diff)
	}
	if _, bills, err := billed(filepath.Join(folder, "none")); bills != 0 || err != nil {
		t.Errorf("no folder: %d bills, %v; want none and no error", bills, err)
	}
}

// TestNotice holds NOTICE to what the programs of a release link.
func TestNotice(t *testing.T) {
	want, err := notice("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("run `go run ./hack/licences -notice` (-want +got):\n%s", diff)
	}
}

// TestReleasedModules looks for what only a release's own parts link: a wrapper in a module of its own, a program
// that a command builds, the plug-in; and for what only a prerequisite does.
func TestReleasedModules(t *testing.T) {
	modules, err := releasedModules("../..")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range modules {
		found[m.name] = true
	}
	for name, want := range map[string]bool{
		"github.com/free5gc/chf":                 true,
		"github.com/free5gc/nas":                 true,
		"k8s.io/client-go":                       true,
		"github.com/prometheus/prometheus":       false,
		"github.com/cert-manager/cert-manager":   false,
		"github.com/google/go-containerregistry": false,
	} {
		if found[name] != want {
			t.Errorf("%s: found %t, want %t", name, found[name], want)
		}
	}
}

func TestLicenceOfTheProject(t *testing.T) {
	found, err := spdx.OfFolder("../..")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Apache-2.0"}, found); diff != "" {
		t.Errorf("LICENSE (-want +got):\n%s", diff)
	}
}
