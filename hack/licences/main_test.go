package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
