package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bill reads the bill of materials that was written beside an archive.
func bill(t *testing.T, archive string) billOfMaterials {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(archive, ".tar") + ".cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	var b billOfMaterials
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func purls(b billOfMaterials) []string {
	var all []string
	for _, c := range b.Components {
		if c.PURL != "" {
			all = append(all, c.PURL)
		}
	}
	return all
}

func TestBillNamesGoModulesAndFiles(t *testing.T) {
	test, err := os.Executable() // a Go program with modules in it: this test
	if err != nil {
		t.Fatal(err)
	}
	b := repository(t, `
entrypoint: [/demo]
files: [{from: "`+test+`", to: /demo, mode: "0755"}]
inline: [{to: /etc/passwd, text: "demo:x:1:1::/:\n"}]
`, map[string]string{})
	got := bill(t, mustBuild(t, b).archive)
	if got.BOMFormat != "CycloneDX" || got.Metadata.Component.Name != "core5g/demo" || got.Metadata.Component.Version != "dev" {
		t.Errorf("the bill is of %+v, format %s", got.Metadata.Component, got.BOMFormat)
	}
	for _, want := range []string{"pkg:golang/sigs.k8s.io/yaml@v", "pkg:golang/std@1."} {
		if !slices.ContainsFunc(purls(got), func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("no %s… in %v", want, purls(got))
		}
	}
	var files []string
	for _, c := range got.Components {
		if c.Type == "file" {
			files = append(files, c.Name)
			if len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 {
				t.Errorf("%s: hashes %v, want one SHA-256", c.Name, c.Hashes)
			}
		}
	}
	if diff := cmp.Diff([]string{"/demo", "/etc/passwd"}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestBillNamesDebianPackages(t *testing.T) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		t.Skip("no dpkg-query: this is no Debian machine")
	}
	b := repository(t, `
cmd: [/bin/true]
libs: auto
packages: [base-files]
files: [{from: /bin/true, to: /bin/true}]
`, map[string]string{})
	got := purls(bill(t, mustBuild(t, b).archive))
	for _, want := range []string{"pkg:deb/debian/coreutils@", "pkg:deb/debian/libc6@", "pkg:deb/debian/base-files@"} {
		if !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, want) }) {
			t.Errorf("no %s… in %v", want, got)
		}
	}
}

func TestBillRefusesUnknownPackage(t *testing.T) {
	b := repository(t, "cmd: [/x]\npackages: [no-such-package]\ninline: [{to: /x, text: x}]\n", map[string]string{})
	if _, err := b.build("demo"); err == nil || !strings.Contains(err.Error(), "no-such-package") {
		t.Errorf("error %v, want one that names the package", err)
	}
}

func TestMavenArtefacts(t *testing.T) {
	jar := filepath.Join(t.TempDir(), "demo.jar")
	f, err := os.Create(jar)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	entry, err := w.Create("META-INF/maven/org.example/demo/pom.properties")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte("#made by Maven\ngroupId=org.example\nartifactId=demo\nversion=1.2.3\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := mavenArtefacts(jar)
	if err != nil {
		t.Fatal(err)
	}
	want := []component{{Type: "library", Name: "org.example:demo", Version: "1.2.3", PURL: "pkg:maven/org.example/demo@1.2.3"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBillOfAProgram(t *testing.T) {
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "demo")
	text, err := os.ReadFile(test)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeBills("1.2.3", []string{program}); err != nil {
		t.Fatal(err)
	}
	got := bill(t, program+".tar")
	of := got.Metadata.Component
	if of.Type != "application" || of.Name != "demo" || of.Version != "1.2.3" || len(of.Hashes) != 1 {
		t.Errorf("the bill is of %+v", of)
	}
	if !slices.ContainsFunc(purls(got), func(p string) bool { return strings.HasPrefix(p, "pkg:golang/sigs.k8s.io/yaml@v") }) {
		t.Errorf("no sigs.k8s.io/yaml in %v", purls(got))
	}
	if err := writeBills("1.2.3", []string{program + ".cdx.json"}); err == nil || !strings.Contains(err.Error(), "not a program of Go's compiler") {
		t.Errorf("of a file that is no program: %v", err)
	}
}

func TestBillNamesReplacedModules(t *testing.T) {
	for sentence, test := range map[string]struct {
		module debug.Module
		want   string // the purl
	}{
		"as it is":                        {debug.Module{Path: "example.org/a", Version: "v1.0.0+incompatible"}, "pkg:golang/example.org/a@v1.0.0%2Bincompatible"},
		"another module":                  {debug.Module{Path: "example.org/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/b", Version: "v2.0.0"}}, "pkg:golang/example.org/b@v2.0.0"},
		"a folder":                        {debug.Module{Path: "core5g.dev/a", Version: "v0.0.0", Replace: &debug.Module{Path: "./a"}}, "pkg:golang/core5g.dev/a"},
		"a folder that Go has a word for": {debug.Module{Path: "core5g.dev/a", Version: "v0.0.0", Replace: &debug.Module{Path: "./a", Version: "(devel)"}}, "pkg:golang/core5g.dev/a"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := goModule(&test.module); got.PURL != test.want {
				t.Errorf("got %s, want %s", got.PURL, test.want)
			}
		})
	}
}
