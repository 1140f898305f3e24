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
	"regexp"
	"runtime"
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
	return &builder{sources: sources{root: root, arch: runtime.GOARCH}, recipes: "images", outDir: filepath.Join(root, "out", "images"), prefix: "core5g/", tag: "dev"}
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

// The machine's own loader, asked by ldd, names the same files.
func TestBuildAddsLibraries(t *testing.T) {
	program, err := exec.LookPath("ls")
	if err != nil {
		t.Skip("no ls here: ", err)
	}
	said, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Skip("ls is not dynamically linked here, or there is no ldd: ", err)
	}
	b := repository(t, "entrypoint: [/ls]\nlibs: auto\nfiles: [{from: "+program+", to: /ls}]", map[string]string{})
	_, _, layer := parts(t, mustBuild(t, b).archive)
	libraries := regexp.MustCompile(`/\S+`).FindAllString(string(said), -1)
	if len(libraries) < 2 {
		t.Fatalf("ldd says %s, want libc and the loader at least", said)
	}
	for _, library := range libraries {
		if layer[strings.TrimPrefix(library, "/")] == nil {
			t.Errorf("%s is not in the image", library)
		}
	}
}

func TestBuildMissesLibrary(t *testing.T) {
	program, err := exec.LookPath("ls")
	if err != nil {
		t.Skip("no ls here: ", err)
	}
	b := repository(t, "entrypoint: [/ls]\nlibs: auto\nfiles: [{from: /ls, to: /ls}]", map[string]string{})
	b.arch, b.system = "riscv64", t.TempDir() // has nothing but the program
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.system, "ls"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.build("demo"); err == nil || !strings.Contains(err.Error(), "/ls") {
		t.Errorf("%v, want an error that names the program", err)
	}
}

// What is built for another architecture stands beside what is built for this one, and a recipe need not
// know it.
func TestBuildForAnotherArchitecture(t *testing.T) {
	b := repository(t, `
entrypoint: [/demo]
files: [{from: out/bin/demo, to: /demo}, {from: /usr/bin/tool, to: /tool}, {from: sources/text, to: /text}]
`, map[string]string{
		"out/bin/demo":                    "this machine's",
		"out/riscv64/bin/demo":            "the other's",
		"out/riscv64/root/usr/bin/tool":   "the other's tool",
		"sources/text":                    "the repository's",
		"out/riscv64/root/etc/unrelated":  "",
		"out/riscv64/root/var/lib/dpkg/x": "",
	})
	b.arch, b.system = "riscv64", filepath.Join(b.root, "out", "riscv64", "root")
	tree, err := newTree(mustRecipe(t, b), b.sources)
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{"/demo": "the other's", "/tool": "the other's tool", "/text": "the repository's"} {
		if got, err := os.ReadFile(tree[place].source); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v; want %q", place, got, err, want)
		}
	}
	_, config, _ := parts(t, mustBuild(t, b).archive)
	if config.Architecture != "riscv64" {
		t.Errorf("the image says that it is for %s", config.Architecture)
	}
}

func mustRecipe(t *testing.T, b *builder) *recipe {
	t.Helper()
	r, err := readRecipe(filepath.Join(b.root, "images", "demo", "image.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Programs are the same in whatever folder they are compiled.
func TestProgramsHoldNoFolders(t *testing.T) {
	b := &builder{sources: sources{root: t.TempDir()}}
	t.Setenv("GOFLAGS", "-buildvcs=false")
	if err := makePrograms(b, []string{"none"}); !errors.Is(err, errFolders) {
		t.Errorf("without -trimpath: %v", err)
	}
	t.Setenv("GOFLAGS", "-buildvcs=false -trimpath")
	if err := makePrograms(b, []string{"none"}); err == nil || errors.Is(err, errFolders) {
		t.Errorf("of an image that there is not: %v", err)
	}
}
