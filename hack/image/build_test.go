package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// repository is a directory with one recipe, and a builder for it.
func repository(t *testing.T, recipe string, files map[string]string) *builder {
	t.Helper()
	root := t.TempDir()
	files["images/demo/image.yaml"] = recipe
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &builder{root: root, recipes: "images", outDir: filepath.Join(root, "out", "images"), prefix: "core5g/", tag: "dev"}
}

func mustBuild(t *testing.T, b *builder) built {
	t.Helper()
	done, err := b.build("demo")
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// parts reads an archive as a container engine does: by its manifest.
func parts(t *testing.T, archive string) (manifest manifestItem, config imageConfig, layer map[string]*tar.Header) {
	t.Helper()
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	blobs := map[string][]byte{}
	eachEntry(t, text, func(h *tar.Header, content []byte) { blobs[h.Name] = content })
	var manifests []manifestItem
	if err := json.Unmarshal(blobs["manifest.json"], &manifests); err != nil || len(manifests) != 1 {
		t.Fatalf("manifest.json: %v, %d images", err, len(manifests))
	}
	manifest = manifests[0]
	configText := blobs[manifest.Config]
	if want := fmt.Sprintf("%x.json", sha256.Sum256(configText)); manifest.Config != want {
		t.Errorf("config is called %s, want its digest %s", manifest.Config, want)
	}
	if err := json.Unmarshal(configText, &config); err != nil {
		t.Fatal(err)
	}
	if len(manifest.Layers) != 1 {
		t.Fatalf("%d layers, want 1", len(manifest.Layers))
	}
	layerText := blobs[manifest.Layers[0]]
	if want := []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layerText))}; !cmp.Equal(want, config.RootFS.DiffIDs) {
		t.Errorf("diff ids %v, want %v", config.RootFS.DiffIDs, want)
	}
	layer = map[string]*tar.Header{}
	eachEntry(t, layerText, func(h *tar.Header, _ []byte) { layer[h.Name] = h })
	return manifest, config, layer
}

func eachEntry(t *testing.T, archive []byte, do func(*tar.Header, []byte)) {
	t.Helper()
	for tr := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		do(h, content)
	}
}

func TestBuild(t *testing.T) {
	b := repository(t, `
entrypoint: [/opt/demo]
cmd: [-v]
workdir: /opt
user: "1000:1000"
env: {ZONE: b, AREA: a}
labels: {org.example: demo}
files:
  - {from: bin/demo, to: /opt/, mode: "0755", owner: "1000:1000", capabilities: [cap_net_raw, cap_bpf]}
  - {from: bin/demo, to: /raises, permitted: [cap_net_raw]}
  - {from: conf, to: /etc/demo}
inline: [{to: /etc/passwd, text: "demo:x:1000:1000::/:\n"}]
dirs: [{path: /run/demo, mode: "0770", owner: "1000:1000"}]
symlinks: [{path: /bin/demo, target: /opt/demo}]
`, map[string]string{"bin/demo": "#!", "conf/a.yaml": "a", "conf/sub/b.yaml": "b"})
	manifest, config, layer := parts(t, mustBuild(t, b).archive)

	if diff := cmp.Diff([]string{"core5g/demo:dev"}, manifest.RepoTags); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	wantRun := runConfig{
		User: "1000:1000", Env: []string{"AREA=a", "ZONE=b"}, Entrypoint: []string{"/opt/demo"},
		Cmd: []string{"-v"}, WorkingDir: "/opt", Labels: map[string]string{"org.example": "demo"},
	}
	if diff := cmp.Diff(wantRun, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	type entry struct {
		Kind     byte
		Mode     int64
		UID, GID int
		Link     string
	}
	got := map[string]entry{}
	for name, h := range layer {
		got[name] = entry{h.Typeflag, h.Mode, h.Uid, h.Gid, h.Linkname}
		if !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s is of %s, want the epoch", name, h.ModTime)
		}
	}
	want := map[string]entry{
		"bin/":                {tar.TypeDir, 0o755, 0, 0, ""},
		"bin/demo":            {tar.TypeSymlink, 0o777, 0, 0, "/opt/demo"},
		"etc/":                {tar.TypeDir, 0o755, 0, 0, ""},
		"etc/demo/":           {tar.TypeDir, 0o755, 0, 0, ""},
		"etc/demo/a.yaml":     {tar.TypeReg, 0o644, 0, 0, ""},
		"etc/demo/sub/":       {tar.TypeDir, 0o755, 0, 0, ""},
		"etc/demo/sub/b.yaml": {tar.TypeReg, 0o644, 0, 0, ""},
		"etc/passwd":          {tar.TypeReg, 0o644, 0, 0, ""},
		"opt/":                {tar.TypeDir, 0o755, 0, 0, ""},
		"opt/demo":            {tar.TypeReg, 0o755, 1000, 1000, ""},
		"raises":              {tar.TypeReg, 0o644, 0, 0, ""},
		"run/":                {tar.TypeDir, 0o755, 0, 0, ""},
		"run/demo/":           {tar.TypeDir, 0o770, 1000, 1000, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layer (-want +got):\n%s", diff)
	}
	// linux/capability.h: revision 2 with the effective bit; bit 13, and bit 39 in the second word.
	wantXattr := "\x01\x00\x00\x02" + "\x00\x20\x00\x00" + "\x00\x00\x00\x00" + "\x80\x00\x00\x00" + "\x00\x00\x00\x00"
	if diff := cmp.Diff(wantXattr, layer["opt/demo"].PAXRecords["SCHILY.xattr.security.capability"]); diff != "" {
		t.Errorf("file capabilities (-want +got):\n%s", diff)
	}
	wantXattr = "\x00\x00\x00\x02" + "\x00\x20\x00\x00" + strings.Repeat("\x00", 12)
	if diff := cmp.Diff(wantXattr, layer["raises"].PAXRecords["SCHILY.xattr.security.capability"]); diff != "" {
		t.Errorf("permitted file capabilities (-want +got):\n%s", diff)
	}
}

func TestBuildAgain(t *testing.T) {
	recipe := "entrypoint: [/demo]\nfiles: [{from: demo, to: /demo}]\n"
	b := repository(t, recipe, map[string]string{"demo": "one"})
	first := mustBuild(t, b)
	if !first.changed {
		t.Error("the first build wrote nothing")
	}
	bytesOne, err := os.ReadFile(first.archive)
	if err != nil {
		t.Fatal(err)
	}
	if mustBuild(t, b).changed {
		t.Error("a build without a change wrote the archive")
	}

	// The same content with another time is the same image.
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(b.root, "demo"), later, later); err != nil {
		t.Fatal(err)
	}
	if mustBuild(t, b).changed {
		t.Error("a file touched but not changed gave another archive")
	}

	if err := os.WriteFile(filepath.Join(b.root, "demo"), []byte("two"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !mustBuild(t, b).changed {
		t.Error("a changed file gave no new archive")
	}

	// Another repository with the same inputs gives the same bytes.
	other := mustBuild(t, repository(t, recipe, map[string]string{"demo": "one"}))
	bytesOther, err := os.ReadFile(other.archive)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytesOne, bytesOther) {
		t.Error("the same inputs elsewhere gave other bytes")
	}

	b.tag = "v1"
	if !mustBuild(t, b).changed {
		t.Error("another tag gave no new archive")
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct{ recipe, want string }{
		"a source that is not there":   {"files: [{from: bin/nothing, to: /x}]", "images/demo/image.yaml: files[0].from: bin/nothing: no such file"},
		"two files at one place":       {"files: [{from: demo, to: /x}, {from: demo, to: /x}]", "files[1].from: /x is in the image already"},
		"several files into one":       {"files: [{from: \"d*\", to: /x}]", "matches 2 files"},
		"a file below a file":          {"files: [{from: demo, to: /x}, {from: demo, to: /x/y}]", "no directory"},
		"an empty image":               {"env: {A: b}", "empty"},
		"a schema error, by its place": {"fils: []", "image.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			b := repository(t, "entrypoint: [/x]\n"+c.recipe, map[string]string{"demo": "one", "dem": "two"})
			_, err := b.build("demo")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(b.outDir, "demo.tar")); err == nil {
				t.Error("an archive was written all the same")
			}
		})
	}
}

func TestBuildAddsLibraries(t *testing.T) {
	program, err := exec.LookPath("ls")
	if err != nil {
		t.Skip("no ls here: ", err)
	}
	if dynamic, err := isDynamic(program); err != nil || !dynamic {
		t.Skip("ls is not dynamically linked here")
	}
	b := repository(t, "entrypoint: [/ls]\nlibs: auto\nfiles: [{from: "+program+", to: /ls}]", map[string]string{})
	_, _, layer := parts(t, mustBuild(t, b).archive)
	libraries, err := ldd(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(libraries) < 2 {
		t.Fatalf("ldd names %v, want libc and the loader at least", libraries)
	}
	for _, library := range libraries {
		if layer[strings.TrimPrefix(library, "/")] == nil {
			t.Errorf("%s is not in the image", library)
		}
	}
}

func TestParseLdd(t *testing.T) {
	got, err := parseLdd(`	linux-vdso.so.1 (0x00007ffd2b5f2000)
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1a2b000000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f1a2b3f2000)
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"}, got); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
	if _, err := parseLdd("\tlibfoo.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libfoo.so.1") {
		t.Errorf("error %v, want one that names libfoo.so.1", err)
	}
}
