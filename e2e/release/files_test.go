package release

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	manifest := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "manifest.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "no release in") {
		t.Errorf("an empty folder: %v", err)
	}
	manifest(`{"version": "1.2.3"}`)
	if _, err := Open(folder); err == nil {
		t.Error("a release without images was accepted")
	}
	manifest(`{"version": "1.2.3", "chart": "core5g-1.2.3.tgz", "images": [{"name": "amf", "archive": "images/amf-1.2.3.oci.tar", "digest": "sha256:aa"}]}`)
	f, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Archives(); len(got) != 1 || got[0] != filepath.Join(folder, "images/amf-1.2.3.oci.tar") {
		t.Errorf("archives %q", got)
	}
	for image, right := range map[string]bool{
		"core5g/amf:1.2.3@sha256:aa":                           true,
		"registry.example.org:5000/core5g/amf:1.2.3@sha256:aa": true,
		"core5g/amf:1.2.3":                                     false, // a tag alone
		"core5g/amf:1.2.3@sha256:bb":                           false,
		"core5g/amf:dev@sha256:aa":                             false,
		"core5g/smf:1.2.3@sha256:aa":                           false,
	} {
		if err := f.Is(image); (err == nil) != right {
			t.Errorf("%s: %v", image, err)
		}
	}
}
